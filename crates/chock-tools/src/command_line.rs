//! The programs that a command line starts, by the names they are judged under.
//!
//! This names intentions for people. It is no boundary: a program may start any other.

mod builtins;
mod finders;
mod gaps;
mod git;
mod ground;
mod heredoc;
mod launch;
mod launchers;
mod name;
mod places;
mod program;
mod read;
mod redirect;
mod script;
mod shells;
mod unquote;
mod variables;
mod word;

pub use ground::Ground;
pub(crate) use name::{Named, Reach, line};

#[cfg(test)]
mod tests;
