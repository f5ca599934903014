//! Paths of the project that no tool may read.

use std::fmt;

use serde::Deserialize;

/// The most paths that one project denies. Each is a mount of every call.
pub const DENIED_MAX: usize = 256;

/// The longest path, in bytes: what the kernel takes.
const PATH_BYTES_MAX: usize = 4096;

/// One path below the project's top that no tool may read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
#[non_exhaustive]
pub enum DeniedPath {
    /// A file, whether it exists or not, as components joined by `/`.
    File(String),
}

/// Why a path cannot be denied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeniedFault {
    /// There is nothing in it.
    #[error("the path is empty")]
    Empty,
    /// It has more than 4,096 bytes or a zero byte.
    #[error("the path is longer than {PATH_BYTES_MAX} bytes or has a zero byte in it")]
    Unusable,
    /// It starts at the root or the home.
    #[error("the path is not below the project; write it without its leading `/` or `~`")]
    Absolute,
    /// It leads up.
    #[error("the path has a `..` in it; write it from the project's top")]
    Climbing,
    /// It ends with a slash.
    #[error("this version of chock denies files only; name the files below `{0}` one by one")]
    Directory(String),
    /// It has a star or a bracket in it.
    #[error("this version of chock denies files only, no patterns; name each file")]
    Pattern,
    /// It is the project's own rules, which are in force and no secret.
    #[error("`chock.zon` is read by chock itself and cannot be denied")]
    Rules,
}

impl DeniedPath {
    /// Shows the path, as components joined by `/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::File(path) => path,
        }
    }
}

impl TryFrom<String> for DeniedPath {
    type Error = DeniedFault;

    fn try_from(text: String) -> Result<Self, DeniedFault> {
        if text.is_empty() {
            return Err(DeniedFault::Empty);
        }
        if text.len() > PATH_BYTES_MAX || text.contains('\0') {
            return Err(DeniedFault::Unusable);
        }
        if text.starts_with(['/', '~']) {
            return Err(DeniedFault::Absolute);
        }
        if text.split('/').any(|part| part == "..") {
            return Err(DeniedFault::Climbing);
        }
        if text.contains(['*', '?', '[', ']', '{', '}', '!']) {
            return Err(DeniedFault::Pattern);
        }
        let is_directory = text.ends_with('/') || text.ends_with("/.") || text == ".";
        let parts = text.split('/').filter(|part| !part.is_empty() && *part != ".");
        let path = parts.collect::<Vec<_>>().join("/");
        if is_directory || path.is_empty() {
            return Err(DeniedFault::Directory(path));
        }
        if path == "chock.zon" {
            return Err(DeniedFault::Rules);
        }
        Ok(Self::File(path))
    }
}

impl fmt::Display for DeniedPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}
