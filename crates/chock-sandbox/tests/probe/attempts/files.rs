//! Files outside, and files inside that are not the cage's to change.

use super::{Attack, Result};

pub(crate) const ATTACKS: &[(&str, Attack)] = &[("read", read)];

fn read(words: &[String]) -> Result {
    match std::fs::read(&words[0]) {
        Ok(bytes) => Result::Through(format!("{} bytes", bytes.len())),
        Err(error) => Result::Refused(error.to_string()),
    }
}
