//! The session's git directory at a turn's end, kept as plain files and put back as plain files.
//!
//! The agent wrote it, and nothing here knows what git would make of it: a fork gets the bytes
//! back, in a cage, where the agent's own git reads them.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use git2::{ObjectType, Oid, Repository};
use rustix::fs::{AtFlags, Stat};
use rustix::io::Errno;

use crate::keep::{DIRECTORY, Edits, Entry, FILE, Keep, KeepFault, LINK, PROGRAM, store_fault};
use crate::upper::{self, Found, Marks};
use crate::{SNAPSHOT_DEPTH_MAX, SnapshotFault, WorkspaceFault, files, inside};

/// The most files of a session's git directory that are kept with a turn.
const CHECKPOINT_FILES_MAX: u64 = 100_000;

/// The most bytes of a session's git directory that are kept with a turn: 1 GiB. A session whose
/// git repacked a larger history than that cannot be forked from there on.
const CHECKPOINT_BYTES_MAX: u64 = 1 << 30;

/// How often a file that changes under the reader is read.
const ATTEMPTS_MAX: u32 = 3;

/// What was read of each file last, so that a turn costs what git wrote in it.
#[derive(Debug, Default)]
pub(crate) struct Seen(HashMap<Vec<u8>, (Stamp, Oid)>);

/// What the kernel says of a file that changes whenever its content does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: i64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        let nanoseconds = i64::try_from(stat.st_ctime_nsec).unwrap_or(i64::MAX);
        Self { inode: stat.st_ino, bytes: stat.st_size, changed: (stat.st_ctime, nanoseconds) }
    }
}

/// Keeps the files beneath `git_dir` as a tree. `None` when there are too many, or too large ones.
pub(crate) fn keep(
    repository: &Repository,
    git_dir: &Path,
    seen: &mut Seen,
) -> Result<Option<Oid>, SnapshotFault> {
    let top = upper::open_top(git_dir)
        .map_err(|errno| SnapshotFault::Read { path: ".git".to_owned(), source: errno.into() })?;
    let mut reader = Reader {
        keep: Keep::new(repository).map_err(store_fault)?,
        before: std::mem::take(&mut seen.0),
        now: HashMap::new(),
        path: Vec::new(),
        files_left: CHECKPOINT_FILES_MAX,
        bytes_left: CHECKPOINT_BYTES_MAX,
    };
    let tree = reader.directory(top.as_fd(), 0);
    seen.0 = reader.now;
    match tree {
        Ok(Some(tree)) => Ok(Some(tree)),
        Ok(None) => reader.keep.bytes(ObjectType::Tree, b"").map(Some),
        Err(Stopped::TooMuch) => Ok(None),
        Err(Stopped::Fault(fault)) => Err(fault),
    }
}

/// Why the walk did not come to its end.
enum Stopped {
    TooMuch,
    Fault(SnapshotFault),
}

impl From<SnapshotFault> for Stopped {
    fn from(fault: SnapshotFault) -> Self {
        Self::Fault(fault)
    }
}

struct Reader<'a> {
    keep: Keep<'a>,
    before: HashMap<Vec<u8>, (Stamp, Oid)>,
    now: HashMap<Vec<u8>, (Stamp, Oid)>,
    /// Where the walk is: every directory with a `/` behind it.
    path: Vec<u8>,
    files_left: u64,
    bytes_left: u64,
}

