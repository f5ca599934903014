//! A whole tool call: `crates/chock/examples/bench_tools.rs`.
//!
//! Lanes: `call` (judge, record, flush, run, record), `floor` (a caged `true` without log and
//! broker, and one fdatasync).

use anyhow::Result;

use super::ground::Ground;
use super::lane::Lanes;
use super::measure::{Measured, alternate};

pub(super) fn tool_call(ground: &Ground) -> Result<Measured> {
    let program = ground.example("chock", "bench_tools")?;
    let scratch = ground.directory("call")?;
    let project = ground.small()?;
    let mut ours = Lanes::start(&program, &scratch, &[project])?;
    let mut theirs = Lanes::start(&program, &scratch, &[project])?;
    alternate(60, || ours.once("call"), || theirs.once("floor"))
}
