//! Puts the parts of a workspace together.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Repository};

use crate::base::{Base, Contents, Recipe};
use crate::binds::{BindMode, Bound};
use crate::checkpoint;
use crate::collect::Seen;
use crate::covers::Matcher;
use crate::directory::{self, KeptDirectory};
use crate::git::Own;
use crate::person::Person;
use crate::record::{Beginning, Record};
use crate::refs::Refs;
use crate::scan::Ground;
use crate::store::NOTES;
use crate::upper::Marks;
use crate::wishes::{self, Made};
use crate::{
    Borrowed, Cover, Halves, Layout, Method, OBJECTS_INSIDE, Opening, Owner, Project, ProjectGit,
    Shared, Sharing, Snapshot, SnapshotFault, Start, Store, StoreFault, TreeId, WorkspaceFault,
    bare, dirty, files, inside, objects, person, refs, remove, scan, upper,
};

/// The file that Chock reads from the real project, and shows read only.
const PROJECT_FILE: &str = "chock.zon";

/// The largest list of patterns that is copied from the project.
const EXCLUDE_BYTES_MAX: u64 = 1 << 20;

/// The largest list of a shallow clone's first commits.
const SHALLOW_BYTES_MAX: u64 = 64 << 20;

/// The directory that holds the upper layer and its scratch, and nothing else: whoever mounts
/// the overlay enters it as the session's user.
const HALVES: &str = "halves";

/// Makes the session's directory when it is missing, and takes its lock.
pub(crate) fn claim(session: &Path) -> Result<File, WorkspaceFault> {
    files::make_private(session)?;
    let lock = files::try_lock(&session.join("lock"))?;
    lock.ok_or_else(|| WorkspaceFault::InUse { path: session.to_owned() })
}

/// Makes everything but the record. What an earlier attempt left is removed first.
pub(crate) fn all(project: &Project, opening: &Opening) -> Result<Made, WorkspaceFault> {
    let session = &opening.session;
    clear(session)?;
    let matcher = Matcher::new(&opening.covered)?;
    let origin = Origin::read(project, opening, &matcher)?;
    let store = Store::at(session);
    make_store(&store, &origin)?;
    files::make_private(&session.join(NOTES))?;
    let repository = store.repository().map_err(|source| WorkspaceFault::Store { source })?;
    let tree = match &origin.directory {
        Some(directory) => directory.tree,
        None => committed_tree(&repository, origin.refs.commit.as_deref())?,
    };
    let dirty = uncommitted(project, opening, &store, &origin.person)?;
    let ground = wishes::Ground { project, store: &store, repository: &repository, tree };
    let mut sights = wishes::first(&ground, &matcher, opening)?;
    let dirty = sights.without_denied(&matcher, dirty)?;
    let contents = origin.contents();
    let (git, owner) = (&project.git, opening.owner);
    let (store_directory, progress) = (store.directory(), &project.progress);
    let recipe = Recipe { git, store: store_directory, tree, owner, contents, progress };
    let base = Base::ensure(&opening.cache, &recipe)?;
    halves(session, &base, opening.method)?;
    sights.take_out(&top(session, opening.method))?;
    sights.copy_in(project, &matcher, &top(session, opening.method))?;
    let covered = sights.names(project);
    if contents == Contents::Repository {
        let (tracked, untracked) = split_by_tracked(&repository, tree, &covered)?;
        make_git_directory(project, session, &origin, &base, (&tracked, &untracked))?;
    }
    let mut record = Record::new(
        Beginning {
            project: project.root(),
            cache: &opening.cache,
            method: opening.method,
            owner: opening.owner,
            tree,
            commit: origin.refs.commit.clone(),
            objects: &origin.objects,
            covered: &covered,
            copied: &sights.copied(),
            carried: &sights.carried(),
            contents,
            left_out: origin.directory.as_ref().map_or(0, |directory| directory.left_out),
        },
        base.facts,
    );
    if opening.start == Start::Uncommitted && contents == Contents::Repository {
        carry(project, opening, &record, &repository, &dirty)?;
    }
    if opening.start == Start::Uncommitted || !record.carried.is_empty() {
        let start = scan_session(session, &record, None);
        record.start_tree = start.map_err(|source| WorkspaceFault::Start { source })?.tree;
    }
    give(session, opening.owner)?;
    Ok(Made { record, sights, used: base.into_used() })
}

