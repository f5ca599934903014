//! Makes a workspace out of a turn of another one.
//!
//! The other may be at work: its record and its objects are only read, and whatever a turn kept
//! is never changed. Nothing of the new workspace depends on the other afterwards.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Oid, Repository, Tree};

use crate::base::Contents;
use crate::covers::Matcher;
use crate::keep::{DIRECTORY, Entry, FILE, SUBMODULE};
use crate::record::Record;
use crate::store::NOTES;
use crate::upper::Marks;
use crate::wishes::{self, Made};
use crate::{
    Bind, BindMode, CoverRow, Opening, Project, Start, Store, TreeId, WorkspaceFault, bare,
    checkpoint, dirty, files, make, remove,
};

/// Which turn of which workspace a new one starts from.
#[derive(Debug, Clone)]
pub struct Forking {
    /// The directory of the new session. Made when it is missing; its parent exists.
    pub session: PathBuf,
    /// The directory of the session that it hangs from.
    pub parent: PathBuf,
    /// The snapshot of the turn.
    pub tree: TreeId,
    /// The git directory of the turn, as the snapshot kept it.
    pub git: Option<TreeId>,
    /// What the cage covers now, as in [`Opening`].
    pub covered: Vec<CoverRow>,
    /// Ignored paths of the project that the session gets, as in [`Opening`].
    pub binds: Vec<Bind>,
}

/// Makes everything but the new record. What an earlier attempt left is removed first.
pub(crate) fn all(project: &Project, forking: &Forking) -> Result<Made, WorkspaceFault> {
    let Forking { session, parent, tree, .. } = forking;
    let mut record = Record::read(parent)?;
    if project.root().as_os_str() != record.project {
        let (path, project) = (parent.clone(), record.project.into());
        return Err(WorkspaceFault::OtherProject { path, project });
    }
    if forking.git.is_none() && record.contents == Contents::Repository {
        return Err(WorkspaceFault::NoGitKept);
    }
    make::clear(session)?;
    let store = Store::at(session);
    take_store(parent, session, &record)?;
    let repository = store.repository().map_err(|source| WorkspaceFault::Store { source })?;
    if let Err(source) = repository.find_tree(tree.0) {
        return Err(match source.code() {
            ErrorCode::NotFound => WorkspaceFault::NotKept { tree: *tree },
            _ => WorkspaceFault::Objects { what: "read the kept files", source },
        });
    }
    let base = make::base(project, store.directory(), &record)?;
    make::halves(session, &base, record.method)?;
    let opening = opening(forking, &record);
    let matcher = Matcher::new(&opening.covered)?;
    let ground = wishes::Ground { project, store: &store, repository: &repository, tree: *tree };
    let mut sights = wishes::first(&ground, &matcher, &opening)?;
    let top = make::top(session, record.method);
    sights.copy_in(project, &matcher, &top)?;
    for path in sights.names(project) {
        if !record.covered.iter().any(|known| known == path.as_os_str()) {
            record.covered.push(path.into());
        }
    }
    let copied = sights.copied().into_iter().map(PathBuf::into_os_string);
    record.copied = record.carried.iter().cloned().chain(copied).collect();
    let marks = make::marks(record.method);
    let held = record.covered.iter().filter(|path| !record.carried.contains(path));
    let held: Vec<&Path> = held.map(Path::new).collect();
    let restoring = Restoring { repository: &repository, top: &top, marks, held: &held };
    restoring.between(Some(record.base_tree.0), Some(tree.0), Path::new(""))?;
    if let Some(git) = forking.git {
        checkpoint::restore(&repository, git.0, &session.join("git"))?;
    }
    make::give(session, record.owner)?;
    Ok(Made { record, sights, used: base.into_used() })
}

fn opening(forking: &Forking, record: &Record) -> Opening {
    // What review can carry back is in the kept tree, as the parent had it at that turn.
    let binds = forking.binds.iter().filter(|bind| bind.mode != BindMode::Copy);
    Opening {
        session: forking.session.clone(),
        cache: PathBuf::from(&record.cache),
        method: record.method,
        owner: record.owner,
        start: Start::Committed,
        covered: forking.covered.clone(),
        binds: binds.cloned().collect(),
    }
}

