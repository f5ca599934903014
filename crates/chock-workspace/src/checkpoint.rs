//! The session's git directory at a turn's end, kept as plain files and put back as plain files.
//!
//! The agent wrote it, and nothing here knows what git would make of it: a fork gets the bytes
//! back, in a cage, where the agent's own git reads them.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use git2::{Oid, Repository};

use crate::collect::{self, Rules, Seen};
use crate::keep::{DIRECTORY, FILE, LINK, PROGRAM};
use crate::{SnapshotFault, WorkspaceFault, files, inside, remove};

/// The most files of a session's git directory that are kept with a turn.
const CHECKPOINT_FILES_MAX: u64 = 100_000;

/// The most bytes of a session's git directory that are kept with a turn: 1 GiB. A session whose
/// git repacked a larger history than that cannot be forked from there on.
const CHECKPOINT_BYTES_MAX: u64 = 1 << 30;

/// Keeps the files beneath `git_dir` as a tree. `None` when there are too many, or too large ones.
pub(crate) fn keep(
    repository: &Repository,
    git_dir: &Path,
    seen: &mut Seen,
) -> Result<Option<Oid>, SnapshotFault> {
    let rules = Rules {
        files_max: CHECKPOINT_FILES_MAX,
        bytes_max: CHECKPOINT_BYTES_MAX,
        // A git directory without one of its packs is none: it is kept whole or not at all.
        file_bytes_max: u64::MAX,
        leaves_out: &is_passing,
        last: Some(c"objects"),
    };
    let collected = collect::collect(repository, git_dir, &rules, seen)?;
    Ok(collected.map(|collected| collected.tree))
}

/// A lock of a program that runs, or what it writes an object to before it is whole. No ref ends
/// so, and any may begin so.
fn is_passing(path: &[u8], name: &[u8]) -> bool {
    name.ends_with(b".lock") || (path.starts_with(b"objects/") && name.starts_with(b"tmp_"))
}

/// Makes the git directory `path` out of a kept tree.
pub(crate) fn restore(
    repository: &Repository,
    tree: Oid,
    path: &Path,
) -> Result<(), WorkspaceFault> {
    // A tree has no empty directories, and git knows its own by these.
    inside::make_directories(path)?;
    below(repository, tree, path)
}

fn below(repository: &Repository, tree: Oid, path: &Path) -> Result<(), WorkspaceFault> {
    let lost = |source| WorkspaceFault::Objects { what: "read the kept git directory", source };
    for entry in &repository.find_tree(tree).map_err(lost)? {
        let to = path.join(OsStr::from_bytes(entry.name_bytes()));
        let mode = u32::try_from(entry.filemode()).unwrap_or(FILE);
        if mode == DIRECTORY {
            if !to.is_dir() {
                files::make_open(&to)?;
            }
            below(repository, entry.id(), &to)?;
            continue;
        }
        if to.is_dir() {
            // One of the empty ones above.
            remove::tree(&to)?;
        }
        let blob = repository.find_blob(entry.id()).map_err(lost)?;
        put(&to, mode, blob.content()).map_err(files::fault("write", &to))?;
    }
    Ok(())
}

/// Writes one kept file or link to a place where nothing is.
pub(crate) fn put(to: &Path, mode: u32, content: &[u8]) -> std::io::Result<()> {
    if mode == LINK {
        return symlink(OsStr::from_bytes(content), to);
    }
    let mode = if mode == PROGRAM { 0o755 } else { 0o644 };
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(to)?;
    file.write_all(content)?;
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}
