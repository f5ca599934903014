//! Makes the tree that a choice of files and hunks leads to.
//!
//! Whole entries are copied from the newer tree; a text of which only some hunks are
//! wanted is put together from the lines of the older one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::{ObjectType, Oid, Repository, Tree};

use crate::keep::{DIRECTORY, Edits, Entry, Keep};
use crate::{
    ChangeKind, ChangeSet, Choice, FileChange, Hunk, LineTag, SnapshotFault, StoreFault, TreeId,
    carry,
};

/// The result of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picked {
    /// The tree that the choice leads to.
    pub tree: TreeId,
    /// What leads from the base to it, in the hunks of the change set.
    pub changes: ChangeSet,
}

/// Why a choice leads to no tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PickFault {
    /// A name would be two things at once.
    #[error("`{path}` was one thing and became another; take both changes or neither")]
    Clash {
        /// The path, with odd bytes replaced.
        path: String,
    },

    /// A hunk does not fit the text that it was made from.
    #[error("the hunks of `{path}` do not fit its old text")]
    Misfit {
        /// The path, with odd bytes replaced.
        path: String,
    },

    /// The store could not be read.
    #[error("cannot read the session's store")]
    Store {
        /// Why.
        source: StoreFault,
    },

    /// An object could not be read.
    #[error("cannot read a file of the session's store")]
    Objects {
        /// What the object store said.
        source: git2::Error,
    },

    /// The result could not be kept, for example because the disk is full.
    #[error("cannot keep what was chosen")]
    Keep {
        /// Why.
        source: SnapshotFault,
    },
}

/// Makes the tree of `choice` out of `changes`, and keeps it in the store.
pub(crate) fn pick(
    repository: &Repository,
    changes: &ChangeSet,
    choice: &Choice,
) -> Result<Picked, PickFault> {
    let keep = Keep::new(repository).map_err(objects)?;
    let mut files = Vec::new();
    for file in &changes.files {
        let Some(mut part) = choice.of(&file.path).and_then(|take| file.taken(take)) else {
            continue;
        };
        if part.hunks.len() != file.hunks.len() {
            part.new_id = splice_blob(repository, &keep, &part)?.to_string();
        }
        part.settle_kind();
        files.push(part);
    }
    let base = repository.find_tree(changes.base.0).map_err(objects)?;
    if let Some(path) = files.iter().find_map(|file| taken_twice(&base, file, &files)) {
        return Err(PickFault::Clash { path: String::from_utf8_lossy(path).into_owned() });
    }
    let rows: Vec<Row> = files.iter().flat_map(rows).collect::<Result<_, _>>().map_err(objects)?;
    let grove = Grove { repository, keep: &keep };
    let tree = grove.apply(Some(&base), &rows, &mut Vec::new())?;
    let tree = match tree {
        Some(tree) => tree,
        None => keep.bytes(ObjectType::Tree, b"").map_err(kept)?,
    };
    let tree = TreeId(tree);
    carry::judge(repository, tree, &mut files).map_err(objects)?;
    let base = changes.base;
    Ok(Picked { tree, changes: ChangeSet { base, snapshot: tree, files, skipped: Vec::new() } })
}

/// Returns the path at which a chosen change puts something where the base has something else
/// that no chosen change takes away.
fn taken_twice<'a>(
    base: &Tree<'_>,
    file: &'a FileChange,
    chosen: &[FileChange],
) -> Option<&'a [u8]> {
    if !matches!(file.kind, ChangeKind::Added | ChangeKind::Renamed) {
        return None;
    }
    let path = Path::new(OsStr::from_bytes(&file.path));
    // A directory in its place is found when the tree is made.
    let there = base.get_path(path).is_ok_and(|entry| entry.kind() != Some(ObjectType::Tree));
    let goes = |other: &FileChange| match other.kind {
        ChangeKind::Deleted => other.path == file.path,
        ChangeKind::Renamed => other.old_path.as_ref() == Some(&file.path),
        _ => false,
    };
    (there && !chosen.iter().any(goes)).then_some(&file.path)
}

impl FileChange {
    /// A modified file of which only the mode was taken is a change of mode.
    fn settle_kind(&mut self) {
        if self.kind == ChangeKind::Modified && self.hunks.is_empty() && !self.binary {
            self.kind =
                if self.old_id == self.new_id { ChangeKind::Mode } else { ChangeKind::Modified };
        }
    }
}

impl Hunk {
    /// How many lines of the old text stand before it.
    pub(crate) fn old_position(&self) -> i64 {
        let start = i64::from(self.old_start);
        if self.old_lines == 0 { start } else { start - 1 }
    }
}

fn splice_blob(
    repository: &Repository,
    keep: &Keep<'_>,
    file: &FileChange,
) -> Result<Oid, PickFault> {
    let id = Oid::from_str(&file.old_id).map_err(objects)?;
    let blob = repository.find_blob(id).map_err(objects)?;
    let text = splice(blob.content(), &file.hunks).ok_or_else(|| PickFault::Misfit {
        path: String::from_utf8_lossy(&file.path).into_owned(),
    })?;
    keep.bytes(ObjectType::Blob, &text).map_err(kept)
}

