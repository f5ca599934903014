//! Looks at the files of a workspace on the host, beneath a descriptor.
//!
//! The agent wrote them. Nothing here follows a link, blocks on a FIFO, or opens
//! a device.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Read;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// What one name in a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The overlay's mark that the name is gone.
    Whiteout,
    Directory,
    File {
        /// Bytes, when it was looked at.
        length: u64,
        /// The permission bits.
        mode: u32,
    },
    Link,
    /// A FIFO, a socket or a device.
    Special,
}

/// Whether marks of an overlay mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marks {
    /// This is the upper layer of an overlay.
    Overlay,
    /// This is a full copy: what is not there is gone.
    None,
}

/// Opens the top of a tree.
pub(crate) fn open_top(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// The names in a directory, sorted.
pub(crate) fn names(directory: BorrowedFd<'_>) -> Result<Vec<CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            names.push(entry.file_name().to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Says what `name` is.
pub(crate) fn look(directory: BorrowedFd<'_>, name: &CStr, marks: Marks) -> Result<Found, Errno> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Found::Directory,
        FileType::Symlink => Found::Link,
        FileType::CharacterDevice if stat.st_rdev == 0 && marks == Marks::Overlay => {
            Found::Whiteout
        }
        FileType::RegularFile => {
            let length = u64::try_from(stat.st_size).unwrap_or(0);
            if length == 0 && marks == Marks::Overlay && is_marked_gone(directory, name) {
                Found::Whiteout
            } else {
                Found::File { length, mode: stat.st_mode & 0o7777 }
            }
        }
        FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Fifo
        | FileType::Socket
        | FileType::Unknown => Found::Special,
    })
}

/// Opens a directory that is an entry of `parent` itself.
pub(crate) fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    open(parent, name, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens a regular file that is an entry of `parent` itself, and says how long it is.
///
/// `None` when it is something else by now.
pub(crate) fn open_file(parent: BorrowedFd<'_>, name: &CStr) -> Result<Option<(File, u64)>, Errno> {
    let file = open(parent, name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    Ok(Some((File::from(file), u64::try_from(stat.st_size).unwrap_or(0))))
}

/// Reads a regular file of at most `max` bytes. `None` for anything else.
pub(crate) fn read_file(parent: BorrowedFd<'_>, name: &CStr, max: u64) -> Option<Vec<u8>> {
    let (file, _) = open_file(parent, name).ok()??;
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= max).then_some(bytes)
}

/// Reads where a link points.
pub(crate) fn read_link(parent: BorrowedFd<'_>, name: &CStr) -> Result<Vec<u8>, Errno> {
    Ok(rustix::fs::readlinkat(parent, name, Vec::new())?.into_bytes())
}

/// Whether an upper directory hides the lower one instead of adding to it.
pub(crate) fn is_opaque(directory: BorrowedFd<'_>) -> bool {
    let names = [c"user.overlay.opaque", c"trusted.overlay.opaque"];
    names.into_iter().any(|name| {
        let mut value = [0; 8];
        let length = rustix::fs::fgetxattr(directory, name, &mut value[..]);
        length.is_ok_and(|length| &value[..length] == b"y")
    })
}

fn is_marked_gone(parent: BorrowedFd<'_>, name: &CStr) -> bool {
    let Ok(Some((file, _))) = open_file(parent, name) else { return false };
    let names = [c"user.overlay.whiteout", c"trusted.overlay.whiteout"];
    names.into_iter().any(|name| rustix::fs::fgetxattr(&file, name, &mut [0_u8; 8][..]).is_ok())
}

fn open(parent: BorrowedFd<'_>, name: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve)
}
