//! Turns the files of a workspace into a tree, at the cost of what changed.
//!
//! The walk starts from the lower tree and follows the upper layer only. What the
//! upper does not name keeps its place in the lower tree, unread.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use git2::{ObjectType, Oid, Repository, Tree};
use rustix::io::Errno;

use crate::ignored::{Ignored, PATTERNS_BYTES_MAX, Source};
use crate::keep::{
    DIRECTORY, Edits, Entry, FILE, Keep, KeepFault, LINK, PROGRAM, SUBMODULE, store_fault,
};
use crate::leftovers;
use crate::upper::{self, Found, Marks};
use crate::{
    Flag, NOTED_MAX, SNAPSHOT_BYTES_MAX, SNAPSHOT_DEPTH_MAX, SNAPSHOT_FILE_BYTES_MAX,
    SNAPSHOT_FILES_MAX, SkipReason, Skipped, Snapshot, SnapshotFault, TreeId,
};

/// How often a file that changes under the reader is read.
const ATTEMPTS_MAX: u32 = 3;

/// Set user id and set group id.
const SETUID_BITS: u32 = 0o6000;

/// What a scan compares the workspace with.
#[derive(Debug)]
pub(crate) struct Ground<'a> {
    /// The tree below the upper layer.
    pub(crate) lower: Oid,
    /// The tree the session started from. What is in it is tracked, too.
    pub(crate) start: Oid,
    /// Whether the files are an upper layer or everything.
    pub(crate) marks: Marks,
    /// Paths under the cage's own mounts: they stay as they are below.
    pub(crate) covered: &'a BTreeSet<Vec<u8>>,
    /// Paths that count with everything beneath them, ignored or not.
    pub(crate) carried: &'a BTreeSet<Vec<u8>>,
    /// Patterns that hold everywhere. `None` to take ignored files, too.
    pub(crate) exclude: Option<&'a [u8]>,
}

/// Keeps the tree of the files beneath `top`.
pub(crate) fn scan(
    repository: &Repository,
    top: BorrowedFd<'_>,
    ground: &Ground<'_>,
) -> Result<Snapshot, SnapshotFault> {
    let mut scan = Scan {
        repository,
        keep: Keep::new(repository).map_err(store_fault)?,
        marks: ground.marks,
        covered: ground.covered,
        carried: ground.carried,
        ignored: Ignored::new(ground.exclude.unwrap_or_default()),
        takes_ignored: ground.exclude.is_none(),
        path: Vec::new(),
        files_read: 0,
        bytes_read: 0,
        skipped: Vec::new(),
        flags: Vec::new(),
    };
    let place = Place {
        lower: Some(ground.lower),
        start: Some(ground.start),
        complete: ground.marks == Marks::None,
        ignored: false,
        depth: 0,
    };
    let tree = match scan.directory(top, place)? {
        Some(tree) => tree,
        None => scan.keep.bytes(ObjectType::Tree, b"")?,
    };
    Ok(Snapshot {
        tree: TreeId(tree),
        files_read: scan.files_read,
        bytes_read: scan.bytes_read,
        skipped: scan.skipped,
        flags: scan.flags,
        git: None,
    })
}

struct Scan<'a> {
    repository: &'a Repository,
    keep: Keep<'a>,
    marks: Marks,
    covered: &'a BTreeSet<Vec<u8>>,
    carried: &'a BTreeSet<Vec<u8>>,
    ignored: Ignored,
    takes_ignored: bool,
    /// Where the walk is: every directory with a `/` behind it.
    path: Vec<u8>,
    files_read: u64,
    bytes_read: u64,
    skipped: Vec<Skipped>,
    flags: Vec<(Vec<u8>, Flag)>,
}

/// One directory of the walk.
#[derive(Debug, Clone, Copy)]
struct Place {
    lower: Option<Oid>,
    start: Option<Oid>,
    /// Whether names that are not here are gone, instead of below.
    complete: bool,
    /// Whether only tracked names count.
    ignored: bool,
    depth: usize,
}

