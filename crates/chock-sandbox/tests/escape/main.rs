//! Tries to get out of a cage. One file a boundary; each attempt has a control that gets
//! through without the cage, so that a refusal means the cage.
//!
//! Every attempt runs as root's session and as a plain user's, in a cell that was ready and in
//! one that was not, as a program and, where it can be, as a hand.
#![expect(clippy::print_stdout, reason = "what could not be tried is said")]

#[path = "../shared/yard.rs"]
mod yard;

mod files;
mod harness;
mod ipc;
mod kernel;
mod leaks;
mod mounts;
mod network;
mod outside;
mod processes;
mod renames;
mod set_id;
