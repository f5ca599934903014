//! The session's own object store, which the agent never sees.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use git2::{Config, Repository};

use crate::pick::{self, PickFault, Picked};
use crate::{ChangeSet, Choice, TreeId, compare, notes, patch};

/// The directory beside the store that holds the notes of snapshots.
pub(crate) const NOTES: &str = "notes";

/// The snapshots of one session, and the project's objects by reference.
///
/// Only Chock writes here. It may be opened while the session runs.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
    notes: PathBuf,
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

    /// A tree or a file is not in the store, or the project lost it.
    #[error("the session's store cannot compare {base} with {snapshot}")]
    Compare {
        /// The older tree.
        base: TreeId,
        /// The newer tree.
        snapshot: TreeId,
        /// What the object store said.
        source: git2::Error,
    },

    /// The notes of the snapshot could not be read.
    #[error("cannot read the notes of the snapshot")]
    Notes {
        /// What the system said.
        source: io::Error,
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
        let store = Self::at(session);
        store.repository()?;
        Ok(store)
    }

    /// The store of the workspace in `session`, which may not be there yet.
    pub(crate) fn at(session: &Path) -> Self {
        Self { directory: session.join("store"), notes: session.join(NOTES) }
    }

    /// The same for another git directory of Chock's.
    pub(crate) fn in_directory(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), notes: directory.join(NOTES) }
    }

    /// The git directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Opens the objects, with no configuration but libgit2's own defaults.
    pub(crate) fn repository(&self) -> Result<Repository, StoreFault> {
        let open = || {
            let repository = Repository::open_bare(&self.directory)?;
            repository.set_config(&Config::new()?)?;
            Ok(repository)
        };
        open().map_err(|source| StoreFault::Open { path: self.directory.clone(), source })
    }

    /// Says what leads from the tree `base` to the tree `snapshot`.
    ///
    /// The cost follows what differs between the two.
    ///
    /// # Errors
    ///
    /// [`StoreFault::Compare`] when one of the trees is not in the store.
    pub fn changes(&self, base: TreeId, snapshot: TreeId) -> Result<ChangeSet, StoreFault> {
        let repository = self.repository()?;
        let mut changes = compare::trees(&repository, base, snapshot)
            .map_err(|source| StoreFault::Compare { base, snapshot, source })?;
        let notes = notes::read(&self.notes, snapshot);
        changes.annotate(notes.map_err(|source| StoreFault::Notes { source })?);
        Ok(changes)
    }

    /// Makes the tree that `choice` of `changes` leads to, and keeps it.
    ///
    /// Nothing chosen is the base, everything is the snapshot.
    ///
    /// # Errors
    ///
    /// [`PickFault`]: a choice that leads to no tree, or a store that cannot be used.
    pub fn pick(&self, changes: &ChangeSet, choice: &Choice) -> Result<Picked, PickFault> {
        let repository = self.repository().map_err(|source| PickFault::Store { source })?;
        pick::pick(&repository, changes, choice)
    }

    /// Writes `changes` as a patch that `git apply` accepts, binary files included.
    ///
    /// # Errors
    ///
    /// [`StoreFault::Write`] from `out`, [`StoreFault::Compare`] when the content of
    /// a binary file is not in the store.
    pub fn write_patch(&self, changes: &ChangeSet, out: &mut dyn Write) -> Result<(), StoreFault> {
        let repository = self.repository()?;
        for file in &changes.files {
            let text = patch::of(&repository, file).map_err(|source| StoreFault::Compare {
                base: changes.base,
                snapshot: changes.snapshot,
                source,
            })?;
            out.write_all(&text).map_err(|source| StoreFault::Write { source })?;
        }
        Ok(())
    }
}
