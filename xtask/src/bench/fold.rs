//! Folding a log: `crates/chock-log/examples/bench_fold.rs` against reading the file.
//!
//! Its argument is a scratch directory, where it makes a log of at least 100 MB at first. Lanes:
//! `fold` (`Log::read` of it), `read` (the bytes of the file, and nothing else).

use anyhow::Result;

use super::ground::Ground;
use super::lane::Lanes;
use super::measure::{Measured, alternate};

pub(super) fn fold(ground: &Ground) -> Result<Measured> {
    let program = ground.example("chock-log", "bench_fold")?;
    let mut lanes = Lanes::start(&program, &ground.directory("fold")?, &[])?;
    let lanes = std::cell::RefCell::new(&mut lanes);
    alternate(5, || lanes.borrow_mut().once("fold"), || lanes.borrow_mut().once("read"))
}
