//! One place where a rule does not hold.

use std::fmt;

/// One broken rule: where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The file, or the crate, below the project's root.
    place: String,
    /// The line, counted from 1, where the rule knows one.
    line: Option<usize>,
    /// What is wrong, and what would be right.
    text: String,
}

impl Fault {
    /// Names a fault of a whole file or crate.
    pub(super) fn of(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self { place: place.into(), line: None, text: text.into() }
    }

    /// Names a fault of one line.
    pub(super) fn at(place: impl Into<String>, line: usize, text: impl Into<String>) -> Self {
        Self { place: place.into(), line: Some(line), text: text.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(out, "{}:{line}: {}", self.place, self.text),
            None => write!(out, "{}: {}", self.place, self.text),
        }
    }
}
