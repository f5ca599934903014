//! How commits come onto the person's branch, and why they may not.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The most commits that one apply carries.
pub const COMMITS_MAX: usize = 10_000;

/// The largest pack that leaves a cage, in bytes: 256 MiB.
pub const PACK_BYTES_MAX: usize = 256 << 20;

/// The most bytes that the objects of a pack have together once they are unpacked: 1 GiB, less one.
pub const UNPACKED_BYTES_MAX: u64 = (1 << 30) - 1;

/// The most objects of one apply.
pub const OBJECTS_MAX: u64 = 500_000;

/// How commits land.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandingMode {
    /// A merge, or a fast-forward where the branch did not move.
    Merge,
    /// Each commit again on top of the branch.
    Rebase,
    /// One commit on top of the branch.
    Squash,
    /// Not at all: they stay at the session's ref.
    Park,
}

impl LandingMode {
    /// The word for it in files, options and records.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::Squash => "squash",
            Self::Park => "park",
        }
    }
}

/// Why commits stay at the session's ref and do not land on the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Parked {
    /// Nobody asked for them to land.
    NotAskedFor,
    /// The branch has them already.
    AlreadyThere,
    /// Files are changed, staged or untracked.
    DirtyTree,
    /// HEAD is on no branch.
    DetachedHead,
    /// A merge, rebase, cherry-pick, revert or bisection is under way.
    UnfinishedOperation,
    /// There is no commit yet to land on.
    BranchHasNoCommit,
    /// Both sides changed the same lines.
    WouldConflict,
    /// A history with merges cannot be rebased.
    HistoryNotLinear,
    /// The branch moved meanwhile.
    BranchMoved,
    /// Git refused.
    GitRefused,
}

impl Parked {
    const ALL: [Self; 10] = [
        Self::NotAskedFor,
        Self::AlreadyThere,
        Self::DirtyTree,
        Self::DetachedHead,
        Self::UnfinishedOperation,
        Self::BranchHasNoCommit,
        Self::WouldConflict,
        Self::HistoryNotLinear,
        Self::BranchMoved,
        Self::GitRefused,
    ];

    /// The word of records and of machine output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NotAskedFor => "not_asked_for",
            Self::AlreadyThere => "already_there",
            Self::DirtyTree => "dirty_tree",
            Self::DetachedHead => "detached_head",
            Self::UnfinishedOperation => "unfinished_operation",
            Self::BranchHasNoCommit => "branch_has_no_commit",
            Self::WouldConflict => "would_conflict",
            Self::HistoryNotLinear => "history_not_linear",
            Self::BranchMoved => "branch_moved",
            Self::GitRefused => "git_refused",
        }
    }
}

impl fmt::Display for Parked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NotAskedFor => "nobody asked for them to land",
            Self::AlreadyThere => "the branch has them already",
            Self::DirtyTree => "files of the project are changed, staged or untracked",
            Self::DetachedHead => "HEAD is on no branch",
            Self::UnfinishedOperation => "a merge, rebase or the like is under way",
            Self::BranchHasNoCommit => "the branch has no commit yet",
            Self::WouldConflict => "both sides changed the same lines",
            Self::HistoryNotLinear => "a history with merges cannot be rebased",
            Self::BranchMoved => "the branch moved meanwhile",
            Self::GitRefused => "git refused",
        })
    }
}

impl FromStr for Parked {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|parked| parked.word() == word).ok_or(())
    }
}

/// Commits of a session that came onto a branch as others: squashed, made again or signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// The session's last commit of them, in 40 hexadecimal digits.
    pub head: String,
    /// The commit that the branch got.
    pub tip: String,
}

/// What a cage made of the agent's commits: checked, and combined with the person's branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combined {
    /// The agent's last commit, in 40 hexadecimal digits.
    pub head: String,
    /// The commits that the project does not have on its branch, parents first. What landed as
    /// other commits counts as had.
    pub commits: Vec<String>,
    /// The commit that they go out from, where earlier ones landed as others.
    pub base: Option<String>,
    /// What they come to on the branch.
    pub result: Combination,
    /// Where both sides changed the same lines, as git spells paths. At most 20.
    pub conflicts: Vec<String>,
    /// Every object that the project may lack, in one pack.
    pub pack: Vec<u8>,
}

/// What commits come to on a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Combination {
    /// They do not land.
    Parked(Parked),
    /// The branch is one of their ancestors.
    FastForward,
    /// One commit with both as its parents, and this tree.
    Merge {
        /// The tree's id.
        tree: String,
    },
    /// One commit on the branch with this tree.
    Squash {
        /// The tree's id.
        tree: String,
    },
    /// Each commit again, with the tree that it then has.
    Rebase {
        /// Ids of a commit and of its new tree, in order.
        steps: Vec<(String, String)>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_word_of_its_own() {
        for parked in Parked::ALL {
            assert_eq!(parked.word().parse(), Ok(parked));
            let text = serde_json::to_string(&parked).expect("JSON");
            assert_eq!(text, format!("\"{}\"", parked.word()));
        }
        assert_eq!("".parse::<Parked>(), Err(()));
    }
}
