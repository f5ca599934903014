//! The tools in a real sandbox, over a real workspace, with permits from a real log.

mod cage;
mod commands;
mod files;
mod notes;
mod tasks;
mod yard;
