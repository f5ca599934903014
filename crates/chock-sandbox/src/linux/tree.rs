//! The keeper's tree: built beneath a descriptor, then made the root.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, mkdirat, symlinkat};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, MountPropagationFlags, MoveMountFlags, UnmountFlags};

use super::fail::Fail;
use super::mounts::{
    COVER, Detached, READ_ONLY, Source, Sources, attach, clone_tree, kind_of, make, open_beneath,
    scratch,
};
use super::{devices, sys};
use crate::{Access, Cage, CoverKind, HOME, Home, Layer, Mount};

/// The bytes of the root itself: texts, links and mount points.
const ROOT_BYTES: u64 = 32 << 20;

/// Where covers and texts have their files.
const COVER_FILE: &str = "run/chock/cover/file";
const COVER_DIRECTORY: &str = "run/chock/cover/directory";
/// The empty second layer that the kernel wants of an overlay without an upper one.
const NOTHING: &str = "run/chock/cover/nothing";
const TEXTS: &str = "run/chock/texts";
const STAGING: &str = "run/chock/staging";

/// A tree under construction.
#[derive(Debug)]
pub(super) struct Tree {
    root: OwnedFd,
    /// Where every mount stands, and whether it must be read only.
    placed: BTreeMap<PathBuf, Access>,
    /// Writable directories in memory: what stands beneath them needs a parent that cannot be
    /// renamed away.
    open: Vec<PathBuf>,
    /// Parents that become read only at the end.
    guards: Vec<OwnedFd>,
    /// Places for a command's writable Landlock rules, opened when they were made.
    writable: Vec<OwnedFd>,
    texts: usize,
}

/// What the keeper keeps of a finished tree.
#[derive(Debug)]
pub(super) struct Planted {
    pub(super) placed: BTreeMap<PathBuf, Access>,
    pub(super) writable: Vec<OwnedFd>,
}

