//! Words an error as records and people are told it.

use std::error::Error;

/// Writes an error with its causes on one line: `cannot read x: no such file`.
#[must_use]
pub fn causes(fault: &dyn Error) -> String {
    let mut line = fault.to_string();
    let mut source = fault.source();
    while let Some(cause) = source {
        line.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    line
}
