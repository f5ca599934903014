//! Makes the files of a base: what an earlier one has is copied from it, and the rest is checked
//! out by git.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Repository, TreeEntry};
use rustix::fs::{Timespec, Timestamps};

use crate::base::{Base, BaseFacts, Contents, Recipe};
use crate::git::Own;
use crate::progress::Steps;
use crate::size::BLOCK_BYTES;
use crate::{Owner, WorkspaceFault, files, index, whole};

/// How much older than its index a base's files are, in seconds.
///
/// Git reads a file's content when its time is not before the index's.
const OLDER: i64 = 10;

/// A pointer of Git LFS is smaller than this many bytes.
const POINTER_BYTES_MAX: u64 = 1024;

/// How such a pointer starts.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// No path of a system is longer, in bytes: `PATH_MAX` of Linux.
const PATH_BYTES_MAX: usize = 4096;

/// Git checks out at least this many files at a time.
const BATCH_MIN: usize = 2000;

/// It is asked at most this many times for one base.
const BATCHES_MAX: usize = 10;

/// What a tree has that an earlier one has not, and what is the same in both.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    /// Files, links and submodules, as git names them, each with its content.
    pub(crate) fresh: Vec<(Vec<u8>, Option<Oid>)>,
    /// What is the same in the earlier tree: single entries, and directories as a whole.
    same: Vec<PathBuf>,
    /// How many entries that are, those in directories counted.
    same_entries: u64,
}

impl Difference {
    /// Compares a tree with an earlier one, or with nothing.
    pub(crate) fn between(
        repository: &Repository,
        tree: Oid,
        earlier: Option<Oid>,
    ) -> Result<Self, git2::Error> {
        let mut difference = Self::default();
        let mut left = vec![(tree, earlier, Vec::new())];
        while let Some((tree, earlier, above)) = left.pop() {
            let tree = repository.find_tree(tree)?;
            let earlier = earlier.map(|earlier| repository.find_tree(earlier)).transpose()?;
            for entry in &tree {
                let mut path = [&above[..], entry.name_bytes()].concat();
                let old = earlier.as_ref().and_then(|earlier| earlier.get_name(entry.name().ok()?));
                let is_tree = entry.kind() == Some(ObjectType::Tree);
                if old.as_ref().is_some_and(|old| is_same(old, &entry)) {
                    difference.same_entries += count(repository, &entry)?;
                    difference.same.push(OsStr::from_bytes(&path).into());
                } else if is_tree && path.len() < PATH_BYTES_MAX {
                    let old = old.filter(|old| old.kind() == Some(ObjectType::Tree));
                    path.push(b'/');
                    left.push((entry.id(), old.map(|old| old.id()), path));
                } else {
                    // Git says what is wrong with a path that is too long.
                    // A submodule's commit is not here.
                    let is_blob = entry.kind() == Some(ObjectType::Blob);
                    difference.fresh.push((path, is_blob.then(|| entry.id())));
                }
            }
        }
        Ok(difference)
    }
}

fn is_same(old: &TreeEntry<'_>, entry: &TreeEntry<'_>) -> bool {
    (old.id(), old.filemode_raw()) == (entry.id(), entry.filemode_raw())
}

/// How many files and links an entry of a tree is. A submodule is an empty directory.
fn count(repository: &Repository, entry: &TreeEntry<'_>) -> Result<u64, git2::Error> {
    let is_tree = |entry: &TreeEntry<'_>| entry.kind() == Some(ObjectType::Tree);
    let is_file = |entry: &TreeEntry<'_>| entry.kind() == Some(ObjectType::Blob);
    let mut left = if is_tree(entry) { vec![entry.id()] } else { return Ok(is_file(entry).into()) };
    let mut entries = 0;
    while let Some(id) = left.pop() {
        for entry in &repository.find_tree(id)? {
            if is_tree(&entry) {
                left.push(entry.id());
            }
            entries += u64::from(is_file(&entry));
        }
    }
    Ok(entries)
}

/// Makes everything of a base in `making`.
pub(crate) fn make(
    making: &Path,
    recipe: &Recipe<'_>,
    (earlier, difference): (Option<&Base>, &Difference),
    repository: &Repository,
) -> Result<(), WorkspaceFault> {
    let (tree, index) = (making.join("tree"), making.join("index"));
    files::make_private(making)?;
    files::make_open(&tree)?;
    let fresh = u64::try_from(difference.fresh.len()).unwrap_or(u64::MAX);
    let mut steps = Steps::begin(recipe.progress, fresh * 2 + difference.same_entries);
    verify(repository, difference, &mut steps)?;
    if let Some(earlier) = earlier {
        copy(earlier, (&tree, &index), difference, &mut steps)?;
    }
    let own = Own { git_dir: recipe.store, work_tree: &tree, index: &index };
    check_out(recipe, &own, (earlier.is_some(), difference), &mut steps)?;
    let seconds = index.metadata().map_err(files::fault("read", &index))?.mtime() - OLDER;
    let (facts, directories) = settle(&tree, seconds, recipe.owner)?;
    set_index_times(&own, seconds, recipe)?;
    if recipe.contents == Contents::Repository {
        // The session's git directory is mounted here.
        let mount_point = tree.join(".git");
        files::make_open(&mount_point)?;
        files::give(&mount_point, recipe.owner)?;
    }
    whole::write_down(making, &directories)?;
    let facts = serde_json::to_vec(&facts).expect("invariant: numbers are JSON");
    files::write_whole(&making.join("facts"), &facts)
        .map_err(files::fault("write", &making.join("facts")))
}

