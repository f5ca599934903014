//! Files of Chock's own on the host: bounded reads, whole writes, copies, locks.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, ResolveFlags, Timestamps};
use rustix::io::Errno;

use crate::{Owner, WorkspaceFault};

/// Names what failed, and where.
pub(crate) fn fault(
    what: &'static str,
    path: &Path,
) -> impl Fn(io::Error) -> WorkspaceFault + use<> {
    let path = path.to_owned();
    move |source| WorkspaceFault::Files { what, path: path.clone(), source }
}

/// Makes a directory that only its owner enters. Its parent exists.
pub(crate) fn make_private(path: &Path) -> Result<(), WorkspaceFault> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(source) if source.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made.map_err(fault("make", path)),
    }
}

/// Makes a directory with the mode 0755, whatever the umask says.
pub(crate) fn make_open(path: &Path) -> Result<(), WorkspaceFault> {
    fs::create_dir(path).map_err(fault("make", path))?;
    fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(fault("make", path))
}

/// Reads a file of at most `max` bytes.
pub(crate) fn read_bounded(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    read_all(File::open(path)?, max)
}

fn read_all(file: File, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("over {max} bytes")));
    }
    Ok(bytes)
}

/// Reads a file of at most `max` bytes beneath `top`. Whoever wrote what is there may be a stranger:
/// a link that leads out of `top` is not followed, and a FIFO is not waited for.
pub(crate) fn read_within(top: &Path, name: &str, max: u64) -> io::Result<Vec<u8>> {
    let top = rustix::fs::open(top, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = rustix::fs::openat2(top, name, flags, Mode::empty(), ResolveFlags::BENEATH);
    let file = File::from(opened.map_err(|errno| match errno {
        Errno::XDEV => io::Error::other("it is a link that leads elsewhere; put the file there"),
        errno => errno.into(),
    })?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    read_all(file, max)
}

/// Writes a new file.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceFault> {
    fs::write(path, bytes).map_err(fault("write", path))
}

/// Writes a file so that it is there whole or not at all, and on disk.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

/// Opens the lock file at `path`, and locks it unless another process holds it.
pub(crate) fn try_lock(path: &Path) -> Result<Option<File>, WorkspaceFault> {
    lock(path, FlockOperation::NonBlockingLockExclusive)
}

/// Opens the lock file at `path` and waits until it is ours.
pub(crate) fn wait_lock(path: &Path) -> Result<File, WorkspaceFault> {
    waited(path, FlockOperation::LockExclusive)
}

/// Opens the lock file at `path` and waits until nobody has it for himself alone.
pub(crate) fn share_lock(path: &Path) -> Result<File, WorkspaceFault> {
    waited(path, FlockOperation::LockShared)
}

fn waited(path: &Path, how: FlockOperation) -> Result<File, WorkspaceFault> {
    let held = lock(path, how)?;
    held.ok_or_else(|| fault("lock", path)(io::ErrorKind::WouldBlock.into()))
}

/// `None` when another process holds it and `how` does not wait.
fn lock(path: &Path, how: FlockOperation) -> Result<Option<File>, WorkspaceFault> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    loop {
        let file = options.open(path).map_err(fault("open", path))?;
        match rustix::fs::flock(&file, how) {
            Ok(()) => {}
            Err(Errno::INTR) => continue,
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(errno) => return Err(fault("lock", path)(errno.into())),
        }
        // Whoever had it last may have removed the file: then it locks nothing any more.
        let held = file.metadata().map_err(fault("read", path))?;
        let is_there = |found: fs::Metadata| (found.dev(), found.ino()) == (held.dev(), held.ino());
        if path.symlink_metadata().is_ok_and(is_there) {
            return Ok(Some(file));
        }
    }
}

/// Gives everything at and below `path` to `owner`. Links are not followed.
pub(crate) fn give(path: &Path, owner: Option<Owner>) -> Result<(), WorkspaceFault> {
    let Some(owner) = owner else { return Ok(()) };
    walk(path, &mut |entry, _| std::os::unix::fs::lchown(entry, Some(owner.uid), Some(owner.gid)))
}

/// Visits everything at and below `path`, a directory after its content.
///
/// For trees that Chock made: their depth is that of a path git accepts.
pub(crate) fn walk(
    path: &Path,
    visit: &mut dyn FnMut(&Path, &fs::Metadata) -> io::Result<()>,
) -> Result<(), WorkspaceFault> {
    let found = path.symlink_metadata().map_err(fault("read", path))?;
    if found.is_dir() {
        for entry in path.read_dir().map_err(fault("read", path))? {
            walk(&entry.map_err(fault("read", path))?.path(), visit)?;
        }
    }
    visit(path, &found).map_err(fault("change", path))
}

/// Sets both times of `path`, which is not followed.
pub(crate) fn set_times(path: &Path, times: &Timestamps) -> io::Result<()> {
    Ok(rustix::fs::utimensat(CWD, path, times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Copies a whole tree, keeping modes and times, sharing blocks where it can. `copied` is called
/// for every file and link.
pub(crate) fn copy_tree(
    from: &Path,
    to: &Path,
    copied: &mut dyn FnMut(),
) -> Result<(), WorkspaceFault> {
    let found = from.symlink_metadata().map_err(fault("read", from))?;
    if found.is_dir() {
        fs::create_dir(to).map_err(fault("make", to))?;
        for entry in from.read_dir().map_err(fault("read", from))? {
            let name = entry.map_err(fault("read", from))?.file_name();
            copy_tree(&from.join(&name), &to.join(&name), copied)?;
        }
        let mode = Permissions::from_mode(found.mode() & 0o777);
        fs::set_permissions(to, mode).map_err(fault("change", to))?;
    } else if found.is_symlink() {
        let target = fs::read_link(from).map_err(fault("read", from))?;
        std::os::unix::fs::symlink(target, to).map_err(fault("make", to))?;
    } else {
        copy_file(from, to, found.mode() & 0o777).map_err(fault("copy", from))?;
    }
    if !found.is_dir() {
        copied();
    }
    let times = Timestamps {
        last_access: rustix::fs::Timespec { tv_sec: found.atime(), tv_nsec: found.atime_nsec() },
        last_modification: rustix::fs::Timespec {
            tv_sec: found.mtime(),
            tv_nsec: found.mtime_nsec(),
        },
    };
    set_times(to, &times).map_err(fault("change", to))
}

/// Copies one regular file into a new one, sharing its blocks where it can.
fn copy_file(from: &Path, to: &Path, mode: u32) -> io::Result<()> {
    let mut source = File::open(from)?;
    let mut target = OpenOptions::new().write(true).create_new(true).mode(mode).open(to)?;
    if rustix::fs::ioctl_ficlone(&target, &source).is_err() {
        io::copy(&mut source, &mut target)?;
    }
    target.set_permissions(Permissions::from_mode(mode))
}
