//! Makes the generated projects that the rows work on.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// How many files stand in one directory.
const FILES_A_DIRECTORY: usize = 100;

/// How many lines of about 40 bytes a file has: 20,000 such files are 85 MB.
const LINES_A_FILE: usize = 100;

/// Fills `path` with `count` text files and commits them.
pub(super) fn git_project(path: &Path, count: usize) -> Result<()> {
    for number in 0..count {
        let file = path.join(name(number));
        let parent = file.parent().context("a file has a directory")?;
        fs::create_dir_all(parent)?;
        fs::write(file, text(number, 0))?;
    }
    git(path, &["init", "--quiet", "--initial-branch=main"])?;
    git(path, &["add", "--all"])?;
    git(path, &["commit", "--quiet", "--message=all"])
}

/// Writes other contents into `count` files, spread over the project.
pub(super) fn change(path: &Path, count: usize, round: usize) -> Result<()> {
    for number in 0..count {
        let number = number * FILES_A_DIRECTORY * 19;
        fs::write(path.join(name(number)), text(number, round + 1))?;
    }
    Ok(())
}

/// Returns the path of one file below the project.
fn name(number: usize) -> PathBuf {
    format!("part{:03}/file{number:05}.txt", number / FILES_A_DIRECTORY).into()
}

fn text(number: usize, round: usize) -> String {
    let mut text = String::new();
    for line in 0..LINES_A_FILE {
        let word = number.wrapping_mul(31).wrapping_add(line * 17).wrapping_add(round);
        writeln!(text, "line {line:03} of {number:05} says {word:08x} here").ok();
    }
    text
}

/// Runs git in `path` with an identity of its own and without the person's configuration.
pub(super) fn git(path: &Path, arguments: &[&str]) -> Result<()> {
    let output = git_command(path).args(arguments).stdin(Stdio::null()).output().context("git")?;
    let faults = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {}: {faults}", arguments.join(" "));
    Ok(())
}

/// Returns a git command in `path`, ready for its arguments.
pub(super) fn git_command(path: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(path).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Bench");
        command.env(format!("GIT_{role}_EMAIL"), "bench@example.invalid");
    }
    command
}
