//! What is kept from every tool: the rules' rows, and the paths they come to.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet};

use crate::WorkspaceFault;

/// The most paths that are covered. Each is a mount of every call.
pub const COVERED_MAX: usize = 1024;

/// One row of what is kept from every tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoverRow {
    /// Which paths.
    pub path: CoverPath,
    /// What happens when git tracks one of them.
    pub tracked: WhenTracked,
}

/// Which paths below the project's top a row is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoverPath {
    /// One path, whether anything is there or not, with everything beneath it.
    Name {
        /// The path, relative to the top.
        path: PathBuf,
        /// What the cover looks like while nothing is there.
        kind: Kind,
    },
    /// What is there at the start and matches, with everything beneath it.
    Pattern {
        /// Matched against whole paths, relative to the top.
        glob: Glob,
        /// Whether files are passed by.
        directories_only: bool,
    },
}

/// A file or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Anything but a directory.
    File,
    /// A directory.
    Directory,
}

/// What happens when git tracks a path that is kept from every tool.
///
/// Its content is in git's objects then, where no cover reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenTracked {
    /// The person is told.
    Announce,
    /// There is no session.
    Refuse,
}

/// One path that the cage covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Covered {
    /// The path, relative to the top, with no link in it.
    pub path: PathBuf,
    /// What the cover looks like where nothing is there.
    pub kind: Kind,
    /// The index of the row that it comes from.
    pub row: usize,
}

impl CoverRow {
    /// Keeps one path from every tool, and announces it when git tracks it.
    #[must_use]
    pub fn name(path: impl Into<PathBuf>, kind: Kind) -> Self {
        let path = CoverPath::Name { path: path.into(), kind };
        Self { path, tracked: WhenTracked::Announce }
    }
}

/// All rows, ready to be asked about paths.
#[derive(Debug)]
pub(crate) struct Matcher<'a> {
    pub(crate) rows: &'a [CoverRow],
    /// The row of each name; a strict one where there are several.
    named: HashMap<&'a Path, usize>,
    globs: GlobSet,
    /// The row of each glob.
    of_glob: Vec<usize>,
}

impl<'a> Matcher<'a> {
    pub(crate) fn new(rows: &'a [CoverRow]) -> Result<Self, WorkspaceFault> {
        let (mut builder, mut of_glob) = (GlobSet::builder(), Vec::new());
        let mut named: HashMap<&Path, usize> = HashMap::new();
        for (index, row) in rows.iter().enumerate() {
            match &row.path {
                CoverPath::Name { path, .. } => {
                    let known = named.entry(path).or_insert(index);
                    if rank(rows, index) < rank(rows, *known) {
                        *known = index;
                    }
                }
                CoverPath::Pattern { glob, .. } => {
                    builder.add(glob.clone());
                    of_glob.push(index);
                }
            }
        }
        let too_large = |fault: globset::Error| WorkspaceFault::Rules { what: fault.to_string() };
        Ok(Self { rows, named, globs: builder.build().map_err(too_large)?, of_glob })
    }

    pub(crate) fn has_patterns(&self) -> bool {
        !self.of_glob.is_empty()
    }

    /// The row that `path` itself falls under; a strict one first.
    pub(crate) fn row(&self, path: &Path, kind: Kind) -> Option<usize> {
        let named = self.named.get(path).copied();
        if self.of_glob.is_empty() {
            return named;
        }
        let fits = |index: &usize| match &self.rows[*index].path {
            CoverPath::Pattern { directories_only: true, .. } => kind == Kind::Directory,
            CoverPath::Pattern { .. } | CoverPath::Name { .. } => true,
        };
        let globs = self.globs.matches(path).into_iter().map(|glob| self.of_glob[glob]);
        named.into_iter().chain(globs.filter(fits)).min_by_key(|index| rank(self.rows, *index))
    }

    /// The row that `path`, or a directory above it, falls under.
    pub(crate) fn row_at_or_above(&self, path: &Path, kind: Kind) -> Option<usize> {
        let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        self.row(path, kind)
            .or_else(|| above.into_iter().find_map(|at| self.row(at, Kind::Directory)))
    }

    /// The paths that rows name one by one.
    pub(crate) fn names(&self) -> impl Iterator<Item = (usize, &Path, Kind)> {
        self.rows.iter().enumerate().filter_map(|(index, row)| match &row.path {
            CoverPath::Name { path, kind } => Some((index, path.as_path(), *kind)),
            CoverPath::Pattern { .. } => None,
        })
    }
}

/// A strict row comes first, then the one that is written first.
fn rank(rows: &[CoverRow], index: usize) -> (bool, usize) {
    (rows[index].tracked != WhenTracked::Refuse, index)
}

/// Adds a path, unless a cover lies over it already.
pub(crate) fn add(covered: &mut Vec<Covered>, found: Covered) -> Result<(), WorkspaceFault> {
    if covered.iter().any(|cover| found.path.starts_with(&cover.path)) {
        return Ok(());
    }
    covered.retain(|cover| !cover.path.starts_with(&found.path));
    if covered.len() == COVERED_MAX {
        let path = found.path.display();
        let what = format!(
            "the patterns of `deny_read` match more than {COVERED_MAX} paths, `{path}` among them; \
             name the directories above them"
        );
        return Err(WorkspaceFault::Rules { what });
    }
    covered.push(found);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_path_is_covered_once_and_none_is_lost(
            paths in prop::collection::vec("[ab](/[ab]){0,4}", 0..40),
        ) {
            let mut covered = Vec::new();
            for path in &paths {
                let found = Covered { path: path.into(), kind: Kind::File, row: 0 };
                add(&mut covered, found).expect("few paths");
            }
            for path in &paths {
                let over = covered.iter().filter(|cover| Path::new(path).starts_with(&cover.path));
                prop_assert_eq!(over.count(), 1, "{} {:?}", path, covered);
            }
            let is_given = |cover: &Covered| paths.iter().any(|path| cover.path == Path::new(path));
            prop_assert!(covered.iter().all(is_given));
        }
    }
}
