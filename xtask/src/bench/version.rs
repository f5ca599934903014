//! How long the program takes to say who it is.

use std::process::Command;

use anyhow::Result;

use super::ground::Ground;
use super::measure::{Measured, alternate, timed};

pub(super) fn version(ground: &Ground) -> Result<Measured> {
    let ours = || timed(ground.chock()?.arg("--version"));
    alternate(60, ours, || timed(Command::new("git").arg("--version")))
}
