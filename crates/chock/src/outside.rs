//! Programs that are started for the person, outside any cage.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

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

/// Opens an address in the person's browser, where there is a display, and says whether a
/// browser was asked. It is not waited for, and an interrupt at the terminal does not end it.
pub(crate) fn open_browser(url: &str, variables: &BTreeMap<OsString, OsString>) -> bool {
    let is_set =
        |name: &str| variables.get(OsStr::new(name)).is_some_and(|value| !value.is_empty());
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else if is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") {
        "xdg-open"
    } else {
        return false;
    };
    let mut command = Command::new(opener);
    command.arg(url).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    // It ends some day, and must not stay as a zombie until then.
    thread::spawn(move || child.wait());
    true
}