/// The trees that belong to a [`Place`].
struct Trees<'repo> {
    lower: Option<Tree<'repo>>,
    start: Option<Tree<'repo>>,
}

impl<'a> Scan<'a> {
    fn directory(
        &mut self,
        directory: BorrowedFd<'_>,
        place: Place,
    ) -> Result<Option<Oid>, SnapshotFault> {
        let names = upper::names(directory).map_err(|errno| self.read_fault(errno))?;
        let trees = Trees { lower: self.tree(place.lower)?, start: self.tree(place.start)? };
        let source = self.patterns(directory, place, &trees)?;
        self.ignored.enter(self.path.len(), source);
        let mut edits = Edits::new();
        let length = self.path.len();
        for name in &names {
            self.path.truncate(length);
            self.path.extend_from_slice(name.to_bytes());
            if let Some(edit) = self.name(directory, name, place, &trees)? {
                edits.insert(name.to_bytes().to_vec(), edit);
            }
        }
        self.path.truncate(length);
        self.ignored.leave();
        if place.complete {
            self.remove_missing(&names, &trees, &mut edits);
        }
        edits.retain(|name, edit| *edit != entry(trees.lower.as_ref(), name));
        if edits.is_empty() {
            return Ok(place.lower);
        }
        self.keep.tree(trees.lower.as_ref(), &edits)
    }