/// Reads everything once and compares it with its name. Git checks out what it finds under a name,
/// and a base is shared by every project with that tree: one must not write for the others.
fn verify(
    repository: &Repository,
    difference: &Difference,
    steps: &mut Steps<'_>,
) -> Result<(), WorkspaceFault> {
    let mut verify = || {
        let odb = repository.odb()?;
        let mut seen = HashSet::new();
        for (_, id) in &difference.fresh {
            // libgit2 hashes what it reads.
            if let Some(id) = id.filter(|id| seen.insert(*id)) {
                drop(odb.read(id)?);
            }
            steps.step();
        }
        Ok(())
    };
    let what = "read the committed files";
    verify().map_err(|source| WorkspaceFault::Objects { what, source })
}

/// Copies what is the same, and the index. An earlier base is never linked to: who writes to one
/// must not write to the other.
fn copy(
    earlier: &Base,
    (tree, index): (&Path, &Path),
    difference: &Difference,
    steps: &mut Steps<'_>,
) -> Result<(), WorkspaceFault> {
    let old = earlier.tree();
    let (mut made, mut copied) = (HashSet::from([Path::new("")]), 0);
    for path in &difference.same {
        let above: Vec<&Path> = path.ancestors().skip(1).collect();
        for directory in above.into_iter().rev() {
            if made.insert(directory) {
                files::make_open(&tree.join(directory))?;
            }
        }
        let mut step = || {
            copied += 1;
            steps.step();
        };
        files::copy_tree(&old.join(path), &tree.join(path), &mut step)?;
    }
    if copied != difference.same_entries {
        let gone = io::Error::other("something was taken out of it, or put into it");
        return Err(files::fault("copy", &old)(gone));
    }
    let from = earlier.index();
    std::fs::copy(&from, index).map(drop).map_err(files::fault("copy", &from))
}

/// Lets git write the index, and the files that are not there yet.
fn check_out(
    recipe: &Recipe<'_>,
    own: &Own<'_>,
    (goes_on, difference): (bool, &Difference),
    steps: &mut Steps<'_>,
) -> Result<(), WorkspaceFault> {
    let fault = |fault: crate::git::GitFault| WorkspaceFault::Git {
        what: "check out the base",
        said: fault.said(),
    };
    let id = recipe.tree.to_string();
    // With an index that is there, what it knows of the same files is kept.
    let read = ["read-tree", if goes_on { "-m" } else { "--reset" }, &id].map(OsStr::new);
    recipe.git.own(own, &read, None).map_err(fault)?;
    let fresh = &difference.fresh;
    for batch in fresh.chunks(BATCH_MIN.max(fresh.len().div_ceil(BATCHES_MAX))) {
        let names: Vec<u8> =
            batch.iter().flat_map(|(name, _)| [name, &b"\0"[..]].concat()).collect();
        let args = ["checkout-index", "--quiet", "--index", "-z", "--stdin"].map(OsStr::new);
        recipe.git.own(own, &args, Some(&names)).map_err(fault)?;
        batch.iter().for_each(|_| steps.step());
    }
    Ok(())
}

/// Gives every file its time and owner, and counts the pointers of Git LFS. Returns the directories
/// too, beneath `tree`.
fn settle(
    tree: &Path,
    seconds: i64,
    owner: Option<Owner>,
) -> Result<(BaseFacts, Vec<PathBuf>), WorkspaceFault> {
    let mut directories = Vec::new();
    let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    let (mut lfs_pointers, mut submodules, mut bytes) = (0, 0, 0);
    files::walk(tree, &mut |path, found| {
        bytes += found.blocks() * BLOCK_BYTES;
        if found.is_dir() {
            directories.push(path.strip_prefix(tree).unwrap_or(path).to_owned());
        }
        // Git keeps no empty directories: this one stands for a submodule.
        if found.is_dir() && path != tree && path.read_dir()?.next().is_none() {
            submodules += 1;
        }
        if found.is_file() && found.len() < POINTER_BYTES_MAX && is_pointer(path)? {
            lfs_pointers += 1;
        }
        files::set_times(path, &times)?;
        match owner {
            Some(owner) => std::os::unix::fs::lchown(path, Some(owner.uid), Some(owner.gid)),
            None => Ok(()),
        }
    })?;
    Ok((BaseFacts { lfs_pointers, submodules, bytes: Some(bytes) }, directories))
}

fn is_pointer(path: &Path) -> io::Result<bool> {
    let mut start = [0; POINTER.len()];
    match File::open(path)?.read_exact(&mut start) {
        Ok(()) => Ok(start == POINTER),
        Err(fault) if fault.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Makes the index match the files' new times.
fn set_index_times(own: &Own<'_>, seconds: i64, recipe: &Recipe<'_>) -> Result<(), WorkspaceFault> {
    let index = own.index;
    let unreadable = |what| files::fault(what, index);
    let mut bytes = std::fs::read(index).map_err(unreadable("read"))?;
    let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
    let odd = |fault| unreadable("change")(io::Error::new(io::ErrorKind::InvalidData, fault));
    index::set_times(&mut bytes, seconds).map_err(odd)?;
    std::fs::write(index, bytes).map_err(unreadable("write"))?;
    let args = ["update-index", "-q", "--refresh", "--force-write-index"].map(OsStr::new);
    recipe.git.own(own, &args, None).map(drop).map_err(|fault| WorkspaceFault::Git {
        what: "write the index of the base",
        said: fault.said(),
    })
}