/// Makes a store that borrows what the parent's borrows, and has what the parent's has.
fn take_store(parent: &Path, session: &Path, record: &Record) -> Result<(), WorkspaceFault> {
    let (theirs, ours) = (parent.join("store"), session.join("store"));
    let borrowed: Vec<PathBuf> = record.objects.iter().map(PathBuf::from).collect();
    bare::make(&ours, &borrowed)?;
    for name in ["HEAD", "info/exclude", "shallow"] {
        let from = theirs.join(name);
        if from.exists() {
            let to = ours.join(name);
            std::fs::copy(&from, &to).map(drop).map_err(files::fault("copy", &from))?;
        }
    }
    link_objects(&theirs.join("objects"), &ours.join("objects"))?;
    files::make_private(&session.join(NOTES))?;
    link_files(&parent.join(NOTES), &session.join(NOTES))
}

/// Shares every object with the parent. Objects are never written again, only removed.
fn link_objects(theirs: &Path, ours: &Path) -> Result<(), WorkspaceFault> {
    for entry in theirs.read_dir().map_err(files::fault("read", theirs))? {
        let entry = entry.map_err(files::fault("read", theirs))?;
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && entry.file_name() != "info" {
            let to = ours.join(entry.file_name());
            files::make_private(&to)?;
            link_files(&entry.path(), &to)?;
        }
    }
    Ok(())
}

fn link_files(from: &Path, to: &Path) -> Result<(), WorkspaceFault> {
    for entry in from.read_dir().map_err(files::fault("read", from))? {
        let entry = entry.map_err(files::fault("read", from))?;
        let name = entry.file_name();
        // Whatever is written at this moment belongs to a later turn.
        let is_whole = !name.as_bytes().starts_with(b"tmp_") && !name.as_bytes().ends_with(b".new");
        if !is_whole || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let (from, to) = (entry.path(), to.join(name));
        // Some file systems have no links, and all have a most.
        if std::fs::hard_link(&from, &to).is_err() {
            std::fs::copy(&from, &to).map(drop).map_err(files::fault("copy", &from))?;
        }
    }
    Ok(())
}

/// Makes a new upper layer or copy of a base show a kept tree.
struct Restoring<'a> {
    repository: &'a Repository,
    top: &'a Path,
    marks: Marks,
    /// Paths under the cage's own mounts: they stay as they are.
    held: &'a [&'a Path],
}

impl<'a> Restoring<'a> {
    fn between(
        &self,
        base: Option<Oid>,
        kept: Option<Oid>,
        path: &Path,
    ) -> Result<(), WorkspaceFault> {
        let (base, kept) = (self.tree(base)?, self.tree(kept)?);
        for entry in base.iter().flat_map(Tree::iter) {
            if kept.as_ref().is_none_or(|kept| kept.get_name_bytes(entry.name_bytes()).is_none()) {
                self.take_away(&path.join(OsStr::from_bytes(entry.name_bytes())))?;
            }
        }
        for entry in kept.iter().flat_map(Tree::iter) {
            let name = entry.name_bytes();
            let mode = u32::try_from(entry.filemode()).unwrap_or(FILE);
            let new = Entry { mode, id: entry.id() };
            let old = base.as_ref().and_then(|base| base.get_name_bytes(name)).map(|entry| Entry {
                mode: u32::try_from(entry.filemode()).unwrap_or(FILE),
                id: entry.id(),
            });
            if old != Some(new) {
                self.put(old, new, &path.join(OsStr::from_bytes(name)))?;
            }
        }
        Ok(())
    }

    fn put(&self, old: Option<Entry>, new: Entry, path: &Path) -> Result<(), WorkspaceFault> {
        if self.is_held(path) || new.mode == SUBMODULE {
            return Ok(());
        }
        if new.mode == DIRECTORY {
            let below = old.filter(|old| old.mode == DIRECTORY).map(|old| old.id);
            return self.between(below, Some(new.id), path);
        }
        let to = dirty::place(self.top, path)?;
        let blob = self.repository.find_blob(new.id).map_err(unread)?;
        checkpoint::put(&to, new.mode, blob.content()).map_err(files::fault("write", &to))
    }

    fn take_away(&self, path: &Path) -> Result<(), WorkspaceFault> {
        if self.is_held(path) {
            return Ok(());
        }
        if self.marks == Marks::None {
            return remove::tree(&self.top.join(path));
        }
        dirty::take_away(self.top, path, self.marks)
    }

    fn is_held(&self, path: &Path) -> bool {
        self.held.iter().any(|held| path.starts_with(held))
    }

    fn tree(&self, id: Option<Oid>) -> Result<Option<Tree<'a>>, WorkspaceFault> {
        id.map(|id| self.repository.find_tree(id)).transpose().map_err(unread)
    }
}

fn unread(source: git2::Error) -> WorkspaceFault {
    WorkspaceFault::Objects { what: "read the kept files", source }
}
