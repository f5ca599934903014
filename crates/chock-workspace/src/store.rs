//! The session's own object store, which the agent never sees.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::{ChangeSet, TreeId};

/// The snapshots of one session, and the project's objects by reference.
///
/// Only Chock writes here. It may be opened while the session runs.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
}

/// Why the store could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreFault {
    /// The store is not there, or not readable.
    #[error("cannot open the session's store `{}`", .path.display())]
    Open {
        /// The store's directory.
        path: PathBuf,
        /// What the object store said.
        source: git2::Error,
    },

    /// A tree or a file is not in the store.
    #[error("the session's store cannot compare {base} with {snapshot}")]
    Compare {
        /// The older tree.
        base: TreeId,
        /// The newer tree.
        snapshot: TreeId,
        /// What the object store said.
        source: git2::Error,
    },

    /// The patch could not be written out.
    #[error("cannot write the patch")]
    Write {
        /// What the system said.
        source: io::Error,
    },
}

impl Store {
    /// Opens the store of the workspace in `session`, without its lock.
    ///
    /// This serves `chock diff` of a session that has ended or runs elsewhere.
    ///
    /// # Errors
    ///
    /// [`StoreFault::Open`] when there is none.
    pub fn open(session: &Path) -> Result<Self, StoreFault> {
        Ok(Self { directory: session.join("store") })
    }

    /// Says what leads from the tree `base` to the tree `snapshot`.
    ///
    /// # Errors
    ///
    /// [`StoreFault::Compare`] when one of the trees is not in the store.
    pub fn changes(&self, base: TreeId, snapshot: TreeId) -> Result<ChangeSet, StoreFault> {
        todo!("{base} {snapshot} {:?}", self.directory)
    }

    /// Writes `changes` as a patch that `git apply` accepts, binary files included.
    ///
    /// # Errors
    ///
    /// [`StoreFault::Write`] from `out`, [`StoreFault::Compare`] when the content of
    /// a binary file is not in the store.
    pub fn write_patch(&self, changes: &ChangeSet, out: &mut dyn Write) -> Result<(), StoreFault> {
        todo!("{changes:?} {}", out.flush().is_ok())
    }
}
