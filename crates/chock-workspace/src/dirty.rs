//! The person's uncommitted files: how many there are, and carrying them in.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use git2::{Repository, Tree};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::git::{GitFault, Leash, Own};
use crate::image::{self, ImageKind, There};
use crate::keep::PROGRAM;
use crate::person::Person;
use crate::upper::Marks;
use crate::{Project, WorkspaceFault, files, host, make, merge, upper};

/// A count of the files of a project that a session's copy is without.
///
/// It takes as long as `git status` does: beside a session's start, not before it.
#[derive(Debug, Clone)]
pub struct Uncommitted {
    project: Project,
    /// Absent where there is no git: then the copy has everything.
    store: Option<PathBuf>,
    leash: Arc<Leash>,
}

impl Uncommitted {
    pub(crate) fn of(project: &Project, store: Option<&Path>) -> Self {
        let (project, store) = (project.clone(), store.map(Path::to_owned));
        Self { project, store, leash: Arc::default() }
    }

    /// Counts the files that are changed or untracked, compared with the commit that the session
    /// started from.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault::Git`], after [`stop`](Self::stop) as well.
    pub fn count(&self) -> Result<u64, WorkspaceFault> {
        let Some(store) = &self.store else { return Ok(0) };
        let person = make::person(&self.project)?;
        let git = &self.project.git;
        let ask = |own: &Own<'_>, args: &[&OsStr]| git.own_until(&self.leash, own, args);
        Ok(listed(&self.project, store, &person, ask)?.len() as u64)
    }

    /// Ends a count, under way or yet to come. Nothing of it runs when its
    /// [`count`](Self::count) has come back.
    pub fn stop(&self) {
        self.leash.pull();
    }
}

/// Lists the paths of `project` that differ from HEAD or are untracked.
///
/// Git compares in `store`, a git directory of Chock's own whose HEAD is the
/// project's, with the project's index only read: no filter or monitor acts.
pub(crate) fn paths(
    project: &Project,
    store: &Path,
    person: &Person,
) -> Result<Vec<PathBuf>, WorkspaceFault> {
    listed(project, store, person, |own, args| project.git.own(own, args, None))
}

/// Whether a file of the project differs from that of a tree in the ends of lines alone, as a checkout
/// with `eol=crlf` does. Landing keeps them.
pub(crate) fn has_other_line_ends(
    project: &Project,
    repository: &Repository,
    tree: &Tree<'_>,
    path: &Path,
) -> bool {
    let Ok(entry) = tree.get_path(path) else { return false };
    let Ok(blob) = repository.find_blob(entry.id()) else { return false };
    let Ok(top) = host::open_root(project.root()) else { return false };
    let keeps_modes = project.facts.last("core.filemode").is_none_or(|value| value != b"false");
    match image::look(top.as_fd(), path.as_os_str().as_bytes()) {
        Ok(There::Thing(image, content)) => {
            let is_program = u32::try_from(entry.filemode()) == Ok(PROGRAM);
            image.kind == ImageKind::File
                && (image.is_program() == is_program || !keeps_modes)
                && merge::without_cr(&content) == merge::without_cr(blob.content())
        }
        Ok(There::Nothing | There::Directory | There::Other | There::Blocked) | Err(_) => false,
    }
}

