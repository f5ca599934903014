//! A path that a person wrote into their own configuration.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The longest path, in bytes: what the kernel takes.
const PATH_BYTES_MAX: usize = 4096;

/// An absolute path, one below the home (`~/`), or one beside the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct PersonPath(String);

/// Why a text is no path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathFault {
    /// There is nothing in it.
    #[error("the path is empty")]
    Empty,
    /// It has more than 4,096 bytes or a zero byte.
    #[error("the path is longer than {PATH_BYTES_MAX} bytes or has a zero byte in it")]
    Unusable,
    /// It names another person's home.
    #[error("a path starts with `/`, with `~/` for your home, or with a name")]
    OtherHome,
}

impl PersonPath {
    /// Takes a path as it is written.
    ///
    /// # Errors
    ///
    /// It is empty, too long, or starts with `~name`.
    pub fn new(text: impl Into<String>) -> Result<Self, PathFault> {
        let text = text.into();
        if text.is_empty() {
            return Err(PathFault::Empty);
        }
        if text.len() > PATH_BYTES_MAX || text.contains('\0') {
            return Err(PathFault::Unusable);
        }
        if text.starts_with('~') && !text.starts_with("~/") {
            return Err(PathFault::OtherHome);
        }
        Ok(Self(text))
    }

    /// Shows the path as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path on this machine.
    ///
    /// A path below the home stays as it is written when there is no `home`, and then
    /// names nothing.
    #[must_use]
    pub fn resolve(&self, beside: &Path, home: Option<&Path>) -> PathBuf {
        match (self.0.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => home.join(below),
            (Some(_), None) => PathBuf::from(&self.0),
            (None, _) => beside.join(&self.0),
        }
    }

    /// Whether the path names the same place wherever it is written.
    pub(crate) fn is_anchored(&self) -> bool {
        self.0.starts_with('/') || self.0.starts_with("~/")
    }
}

impl TryFrom<String> for PersonPath {
    type Error = PathFault;

    fn try_from(text: String) -> Result<Self, PathFault> {
        Self::new(text)
    }
}

impl fmt::Display for PersonPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