    /// What becomes of one name: `None` to leave it as it is below.
    fn name(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        place: Place,
        trees: &Trees<'_>,
    ) -> Result<Option<Option<Entry>>, SnapshotFault> {
        if self.covered.contains(&self.path) {
            return Ok(None);
        }
        if is_git_name(name.to_bytes()) {
            self.note_git(name, place);
            return Ok(None);
        }
        let found = match upper::look(directory, name, self.marks) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(self.read_fault(errno)),
        };
        let lower = entry(trees.lower.as_ref(), name.to_bytes());
        let start = entry(trees.start.as_ref(), name.to_bytes());
        match found {
            Found::Whiteout => Ok(Some(None)),
            Found::Directory
                if lower.is_none() && start.is_none() && leftovers::is_one(name.to_bytes()) =>
            {
                Ok(None)
            }
            Found::Directory => self.child(directory, name, place, (lower, start)),
            Found::Special => {
                self.skip(SkipReason::Special);
                Ok(Some(None))
            }
            Found::File { length, mode } => {
                if self.is_left_out(place, (lower, start), false) {
                    return Ok(Some(None));
                }
                self.file(directory, name, length, mode)
            }
            Found::Link => {
                if self.is_left_out(place, (lower, start), false) {
                    return Ok(Some(None));
                }
                self.link(directory, name)
            }
        }
    }

    fn child(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
        place: Place,
        (lower, start): (Option<Entry>, Option<Entry>),
    ) -> Result<Option<Option<Entry>>, SnapshotFault> {
        if lower.is_some_and(|entry| entry.mode == SUBMODULE) {
            return self.submodule(parent, name);
        }
        let (below, begun) = (tree_of(lower), tree_of(start));
        let ignored = self.is_left_out(place, (lower, start), true);
        if ignored && below.is_none() && begun.is_none() {
            return Ok(Some(None));
        }
        if place.depth == SNAPSHOT_DEPTH_MAX {
            self.skip(SkipReason::TooDeep);
            return Ok(None);
        }
        let directory = match upper::open_directory(parent, name) {
            Ok(directory) => directory,
            Err(errno) => return self.unreadable(errno),
        };
        let opaque = || self.marks == Marks::Overlay && upper::is_opaque(directory.as_fd());
        let child = Place {
            lower: below,
            start: begun,
            complete: place.complete || below.is_none() || opaque(),
            ignored,
            depth: place.depth + 1,
        };
        self.path.push(b'/');
        let tree = self.directory(directory.as_fd(), child)?;
        Ok(Some(tree.map(|id| Entry { mode: DIRECTORY, id })))
    }

    /// A submodule stays what it was; its files are not the project's.
    fn submodule(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<Option<Option<Entry>>, SnapshotFault> {
        let directory = upper::open_directory(parent, name);
        let names = directory.and_then(|directory| upper::names(directory.as_fd()));
        if names.is_ok_and(|names| !names.is_empty()) {
            self.skip(SkipReason::Submodule);
        }
        Ok(None)
    }

    fn file(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
        length: u64,
        mode: u32,
    ) -> Result<Option<Option<Entry>>, SnapshotFault> {
        if length > SNAPSHOT_FILE_BYTES_MAX {
            self.skip(SkipReason::TooLarge);
            return Ok(None);
        }
        self.count(length)?;
        for _ in 0..ATTEMPTS_MAX {
            let (mut file, length) = match upper::open_file(parent, name) {
                Ok(Some(opened)) => opened,
                Ok(None) => continue,
                Err(errno) => return self.unreadable(errno),
            };
            if length > SNAPSHOT_FILE_BYTES_MAX {
                break;
            }
            match self.keep.file(&mut file, length) {
                Ok(Some(id)) => {
                    if mode & SETUID_BITS != 0 {
                        self.flag(self.path.clone(), Flag::Setuid);
                    }
                    let mode = if mode & 0o100 == 0 { FILE } else { PROGRAM };
                    return Ok(Some(Some(Entry { mode, id })));
                }
                Ok(None) => {}
                Err(KeepFault::Read(source)) => return Err(self.fault(source)),
                Err(KeepFault::Keep(fault)) => return Err(fault),
            }
        }
        self.skip(SkipReason::Changing);
        Ok(None)
    }

    fn link(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<Option<Option<Entry>>, SnapshotFault> {
        let target = match upper::read_link(parent, name) {
            Ok(target) => target,
            Err(errno) => return self.unreadable(errno),
        };
        self.count(target.len() as u64)?;
        let id = self.keep.bytes(ObjectType::Blob, &target)?;
        Ok(Some(Some(Entry { mode: LINK, id })))
    }

    /// Whether a name is ignored and not tracked.
    fn is_left_out(
        &mut self,
        place: Place,
        (lower, start): (Option<Entry>, Option<Entry>),
        is_dir: bool,
    ) -> bool {
        let is_file = |entry: Option<Entry>| entry.is_some_and(|entry| entry.mode != DIRECTORY);
        if self.takes_ignored || (!is_dir && (is_file(lower) || is_file(start))) {
            return false;
        }
        if self.is_carried() {
            return false;
        }
        place.ignored || self.ignored.covers(self.keep.odb(), &self.path, is_dir)
    }

    /// Whether the walk is at a carried path, or beneath one.
    fn is_carried(&self) -> bool {
        let beneath = |top: &Vec<u8>| self.path.strip_prefix(top.as_slice());
        let mut rest = self.carried.iter().filter_map(beneath);
        rest.any(|rest| rest.first().is_none_or(|byte| *byte == b'/'))
    }

    fn remove_missing(&self, names: &[std::ffi::CString], trees: &Trees<'_>, edits: &mut Edits) {
        for entry in trees.lower.iter().flat_map(|tree| tree.iter()) {
            let name = entry.name_bytes();
            let path = [&self.path, name].concat();
            let is_here = names.binary_search_by(|probe| probe.to_bytes().cmp(name)).is_ok();
            if !is_here && !self.covered.contains(&path) {
                edits.insert(name.to_vec(), None);
            }
        }
    }

    fn patterns(
        &self,
        directory: BorrowedFd<'_>,
        place: Place,
        trees: &Trees<'_>,
    ) -> Result<Source, SnapshotFault> {
        let name = c".gitignore";
        match upper::look(directory, name, self.marks) {
            Ok(Found::File { .. }) => {
                let text = upper::read_file(directory, name, PATTERNS_BYTES_MAX);
                Ok(text.map_or(Source::None, Source::Bytes))
            }
            Ok(Found::Whiteout | Found::Directory | Found::Link | Found::Special) => {
                Ok(Source::None)
            }
            Err(Errno::NOENT) if !place.complete => {
                let below = entry(trees.lower.as_ref(), name.to_bytes());
                let is_file = |entry: &Entry| matches!(entry.mode, FILE | PROGRAM);
                Ok(below.filter(is_file).map_or(Source::None, |entry| Source::Base(entry.id)))
            }
            Err(Errno::NOENT) => Ok(Source::None),
            Err(errno) => Err(self.read_fault(errno)),
        }
    }

    fn tree(&self, id: Option<Oid>) -> Result<Option<Tree<'a>>, SnapshotFault> {
        id.map(|id| self.repository.find_tree(id)).transpose().map_err(store_fault)
    }

    fn count(&mut self, length: u64) -> Result<(), SnapshotFault> {
        self.files_read += 1;
        self.bytes_read += length;
        if self.files_read > SNAPSHOT_FILES_MAX {
            return Err(SnapshotFault::TooManyFiles);
        }
        if self.bytes_read > SNAPSHOT_BYTES_MAX {
            return Err(SnapshotFault::TooManyBytes);
        }
        Ok(())
    }

    /// The session's own git directory is expected at the top, and nowhere else.
    fn note_git(&mut self, name: &CStr, place: Place) {
        let is_exact = name.to_bytes() == b".git";
        if is_exact && place.depth == 0 {
            return;
        }
        self.skip(SkipReason::GitName);
        if is_exact {
            let length = self.path.len() - name.to_bytes().len() - 1;
            self.flag(self.path[..length].to_vec(), Flag::NestedRepository);
        }
    }

    fn unreadable(&mut self, errno: Errno) -> Result<Option<Option<Entry>>, SnapshotFault> {
        match errno {
            Errno::NOENT => Ok(None),
            Errno::ACCESS | Errno::PERM => {
                self.skip(SkipReason::Unreadable);
                Ok(None)
            }
            // It is a link or something else than it was a moment ago.
            Errno::LOOP | Errno::NOTDIR | Errno::XDEV | Errno::NXIO | Errno::INVAL => {
                self.skip(SkipReason::Changing);
                Ok(None)
            }
            errno => Err(self.read_fault(errno)),
        }
    }

    fn skip(&mut self, reason: SkipReason) {
        if self.skipped.len() < NOTED_MAX {
            self.skipped.push(Skipped { path: self.path.clone(), reason });
        }
    }

    fn flag(&mut self, path: Vec<u8>, flag: Flag) {
        if self.flags.len() < NOTED_MAX {
            self.flags.push((path, flag));
        }
    }

    fn read_fault(&self, errno: Errno) -> SnapshotFault {
        self.fault(errno.into())
    }

    fn fault(&self, source: io::Error) -> SnapshotFault {
        SnapshotFault::Read { path: String::from_utf8_lossy(&self.path).into_owned(), source }
    }
}

/// The entry of a name, with the modes that old programs wrote made plain.
fn entry(tree: Option<&Tree<'_>>, name: &[u8]) -> Option<Entry> {
    let entry = tree?.get_name_bytes(name)?;
    let mode = u32::try_from(entry.filemode()).unwrap_or(FILE);
    Some(Entry { mode, id: entry.id() })
}

fn tree_of(entry: Option<Entry>) -> Option<Oid> {
    entry.filter(|entry| entry.mode == DIRECTORY).map(|entry| entry.id)
}

/// `.git` in any case, and the short name that NTFS gives it.
fn is_git_name(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1")
}
