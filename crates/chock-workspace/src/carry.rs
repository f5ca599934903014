//! Says of each change whether it can be carried to the project.

use std::collections::{BTreeMap, BTreeSet};

use git2::{Oid, Repository, Tree};

use crate::keep::{LINK, SUBMODULE};
use crate::{ChangeSet, FileChange, Flag, Project, TreeId, names};

/// The largest `.gitattributes` that git reads: 100 MiB. A larger one counts as naming programs.
const ATTRIBUTES_BYTES_MAX: usize = 100 << 20;

/// Flags every change of `files`, which lead to `snapshot`.
pub(crate) fn judge(
    repository: &Repository,
    snapshot: TreeId,
    files: &mut [FileChange],
) -> Result<(), git2::Error> {
    let mut judge = Judge { repository, trees: BTreeMap::new() };
    for file in files {
        for flag in judge.flags(snapshot.0, file)? {
            file.flag(flag);
        }
    }
    Ok(())
}

impl ChangeSet {
    /// Flags what is in a directory of hooks that the project's configuration names.
    pub fn flag_hooks(&mut self, project: &Project) {
        let directories = project.hook_directories();
        let is_below = |path: &[u8], directory: &[u8]| {
            let rest = path.strip_prefix(directory);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        for file in &mut self.files {
            let mut paths = [Some(&file.path), file.old_path.as_ref()].into_iter().flatten();
            let is_meant =
                paths.any(|path| directories.iter().any(|directory| is_below(path, directory)));
            drop(paths);
            if is_meant {
                file.flag(Flag::Hooks);
            }
        }
    }
}

/// What is known of one directory of the newer tree.
#[derive(Debug, Default)]
struct Directory {
    /// Folded names that more than one entry has.
    shared: BTreeSet<String>,
    looks_bare: bool,
}

struct Judge<'a> {
    repository: &'a Repository,
    trees: BTreeMap<Oid, Directory>,
}

impl Judge<'_> {
    fn flags(&mut self, snapshot: Oid, file: &FileChange) -> Result<Vec<Flag>, git2::Error> {
        let mut flags = names::flags(&file.path);
        if let Some(old_path) = &file.old_path {
            flags.extend(names::flags(old_path));
        }
        if file.old_mode == SUBMODULE || file.new_mode == SUBMODULE {
            flags.push(Flag::Submodule);
        }
        if names::is_attributes(&file.path) && self.names_program(file)? {
            flags.push(Flag::GitSettings);
        }
        if file.new_mode == LINK {
            let target = self.repository.find_blob(Oid::from_str(&file.new_id)?)?;
            if names::leaves_tree(&file.path, target.content()) {
                flags.push(Flag::LeavesTree);
            }
        }
        if file.new_mode != 0 {
            let is_new = file.old_mode == 0 || file.old_path.is_some();
            let found = self.surroundings(snapshot, &file.path)?;
            flags.extend(found.into_iter().filter(|flag| is_new || *flag != Flag::FoldsTogether));
        }
        Ok(flags)
    }

    /// What the directories of the newer tree above `path` say of it.
    fn surroundings(&mut self, snapshot: Oid, path: &[u8]) -> Result<Vec<Flag>, git2::Error> {
        let mut flags = Vec::new();
        let mut id = snapshot;
        for name in path.split(|byte| *byte == b'/') {
            let tree = self.repository.find_tree(id)?;
            let directory = self.trees.entry(id).or_insert_with(|| Directory::of(&tree));
            if directory.looks_bare {
                flags.push(Flag::BareRepository);
            }
            if directory.shared.contains(&names::folded(name)) {
                flags.push(Flag::FoldsTogether);
            }
            match tree.get_name_bytes(name) {
                Some(entry) => id = entry.id(),
                None => break,
            }
        }
        Ok(flags)
    }

    fn names_program(&self, file: &FileChange) -> Result<bool, git2::Error> {
        let sides = [(file.old_mode, &file.old_id), (file.new_mode, &file.new_id)];
        for (mode, id) in sides {
            if mode == 0 || mode == SUBMODULE {
                continue;
            }
            let blob = self.repository.find_blob(Oid::from_str(id)?)?;
            if blob.size() > ATTRIBUTES_BYTES_MAX || names::names_program(blob.content()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Directory {
    fn of(tree: &Tree<'_>) -> Self {
        let mut seen = BTreeSet::new();
        let mut directory = Self::default();
        for entry in tree {
            let name = names::folded(entry.name_bytes());
            if !seen.insert(name.clone()) {
                directory.shared.insert(name);
            }
        }
        directory.looks_bare = BARE.iter().all(|name| seen.contains(*name));
        directory
    }
}

/// What git looks for in a directory to take it for a repository.
pub(crate) const BARE: [&str; 3] = ["head", "objects", "refs"];