/// Removes what an earlier attempt at a new workspace left.
pub(crate) fn clear(session: &Path) -> Result<(), WorkspaceFault> {
    let parts = [HALVES, "root", "git", "store", NOTES];
    parts.iter().try_for_each(|part| remove::tree(&session.join(part)))
}

/// Gives the session's own files to the user that its programs run as.
pub(crate) fn give(session: &Path, owner: Option<Owner>) -> Result<(), WorkspaceFault> {
    for part in [HALVES, "root", "git"].map(|part| session.join(part)) {
        if part.exists() {
            files::give(&part, owner)?;
        }
    }
    Ok(())
}

/// The person's uncommitted files, when the session starts from them.
fn uncommitted(
    project: &Project,
    opening: &Opening,
    store: &Store,
    person: &Person,
) -> Result<Vec<PathBuf>, WorkspaceFault> {
    if !project.is_git() {
        // What is in the directory is what the session starts from.
        return Ok(Vec::new());
    }
    match opening.start {
        Start::Committed => Ok(Vec::new()),
        Start::Uncommitted => dirty::paths(project, store.directory(), person),
    }
}

/// What a workspace takes from the project and the person, besides the tree.
#[derive(Debug)]
struct Origin {
    refs: Refs,
    objects: Vec<PathBuf>,
    exclude: Vec<u8>,
    shallow: Option<Vec<u8>>,
    person: Person,
    /// The project's files, where there is no git.
    directory: Option<KeptDirectory>,
}

impl Origin {
    fn read(
        project: &Project,
        opening: &Opening,
        denied: &Matcher<'_>,
    ) -> Result<Self, WorkspaceFault> {
        if !project.is_git() {
            let rules = (denied, opening.binds.as_slice());
            let directory = directory::keep(project.root(), &opening.session, rules)?;
            return Ok(Self {
                refs: Refs { head: Vec::new(), commit: None, rows: Vec::new() },
                objects: vec![directory.objects.clone()],
                exclude: Vec::new(),
                shallow: None,
                person: Person::default(),
                directory: Some(directory),
            });
        }
        let common = project.common_dir();
        let exclude = read_if_there(common, "info/exclude", EXCLUDE_BYTES_MAX)?;
        Ok(Self {
            refs: refs::read(project)?,
            objects: objects::directories(&common.join("objects"))?,
            exclude: exclude.unwrap_or_default(),
            shallow: project.shallow()?,
            person: person(project)?,
            directory: None,
        })
    }

    fn contents(&self) -> Contents {
        match self.directory {
            Some(_) => Contents::Directory,
            None => Contents::Repository,
        }
    }
}

fn make_store(store: &Store, origin: &Origin) -> Result<(), WorkspaceFault> {
    let directory = store.directory();
    bare::make(directory, &origin.objects)?;
    files::write(&directory.join("info/exclude"), &origin.exclude)?;
    if let Some(commit) = &origin.refs.commit {
        files::write(&directory.join("HEAD"), format!("{commit}\n").as_bytes())?;
    }
    match &origin.shallow {
        Some(list) => files::write(&directory.join("shallow"), list),
        None => Ok(()),
    }
}

fn make_git_directory(
    project: &Project,
    session: &Path,
    origin: &Origin,
    base: &Base,
    (tracked, untracked): (&[PathBuf], &[PathBuf]),
) -> Result<(), WorkspaceFault> {
    let git_dir = session.join("git");
    let contents = inside::Contents {
        refs: &origin.refs,
        facts: &project.facts,
        person: &origin.person,
        index: &base.index(),
        exclude: &origin.exclude,
        shallow: origin.shallow.as_deref(),
        borrowed: origin.objects.len(),
        tracked,
        untracked,
    };
    inside::make(&git_dir, &contents)?;
    leave_alone(project, Store::at(session).directory(), base, &git_dir, tracked)
}

/// The tree of `commit`, or the empty one, which is then in the store.
fn committed_tree(repository: &Repository, commit: Option<&str>) -> Result<TreeId, WorkspaceFault> {
    let read = || match commit {
        Some(commit) => Ok(repository.find_commit(Oid::from_str(commit)?)?.tree_id()),
        None => repository.odb()?.write(ObjectType::Tree, b""),
    };
    let what = "read the committed tree";
    read().map(TreeId).map_err(|source| WorkspaceFault::Objects { what, source })
}

/// Finds the base of a workspace, or makes it again.
pub(crate) fn base(
    project: &Project,
    store: &Path,
    record: &Record,
) -> Result<Base, WorkspaceFault> {
    let (tree, owner, contents) = (record.base_tree, record.owner, record.contents);
    let (git, progress) = (&project.git, &project.progress);
    let recipe = Recipe { git, store, tree, owner, contents, progress };
    Base::ensure(Path::new(&record.cache), &recipe)
}

