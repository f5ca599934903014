//! Real programs at real work: each runs once outside, as the control, and then in the cage.
//!
//! What is not on this machine, or not within the reach of a plain user, is left out by name.

mod browser;
mod git;
mod go;
mod java;
mod job;
mod native;
mod node;
mod python;
mod renames;
mod rust;
mod servers;
mod shell;
#[path = "../it/yard.rs"]
#[expect(dead_code, reason = "this suite uses a part of it")]
mod yard;
