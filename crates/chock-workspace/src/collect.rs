//! Keeps the files beneath a directory as a tree, and reads only what changed since last time.

use std::collections::HashMap;
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use git2::{ObjectType, Oid, Repository};
use rustix::fs::{AtFlags, Stat};
use rustix::io::Errno;

use crate::keep::{DIRECTORY, Edits, Entry, FILE, Keep, KeepFault, LINK, PROGRAM, store_fault};
use crate::upper::{self, Found, Marks};
use crate::{NOTED_MAX, SNAPSHOT_DEPTH_MAX, SkipReason, Skipped, SnapshotFault};

/// How often a file that changes under the reader is read.
const ATTEMPTS_MAX: u32 = 3;

/// What is read, and what is left.
pub(crate) struct Rules<'a> {
    /// The most files.
    pub(crate) files_max: u64,
    /// The most bytes of all files.
    pub(crate) bytes_max: u64,
    /// The largest file. Larger ones are skipped by name.
    pub(crate) file_bytes_max: u64,
    /// What is no part of it.
    pub(crate) leaves_out: &'a LeavesOut<'a>,
    /// Which name of the top is read last: what refers comes before what is referred to, where a
    /// program may be at work.
    pub(crate) last: Option<&'a CStr>,
}

/// Whether a path with this last name is no part of it.
pub(crate) type LeavesOut<'a> = dyn Fn(&[u8], &[u8]) -> bool + 'a;

/// What was read of each file last, by its path.
pub(crate) type Seen = HashMap<Vec<u8>, (Stamp, Oid)>;

/// What the kernel says of a file that changes whenever its content does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) inode: u64,
    pub(crate) bytes: i64,
    /// The time of the last change, in seconds and nanoseconds, which no program can set.
    pub(crate) changed: (i64, i64),
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        let nanoseconds = i64::try_from(stat.st_ctime_nsec).unwrap_or(i64::MAX);
        Self { inode: stat.st_ino, bytes: stat.st_size, changed: (stat.st_ctime, nanoseconds) }
    }
}

/// The files of a directory at one moment.
#[derive(Debug)]
pub(crate) struct Collected {
    /// The tree.
    pub(crate) tree: Oid,
    /// How many files and links are in it.
    pub(crate) files: u64,
    /// What is in the directory and not in the tree. At most [`NOTED_MAX`] are named.
    pub(crate) skipped: Vec<Skipped>,
}

/// Keeps the files beneath `top`. `None` when there are more than `rules` take.
pub(crate) fn collect(
    repository: &Repository,
    top: &Path,
    rules: &Rules<'_>,
    seen: &mut Seen,
) -> Result<Option<Collected>, SnapshotFault> {
    let top = upper::open_top(top).map_err(|errno| SnapshotFault::Read {
        path: top.display().to_string(),
        source: errno.into(),
    })?;
    let mut collector = Collector {
        keep: Keep::new(repository).map_err(store_fault)?,
        rules,
        before: std::mem::take(seen),
        now: Seen::new(),
        path: Vec::new(),
        files_left: rules.files_max,
        bytes_left: rules.bytes_max,
        skipped: Vec::new(),
    };
    let tree = collector.directory(top.as_fd(), 0);
    *seen = std::mem::take(&mut collector.now);
    let tree = match tree {
        Ok(Some(tree)) => tree,
        Ok(None) => collector.keep.bytes(ObjectType::Tree, b"")?,
        Err(Stopped::TooMuch) => return Ok(None),
        Err(Stopped::Fault(fault)) => return Err(fault),
    };
    let files = rules.files_max - collector.files_left;
    Ok(Some(Collected { tree, files, skipped: collector.skipped }))
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

struct Collector<'a> {
    keep: Keep<'a>,
    rules: &'a Rules<'a>,
    before: Seen,
    now: Seen,
    /// Where the walk is: every directory with a `/` behind it.
    path: Vec<u8>,
    files_left: u64,
    bytes_left: u64,
    skipped: Vec<Skipped>,
}

