//! Compares two trees of a store, as git does.

use std::collections::BTreeSet;

use git2::{
    Blob, Delta, Diff, DiffDelta, DiffFile, DiffFindOptions, DiffOptions, Oid, Patch, Repository,
    Tree,
};
use sha2::{Digest, Sha256};

use crate::keep::{DIRECTORY, LINK, SUBMODULE};
use crate::{ChangeKind, ChangeSet, FileChange, Hunk, HunkId, Line, LineTag, TreeId, carry};

/// The largest file that is compared by line: 32 MiB. A larger one counts as binary.
pub(crate) const COMPARED_BYTES_MAX: u64 = 32 << 20;

/// How many bytes are compared by line in one change set: 256 MiB. The files that come
/// after count as binary.
pub(crate) const COMPARED_BYTES_TOTAL_MAX: u64 = 256 << 20;

/// How alike two files are, in percent, for one to be the other renamed. Git's own.
const RENAME_PERCENT: u16 = 50;

/// How many new and how many deleted files are tried for renames. Git's own.
const RENAME_FILES_MAX: usize = 1_000;

/// How many hexadecimal digits name a hunk.
const HUNK_ID_DIGITS: usize = 12;

/// Lists what leads from `base` to `snapshot`.
pub(crate) fn trees(
    repository: &Repository,
    base: TreeId,
    snapshot: TreeId,
) -> Result<ChangeSet, git2::Error> {
    let (old, new) = (repository.find_tree(base.0)?, repository.find_tree(snapshot.0)?);
    let mut options = DiffOptions::new();
    options.include_typechange(true);
    let paths = paths(repository, &old, &new)?;
    if paths.is_empty() {
        return Ok(ChangeSet { base, snapshot, files: Vec::new(), skipped: Vec::new() });
    }
    // Without a list of names git looks into every directory, alike or not.
    options.disable_pathspec_match(true);
    for path in paths {
        options.pathspec(path);
    }
    let mut diff = repository.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))?;
    find_renames(&mut diff)?;
    let mut files = Vec::new();
    let mut budget = COMPARED_BYTES_TOTAL_MAX;
    for delta in diff.deltas() {
        files.push(file(repository, &delta, &mut budget)?);
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    carry::judge(repository, snapshot, &mut files)?;
    Ok(ChangeSet { base, snapshot, files, skipped: Vec::new() })
}

/// Lists the paths whose entries differ in two trees.
pub(crate) fn paths(
    repository: &Repository,
    old: &Tree<'_>,
    new: &Tree<'_>,
) -> Result<Vec<Vec<u8>>, git2::Error> {
    let mut paths = Vec::new();
    differing(repository, Some(old), Some(new), &mut Vec::new(), &mut paths)?;
    Ok(paths)
}

/// Lists the paths whose entries differ, at the cost of the directories that do.
fn differing(
    repository: &Repository,
    old: Option<&Tree<'_>>,
    new: Option<&Tree<'_>>,
    path: &mut Vec<u8>,
    found: &mut Vec<Vec<u8>>,
) -> Result<(), git2::Error> {
    let entry = |tree: Option<&Tree<'_>>, name: &[u8]| {
        let entry = tree?.get_name_bytes(name)?;
        Some((entry.filemode_raw(), entry.id()))
    };
    let names = |tree: Option<&Tree<'_>>| -> BTreeSet<Vec<u8>> {
        tree.iter().flat_map(|tree| tree.iter()).map(|entry| entry.name_bytes().to_vec()).collect()
    };
    for name in names(old).union(&names(new)) {
        let (before, after) = (entry(old, name), entry(new, name));
        if before == after {
            continue;
        }
        let length = path.len();
        path.extend_from_slice(name);
        let below = |entry: Option<(i32, Oid)>| {
            let is_tree = |(mode, _): &(i32, Oid)| u32::try_from(*mode) == Ok(DIRECTORY);
            entry.filter(is_tree).map(|(_, id)| repository.find_tree(id)).transpose()
        };
        let (before_tree, after_tree) = (below(before)?, below(after)?);
        let is_file =
            |entry: Option<(i32, Oid)>, tree: &Option<Tree<'_>>| entry.is_some() && tree.is_none();
        if is_file(before, &before_tree) || is_file(after, &after_tree) {
            found.push(path.clone());
        }
        path.push(b'/');
        differing(repository, before_tree.as_ref(), after_tree.as_ref(), path, found)?;
        path.truncate(length);
    }
    Ok(())
}

fn find_renames(diff: &mut Diff<'_>) -> Result<(), git2::Error> {
    let mut options = DiffFindOptions::new();
    options.renames(true).rename_threshold(RENAME_PERCENT).rename_limit(RENAME_FILES_MAX);
    diff.find_similar(Some(&mut options))
}

/// One side of a change.
struct Side {
    path: Vec<u8>,
    mode: u32,
    id: Oid,
}

impl Side {
    fn of(file: &DiffFile<'_>) -> Self {
        let path = file.path_bytes().unwrap_or_default().to_vec();
        let id = file.id();
        let mode = if id.is_zero() { 0 } else { u32::from(file.mode()) };
        Self { path, mode, id }
    }
}

