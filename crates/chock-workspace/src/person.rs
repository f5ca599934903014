//! What the person's own git configuration says.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::facts::Facts;
use crate::git::{Git, GitFault};

/// The person, as git knows them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Person {
    /// `user.name`.
    pub(crate) name: Option<Vec<u8>>,
    /// `user.email`.
    pub(crate) email: Option<Vec<u8>>,
    /// The file of patterns that the person ignores everywhere.
    pub(crate) excludes: Option<PathBuf>,
}

/// Reads what git in `project` would use as the person's name and patterns.
pub(crate) fn read(git: &Git, project: &Path) -> Result<Person, GitFault> {
    let keys = r"^(user\.name|user\.email|core\.excludesfile)$";
    let facts = get(git, project, &["-z", "--get-regexp", keys])?;
    let excludes = match facts.last("core.excludesfile") {
        Some(path) => expand(path, git.home.as_deref()),
        None => default_excludes(git),
    };
    let text = |key| facts.last(key).map(<[u8]>::to_vec);
    Ok(Person { name: text("user.name"), email: text("user.email"), excludes })
}

/// The repositories of other owners that the person trusts, and none on any fault.
pub(crate) fn trusted_directories(git: &Git) -> Vec<OsString> {
    let facts = get(git, Path::new("/"), &["-z", "--get-regexp", r"^safe\.directory$"]);
    let facts = facts.unwrap_or_default();
    facts.all("safe.directory").map(|path| OsString::from_vec(path.to_vec())).collect()
}

/// Status 1 means that no key matched.
pub(crate) fn get(git: &Git, directory: &Path, args: &[&str]) -> Result<Facts, GitFault> {
    match git.personal(directory, args) {
        Ok(answer) => Ok(Facts::parse(&answer)),
        Err(GitFault::Failed(failure)) if failure.status == Some(1) => Ok(Facts::default()),
        Err(fault) => Err(fault),
    }
}

fn expand(path: &[u8], home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix(b"~/") {
        Some(rest) => Some(home?.join(OsStr::from_bytes(rest))),
        None => Some(PathBuf::from(OsStr::from_bytes(path))),
    }
}

fn default_excludes(git: &Git) -> Option<PathBuf> {
    let config = match &git.config_home {
        Some(config_home) => config_home.clone(),
        None => git.home.as_ref()?.join(".config"),
    };
    Some(config.join("git/ignore"))
}
