//! What a path of the person's holds, looked at beneath the project's descriptor.

use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{SNAPSHOT_FILE_BYTES_MAX, host, upper};

/// The permission bits that are kept.
const PERMISSIONS: u32 = 0o777;

/// A file or a link by its content, without the content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Image {
    pub(crate) kind: ImageKind,
    /// The permission bits of a file; zero for a link.
    pub(crate) mode: u32,
    /// SHA-256 of the content or the target, lower hex.
    pub(crate) hash: String,
    pub(crate) bytes: u64,
}

/// What an image is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ImageKind {
    File,
    Link,
}

impl Image {
    pub(crate) fn file(content: &[u8], mode: u32) -> Self {
        Self { kind: ImageKind::File, mode: mode & PERMISSIONS, ..Self::link(content) }
    }

    pub(crate) fn link(target: &[u8]) -> Self {
        let hash = Sha256::digest(target).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { kind: ImageKind::Link, mode: 0, hash, bytes: target.len() as u64 }
    }

    /// Whether its owner may run it.
    pub(crate) fn is_program(&self) -> bool {
        self.mode & 0o100 != 0
    }
}

/// What stands at a path, with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum There {
    Nothing,
    Directory,
    /// A file or a link.
    Thing(Image, Vec<u8>),
    /// A device, a FIFO, a socket, or a file over the limit.
    Other,
    /// Something in the path is no directory.
    Blocked,
}

impl There {
    pub(crate) fn image(&self) -> Option<&Image> {
        match self {
            Self::Thing(image, _) => Some(image),
            Self::Nothing | Self::Directory | Self::Other | Self::Blocked => None,
        }
    }
}

/// Says what stands at `path` below `top`. No link on the way is followed.
pub(crate) fn look(top: BorrowedFd<'_>, path: &[u8]) -> Result<There, Errno> {
    let (parent, name) = split(path)?;
    match host::open_below(top, Path::new(std::ffi::OsStr::from_bytes(parent))) {
        Ok(parent) => look_in(parent.as_fd(), &name),
        Err(Errno::NOENT) => Ok(There::Nothing),
        Err(Errno::NOTDIR | Errno::LOOP) => Ok(There::Blocked),
        Err(errno) => Err(errno),
    }
}

/// Says what `name` in a directory is.
pub(crate) fn look_in(parent: BorrowedFd<'_>, name: &CString) -> Result<There, Errno> {
    let stat = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(There::Nothing),
        Err(errno) => return Err(errno),
    };
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => There::Directory,
        FileType::Symlink => {
            let target = upper::read_link(parent, name)?;
            There::Thing(Image::link(&target), target)
        }
        FileType::RegularFile => match upper::open_file(parent, name)? {
            Some((file, length)) if length <= SNAPSHOT_FILE_BYTES_MAX => {
                let content = read(file)?;
                There::Thing(Image::file(&content, stat.st_mode), content)
            }
            Some(_) | None => There::Other,
        },
        FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Fifo
        | FileType::Socket
        | FileType::Unknown => There::Other,
    })
}

fn read(file: File) -> Result<Vec<u8>, Errno> {
    let mut content = Vec::new();
    let read = file.take(SNAPSHOT_FILE_BYTES_MAX).read_to_end(&mut content);
    read.map_err(|fault| Errno::from_io_error(&fault).unwrap_or(Errno::IO))?;
    Ok(content)
}

/// The directory of a path, empty at the top, and the name in it.
pub(crate) fn split(path: &[u8]) -> Result<(&[u8], CString), Errno> {
    let (parent, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&path[..0], path),
    };
    Ok((parent, CString::new(name).map_err(|_| Errno::INVAL)?))
}

/// Opens the directory of a path below `top`.
pub(crate) fn open_parent(top: BorrowedFd<'_>, path: &[u8]) -> Result<(OwnedFd, CString), Errno> {
    let (parent, name) = split(path)?;
    Ok((host::open_below(top, Path::new(std::ffi::OsStr::from_bytes(parent)))?, name))
}

/// The directories above a path, the outermost first.
pub(crate) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    ends.map(|(at, _)| &path[..at])
}

/// The permission bits that new files of this process do not get.
pub(crate) fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|digits| u32::from_str_radix(digits.trim(), 8).ok()).unwrap_or(USUAL)
}
