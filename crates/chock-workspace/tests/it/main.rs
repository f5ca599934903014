//! The workspace with a real git, real files and, where the machine can, a real overlay.

#![expect(clippy::unwrap_used, reason = "tests")]

mod base;
mod changes;
mod dirty;
mod edits;
mod git_inside;
mod lifetime;
mod overlay;
mod projects;
mod snapshots;
mod yard;
