//! Bytes and files, and a count of them below a directory that somebody writes in meanwhile.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::FASTEST;
use crate::LimitKind;

/// How deep is counted: each level takes a descriptor while it is looked at. No project seen has
/// a tenth.
const DEPTH_MAX: u32 = 256;

/// The kernel counts what a file uses in these, whatever the file system's own blocks are.
const BLOCK: u64 = 512;

/// How much is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: u64,
    pub(super) files: u64,
}

impl Size {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            files: self.files.saturating_add(other.files),
        }
    }

    /// Returns the larger of each.
    pub(super) fn at_least(self, other: Self) -> Self {
        Self { bytes: self.bytes.max(other.bytes), files: self.files.max(other.files) }
    }

    /// Says which limit this is over.
    pub(super) fn over(self, most: &Self) -> Option<LimitKind> {
        let files = (self.files > most.files).then_some(LimitKind::WorkspaceFiles);
        (self.bytes > most.bytes).then_some(LimitKind::WorkspaceBytes).or(files)
    }

    pub(super) fn room_to(self, most: &Self) -> Self {
        most.more_than(self)
    }

    pub(super) fn more_than(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            files: self.files.saturating_sub(other.files),
        }
    }

    /// Says whether `other` is more in either.
    pub(super) fn is_below(self, other: Self) -> bool {
        other.bytes > self.bytes || other.files > self.files
    }

    /// Returns how long the fastest program takes to write this.
    pub(super) fn fastest_fill(self) -> Duration {
        let micros = |part: u64, a_second: u64| {
            Duration::from_micros(part.min(a_second) * 1000 / (a_second / 1000))
        };
        micros(self.bytes, FASTEST.bytes).min(micros(self.files, FASTEST.files))
    }
}

/// A count.
#[derive(Debug)]
pub(super) struct Tally {
    files_max: u64,
    pub(super) size: Size,
    /// Whether everything was seen. A directory that nobody may read, one that is too deep, or a
    /// program that cannot be looked into leaves it open.
    pub(super) certain: bool,
    /// Files with more than one name that were counted, by device and number.
    seen: HashSet<(u64, u64)>,
}

impl Tally {
    /// Begins a count that is given up when it is more than this.
    pub(super) fn up_to(files_max: u64) -> Self {
        Self { files_max, size: Size::default(), certain: true, seen: HashSet::new() }
    }

    /// Counts everything below these directories.
    pub(super) fn add_all(&mut self, directories: &[OwnedFd]) {
        for directory in directories {
            if self.below(directory.as_fd(), 0).is_err() {
                self.certain = false;
            }
        }
    }

    /// Counts one file, once.
    pub(super) fn add(&mut self, found: &Stat) {
        let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        let is_new =
            is_directory || found.st_nlink == 1 || self.seen.insert((found.st_dev, found.st_ino));
        if is_new {
            let bytes = u64::try_from(found.st_blocks).unwrap_or(0).saturating_mul(BLOCK);
            self.size = self.size.plus(Size { bytes, files: 1 });
        }
    }

    /// Says whether a file with this number was counted by [`add`](Self::add) and has no name,
    /// or many.
    pub(super) fn has_seen(&self, number: u64) -> bool {
        self.seen.iter().any(|(_, seen)| *seen == number)
    }

    fn below(&mut self, directory: BorrowedFd<'_>, depth: u32) -> Result<(), Errno> {
        let mut entries = Dir::read_from(directory)?;
        while let Some(entry) = entries.read() {
            if self.size.files >= self.files_max {
                return Err(Errno::FBIG);
            }
            let entry = entry?;
            let name = entry.file_name();
            if [c".", c".."].contains(&name) {
                continue;
            }
            let found = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => found,
                // It went while this counted.
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno),
            };
            self.add(&found);
            if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
                self.enter(directory, name, depth);
            }
        }
        Ok(())
    }

    fn enter(&mut self, directory: BorrowedFd<'_>, name: &std::ffi::CStr, depth: u32) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let counted = match rustix::fs::openat(directory, name, flags, Mode::empty()) {
            Ok(_) if depth >= DEPTH_MAX => Err(Errno::NAMETOOLONG),
            Ok(inner) => self.below(inner.as_fd(), depth + 1),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(errno) => Err(errno),
        };
        self.certain &= counted.is_ok();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn count() -> (tempfile::TempDir, Tally) {
        let yard = tempfile::tempdir().expect("a yard");
        std::fs::create_dir_all(yard.path().join("a/b")).expect("directories");
        std::fs::write(yard.path().join("a/b/file"), vec![1; 100_000]).expect("a file");
        std::fs::hard_link(yard.path().join("a/b/file"), yard.path().join("again"))
            .expect("a link");
        std::os::unix::fs::symlink("/", yard.path().join("a/root")).expect("a link");
        let mut tally = Tally::up_to(u64::MAX);
        tally.add_all(&[File::open(yard.path()).expect("the yard").into()]);
        (yard, tally)
    }

    #[test]
    fn every_file_counts_once_and_links_lead_nowhere() {
        let (yard, tally) = count();
        assert_eq!((tally.size.files, tally.certain), (4, true), "a, b, the file, the link");
        let names = ["a", "a/b", "a/b/file", "a/root"];
        let blocks: u64 = names
            .iter()
            .map(|name| std::fs::symlink_metadata(yard.path().join(name)).expect("it").blocks())
            .sum();
        assert_eq!(tally.size.bytes, blocks * BLOCK);
    }

    #[test]
    fn a_count_that_is_given_up_is_not_certain() {
        let (yard, _) = count();
        let mut tally = Tally::up_to(2);
        tally.add_all(&[File::open(yard.path()).expect("the yard").into()]);
        assert_eq!((tally.certain, tally.size.files), (false, 2));
    }

    #[test]
    fn what_is_too_deep_is_not_certain() {
        let yard = tempfile::tempdir().expect("a yard");
        let deep = vec!["d"; 300].join("/");
        std::fs::create_dir_all(yard.path().join(deep)).expect("directories");
        let mut tally = Tally::up_to(u64::MAX);
        tally.add_all(&[File::open(yard.path()).expect("the yard").into()]);
        assert!(!tally.certain);
        assert!(tally.size.files > 200);
    }

    #[test]
    fn the_closer_a_limit_the_sooner_is_looked() {
        let fill = |bytes, files| Size { bytes, files }.fastest_fill().as_millis();
        assert_eq!(fill(u64::MAX, u64::MAX), 1000);
        assert_eq!(fill(0, u64::MAX), 0);
        assert_eq!(fill(FASTEST.bytes / 10, u64::MAX), 100);
        assert_eq!(fill(u64::MAX, FASTEST.files / 20), 50);
    }
}