/// The person whose commits the session makes.
pub(crate) fn person(project: &Project) -> Result<Person, WorkspaceFault> {
    person::read(&project.git, project.root()).map_err(|fault| WorkspaceFault::Git {
        what: "read your name from its configuration",
        said: fault.said(),
    })
}

/// Those of `covered` that are in the committed tree, and those that are not.
fn split_by_tracked(
    repository: &Repository,
    tree: TreeId,
    covered: &[PathBuf],
) -> Result<(Vec<PathBuf>, Vec<PathBuf>), WorkspaceFault> {
    let tree = repository
        .find_tree(tree.0)
        .map_err(|source| WorkspaceFault::Objects { what: "read the committed tree", source })?;
    Ok(covered.iter().cloned().partition(|path| tree.get_path(path).is_ok()))
}

/// Tells the session's git not to look at paths that the cage covers.
fn leave_alone(
    project: &Project,
    store: &Path,
    base: &Base,
    git_dir: &Path,
    covered: &[PathBuf],
) -> Result<(), WorkspaceFault> {
    if covered.is_empty() {
        return Ok(());
    }
    let (work_tree, index) = (base.tree(), git_dir.join("index"));
    let own = Own { git_dir: store, work_tree: &work_tree, index: &index };
    let fault = |fault: crate::git::GitFault| WorkspaceFault::Git {
        what: "mark the covered files",
        said: fault.said(),
    };
    let mut list: Vec<&OsStr> = ["ls-files", "-z", "--"].map(OsStr::new).to_vec();
    let literal = covered.iter().map(|path| {
        let mut spec = OsString::from(":(top,literal)");
        spec.push(path);
        spec
    });
    let literal: Vec<_> = literal.collect();
    list.extend(literal.iter().map(|spec| spec.as_os_str()));
    let names = project.git.own(&own, &list, None).map_err(fault)?;
    let args = ["update-index", "--skip-worktree", "-z", "--stdin"].map(OsStr::new);
    project.git.own(&own, &args, Some(&names)).map(drop).map_err(fault)
}

pub(crate) fn halves(session: &Path, base: &Base, method: Method) -> Result<(), WorkspaceFault> {
    match method {
        Method::Overlay => {
            files::make_open(&session.join(HALVES))?;
            files::make_open(&session.join(HALVES).join("upper"))?;
            files::make_open(&session.join(HALVES).join("work"))
        }
        Method::Copy => files::copy_tree(&base.tree(), &session.join("root"), &mut || ()),
    }
}

/// Carries the person's uncommitted files in.
fn carry(
    project: &Project,
    opening: &Opening,
    record: &Record,
    repository: &Repository,
    paths: &[PathBuf],
) -> Result<(), WorkspaceFault> {
    let base = repository
        .find_tree(record.base_tree.0)
        .map_err(|source| WorkspaceFault::Objects { what: "read the committed tree", source })?;
    let is_covered = |path: &&PathBuf| record.covered.iter().any(|cover| path.starts_with(cover));
    let paths: Vec<_> = paths.iter().filter(|path| !is_covered(path)).cloned().collect();
    let top = top(&opening.session, record.method);
    dirty::carry(project, &paths, &base, &top, marks(record.method))
}

/// Keeps the working tree of `session`, ignored files apart, and its git directory.
pub(crate) fn snapshot(
    session: &Path,
    record: &Record,
    seen: &mut Seen,
) -> Result<Snapshot, SnapshotFault> {
    let exclude = Store::at(session).directory().join("info/exclude");
    let exclude = files::read_bounded(&exclude, EXCLUDE_BYTES_MAX)
        .map_err(|source| SnapshotFault::Read { path: String::new(), source })?;
    let snapshot = scan_session(session, record, Some(&exclude))?;
    let git = match record.contents {
        Contents::Repository => {
            checkpoint::keep(&repository(session)?, &session.join("git"), seen)?
        }
        Contents::Directory => None,
    };
    Ok(Snapshot { git: git.map(TreeId), ..snapshot })
}

fn repository(session: &Path) -> Result<Repository, SnapshotFault> {
    Store::at(session).repository().map_err(|fault| match fault {
        StoreFault::Open { source, .. } | StoreFault::Compare { source, .. } => {
            SnapshotFault::Store { source }
        }
        StoreFault::Notes { source } | StoreFault::Write { source } => {
            SnapshotFault::Notes { source }
        }
    })
}

