//! Paths and patterns below a project's top, as `chock.zon` names them.

use std::fmt;

use globset::{Glob, GlobBuilder, GlobSet};
use serde::Deserialize;

/// The longest path or pattern, in bytes: what the kernel takes for a path.
const PATH_BYTES_MAX: usize = 4096;

/// One path, or every path that a pattern matches.
///
/// What holds a `*`, `?`, `[`, `{` or `\` is a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum ProjectPath {
    /// One path, whether anything is there or not.
    Name(ProjectName),
    /// A pattern.
    Pattern(ProjectPattern),
}

/// One path below the project's top, as components joined by `/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProjectName {
    path: String,
    is_directory: bool,
}

/// A pattern of paths below the project's top.
///
/// `*` and `?` (one byte) stay within one name, `**` stands for any directories, `[ab]` for one of
/// these letters and `{a,b}` for one of these texts; `\` takes the next letter as it is.
/// Without a slash the pattern is matched in every directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProjectPattern {
    text: String,
    glob: Glob,
    directories_only: bool,
}

/// Why a text names no path of the project.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectPathFault {
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
    /// It is the project itself.
    #[error("this is the whole project; name what is in it")]
    Whole,
    /// It leads into a git directory.
    #[error("a session has a `.git` of chock's own; nothing in it can be named")]
    Git,
    /// It is the project's own rules, which are in force and no secret.
    #[error("`chock.zon` is read by chock itself and cannot be named here")]
    Rules,
    /// It starts with an exclamation mark.
    #[error("no pattern can be turned around by `!`; for a name that starts so write `[!]`")]
    Negated,
    /// It is no pattern.
    #[error("this is no pattern: {why}")]
    Pattern {
        /// What is wrong with it.
        why: String,
    },
}

impl ProjectPath {
    /// Shows the path or pattern as it counts.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Name(name) => &name.path,
            Self::Pattern(pattern) => &pattern.text,
        }
    }
}

impl ProjectName {
    /// Shows the path, as components joined by `/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// Whether it was written with a slash at its end.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.is_directory
    }
}

impl ProjectPattern {
    /// The pattern, to be matched against whole paths below the top.
    #[must_use]
    pub fn glob(&self) -> &Glob {
        &self.glob
    }

    /// Whether it was written with a slash at its end, and so matches directories only.
    #[must_use]
    pub fn directories_only(&self) -> bool {
        self.directories_only
    }
}

impl TryFrom<String> for ProjectPath {
    type Error = ProjectPathFault;

    fn try_from(text: String) -> Result<Self, ProjectPathFault> {
        check(&text)?;
        let is_directory = text.ends_with('/') || text.ends_with("/.");
        let parts = text.split('/').filter(|part| !part.is_empty() && *part != ".");
        let path = parts.collect::<Vec<_>>().join("/");
        if path.is_empty() {
            return Err(ProjectPathFault::Whole);
        }
        if path.split('/').any(|part| part.eq_ignore_ascii_case(".git")) {
            return Err(ProjectPathFault::Git);
        }
        if path == "chock.zon" {
            return Err(ProjectPathFault::Rules);
        }
        if !path.contains(['*', '?', '[', '{', '\\']) {
            return Ok(Self::Name(ProjectName { path, is_directory }));
        }
        // A slash in front of everything, as `./` is, keeps a pattern at the top.
        let anchored = text.trim_end_matches(['/', '.']).contains('/');
        let glob = glob(&if anchored { path.clone() } else { format!("**/{path}") })?;
        Ok(Self::Pattern(ProjectPattern {
            text: if anchored && !path.contains('/') { format!("./{path}") } else { path },
            glob,
            directories_only: is_directory,
        }))
    }
}

fn check(text: &str) -> Result<(), ProjectPathFault> {
    if text.is_empty() {
        return Err(ProjectPathFault::Empty);
    }
    if text.len() > PATH_BYTES_MAX || text.contains('\0') {
        return Err(ProjectPathFault::Unusable);
    }
    if text.starts_with(['/', '~']) {
        return Err(ProjectPathFault::Absolute);
    }
    if text.starts_with('!') {
        return Err(ProjectPathFault::Negated);
    }
    if text.split('/').any(|part| part == "..") {
        return Err(ProjectPathFault::Climbing);
    }
    Ok(())
}

fn glob(text: &str) -> Result<Glob, ProjectPathFault> {
    let refused =
        |fault: globset::Error| ProjectPathFault::Pattern { why: fault.kind().to_string() };
    let glob = GlobBuilder::new(text)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(refused)?;
    // Whoever matches it later cannot meet a pattern that is too large.
    GlobSet::builder().add(glob.clone()).build().map_err(refused)?;
    Ok(glob)
}

impl fmt::Display for ProjectPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = match self {
            Self::Name(ProjectName { is_directory: true, .. })
            | Self::Pattern(ProjectPattern { directories_only: true, .. }) => "/",
            Self::Name(_) | Self::Pattern(_) => "",
        };
        // What would be taken for a home, or for a `!`, is a file of the project behind `./`.
        let here = if self.as_str().starts_with(['~', '!']) { "./" } else { "" };
        write!(out, "{here}{}{slash}", self.as_str())
    }
}
