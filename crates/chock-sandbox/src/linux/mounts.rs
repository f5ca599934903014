//! Mounts by descriptor: taken from the host detached, put into the new tree by place.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use libc::{MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC, MOUNT_ATTR_NOSUID, MOUNT_ATTR_RDONLY};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

use super::fail::Fail;
use super::sys;
use crate::{Access, Cage, Home, Layer, Mount, Owners};

/// Every bind: no set-user-id programs, no devices.
pub(super) const PLAIN: u64 = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
/// A bind that nobody can change.
pub(super) const READ_ONLY: u64 = PLAIN | MOUNT_ATTR_RDONLY;
/// A device node.
pub(super) const DEVICE: u64 = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
/// A cover.
pub(super) const COVER: u64 = READ_ONLY | MOUNT_ATTR_NOEXEC;

/// Everything of the host that a cage names, detached: it belongs to no tree yet.
///
/// Made before root is left, since it reaches what the session's user cannot, or in the
/// keeper's own mount namespace by a plain user.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) devices: Vec<(&'static str, OwnedFd)>,
    pub(super) home: Option<OwnedFd>,
    /// One for each mount of the cage, in its order.
    pub(super) mounts: Vec<Source>,
}

/// What one mount of the cage takes from the host.
#[derive(Debug)]
pub(super) enum Source {
    Nothing,
    Bind(Detached),
    Overlay { base: Detached, halves: Detached },
}

/// A mount that belongs to no tree yet.
#[derive(Debug)]
pub(super) struct Detached {
    pub(super) mount: OwnedFd,
    pub(super) kind: FileType,
}

impl Sources {
    /// Detaches what the cage names; `root_as` is the id map for root's files.
    pub(super) fn take(cage: &Cage, root_as: Option<BorrowedFd<'_>>) -> Result<Self, Fail> {
        let devices = super::devices::detach()?;
        let home = match &cage.home {
            Home::Scratch { .. } => None,
            Home::Directory(path) => Some(detach(path, PLAIN, None)?.mount),
        };
        let mounts = cage.tree.iter().map(|mount| Source::take(mount, root_as));
        Ok(Self { devices, home, mounts: mounts.collect::<Result<_, _>>()? })
    }
}

impl Source {
    fn take(mount: &Mount, root_as: Option<BorrowedFd<'_>>) -> Result<Self, Fail> {
        match mount {
            Mount::Bind { source, access, owners, .. } => {
                let attributes = match access {
                    Access::ReadOnly => READ_ONLY,
                    Access::ReadWrite => PLAIN,
                };
                let mapped = *owners == Owners::RootAsSession;
                detach(source, attributes, root_as.filter(|_| mapped)).map(Self::Bind)
            }
            Mount::View { source, owners, .. } => {
                let mapped = *owners == Owners::RootAsSession;
                let base = detach(source, READ_ONLY, root_as.filter(|_| mapped))?;
                if base.kind == FileType::Directory {
                    return Ok(Self::Bind(base));
                }
                Err(Fail::path(source, "view it: it is no directory")(Errno::NOTDIR))
            }
            Mount::Overlay { base, upper, work, .. } => {
                // Both halves must be on one mount, so their parent is taken.
                let parent = upper.parent().filter(|parent| work.parent() == Some(parent));
                let parent =
                    parent.ok_or_else(|| Fail::path(upper, "find its parent")(Errno::INVAL))?;
                let base = detach(base, READ_ONLY, None)?;
                let halves = detach(parent, PLAIN, None)?;
                Ok(Self::Overlay { base, halves })
            }
            Mount::Scratch { .. }
            | Mount::Cover { .. }
            | Mount::Link { .. }
            | Mount::Directory { .. }
            | Mount::Text { .. } => Ok(Self::Nothing),
        }
    }
}

/// Opens a path of the host without following a symlink anywhere in it.
pub(super) fn open_source(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, path, flags, Mode::empty(), resolve)
}

fn detach(path: &Path, attributes: u64, root_as: Option<BorrowedFd<'_>>) -> Result<Detached, Fail> {
    let file = open_source(path).map_err(Fail::path(path, "open it without following links"))?;
    let status = rustix::fs::fstat(&file).map_err(Fail::path(path, "look at it"))?;
    let kind = FileType::from_raw_mode(status.st_mode);
    if kind != FileType::Directory && kind != FileType::RegularFile {
        let step = "take it: it is neither a file nor a directory";
        return Err(Fail::path(path, step)(Errno::INVAL));
    }
    let mount = match root_as {
        None => clone_tree(file.as_fd(), attributes).map_err(Fail::path(path, "detach it"))?,
        Some(map) => {
            let mount = tree(file.as_fd(), false).map_err(Fail::path(path, "detach it"))?;
            sys::mount_setattr(mount.as_fd(), false, attributes, Some(map)).map_err(Fail::at(
                Layer::IdMappedMount,
                "map root's files to the session's user",
            ))?;
            // Read back: what is root's on disk must not be root's through this mount.
            let through = rustix::fs::statat(&mount, c"", AtFlags::EMPTY_PATH)
                .map_err(Fail::path(path, "look at it through the map"))?;
            if status.st_uid == 0 && through.st_uid == 0 {
                let step = "find root's files as the session's user";
                return Err(Fail::at(Layer::IdMappedMount, step)(Errno::PROTO));
            }
            mount
        }
    };
    Ok(Detached { mount, kind })
}

/// Makes a detached copy of what stands at a descriptor, with these attributes.
///
/// A plain user must take the mounts beneath along: they are locked to what they cover.
pub(super) fn clone_tree(at: BorrowedFd<'_>, attributes: u64) -> Result<OwnedFd, Errno> {
    let (mount, recursive) = match tree(at, false) {
        Err(Errno::INVAL) => (tree(at, true)?, true),
        other => (other?, false),
    };
    sys::mount_setattr(mount.as_fd(), recursive, attributes, None)?;
    Ok(mount)
}

fn tree(at: BorrowedFd<'_>, recursive: bool) -> Result<OwnedFd, Errno> {
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    flags.set(OpenTreeFlags::AT_RECURSIVE, recursive);
    open_tree(at, c"", flags)
}

/// Puts a detached mount at a place.
pub(super) fn attach(mount: BorrowedFd<'_>, place: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, c"", place, c"", flags)
}

/// Makes a file system with these options; it belongs to no tree yet.
pub(super) fn make(
    kind: &str,
    options: &[(&str, &str)],
    attributes: MountAttrFlags,
) -> Result<OwnedFd, Errno> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(&context, *key, *value)?;
    }
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Makes an empty file system in memory.
pub(super) fn scratch(bytes: u64, mode: &str) -> Result<OwnedFd, Errno> {
    // A file takes about 1 KiB of kernel memory that `size` does not count: one per 4 KiB.
    let (size, inodes) = (bytes.to_string(), (bytes / 4096).max(64).to_string());
    let options = [("size", size.as_str()), ("nr_inodes", inodes.as_str()), ("mode", mode)];
    make("tmpfs", &options, MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV)
}

/// Opens a place beneath a directory, following no link and leaving it nowhere.
pub(super) fn open_beneath(root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    openat2(root, path, flags, Mode::empty(), resolve)
}

/// Says what stands at a descriptor.
pub(super) fn kind_of(file: BorrowedFd<'_>) -> Result<FileType, Errno> {
    let status = rustix::fs::statat(file, c"", AtFlags::EMPTY_PATH)?;
    Ok(FileType::from_raw_mode(status.st_mode))
}
