//! Follows the links of a tree by name, without touching a file.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use git2::{Repository, Tree};

use crate::keep::LINK;

/// The most links that are followed, as in Linux.
const LINKS_MAX: usize = 40;

/// Where the links of a path lead: a path below the top without a link in it.
///
/// `None` when they leave the tree, go round, or lead to the top itself. What the tree
/// does not have is taken as it is written. An absolute link below `root`, where the tree
/// is shown, stays in the tree.
pub(crate) fn resolve(
    repository: &Repository,
    tree: &Tree<'_>,
    root: &Path,
    path: &Path,
) -> Result<Option<PathBuf>, git2::Error> {
    let mut left: VecDeque<OsString> = path.iter().map(OsStr::to_owned).collect();
    let (mut at, mut links) = (PathBuf::new(), 0);
    while let Some(name) = left.pop_front() {
        match Path::new(&name).components().next() {
            Some(Component::Normal(_)) => {}
            Some(Component::ParentDir) if at.pop() => continue,
            Some(Component::CurDir) | None => continue,
            Some(Component::ParentDir | Component::RootDir | Component::Prefix(_)) => {
                return Ok(None);
            }
        }
        at.push(&name);
        let Some(target) = link(repository, tree, &at)? else { continue };
        links += 1;
        at.pop();
        let target = if target.is_absolute() {
            let Ok(below) = target.strip_prefix(root) else { return Ok(None) };
            at = PathBuf::new();
            below.to_owned()
        } else {
            target
        };
        if links > LINKS_MAX {
            return Ok(None);
        }
        for name in target.iter().rev() {
            left.push_front(name.to_owned());
        }
    }
    Ok(Some(at).filter(|at| !at.as_os_str().is_empty()))
}

/// What a link of the tree points to.
fn link(
    repository: &Repository,
    tree: &Tree<'_>,
    path: &Path,
) -> Result<Option<PathBuf>, git2::Error> {
    let entry = match tree.get_path(path) {
        Ok(entry) => entry,
        Err(fault) if fault.code() == git2::ErrorCode::NotFound => return Ok(None),
        Err(fault) => return Err(fault),
    };
    if u32::try_from(entry.filemode()) != Ok(LINK) {
        return Ok(None);
    }
    let blob = repository.find_blob(entry.id())?;
    Ok(Some(PathBuf::from(OsStr::from_bytes(blob.content()))))
}
