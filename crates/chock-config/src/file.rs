//! Reads a configuration file's text.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The largest file that is read: 1 MiB, the limit of ZON.
pub const TEXT_BYTES_MAX: usize = chock_zon::TEXT_BYTES_MAX;

/// What to do with a symbolic link in place of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Refuse it, for a file that a stranger wrote.
    Refuse,
    /// Follow it, for the person's own files.
    Follow,
}

/// Why a file that is there cannot be read as text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    /// It cannot be opened or read.
    #[error("cannot read `{}`", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It is a directory, a FIFO, a socket or a device.
    #[error("`{}` is {what}, and a regular file is needed", .path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: &'static str,
    },
    /// It became another file while it was opened.
    #[error("`{}` was replaced while it was opened; try again", .path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// It is larger than [`TEXT_BYTES_MAX`].
    #[error("`{}` is larger than {TEXT_BYTES_MAX} bytes", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is not text.
    #[error("line {line} of `{}` is not UTF-8 text", .path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The line with the first byte that is not, from 1.
        line: usize,
    },
}

/// Reads the text of the file at `path`; none when there is no such file.
///
/// # Errors
///
/// It is there and is not a regular file of at most [`TEXT_BYTES_MAX`] bytes of UTF-8.
pub fn read_text(path: &Path, links: Links) -> Result<Option<String>, FileFault> {
    let unreadable = |source| FileFault::Unreadable { path: path.to_owned(), source };
    let seen = match links {
        Links::Refuse => fs::symlink_metadata(path),
        Links::Follow => fs::metadata(path),
    };
    let seen = match seen {
        Ok(seen) => seen,
        Err(fault) if is_absent(path, &fault) => return Ok(None),
        Err(fault) => return Err(unreadable(fault)),
    };
    // Asked before the file is opened: opening a FIFO would wait for its other end.
    if let Some(what) = what_instead(&seen) {
        return Err(FileFault::NotAFile { path: path.to_owned(), what });
    }
    let file = File::open(path).map_err(unreadable)?;
    let opened = file.metadata().map_err(unreadable)?;
    if identity(&opened) != identity(&seen) {
        return Err(FileFault::Replaced { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(TEXT_BYTES_MAX).expect("invariant: the limit is small");
    file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > TEXT_BYTES_MAX {
        return Err(FileFault::TooLarge { path: path.to_owned() });
    }
    String::from_utf8(bytes).map(Some).map_err(|fault| {
        let good = &fault.as_bytes()[..fault.utf8_error().valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        FileFault::NotUtf8 { path: path.to_owned(), line }
    })
}

/// Whether nothing is there. A link to nothing is something.
fn is_absent(path: &Path, fault: &io::Error) -> bool {
    fault.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err()
}

pub(crate) fn what_instead(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    match (kind.is_file(), kind.is_dir(), kind.is_symlink()) {
        (true, _, _) => None,
        (_, true, _) => Some("a directory"),
        (_, _, true) => Some("a symbolic link"),
        _ => Some("a FIFO, socket or device"),
    }
}

#[cfg(unix)]
pub(crate) fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}
