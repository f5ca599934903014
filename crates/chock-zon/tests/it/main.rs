//! Tests of the crate from outside.
#![expect(clippy::unwrap_used, reason = "tests")]

mod conformance;
mod faults;
mod properties;
mod types;
