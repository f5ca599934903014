//! The throwaway copy of a project that one session works in.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::base::{BaseFacts, Contents};
use crate::collect::Seen;
use crate::record::Record;
use crate::store::NOTES;
use crate::wishes::{self, Made};
use crate::{
    Bind, CoverRow, Covered, Forking, Layout, Method, Notice, Owner, Project, SNAPSHOT_BYTES_MAX,
    SNAPSHOT_FILES_MAX, Snapshot, SnapshotFault, Store, StoreFault, TreeId, Uncommitted, bare,
    fork, host, leftovers, make, notes, remove, size, stand, upper,
};

/// How to make a workspace.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The session's directory, such as `<state>/sessions/<project>/<id>.work`.
    ///
    /// Made when it is missing; its parent exists.
    pub session: PathBuf,
    /// Where bases are kept, such as `<cache>`. Made when it is missing.
    pub cache: PathBuf,
    /// How the working tree is put together.
    pub method: Method,
    /// Who owns the files, when that is not the caller.
    pub owner: Option<Owner>,
    /// Where the session starts from.
    pub start: Start,
    /// What the cage covers, so that no tool can read it. The session's git is told to
    /// leave it alone.
    pub covered: Vec<CoverRow>,
    /// Ignored paths of the project that the session gets.
    pub binds: Vec<Bind>,
}

/// Where a session starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The committed tree of HEAD.
    Committed,
    /// The person's files as they are: uncommitted changes and untracked files too.
    Uncommitted,
}

/// The throwaway copy of one project, owned by this process.
///
/// While it lives no other process can open it. Dropping it lets go of the lock
/// and keeps the files; [`remove`](Self::remove) deletes them.
#[derive(Debug)]
pub struct Workspace {
    session: PathBuf,
    layout: Layout,
    notices: Vec<Notice>,
    covered: Vec<Covered>,
    record: Record,
    store: Store,
    /// What of the git directory was read with the last snapshot.
    seen: Mutex<Seen>,
    lock: File,
    /// The base is not pruned meanwhile.
    _used: File,
}

impl Workspace {
    /// Makes the workspace of a new session, and its base when there is none yet.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`]. What was half made is removed, now or by the next start.
    pub fn create(project: &Project, opening: &Opening) -> Result<Self, WorkspaceFault> {
        Self::new(project, &opening.session, || make::all(project, opening))
    }

    /// Makes the workspace of a session that goes on from a turn of another one.
    ///
    /// It has the files, refs and index of that turn, on the base of the other session. The
    /// other may be at work, and nothing of it is changed or needed afterwards. Files that git
    /// ignores are not in a snapshot, and so not in the fork.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault::Missing`] when the other has no workspace, [`WorkspaceFault::NotKept`]
    /// when the snapshot is not in it, [`WorkspaceFault::NoGitKept`] when that has no git
    /// directory where the project has one, and others.
    pub fn fork(project: &Project, forking: &Forking) -> Result<Self, WorkspaceFault> {
        Self::new(project, &forking.session, || fork::all(project, forking))
    }

    /// Opens the workspace of an earlier process again, as that left it.
    ///
    /// `covered` is added to what the workspace was made with. Of `binds` only what is
    /// shared counts: copies are as the session left them. A base that is gone from the
    /// cache is made again.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault::InUse`] when another process has it open,
    /// [`WorkspaceFault::Missing`] when there is none, and others.
    pub fn open(
        project: &Project,
        session: &Path,
        covered: &[CoverRow],
        binds: &[Bind],
    ) -> Result<Self, WorkspaceFault> {
        if !Record::exists(session) {
            return Err(WorkspaceFault::Missing { path: session.to_owned() });
        }
        let lock = make::claim(session)?;
        let mut record = Record::read(session)?;
        if project.root().as_os_str() != record.project {
            let (path, project) = (session.to_owned(), record.project.into());
            return Err(WorkspaceFault::OtherProject { path, project });
        }
        let store = Store::at(session);
        bare::sweep(store.directory())?;
        if record.method == Method::Overlay {
            leftovers::sweep(&make::top(session, record.method))?;
        }
        let used = make::base(project, store.directory(), &record)?.into_used();
        let sights = wishes::again(project, session, &record, (covered, binds))?;
        for path in sights.names(project) {
            if !record.covered.iter().any(|known| known == path.as_os_str()) {
                record.covered.push(path.into());
            }
        }
        record.write(session)?;
        Ok(Self::whole(project, session.to_owned(), Made { record, sights, used }, lock))
    }

