//! Writes a string so that it reads back.

use std::fmt::Write;

/// Writes `text` as a ZON string, quotes included.
///
/// Every character that could be mistaken for another, or moves a cursor, is
/// written as an escape: the result is plain ASCII on one line.
#[must_use]
pub fn quoted(text: &str) -> String {
    quoted_bytes(text.as_bytes())
}

/// Writes `bytes` as a ZON string as [`quoted`] does; what is not UTF-8 becomes `\x..`.
#[must_use]
pub fn quoted_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|letter| push(&mut out, letter));
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}").expect("invariant: a string takes what is written to it");
        }
    }
    out.push('"');
    out
}

fn push(out: &mut String, letter: char) {
    match letter {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        ' '..='~' => out.push(letter),
        other => write!(out, "\\u{{{:x}}}", u32::from(other))
            .expect("invariant: a string takes what is written to it"),
    }
}
