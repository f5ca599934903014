//! Where a session's control socket is: a directory that only its owner can enter.
//!
//! Socket addresses hold 107 bytes, and the paths of sessions are longer. So the directory is
//! opened, and the socket named beneath its descriptor.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, OFlags, unlinkat};

/// The socket's name in its directory.
const NAME: &str = "s";

/// The directory of a control socket, open.
#[derive(Debug)]
pub(super) struct Place {
    directory: File,
    path: PathBuf,
}

impl Place {
    /// Opens the directory, which is there and belongs to the caller.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits().cast_signed();
        let directory = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        if directory.metadata()?.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("its directory belongs to another user"));
        }
        Ok(Self { directory, path: path.to_owned() })
    }

    /// Opens the directory for its owner alone, and makes it if it is not there.
    pub(super) fn make(path: &Path) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(fault) if fault.kind() != io::ErrorKind::AlreadyExists => return Err(fault),
            Ok(()) | Err(_) => {}
        }
        let place = Self::open(path)?;
        place.directory.set_permissions(Permissions::from_mode(0o700))?;
        Ok(place)
    }

    /// Puts a new socket into the directory, in the place of one that a dead owner left.
    pub(super) fn listen(&self) -> io::Result<UnixListener> {
        self.unlink()?;
        let listener = UnixListener::bind(self.address())?;
        fs::set_permissions(self.address(), Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    /// Connects to the socket in the directory.
    pub(super) fn connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(self.address())
    }

    /// Removes the socket and the directory.
    pub(super) fn remove(&self) -> io::Result<()> {
        self.unlink()?;
        fs::remove_dir(&self.path)
    }

    fn unlink(&self) -> io::Result<()> {
        match unlinkat(&self.directory, NAME, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn address(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{NAME}", self.directory.as_raw_fd()))
    }
}
