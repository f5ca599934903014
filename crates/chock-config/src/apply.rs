//! How the agent's commits land on the person's branch.

use chock_zon::Spanned;
use serde::Deserialize;

/// How commits land that the person lets in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplyMode {
    /// As a merge, or a fast-forward where the branch did not move.
    #[default]
    Merge,
    /// Each again on top of the branch.
    Rebase,
    /// As one commit on top of the branch.
    Squash,
    /// Not by themselves: the person says how, each time.
    Ask,
}

impl ApplyMode {
    /// The word for it in the file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::Squash => "squash",
            Self::Ask => "ask",
        }
    }
}

/// The block `apply`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ApplyBlock {
    pub(crate) mode: Option<Spanned<ApplyMode>>,
}
