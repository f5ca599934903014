//! Why a changed path wants a second look, or is not carried at all.

use serde::{Deserialize, Serialize};

use crate::FileChange;

/// What is particular about a changed path, before it is carried anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Flag {
    /// The file has a setuid or setgid bit in the workspace.
    Setuid,
    /// A symbolic link whose target is outside the tree, or in a `.git`.
    LeavesTree,
    /// A directory that holds a repository of its own.
    NestedRepository,
    /// A name that some file system takes for `.git`.
    GitName,
    /// Part of a directory that git takes for a bare repository.
    BareRepository,
    /// Some file system takes the name for another one beside it.
    FoldsTogether,
    /// A name that no directory can hold, or that Chock keeps for itself.
    OddName,
    /// A submodule's commit, which is no file.
    Submodule,
    /// Chock's own rules.
    Rules,
    /// What agents read as instructions.
    Instructions,
    /// What a shell runs on entering the directory.
    Environment,
    /// What an editor runs or obeys on opening the directory.
    Editor,
    /// What starts tools of an agent.
    Tools,
    /// What git obeys: submodules, filters, where large files come from.
    GitSettings,
    /// What runs at a commit, or on another event of git.
    Hooks,
}

/// Whether a change can be carried to the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carriage {
    /// As any other.
    Plain,
    /// Only by an accept of its own.
    Flagged,
    /// Never.
    Refused,
}

impl Flag {
    /// What the flag means for its change.
    #[must_use]
    pub fn carriage(self) -> Carriage {
        match self {
            Self::LeavesTree
            | Self::GitName
            | Self::BareRepository
            | Self::FoldsTogether
            | Self::OddName
            | Self::Submodule => Carriage::Refused,
            Self::Setuid
            | Self::NestedRepository
            | Self::Rules
            | Self::Instructions
            | Self::Environment
            | Self::Editor
            | Self::Tools
            | Self::GitSettings
            | Self::Hooks => Carriage::Flagged,
        }
    }

    /// Says in a few words what it is.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Setuid => "has a set-user-id bit, which is not carried",
            Self::LeavesTree => "a link that leads out of the project or into its .git",
            Self::NestedRepository => "part of a repository of its own",
            Self::GitName => "a file system could take the name for .git",
            Self::BareRepository => "git could take its directory for a repository",
            Self::FoldsTogether => "a file system could take the name for another one beside it",
            Self::OddName => "not a name for a file of a project",
            Self::Submodule => "the commit of a submodule, which is no file",
            Self::Rules => "changes the rules that Chock goes by here",
            Self::Instructions => "agents read it as instructions",
            Self::Environment => "a shell may run it on entering the directory",
            Self::Editor => "an editor may run or obey it",
            Self::Tools => "it starts tools of an agent",
            Self::GitSettings => "git obeys it",
            Self::Hooks => "it may run at a commit",
        }
    }
}

impl FileChange {
    /// Whether the change can be carried to the project: the strictest of its flags.
    #[must_use]
    pub fn carriage(&self) -> Carriage {
        let flags = self.flags.iter().map(|flag| flag.carriage());
        flags.max().unwrap_or(Carriage::Plain)
    }

    /// Adds a flag, once.
    pub(crate) fn flag(&mut self, flag: Flag) {
        if !self.flags.contains(&flag) {
            self.flags.push(flag);
            self.flags.sort_unstable();
        }
    }
}
