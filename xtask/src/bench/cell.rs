//! One caged program: `crates/chock-sandbox/examples/bench_cell.rs` against plain and caged peers.
//!
//! Lanes: `cold`, `warm`, `row` (200 calls, time of all), `mounts-7`, `mounts-2000`,
//! `large-parent` (a warm call with 256 MiB of touched memory in the caller), `start` (a keeper
//! until its first cell has done a call).

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::ground::Ground;
use super::lane::Lanes;
use super::measure::{Measured, alternate, timed};
use super::peer;

/// How often a single call is measured.
const ROUNDS: usize = 60;

/// How many calls stand in a row.
const ROW_CALLS: u32 = 200;

fn lanes(ground: &Ground) -> Result<Lanes> {
    let program = ground.example("chock-sandbox", "bench_cell")?;
    Lanes::start(&program, &ground.directory("cell")?, &[])
}

pub(super) fn warm_against_spawn(ground: &Ground) -> Result<Measured> {
    let mut lanes = lanes(ground)?;
    alternate(ROUNDS, || lanes.once("warm"), || timed(&mut Command::new("/usr/bin/true")))
}

pub(super) fn warm_against_bubblewrap(ground: &Ground) -> Result<Measured> {
    against_bubblewrap(ground, "warm")
}

pub(super) fn cold_against_bubblewrap(ground: &Ground) -> Result<Measured> {
    against_bubblewrap(ground, "cold")
}

fn against_bubblewrap(ground: &Ground, lane: &str) -> Result<Measured> {
    let mut bubblewrap = peer::bubblewrap()?;
    let mut lanes = lanes(ground)?;
    alternate(ROUNDS, || lanes.once(lane), || timed(&mut bubblewrap))
}

pub(super) fn keeper_against_spawn(ground: &Ground) -> Result<Measured> {
    let mut lanes = lanes(ground)?;
    alternate(ROUNDS, || lanes.once("start"), || timed(&mut Command::new("/usr/bin/true")))
}

/// Sums what the stub, the keeper, and the init and waiting command of two cells use, each shared page by
/// parts.
pub(super) fn idle_memory(ground: &Ground) -> Result<Measured> {
    let mut lanes = lanes(ground)?;
    for _ in 0..3 {
        lanes.once("warm")?;
    }
    std::thread::sleep(Duration::from_millis(200));
    let mut members = children(lanes.process())?;
    let mut next = 0;
    let mut kib = 0;
    while let Some(member) = members.get(next).copied() {
        members.extend(children(member)?);
        kib += proportional(member)?;
        next += 1;
    }
    let count = members.len();
    ensure!(count == 6, "{count} processes where stub, keeper and two cells are six");
    Ok(Measured::Mebibytes(f64::from(kib) / 1024.0))
}

fn children(process: u32) -> Result<Vec<u32>> {
    let mut children = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("children"))?;
        children.extend(text.split_ascii_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    Ok(children)
}

/// Returns the proportional share of memory of a process in KiB. That of others' needs root.
fn proportional(process: u32) -> Result<u32> {
    let path = format!("/proc/{process}/smaps_rollup");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let number = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
    number.with_context(|| format!("{path} says nothing of Pss"))
}

pub(super) fn row_against_bubblewrap(ground: &Ground) -> Result<Measured> {
    let mut bubblewrap = peer::bubblewrap()?;
    let mut lanes = lanes(ground)?;
    let theirs = || -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..ROW_CALLS {
            timed(&mut bubblewrap)?;
        }
        Ok(start.elapsed())
    };
    alternate(3, || lanes.once("row"), theirs)
}

pub(super) fn many_mounts(ground: &Ground) -> Result<Measured> {
    two_lanes(ground, "mounts-2000", "mounts-7")
}

pub(super) fn large_parent(ground: &Ground) -> Result<Measured> {
    two_lanes(ground, "large-parent", "warm")
}

fn two_lanes(ground: &Ground, ours: &str, theirs: &str) -> Result<Measured> {
    let (mut first, mut second) = (lanes(ground)?, lanes(ground)?);
    alternate(ROUNDS, || first.once(ours), || second.once(theirs))
}