impl Tree {
    /// Lays an empty root over `/`. Paths still lead to the machine's tree beneath it.
    pub(super) fn begin() -> Result<Self, Fail> {
        let at = |step| Fail::at(Layer::Tree, step);
        rustix::mount::mount_change(
            "/",
            MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
        )
        .map_err(Fail::at(Layer::MountNamespace, "make the tree private"))?;
        let root = scratch(ROOT_BYTES, "0755").map_err(at("make a root in memory"))?;
        rustix::mount::move_mount(&root, c"", CWD, c"/", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
            .map_err(at("lay the root over /"))?;
        let placed = BTreeMap::from([("/".into(), Access::ReadOnly)]);
        let (open, guards, writable) = (Vec::new(), Vec::new(), Vec::new());
        let tree = Self { root, placed, open, guards, writable, texts: 0 };
        for directory in
            ["dev", "proc", "tmp", "run/chock/home", COVER_DIRECTORY, NOTHING, TEXTS, STAGING]
        {
            tree.directory(Path::new(directory)).map_err(at("make a directory in the root"))?;
        }
        tree.cover_sources().map_err(at("make the covers"))?;
        Ok(tree)
    }

    /// Puts everything of the cage in its place.
    pub(super) fn fill(&mut self, cage: &Cage, sources: Sources) -> Result<(), Fail> {
        let at = |step| Fail::at(Layer::Tree, step);
        for (name, _) in &sources.devices {
            self.placed.insert(Path::new("/dev").join(name), Access::ReadWrite);
        }
        devices::fill(self.root.as_fd(), sources.devices)?;
        let device = self.place(Path::new("/dev")).map_err(at("open /dev"))?;
        self.writable.push(device);
        self.writable.extend(devices::terminals());
        let memory = scratch(cage.limits.scratch_bytes, "1777").map_err(at("make /tmp"))?;
        self.writable_at(Path::new("/tmp"), memory.as_fd()).map_err(at("attach /tmp"))?;
        self.open.push("/tmp".into());
        self.home(cage, sources.home)?;
        for (mount, source) in cage.tree.iter().zip(sources.mounts) {
            self.mount(mount, source)?;
        }
        Ok(())
    }

    fn home(&mut self, cage: &Cage, source: Option<OwnedFd>) -> Result<(), Fail> {
        let memory = match (&cage.home, source) {
            (Home::Directory(_), Some(directory)) => directory,
            (Home::Scratch { bytes }, _) => {
                self.open.push(HOME.into());
                scratch(*bytes, "0700").map_err(Fail::at(Layer::Tree, "make the home"))?
            }
            (Home::Directory(path), None) => {
                return Err(Fail::path(path, "find it detached")(Errno::NOENT));
            }
        };
        self.writable_at(Path::new(HOME), memory.as_fd())
            .map_err(Fail::path(Path::new(HOME), "attach the home"))
    }

    fn mount(&mut self, mount: &Mount, source: Source) -> Result<(), Fail> {
        let target = mount.target();
        self.guard(target).map_err(Fail::path(target, "guard its parent"))?;
        match (mount, source) {
            (Mount::Bind { access, .. }, Source::Bind(bind)) => self
                .bind(target, &bind, *access)
                .map_err(Fail::path(target, "attach it in the cage")),
            (Mount::View { .. }, Source::Bind(base)) => self.view(target, &base),
            (Mount::Overlay { upper, work, .. }, Source::Overlay { base, halves }) => {
                let names = [upper.file_name(), work.file_name()].map(Option::unwrap_or_default);
                self.overlay(target, &base, &halves, names)
            }
            (Mount::Scratch { bytes, .. }, _) => {
                self.open.push(target.to_owned());
                scratch(*bytes, "0755")
                    .and_then(|memory| {
                        self.make_directory(target)?;
                        self.writable_at(target, memory.as_fd())
                    })
                    .map_err(Fail::path(target, "make a scratch directory"))
            }
            (Mount::Cover { kind, .. }, _) => {
                self.cover(target, *kind).map_err(Fail::path(target, "cover it"))
            }
            (Mount::Link { to, .. }, _) => self
                .parent(target)
                .and_then(|(parent, name)| symlinkat(to, &parent, name))
                .map_err(Fail::path(target, "link it")),
            (Mount::Directory { .. }, _) => {
                self.make_directory(target).map_err(Fail::path(target, "make a directory"))
            }
            (Mount::Text { contents, .. }, _) => {
                self.text(target, contents).map_err(Fail::path(target, "write a text"))
            }
            (Mount::Bind { .. } | Mount::View { .. } | Mount::Overlay { .. }, _) => {
                Err(Fail::path(target, "find its source")(Errno::NOENT))
            }
        }
    }

    fn bind(&mut self, target: &Path, bind: &Detached, access: Access) -> Result<(), Errno> {
        self.make_place(target, bind.kind)?;
        let place = self.place(target)?;
        attach(bind.mount.as_fd(), place.as_fd())?;
        self.placed.insert(target.to_owned(), access);
        if access == Access::ReadWrite {
            let made = self.place(target)?;
            self.writable.push(made);
        }
        Ok(())
    }

    fn overlay(
        &mut self,
        target: &Path,
        base: &Detached,
        halves: &Detached,
        [upper, work]: [&OsStr; 2],
    ) -> Result<(), Fail> {
        let path = |step| Fail::path(target, step);
        self.make_directory(target).map_err(path("make a place for it"))?;
        // The halves must stand in a tree while the overlay opens them; their places on the
        // host never show, since the overlay knows them by descriptor only.
        let staging = Path::new(STAGING);
        let (low, high) = (staging.join("base"), staging.join("halves"));
        for (place, mount) in [(&low, base), (&high, halves)] {
            self.directory(place)
                .and_then(|()| open_beneath(self.root.as_fd(), place))
                .and_then(|place| attach(mount.mount.as_fd(), place.as_fd()))
                .map_err(path("stage its halves"))?;
        }
        let part = |at: &Path| open_beneath(self.root.as_fd(), at).map_err(path("open its halves"));
        let parts = [part(&low)?, part(&high.join(upper))?, part(&high.join(work))?];
        let overlay = mount_overlay(parts.each_ref().map(OwnedFd::as_fd))
            .map_err(Fail::at(Layer::Overlay, "mount an overlay"))?;
        for place in [&low, &high] {
            unmount(self.root.as_fd(), place).map_err(path("clear the stage"))?;
        }
        self.writable_at(target, overlay.as_fd()).map_err(path("attach the overlay"))
    }

    /// Shows a directory through an overlay that has nothing to add: a socket or FIFO of an
    /// overlay is another than that of the layer, so nobody outside is met through it.
    fn view(&mut self, target: &Path, base: &Detached) -> Result<(), Fail> {
        let path = |step| Fail::path(target, step);
        self.make_directory(target).map_err(path("make a place for it"))?;
        let low = Path::new(STAGING).join("base");
        self.directory(&low)
            .and_then(|()| open_beneath(self.root.as_fd(), &low))
            .and_then(|place| attach(base.mount.as_fd(), place.as_fd()))
            .map_err(path("stage it"))?;
        let part = |at: &Path| open_beneath(self.root.as_fd(), at).map_err(path("open its layers"));
        let (base, nothing) = (part(&low)?, part(Path::new(NOTHING))?);
        let view = mount_view(base.as_fd(), nothing.as_fd())
            .map_err(Fail::at(Layer::Overlay, "mount a view"))?;
        unmount(self.root.as_fd(), &low).map_err(path("clear the stage"))?;
        self.place(target)
            .and_then(|place| attach(view.as_fd(), place.as_fd()))
            .map_err(path("attach the view"))?;
        self.placed.insert(target.to_owned(), Access::ReadOnly);
        Ok(())
    }

    fn cover(&mut self, target: &Path, kind: CoverKind) -> Result<(), Errno> {
        let kind = match self.place(target) {
            Ok(place) => kind_of(place.as_fd())?,
            Err(Errno::NOENT) => match kind {
                CoverKind::File => FileType::RegularFile,
                CoverKind::Directory => FileType::Directory,
            },
            Err(errno) => return Err(errno),
        };
        match self.make_place(target, kind) {
            // Nothing is there, and nothing can be made there.
            Err(Errno::ROFS) => return Ok(()),
            other => other?,
        }
        let source = if kind == FileType::Directory { COVER_DIRECTORY } else { COVER_FILE };
        let source = open_beneath(self.root.as_fd(), Path::new(source))?;
        let cover = clone_tree(source.as_fd(), COVER)?;
        attach(cover.as_fd(), self.place(target)?.as_fd())?;
        self.placed.insert(target.to_owned(), Access::ReadOnly);
        Ok(())
    }

    fn text(&mut self, target: &Path, contents: &[u8]) -> Result<(), Errno> {
        self.texts += 1;
        let source = Path::new(TEXTS).join(self.texts.to_string());
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.root, &source, flags, Mode::from(0o444))?;
        let mut left = contents;
        while !left.is_empty() {
            left = &left[rustix::io::write(&file, left)?..];
        }
        drop(file);
        let source = open_beneath(self.root.as_fd(), &source)?;
        let mount = clone_tree(source.as_fd(), READ_ONLY)?;
        self.bind(target, &Detached { mount, kind: FileType::RegularFile }, Access::ReadOnly)
    }

