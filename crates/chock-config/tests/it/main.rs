//! Tests of the crate from outside.
#![expect(clippy::unwrap_used, reason = "tests")]

mod acceptance;
mod choice;
mod docs;
mod effective;
mod file;
mod paths;
mod person;
mod project;
mod properties;
mod tokens;
mod widening;

/// Texts with their faults, as [`check_faults`] takes them.
type Cases<'text> = &'text [(&'text str, &'text [(usize, &'text str, &'text str)])];

/// Checks that `faults` are exactly `expected`: a line, what the fault points at, and a
/// part of what is said.
#[track_caller]
fn check_faults(text: &str, faults: &chock_config::Faults, expected: &[(usize, &str, &str)]) {
    let found = faults.as_slice();
    assert_eq!(found.len(), expected.len(), "{text}\n{faults}");
    for (fault, (line, at, message)) in found.iter().zip(expected) {
        assert_eq!(fault.line, *line, "{text}\n{faults}");
        let source = text.lines().nth(line - 1).unwrap_or("");
        assert!(source[fault.column - 1..].starts_with(at), "{text}\nwanted {at:?} in\n{fault}");
        assert!(fault.to_string().contains(message), "{text}\nwanted {message:?} in\n{fault}");
    }
}
