//! Runs one permitted program inside the operating system's own sandbox, or refuses.
//!
//! The caller says what a program may reach as a [`Cage`], in words that hold on
//! every platform. [`Keeper::start`] turns the cage into kernel objects once a
//! session, and [`run`] does one permitted act in a fresh cell of it. There is no
//! weaker second try.
//!
//! # Never knows
//!
//! The model, the session, the policy, the project, or who asked.
//!
//! # Holds
//!
//! - Only [`run`] starts a program from outside, and it takes a `Permit`.
//! - A layer is [`Applied`] only after the kernel was asked and agreed.
//! - The program starts after every confining layer is applied, or not at all.
//! - Every process of a call is dead before its result is returned.
//! - The process that calls this crate never forks. The keeper does, alone in its process.
//!
//! # Start reading at
//!
//! [`run`], then `linux/stub.rs` and down: stub, keeper, cell, command.

mod cage;
mod cancel;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod fault;
mod hand;
mod keeper;
mod layer;
#[cfg(target_os = "linux")]
mod linux;
mod program;
mod role;
mod run;
mod survey;

#[cfg(not(target_os = "linux"))]
use elsewhere as platform;
#[cfg(target_os = "linux")]
use linux as platform;

pub use cage::{
    Access, Cage, CageFault, CoverKind, Filter, Grant, HOME, Home, Limits, MOUNTS_MAX, Mount,
    Owners,
};
pub use cancel::Cancel;
pub use fault::SandboxFault;
pub use hand::Hand;
pub use keeper::{Containment, Keeper, KeeperOptions, SessionUser};
pub use layer::{Applied, Layer};
pub use program::{ARGUMENT_BYTES_MAX, Program, REQUEST_BYTES_MAX};
pub use role::enter_role_if_asked;
pub use run::{Call, Ended, Finished, LimitKind, StartStep, Stdio, run};
pub use survey::{Row, State, Survey, SurveyOptions, survey};
