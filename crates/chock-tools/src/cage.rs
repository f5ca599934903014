//! Compiles a workspace's layout, the machine's programs and the rules into a cage.

mod environment;
mod prefix;
mod search_path;
mod system;
mod toolchains;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chock_sandbox::{Access, Mount, Owners};
pub use chock_sandbox::{Cage, CoverKind, Filter, Grant, HOME, Home, Limits};
use chock_workspace::{Borrowed, Halves, Kind, Layout, ProjectGit, Shared, Sharing};

use crate::OUTPUTS_INSIDE;
use environment::Names;

/// What the program knows of the machine and of the person who started it.
#[derive(Debug, Clone)]
pub struct Host {
    /// The person's home.
    pub home: Option<PathBuf>,
    /// The entries of the person's `PATH`, in order.
    pub path: Vec<PathBuf>,
    /// The person's whole environment; only listed names of it enter.
    pub variables: BTreeMap<OsString, OsString>,
    /// Whether Chock runs as root of the machine.
    pub is_root: bool,
    /// The user id of the session's processes.
    pub uid: u32,
    /// The group id of the session's processes.
    pub gid: u32,
}

/// What rules and limits say of the cage.
#[derive(Debug, Clone)]
pub struct CageRules {
    /// How much a call may use.
    pub limits: Limits,
    /// The exceptions of the system call filter.
    pub filter: Filter,
    /// Paths that no tool may read, absolute or below the project's top.
    pub denied: Vec<Denied>,
    /// Further variables of the person's environment that enter, by exact name.
    pub variables: Vec<OsString>,
    /// Which toolchains enter besides those that are found, and which do not.
    pub toolchains: ToolchainRules,
    /// The host's directory of long outputs, which must exist.
    pub outputs: PathBuf,
    /// What stands at [`HOME`].
    pub home: Home,
}

/// A path that no tool may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// The path: absolute, or below the project's top.
    pub path: PathBuf,
    /// What its cover looks like where nothing is there yet.
    pub kind: CoverKind,
}

/// What the person adds to the toolchains that are found, and takes away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolchainRules {
    /// Absolute directories that are bound read only at their own place.
    pub add: Vec<PathBuf>,
    /// Toolchains that do not enter, by their names here: `pyenv`, `rustup`.
    pub remove: Vec<String>,
    /// Absolute paths that do not enter, with everything beneath them.
    pub remove_paths: Vec<PathBuf>,
}

/// What comes of it.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// What every call of the session may reach.
    pub cage: Cage,
    /// The whole environment of a command, sorted by name.
    pub environment: Vec<(OsString, OsString)>,
    /// The shell that command lines are given to, inside the cage.
    pub shell: PathBuf,
    /// The toolchains that entered, by name.
    pub toolchains: Vec<String>,
    /// What a person should know, a line each: what was left out, and how it would enter.
    pub notes: Vec<String>,
}

/// Compiles the cage of a session.
///
/// Looks at the machine's file tree for what is there, and changes nothing. Whatever it finds
/// missing is left out; the sandbox refuses what it cannot mount.
#[must_use]
pub fn compile(layout: &Layout, host: &Host, rules: &CageRules) -> Compiled {
    let mut tree = system::tree(host);
    let toolchains = toolchains::find(&layout.project, host, &rules.toolchains);
    tree.extend(toolchains.mounts.iter().cloned());
    tree.extend(workspace(layout, host));
    tree.extend(denied(layout, &tree, &rules.denied));
    tree.push(bind(&rules.outputs, OUTPUTS_INSIDE, Access::ReadOnly, Owners::AsOutside));
    let path = search_path::inside(host, &layout.project, &tree);
    let shell = search_path::shell(&path);
    let environment = environment::inside(
        host,
        &Names { of_toolchains: &toolchains.variables, added: &rules.variables },
        &path,
        &shell,
        rules.filter,
    );
    let mut notes = toolchains.notes;
    notes.extend(environment.notes);
    let (limits, filter) = (rules.limits.clone(), rules.filter);
    Compiled {
        cage: Cage { tree, home: rules.home.clone(), stored: stored(layout), limits, filter },
        environment: environment.variables,
        shell,
        toolchains: toolchains.names,
        notes,
    }
}

/// Compiles the cage in which commits of a session are checked: the system's programs, the project's
/// objects, and one pack. Nothing of the session and nothing else of the project is in it.
///
/// `pack` is a file that the session's user can read. `shallow` is the project's list of commits
/// whose parents are not there.
#[must_use]
pub fn checking(layout: &Layout, host: &Host, pack: &Path, shallow: Option<Vec<u8>>) -> Compiled {
    let mut tree = system::tree(host);
    tree.extend(objects(layout, host));
    let incoming = Path::new(crate::commits::INCOMING);
    tree.push(bind(pack, incoming.join("pack"), Access::ReadOnly, Owners::AsOutside));
    if let Some(contents) = shallow {
        tree.push(Mount::Text { target: incoming.join("shallow"), contents });
    }
    let path = search_path::inside(host, &layout.project, &tree);
    let shell = search_path::shell(&path);
    let (names, filter) = (Names { of_toolchains: &[], added: &[] }, Filter::default());
    let environment = environment::inside(host, &names, &path, &shell, filter);
    let (limits, home) = (checking_limits(), Home::Scratch { bytes: 1 << 20 });
    Compiled {
        cage: Cage { tree, home, stored: Vec::new(), limits, filter },
        environment: environment.variables,
        shell,
        toolchains: Vec::new(),
        notes: Vec::new(),
    }
}

