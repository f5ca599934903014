//! Finds the paths that rules keep from every tool, in a tree and the person's files beside it.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository, Tree};
use rustix::io::Errno;

use crate::binds::{self, BindMode, Bound};
use crate::covers::{self, Covered, Matcher};
use crate::host::{self, NAMES_MAX, Step};
use crate::keep::{DIRECTORY, LINK, SUBMODULE};
use crate::tracked::Tracked;
use crate::upper::{self, Found, Marks};
use crate::{Kind, Notice, WhenTracked, WorkspaceFault, files, links};

/// Where the paths are looked for.
pub(crate) struct Sight<'a> {
    pub(crate) repository: &'a Repository,
    /// What the session starts from.
    pub(crate) tree: Oid,
    /// The project's top on the host.
    pub(crate) root: &'a Path,
    pub(crate) tracked: &'a Tracked,
    pub(crate) bound: &'a [Bound],
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Expanded {
    pub(crate) covered: Vec<Covered>,
    pub(crate) notices: Vec<Notice>,
}

/// Finds what `matcher` covers, and refuses what git tracks where its row says so.
pub(crate) fn expand(sight: &Sight<'_>, matcher: &Matcher<'_>) -> Result<Expanded, WorkspaceFault> {
    if matcher.rows.is_empty() {
        return Ok(Expanded::default());
    }
    let tree = sight.repository.find_tree(sight.tree).map_err(unreadable)?;
    let mut search = Search { sight, matcher, tree, found: Expanded::default() };
    for (row, path, kind) in matcher.names() {
        search.name(row, path, kind)?;
    }
    if matcher.has_patterns() {
        search.tree()?;
        for bound in sight.bound {
            search.bound(bound)?;
        }
    }
    search.announce()
}

fn unreadable(source: git2::Error) -> WorkspaceFault {
    WorkspaceFault::Objects { what: "read the committed tree", source }
}

struct Search<'a> {
    sight: &'a Sight<'a>,
    matcher: &'a Matcher<'a>,
    tree: Tree<'a>,
    found: Expanded,
}