/// Puts `hunks`, which are in order, into `old`. `None` when one does not fit.
pub(crate) fn splice(old: &[u8], hunks: &[Hunk]) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let mut out = Vec::with_capacity(old.len());
    let mut at = 0;
    for hunk in hunks {
        let position = usize::try_from(hunk.old_position()).ok()?;
        for line in lines.get(at..position)? {
            out.extend_from_slice(line);
        }
        at = position;
        for line in &hunk.lines {
            if line.tag != LineTag::Added {
                if *lines.get(at)? != line.bytes.as_slice() {
                    return None;
                }
                at += 1;
            }
            if line.tag != LineTag::Removed {
                out.extend_from_slice(&line.bytes);
            }
        }
    }
    for line in lines.get(at..)? {
        out.extend_from_slice(line);
    }
    Some(out)
}

/// One path of the result: its new entry, or that it is gone.
#[derive(Debug, Clone)]
struct Row {
    path: Vec<u8>,
    entry: Option<Entry>,
}

fn rows(file: &FileChange) -> Vec<Result<Row, git2::Error>> {
    let row = |path: &Vec<u8>, entry| Row { path: path.clone(), entry };
    let entry = || {
        let id = Oid::from_str(&file.new_id)?;
        Ok(row(&file.path, Some(Entry { mode: file.new_mode, id })))
    };
    let gone = file.old_path.iter().map(|path| Ok(row(path, None)));
    if file.new_mode == 0 {
        return vec![Ok(row(&file.path, None))];
    }
    gone.chain([entry()]).collect()
}

/// Builds trees.
struct Grove<'a, 'repo> {
    repository: &'repo Repository,
    keep: &'a Keep<'repo>,
}

/// What happens to one name of a directory.
#[derive(Default)]
struct Name {
    itself: Option<Option<Entry>>,
    below: Vec<Row>,
}

impl<'repo> Grove<'_, 'repo> {
    /// The tree that `base` becomes, `None` when nothing is left of it.
    fn apply(
        &self,
        base: Option<&Tree<'repo>>,
        rows: &[Row],
        path: &mut Vec<u8>,
    ) -> Result<Option<Oid>, PickFault> {
        let mut edits = Edits::new();
        for (name, change) in by_name(rows) {
            let length = path.len();
            path.extend_from_slice(&name);
            let old = base.and_then(|tree| tree.get_name_bytes(&name)).map(|entry| Entry {
                mode: u32::try_from(entry.filemode_raw()).unwrap_or(0),
                id: entry.id(),
            });
            path.push(b'/');
            let entry = self.name(old, &change, path)?;
            path.truncate(length);
            edits.insert(name, entry);
        }
        if edits.is_empty() {
            return Ok(base.map(Tree::id));
        }
        self.keep.tree(base, &edits).map_err(kept)
    }

    fn name(
        &self,
        old: Option<Entry>,
        change: &Name,
        path: &mut Vec<u8>,
    ) -> Result<Option<Entry>, PickFault> {
        let old_tree = old.filter(|entry| entry.mode == DIRECTORY);
        let old_file = old.filter(|entry| entry.mode != DIRECTORY);
        let tree = match old_tree {
            Some(entry) => Some(self.repository.find_tree(entry.id).map_err(objects)?),
            None => None,
        };
        let tree = match (&tree, change.below.is_empty()) {
            (_, false) => self.apply(tree.as_ref(), &change.below, path)?,
            (_, true) => tree.as_ref().map(Tree::id),
        };
        let tree = tree.map(|id| Entry { mode: DIRECTORY, id });
        let file = change.itself.unwrap_or(old_file);
        match (file, tree) {
            (Some(_), Some(_)) => {
                path.pop();
                Err(PickFault::Clash { path: String::from_utf8_lossy(path).into_owned() })
            }
            (file, tree) => Ok(file.or(tree)),
        }
    }
}

fn by_name(rows: &[Row]) -> std::collections::BTreeMap<Vec<u8>, Name> {
    let mut names = std::collections::BTreeMap::<Vec<u8>, Name>::new();
    for row in rows {
        match row.path.iter().position(|byte| *byte == b'/') {
            Some(at) => {
                let below = Row { path: row.path[at + 1..].to_vec(), entry: row.entry };
                names.entry(row.path[..at].to_vec()).or_default().below.push(below);
            }
            None => {
                // A file that moved away may have left its name to another.
                let itself = &mut names.entry(row.path.clone()).or_default().itself;
                *itself = Some(row.entry.or(itself.flatten()));
            }
        }
    }
    names
}

fn objects(source: git2::Error) -> PickFault {
    PickFault::Objects { source }
}

fn kept(source: SnapshotFault) -> PickFault {
    PickFault::Keep { source }
}
