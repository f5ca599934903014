//! Writes a string so that it reads back.

use std::fmt::Write;

/// Writes `text` as a ZON string, quotes included.
///
/// Every character that could be mistaken for another, or moves a cursor, is
/// written as an escape: the result is plain ASCII on one line.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(letter),
            other => {
                let written = write!(out, "\\u{{{:x}}}", u32::from(other));
                written.expect("invariant: a string takes what is written to it");
            }
        }
    }
    out.push('"');
    out
}
