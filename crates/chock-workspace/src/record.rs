//! What is written down about a workspace, so that a later process can open it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::{BaseFacts, Contents, Key};
use crate::{Method, Owner, TreeId, WorkspaceFault, files};

/// The version that this program writes and reads.
const VERSION: u32 = 1;

/// The largest record that is read.
const RECORD_BYTES_MAX: u64 = 16 << 20;

/// The record of one workspace, written when everything else is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    pub(crate) project: OsString,
    pub(crate) cache: OsString,
    pub(crate) method: Method,
    pub(crate) owner: Option<Owner>,
    pub(crate) base_tree: TreeId,
    pub(crate) base_facts: BaseFacts,
    pub(crate) start_tree: TreeId,
    pub(crate) start_commit: Option<String>,
    /// Real paths of the borrowed object directories, in order.
    pub(crate) objects: Vec<OsString>,
    pub(crate) covered: Vec<OsString>,
    /// Ignored paths that were copied in, relative to the top.
    #[serde(default)]
    pub(crate) copied: Vec<OsString>,
    /// Those of them that review can carry back: they are in every snapshot.
    #[serde(default)]
    pub(crate) carried: Vec<OsString>,
    /// What the base is a copy of.
    #[serde(default)]
    pub(crate) contents: Contents,
    /// How many files of a directory without git are not in its base.
    #[serde(default)]
    pub(crate) left_out: u64,
}

/// The parts of a [`Record`] that are known at the start.
#[derive(Debug)]
pub(crate) struct Beginning<'a> {
    pub(crate) project: &'a Path,
    pub(crate) cache: &'a Path,
    pub(crate) method: Method,
    pub(crate) owner: Option<Owner>,
    pub(crate) tree: TreeId,
    pub(crate) commit: Option<String>,
    pub(crate) objects: &'a [PathBuf],
    pub(crate) covered: &'a [PathBuf],
    pub(crate) copied: &'a [PathBuf],
    pub(crate) carried: &'a [PathBuf],
    pub(crate) contents: Contents,
    pub(crate) left_out: u64,
}

impl Record {
    pub(crate) fn new(beginning: Beginning<'_>, base_facts: BaseFacts) -> Self {
        let strings = |paths: &[PathBuf]| paths.iter().map(|path| path.clone().into()).collect();
        Self {
            version: VERSION,
            project: beginning.project.into(),
            cache: beginning.cache.into(),
            method: beginning.method,
            owner: beginning.owner,
            base_tree: beginning.tree,
            base_facts,
            start_tree: beginning.tree,
            start_commit: beginning.commit,
            objects: strings(beginning.objects),
            covered: strings(beginning.covered),
            copied: strings(beginning.copied),
            carried: strings(beginning.carried),
            contents: beginning.contents,
            left_out: beginning.left_out,
        }
    }

    /// Which of the bases of a tree is this one's.
    pub(crate) fn key(&self) -> Key {
        (self.owner, self.contents)
    }

    fn path(session: &Path) -> PathBuf {
        session.join("workspace.json")
    }

    /// Whether `session` holds a whole workspace.
    pub(crate) fn exists(session: &Path) -> bool {
        Self::path(session).exists()
    }

    pub(crate) fn write(&self, session: &Path) -> Result<(), WorkspaceFault> {
        let text = serde_json::to_vec_pretty(self).expect("invariant: a record is JSON");
        let path = Self::path(session);
        files::write_whole(&path, &text).map_err(files::fault("write", &path))
    }

    pub(crate) fn read(session: &Path) -> Result<Self, WorkspaceFault> {
        let path = Self::path(session);
        let text = match files::read_bounded(&path, RECORD_BYTES_MAX) {
            Ok(text) => text,
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                return Err(WorkspaceFault::Missing { path: session.to_owned() });
            }
            Err(source) => return Err(files::fault("read", &path)(source)),
        };
        let damaged = |source| WorkspaceFault::Damaged { path: session.to_owned(), source };
        let record: Self = serde_json::from_slice(&text).map_err(damaged)?;
        if record.version != VERSION {
            let words = format!("version {} is not known", record.version);
            return Err(damaged(serde::de::Error::custom(words)));
        }
        Ok(record)
    }
}
