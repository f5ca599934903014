//! The log against disks that fail, lines that are cut and bytes that change.

mod branch;
mod chain;
mod crash;
mod secrets;
