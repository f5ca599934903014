//! The sandbox from outside: how calls run, end and are limited, and that real work runs.

#[path = "../shared/yard.rs"]
mod yard;

mod calls;
mod faults;
mod limits;
mod session;
mod work;