/// What checking the largest pack that is carried needs, with some room.
fn checking_limits() -> Limits {
    Limits {
        wall_time: Duration::from_secs(300),
        processes: 64,
        memory_bytes: 4 << 30,
        data_bytes: 3 << 30,
        file_bytes: 1 << 30,
        open_files: 1024,
        scratch_bytes: 2 << 30,
        ..Limits::default()
    }
}

/// Returns where the session keeps what it writes: not what it writes in place, which is the
/// person's.
fn stored(layout: &Layout) -> Vec<PathBuf> {
    let tree = match &layout.halves {
        Halves::Overlay { upper, .. } => upper,
        Halves::Copy { root } => root,
    };
    let git = (layout.project_git != ProjectGit::None).then(|| layout.git_dir.clone());
    std::iter::once(tree.clone()).chain(git).collect()
}

/// Shows the workspace at the project's own path.
fn workspace(layout: &Layout, host: &Host) -> Vec<Mount> {
    let project = &layout.project;
    let mut mounts = vec![match &layout.halves {
        Halves::Overlay { base, upper, work } => Mount::Overlay {
            base: base.clone(),
            upper: upper.clone(),
            work: work.clone(),
            target: project.clone(),
        },
        Halves::Copy { root } => bind(root, project, Access::ReadWrite, Owners::AsOutside),
    }];
    if layout.project_git != ProjectGit::None {
        mounts.extend(git(layout, host));
    }
    for cover in &layout.read_only {
        let target = project.join(&cover.name);
        mounts.push(bind(&cover.host, target, Access::ReadOnly, owners(host, &cover.host)));
    }
    mounts.extend(layout.shared.iter().map(|shared| share(layout, shared, host)));
    mounts
}

/// Shows the project's objects, without the lists of where more of them are.
fn objects(layout: &Layout, host: &Host) -> Vec<Mount> {
    let mut mounts = Vec::new();
    for Borrowed { host: objects, inside } in &layout.objects {
        mounts.push(bind(objects, inside, Access::ReadOnly, owners(host, objects)));
    }
    for path in &layout.hidden {
        if outside(layout, path).is_some_and(|path| path.exists()) {
            mounts.push(Mount::Text { target: path.clone(), contents: Vec::new() });
        }
    }
    mounts
}

/// Shows the session's git directory, and the objects that it borrows.
fn git(layout: &Layout, host: &Host) -> Vec<Mount> {
    let inside = layout.project.join(".git");
    let mut mounts = vec![bind(&layout.git_dir, inside, Access::ReadWrite, Owners::AsOutside)];
    mounts.extend(objects(layout, host));
    mounts
}

/// Shows an ignored path of the person's: as the person has it, and so with root's files opened.
fn share(layout: &Layout, shared: &Shared, host: &Host) -> Mount {
    let Shared { host: source, name, kind, sharing } = shared;
    let target = layout.project.join(name);
    match (sharing, kind) {
        (Sharing::ReadOnly, Kind::Directory) => {
            let owners = owners(host, source);
            Mount::View { source: source.clone(), target, owners }
        }
        (Sharing::ReadOnly, Kind::File) => {
            bind(source, target, Access::ReadOnly, owners(host, source))
        }
        (Sharing::ReadOnlyCopy, _) => bind(source, target, Access::ReadOnly, Owners::AsOutside),
        (Sharing::Write, _) => bind(source, target, Access::ReadWrite, owners(host, source)),
    }
}

/// Returns where a path below a borrowed object directory stands on the host.
fn outside(layout: &Layout, inside: &Path) -> Option<PathBuf> {
    layout.objects.iter().find_map(|objects| {
        inside.strip_prefix(&objects.inside).ok().map(|rest| objects.host.join(rest))
    })
}

/// Covers what is denied: everywhere in the project, and elsewhere where the cage shows it.
fn denied(layout: &Layout, tree: &[Mount], denied: &[Denied]) -> Vec<Mount> {
    let mut covers = Vec::new();
    for Denied { path, kind } in denied {
        let target = layout.project.join(path);
        let shown =
            target.starts_with(&layout.project) || (target.exists() && is_shown(tree, &target));
        if shown {
            covers.push(Mount::Cover { target, kind: *kind });
        }
    }
    covers
}

/// Says whether a bind of the tree shows a host path at its own place.
fn is_shown(tree: &[Mount], path: &Path) -> bool {
    tree.iter().any(|mount| match mount {
        Mount::Bind { source, target, .. } => source == target && path.starts_with(target),
        Mount::Overlay { .. }
        | Mount::Scratch { .. }
        | Mount::Cover { .. }
        | Mount::Link { .. }
        | Mount::Directory { .. }
        | Mount::View { .. }
        | Mount::Text { .. } => false,
    })
}

fn bind(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    access: Access,
    owners: Owners,
) -> Mount {
    let (source, target) = (source.as_ref().to_owned(), target.as_ref().to_owned());
    Mount::Bind { source, target, access, owners }
}

/// The type of the overlay file system, which no id map can be put on.
const OVERLAY_MAGIC: u64 = 0x794c_7630;

/// Says whose the files of a folder of programs are inside: root's belong to the session, where
/// the file system can show them so. In a container whose root is an overlay they stay root's.
fn owners(host: &Host, path: &Path) -> Owners {
    if !host.is_root {
        return Owners::AsOutside;
    }
    match rustix::fs::statfs(path) {
        Ok(found) if u64::try_from(found.f_type).is_ok_and(|kind| kind == OVERLAY_MAGIC) => {
            Owners::AsOutside
        }
        Ok(_) | Err(_) => Owners::RootAsSession,
    }
}
