//! What a session is given besides the committed tree, and what is kept from it.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use git2::Repository;
use rustix::io::Errno;

use crate::binds::{self, BindMode, Bound};
use crate::copy::Copier;
use crate::covers::{self, Covered, Matcher};
use crate::expand::{self, Expanded, Sight};
use crate::host::{self, Step};
use crate::record::Record;
use crate::tracked::Tracked;
use crate::upper::Found;
use crate::{
    Bind, CoverRow, Kind, Method, Notice, Opening, Project, Store, TreeId, WorkspaceFault, make,
    remove,
};

/// A workspace that was just made or opened.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) record: Record,
    pub(crate) sights: Sights,
    /// What keeps the base from being pruned.
    pub(crate) used: File,
}

/// What rules come to in one project at one time.
#[derive(Debug)]
pub(crate) struct Sights {
    pub(crate) covered: Vec<Covered>,
    pub(crate) bound: Vec<Bound>,
    pub(crate) notices: Vec<Notice>,
    method: Method,
}

/// Where rules are looked up.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) project: &'a Project,
    pub(crate) store: &'a Store,
    pub(crate) repository: &'a Repository,
    pub(crate) tree: TreeId,
}

/// Finds what the rules of a new session come to. Nothing is made yet.
pub(crate) fn first(
    ground: &Ground<'_>,
    matcher: &Matcher<'_>,
    opening: &Opening,
) -> Result<Sights, WorkspaceFault> {
    find(ground, matcher, &opening.binds, opening.method)
}

/// Finds what the rules of an earlier session come to now. Its copies are as it left them.
pub(crate) fn again(
    project: &Project,
    session: &Path,
    record: &Record,
    (covered, binds): (&[CoverRow], &[Bind]),
) -> Result<Sights, WorkspaceFault> {
    let store = &Store::at(session);
    let repository = store.repository().map_err(|source| WorkspaceFault::Store { source })?;
    let ground = Ground { project, store, repository: &repository, tree: record.start_tree };
    let is_shared = |bind: &&Bind| matches!(bind.mode, BindMode::ReadOnly | BindMode::Write);
    let binds: Vec<_> = binds.iter().filter(is_shared).cloned().collect();
    let mut sights = find(&ground, &Matcher::new(covered)?, &binds, record.method)?;
    // Where nothing but copies can be shown, what is not copied yet would need one now.
    let is_there = |bound: &Bound| record.copied.iter().any(|name| *name == bound.name);
    sights.bound.retain(|bound| !bound.is_copied_with(record.method) || is_there(bound));
    let top = host::open_root(&make::top(session, record.method))?;
    sights.covered.retain(|cover| !is_replaced(top.as_fd(), &cover.path));
    Ok(sights)
}

/// Whether the session put a file or a link of its own where the way to `path` was. What the
/// base has there is hidden for good then, and a cover has nowhere to stand.
fn is_replaced(top: BorrowedFd<'_>, path: &Path) -> bool {
    let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    let mut found = above.map(|above| host::open_below(top, above));
    found.any(|found| matches!(found, Err(Errno::LOOP | Errno::NOTDIR)))
}

fn find(
    ground: &Ground<'_>,
    matcher: &Matcher<'_>,
    binds: &[Bind],
    method: Method,
) -> Result<Sights, WorkspaceFault> {
    let Ground { project, store, repository, tree } = *ground;
    let nothing = matcher.rows.is_empty() && binds.is_empty();
    if nothing {
        return Ok(Sights { covered: vec![], bound: vec![], notices: vec![], method });
    }
    let (root, tree) = (project.root(), tree.0);
    let tracked = Tracked::read(project, store.directory())?;
    let checked = binds::Ground { project, repository, tree, tracked: &tracked, denied: matcher };
    let bound = binds::find(&checked, binds)?;
    bound.iter().try_for_each(|bound| check_written(root, bound))?;
    let sight = Sight { repository, tree, root, tracked: &tracked, bound: &bound };
    let Expanded { covered, mut notices } = expand::expand(&sight, matcher)?;
    notices.extend(bound.iter().map(|bound| {
        let (name, how) = (bound.name.clone(), bound.mode.words());
        Notice::Bound { name, how }
    }));
    Ok(Sights { covered, bound, notices, method })
}

/// Refuses to have a directory written in place that holds more than files of the person's.
fn check_written(root: &Path, bound: &Bound) -> Result<(), WorkspaceFault> {
    if bound.mode != BindMode::Write || bound.kind == Kind::File {
        return Ok(());
    }
    host::walk(root, &bound.real, &mut |path, found| {
        let refuse = |why: &str| {
            let why = format!("it is written in place, and `{}` in it is {why}", path.display());
            Err(binds::fault(&bound.name, &why))
        };
        if path.file_name().is_some_and(|name| host::is_git(name.as_encoded_bytes())) {
            return refuse("a git directory, which your git would trust");
        }
        if found == Found::Special {
            return refuse("a socket, a FIFO or a device; none of the machine enters");
        }
        Ok(Step::Enter)
    })
}

impl Sights {
    /// The paths under the cage's own mounts, `chock.zon` among them when there is one.
    pub(crate) fn names(&self, project: &Project) -> Vec<PathBuf> {
        let covered = self.covered.iter().map(|cover| cover.path.clone());
        let bound = self.bound.iter().map(|bound| bound.name.clone());
        let own = make::project_file(project).map(|cover| cover.name);
        covered.chain(bound).chain(own).collect()
    }

    /// Takes what no tool may read out of the uncommitted paths that are carried in.
    pub(crate) fn without_denied(
        &mut self,
        matcher: &Matcher<'_>,
        paths: Vec<PathBuf>,
    ) -> Result<Vec<PathBuf>, WorkspaceFault> {
        let mut left = Vec::new();
        for path in paths {
            match matcher.row_at_or_above(&path, Kind::File) {
                None => left.push(path),
                Some(row) => {
                    covers::add(&mut self.covered, Covered { path, kind: Kind::File, row })?;
                }
            }
        }
        Ok(left)
    }

    /// Takes what is covered out of a full copy: a directory above it can be renamed there, and
    /// the next process of the session would find it uncovered. A new upper half has nothing.
    pub(crate) fn take_out(&self, top: &Path) -> Result<(), WorkspaceFault> {
        self.covered.iter().try_for_each(|cover| remove::tree(&top.join(&cover.path)))
    }

    /// Copies what the session gets a copy of into `top`, where nobody writes yet.
    pub(crate) fn copy_in(
        &mut self,
        project: &Project,
        matcher: &Matcher<'_>,
        top: &Path,
    ) -> Result<(), WorkspaceFault> {
        let mut copier = Copier::new(project.root(), top, matcher);
        for bound in self.bound.iter().filter(|bound| bound.is_copied_with(self.method)) {
            copier.carry(bound)?;
        }
        let Copier { covered, special, .. } = copier;
        for cover in covered {
            covers::add(&mut self.covered, cover)?;
        }
        if special > 0 {
            self.notices.push(Notice::SpecialLeftOut { count: special });
        }
        Ok(())
    }

    /// The paths that the session has copies of.
    pub(crate) fn copied(&self) -> Vec<PathBuf> {
        let copied = self.bound.iter().filter(|bound| bound.is_copied_with(self.method));
        copied.map(|bound| bound.name.clone()).collect()
    }

    /// Those of them that review can carry back.
    pub(crate) fn carried(&self) -> Vec<PathBuf> {
        let carried = self.bound.iter().filter(|bound| bound.mode == BindMode::Copy);
        carried.map(|bound| bound.name.clone()).collect()
    }
}
