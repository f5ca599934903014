//! Stores of objects outside of a project that its git directory names.
//!
//! A git directory inside of a project is whoever's who made the project: an archive, or a copy of
//! a tree, can bring one along that names the objects of any other repository of the person.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Project, WorkspaceFault, files, git, objects};

/// The longest path that a file of git's names.
const LINE_BYTES_MAX: u64 = 64 << 10;

impl Project {
    /// Lists the stores of objects outside of the project that a session in it would read, and
    /// that its own git directory names. Those of a repository that knows this project as its
    /// working tree or as its submodule are none.
    ///
    /// # Errors
    ///
    /// [`WorkspaceFault`]: what is named cannot be read, or is no store.
    pub fn strange_objects(&self) -> Result<Vec<PathBuf>, WorkspaceFault> {
        if !self.is_git() {
            return Ok(Vec::new());
        }
        let common = self.common_dir();
        let real = common.canonicalize().map_err(files::fault("find", common))?;
        if !real.starts_with(self.root()) && self.is_known_outside() {
            return Ok(Vec::new());
        }
        let mut stores = objects::directories(&common.join("objects"))?;
        stores.retain(|store| !store.starts_with(self.root()));
        Ok(stores)
    }

    /// Whether the git directory lies outside of the project and says that this is its working tree.
    fn is_known_outside(&self) -> bool {
        let Ok(directory) = self.git_dir().canonicalize() else { return false };
        if directory.starts_with(self.root()) {
            return false;
        }
        self.is_linked_worktree(&directory) || self.is_submodule(&directory)
    }

    /// A linked worktree's directory has the path of the `.git` file of its working tree.
    fn is_linked_worktree(&self, directory: &Path) -> bool {
        let Ok(line) = files::read_within(directory, "gitdir", LINE_BYTES_MAX) else {
            return false;
        };
        let named = directory.join(path(git::line(line)));
        is_same(&named, &self.root().join(".git"))
    }

    /// A submodule's directory has the path of its working tree in its configuration.
    fn is_submodule(&self, directory: &Path) -> bool {
        let named = self.worktree_of_its_configuration();
        named.is_some_and(|named| is_same(&directory.join(path(named)), self.root()))
    }
}

fn path(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}