    fn new(
        project: &Project,
        session: &Path,
        make: impl FnOnce() -> Result<Made, WorkspaceFault>,
    ) -> Result<Self, WorkspaceFault> {
        let lock = make::claim(session)?;
        if Record::exists(session) {
            return Err(WorkspaceFault::Exists { path: session.to_owned() });
        }
        let made = make().and_then(|made| {
            made.record.write(session)?;
            Ok(made)
        });
        let made = made.inspect_err(|_| {
            // The first fault is the one to tell. What is left here is removed by the next start.
            let _left_behind = remove::tree(session);
        })?;
        Ok(Self::whole(project, session.to_owned(), made, lock))
    }

    fn whole(project: &Project, session: PathBuf, made: Made, lock: File) -> Self {
        let Made { record, sights, used } = made;
        let layout = make::layout(project, &session, &record, &sights.bound);
        let mut notices = project.notices().to_vec();
        notices.extend(sights.notices);
        if record.contents == Contents::Directory {
            notices.push(Notice::Directory { left_out: record.left_out });
        }
        let objects = record.objects.iter().map(PathBuf::from);
        let elsewhere: Vec<_> = objects.filter(|host| !host.starts_with(project.root())).collect();
        if !elsewhere.is_empty() && record.contents == Contents::Repository {
            notices.push(Notice::ObjectsElsewhere { paths: elsewhere });
        }
        let BaseFacts { lfs_pointers, submodules, .. } = record.base_facts;
        if lfs_pointers > 0 {
            notices.push(Notice::LfsPointers { count: lfs_pointers });
        }
        if submodules > 0 {
            notices.push(Notice::Submodules { count: submodules });
        }
        let store = Store::at(&session);
        let (covered, seen) = (sights.covered, Mutex::default());
        Self { session, layout, notices, covered, record, store, seen, lock, _used: used }
    }

    /// Where everything is, and where it belongs inside.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What the person is told at the start, the project's own notices included.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The paths that the cage covers, each with the row it comes from.
    #[must_use]
    pub fn covered(&self) -> &[Covered] {
        &self.covered
    }

    /// The committed tree that the base is a checkout of.
    #[must_use]
    pub fn base_tree(&self) -> TreeId {
        self.record.base_tree
    }

    /// The tree that the session started from: what it changed is relative to this.
    ///
    /// Equal to [`base_tree`](Self::base_tree), unless it started from
    /// uncommitted files.
    #[must_use]
    pub fn start_tree(&self) -> TreeId {
        self.record.start_tree
    }

    /// The commit that HEAD named at the start, in 40 hexadecimal digits. `None`
    /// before the first commit.
    #[must_use]
    pub fn start_commit(&self) -> Option<&str> {
        self.record.start_commit.as_deref()
    }

    /// The session's object store, for comparing trees.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The lock's descriptor, for the process that mounts the upper half to inherit.
    ///
    /// The kernel frees a mount some time after its process died. While any copy of
    /// this descriptor is open nobody else opens the workspace.
    #[must_use]
    pub fn lock(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }

    /// Says whether programs of the session wrote objects of git's, and so may have committed.
    ///
    /// Only names of directories are looked at.
    #[must_use]
    pub fn has_objects(&self) -> bool {
        let below = |path: &str| {
            let top = upper::open_top(&self.layout.git_dir).ok()?;
            let directory = host::open_below(top.as_fd(), Path::new(path)).ok()?;
            upper::names(directory.as_fd()).ok()
        };
        let has_packs = || below("objects/pack").is_none_or(|names| !names.is_empty());
        match below("objects") {
            Some(names) => names.iter().any(|name| name.to_bytes().len() == 2) || has_packs(),
            // Somebody put something else there.
            None => true,
        }
    }

    /// Says whether a merge, a rebase or the like is under way in the session's copy.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        stand::is_unfinished(&self.layout.git_dir)
    }

    /// Keeps the working tree as it is now as an immutable tree.
    ///
    /// The cost follows what the session changed. Programs of the session may run
    /// meanwhile; a file that changes under the reader is read again.
    ///
    /// # Errors
    ///
    /// [`SnapshotFault`]; the store stays usable.
    pub fn snapshot(&self) -> Result<Snapshot, SnapshotFault> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = make::snapshot(&self.session, &self.record, &mut seen)?;
        let notes = self.session.join(NOTES);
        notes::keep(&notes, &snapshot).map_err(|source| SnapshotFault::Notes { source })?;
        Ok(snapshot)
    }

    /// What counts the files of the project that are changed or untracked, and so are not
    /// in a session that starts from [`Start::Committed`].
    #[must_use]
    pub fn uncommitted(&self, project: &Project) -> Uncommitted {
        let has_git = self.record.contents == Contents::Repository;
        Uncommitted::of(project, has_git.then(|| self.store.directory()))
    }

    /// How many bytes the session's own files take on disk; the shared base not counted.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault::Files`].
    pub fn bytes(&self) -> Result<u64, WorkspaceFault> {
        size::size_on_disk(&self.session)
    }

    /// Deletes the workspace with everything in it. No link is followed.
    ///
    /// The caller has unmounted the halves, and ended every program of the session.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault::Files`] when something could not be deleted.
    pub fn remove(self) -> Result<(), WorkspaceFault> {
        remove::tree(&self.session)
    }
}

