//! Where the parts of a workspace are on the host, and where they belong inside.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Kind;

/// The folder inside the cage where borrowed object directories are mounted.
pub const OBJECTS_INSIDE: &str = "/run/chock/objects";

/// Everything a cage needs to know to show a workspace at the project's path.
///
/// Mounts are made in this order: the halves at [`project`](Self::project), then
/// [`git_dir`](Self::git_dir) over `<project>/.git`, then each of
/// [`objects`](Self::objects) read only, then [`hidden`](Self::hidden), then
/// [`read_only`](Self::read_only), then [`shared`](Self::shared).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The project's real path. The workspace is mounted at the same path.
    pub project: PathBuf,
    /// The files of the working tree.
    pub halves: Halves,
    /// The session's own git directory on the host, to be bound writable over
    /// `<project>/.git`, which is an empty directory in the halves. There is none where
    /// [`project_git`](Self::project_git) is [`ProjectGit::None`].
    pub git_dir: PathBuf,
    /// The project's object directories, to be bound read only where there is a git directory.
    pub objects: Vec<Borrowed>,
    /// Paths inside the cage that are covered by an empty file, when they exist.
    ///
    /// These are the lists of further object directories in borrowed ones. They
    /// name host paths, and git prints an error for each one it does not find.
    pub hidden: Vec<PathBuf>,
    /// Files of the real project that are bound read only over the workspace.
    pub read_only: Vec<Cover>,
    /// Ignored paths of the real project that are shown in the workspace.
    pub shared: Vec<Shared>,
    /// Who owns the files of the workspace. `None` is the caller.
    pub owner: Option<Owner>,
    /// What `<project>/.git` is on the host.
    pub project_git: ProjectGit,
}

/// How the working tree of a workspace is put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halves {
    /// An overlay mount, which the caller makes.
    Overlay {
        /// The lower layer: never written, shared by sessions.
        base: PathBuf,
        /// The upper layer: what the session changed.
        upper: PathBuf,
        /// The overlay's own scratch directory, on the same file system.
        work: PathBuf,
    },
    /// A full copy, to be bound writable.
    Copy {
        /// The top directory of the copy.
        root: PathBuf,
    },
}

/// Which [`Halves`] to make. The caller knows what the machine can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// An overlay of a shared base and an upper layer.
    Overlay,
    /// A full copy, where rootless overlay is not available.
    Copy,
}

/// One object directory of the project, borrowed read only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Borrowed {
    /// The directory on the host.
    pub host: PathBuf,
    /// Where the session's git expects it: [`OBJECTS_INSIDE`] and a number.
    pub inside: PathBuf,
}

/// One file of the real project, bound read only over the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cover {
    /// The file on the host.
    pub host: PathBuf,
    /// Its place, relative to the top of the workspace.
    pub name: PathBuf,
}

/// One ignored path of the real project that is shown in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    /// The file or directory on the host, without a link in its path.
    pub host: PathBuf,
    /// Its place, relative to the top of the workspace.
    pub name: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// What the session may do with it.
    pub sharing: Sharing,
}

/// What a session may do with a [`Shared`] path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Read what the person has there. Sockets and FIFOs in it lead nowhere.
    ReadOnly,
    /// Read the session's own copy, where a directory cannot be shown any other way.
    ReadOnlyCopy,
    /// Read and write the person's own files.
    Write,
}

/// The user and group that a session's programs run as.
///
/// Given when Chock runs as host root, so that an unprivileged session can use
/// its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The user id on the host.
    pub uid: u32,
    /// The group id on the host.
    pub gid: u32,
}

/// What `.git` is at the top of the real project. Inside it is a directory, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectGit {
    /// A directory: an ordinary repository.
    Directory,
    /// A file that names a directory: a linked worktree or a submodule.
    File,
    /// Neither: the repository's directory is somewhere else.
    Elsewhere,
    /// The project is a directory without git, and so is the workspace.
    None,
}
