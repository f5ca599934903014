//! A project on the host, a git repository or a directory, looked at without running anything of it.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::facts::Facts;
use crate::git::{self, Git, GitFault};
use crate::{Progress, ProjectGit, forbidden, person};

/// What the caller knows of the machine and the person.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The value of `PATH`, to find git with.
    pub search_path: OsString,
    /// The person's home. It is never a project, nor inside one.
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, when it is set. Git reads the person's name there.
    pub config_home: Option<PathBuf>,
    /// Chock's own directories: configuration, state, data, cache, temporary files.
    ///
    /// A project neither contains one nor lies inside one.
    pub own_directories: Vec<PathBuf>,
}

/// A git repository with a working tree, or a directory without git.
#[derive(Debug, Clone)]
pub struct Project {
    root: PathBuf,
    start: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    project_git: ProjectGit,
    notices: Vec<Notice>,
    pub(crate) git: Git,
    pub(crate) facts: Facts,
    pub(crate) progress: Progress,
}

impl Project {
    /// Finds the project that `start` is in: the top of its git working tree, or `start` itself
    /// where there is no git.
    ///
    /// # Errors
    ///
    /// One [`ProjectFault`], which names the path and what to do.
    pub fn find(start: &Path, surroundings: &Surroundings) -> Result<Self, ProjectFault> {
        let start = directory(start)?;
        forbidden::check(&start, surroundings)?;
        let mut git = Git {
            search_path: surroundings.search_path.clone(),
            home: surroundings.home.clone(),
            config_home: surroundings.config_home.clone(),
            trusted: Vec::new(),
        };
        let top = match top_level(&mut git, &start) {
            // A `.git` that git does not know is a repository that is damaged.
            Err(ProjectFault::NotGit { .. }) if start.join(".git").symlink_metadata().is_err() => {
                return Ok(Self::plain(start, git));
            }
            top => top?,
        };
        let root = directory(&top)?;
        if !start.starts_with(&root) {
            return Err(ProjectFault::Elsewhere { path: start, root });
        }
        forbidden::check(&root, surroundings)?;
        let git_dir = root.join(ask_path(&git, &root, "--absolute-git-dir")?);
        let common_dir = root.join(ask_path(&git, &root, "--git-common-dir")?);
        let facts = Facts::parse(&ask(&git, &root, &["config", "--list", "-z"])?);
        check_format(&root, &facts)?;
        let project_git = match root.join(".git").symlink_metadata() {
            Ok(found) if found.is_file() => ProjectGit::File,
            Ok(found) if found.is_dir() => ProjectGit::Directory,
            Ok(_) | Err(_) => ProjectGit::Elsewhere,
        };
        let notices = notices(&facts, &common_dir);
        let start = start.strip_prefix(&root).unwrap_or(Path::new("")).to_owned();
        let progress = Progress::default();
        Ok(Self { root, start, git_dir, common_dir, project_git, notices, git, facts, progress })
    }

    /// A directory that is in no repository.
    fn plain(root: PathBuf, git: Git) -> Self {
        let none = root.join(".git");
        let (git_dir, common_dir, start) = (none.clone(), none, PathBuf::new());
        let (project_git, facts) = (ProjectGit::None, Facts::default());
        let (notices, progress) = (Vec::new(), Progress::default());
        Self { root, start, git_dir, common_dir, project_git, notices, git, facts, progress }
    }

