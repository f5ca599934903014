//! Removes a tree that somebody else wrote, beneath its descriptor.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::{WorkspaceFault, files};

/// How many directories are open at once. What is deeper is moved up first.
const OPEN_MAX: usize = 64;

/// Removes what a session left at `path`, a tree or a file. Nothing there is fine.
///
/// No link is followed, whoever wrote the tree. The caller makes sure that nobody writes below
/// `path` meanwhile.
///
/// # Errors
///
/// [`WorkspaceFault::Files`] when something cannot be removed.
pub fn remove_tree(path: &Path) -> Result<(), WorkspaceFault> {
    tree(path)
}

/// Removes `path` and everything below it. Nothing there is fine.
///
/// No link is followed, and a directory that its mode closes is opened first. The
/// caller makes sure that nobody writes below `path` meanwhile.
pub(crate) fn tree(path: &Path) -> Result<(), WorkspaceFault> {
    let fault = files::fault("remove", path);
    match path.symlink_metadata() {
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(fault(source)),
        Ok(found) if !found.is_dir() => return std::fs::remove_file(path).map_err(fault),
        Ok(_) => {}
    }
    content(path).map_err(|errno| fault(errno.into()))?;
    std::fs::remove_dir(path).map_err(fault)
}

fn content(path: &Path) -> Result<(), Errno> {
    let top = open(rustix::fs::CWD, &c_path(path)?)?;
    let mut moved = 0;
    // Each round leaves less depth: a directory that was moved up is met again.
    while !empty(top.as_fd(), top.as_fd(), 0, &mut moved)? {}
    Ok(())
}

/// Empties `directory`. False when something was moved to the top instead.
fn empty(
    directory: BorrowedFd<'_>,
    top: BorrowedFd<'_>,
    depth: usize,
    moved: &mut u64,
) -> Result<bool, Errno> {
    let mut whole = true;
    for name in names(directory)? {
        match rustix::fs::unlinkat(directory, &name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(errno) => return Err(errno),
            Ok(()) => continue,
        }
        if depth == OPEN_MAX {
            move_up(directory, &name, top, moved)?;
            whole = false;
            continue;
        }
        let inner = open(directory, &name)?;
        whole &= empty(inner.as_fd(), top, depth + 1, moved)?;
        rustix::fs::unlinkat(directory, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(whole)
}

fn move_up(
    directory: BorrowedFd<'_>,
    name: &CStr,
    top: BorrowedFd<'_>,
    moved: &mut u64,
) -> Result<(), Errno> {
    loop {
        *moved += 1;
        let place = format!(".deep.{moved}");
        match rustix::fs::renameat(directory, name, top, place.as_str()) {
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            done => return done,
        }
    }
}

fn names(directory: BorrowedFd<'_>) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

/// Opens a directory, and gives its owner the right to when it has none.
fn open(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let mode = Mode::from_raw_mode(found.st_mode);
    let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    if is_directory && !mode.contains(Mode::RWXU) {
        rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
    }
    rustix::fs::openat(parent, name, flags | OFlags::RDONLY, Mode::empty())
}

fn c_path(path: &Path) -> Result<CString, Errno> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)
}
