//! What a snapshot's tree cannot say, kept beside the store by the tree's id.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Flag, Skipped, Snapshot, TreeId, files};

/// The largest notes that are read back: 1,000 paths of 4 KiB, as numbers.
const NOTES_BYTES_MAX: u64 = 64 << 20;

/// The notes of one snapshot.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Notes {
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) flags: Vec<(Vec<u8>, Flag)>,
}

/// Keeps the notes of `snapshot` in `directory`, when there are any.
pub(crate) fn keep(directory: &Path, snapshot: &Snapshot) -> io::Result<()> {
    let path = file(directory, snapshot.tree);
    if snapshot.skipped.is_empty() && snapshot.flags.is_empty() {
        return match std::fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(source),
            Ok(()) | Err(_) => Ok(()),
        };
    }
    let notes = Notes { skipped: snapshot.skipped.clone(), flags: snapshot.flags.clone() };
    files::write_whole(&path, &serde_json::to_vec(&notes)?)
}

/// Reads the notes of the snapshot `tree`. Without any there is nothing to say.
pub(crate) fn read(directory: &Path, tree: TreeId) -> io::Result<Notes> {
    match files::read_bounded(&file(directory, tree), NOTES_BYTES_MAX) {
        Ok(text) => Ok(serde_json::from_slice(&text)?),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(Notes::default()),
        Err(source) => Err(source),
    }
}

fn file(directory: &Path, tree: TreeId) -> PathBuf {
    directory.join(format!("{tree}.json"))
}
