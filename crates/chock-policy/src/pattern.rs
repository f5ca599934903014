//! A name, or everything below a prefix.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::action::{self, NameFault};

/// Matches one exact name, or with `.*` at its end every name strictly below a prefix.
///
/// `git.*` covers `git.push` and `git.branch.delete`, and not `git`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(String);

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// The text is not a well-formed name, has a `*` anywhere but as its whole
    /// last label, or is a bare `*`.
    pub fn new(text: impl Into<String>) -> Result<Self, NameFault> {
        let text = text.into();
        if text == "*" {
            return Err(NameFault::BareStar);
        }
        action::check(&text)?;
        let name = text.strip_suffix(".*").unwrap_or(&text);
        if name.contains('*') {
            return Err(NameFault::Star { name: text });
        }
        Ok(Self(text))
    }

    /// Takes a pattern written in this program.
    ///
    /// # Panics
    ///
    /// The pattern is malformed, which is a bug.
    #[must_use]
    pub fn from_static(text: &'static str) -> Self {
        Self::new(text).expect("invariant: a pattern written in the program is well formed")
    }

    /// Matches every name. No file can write it.
    pub(crate) fn everything() -> Self {
        Self("*".to_owned())
    }

    /// Shows the pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Says whether the pattern matches `name`.
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        match self.prefix() {
            Some(prefix) => name
                .strip_prefix(prefix)
                .and_then(|rest| rest.strip_prefix('.'))
                .is_some_and(|rest| !rest.is_empty()),
            None => self.0 == name || self.0 == "*",
        }
    }

    /// Says whether every name that `other` matches is matched by this pattern too.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        match (self.prefix(), other.prefix()) {
            (Some(_), Some(below)) => self.prefix() == Some(below) || self.covers(below),
            (_, None) => self.covers(&other.0),
            (None, Some(_)) => false,
        }
    }

    /// Ranks how narrow the pattern is: an exact name over any prefix, a longer prefix over a shorter.
    #[must_use]
    pub(crate) fn rank(&self) -> u32 {
        match self.prefix() {
            None => u32::MAX,
            Some(prefix) => u32::try_from(prefix.len()).unwrap_or(u32::MAX - 1),
        }
    }

    fn prefix(&self) -> Option<&str> {
        self.0.strip_suffix(".*")
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl TryFrom<String> for Pattern {
    type Error = NameFault;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(text)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_covers_what_is_below_it_and_not_itself() {
        let cases = [
            ("git.push", "git.push", true),
            ("git.push", "git.push.force", false),
            ("git.*", "git.push", true),
            ("git.*", "git.branch.delete", true),
            ("git.*", "git", false),
            ("git.*", "gitk.push", false),
            ("git.branch.*", "git.push", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(Pattern::from_static(pattern).covers(name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn malformed_patterns_are_refused() {
        for text in ["", "*", "*.push", "git.*.x", "git*", "git.**", "git..*", ".*", "a b"] {
            assert!(Pattern::new(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn containment_agrees_with_covering() {
        let texts = ["a", "a.*", "a.b", "a.b.*", "a.b.c", "ab.*"];
        let names = ["a", "a.b", "a.b.c", "a.b.c.d", "a.x", "ab.c"];
        for outer in texts.map(Pattern::from_static) {
            for inner in texts.map(Pattern::from_static) {
                let seen =
                    names.iter().filter(|name| inner.covers(name)).all(|name| outer.covers(name));
                if outer.contains(&inner) {
                    assert!(seen, "{outer} {inner}");
                }
            }
        }
        assert!(Pattern::from_static("a.*").contains(&Pattern::from_static("a.b.*")));
        assert!(!Pattern::from_static("a.b.*").contains(&Pattern::from_static("a.*")));
    }
}