    /// The same project, which tells `progress` when making a base of it takes time.
    #[must_use]
    pub fn telling(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    /// Whether the project is a git repository.
    #[must_use]
    pub fn is_git(&self) -> bool {
        self.project_git != ProjectGit::None
    }

    /// The real path of the top of the working tree, with links resolved.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the search started, relative to the top. Empty at the top itself.
    ///
    /// A session works from there.
    #[must_use]
    pub fn start(&self) -> &Path {
        &self.start
    }

    /// The repository's git directory: HEAD and the index of this working tree.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git directory that all working trees of the repository share.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// What `.git` is at the top of the project.
    #[must_use]
    pub fn project_git(&self) -> ProjectGit {
        self.project_git
    }

    /// Where the repository's configuration says that its working tree is.
    pub(crate) fn worktree_of_its_configuration(&self) -> Option<Vec<u8>> {
        self.facts.last("core.worktree").map(<[u8]>::to_vec)
    }

    /// The directories of hooks that the configuration names, relative to the top.
    pub(crate) fn hook_directories(&self) -> Vec<Vec<u8>> {
        // The last value is the one that every question of ours is asked with.
        let named = self.facts.all("core.hookspath");
        let below = named.filter_map(|name| {
            let path = self.root.join(OsString::from_vec(name.to_vec()));
            let path: PathBuf = path.components().collect();
            let below = path.strip_prefix(&self.root).ok()?;
            Some(below.as_os_str().as_encoded_bytes().to_vec())
        });
        below.filter(|path| !path.is_empty()).collect()
    }

    /// What the person is told at the start of a session in this project.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }
}

fn directory(path: &Path) -> Result<PathBuf, ProjectFault> {
    let unusable = |source| ProjectFault::Unusable { path: path.to_owned(), source };
    let real = path.canonicalize().map_err(unusable)?;
    if !real.is_dir() {
        return Err(unusable(io::Error::from(io::ErrorKind::NotADirectory)));
    }
    Ok(real)
}

/// The top of the working tree. Trusts another owner where the person's git does.
fn top_level(git: &mut Git, start: &Path) -> Result<PathBuf, ProjectFault> {
    match ask_path(git, start, "--show-toplevel") {
        Err(ProjectFault::NotOwned { path }) => {
            git.trusted = person::trusted_directories(git);
            if git.trusted.is_empty() {
                return Err(ProjectFault::NotOwned { path });
            }
            ask_path(git, start, "--show-toplevel")
        }
        answer => answer,
    }
}

fn ask_path(git: &Git, directory: &Path, question: &str) -> Result<PathBuf, ProjectFault> {
    let answer = git::line(ask(git, directory, &["rev-parse", question])?);
    Ok(PathBuf::from(OsString::from_vec(answer)))
}

fn ask(git: &Git, directory: &Path, args: &[&str]) -> Result<Vec<u8>, ProjectFault> {
    let path = || directory.to_owned();
    git.look(directory, args).map_err(|fault| match fault {
        GitFault::Start(source) => ProjectFault::NoGit { source },
        GitFault::Failed(failure) => {
            let says = |words: &str| failure.error.contains(words);
            if says("dubious ownership") {
                ProjectFault::NotOwned { path: path() }
            } else if says("not a git repository") {
                ProjectFault::NotGit { path: path() }
            } else if says("cannot use bare repository") || says("must be run in a work tree") {
                ProjectFault::NoWorkingTree { path: path() }
            } else {
                ProjectFault::Git { path: path(), said: failure.said() }
            }
        }
    })
}

fn check_format(root: &Path, facts: &Facts) -> Result<(), ProjectFault> {
    let refuse = |what, cure| Err(ProjectFault::Format { path: root.to_owned(), what, cure });
    let hash = facts.last("extensions.objectformat");
    if hash.is_some_and(|hash| !hash.eq_ignore_ascii_case(b"sha1")) {
        return refuse("names its objects by SHA-256", "use a repository with SHA-1 objects");
    }
    if facts.is_partial() {
        return refuse(
            "is a partial clone",
            "fetch all objects with `git fetch --refetch --no-filter` and remove \
             `remote.<name>.promisor` and `remote.<name>.partialclonefilter` with `git config --unset`",
        );
    }
    Ok(())
}

fn notices(facts: &Facts, common_dir: &Path) -> Vec<Notice> {
    let mut notices = Vec::new();
    if facts.is_on("core.sparsecheckout") {
        notices.push(Notice::SparseCheckout);
    }
    if common_dir.join("shallow").is_file() {
        notices.push(Notice::Shallow);
    }
    notices
}

/// One thing about a project or workspace that the person is told.
///
/// `Display` gives the sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Notice {
    /// Only part of the project is checked out; the session gets all of it.
    #[error(
        "this is a sparse checkout: the session works with the whole committed tree, \
         and paths outside of the checkout can change"
    )]
    SparseCheckout,

    /// Files that Git LFS keeps elsewhere.
    #[error("{count} files are Git LFS pointers: the session sees the pointers, not the content")]
    LfsPointers {
        /// How many.
        count: u64,
    },

    /// Submodules are empty directories in the workspace.
    #[error("{count} submodules are empty directories in the session")]
    Submodules {
        /// How many.
        count: u64,
    },

    /// What no tool may read is in git's objects, which no cover reaches.
    #[error(
        "`deny_read` covers {} that git tracks: the content can still be read from git's objects, \
         as `git show` does; `.tracked = .refuse` in the row refuses a session then",
        listed(paths)
    )]
    TrackedDenied {
        /// The paths, at least one.
        paths: Vec<PathBuf>,
    },

    /// A path that no tool may read cannot be covered, and cannot be there either.
    #[error(
        "`deny_read` names `{}`, but `{}` is a file: what a session makes there is its own",
        .path.display(), .file.display()
    )]
    NeverThere {
        /// The path.
        path: PathBuf,
        /// The file that stands in its way.
        file: PathBuf,
    },

    /// The session has an ignored path of the project.
    #[error("bound: `{}` of the project is in the session, {how}", .name.display())]
    Bound {
        /// The path.
        name: PathBuf,
        /// In which way.
        how: &'static str,
    },

    /// Sockets, FIFOs and devices stayed outside.
    #[error("{count} sockets, FIFOs or devices were left out of the copies of bound paths")]
    SpecialLeftOut {
        /// How many.
        count: u64,
    },

    /// The repository's objects are not, or not all, beneath the project.
    #[error("git's objects are also those of {}: the session can read all of them", listed(paths))]
    ObjectsElsewhere {
        /// Their directories, at least one.
        paths: Vec<PathBuf>,
    },

    /// There is no git.
    #[error(
        "this is no git repository: the session has a copy of the directory as it was at the \
         start{}",
        left_out_words(*left_out)
    )]
    Directory {
        /// How many files are not in it.
        left_out: u64,
    },

    /// The history ends early.
    #[error("this is a shallow clone: the session sees as much of the history as you do")]
    Shallow,
}