impl Reader<'_> {
    fn directory(
        &mut self,
        directory: BorrowedFd<'_>,
        depth: usize,
    ) -> Result<Option<Oid>, Stopped> {
        if depth == SNAPSHOT_DEPTH_MAX {
            return Err(Stopped::TooMuch);
        }
        let mut names = upper::names(directory).map_err(|errno| self.fault(errno))?;
        // What refers comes before what is referred to: a program of the session may be at work.
        names.sort_by_key(|name| depth == 0 && name.as_c_str() == c"objects");
        let (mut edits, length) = (Edits::new(), self.path.len());
        for name in names.iter().filter(|name| !is_passing(name)) {
            self.path.truncate(length);
            self.path.extend_from_slice(name.to_bytes());
            if let Some(entry) = self.name(directory, name, depth)? {
                edits.insert(name.to_bytes().to_vec(), Some(entry));
            }
        }
        self.path.truncate(length);
        Ok(self.keep.tree(None, &edits)?)
    }

    fn name(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
        depth: usize,
    ) -> Result<Option<Entry>, Stopped> {
        match upper::look(parent, name, Marks::None) {
            Ok(Found::Directory) => {
                let directory = match upper::open_directory(parent, name) {
                    Ok(directory) => directory,
                    Err(errno) => return self.gone(errno),
                };
                self.path.push(b'/');
                let tree = self.directory(directory.as_fd(), depth + 1)?;
                Ok(tree.map(|id| Entry { mode: DIRECTORY, id }))
            }
            Ok(Found::File { mode, .. }) => {
                let id = self.file(parent, name)?;
                let mode = if mode & 0o100 == 0 { FILE } else { PROGRAM };
                Ok(id.map(|id| Entry { mode, id }))
            }
            Ok(Found::Link) => {
                let target = match upper::read_link(parent, name) {
                    Ok(target) => target,
                    Err(errno) => return self.gone(errno),
                };
                self.count(target.len() as u64)?;
                let id = self.keep.bytes(ObjectType::Blob, &target)?;
                Ok(Some(Entry { mode: LINK, id }))
            }
            Ok(Found::Special | Found::Whiteout) => Ok(None),
            Err(errno) => self.gone(errno),
        }
    }

    fn file(&mut self, parent: BorrowedFd<'_>, name: &CStr) -> Result<Option<Oid>, Stopped> {
        let mut counted = false;
        for _ in 0..ATTEMPTS_MAX {
            let stat = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(errno) => return self.gone(errno),
            };
            if !counted {
                self.count(u64::try_from(stat.st_size).unwrap_or(0))?;
                counted = true;
            }
            let stamp = Stamp::of(&stat);
            if let Some((before, id)) = self.before.get(&self.path)
                && *before == stamp
            {
                let id = *id;
                self.now.insert(self.path.clone(), (stamp, id));
                return Ok(Some(id));
            }
            let (mut file, length) = match upper::open_file(parent, name) {
                Ok(Some(opened)) => opened,
                Ok(None) => return Ok(None),
                Err(errno) => return self.gone(errno),
            };
            match self.keep.file(&mut file, length) {
                Ok(Some(id)) => {
                    self.now.insert(self.path.clone(), (stamp, id));
                    return Ok(Some(id));
                }
                Ok(None) => {}
                Err(KeepFault::Read(source)) => {
                    return Err(Stopped::Fault(SnapshotFault::Read { path: self.shown(), source }));
                }
                Err(KeepFault::Keep(fault)) => return Err(fault.into()),
            }
        }
        Ok(None)
    }

    fn count(&mut self, bytes: u64) -> Result<(), Stopped> {
        let left = (self.files_left.checked_sub(1), self.bytes_left.checked_sub(bytes));
        let (Some(files), Some(bytes)) = left else { return Err(Stopped::TooMuch) };
        (self.files_left, self.bytes_left) = (files, bytes);
        Ok(())
    }

    /// What is no longer there, or is kept from us, is not part of it.
    fn gone<T>(&self, errno: Errno) -> Result<Option<T>, Stopped> {
        match errno {
            Errno::NOENT
            | Errno::ACCESS
            | Errno::PERM
            | Errno::LOOP
            | Errno::NOTDIR
            | Errno::XDEV
            | Errno::NXIO
            | Errno::INVAL => Ok(None),
            errno => Err(self.fault(errno).into()),
        }
    }

    fn fault(&self, errno: Errno) -> SnapshotFault {
        SnapshotFault::Read { path: self.shown(), source: errno.into() }
    }

    fn shown(&self) -> String {
        format!(".git/{}", String::from_utf8_lossy(&self.path))
    }
}

/// A lock of a program that runs, or what it writes an object to before it is whole. No ref has
/// such a name.
fn is_passing(name: &CStr) -> bool {
    let name = name.to_bytes();
    name.ends_with(b".lock") || name.starts_with(b"tmp_")
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
            std::fs::remove_dir(&to).map_err(files::fault("remove", &to))?;
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
