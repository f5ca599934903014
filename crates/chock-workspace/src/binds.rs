//! Ignored paths of the project that a session gets, and in which way.

use std::io;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};
use globset::{Glob, GlobMatcher};

use crate::covers::Matcher;
use crate::host::{self, Step};
use crate::tracked::Tracked;
use crate::upper::Found;
use crate::{Kind, Method, Project, WorkspaceFault};

/// The most paths that rows may come to. Each is a mount of every call.
pub const BOUND_MAX: usize = 256;

/// One row of ignored paths that a session gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// Which paths.
    pub path: BindPath,
    /// In which way.
    pub mode: BindMode,
    /// Whether there is no session when there is nothing of that name.
    pub required: bool,
}

/// Which paths below the project's top a row is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindPath {
    /// One path, relative to the top.
    Name(PathBuf),
    /// What is there at the start and matches.
    Pattern {
        /// Matched against whole paths, relative to the top.
        glob: Glob,
        /// Whether files are passed by.
        directories_only: bool,
    },
}

/// In which way a session gets a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindMode {
    /// It can be read and not changed.
    ReadOnly,
    /// A copy that review can carry back.
    Copy,
    /// A copy that is thrown away with the session.
    TempCopy,
    /// The path itself.
    Write,
}

/// One path of the project that the session gets, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bound {
    /// Its place, relative to the top.
    pub(crate) name: PathBuf,
    /// Where it really is, relative to the top: not the same when it is a link.
    pub(crate) real: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) mode: BindMode,
}

impl BindMode {
    /// What a person is told of it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::ReadOnly => "read only",
            Self::Copy => "as a copy that review can carry back",
            Self::TempCopy => "as a copy that goes with the session",
            Self::Write => "TO BE WRITTEN: what the session does to it is done to the real one",
        }
    }
}

impl Bound {
    /// Whether the session has a copy of it.
    pub(crate) fn is_copied(&self) -> bool {
        matches!(self.mode, BindMode::Copy | BindMode::TempCopy)
    }

    /// The same, in a workspace that is put together by `method`: without an overlay a
    /// directory can be shown without its sockets only as a copy.
    pub(crate) fn is_copied_with(&self, method: Method) -> bool {
        let whole = method == Method::Copy && self.kind == Kind::Directory;
        self.is_copied() || (whole && self.mode == BindMode::ReadOnly)
    }
}

/// What binds are checked against.
pub(crate) struct Ground<'a> {
    pub(crate) project: &'a Project,
    pub(crate) repository: &'a Repository,
    pub(crate) tree: Oid,
    pub(crate) tracked: &'a Tracked,
    pub(crate) denied: &'a Matcher<'a>,
}

impl Ground<'_> {
    /// A tracked path that is `path` or lies beneath it.
    fn tracked(&self, path: &Path) -> Result<Option<PathBuf>, WorkspaceFault> {
        let tracked = self.tracked.at_or_below(self.repository, self.tree, path);
        let what = "read the committed tree";
        tracked.map_err(|source| WorkspaceFault::Objects { what, source })
    }

    /// Whether a pattern can be about `path`: git does not track it, and no rule denies it.
    fn is_free(&self, path: &Path) -> Result<bool, WorkspaceFault> {
        let is_directory = self.project.root().join(path).is_dir();
        let kind = if is_directory { Kind::Directory } else { Kind::File };
        let is_denied = self.denied.row_at_or_above(path, kind).is_some();
        Ok(!is_denied && self.tracked(path)?.is_none())
    }
}

/// Finds the paths of `rows`, names before patterns, and refuses what cannot be.
pub(crate) fn find(ground: &Ground<'_>, rows: &[Bind]) -> Result<Vec<Bound>, WorkspaceFault> {
    let mut bound = Vec::new();
    for row in rows {
        if let BindPath::Name(name) = &row.path {
            match there(ground.project.root(), name)? {
                true => bound.push(check(ground, name, row.mode, &bound)?),
                false if row.required => return Err(fault(name, "there is nothing of that name")),
                false => {}
            }
        }
    }
    for row in rows {
        if let BindPath::Pattern { glob, directories_only } = &row.path {
            for name in matches(ground, glob, *directories_only)? {
                let is_new = !bound.iter().any(|other| overlap(&other.name, &name));
                if is_new && ground.is_free(&name)? {
                    bound.push(check(ground, &name, row.mode, &bound)?);
                }
            }
        }
    }
    if bound.len() > BOUND_MAX {
        let last = &bound[BOUND_MAX].name;
        return Err(fault(last, &format!("more than {BOUND_MAX} paths would be bound")));
    }
    Ok(bound)
}

