//! Functions of this binary that a cell calls without starting a program.

use std::io::Write;

/// A function of this binary that does a file tool's work inside a cell.
///
/// It runs confined like any command, in a process of its own: it may use any path and any
/// memory, and what it breaks is gone after the call. It gets its standard streams as a
/// command does.
#[derive(Debug, Clone, Copy)]
pub struct Hand {
    /// The name that [`Program::Hand`](crate::Program::Hand) asks for, at most 64 bytes.
    pub name: &'static str,
    /// Takes the request's bytes, writes the answer to standard output, and returns the exit
    /// code (0 to 255).
    pub call: fn(&[u8], &mut dyn Write) -> i32,
}
