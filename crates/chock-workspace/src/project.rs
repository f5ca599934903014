//! A git repository on the host, found and looked at without running anything of it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::ProjectGit;

/// What the caller knows of the machine and the person.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The value of `PATH`, to find git with.
    pub search_path: OsString,
    /// The person's home. It is never a project, nor inside one.
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, when it is set. Git reads the person's name there.
    pub config_home: Option<PathBuf>,
    /// Chock's own directories: configuration, state, data, cache, temporary files.
    ///
    /// A project neither contains one nor lies inside one.
    pub own_directories: Vec<PathBuf>,
}

/// A git repository with a working tree.
#[derive(Debug, Clone)]
pub struct Project {
    root: PathBuf,
    project_git: ProjectGit,
    notices: Vec<Notice>,
}

impl Project {
    /// Finds the project that `start` is in: the top of its git working tree.
    ///
    /// # Errors
    ///
    /// One [`ProjectFault`], which names the path and what to do.
    pub fn find(start: &Path, surroundings: &Surroundings) -> Result<Self, ProjectFault> {
        todo!("{start:?} {surroundings:?}")
    }

    /// The real path of the top of the working tree, with links resolved.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What `.git` is at the top of the project.
    #[must_use]
    pub fn project_git(&self) -> ProjectGit {
        self.project_git
    }

    /// What the person is told at the start of a session in this project.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }
}

/// One thing about a project or workspace that the person is told.
///
/// `Display` gives the sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Notice {
    /// Only part of the project is checked out; the session gets all of it.
    #[error(
        "this is a sparse checkout: the session works with the whole committed tree, \
         and paths outside of the checkout can change"
    )]
    SparseCheckout,

    /// Files that Git LFS keeps elsewhere.
    #[error("{count} files are Git LFS pointers: the session sees the pointers, not the content")]
    LfsPointers {
        /// How many.
        count: u64,
    },

    /// Submodules are empty directories in the workspace.
    #[error("{count} submodules are empty directories in the session")]
    Submodules {
        /// How many.
        count: u64,
    },

    /// The history ends early.
    #[error("this is a shallow clone: the session sees as much of the history as you do")]
    Shallow,
}

/// Why a directory cannot be a project. One clear sentence each.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectFault {
    /// There is no git program.
    #[error("cannot start `git`: install git, or put it on PATH")]
    NoGit {
        /// What the system said.
        source: io::Error,
    },

    /// The directory is not there, or is not a directory.
    #[error("cannot use `{}` as a project", .path.display())]
    Unusable {
        /// What was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// There is no repository.
    #[error("`{}` is not in a git repository; run `git init` there first", .path.display())]
    NotGit {
        /// Where the search started.
        path: PathBuf,
    },

    /// The repository has no working tree.
    #[error(
        "`{}` is in a bare repository or a git directory; \
         make a working tree with `git worktree add` and start there", .path.display()
    )]
    NoWorkingTree {
        /// Where the search started.
        path: PathBuf,
    },

    /// Git does not trust the owner of the repository.
    #[error(
        "git says that `{}` belongs to somebody else; if you trust it, \
         run `git config --global --add safe.directory` with that path", .path.display()
    )]
    NotOwned {
        /// Where the search started.
        path: PathBuf,
    },

    /// The top of the working tree is a directory that is never a project.
    #[error("`{}` cannot be a project: {why}; start in a project directory", .path.display())]
    Forbidden {
        /// The top of the working tree.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },

    /// The project and one of Chock's own directories lie in one another.
    #[error(
        "`{}` cannot be a project: Chock keeps its own files in `{}`; \
         move one of the two", .path.display(), .own.display()
    )]
    Own {
        /// The top of the working tree.
        path: PathBuf,
        /// Chock's directory.
        own: PathBuf,
    },

    /// The repository is in a format that Chock does not read.
    #[error("`{}` {what}, which Chock does not read yet; {cure}", .path.display())]
    Format {
        /// The top of the working tree.
        path: PathBuf,
        /// The format.
        what: &'static str,
        /// What the person can do.
        cure: &'static str,
    },

    /// Git answered something else than expected.
    #[error("git cannot read the repository of `{}`: {said}", .path.display())]
    Git {
        /// Where git ran.
        path: PathBuf,
        /// The last line that git wrote, with odd characters replaced.
        said: String,
    },
}