fn scan_session(
    session: &Path,
    record: &Record,
    exclude: Option<&[u8]>,
) -> Result<Snapshot, SnapshotFault> {
    let repository = repository(session)?;
    let top = upper::open_top(&top(session, record.method))
        .map_err(|errno| SnapshotFault::Read { path: String::new(), source: errno.into() })?;
    let bytes = |path: &OsString| path.as_bytes().to_vec();
    let carried: BTreeSet<_> = record.carried.iter().map(bytes).collect();
    let covered = record.covered.iter().filter(|path| !record.carried.contains(path));
    let covered: BTreeSet<_> = covered.map(bytes).collect();
    let ground = Ground {
        lower: record.base_tree.0,
        start: record.start_tree.0,
        marks: marks(record.method),
        covered: &covered,
        carried: &carried,
        exclude,
    };
    scan::scan(&repository, top.as_fd(), &ground)
}

pub(crate) fn marks(method: Method) -> Marks {
    match method {
        Method::Overlay => Marks::Overlay,
        Method::Copy => Marks::None,
    }
}

pub(crate) fn top(session: &Path, method: Method) -> PathBuf {
    match method {
        Method::Overlay => session.join(HALVES).join("upper"),
        Method::Copy => session.join("root"),
    }
}

/// Says where the parts of the workspace in `session` are.
pub(crate) fn layout(
    project: &Project,
    session: &Path,
    record: &Record,
    bound: &[Bound],
) -> Layout {
    let base = Base::place(Path::new(&record.cache), record.base_tree, record.key());
    let halves = match record.method {
        Method::Overlay => {
            let halves = session.join(HALVES);
            Halves::Overlay { base, upper: halves.join("upper"), work: halves.join("work") }
        }
        Method::Copy => Halves::Copy { root: session.join("root") },
    };
    let objects = record.objects.iter().enumerate().map(|(number, host)| Borrowed {
        host: host.into(),
        inside: Path::new(OBJECTS_INSIDE).join(number.to_string()),
    });
    let objects: Vec<Borrowed> = objects.collect();
    let borrowing = objects.iter().filter(|directory| objects::borrows(&directory.host));
    let hidden = borrowing.map(|directory| directory.inside.join("info/alternates")).collect();
    Layout {
        project: project.root().to_owned(),
        halves,
        git_dir: session.join("git"),
        objects,
        hidden,
        read_only: project_file(project).into_iter().collect(),
        shared: shared(project, session, record, bound),
        owner: record.owner,
        project_git: match record.contents {
            Contents::Repository => project.project_git(),
            Contents::Directory => ProjectGit::None,
        },
    }
}

/// Says how bound paths are shown. A copy in the workspace needs no mount.
fn shared(project: &Project, session: &Path, record: &Record, bound: &[Bound]) -> Vec<Shared> {
    let shared = bound.iter().filter_map(|bound| {
        let own_copy = bound.is_copied_with(record.method);
        let sharing = match bound.mode {
            BindMode::ReadOnly if own_copy => Sharing::ReadOnlyCopy,
            BindMode::ReadOnly => Sharing::ReadOnly,
            BindMode::Write => Sharing::Write,
            BindMode::Copy | BindMode::TempCopy => return None,
        };
        let host = match sharing {
            Sharing::ReadOnlyCopy => top(session, record.method).join(&bound.name),
            Sharing::ReadOnly | Sharing::Write => project.root().join(&bound.real),
        };
        Some(Shared { host, name: bound.name.clone(), kind: bound.kind, sharing })
    });
    shared.collect()
}

pub(crate) fn project_file(project: &Project) -> Option<Cover> {
    let host = project.root().join(PROJECT_FILE);
    let is_file = host.symlink_metadata().is_ok_and(|found| found.is_file());
    is_file.then(|| Cover { host, name: PathBuf::from(PROJECT_FILE) })
}

impl Project {
    /// The list of commits whose parents are not there, for a shallow clone.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault::Files`].
    pub fn shallow(&self) -> Result<Option<Vec<u8>>, WorkspaceFault> {
        read_if_there(self.common_dir(), "shallow", SHALLOW_BYTES_MAX)
    }
}

fn read_if_there(top: &Path, name: &str, max: u64) -> Result<Option<Vec<u8>>, WorkspaceFault> {
    match files::read_within(top, name, max) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(files::fault("read", &top.join(name))),
    }
}