impl Search<'_> {
    /// Covers a path that a row names, or the one that its links lead to.
    fn name(&mut self, row: usize, path: &Path, kind: Kind) -> Result<(), WorkspaceFault> {
        let Sight { repository, root, .. } = self.sight;
        let resolved = links::resolve(repository, &self.tree, root, path).map_err(unreadable)?;
        let Some(path) = resolved.filter(|path| !is_own(path)) else { return Ok(()) };
        if let Some(file) = self.file_above(&path) {
            let notice = Notice::NeverThere { path, file };
            self.found.notices.push(notice);
            return Ok(());
        }
        let is_below = |bound: &&Bound| path.starts_with(&bound.name);
        if let Some(bound) = self.sight.bound.iter().find(is_below) {
            return self.name_in_bound(bound, row, &path);
        }
        let kind = self.kind(&path).unwrap_or(kind);
        covers::add(&mut self.found.covered, Covered { path, kind, row })
    }

    /// Covers a path in a directory of the person's: what appears there later could not be.
    fn name_in_bound(
        &mut self,
        bound: &Bound,
        row: usize,
        path: &Path,
    ) -> Result<(), WorkspaceFault> {
        let inner = path.strip_prefix(&bound.name).unwrap_or(path);
        let host = self.sight.root.join(&bound.real).join(inner);
        match (bound.mode, host.symlink_metadata()) {
            (BindMode::Copy | BindMode::TempCopy, found) => {
                let is_directory = found.is_ok_and(|found| found.is_dir());
                let kind = if is_directory { Kind::Directory } else { Kind::File };
                covers::add(&mut self.found.covered, Covered { path: path.to_owned(), kind, row })
            }
            (BindMode::Write, _) => Err(denied_inside(bound, path)),
            (BindMode::ReadOnly, Ok(_)) => self.found_in_bound(bound, path, row),
            (BindMode::ReadOnly, Err(_)) => Err(binds::fault(
                &bound.name,
                &format!(
                    "`deny_read` names `{}` in it, which is not there: it could appear; \
                     bind a copy, or take one of the two rows away",
                    path.display()
                ),
            )),
        }
    }

    /// Looks for what patterns match: in the tree, and in the person's files beside it.
    ///
    /// A directory that the tree does not have is not entered: the session has it neither.
    fn tree(&mut self) -> Result<(), WorkspaceFault> {
        let mut left = vec![(PathBuf::new(), Some(self.sight.tree))];
        let (mut names, top) = (0, host::open_root(self.sight.root)?);
        while let Some((directory, tree)) = left.pop() {
            let tree = tree.map(|tree| self.sight.repository.find_tree(tree)).transpose();
            let tree = tree.map_err(unreadable)?;
            for entry in tree.iter().flat_map(Tree::iter) {
                names += 1;
                let path = directory.join(OsStr::from_bytes(entry.name_bytes()));
                let mode = u32::try_from(entry.filemode()).unwrap_or_default();
                let is_directory = mode == DIRECTORY || mode == SUBMODULE;
                let kind = if is_directory { Kind::Directory } else { Kind::File };
                match self.row(&path, kind) {
                    Some(row) if mode == LINK => self.name(row, &path, kind)?,
                    Some(row) => self.add(&path, kind, row)?,
                    None if mode == DIRECTORY => left.push((path, Some(entry.id()))),
                    None => {}
                }
            }
            names += self.beside(top.as_fd(), &directory, tree.as_ref())?;
            if names > NAMES_MAX {
                let what = format!("the project has more than {NAMES_MAX} names; use no patterns");
                return Err(WorkspaceFault::Rules { what });
            }
        }
        Ok(())
    }

    /// Looks at the person's own files in a directory that the tree has, too. Says how many.
    fn beside(
        &mut self,
        top: BorrowedFd<'_>,
        directory: &Path,
        tree: Option<&Tree<'_>>,
    ) -> Result<u64, WorkspaceFault> {
        let unread = files::fault("read", &self.sight.root.join(directory));
        let open = || {
            let opened = host::open_below(top, directory)?;
            let names = upper::names(opened.as_fd())?;
            Ok((opened, names))
        };
        let (opened, names) = match open() {
            Ok(opened) => opened,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(0),
            Err(errno) => return Err(unread(errno.into())),
        };
        for name in &names {
            if tree.is_some_and(|tree| tree.get_name_bytes(name.to_bytes()).is_some()) {
                continue;
            }
            let path = host::join(directory, name);
            // What it is costs a look, and most names match nothing.
            if [Kind::File, Kind::Directory].iter().all(|kind| self.row(&path, *kind).is_none()) {
                continue;
            }
            let Ok(found) = upper::look(opened.as_fd(), name, Marks::None) else { continue };
            if let Some(row) = self.row(&path, kind_of(found)) {
                self.add(&path, kind_of(found), row)?;
            }
        }
        Ok(names.len() as u64)
    }

    /// Looks for what patterns match in a directory that the session shares with the person.
    fn bound(&mut self, bound: &Bound) -> Result<(), WorkspaceFault> {
        let shared = matches!(bound.mode, BindMode::ReadOnly | BindMode::Write);
        if !shared || bound.kind == Kind::File {
            return Ok(());
        }
        let root = self.sight.root;
        host::walk(root, &bound.real, &mut |path, found| {
            let inner = path.strip_prefix(&bound.real).unwrap_or(path);
            let inside = bound.name.join(inner);
            let row = self.matcher.row(&inside, kind_of(found));
            let row = row.or_else(|| self.matcher.row(path, kind_of(found)));
            match row {
                None => Ok(Step::Enter),
                Some(_) if bound.mode == BindMode::Write => Err(denied_inside(bound, &inside)),
                Some(row) => {
                    self.found_in_bound(bound, &inside, row)?;
                    Ok(Step::Pass)
                }
            }
        })
    }

    /// Covers something in a shared directory, or what its links lead to.
    fn found_in_bound(
        &mut self,
        bound: &Bound,
        inside: &Path,
        row: usize,
    ) -> Result<(), WorkspaceFault> {
        let root = self.sight.root;
        let inner = inside.strip_prefix(&bound.name).unwrap_or(inside);
        let Ok(place) = root.join(&bound.real).join(inner).canonicalize() else { return Ok(()) };
        let Ok(metadata) = place.symlink_metadata() else { return Ok(()) };
        let kind = if metadata.is_dir() { Kind::Directory } else { Kind::File };
        let Ok(place) = place.strip_prefix(root) else { return Ok(()) };
        let path = match place.strip_prefix(&bound.real) {
            Ok(inner) if inner.as_os_str().is_empty() => bound.name.clone(),
            Ok(inner) => bound.name.join(inner),
            Err(_) => place.to_owned(),
        };
        covers::add(&mut self.found.covered, Covered { path, kind, row })
    }

    fn add(&mut self, path: &Path, kind: Kind, row: usize) -> Result<(), WorkspaceFault> {
        covers::add(&mut self.found.covered, Covered { path: path.to_owned(), kind, row })
    }

    fn row(&self, path: &Path, kind: Kind) -> Option<usize> {
        if is_own(path) { None } else { self.matcher.row(path, kind) }
    }

    /// What is there: in the tree, else in the person's files.
    fn kind(&self, path: &Path) -> Option<Kind> {
        if let Ok(entry) = self.tree.get_path(path) {
            let mode = u32::try_from(entry.filemode()).unwrap_or_default();
            let is_directory = mode == DIRECTORY || mode == SUBMODULE;
            return Some(if is_directory { Kind::Directory } else { Kind::File });
        }
        let found = self.sight.root.join(path).symlink_metadata().ok()?;
        Some(if found.is_dir() { Kind::Directory } else { Kind::File })
    }

    /// A file of the tree that stands where a path wants a directory.
    fn file_above(&self, path: &Path) -> Option<PathBuf> {
        let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        let mut files = above.filter(|above| {
            let mode = self.tree.get_path(above).map(|entry| entry.filemode());
            mode.is_ok_and(|mode| {
                u32::try_from(mode).is_ok_and(|mode| mode != DIRECTORY && mode != SUBMODULE)
            })
        });
        files.next().map(Path::to_owned)
    }

    /// Says which covers git's objects lead around, or refuses.
    fn announce(self) -> Result<Expanded, WorkspaceFault> {
        let Self { sight, matcher, mut found, .. } = self;
        if let Some(path) = tracked_and_refused(sight, matcher) {
            return Err(WorkspaceFault::Tracked { path });
        }
        let mut told = Vec::new();
        for cover in &found.covered {
            let Sight { repository, tree, tracked, .. } = sight;
            let inside = tracked.at_or_below(repository, *tree, &cover.path).map_err(unreadable)?;
            let Some(path) = inside else { continue };
            match matcher.rows[cover.row].tracked {
                WhenTracked::Refuse => return Err(WorkspaceFault::Tracked { path }),
                WhenTracked::Announce => told.push(path),
            }
        }
        if !told.is_empty() {
            found.notices.push(Notice::TrackedDenied { paths: told });
        }
        Ok(found)
    }
}

