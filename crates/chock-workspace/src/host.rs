//! Looks through the person's own files, beneath a descriptor and without following links.
//!
//! A session may write beneath the project meanwhile, where the person let it.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::upper::{self, Found, Marks};
use crate::{SNAPSHOT_DEPTH_MAX, WorkspaceFault, files};

/// The most names that one walk looks at: ten times the largest repositories, and a few seconds.
pub(crate) const NAMES_MAX: u64 = 1_000_000;

/// Whether a walk goes into a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Enter,
    Pass,
}

/// Called with each path relative to the project's top, and what is there.
pub(crate) type Visit<'a> = dyn FnMut(&Path, Found) -> Result<Step, WorkspaceFault> + 'a;

/// Opens the top of a project.
pub(crate) fn open_root(root: &Path) -> Result<OwnedFd, WorkspaceFault> {
    upper::open_top(root).map_err(|errno| files::fault("open", root)(errno.into()))
}

/// Opens the directory `path` below `top`, with no link on the way.
pub(crate) fn open_below(top: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    rustix::fs::openat2(top, path, flags, Mode::empty(), resolve)
}

/// The path of `name` in the directory `path`.
pub(crate) fn join(path: &Path, name: &CStr) -> PathBuf {
    path.join(OsStr::from_bytes(name.to_bytes()))
}

/// Whether a file system could take `name` for a git directory.
pub(crate) fn is_git(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1")
}

/// Visits everything beneath the directory `start` of the project at `root`, parents first.
///
/// What vanishes meanwhile, or may not be read, is passed by.
pub(crate) fn walk(root: &Path, start: &Path, visit: &mut Visit<'_>) -> Result<(), WorkspaceFault> {
    let top = open_root(root)?;
    match open_below(top.as_fd(), start) {
        Ok(directory) => {
            let mut walk = Walk { names_left: NAMES_MAX, visit };
            walk.directory(directory.as_fd(), start, 0)
        }
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => Ok(()),
        Err(errno) => Err(files::fault("read", &root.join(start))(errno.into())),
    }
}

struct Walk<'a, 'visit> {
    names_left: u64,
    visit: &'a mut Visit<'visit>,
}

impl Walk<'_, '_> {
    fn directory(
        &mut self,
        directory: BorrowedFd<'_>,
        path: &Path,
        depth: usize,
    ) -> Result<(), WorkspaceFault> {
        let too_much = |what: String| Err(WorkspaceFault::Rules { what });
        if depth > SNAPSHOT_DEPTH_MAX {
            return too_much(format!("`{}` is too deep to be looked through", path.display()));
        }
        let names = match upper::names(directory) {
            Ok(names) => names,
            Err(Errno::ACCESS | Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(files::fault("read", path)(errno.into())),
        };
        for name in names {
            let Some(left) = self.names_left.checked_sub(1) else {
                return too_much(format!(
                    "more than {NAMES_MAX} names would have to be looked at, those in `{}` among \
                     them; name what is meant without patterns",
                    path.display()
                ));
            };
            self.names_left = left;
            let Ok(found) = upper::look(directory, &name, Marks::None) else { continue };
            let below = join(path, &name);
            if (self.visit)(&below, found)? == Step::Enter && found == Found::Directory {
                match upper::open_directory(directory, &name) {
                    Ok(inner) => self.directory(inner.as_fd(), &below, depth + 1)?,
                    Err(Errno::ACCESS | Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                    Err(errno) => return Err(files::fault("read", &below)(errno.into())),
                }
            }
        }
        Ok(())
    }
}
