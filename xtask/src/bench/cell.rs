//! One caged program: `crates/chock-sandbox/examples/bench_cell.rs` against plain and caged peers.
//!
//! Lanes: `cold`, `warm`, `row` (200 calls, time of all), `mounts-7`, `mounts-2000`,
//! `large-parent` (a warm call with 256 MiB of touched memory in the caller).

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;

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
