//! One immutable tree of a workspace, and what was left out of it.

use std::io;

use serde::{Deserialize, Serialize};

use crate::{Flag, TreeId};

/// The most files of an upper half that one snapshot reads.
///
/// A session that changes more has unpacked something that belongs in an ignored
/// directory; 200,000 files are read in about ten seconds.
pub const SNAPSHOT_FILES_MAX: u64 = 200_000;

/// The most bytes of files that one snapshot reads: 8 GiB.
pub const SNAPSHOT_BYTES_MAX: u64 = 8 << 30;

/// The largest file that a snapshot takes: 1 GiB. Larger ones are skipped by name.
pub const SNAPSHOT_FILE_BYTES_MAX: u64 = 1 << 30;

/// The deepest directory that a snapshot enters. Each level costs a descriptor.
pub const SNAPSHOT_DEPTH_MAX: usize = 200;

/// The working tree of a session at one moment, kept in the session's store.
///
/// Untracked files are in it, ignored ones are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The tree. Equal content has an equal id.
    pub tree: TreeId,
    /// How many files of the workspace were read, changed or not.
    pub files_read: u64,
    /// How many bytes those files hold.
    pub bytes_read: u64,
    /// What is in the workspace and not in the tree, ignored files apart. At most
    /// [`NOTED_MAX`] are named.
    pub skipped: Vec<Skipped>,
    /// What is in the tree and wants a second look, by path. At most [`NOTED_MAX`].
    pub flags: Vec<(Vec<u8>, Flag)>,
    /// The session's git directory as plain files. `None` where there is none, or when it is
    /// too large to be kept.
    pub git: Option<TreeId>,
}

/// The most skipped and the most flagged paths that one snapshot names.
pub const NOTED_MAX: usize = 1_000;

/// One path of the workspace that is not in the snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The path relative to the top of the workspace, as bytes.
    pub path: Vec<u8>,
    /// Why it was left out.
    pub reason: SkipReason,
}

/// Why a path was left out of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// A FIFO, a socket or a device.
    Special,
    /// Larger than [`SNAPSHOT_FILE_BYTES_MAX`].
    TooLarge,
    /// Deeper than [`SNAPSHOT_DEPTH_MAX`].
    TooDeep,
    /// A `.git`, or a name some file system takes for it.
    GitName,
    /// The content of a submodule.
    Submodule,
    /// It may not be read by its mode.
    Unreadable,
    /// It changed each time it was read.
    Changing,
}

/// Why a snapshot could not be taken. The workspace is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotFault {
    /// More files than [`SNAPSHOT_FILES_MAX`].
    #[error(
        "the session changed more than {max} files; let it write what is built to an ignored directory",
        max = SNAPSHOT_FILES_MAX
    )]
    TooManyFiles,

    /// More bytes than [`SNAPSHOT_BYTES_MAX`].
    #[error(
        "the session changed more than {max} bytes of files; let it write what is built to an ignored directory",
        max = SNAPSHOT_BYTES_MAX
    )]
    TooManyBytes,

    /// The workspace could not be read.
    #[error("cannot read `{path}` of the workspace")]
    Read {
        /// The path relative to the top, with odd bytes replaced.
        path: String,
        /// What the system said.
        source: io::Error,
    },

    /// The store could not be read or written, for example because the disk is full.
    #[error("cannot keep the snapshot in the session's store")]
    Store {
        /// What the object store said.
        source: git2::Error,
    },

    /// A note beside the snapshot could not be written.
    #[error("cannot write the notes of the snapshot")]
    Notes {
        /// What the system said.
        source: io::Error,
    },
}
