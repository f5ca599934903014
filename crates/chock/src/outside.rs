//! Programs that are started for the person, outside any cage.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs one command line of the demo uncaged, as the control of what the cage refuses.
///
/// Its environment is `PATH` and a home; its input is empty.
pub(crate) fn control(
    command_line: &str,
    directory: &Path,
    home: &Path,
    search_path: &OsStr,
) -> io::Result<Output> {
    Command::new("sh")
        .arg("-c")
        .arg(command_line)
        .current_dir(directory)
        .env_clear()
        .env("PATH", search_path)
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
}
