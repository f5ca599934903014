//! The search tools, as whole calls: `crates/chock/examples/bench_tools.rs` against ripgrep.
//!
//! Its arguments are a scratch directory and a project. Lanes: `grep` (ten lines of ten files, for
//! which every file is searched), `glob` (`**/file*7.txt`).

use std::process::Command;

use anyhow::Result;

use super::ground::Ground;
use super::lane::Lanes;
use super::measure::{Measured, alternate, timed};
use super::peer;

pub(super) fn grep(ground: &Ground) -> Result<Measured> {
    let pattern = "line 07[0-9] of 1999[0-9] says";
    against_ripgrep(ground, "grep", &["--line-number", pattern, "."])
}

pub(super) fn glob(ground: &Ground) -> Result<Measured> {
    against_ripgrep(ground, "glob", &["--files", "--glob", "**/file*7.txt", "."])
}

fn against_ripgrep(ground: &Ground, lane: &str, words: &[&str]) -> Result<Measured> {
    peer::need("rg", "ripgrep")?;
    let program = ground.example("chock", "bench_tools")?;
    let project = ground.large()?;
    let mut lanes = Lanes::start(&program, &ground.directory("search")?, &[project])?;
    let theirs = || timed(Command::new("rg").args(words).current_dir(project));
    alternate(15, || lanes.once(lane), theirs)
}
