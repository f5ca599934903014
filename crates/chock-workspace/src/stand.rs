//! Where a project stands: its branch, the commit on it, and whether something may land there.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use crate::git::{self, GitFault};
use crate::person::{self, Person};
use crate::{HandBackFault, Parked, Project, refs};

/// Files and directories of a git directory that say that something is under way.
const UNFINISHED: [&str; 8] = [
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "index.lock",
];

/// Who writes in a project's logs of refs where git knows nobody.
const NOBODY: (&str, &str) = ("Chock", "session@chock.invalid");

/// The project's branch at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stand {
    /// The whole name of the branch that HEAD is on, such as `refs/heads/main`.
    pub branch: Option<String>,
    /// The commit that HEAD names, in 40 hexadecimal digits.
    pub commit: Option<String>,
    /// Why nothing can land here now. Files are not looked at.
    pub parked: Option<Parked>,
}

impl Stand {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// [`HandBackFault::Git`].
    pub fn of(project: &Project) -> Result<Self, HandBackFault> {
        let refs = refs::read(project).map_err(|source| HandBackFault::Place { source })?;
        let name = refs.head.strip_prefix(b"ref: ");
        let branch = name.and_then(|name| String::from_utf8(name.to_vec()).ok());
        let parked = if name.is_none() {
            Some(Parked::DetachedHead)
        } else if refs.commit.is_none() {
            Some(Parked::BranchHasNoCommit)
        } else if is_unfinished(project.git_dir()) {
            Some(Parked::UnfinishedOperation)
        } else if branch.is_none() || project.facts.is_on("core.sparsecheckout") {
            Some(Parked::GitRefused)
        } else {
            None
        };
        Ok(Self { branch, commit: refs.commit, parked })
    }
}

/// Whether a merge, a rebase or the like is under way in this git directory.
pub(crate) fn is_unfinished(git_dir: &Path) -> bool {
    UNFINISHED.iter().any(|name| git_dir.join(name).symlink_metadata().is_ok())
}

/// The branch that HEAD is on, as git names it.
pub(crate) fn branch(project: &Project) -> Result<Vec<u8>, GitFault> {
    project.git.look(project.root(), &["symbolic-ref", "--quiet", "HEAD"]).map(git::line)
}

/// What a ref names, in hexadecimal digits. `None` where there is none.
pub(crate) fn value(project: &Project, name: &str) -> Result<Option<String>, HandBackFault> {
    let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", name];
    match project.git.look(project.root(), &args) {
        Ok(id) => Ok(Some(String::from_utf8_lossy(&git::line(id)).into_owned())),
        Err(GitFault::Failed(failure)) if failure.status == Some(1) => Ok(None),
        Err(fault) => Err(HandBackFault::Git { what: "read a ref", said: fault.said() }),
    }
}

/// Whether git knows the person's name and address.
pub(crate) fn is_known(project: &Project) -> bool {
    let Person { name, email, .. } = person::read(&project.git, project.root()).unwrap_or_default();
    let is_there = |value: Option<Vec<u8>>| value.is_some_and(|value| !value.is_empty());
    is_there(name) && is_there(email)
}

/// The person's name and address, for commits and logs of refs.
pub(crate) fn identity(project: &Project) -> (OsString, OsString) {
    let Person { name, email, .. } = person::read(&project.git, project.root()).unwrap_or_default();
    let or = |value: Option<Vec<u8>>, nobody: &str| {
        let value = value.filter(|value| !value.is_empty());
        value.map_or_else(|| nobody.into(), OsString::from_vec)
    };
    (or(name, NOBODY.0), or(email, NOBODY.1))
}
