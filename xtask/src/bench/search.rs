//! The search tools: `crates/chock-tools/examples/bench_search.rs` against ripgrep.
//!
//! Its arguments are a scratch directory and a project. Lanes: `grep` (the words "says 0000" in
//! every file, file names and counts), `glob` (`**/file*7.txt`).

use std::process::Command;

use anyhow::Result;

use super::ground::Ground;
use super::lane::Lanes;
use super::measure::{Measured, alternate, timed};
use super::peer;

pub(super) fn grep(ground: &Ground) -> Result<Measured> {
    against_ripgrep(ground, "grep", &["--line-number", "says 0000", "."])
}

pub(super) fn glob(ground: &Ground) -> Result<Measured> {
    against_ripgrep(ground, "glob", &["--files", "--glob", "**/file*7.txt", "."])
}

fn against_ripgrep(ground: &Ground, lane: &str, words: &[&str]) -> Result<Measured> {
    peer::need("rg", "ripgrep")?;
    let program = ground.example("chock-tools", "bench_search")?;
    let project = ground.large()?;
    let mut lanes = Lanes::start(&program, &ground.directory("search")?, &[project])?;
    let theirs = || timed(Command::new("rg").args(words).current_dir(project));
    alternate(15, || lanes.once(lane), theirs)
}
