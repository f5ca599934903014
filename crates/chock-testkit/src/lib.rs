//! Development only: failing disks, logs to write in, and assertions on what they say.
//!
//! # Never knows
//!
//! How an act is carried out.
//!
//! # Holds
//!
//! - Nothing here is kinder than the real thing: a failing disk fails as a disk does.
//!
//! # Start reading at
//!
//! [`FailingStorage`].

mod log;
mod storage;

pub use log::{LOG_KEY, TestLog, options};
pub use storage::{FailingStorage, Failure};
