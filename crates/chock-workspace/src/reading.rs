//! Reads single files out of a kept tree.

use git2::{ObjectType, Oid, Repository, Tree};

use crate::keep::LINK;
use crate::{Store, StoreFault, TreeId};

/// How many links are followed from one path, as the kernel follows.
const LINKS_MAX: usize = 40;

/// How many trees are looked into for names.
const TREES_MAX: usize = 50_000;

/// What stands at a path of a kept tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeFile {
    /// A file with this content.
    Content(Vec<u8>),
    /// A file of more bytes than were wanted.
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
    },
    /// Nothing, or something that is no file.
    Missing,
    /// A link that leads out of the tree, or nowhere.
    Outside,
}

impl Store {
    /// Reads the file at `path` of `tree`, if it has at most `bytes_max` bytes.
    ///
    /// Links are followed within the tree and nowhere else.
    ///
    /// # Errors
    ///
    /// [`StoreFault`] when the store or the tree cannot be read.
    pub fn file(&self, tree: TreeId, path: &str, bytes_max: u64) -> Result<TreeFile, StoreFault> {
        let repository = self.repository()?;
        let read = || file(&repository, tree.0, path, bytes_max);
        read().map_err(|source| StoreFault::Compare { base: tree, snapshot: tree, source })
    }

    /// Lists the names in the directory at `path` of `tree`, in the order of the tree, at most
    /// `most`; nothing where there is no directory. Names that are no UTF-8 are passed by.
    ///
    /// Links are followed within the tree and nowhere else.
    ///
    /// # Errors
    ///
    /// [`StoreFault`] when the store or the tree cannot be read.
    pub fn names(
        &self,
        tree: TreeId,
        path: &str,
        most: usize,
    ) -> Result<Option<Vec<String>>, StoreFault> {
        let repository = self.repository()?;
        let read = || names(&repository, tree.0, path, most);
        read().map_err(|source| StoreFault::Compare { base: tree, snapshot: tree, source })
    }

    /// Lists the paths of `tree` whose last part is one of `names`, in the order of the tree, at
    /// most `most`. Paths that are no UTF-8 are passed by.
    ///
    /// # Errors
    ///
    /// [`StoreFault`] when the store or the tree cannot be read.
    pub fn named(
        &self,
        tree: TreeId,
        names: &[&str],
        most: usize,
    ) -> Result<Vec<String>, StoreFault> {
        let repository = self.repository()?;
        let mut search = Search { repository: &repository, names, most, trees: 0, found: vec![] };
        search.enter(tree.0, "").map_err(|source| StoreFault::Compare {
            base: tree,
            snapshot: tree,
            source,
        })?;
        Ok(search.found)
    }
}

/// What a path leads to.
enum Place {
    Blob(Oid),
    Tree(Oid),
    Missing,
    Outside,
}

fn file(
    repository: &Repository,
    tree: Oid,
    path: &str,
    bytes_max: u64,
) -> Result<TreeFile, git2::Error> {
    let id = match find(repository, tree, path)? {
        Place::Blob(id) => id,
        Place::Tree(_) | Place::Missing => return Ok(TreeFile::Missing),
        Place::Outside => return Ok(TreeFile::Outside),
    };
    let (length, _) = repository.odb()?.read_header(id)?;
    let bytes = length as u64;
    if bytes > bytes_max {
        return Ok(TreeFile::TooLarge { bytes });
    }
    Ok(TreeFile::Content(repository.find_blob(id)?.content().to_vec()))
}

fn names(
    repository: &Repository,
    tree: Oid,
    path: &str,
    most: usize,
) -> Result<Option<Vec<String>>, git2::Error> {
    let Place::Tree(id) = find(repository, tree, path)? else { return Ok(None) };
    let tree = repository.find_tree(id)?;
    let names = tree.iter().filter_map(|entry| entry.name().ok().map(str::to_owned));
    Ok(Some(names.take(most).collect()))
}

fn find(repository: &Repository, tree: Oid, path: &str) -> Result<Place, git2::Error> {
    let root = repository.find_tree(tree)?;
    // What is left to walk, last part first.
    let mut left: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
    let mut at: Vec<Tree<'_>> = vec![root];
    let mut links = 0;
    while let Some(part) = left.pop() {
        match part.as_str() {
            "" | "." => continue,
            ".." if at.len() == 1 => return Ok(Place::Outside),
            ".." => {
                at.pop();
                continue;
            }
            _ => {}
        }
        let here = at.last().expect("invariant: the root is never popped");
        let found = here.get_name(&part).map(|entry| (entry.kind(), entry.id(), entry.filemode()));
        let Some((kind, id, mode)) = found else { return Ok(Place::Missing) };
        let mode = u32::try_from(mode).unwrap_or_default();
        match kind {
            Some(ObjectType::Tree) => at.push(repository.find_tree(id)?),
            Some(ObjectType::Blob) if mode == LINK => {
                links += 1;
                let blob = repository.find_blob(id)?;
                let Ok(target) = std::str::from_utf8(blob.content()) else {
                    return Ok(Place::Outside);
                };
                if links > LINKS_MAX || target.is_empty() || target.starts_with('/') {
                    return Ok(Place::Outside);
                }
                left.extend(target.split('/').rev().map(str::to_owned));
            }
            Some(ObjectType::Blob) if left.iter().all(|part| part.is_empty() || part == ".") => {
                return Ok(Place::Blob(id));
            }
            _ => return Ok(Place::Missing),
        }
    }
    Ok(at.pop().map_or(Place::Missing, |tree| Place::Tree(tree.id())))
}

struct Search<'a> {
    repository: &'a Repository,
    names: &'a [&'a str],
    most: usize,
    trees: usize,
    found: Vec<String>,
}

impl Search<'_> {
    fn enter(&mut self, tree: Oid, above: &str) -> Result<(), git2::Error> {
        self.trees += 1;
        let tree = self.repository.find_tree(tree)?;
        for entry in &tree {
            if self.found.len() >= self.most || self.trees > TREES_MAX {
                return Ok(());
            }
            let Ok(name) = entry.name() else { continue };
            match entry.kind() {
                Some(ObjectType::Tree) => self.enter(entry.id(), &format!("{above}{name}/"))?,
                Some(ObjectType::Blob) if self.names.contains(&name) => {
                    self.found.push(format!("{above}{name}"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