pub(crate) fn fault(name: &Path, why: &str) -> WorkspaceFault {
    WorkspaceFault::Bind { name: name.to_owned(), why: why.to_owned() }
}

fn there(root: &Path, name: &Path) -> Result<bool, WorkspaceFault> {
    match root.join(name).symlink_metadata() {
        Ok(_) => Ok(true),
        Err(source) if is_missing(&source) => Ok(false),
        Err(source) => Err(fault(name, &source.to_string())),
    }
}

fn is_missing(source: &io::Error) -> bool {
    matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

fn check(
    ground: &Ground<'_>,
    name: &Path,
    mode: BindMode,
    bound: &[Bound],
) -> Result<Bound, WorkspaceFault> {
    let refuse = |why: &str| Err(fault(name, why));
    let root = ground.project.root();
    let real = |path: &Path| path.canonicalize().map_err(|source| fault(name, &source.to_string()));
    let parent = root.join(name.parent().unwrap_or(Path::new("")));
    if real(&parent)? != parent.components().collect::<PathBuf>() {
        return refuse("a directory above it is a link; name the path that the link leads to");
    }
    let place = real(&root.join(name))?;
    let Ok(below) = place.strip_prefix(root) else { return refuse("it leads out of the project") };
    if below.as_os_str().is_empty() || name.starts_with(below) && name != below {
        return refuse("it leads to a directory that it lies in");
    }
    let is_own = |part: &std::ffi::OsStr| host::is_git(part.as_encoded_bytes());
    if below.iter().chain(name).any(is_own) || below == Path::new("chock.zon") {
        return refuse("it leads to what only chock and you read");
    }
    let metadata = place.symlink_metadata().map_err(|source| fault(name, &source.to_string()))?;
    let kind = match metadata.file_type() {
        kind if kind.is_dir() => Kind::Directory,
        kind if kind.is_file() => Kind::File,
        _ => return refuse("it is a socket, a FIFO or a device, and none of the machine enters"),
    };
    let found = Bound { name: name.to_owned(), real: below.to_owned(), kind, mode };
    for path in [name, below] {
        if let Some(path) = ground.tracked(path)? {
            let path = path.display();
            return refuse(&format!("git tracks `{path}`; bind the ignored paths one by one"));
        }
        if ground.denied.row_at_or_above(path, kind).is_some() {
            return refuse("`deny_read` keeps it from every tool");
        }
        if let Some(other) = bound.iter().find(|other| overlap(&other.name, path)) {
            return refuse(&format!("it and the bind `{}` overlap", other.name.display()));
        }
    }
    Ok(found)
}

/// The paths of the working tree that a pattern matches, without those beneath others.
fn matches(
    ground: &Ground<'_>,
    glob: &Glob,
    directories_only: bool,
) -> Result<Vec<PathBuf>, WorkspaceFault> {
    let (start, depth) = extent(glob.glob());
    let matcher: GlobMatcher = glob.compile_matcher();
    let mut found = Vec::new();
    host::walk(ground.project.root(), &start, &mut |path, what| {
        if path.file_name().is_some_and(|name| host::is_git(name.as_encoded_bytes())) {
            return Ok(Step::Pass);
        }
        let fits = !directories_only || what == Found::Directory;
        if fits && path != Path::new("chock.zon") && matcher.is_match(path) {
            found.push(path.to_owned());
            return Ok(Step::Pass);
        }
        Ok(if path.iter().count() < depth { Step::Enter } else { Step::Pass })
    })?;
    Ok(found)
}

/// Where the paths that a pattern matches begin, and how many names the longest one has.
fn extent(glob: &str) -> (PathBuf, usize) {
    let is_plain = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
    let parts: Vec<_> = glob.split('/').collect();
    // The last part is a name to look for, never a place to start from.
    let start = parts[..parts.len() - 1].iter().take_while(|part| is_plain(part));
    let depth = if glob.contains("**") { usize::MAX } else { parts.len() };
    (start.collect(), depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_says_where_to_look_and_how_deep() {
        let cases = [
            ("**/x", "", usize::MAX),
            ("packages/*/node_modules", "packages", 3),
            ("a/b/*.x", "a/b", 3),
            ("a/{b,c/d}/e", "a", 4),
            ("*/a/b", "", 3),
            ("a/**", "a", usize::MAX),
        ];
        for (glob, start, depth) in cases {
            assert_eq!(extent(glob), (PathBuf::from(start), depth), "{glob}");
        }
    }
}
