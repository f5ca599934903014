//! The base: one committed tree as plain files, made once and shared by sessions.
//!
//! A base is `<cache>/bases/<key>` with the checkout in `tree`, the index that
//! matches it in `index`, and what was counted in `facts`. It is made under another
//! name while its lock is held, and renamed when it is complete.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Repository};
use rustix::fs::{Timespec, Timestamps};
use serde::{Deserialize, Serialize};

use crate::git::{Git, Own};
use crate::{Owner, TreeId, WorkspaceFault, files, index, remove};

/// The layout of a base. Another number never meets an older base.
const VERSION: u32 = 2;

/// How much older than its index a base's files are, in seconds.
///
/// Git reads a file's content when its time is not before the index's.
const OLDER: i64 = 10;

/// A pointer of Git LFS is smaller than this many bytes.
const POINTER_BYTES_MAX: u64 = 1024;

/// How such a pointer starts.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// One base, complete.
#[derive(Debug)]
pub(crate) struct Base {
    directory: PathBuf,
    pub(crate) facts: BaseFacts,
}

/// What was counted while the base was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BaseFacts {
    /// Files that are pointers of Git LFS.
    pub(crate) lfs_pointers: u64,
    /// Submodules, which are empty directories.
    pub(crate) submodules: u64,
}

/// What a base is made from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe<'a> {
    pub(crate) git: &'a Git,
    /// A git directory of Chock's own that holds or borrows the tree.
    pub(crate) store: &'a Path,
    pub(crate) tree: TreeId,
    pub(crate) owner: Option<Owner>,
    pub(crate) contents: Contents,
}

/// What a base is a copy of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum Contents {
    /// A commit: there is a place for a git directory in it.
    #[default]
    Repository,
    /// A directory without git.
    Directory,
}

/// Whose a base is, and what it is a copy of.
pub(crate) type Key = (Option<Owner>, Contents);

impl Base {
    /// The checkout.
    pub(crate) fn tree(&self) -> PathBuf {
        self.directory.join("tree")
    }

    /// The index that matches the checkout.
    pub(crate) fn index(&self) -> PathBuf {
        self.directory.join("index")
    }

    /// Where the checkout of a tree is, when there is one.
    pub(crate) fn place(cache: &Path, tree: TreeId, of: Key) -> PathBuf {
        cache.join("bases").join(key(tree, of)).join("tree")
    }

    /// Finds the base of a tree in `cache`, and makes it when there is none.
    pub(crate) fn ensure(cache: &Path, recipe: &Recipe<'_>) -> Result<Self, WorkspaceFault> {
        let bases = cache.join("bases");
        for directory in [cache, &bases] {
            std::fs::create_dir_all(directory).map_err(files::fault("make", directory))?;
        }
        let key = key(recipe.tree, (recipe.owner, recipe.contents));
        let directory = bases.join(&key);
        if let Some(base) = Self::find(&directory) {
            return Ok(base);
        }
        sweep(&bases)?;
        let _lock = files::wait_lock(&bases.join(format!("{key}.lock")))?;
        if let Some(base) = Self::find(&directory) {
            return Ok(base);
        }
        let making = bases.join(format!("{key}.making"));
        remove::tree(&making)?;
        make(&making, recipe)?;
        remove::tree(&directory)?;
        std::fs::rename(&making, &directory).map_err(files::fault("rename", &making))?;
        Self::find(&directory).ok_or_else(|| {
            files::fault("read", &directory)(io::Error::from(io::ErrorKind::NotFound))
        })
    }

    fn find(directory: &Path) -> Option<Self> {
        let facts = files::read_bounded(&directory.join("facts"), 4096).ok()?;
        let facts = serde_json::from_slice(&facts).ok()?;
        Some(Self { directory: directory.to_owned(), facts })
    }
}

fn key(tree: TreeId, (owner, contents): Key) -> String {
    let whose = owner.map(|owner| format!("-{}-{}", owner.uid, owner.gid)).unwrap_or_default();
    let what = match contents {
        Contents::Repository => "",
        Contents::Directory => "-directory",
    };
    format!("{tree}-v{VERSION}{whose}{what}")
}

