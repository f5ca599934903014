//! `/dev`: harmless nodes of the host, and a cell's own terminals and shared memory.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, mkdirat, symlinkat};
use rustix::io::Errno;
use rustix::mount::MountAttrFlags;

use super::fail::Fail;
use super::mounts::{self, DEVICE, attach, clone_tree, open_beneath, open_source};
use crate::{Applied, Layer, Limits};

/// The nodes of a cage with their numbers. `/dev/tty` is only what the call itself brings.
const NODES: [(&str, u32, u32); 6] = [
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
    ("tty", 5, 0),
];

const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Detaches the host's nodes, each checked to be the device it should be.
pub(super) fn detach() -> Result<Vec<(&'static str, OwnedFd)>, Fail> {
    NODES.into_iter().map(|(name, major, minor)| node(name, major, minor)).collect()
}

fn node(name: &'static str, major: u32, minor: u32) -> Result<(&'static str, OwnedFd), Fail> {
    let path = Path::new("/dev").join(name);
    let step = |step| Fail::path(&path, step);
    let file = open_source(&path).map_err(step("open it"))?;
    let status = rustix::fs::fstat(&file).map_err(step("look at it"))?;
    let is_device = FileType::from_raw_mode(status.st_mode) == FileType::CharacterDevice;
    if !is_device || status.st_rdev != rustix::fs::makedev(major, minor) {
        return Err(step("take it: it is another device")(Errno::NODEV));
    }
    let mount = clone_tree(file.as_fd(), DEVICE).map_err(step("detach it"))?;
    Ok((name, mount))
}

/// Finds where the host's terminals stand, if it is where they usually do.
///
/// Nothing inside leads there. A terminal that a call brings is opened anew through `/dev/stderr`,
/// and Landlock asks for a rule of the place where it really is.
pub(super) fn terminals() -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = rustix::fs::open("/dev/pts", flags, Mode::empty()).ok()?;
    let kind = rustix::fs::fstatfs(&found).ok()?.f_type;
    (kind == DEVPTS).then_some(found)
}

/// Fills `/dev` of the keeper's tree.
pub(super) fn fill(root: BorrowedFd<'_>, nodes: Vec<(&'static str, OwnedFd)>) -> Result<(), Fail> {
    let at = |step| Fail::at(Layer::Devices, step);
    let directory = open_beneath(root, Path::new("dev")).map_err(at("open /dev"))?;
    for (name, mount) in nodes {
        let flags = OFlags::CREATE | OFlags::CLOEXEC;
        rustix::fs::openat(&directory, name, flags, Mode::from(0o644))
            .and_then(|_| open_beneath(directory.as_fd(), Path::new(name)))
            .and_then(|place| attach(mount.as_fd(), place.as_fd()))
            .map_err(at("attach a device node"))?;
    }
    for (name, to) in LINKS {
        symlinkat(to, &directory, name).map_err(at("link in /dev"))?;
    }
    for name in ["shm", "pts"] {
        mkdirat(&directory, name, Mode::from(0o755)).map_err(at("make a directory in /dev"))?;
    }
    Ok(())
}

/// Gives a cell shared memory and terminals of its own.
pub(super) fn own(limits: &Limits) -> Result<Applied, Fail> {
    let at = |step| Fail::at(Layer::Devices, step);
    let root = rustix::fs::open("/dev", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(at("open /dev"))?;
    let place = |name| open_beneath(root.as_fd(), Path::new(name));
    mounts::scratch(limits.shared_memory_bytes, "1777")
        .and_then(|mount| attach(mount.as_fd(), place("shm")?.as_fd()))
        .map_err(at("mount /dev/shm"))?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    // No `gid`: the group of terminals is not mapped.
    mounts::make("devpts", &[("ptmxmode", "0666"), ("mode", "0600")], attributes)
        .and_then(|mount| attach(mount.as_fd(), place("pts")?.as_fd()))
        .map_err(at("mount /dev/pts"))?;
    let status = rustix::fs::statfs("/dev/shm").map_err(at("read /dev/shm back"))?;
    let size = u64::try_from(status.f_bsize).unwrap_or(0).saturating_mul(status.f_blocks);
    if size == 0 || size > limits.shared_memory_bytes.max(4096).next_multiple_of(4096) {
        return Err(at("read the size of /dev/shm back")(Errno::PROTO));
    }
    let pts = rustix::fs::statfs("/dev/pts").map_err(at("read /dev/pts back"))?;
    if pts.f_type != DEVPTS {
        return Err(at("read the kind of /dev/pts back")(Errno::PROTO));
    }
    let proof = format!("own pts, shm of {} KiB", size / 1024);
    Ok(Applied { layer: Layer::Devices, proof })
}

/// The kernel's number for a devpts.
const DEVPTS: rustix::fs::FsWord = 0x1cd1;
