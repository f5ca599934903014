//! The sandbox from outside: how calls run, end and are limited, and that real work runs.
#![expect(clippy::print_stdout, reason = "what could not be tried is said")]

#[path = "../shared/yard.rs"]
mod yard;

mod calls;
mod disk;
mod faults;
mod limits;
mod renames;
mod session;
mod work;