fn file(
    repository: &Repository,
    delta: &DiffDelta<'_>,
    budget: &mut u64,
) -> Result<FileChange, git2::Error> {
    let (old, new) = (Side::of(&delta.old_file()), Side::of(&delta.new_file()));
    let kind = kind(delta.status(), &old, &new);
    let path = if kind == ChangeKind::Deleted { old.path.clone() } else { new.path.clone() };
    let hunks = hunks(repository, &path, (&old, &new), budget)?;
    Ok(FileChange {
        path,
        old_path: (kind == ChangeKind::Renamed).then(|| old.path.clone()),
        kind,
        old_mode: old.mode,
        new_mode: new.mode,
        old_id: old.id.to_string(),
        new_id: new.id.to_string(),
        binary: hunks.is_none(),
        flags: Vec::new(),
        hunks: hunks.unwrap_or_default(),
    })
}

fn kind(status: Delta, old: &Side, new: &Side) -> ChangeKind {
    if old.id.is_zero() {
        return ChangeKind::Added;
    }
    if new.id.is_zero() {
        return ChangeKind::Deleted;
    }
    let either = |mode| old.mode == mode || new.mode == mode;
    if status == Delta::Renamed {
        ChangeKind::Renamed
    } else if either(SUBMODULE) {
        ChangeKind::Submodule
    } else if either(LINK) {
        ChangeKind::Symlink
    } else if old.id == new.id {
        ChangeKind::Mode
    } else {
        ChangeKind::Modified
    }
}

/// The hunks between two sides. `None` when one of them is binary.
fn hunks(
    repository: &Repository,
    path: &[u8],
    (old, new): (&Side, &Side),
    budget: &mut u64,
) -> Result<Option<Vec<Hunk>>, git2::Error> {
    if old.id == new.id {
        return Ok(Some(Vec::new()));
    }
    let sides = (content(repository, old, budget)?, content(repository, new, budget)?);
    let (Some(old), Some(new)) = sides else { return Ok(None) };
    between(path, old.bytes(), new.bytes())
}

/// What one side of a change holds, as far as it is compared.
enum Content<'repo> {
    Blob(Blob<'repo>),
    Text(String),
}

impl Content<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Blob(blob) => blob.content(),
            Self::Text(text) => text.as_bytes(),
        }
    }
}

/// `None` when it is too large to compare.
fn content<'repo>(
    repository: &'repo Repository,
    side: &Side,
    budget: &mut u64,
) -> Result<Option<Content<'repo>>, git2::Error> {
    if side.id.is_zero() {
        return Ok(Some(Content::Text(String::new())));
    }
    if side.mode == SUBMODULE {
        return Ok(Some(Content::Text(format!("Subproject commit {}\n", side.id))));
    }
    let (length, _) = repository.odb()?.read_header(side.id)?;
    let length = length as u64;
    if length > COMPARED_BYTES_MAX.min(*budget) {
        return Ok(None);
    }
    *budget -= length;
    Ok(Some(Content::Blob(repository.find_blob(side.id)?)))
}

/// The hunks between two texts, with git's own heuristic. `None` when one is binary.
pub(crate) fn between(
    path: &[u8],
    old: &[u8],
    new: &[u8],
) -> Result<Option<Vec<Hunk>>, git2::Error> {
    let mut options = DiffOptions::new();
    options.context_lines(3).interhunk_lines(0).indent_heuristic(true);
    let patch = Patch::from_buffers(old, None, new, None, Some(&mut options))?;
    if patch.delta().flags().is_binary() {
        return Ok(None);
    }
    (0..patch.num_hunks())
        .map(|number| hunk(path, &patch, number))
        .collect::<Result<_, _>>()
        .map(Some)
}

fn hunk(path: &[u8], patch: &Patch<'_>, number: usize) -> Result<Hunk, git2::Error> {
    let (head, count) = patch.hunk(number)?;
    let mut lines = Vec::with_capacity(count);
    for at in 0..count {
        let line = patch.line_in_hunk(number, at)?;
        let tag = match line.origin() {
            ' ' => LineTag::Context,
            '-' => LineTag::Removed,
            '+' => LineTag::Added,
            // Remarks on a missing line feed: the lines themselves show it.
            _ => continue,
        };
        lines.push(Line { tag, bytes: line.content().to_vec() });
    }
    let id = hunk_id(path, head.old_start(), head.old_lines(), &lines);
    Ok(Hunk {
        id,
        old_start: head.old_start(),
        old_lines: head.old_lines(),
        new_start: head.new_start(),
        new_lines: head.new_lines(),
        lines,
    })
}

/// The place in the new text has no part in it: other hunks move that.
pub(crate) fn hunk_id(path: &[u8], old_start: u32, old_lines: u32, lines: &[Line]) -> HunkId {
    let mut hash = Sha256::new();
    hash.update((path.len() as u64).to_be_bytes());
    hash.update(path);
    hash.update(old_start.to_be_bytes());
    hash.update(old_lines.to_be_bytes());
    for line in lines {
        hash.update([line.tag.sign()]);
        hash.update((line.bytes.len() as u64).to_be_bytes());
        hash.update(&line.bytes);
    }
    let digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    HunkId(digits[..HUNK_ID_DIGITS].to_owned())
}
