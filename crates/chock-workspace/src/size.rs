//! How much of the disk a tree takes that somebody else wrote.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use crate::{WorkspaceFault, files, upper};

/// Directories below this depth are not counted. Each level costs a descriptor.
const DEPTH_MAX: usize = 200;

/// How many bytes a block is in `stat`.
pub(crate) const BLOCK_BYTES: u64 = 512;

/// Counts the bytes that a session's directory takes on disk. What may not be read counts as
/// nothing.
///
/// # Errors
///
/// [`WorkspaceFault::Files`] when the directory itself cannot be read.
pub fn size_on_disk(path: &Path) -> Result<u64, WorkspaceFault> {
    let fault = |errno: Errno| files::fault("read", path)(errno.into());
    let top = upper::open_top(path).map_err(fault)?;
    below(top.as_fd(), 0).map_err(fault)
}

fn below(directory: BorrowedFd<'_>, depth: usize) -> Result<u64, Errno> {
    let mut bytes = 0;
    for name in upper::names(directory)? {
        // Programs of the session may remove it meanwhile.
        let Ok(stat) = rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * BLOCK_BYTES;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory && depth < DEPTH_MAX {
            let inner = upper::open_directory(directory, &name);
            bytes += inner.and_then(|inner| below(inner.as_fd(), depth + 1)).unwrap_or(0);
        }
    }
    Ok(bytes)
}