fn listed(
    project: &Project,
    store: &Path,
    person: &Person,
    ask: impl FnOnce(&Own<'_>, &[&OsStr]) -> Result<Vec<u8>, GitFault>,
) -> Result<Vec<PathBuf>, WorkspaceFault> {
    let index = project.git_dir().join("index");
    link_shared_index(project.git_dir(), store)?;
    let mut options = vec!["core.checkStat=default".into(), "core.trustctime=true".into()];
    if project.facts.last("core.filemode").is_some_and(|value| value == b"false") {
        options.push(OsString::from("core.fileMode=false"));
    }
    if let Some(excludes) = &person.excludes {
        let mut option = OsString::from("core.excludesFile=");
        option.push(excludes);
        options.push(option);
    }
    let mut args: Vec<&OsStr> = Vec::new();
    for option in &options {
        args.extend([OsStr::new("-c"), option]);
    }
    let status = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
    args.extend(status.map(OsStr::new));
    args.push(OsStr::new("--ignore-submodules=all"));
    let own = Own { git_dir: store, work_tree: project.root(), index: &index };
    let answer = ask(&own, &args).map_err(|fault| WorkspaceFault::Git {
        what: "list the uncommitted files",
        said: fault.said(),
    })?;
    let paths = parse(&answer);
    match paths.iter().find(|path| !is_plain(path)) {
        None => Ok(paths),
        Some(path) => Err(WorkspaceFault::Git {
            what: "list the uncommitted files",
            said: format!("the index names {path:?}, which cannot be a file of a project"),
        }),
    }
}

/// Whether a path stays below whatever it is joined to. Git reads any name out of an index.
fn is_plain(path: &Path) -> bool {
    let is_name = |part| matches!(part, Component::Normal(name) if !host::is_git(name.as_bytes()));
    path.components().all(is_name)
}

/// Reads `XY path NUL` rows. Untracked repositories, which end in `/`, are left out.
fn parse(answer: &[u8]) -> Vec<PathBuf> {
    let rows = answer.split(|byte| *byte == 0);
    let paths = rows.filter_map(|row| row.get(3..)).filter(|path| !path.ends_with(b"/"));
    paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
}

/// A split index names its other half by a file beside it, in the git directory.
pub(crate) fn link_shared_index(git_dir: &Path, store: &Path) -> Result<(), WorkspaceFault> {
    for entry in git_dir.read_dir().map_err(files::fault("read", git_dir))? {
        let entry = entry.map_err(files::fault("read", git_dir))?;
        if !entry.file_name().as_bytes().starts_with(b"sharedindex.") {
            continue;
        }
        let link = store.join(entry.file_name());
        match symlink(entry.path(), &link) {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                return Err(files::fault("make", &link)(source));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Makes `target`, a new upper layer or copy of `base`, show `paths` as the project does.
pub(crate) fn carry(
    project: &Project,
    paths: &[PathBuf],
    base: &Tree<'_>,
    target: &Path,
    marks: Marks,
) -> Result<(), WorkspaceFault> {
    let root = project.root();
    let top = upper::open_top(root).map_err(|errno| files::fault("open", root)(errno.into()))?;
    let mut gone = Vec::new();
    for path in paths {
        let from = root.join(path);
        let found = rustix::fs::statat(&top, path, AtFlags::SYMLINK_NOFOLLOW);
        match found.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::RegularFile) => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
                let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
                let file = rustix::fs::openat2(&top, path, flags, Mode::empty(), resolve);
                let file = file.map_err(|errno| files::fault("read", &from)(errno.into()))?;
                let to = place(target, path)?;
                put(&mut File::from(file), &to).map_err(files::fault("copy", &from))?;
            }
            Ok(FileType::Symlink) => {
                let link = std::fs::read_link(&from).map_err(files::fault("read", &from))?;
                let to = place(target, path)?;
                symlink(link, &to).map_err(files::fault("make", &to))?;
            }
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => gone.push(path),
            Err(errno) => return Err(files::fault("read", &from)(errno.into())),
        }
    }
    let gone = gone.into_iter().filter(|path| base.get_path(path).is_ok());
    for path in gone {
        take_away(target, path, marks)?;
    }
    Ok(())
}

/// Makes the directories above `path` in `target`, and room for it.
pub(crate) fn place(target: &Path, path: &Path) -> Result<PathBuf, WorkspaceFault> {
    let mut to = target.to_owned();
    let mut names = path.iter().peekable();
    while let Some(name) = names.next() {
        to.push(name);
        let is_dir = to.symlink_metadata().map(|found| found.is_dir());
        if names.peek().is_none() {
            match is_dir {
                Ok(true) => crate::remove::tree(&to)?,
                Ok(false) => std::fs::remove_file(&to).map_err(files::fault("remove", &to))?,
                Err(_) => {}
            }
        } else if !matches!(is_dir, Ok(true)) {
            if is_dir.is_ok() {
                std::fs::remove_file(&to).map_err(files::fault("remove", &to))?;
            }
            files::make_open(&to)?;
        }
    }
    Ok(to)
}

/// Writes a new file with the mode and time of the old one, sharing its blocks where it can.
pub(crate) fn put(from: &mut File, to: &Path) -> io::Result<()> {
    let found = from.metadata()?;
    let mode = found.permissions().mode() & 0o777;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(to)?;
    if rustix::fs::ioctl_ficlone(&file, &*from).is_err() {
        io::copy(from, &mut file)?;
    }
    file.set_permissions(Permissions::from_mode(mode))?;
    file.set_modified(found.modified()?)
}

/// Hides or removes a file of the base, unless something else is in its place.
pub(crate) fn take_away(target: &Path, path: &Path, marks: Marks) -> Result<(), WorkspaceFault> {
    let mut to = target.to_owned();
    let mut names = path.iter().peekable();
    while let Some(name) = names.next() {
        to.push(name);
        let found = to.symlink_metadata();
        if names.peek().is_some() {
            match found {
                Ok(found) if !found.is_dir() => return Ok(()),
                Ok(_) => {}
                Err(_) if marks == Marks::None => return Ok(()),
                Err(_) => files::make_open(&to)?,
            }
            continue;
        }
        match (found, marks) {
            (Ok(found), _) if found.is_dir() => {}
            (Ok(_), _) => std::fs::remove_file(&to).map_err(files::fault("remove", &to))?,
            (Err(_), Marks::None) => {}
            (Err(_), Marks::Overlay) => whiteout(&to).map_err(files::fault("make", &to))?,
        }
    }
    Ok(())
}

/// The overlay's mark that a name is gone: any user may make this one device.
fn whiteout(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0)?)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::parse;

    #[test]
    fn rows_are_paths_and_repositories_are_left_out() {
        let rows = parse(b" M a b\0?? new\nline\0?? nested/\0D  gone\0");
        assert_eq!(rows, ["a b", "new\nline", "gone"].map(PathBuf::from));
    }
}