    /// Makes the tree the root of this process, and everything else unreachable.
    pub(super) fn become_root(self) -> Result<Planted, Fail> {
        let at = |step| Fail::at(Layer::PivotRoot, step);
        for guard in &self.guards {
            sys::mount_setattr(guard.as_fd(), false, READ_ONLY, None)
                .map_err(Fail::at(Layer::Tree, "make a parent read only"))?;
        }
        for place in ["base", "halves", ""] {
            let path = Path::new(STAGING).join(place);
            let _ = rustix::fs::unlinkat(&self.root, &path, AtFlags::REMOVEDIR);
        }
        rustix::process::fchdir(&self.root).map_err(at("enter the new root"))?;
        rustix::process::pivot_root(".", ".").map_err(at("exchange the roots"))?;
        rustix::mount::unmount(".", UnmountFlags::DETACH).map_err(at("detach the machine"))?;
        rustix::process::chdir("/").map_err(at("enter the new root"))?;
        sys::mount_setattr(self.root.as_fd(), false, READ_ONLY, None)
            .map_err(at("make the root read only"))?;
        Ok(Planted { placed: self.placed, writable: self.writable })
    }

    /// Mounts the keeper's own `/proc`, while the machine's is still there to vouch for it.
    pub(super) fn own_proc(&mut self) -> Result<(), Fail> {
        let at = |step| Fail::at(Layer::Proc, step);
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let mount = make("proc", &[], attributes).map_err(at("mount a new proc"))?;
        let place = self.place(Path::new("/proc")).map_err(at("open /proc"))?;
        attach(mount.as_fd(), place.as_fd()).map_err(at("attach the new proc"))?;
        self.placed.insert("/proc".into(), Access::ReadWrite);
        Ok(())
    }

