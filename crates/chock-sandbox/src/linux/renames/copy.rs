//! Copies a directory beside itself, removes it, and gives the copy its name.
//!
//! Runs as confined as the command, so a path that changes under it leads nowhere that the
//! command could not go. It walks by descriptor, follows no link beneath the directory, and stops
//! at mount points and at everything that it could not put back as it was. Until the copy is
//! complete nothing is removed, and only what is still as it was copied is.

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Statx, StatxFlags, Timespec, Timestamps,
    XattrFlags, openat, renameat_with, unlinkat,
};
use rustix::io::Errno;

use super::{EXCHANGE, NO_REPLACE};

/// The deepest tree that is copied: two descriptors are open for each level.
const DEPTH_MAX: usize = 100;

/// How many names are tried for the copy.
const NAMES_MAX: u32 = 16;

/// Where a copy that is whole says whose it is, for whoever finds it after a kill.
const ORIGINAL: &str = "user.chock.rename";

/// What the owner needs to read and empty a directory.
const OPEN: u32 = 0o700;

/// One name of a rename: where its path starts, and the path.
type Name<'a> = (BorrowedFd<'a>, &'a [u8]);

/// A name in a directory.
#[derive(Debug)]
struct Place {
    parent: OwnedFd,
    name: CString,
}

/// What was copied, by name.
#[derive(Debug)]
struct Entry {
    name: CString,
    status: Statx,
    beneath: Vec<Self>,
}

/// A copy in the making.
#[derive(Debug)]
struct Copy<'a> {
    root: BorrowedFd<'a>,
    /// The mount that everything must be of.
    mount: u64,
    /// Where files of several names were copied to first.
    linked: HashMap<u64, PathBuf>,
}

