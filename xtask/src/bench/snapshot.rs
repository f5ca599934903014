//! A snapshot and its change set: `crates/chock-workspace/examples/bench_snapshot.rs`.
//!
//! Its arguments are a scratch directory and a project. Lane `snapshot`: changes 10 files of the
//! upper half (not timed), then takes a snapshot and its change set (timed).

use std::time::Duration;

use anyhow::Result;

use super::files;
use super::ground::Ground;
use super::lane::Lanes;
use super::measure::{Measured, alternate, timed};

/// How many files change before each snapshot.
const CHANGED: usize = 10;

pub(super) fn snapshot_and_diff(ground: &Ground) -> Result<Measured> {
    let program = ground.example("chock-workspace", "bench_snapshot")?;
    let project = ground.large()?;
    let peer = ground.directory("snapshot-peer")?;
    files::git(&peer, &["clone", "--quiet", &project.display().to_string(), "."])?;
    let mut lanes = Lanes::start(&program, &ground.directory("snapshot")?, &[project])?;
    let mut rounds = 0..;
    let theirs = || -> Result<Duration> {
        files::change(&peer, CHANGED, rounds.next().unwrap_or(0))?;
        let add = timed(files::git_command(&peer).args(["add", "--all"]))?;
        Ok(add + timed(files::git_command(&peer).arg("write-tree"))?)
    };
    alternate(15, || lanes.once("snapshot"), theirs)
}

/// The same in a project of five times the files.
pub(super) fn snapshot_of_huge(ground: &Ground) -> Result<Measured> {
    let program = ground.example("chock-workspace", "bench_snapshot")?;
    let lanes = |name: &str, project| Lanes::start(&program, &ground.directory(name)?, &[project]);
    let mut huge = lanes("snapshot-huge", ground.huge()?)?;
    let mut large = lanes("snapshot-large", ground.large()?)?;
    alternate(15, || huge.once("snapshot"), || large.once("snapshot"))
}

/// A workspace made out of a turn, and one of a new session.
pub(super) fn fork_against_start(ground: &Ground) -> Result<Measured> {
    let program = ground.example("chock-workspace", "bench_snapshot")?;
    let lanes = |name: &str| {
        let project = ground.large()?;
        Lanes::start(&program, &ground.directory(name)?, &[project])
    };
    let (mut forks, mut starts) = (lanes("fork")?, lanes("fork-peer")?);
    alternate(15, || forks.once("fork"), || starts.once("open"))
}
