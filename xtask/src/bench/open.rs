//! Opening and closing a file inside the cage and outside.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::files;
use super::ground::Ground;
use super::measure::{Measured, alternate};

/// How many times the file is opened for one time.
const OPENS: &str = "20000";

/// A file that is there inside and outside.
const ELSEWHERE: &str = "/usr/bin/env";

pub(super) fn in_workspace(ground: &Ground) -> Result<Measured> {
    opened(ground, "part000/file00000.txt")
}

pub(super) fn elsewhere(ground: &Ground) -> Result<Measured> {
    opened(ground, ELSEWHERE)
}

/// Lets this very program, copied into a project, open the file in the cage and outside.
fn opened(ground: &Ground, file: &str) -> Result<Measured> {
    let project = ground.directory("open")?;
    if !project.join(".git").exists() {
        fs::copy(std::env::current_exe()?, project.join("opener"))?;
        files::git_project(&project, 10)?;
    }
    let words = ["./opener", "open-close", file, OPENS];
    let ours = || {
        let mut command = ground.chock()?;
        printed(command.args(["exec", "--"]).args(words).current_dir(&project))
    };
    let theirs = || printed(Command::new(words[0]).args(&words[1..]).current_dir(&project));
    alternate(7, ours, theirs)
}

fn printed(command: &mut Command) -> Result<Duration> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let faults = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", faults.trim());
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(Duration::from_nanos(text.trim().parse().context("the opener's time")?))
}

/// Opens and closes `file` `count` times and prints the nanoseconds of all.
///
/// # Errors
///
/// The file cannot be opened, or nothing can be printed.
pub(crate) fn open_close(file: &Path, count: u32) -> Result<()> {
    let start = Instant::now();
    for _ in 0..count {
        drop(File::open(file).with_context(|| format!("cannot open {}", file.display()))?);
    }
    writeln!(io::stdout(), "{}", start.elapsed().as_nanos())?;
    Ok(())
}