    fn cover_sources(&self) -> Result<(), Errno> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        rustix::fs::openat(&self.root, COVER_FILE, flags, Mode::empty())?;
        rustix::fs::chmodat(&self.root, COVER_DIRECTORY, Mode::empty(), AtFlags::empty())
    }

    fn writable_at(&mut self, target: &Path, mount: BorrowedFd<'_>) -> Result<(), Errno> {
        attach(mount, self.place(target)?.as_fd())?;
        let made = self.place(target)?;
        self.writable.push(made);
        self.placed.insert(target.to_owned(), Access::ReadWrite);
        Ok(())
    }

    /// Keeps the parents of a target that lies in a writable directory from being renamed:
    /// the first of them becomes a mount of its own.
    fn guard(&mut self, target: &Path) -> Result<(), Errno> {
        let Some(open) = self.open.iter().find(|open| target.starts_with(open)) else {
            return Ok(());
        };
        let beneath = target.strip_prefix(open).expect("invariant: it starts with it");
        let mut parts = beneath.components();
        let first = parts.next().map(|part| open.join(part));
        let Some(first) = first.filter(|_| parts.next().is_some()) else { return Ok(()) };
        if self.placed.contains_key(&first) {
            return Ok(());
        }
        self.make_directory(&first)?;
        let memory = scratch(1 << 20, "0755")?;
        attach(memory.as_fd(), self.place(&first)?.as_fd())?;
        self.placed.insert(first, Access::ReadOnly);
        self.guards.push(memory);
        Ok(())
    }

    fn make_place(&self, target: &Path, kind: FileType) -> Result<(), Errno> {
        if kind == FileType::Directory {
            return self.make_directory(target);
        }
        let (parent, name) = self.parent(target)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        match rustix::fs::openat(&parent, name, flags, Mode::from(0o444)) {
            Ok(_) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    fn make_directory(&self, target: &Path) -> Result<(), Errno> {
        self.directory(beneath(target))
    }

    /// Makes a directory and its missing parents, following no link.
    fn directory(&self, path: &Path) -> Result<(), Errno> {
        match open_beneath(self.root.as_fd(), path) {
            Ok(place) if kind_of(place.as_fd())? == FileType::Directory => return Ok(()),
            Ok(_) => return Err(Errno::NOTDIR),
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
        let parent = path.parent().unwrap_or(Path::new(""));
        self.directory(parent)?;
        let parent = open_beneath(self.root.as_fd(), parent)?;
        let name = path.file_name().ok_or(Errno::INVAL)?;
        mkdirat(&parent, name, Mode::from(0o755))
    }

    fn parent<'a>(&self, target: &'a Path) -> Result<(OwnedFd, &'a OsStr), Errno> {
        let parent = beneath(target).parent().unwrap_or(Path::new(""));
        self.directory(parent)?;
        let name = target.file_name().ok_or(Errno::INVAL)?;
        Ok((open_beneath(self.root.as_fd(), parent)?, name))
    }

    fn place(&self, target: &Path) -> Result<OwnedFd, Errno> {
        open_beneath(self.root.as_fd(), beneath(target))
    }
}

/// Turns a target into a path beneath the root.
fn beneath(target: &Path) -> &Path {
    target.strip_prefix("/").unwrap_or(target)
}

fn mount_overlay([base, upper, work]: [BorrowedFd<'_>; 3]) -> Result<OwnedFd, Errno> {
    let name = |file: BorrowedFd<'_>| format!("/proc/self/fd/{}", file.as_raw_fd());
    let (base, upper, work) = (name(base), name(upper), name(work));
    let context = rustix::mount::fsopen("overlay", rustix::mount::FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in [("lowerdir", &base), ("upperdir", &upper), ("workdir", &work)] {
        rustix::mount::fsconfig_set_string(&context, key, value.as_bytes())?;
    }
    rustix::mount::fsconfig_set_flag(&context, "userxattr")?;
    rustix::mount::fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    rustix::mount::fsmount(&context, rustix::mount::FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

fn mount_view(base: BorrowedFd<'_>, nothing: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let layers =
        format!("/proc/self/fd/{}:/proc/self/fd/{}", base.as_raw_fd(), nothing.as_raw_fd());
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_RDONLY;
    let context = rustix::mount::fsopen("overlay", rustix::mount::FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&context, "lowerdir", layers.as_bytes())?;
    rustix::mount::fsconfig_set_flag(&context, "userxattr")?;
    rustix::mount::fsconfig_create(&context)?;
    rustix::mount::fsmount(&context, rustix::mount::FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

fn unmount(root: BorrowedFd<'_>, place: &Path) -> Result<(), Errno> {
    let mount = open_beneath(root, place)?;
    let path = format!("/proc/self/fd/{}", mount.as_raw_fd());
    rustix::mount::unmount(path, UnmountFlags::DETACH)
}

/// Returns the bytes of a path as `mountinfo` writes them, decoded.
pub(super) fn unescape(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let octal = text.get(at + 1..at + 4).and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        match (byte, octal) {
            (b'\\', Some(value)) => {
                bytes.push(value);
                at += 4;
            }
            (byte, _) => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mountinfo_is_decoded() {
        assert_eq!(unescape(br"/a\040b\134c"), Path::new(r"/a b\c"));
        assert_eq!(unescape(br"/end\04"), Path::new(r"/end\04"));
    }
}
