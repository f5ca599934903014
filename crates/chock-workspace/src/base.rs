//! The base: one committed tree as plain files, made once and shared by sessions.
//!
//! A base is `<cache>/bases/<key>` with the checkout in `tree`, the index that matches it in
//! `index`, what was counted in `facts`, and its directories in `directories`. It is made under
//! another name while its lock is held, and renamed when it is complete. Whoever works on it shares
//! `<key>.used`, whose time says when somebody last did.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW};
use serde::{Deserialize, Serialize};

use crate::checkout::{self, Difference};
use crate::git::Git;
use crate::{Owner, Progress, TreeId, WorkspaceFault, files, prune, remove, whole};

/// The layout of a base. Another number never meets an older base.
const VERSION: u32 = 3;

/// How many of the bases that were used last are asked whether a new one is like them.
const EARLIER_MAX: usize = 8;

/// One base, complete. It is not pruned before the value is gone.
#[derive(Debug)]
pub(crate) struct Base {
    directory: PathBuf,
    pub(crate) facts: BaseFacts,
    used: File,
}

/// What was counted while the base was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BaseFacts {
    /// Files that are pointers of Git LFS.
    pub(crate) lfs_pointers: u64,
    /// Submodules, which are empty directories.
    pub(crate) submodules: u64,
    /// How much of the disk the base takes. `None` where nobody counted it.
    #[serde(default)]
    pub(crate) bytes: Option<u64>,
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
    /// What is told how far it is.
    pub(crate) progress: &'a Progress,
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
        // From here on nobody prunes it.
        let used = share(&bases, &key)?;
        let found = match Self::find(&bases.join(&key), used) {
            Ok(base) => return Ok(base),
            Err(used) => used,
        };
        sweep(&bases)?;
        let _lock = files::wait_lock(&bases.join(format!("{key}.lock")))?;
        let used = match Self::find(&bases.join(&key), found) {
            Ok(base) => return Ok(base),
            Err(used) => used,
        };
        Self::make(&bases, &key, recipe)?;
        // What cannot be removed now is tried again with the next base.
        let _unpruned = prune::with_time_of(&used, &bases);
        Self::find(&bases.join(&key), used).map_err(|_| {
            files::fault("read", &bases.join(&key))(io::Error::from(io::ErrorKind::NotFound))
        })
    }

    /// Makes it while its lock is held.
    fn make(bases: &Path, key: &str, recipe: &Recipe<'_>) -> Result<(), WorkspaceFault> {
        let (directory, making) = (bases.join(key), bases.join(format!("{key}.making")));
        remove::tree(&making)?;
        let odd = |source| WorkspaceFault::Objects { what: "read the committed files", source };
        let repository = Repository::open_bare(recipe.store).map_err(odd)?;
        let (earlier, difference) = earlier(bases, &repository, recipe).map_err(odd)?;
        let made = checkout::make(&making, recipe, (earlier.as_ref(), &difference), &repository);
        if made.is_err() && earlier.is_some() {
            // Something of the earlier one was taken out of the cache.
            remove::tree(&making)?;
            let all = Difference::between(&repository, recipe.tree.0, None).map_err(odd)?;
            checkout::make(&making, recipe, (None, &all), &repository)?;
        } else {
            made?;
        }
        remove::tree(&directory)?;
        std::fs::rename(&making, &directory).map_err(files::fault("rename", &making))
    }

    /// The base in `directory`, or `used` again when there is none.
    fn find(directory: &Path, used: File) -> Result<Self, File> {
        let facts = files::read_bounded(&directory.join("facts"), 4096).ok();
        // Whoever empties a cache may not get to its end.
        let facts = facts.filter(|_| whole::is_whole(directory));
        match facts.and_then(|facts| serde_json::from_slice(&facts).ok()) {
            Some(facts) => Ok(Self { directory: directory.to_owned(), facts, used }),
            None => Err(used),
        }
    }

    /// What keeps it from being pruned while it is held.
    pub(crate) fn into_used(self) -> File {
        self.used
    }
}

/// Says that somebody works on a base, until the file is closed.
fn share(bases: &Path, key: &str) -> Result<File, WorkspaceFault> {
    let path = bases.join(format!("{key}.used"));
    let used = files::share_lock(&path)?;
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let now = Timestamps { last_access: now, last_modification: now };
    rustix::fs::futimens(&used, &now)
        .map_err(|errno| files::fault("change", &path)(errno.into()))?;
    Ok(used)
}

/// The base that a new one is most like, held, and what the new one has that it has not.
///
/// Only trees that the store knows are asked: those of the same project.
fn earlier(
    bases: &Path,
    repository: &Repository,
    recipe: &Recipe<'_>,
) -> Result<(Option<Base>, Difference), git2::Error> {
    let tree = recipe.tree.0;
    let wanted = key(recipe.tree, (recipe.owner, recipe.contents));
    let (_, kind) = split(&wanted);
    let mut best = (None, Difference::between(repository, tree, None)?);
    let mut known = prune::stock(bases).unwrap_or_default();
    known.sort_by_key(|kept| std::cmp::Reverse(kept.used));
    let like = known.into_iter().filter_map(|kept| {
        let (id, whose) = split(&kept.key);
        let id = Oid::from_str(id).ok().filter(|_| whose == kind)?;
        repository.find_tree(id).ok().map(|_| (kept.key.clone(), id))
    });
    for (key, old) in like.take(EARLIER_MAX) {
        let difference = Difference::between(repository, tree, Some(old))?;
        if difference.fresh.len() >= best.1.fresh.len() {
            continue;
        }
        // Being compared is no use: its time stays as it is.
        let used = files::share_lock(&bases.join(format!("{key}.used"))).ok();
        if let Some(base) = used.and_then(|used| Base::find(&bases.join(&key), used).ok()) {
            best = (Some(base), difference);
        }
    }
    Ok(best)
}

/// The tree in a key, and the rest of it.
fn split(key: &str) -> (&str, &str) {
    key.split_once('-').unwrap_or((key, ""))
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