/// Says how many files of a directory are not in a session.
fn left_out_words(count: u64) -> String {
    let files = match count {
        0 => return String::new(),
        1 => "1 file that is".to_owned(),
        count => format!("{count} files that are"),
    };
    format!(", without {files} special, unreadable, over 1 GiB or changing")
}

/// The first of some paths, and how many more there are.
fn listed(paths: &[PathBuf]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<_> =
        paths.iter().take(SHOWN).map(|path| format!("`{}`", path.display())).collect();
    match paths.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Why a directory cannot be a project. One clear sentence each.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectFault {
    /// There is no git program.
    #[error("cannot start `git`: install git, or put it on PATH")]
    NoGit {
        /// What the system said.
        source: io::Error,
    },

    /// The directory is not there, or is not a directory.
    #[error("cannot use `{}` as a project", .path.display())]
    Unusable {
        /// What was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// Git knows no repository where a `.git` is.
    #[error(
        "git knows no repository in `{}`, though a `.git` is there; repair it, or move it away \
         to work without git", .path.display()
    )]
    NotGit {
        /// Where the search started.
        path: PathBuf,
    },

    /// The repository has no working tree.
    #[error(
        "`{}` is in a bare repository or a git directory; \
         make a working tree with `git worktree add` and start there", .path.display()
    )]
    NoWorkingTree {
        /// Where the search started.
        path: PathBuf,
    },

    /// The repository says that its working tree is somewhere else.
    #[error(
        "the repository of `{}` says that its working tree is `{}`; if that is the project, \
         start there", .path.display(), .root.display()
    )]
    Elsewhere {
        /// Where the search started.
        path: PathBuf,
        /// What the repository names.
        root: PathBuf,
    },

    /// Git does not trust the owner of the repository.
    #[error(
        "git says that `{}` belongs to somebody else; if you trust it, \
         run `git config --global --add safe.directory` with that path", .path.display()
    )]
    NotOwned {
        /// Where the search started.
        path: PathBuf,
    },

    /// The top of the working tree is a directory that is never a project.
    #[error("`{}` cannot be a project: {why}; start in a project directory", .path.display())]
    Forbidden {
        /// The top of the working tree.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },

    /// The project and one of Chock's own directories lie in one another.
    #[error(
        "`{}` cannot be a project: Chock keeps its own files in `{}`; \
         move one of the two", .path.display(), .own.display()
    )]
    Own {
        /// The top of the working tree.
        path: PathBuf,
        /// Chock's directory.
        own: PathBuf,
    },

    /// The repository is in a format that Chock does not read.
    #[error("`{}` {what}, which Chock does not read yet; {cure}", .path.display())]
    Format {
        /// The top of the working tree.
        path: PathBuf,
        /// The format.
        what: &'static str,
        /// What the person can do.
        cure: &'static str,
    },

    /// Git answered something else than expected.
    #[error("git cannot read the repository of `{}`: {said}", .path.display())]
    Git {
        /// Where git ran.
        path: PathBuf,
        /// The last line that git wrote, with odd characters replaced.
        said: String,
    },
}
