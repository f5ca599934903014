//! The name of a session.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Names a session: a ULID, so names sort by the time they were made.
///
/// Source: the ULID specification, 48 bits of milliseconds and 80 random bits in
/// 26 characters of Crockford's base 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(ulid::Ulid);

/// A text that is not the name of a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a session id; `chock sessions` lists them", .0.escape_debug())]
pub struct NotAnId(String);

impl SessionId {
    /// Makes a name from the milliseconds since 1970 and ten random bytes.
    #[must_use]
    pub fn from_parts(milliseconds: u64, random: [u8; 10]) -> Self {
        let mut bytes = [0; 16];
        bytes[6..].copy_from_slice(&random);
        Self(ulid::Ulid::from_parts(milliseconds, u128::from_be_bytes(bytes)))
    }

    /// Returns when the session was made, in milliseconds since 1970.
    #[must_use]
    pub fn started_milliseconds(self) -> u64 {
        self.0.timestamp_ms()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl FromStr for SessionId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let id = ulid::Ulid::from_string(text).map(Self);
        // Only the one spelling that a file name has.
        id.ok().filter(|id| id.to_string() == text).ok_or_else(|| NotAnId(text.to_owned()))
    }
}

impl TryFrom<String> for SessionId {
    type Error = NotAnId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_read_back() {
        let early = SessionId::from_parts(1_000, [0xff; 10]);
        let late = SessionId::from_parts(1_001, [0; 10]);
        assert!(early < late && early.to_string() < late.to_string());
        assert_eq!(late.to_string().parse(), Ok(late));
        assert_eq!(late.started_milliseconds(), 1_001);
    }

    #[test]
    fn other_spellings_are_refused() {
        let name = SessionId::from_parts(1_000, [7; 10]).to_string();
        for text in ["", "x", "../../etc/passwd", &name.to_lowercase(), &format!("{name}0")] {
            assert!(text.parse::<SessionId>().is_err(), "{text:?}");
        }
    }
}
