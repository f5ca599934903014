//! Which paths git tracks, in the commit that a session starts from or in the project's index.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use crate::git::Own;
use crate::{Project, WorkspaceFault, dirty};

/// The paths of a project's index.
#[derive(Debug)]
pub(crate) struct Tracked {
    /// Sorted by their bytes.
    index: Vec<Vec<u8>>,
}

impl Tracked {
    /// Reads the index of `project`. `store` is a git directory of Chock's own.
    pub(crate) fn read(project: &Project, store: &Path) -> Result<Self, WorkspaceFault> {
        if !project.is_git() {
            return Ok(Self { index: Vec::new() });
        }
        dirty::link_shared_index(project.git_dir(), store)?;
        let index = project.git_dir().join("index");
        let own = Own { git_dir: store, work_tree: project.root(), index: &index };
        let args = ["ls-files", "-z", "--cached", "--full-name"].map(OsStr::new);
        let answer = project.git.own(&own, &args, None).map_err(|fault| WorkspaceFault::Git {
            what: "list the files it tracks",
            said: fault.said(),
        })?;
        let rows = answer.split(|byte| *byte == 0).filter(|row| !row.is_empty());
        let mut index: Vec<_> = rows.map(<[u8]>::to_vec).collect();
        index.sort_unstable();
        Ok(Self { index })
    }

    /// The paths of the index.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.index.iter().map(|row| Path::new(OsStr::from_bytes(row)))
    }

    /// A tracked path that is `path` or lies beneath it.
    pub(crate) fn at_or_below(
        &self,
        repository: &Repository,
        tree: Oid,
        path: &Path,
    ) -> Result<Option<PathBuf>, git2::Error> {
        let name = path.as_os_str().as_bytes();
        let below = [name, b"/"].concat();
        if self.index.binary_search_by(|row| row.as_slice().cmp(name)).is_ok() {
            return Ok(Some(path.to_owned()));
        }
        let next = self.index.partition_point(|row| row.as_slice() < below.as_slice());
        if let Some(row) = self.index.get(next).filter(|row| row.starts_with(&below)) {
            return Ok(Some(OsStr::from_bytes(row).into()));
        }
        match repository.find_tree(tree)?.get_path(path) {
            Ok(_) => Ok(Some(path.to_owned())),
            Err(fault) if fault.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(fault) => Err(fault),
        }
    }
}
