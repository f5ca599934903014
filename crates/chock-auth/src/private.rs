//! Reads a file that nobody else may read.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::fault::AuthFault;

/// The largest `token_file`: 64 KiB. The longest known tokens have about four thousand bytes.
pub const TOKEN_BYTES_MAX: usize = 64 * 1024;

/// Reads at most `max` bytes of a private file; none when there is no such file.
///
/// Everything is asked of the opened file, so that what was checked is what is read. A
/// link is followed: secret managers put links into place, and the file behind counts.
pub(crate) fn read(path: &Path, max: usize) -> Result<Option<Vec<u8>>, AuthFault> {
    let unreadable = |source| AuthFault::Unreadable { path: path.to_owned(), source };
    // Without NONBLOCK a FIFO would be waited for.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(descriptor) => File::from(descriptor),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        // What a socket answers.
        Err(rustix::io::Errno::NXIO) => return Err(AuthFault::NotAFile { path: path.to_owned() }),
        Err(fault) => return Err(unreadable(io::Error::from(fault))),
    };
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(AuthFault::NotAFile { path: path.to_owned() });
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(AuthFault::Exposed { path: path.to_owned(), mode });
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(max).expect("invariant: the bound is small");
    file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > max {
        return Err(AuthFault::TooLarge { path: path.to_owned(), max });
    }
    Ok(Some(bytes))
}
