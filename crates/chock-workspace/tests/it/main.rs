//! The workspace with a real git, real files and, where the machine can, a real overlay.

#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(clippy::print_stderr, reason = "a skipped test says why")]
#![expect(clippy::print_stdout, reason = "a test started by another says when it is ready")]

mod base;
mod binds;
mod carrying;
mod carrying_back;
mod changes;
mod covers;
mod dirty;
mod edits;
mod forks;
mod git_inside;
mod landing;
mod lifetime;
mod model;
mod overlay;
mod picking;
mod projects;
mod snapshots;
mod strangers;
mod yard;