impl Collector<'_> {
    fn directory(
        &mut self,
        directory: BorrowedFd<'_>,
        depth: usize,
    ) -> Result<Option<Oid>, Stopped> {
        let mut names = upper::names(directory).map_err(|errno| self.fault(errno))?;
        names.sort_by_key(|name| depth == 0 && Some(name.as_c_str()) == self.rules.last);
        let (mut edits, length) = (Edits::new(), self.path.len());
        for name in &names {
            self.path.truncate(length);
            self.path.extend_from_slice(name.to_bytes());
            if (self.rules.leaves_out)(&self.path, name.to_bytes()) {
                continue;
            }
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
            Ok(Found::Directory) if depth + 1 >= SNAPSHOT_DEPTH_MAX => {
                Ok(self.skip(SkipReason::TooDeep))
            }
            Ok(Found::Directory) => {
                let directory = match upper::open_directory(parent, name) {
                    Ok(directory) => directory,
                    Err(errno) => return self.gone(errno),
                };
                self.path.push(b'/');
                let tree = self.directory(directory.as_fd(), depth + 1)?;
                Ok(tree.map(|id| Entry { mode: DIRECTORY, id }))
            }
            Ok(Found::File { mode, length }) => {
                if length > self.rules.file_bytes_max {
                    return Ok(self.skip(SkipReason::TooLarge));
                }
                self.count(length)?;
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
            Ok(Found::Special | Found::Whiteout) => Ok(self.skip(SkipReason::Special)),
            Err(errno) => self.gone(errno),
        }
    }

    fn file(&mut self, parent: BorrowedFd<'_>, name: &CStr) -> Result<Option<Oid>, Stopped> {
        for _ in 0..ATTEMPTS_MAX {
            let stat = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(errno) => return self.gone(errno),
            };
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
                Ok(None) => break,
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
        Ok(self.skip(SkipReason::Changing))
    }

    fn count(&mut self, bytes: u64) -> Result<(), Stopped> {
        let left = (self.files_left.checked_sub(1), self.bytes_left.checked_sub(bytes));
        let (Some(files), Some(bytes)) = left else { return Err(Stopped::TooMuch) };
        (self.files_left, self.bytes_left) = (files, bytes);
        Ok(())
    }

    /// What is no longer there, or is kept from us, is not part of it.
    fn gone<T>(&mut self, errno: Errno) -> Result<Option<T>, Stopped> {
        match errno {
            Errno::NOENT => Ok(None),
            Errno::ACCESS | Errno::PERM => Ok(self.skip(SkipReason::Unreadable)),
            Errno::LOOP | Errno::NOTDIR | Errno::XDEV | Errno::NXIO | Errno::INVAL => {
                Ok(self.skip(SkipReason::Changing))
            }
            errno => Err(self.fault(errno).into()),
        }
    }

    fn skip<T>(&mut self, reason: SkipReason) -> Option<T> {
        if self.skipped.len() < NOTED_MAX {
            self.skipped.push(Skipped { path: self.path.clone(), reason });
        }
        None
    }

    fn fault(&self, errno: Errno) -> SnapshotFault {
        SnapshotFault::Read { path: self.shown(), source: errno.into() }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn rules(files_max: u64, bytes_max: u64) -> Rules<'static> {
        let leaves_out = &|_: &[u8], name: &[u8]| name == b"out";
        Rules { files_max, bytes_max, file_bytes_max: 100, leaves_out, last: Some(c"b") }
    }

    #[test]
    fn only_what_changed_is_read_again_and_bounds_hold() {
        let yard = tempfile::tempdir().expect("a directory");
        let repository = Repository::init_bare(yard.path().join("store")).expect("a store");
        let top = yard.path().join("top");
        fs::create_dir_all(top.join("b/c")).expect("directories");
        for (name, text) in [("a", "one"), ("b/c/d", "two"), ("out", "three")] {
            fs::write(top.join(name), text).expect("a file");
        }
        fs::write(top.join("large"), vec![b'x'; 101]).expect("a file");
        symlink("/etc/passwd", top.join("link")).expect("a link");
        fs::set_permissions(top.join("a"), fs::Permissions::from_mode(0o700)).expect("a mode");
        let mut seen = Seen::new();
        let mut run = |rules| collect(&repository, &top, &rules, &mut seen).expect("a walk");
        let first = run(rules(3, 100)).expect("a tree");
        assert_eq!(first.files, 3);
        assert_eq!(first.skipped.len(), 1);
        assert_eq!(run(rules(3, 100)).expect("a tree").tree, first.tree);
        // Too many files, and too many bytes.
        assert!(run(rules(2, 100)).is_none() && run(rules(3, 16)).is_none());

        // The same length and the same time of writing: only the kernel's time tells.
        let time = fs::metadata(top.join("b/c/d")).expect("a file").modified().expect("a time");
        fs::write(top.join("b/c/d"), "TWO").expect("a file");
        fs::File::options()
            .write(true)
            .open(top.join("b/c/d"))
            .and_then(|file| file.set_modified(time))
            .expect("a time");
        let second = run(rules(3, 100)).expect("a tree");
        assert_ne!(second.tree, first.tree);
        let tree = repository.find_tree(second.tree).expect("a tree");
        assert_eq!(tree.get_name("a").expect("an entry").filemode(), 0o100_755);
        let text = tree.get_path(Path::new("b/c/d")).expect("an entry");
        let blob = repository.find_blob(text.id()).expect("a blob");
        assert_eq!(blob.content(), b"TWO");

        // What was read is believed while nothing says that it changed.
        let id = repository.blob(b"as it was told").expect("a blob");
        for (_, told) in seen.values_mut() {
            *told = id;
        }
        let told = collect(&repository, &top, &rules(3, 100), &mut seen).expect("a walk");
        let tree = repository.find_tree(told.expect("a tree").tree).expect("a tree");
        assert_eq!(tree.get_name("a").expect("an entry").id(), id);
    }
}
