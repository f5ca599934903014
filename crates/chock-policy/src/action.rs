//! The dotted name an act is judged under.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::pattern::Pattern;

/// The longest action name or pattern, in bytes. A host of 255 bytes and its port fit.
const NAME_BYTES_MAX: usize = 512;

/// Names one act, as in `exec.path.cargo`.
///
/// Labels are separated by dots; none is empty. A label holds no blank and no
/// control character, and `*` stands only in a [`Pattern`](crate::Pattern).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Action(String);

/// Why a name or a pattern of names is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameFault {
    /// Nothing was given.
    #[error("an action needs a name, such as `git.push`")]
    Empty,
    /// A dot at an end, or two in a row.
    #[error("`{name}` has an empty label between its dots")]
    EmptyLabel { name: String },
    /// A character that no label may hold.
    #[error(
        "`{}` may not hold the character {found:?}: an action is words with dots between, such as \
         `git.push`",
        .name.escape_debug()
    )]
    Character { name: String, found: char },
    /// A star that is not the whole last label.
    #[error("`{name}` has a `*` in the wrong place; it may only be the last label, as in `git.*`")]
    Star { name: String },
    /// A pattern where one action is wanted.
    #[error("`{name}` stands for many actions; name one, such as `git.push`")]
    Many { name: String },
    /// A pattern that would match everything.
    #[error("a bare `*` matches everything; leave the field out or name a prefix, as in `git.*`")]
    BareStar,
    /// More than 512 bytes.
    #[error("a name of {bytes} bytes is over the limit of {NAME_BYTES_MAX}")]
    TooLong { bytes: usize },
}

impl Action {
    /// Reads a name.
    ///
    /// # Errors
    ///
    /// The name is empty, too long, or has a label that is empty or holds `*`, a
    /// blank or a control character.
    pub fn new(name: impl Into<String>) -> Result<Self, NameFault> {
        let name = name.into();
        check(&name)?;
        if name.contains('*') {
            return Err(match Pattern::new(name.as_str()) {
                Ok(_) => NameFault::Many { name },
                Err(fault) => fault,
            });
        }
        Ok(Self(name))
    }

    /// Joins a prefix this program knows with labels that come from outside.
    ///
    /// In each label a dot, a star, a percent sign, blanks and control characters
    /// are percent-encoded, so `build.sh` becomes `build%2Esh`. An over-long
    /// result is cut, with a digest-free `%` mark at its end that no real name has.
    #[must_use]
    pub fn below(prefix: &'static str, labels: &[&str]) -> Self {
        let mut name = String::from(prefix);
        for label in labels {
            name.push('.');
            name.push_str(&encode(label));
        }
        if name.len() > NAME_BYTES_MAX {
            let mut end = NAME_BYTES_MAX - 1;
            while !name.is_char_boundary(end) {
                end -= 1;
            }
            name.truncate(end);
            name.push('%');
        }
        Self(name)
    }

    /// Says whether the name was too long and is cut, so that other acts may have the same.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.0.len() + 8 > NAME_BYTES_MAX && self.0.ends_with('%')
    }

    /// Takes a name written in this program.
    ///
    /// # Panics
    ///
    /// The name is malformed, which is a bug.
    #[must_use]
    pub fn from_static(name: &'static str) -> Self {
        Self::new(name).expect("invariant: an action written in the program is well formed")
    }

    /// Shows the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Spells a host with its labels reversed and lower-cased: `static.crates.io` is `io.crates.static`.
///
/// Returns nothing when a label is empty or over 63 bytes, the host is over 255,
/// or a character is not a letter, a digit, a hyphen or an underscore.
#[must_use]
pub fn host_labels(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let fits = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    if host.len() > 255 || !host.split('.').all(fits) {
        return None;
    }
    let labels: Vec<_> = host.rsplit('.').map(str::to_ascii_lowercase).collect();
    Some(labels.join("."))
}

/// Checks what names and patterns share; a `*` is left to the caller.
pub(crate) fn check(name: &str) -> Result<(), NameFault> {
    if name.is_empty() {
        return Err(NameFault::Empty);
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(NameFault::TooLong { bytes: name.len() });
    }
    if name.split('.').any(str::is_empty) {
        return Err(NameFault::EmptyLabel { name: name.to_owned() });
    }
    match name.chars().find(|letter| letter.is_whitespace() || letter.is_control()) {
        Some(found) => Err(NameFault::Character { name: name.to_owned(), found }),
        None => Ok(()),
    }
}

fn encode(label: &str) -> String {
    let mut encoded = String::with_capacity(label.len());
    for letter in label.chars() {
        if matches!(letter, '.' | '%' | '*') || letter.is_whitespace() || letter.is_control() {
            let mut bytes = [0; 4];
            for byte in letter.encode_utf8(&mut bytes).bytes() {
                encoded.push_str(&format!("%{byte:02X}"));
            }
        } else {
            encoded.push(letter);
        }
    }
    if encoded.is_empty() { "%".to_owned() } else { encoded }
}

impl fmt::Display for Action {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl TryFrom<String> for Action {
    type Error = NameFault;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::new(name)
    }
}

impl From<Action> for String {
    fn from(action: Action) -> Self {
        action.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_names_are_refused() {
        for name in ["", ".", "a.", ".a", "a..b", "a b", "a\u{7}", "git.*", "*", "a*b"] {
            assert!(Action::new(name).is_err(), "{name:?}");
        }
        assert!(Action::new("x".repeat(NAME_BYTES_MAX + 1)).is_err());
        assert!(Action::new("exec.path.cargo").is_ok());
    }

    #[test]
    fn a_label_from_outside_cannot_add_a_dot_or_a_star() {
        let cases = [
            ("build.sh", "exec.workspace.build%2Esh"),
            ("*", "exec.workspace.%2A"),
            ("a b", "exec.workspace.a%20b"),
            ("100%", "exec.workspace.100%25"),
            ("", "exec.workspace.%"),
        ];
        for (label, expected) in cases {
            let action = Action::below("exec.workspace", &[label]);
            assert_eq!(action.as_str(), expected);
            assert!(Action::new(action.as_str()).is_ok(), "{label:?}");
        }
        let long = Action::below("exec.path", &[&"é".repeat(600)]);
        assert!(long.as_str().len() <= NAME_BYTES_MAX && long.as_str().ends_with('%'));
    }

    #[test]
    fn hosts_are_spelled_from_the_top() {
        let cases = [
            ("static.crates.io", Some("io.crates.static")),
            ("Example.COM.", Some("com.example")),
            ("a..b", None),
            ("", None),
            ("exa mple.com", None),
        ];
        for (host, expected) in cases {
            assert_eq!(host_labels(host).as_deref(), expected, "{host:?}");
        }
    }
}
