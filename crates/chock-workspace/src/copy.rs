//! Copies ignored paths of the project into a new session.

use std::ffi::CStr;
use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::binds::{self, BindMode, Bound};
use crate::covers::{self, Covered, Matcher};
use crate::upper::{self, Found, Marks};
use crate::{Kind, SNAPSHOT_DEPTH_MAX, WorkspaceFault, dirty, files, host};

/// The most files that are copied into one session: a few large `node_modules`.
pub(crate) const COPIED_FILES_MAX: u64 = 500_000;

/// The most bytes that are copied into one session: 16 GiB.
pub(crate) const COPIED_BYTES_MAX: u64 = 16 << 30;

/// The same of what review can carry back, which each turn's snapshot reads: 20,000 and 1 GiB.
pub(crate) const CARRIED_FILES_MAX: u64 = 20_000;
pub(crate) const CARRIED_BYTES_MAX: u64 = 1 << 30;

/// Copies into one session, all bounds together.
#[derive(Debug)]
pub(crate) struct Copier<'a> {
    root: &'a Path,
    /// The top of the session's files: nobody writes there yet.
    target: &'a Path,
    denied: &'a Matcher<'a>,
    copied: Left,
    carried: Left,
    /// What was left out because no tool may read it.
    pub(crate) covered: Vec<Covered>,
    /// How many sockets, FIFOs and devices were left out.
    pub(crate) special: u64,
}

/// What may still be copied.
#[derive(Debug)]
struct Left {
    files: u64,
    bytes: u64,
}

impl Left {
    /// Takes one file; says whether there was room.
    fn take(&mut self, length: u64) -> bool {
        let left = (self.files.checked_sub(1), self.bytes.checked_sub(length));
        let (Some(files), Some(bytes)) = left else { return false };
        (self.files, self.bytes) = (files, bytes);
        true
    }
}

/// Where one copy comes from.
#[derive(Debug, Clone, Copy)]
struct Origin<'a> {
    bound: &'a Bound,
    parent: BorrowedFd<'a>,
    name: &'a CStr,
}

impl<'a> Copier<'a> {
    pub(crate) fn new(root: &'a Path, target: &'a Path, denied: &'a Matcher<'a>) -> Self {
        let copied = Left { files: COPIED_FILES_MAX, bytes: COPIED_BYTES_MAX };
        let carried = Left { files: CARRIED_FILES_MAX, bytes: CARRIED_BYTES_MAX };
        Self { root, target, denied, copied, carried, covered: Vec::new(), special: 0 }
    }

    /// Copies one path. No link is followed, and what deny rules cover is left out.
    pub(crate) fn carry(&mut self, bound: &Bound) -> Result<(), WorkspaceFault> {
        let to = dirty::place(self.target, &bound.name)?;
        let top = host::open_root(self.root)?;
        let above = bound.real.parent().unwrap_or(Path::new(""));
        let parent = host::open_below(top.as_fd(), above)
            .map_err(|errno| files::fault("open", &self.root.join(above))(errno.into()))?;
        let name = bound.real.file_name().unwrap_or_default().as_bytes();
        let name = std::ffi::CString::new(name)
            .map_err(|_| binds::fault(&bound.name, "its name holds a zero byte"))?;
        let origin = Origin { bound, parent: parent.as_fd(), name: &name };
        self.entry(origin, &bound.name, &to, 0)
    }

    fn entry(
        &mut self,
        origin: Origin<'_>,
        path: &Path,
        to: &Path,
        depth: usize,
    ) -> Result<(), WorkspaceFault> {
        let Origin { bound, parent, name } = origin;
        let unread = |source: io::Error| files::fault("read", &self.root.join(path))(source);
        let found = upper::look(parent, name, Marks::None).map_err(|errno| unread(errno.into()))?;
        let kind = if found == Found::Directory { Kind::Directory } else { Kind::File };
        if let Some(row) = self.denied.row(path, kind) {
            let found = Covered { path: path.to_owned(), kind, row };
            return covers::add(&mut self.covered, found);
        }
        self.count(bound, found)?;
        match found {
            Found::Directory => self.directory(origin, path, to, depth),
            Found::File { .. } => match upper::open_file(parent, name) {
                Ok(Some((mut file, _))) => {
                    let copied = dirty::put(&mut file, to);
                    copied.map_err(files::fault("copy", &self.root.join(path)))
                }
                Ok(None) => Ok(()),
                Err(errno) => Err(unread(errno.into())),
            },
            Found::Link => {
                let target =
                    upper::read_link(parent, name).map_err(|errno| unread(errno.into()))?;
                symlink(std::ffi::OsStr::from_bytes(&target), to).map_err(files::fault("make", to))
            }
            Found::Whiteout | Found::Special => {
                self.special += 1;
                Ok(())
            }
        }
    }

    fn directory(
        &mut self,
        Origin { bound, parent, name }: Origin<'_>,
        path: &Path,
        to: &Path,
        depth: usize,
    ) -> Result<(), WorkspaceFault> {
        if depth == SNAPSHOT_DEPTH_MAX {
            return Err(binds::fault(&bound.name, "it is too deep to be copied"));
        }
        let unread = files::fault("read", &self.root.join(path));
        let open = || {
            let directory = upper::open_directory(parent, name)?;
            let status = rustix::fs::fstat(&directory)?;
            let names = upper::names(directory.as_fd())?;
            Ok::<_, rustix::io::Errno>((directory, status.st_mode & 0o777, names))
        };
        let (directory, mode, names) = open().map_err(|errno| unread(errno.into()))?;
        files::make_open(to)?;
        for inner in &names {
            let origin = Origin { bound, parent: directory.as_fd(), name: inner };
            self.entry(origin, &host::join(path, inner), &host::join(to, inner), depth + 1)?;
        }
        let mode = Permissions::from_mode(mode);
        std::fs::set_permissions(to, mode).map_err(files::fault("change", to))
    }

    fn count(&mut self, bound: &Bound, found: Found) -> Result<(), WorkspaceFault> {
        let length = match found {
            Found::File { length, .. } => length,
            Found::Directory | Found::Link | Found::Special | Found::Whiteout => 0,
        };
        if bound.mode == BindMode::Copy && !self.carried.take(length) {
            let why = format!(
                "the copies that review can carry back hold at most {CARRIED_FILES_MAX} files \
                 and {CARRIED_BYTES_MAX} bytes; bind it `.temp_copy` or `.read_only`"
            );
            return Err(binds::fault(&bound.name, &why));
        }
        if !self.copied.take(length) {
            let why = format!(
                "the copies of a session hold at most {COPIED_FILES_MAX} files and \
                 {COPIED_BYTES_MAX} bytes; bind it `.read_only`"
            );
            return Err(binds::fault(&bound.name, &why));
        }
        Ok(())
    }
}