/// A tracked file that a strict row is about, whatever other row covers it as well.
fn tracked_and_refused(sight: &Sight<'_>, matcher: &Matcher<'_>) -> Option<PathBuf> {
    let is_strict = |row: usize| matcher.rows[row].tracked == WhenTracked::Refuse;
    if !(0..matcher.rows.len()).any(is_strict) {
        return None;
    }
    let is_refused = |path: &&Path| {
        let own = matcher.row(path, Kind::File);
        let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        let mut above = above.filter_map(|above| matcher.row(above, Kind::Directory));
        !is_own(path) && (own.is_some_and(is_strict) || above.any(is_strict))
    };
    sight.tracked.paths().find(is_refused).map(Path::to_owned)
}

fn denied_inside(bound: &Bound, path: &Path) -> WorkspaceFault {
    let path = path.display();
    let why = format!("it is written in place, and `deny_read` covers `{path}` in it");
    binds::fault(&bound.name, &why)
}

fn kind_of(found: Found) -> Kind {
    match found {
        Found::Directory => Kind::Directory,
        Found::Whiteout | Found::File { .. } | Found::Link | Found::Special => Kind::File,
    }
}

/// Names that are Chock's own in a session.
fn is_own(path: &Path) -> bool {
    path == Path::new("chock.zon") || path.iter().any(|name| host::is_git(name.as_encoded_bytes()))
}