/// Why a workspace could not be made, opened or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceFault {
    /// Another process has the workspace open, or its mounts are not gone yet.
    #[error("the workspace `{}` is in use by another process", .path.display())]
    InUse {
        /// The session's directory.
        path: PathBuf,
    },

    /// There is no workspace in the session's directory.
    #[error("there is no workspace in `{}`; start a new session", .path.display())]
    Missing {
        /// The session's directory.
        path: PathBuf,
    },

    /// The session's directory already holds a workspace.
    #[error("`{}` already holds a workspace", .path.display())]
    Exists {
        /// The session's directory.
        path: PathBuf,
    },

    /// The workspace was made for another project.
    #[error("the workspace `{}` belongs to the project `{}`", .path.display(), .project.display())]
    OtherProject {
        /// The session's directory.
        path: PathBuf,
        /// The project it was made for.
        project: PathBuf,
    },

    /// The record of the workspace cannot be understood.
    #[error("the record of the workspace `{}` is damaged; start a new session", .path.display())]
    Damaged {
        /// The session's directory.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },

    /// A file could not be read or written.
    #[error("cannot {what} `{}`", .path.display())]
    Files {
        /// What was tried, such as `write`.
        what: &'static str,
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// Git could not do its part.
    #[error("git cannot {what}: {said}")]
    Git {
        /// What was tried, such as `check out the base`.
        what: &'static str,
        /// The last line that git wrote, with odd characters replaced.
        said: String,
    },

    /// The repository says that its objects are where none are.
    #[error(
        "the project's git takes objects from `{}`, which is no directory of objects: there is \
         {what}; correct `objects` or `objects/info/alternates` in its git directory", .path.display()
    )]
    NoObjects {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },

    /// What rules of the project are about cannot be found, or not be held.
    #[error("cannot hold the rules of this project: {what}")]
    Rules {
        /// What stands in the way, and what to do.
        what: String,
    },

    /// Git tracks a path whose row refuses a session then.
    #[error(
        "git tracks `{}`, and its row of `deny_read` says `.tracked = .refuse`: its content is in \
         git's objects, where no cover reaches; `git rm --cached` it, or change the row",
        .path.display()
    )]
    Tracked {
        /// The path.
        path: PathBuf,
    },

    /// An ignored path cannot be given to the session.
    #[error("cannot bind `{}`: {why}", .name.display())]
    Bind {
        /// The path.
        name: PathBuf,
        /// What stands in the way.
        why: String,
    },

    /// The snapshot that a fork starts from has the files and not the git directory.
    #[error(
        "the turn was kept without its git directory, which was too large, or was kept by an \
         earlier version; fork at another turn"
    )]
    NoGitKept,

    /// The snapshot that a fork starts from is not in the store of its parent.
    #[error("the snapshot {tree} is no longer kept; fork at another turn")]
    NotKept {
        /// The snapshot.
        tree: TreeId,
    },

    /// A directory without git has more in it than a session takes.
    #[error(
        "`{}` is no git repository and has more than {} files or {} bytes; start in a smaller \
         directory, or run `git init` and commit what a session shall have",
        .path.display(), SNAPSHOT_FILES_MAX, SNAPSHOT_BYTES_MAX
    )]
    TooMuch {
        /// The directory.
        path: PathBuf,
    },

    /// The object store could not be opened.
    #[error("cannot use the session's store")]
    Store {
        /// Why.
        source: StoreFault,
    },

    /// An object of the project could not be read, or one of the session's not written.
    #[error("cannot {what}")]
    Objects {
        /// What was tried, such as `read the committed tree`.
        what: &'static str,
        /// What the object store said.
        source: git2::Error,
    },

    /// The snapshot of the start could not be taken.
    #[error("cannot record where the session starts from")]
    Start {
        /// Why.
        source: SnapshotFault,
    },
}