/// Removes what killed makers left.
fn sweep(bases: &Path) -> Result<(), WorkspaceFault> {
    for entry in bases.read_dir().map_err(files::fault("read", bases))? {
        let path = entry.map_err(files::fault("read", bases))?.path();
        if path.extension() != Some(OsStr::new("making")) {
            continue;
        }
        // Whoever is still at work holds the lock.
        if let Some(_lock) = files::try_lock(&path.with_extension("lock"))? {
            remove::tree(&path)?;
        }
    }
    Ok(())
}

fn make(making: &Path, recipe: &Recipe<'_>) -> Result<(), WorkspaceFault> {
    let (tree, index) = (making.join("tree"), making.join("index"));
    files::make_private(making)?;
    files::make_open(&tree)?;
    verify(recipe)?;
    check_out(&tree, &index, recipe)?;
    let seconds = index.metadata().map_err(files::fault("read", &index))?.mtime() - OLDER;
    let facts = settle(&tree, seconds, recipe.owner)?;
    set_index_times(&tree, &index, seconds, recipe)?;
    if recipe.contents == Contents::Repository {
        // The session's git directory is mounted here.
        let mount_point = tree.join(".git");
        files::make_open(&mount_point)?;
        files::give(&mount_point, recipe.owner)?;
    }
    let facts = serde_json::to_vec(&facts).expect("invariant: two numbers are JSON");
    files::write_whole(&making.join("facts"), &facts)
        .map_err(files::fault("write", &making.join("facts")))
}

/// Reads everything once and compares it with its name. Git checks out what it finds under a name,
/// and a base is shared by every project with that tree: one must not write for the others.
fn verify(recipe: &Recipe<'_>) -> Result<(), WorkspaceFault> {
    // libgit2 hashes what it reads.
    let verify = || {
        let repository = Repository::open_bare(recipe.store)?;
        let odb = repository.odb()?;
        let mut left = vec![recipe.tree.0];
        let mut seen = HashSet::new();
        while let Some(id) = left.pop() {
            for entry in &repository.find_tree(id)? {
                if !seen.insert(entry.id()) {
                    continue;
                }
                match entry.kind() {
                    Some(ObjectType::Tree) => left.push(entry.id()),
                    Some(ObjectType::Blob) => drop(odb.read(entry.id())?),
                    // A submodule's commit is not here.
                    Some(_) | None => {}
                }
            }
        }
        Ok(())
    };
    let what = "read the committed files";
    verify().map_err(|source| WorkspaceFault::Objects { what, source })
}

fn check_out(tree: &Path, index: &Path, recipe: &Recipe<'_>) -> Result<(), WorkspaceFault> {
    let own = Own { git_dir: recipe.store, work_tree: tree, index };
    let fault = |fault: crate::git::GitFault| WorkspaceFault::Git {
        what: "check out the base",
        said: fault.said(),
    };
    let id = recipe.tree.to_string();
    let args = ["read-tree", &id].map(OsStr::new);
    recipe.git.own(&own, &args, None).map_err(fault)?;
    let args = ["checkout-index", "--all", "--quiet", "--index"].map(OsStr::new);
    recipe.git.own(&own, &args, None).map_err(fault)?;
    Ok(())
}

/// Gives every file its time and owner, and counts the pointers of Git LFS.
fn settle(tree: &Path, seconds: i64, owner: Option<Owner>) -> Result<BaseFacts, WorkspaceFault> {
    let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    let (mut lfs_pointers, mut submodules) = (0, 0);
    files::walk(tree, &mut |path, found| {
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
    Ok(BaseFacts { lfs_pointers, submodules })
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
fn set_index_times(
    tree: &Path,
    index: &Path,
    seconds: i64,
    recipe: &Recipe<'_>,
) -> Result<(), WorkspaceFault> {
    let unreadable = |what| files::fault(what, index);
    let mut bytes = std::fs::read(index).map_err(unreadable("read"))?;
    let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
    let odd = |fault| unreadable("change")(io::Error::new(io::ErrorKind::InvalidData, fault));
    index::set_times(&mut bytes, seconds).map_err(odd)?;
    std::fs::write(index, bytes).map_err(unreadable("write"))?;
    let own = Own { git_dir: recipe.store, work_tree: tree, index };
    let args = ["update-index", "-q", "--refresh", "--force-write-index"].map(OsStr::new);
    recipe.git.own(&own, &args, None).map(drop).map_err(|fault| WorkspaceFault::Git {
        what: "write the index of the base",
        said: fault.said(),
    })
}