/// Makes what a rename needs the overlay's own: the old name, and in an exchange the new one.
pub(super) fn make_own([old, new]: [Name<'_>; 2], flags: u64) -> Result<(), Errno> {
    let (old, new) = (Place::find(old)?, Place::find(new)?);
    let mount = |place: &Place| look(place.parent.as_fd(), c"").map(|status| status.stx_mnt_id);
    if mount(&old)? != mount(&new)? {
        // The kernel refuses that for every file, and programs know it.
        return Err(Errno::XDEV);
    }
    let target = look(new.parent.as_fd(), &new.name);
    if flags & EXCHANGE != 0 {
        if kind(&target?) == FileType::Directory {
            new.make_own()?;
        }
    } else if target.is_ok_and(|it| flags & NO_REPLACE != 0 || kind(&it) != FileType::Directory) {
        return Err(Errno::EXIST);
    }
    if kind(&look(old.parent.as_fd(), &old.name)?) == FileType::Directory {
        old.make_own()?;
    }
    Ok(())
}

impl Place {
    /// Follows a path up to its last name, as a rename does.
    fn find((base, path): Name<'_>) -> Result<Self, Errno> {
        let end = path.iter().rposition(|byte| *byte != b'/').ok_or(Errno::BUSY)? + 1;
        let path = &path[..end];
        let start = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (parent, name) = path.split_at(start);
        if name == b"." || name == b".." {
            return Err(Errno::BUSY);
        }
        let parent = if parent.is_empty() { b"." } else { parent };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // From the root for an absolute path: the base is the root then.
        let parent = openat(base, parent, flags, Mode::empty())?;
        Ok(Self { parent, name: CString::new(name).map_err(|_| Errno::INVAL)? })
    }

    fn make_own(&self) -> Result<(), Errno> {
        let parent = self.parent.as_fd();
        let status = look(parent, &self.name)?;
        let mount = look(parent, c"")?.stx_mnt_id;
        owned(&status, mount)?;
        let aside = self.make_aside()?;
        match self.can_move(&aside) {
            Ok(false) => {}
            other => {
                unlinkat(parent, &aside, AtFlags::REMOVEDIR)?;
                return other.map(drop);
            }
        }
        let copy = open_directory(parent, &aside)?;
        let filled = Opened::new(parent, &self.name, &status).and_then(|old| {
            let mut copy = Copy { root: copy.as_fd(), mount, linked: HashMap::new() };
            let beneath = copy.fill(old.directory.as_fd(), copy.root, Path::new(""), 0)?;
            let name = self.name.to_bytes();
            rustix::fs::fsetxattr(copy.root, ORIGINAL, name, XattrFlags::CREATE)?;
            finish(copy.root, &status)?;
            Ok((old, beneath))
        });
        let Ok((old, beneath)) = filled else { return discard(parent, &aside) };
        let removed = remove(old.directory.as_fd(), &beneath)
            .and_then(|()| unlinkat(parent, &self.name, AtFlags::REMOVEDIR));
        if removed.is_err() {
            put_back(copy.as_fd(), old.directory.as_fd(), &beneath)?;
            let _ = rustix::fs::fremovexattr(&copy, ORIGINAL);
            drop(old);
            finish_times(parent, &self.name, &status)?;
            return discard(parent, &aside);
        }
        // What someone put there meanwhile stays, and so does the copy, by its own name.
        renameat_with(parent, &aside, parent, &self.name, RenameFlags::NOREPLACE)?;
        // Refused for a directory that is closed to writing; by another name it says nothing.
        let _ = rustix::fs::fremovexattr(&copy, ORIGINAL);
        Ok(())
    }

    /// Makes an empty directory beside it.
    fn make_aside(&self) -> Result<CString, Errno> {
        let own = rustix::process::getpid().as_raw_nonzero();
        for number in 0..NAMES_MAX {
            let name = CString::new(format!(".chock-rename-{own}-{number}"))
                .expect("invariant: it has no zero byte");
            match rustix::fs::mkdirat(&self.parent, &name, Mode::from(OPEN)) {
                Ok(()) => return Ok(name),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }

    /// Asks the kernel whether it can be renamed, by a rename that cannot succeed: onto a
    /// directory that is not empty. That an overlay cannot do it at all is what it says first.
    fn can_move(&self, aside: &CStr) -> Result<bool, Errno> {
        let parent = self.parent.as_fd();
        let directory = open_directory(parent, aside)?;
        rustix::fs::mkdirat(&directory, c"x", Mode::from(OPEN))?;
        let answer = renameat_with(parent, &self.name, parent, aside, RenameFlags::empty());
        unlinkat(&directory, c"x", AtFlags::REMOVEDIR)?;
        match answer {
            Err(Errno::XDEV) => Ok(false),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(true),
            Err(errno) => Err(errno),
            // Somebody emptied it meanwhile.
            Ok(()) => renameat_with(parent, aside, parent, &self.name, RenameFlags::NOREPLACE)
                .and(Err(Errno::AGAIN)),
        }
    }
}

impl Copy<'_> {
    /// Copies everything beneath `old` into `new`.
    fn fill(
        &mut self,
        old: BorrowedFd<'_>,
        new: BorrowedFd<'_>,
        path: &Path,
        depth: usize,
    ) -> Result<Vec<Entry>, Errno> {
        if depth > DEPTH_MAX {
            return Err(Errno::LOOP);
        }
        let mut entries = Vec::new();
        for name in names(old)? {
            let status = look(old, &name)?;
            owned(&status, self.mount)?;
            let mut entry = Entry { name, status, beneath: Vec::new() };
            let Entry { name, status, beneath } = &mut entry;
            match kind(status) {
                FileType::Directory => {
                    rustix::fs::mkdirat(new, &*name, Mode::from(OPEN))?;
                    let copy = open_directory(new, name)?;
                    let opened = Opened::new(old, name, status)?;
                    let path = path.join(OsStr::from_bytes(name.to_bytes()));
                    let directory = opened.directory.as_fd();
                    *beneath = self.fill(directory, copy.as_fd(), &path, depth + 1)?;
                    finish(copy.as_fd(), status)?;
                }
                FileType::RegularFile => self.file(old, new, &entry, path)?,
                FileType::Symlink => {
                    let to = rustix::fs::readlinkat(old, &*name, Vec::new())?;
                    rustix::fs::symlinkat(&to, new, &*name)?;
                    finish_times(new, name, status)?;
                }
                _ => return Err(Errno::OPNOTSUPP),
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    fn file(
        &mut self,
        old: BorrowedFd<'_>,
        new: BorrowedFd<'_>,
        Entry { name, status, .. }: &Entry,
        path: &Path,
    ) -> Result<(), Errno> {
        if status.stx_nlink > 1 {
            let path = path.join(OsStr::from_bytes(name.to_bytes()));
            if let Some(first) = self.linked.get(&status.stx_ino)
                && rustix::fs::linkat(self.root, first, new, name, AtFlags::empty()).is_ok()
            {
                return Ok(());
            }
            self.linked.entry(status.stx_ino).or_insert(path);
        }
        let from = open_file(old, name, status)?;
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let to = openat(new, name, flags, Mode::from(0o600))?;
        copy_bytes(from.as_fd(), to.as_fd())?;
        finish(to.as_fd(), status)
    }
}

/// A directory that its owner can read and empty; it gets its mode back.
#[derive(Debug)]
struct Opened {
    directory: OwnedFd,
    /// The mode it had, when that was not enough.
    mode: Option<u32>,
}

impl Opened {
    fn new(parent: BorrowedFd<'_>, name: &CStr, status: &Statx) -> Result<Self, Errno> {
        let mode = mode(status);
        if mode & OPEN == OPEN {
            return Ok(Self { directory: open_directory(parent, name)?, mode: None });
        }
        rustix::fs::chmodat(parent, name, Mode::from(mode | OPEN), AtFlags::empty())?;
        let directory = open_directory(parent, name)?;
        Ok(Self { directory, mode: Some(mode) })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(mode) = self.mode {
            let _ = rustix::fs::fchmod(&self.directory, Mode::from(mode));
        }
    }
}

/// Removes what was copied and is as it was then.
fn remove(old: BorrowedFd<'_>, entries: &[Entry]) -> Result<(), Errno> {
    for entry in entries {
        let status = look(old, &entry.name)?;
        if kind(&status) != kind(&entry.status) {
            return Err(Errno::AGAIN);
        }
        if kind(&status) == FileType::Directory {
            let opened = Opened::new(old, &entry.name, &status)?;
            remove(opened.directory.as_fd(), &entry.beneath)?;
            unlinkat(old, &entry.name, AtFlags::REMOVEDIR)?;
        } else if is_same(&status, &entry.status) {
            unlinkat(old, &entry.name, AtFlags::empty())?;
        } else {
            return Err(Errno::AGAIN);
        }
    }
    Ok(())
}

/// Moves back from the copy what was removed. What is there is newer, and stays.
fn put_back(copy: BorrowedFd<'_>, old: BorrowedFd<'_>, entries: &[Entry]) -> Result<(), Errno> {
    for entry in entries {
        let is_directory = kind(&entry.status) == FileType::Directory;
        // A directory that changes its parent must be writable.
        let opened = is_directory.then(|| Opened::new(copy, &entry.name, &entry.status));
        let opened = opened.transpose()?;
        match renameat_with(copy, &entry.name, old, &entry.name, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST) => {
                let Some(opened) = opened else { continue };
                let Ok(there) = Opened::new(old, &entry.name, &entry.status) else { continue };
                put_back(opened.directory.as_fd(), there.directory.as_fd(), &entry.beneath)?;
                finish(there.directory.as_fd(), &entry.status)?;
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Removes a copy.
fn discard(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    let status = look(parent, name)?;
    if kind(&status) != FileType::Directory {
        return unlinkat(parent, name, AtFlags::empty());
    }
    let opened = Opened::new(parent, name, &status)?;
    for name in names(opened.directory.as_fd())? {
        discard(opened.directory.as_fd(), &name)?;
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR)
}

fn names(directory: BorrowedFd<'_>) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if name.as_c_str() != c"." && name.as_c_str() != c".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// Looks at a name, or with an empty one at the directory itself, and follows no link.
fn look(directory: BorrowedFd<'_>, name: &CStr) -> Result<Statx, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT;
    let mask = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let status = rustix::fs::statx(directory, name, flags, mask)?;
    if status.stx_mask & mask.bits() != mask.bits() {
        return Err(Errno::NOSYS);
    }
    Ok(status)
}

/// Refuses what a copy would not be like: another mount's, or another owner's.
fn owned(status: &Statx, mount: u64) -> Result<(), Errno> {
    if status.stx_mnt_id != mount {
        return Err(Errno::BUSY);
    }
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    if status.stx_uid != uid.as_raw() || status.stx_gid != gid.as_raw() {
        return Err(Errno::PERM);
    }
    Ok(())
}

fn kind(status: &Statx) -> FileType {
    FileType::from_raw_mode(status.stx_mode.into())
}

/// Returns the permissions, without the bits that no file of a cage gets.
fn mode(status: &Statx) -> u32 {
    u32::from(status.stx_mode) & 0o1777
}

fn is_same(status: &Statx, copied: &Statx) -> bool {
    (status.stx_ino, status.stx_size) == (copied.stx_ino, copied.stx_size)
        && status.stx_mtime.tv_sec == copied.stx_mtime.tv_sec
        && status.stx_mtime.tv_nsec == copied.stx_mtime.tv_nsec
}

fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

/// Opens a file for reading, also one that its owner may not read at the moment.
fn open_file(parent: BorrowedFd<'_>, name: &CStr, status: &Statx) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(parent, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) if mode(status) & 0o400 == 0 => {
            let set = |mode| rustix::fs::chmodat(parent, name, Mode::from(mode), AtFlags::empty());
            set(mode(status) | 0o400)?;
            let file = openat(parent, name, flags, Mode::empty());
            set(mode(status))?;
            file
        }
        other => other,
    }
}

fn copy_bytes(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<(), Errno> {
    const AT_ONCE: usize = 1 << 30;
    loop {
        match rustix::fs::copy_file_range(from, None, to, None, AT_ONCE) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            // Two file systems that know no way between them.
            Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => break,
            Err(errno) => return Err(errno),
        }
    }
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = rustix::io::retry_on_intr(|| rustix::io::read(from, &mut buffer))?;
        let mut left = &buffer[..length];
        if left.is_empty() {
            return Ok(());
        }
        while !left.is_empty() {
            left = &left[rustix::io::retry_on_intr(|| rustix::io::write(to, left))?..];
        }
    }
}

/// Gives a copy the mode and the times of its original.
fn finish(copy: BorrowedFd<'_>, status: &Statx) -> Result<(), Errno> {
    rustix::fs::fchmod(copy, Mode::from(mode(status)))?;
    rustix::fs::futimens(copy, &times(status))
}

fn finish_times(parent: BorrowedFd<'_>, name: &CStr, status: &Statx) -> Result<(), Errno> {
    rustix::fs::utimensat(parent, name, &times(status), AtFlags::SYMLINK_NOFOLLOW)
}

fn times(status: &Statx) -> Timestamps {
    let time =
        |seconds, nanoseconds: u32| Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() };
    Timestamps {
        last_access: time(status.stx_atime.tv_sec, status.stx_atime.tv_nsec),
        last_modification: time(status.stx_mtime.tv_sec, status.stx_mtime.tv_nsec),
    }
}
