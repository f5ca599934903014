//! The name of one immutable tree of files.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Names one immutable tree of files by its content, as git does.
///
/// Written as 40 lower case hexadecimal digits, in text and in serde alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub(crate) git2::Oid);

/// The text is not 40 hexadecimal digits.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not the id of a tree: 40 hexadecimal digits are expected")]
pub struct TreeIdFault {
    text: String,
}

impl fmt::Display for TreeId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl fmt::Debug for TreeId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "TreeId({})", self.0)
    }
}

impl FromStr for TreeId {
    type Err = TreeIdFault;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fault = || TreeIdFault { text: text.chars().take(80).collect() };
        if text.len() != 40 {
            return Err(fault());
        }
        git2::Oid::from_str(text).map(Self).map_err(|_| fault())
    }
}

impl Serialize for TreeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TreeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::TreeId;

    #[test]
    fn text_is_40_hexadecimal_digits_or_refused() {
        let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let tree: TreeId = empty.parse().expect("an id");
        assert_eq!(tree.to_string(), empty);
        for wrong in ["", "4b825dc", "zb825dc642cb6eb9a060e54bf8d69288fbee4904"] {
            assert!(wrong.parse::<TreeId>().is_err(), "{wrong}");
        }
    }
}
