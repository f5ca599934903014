//! Finds the files of a tree, inside the cell, as ripgrep does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobBuilder, GlobMatcher};
use ignore::{WalkBuilder, WalkState};

use crate::answer::{Operation, Trouble};
use crate::desk::Place;
use crate::file::{self, trouble};

/// The most threads of a walk; more gain nothing, as ripgrep found.
const THREADS_MAX: usize = 12;

/// Which paths are wanted.
#[derive(Debug)]
pub(crate) enum Wanted {
    All,
    Matching(GlobMatcher),
    NotMatching(GlobMatcher),
}

impl Wanted {
    /// Reads the pattern of the `glob` tool, which is matched against the path below the start:
    /// `*` stays within one name and `**/` stands for any directories.
    pub(crate) fn path(pattern: &str) -> Result<Self, String> {
        Ok(Self::Matching(glob(pattern)?.compile_matcher()))
    }

    /// Reads the filter of the `grep` tool: a pattern without a slash is matched against names,
    /// and a `!` before it turns it around.
    pub(crate) fn filter(pattern: &str) -> Result<Self, String> {
        let (pattern, wanted) = match pattern.strip_prefix('!') {
            Some(rest) => (rest, false),
            None => (pattern, true),
        };
        let anywhere =
            if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
        let matcher = glob(&anywhere)?.compile_matcher();
        Ok(if wanted { Self::Matching(matcher) } else { Self::NotMatching(matcher) })
    }

    fn takes(&self, path: &Path) -> bool {
        match self {
            Self::All => true,
            Self::Matching(glob) => glob.is_match(path),
            Self::NotMatching(glob) => !glob.is_match(path),
        }
    }
}

fn glob(pattern: &str) -> Result<Glob, String> {
    let pattern = pattern.trim_start_matches("./");
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(|fault| format!("not a pattern of paths: {fault}"))
}

/// What a walk stops at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Everything that has a name and is not a directory.
    Names,
    /// Regular files.
    Files,
}

/// Visits every wanted file below a place, from several threads; each has a visitor of its own,
/// which gets the path to open and the path to show.
///
/// Ignored files and `.git` are passed by, and links are not followed, but for the place itself.
pub(crate) fn walk<V>(
    place: &Place,
    wanted: &Wanted,
    kind: Kind,
    visitor: impl Fn() -> V + Sync,
) -> Result<(), Trouble>
where
    V: FnMut(&Path, &str) + Send,
{
    let start = Path::new(&place.open);
    let fault = |error| trouble(place, Operation::Read, &error);
    if !std::fs::metadata(start).map_err(fault)?.is_dir() {
        let (_, metadata) = file::open(place)?;
        let name = start.file_name().map(PathBuf::from).unwrap_or_default();
        if metadata.is_file() && wanted.takes(&name) {
            visitor()(start, &place.open);
        }
        return Ok(());
    }
    // A directory that cannot be read is told apart from an empty one.
    std::fs::read_dir(start).map_err(fault)?;
    builder(start).build_parallel().run(|| {
        let mut visit = visitor();
        Box::new(move |entry| {
            let Ok(entry) = entry else { return WalkState::Continue };
            let found = entry.file_type();
            if found.is_none_or(|found| found.is_dir() || (kind == Kind::Files && !found.is_file()))
            {
                return WalkState::Continue;
            }
            let below = below(start, entry.path());
            if wanted.takes(below) {
                visit(entry.path(), &display(&place.open, below));
            }
            WalkState::Continue
        })
    });
    Ok(())
}

fn builder(start: &Path) -> WalkBuilder {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // A slash at its end makes a link that leads to a directory one itself.
    let mut builder = WalkBuilder::new(start.join(""));
    builder
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git")
        .threads(threads.min(THREADS_MAX));
    builder
}

fn below<'path>(start: &Path, path: &'path Path) -> &'path Path {
    path.strip_prefix(start).unwrap_or(path)
}

/// Spells a path so that another call can name it.
fn display(start: &str, below: &Path) -> String {
    let path = if start == "." { below.to_owned() } else { Path::new(start).join(below) };
    path.to_string_lossy().into_owned()
}

/// What was found, by path: the first in order are kept, the rest are counted.
#[derive(Debug)]
pub(crate) struct Found<T> {
    kept: BTreeMap<String, (usize, T)>,
    lines: usize,
    lines_max: usize,
    /// How many were found in all.
    pub(crate) total: u64,
}

impl<T> Found<T> {
    /// Keeps at least the first `lines_max` lines, and never more than one piece beyond them.
    pub(crate) fn new(lines_max: usize) -> Self {
        Self { kept: BTreeMap::new(), lines: 0, lines_max, total: 0 }
    }

    /// Adds what was found at a path, which takes some lines to show.
    pub(crate) fn add(&mut self, path: &str, lines: usize, found: T) {
        self.total += 1;
        self.lines += lines;
        self.kept.insert(path.to_owned(), (lines, found));
        while let Some(last) = self.kept.last_entry() {
            let lines = last.get().0;
            if self.lines - lines < self.lines_max {
                break;
            }
            self.lines -= lines;
            last.remove();
        }
    }

    /// Takes out what was kept, by path.
    pub(crate) fn into_kept(self) -> impl Iterator<Item = (String, T)> {
        self.kept.into_iter().map(|(path, (_, found))| (path, found))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::Mutex;

    use super::*;

    #[test]
    fn the_first_in_order_are_kept_whatever_the_order_they_come_in() {
        let names: Vec<_> = (0..100).map(|number| format!("{number:03}")).collect();
        for step in [1, 3, 7, 99] {
            let mut found = Found::new(10);
            for index in 0..100 {
                found.add(&names[index * step % 100], 1, ());
                assert!(found.kept.len() <= 10);
            }
            assert_eq!(found.total, 100);
            let kept: Vec<_> = found.into_kept().map(|(path, ())| path).collect();
            assert_eq!(kept, names[..10], "{step}");
        }
        let mut found = Found::new(10);
        for (path, lines) in [("b", 9), ("a", 9), ("c", 9)] {
            found.add(path, lines, ());
        }
        assert_eq!(found.into_kept().count(), 2);
    }

    #[test]
    fn patterns_are_paths_and_filters_are_names() {
        // (pattern, path, as a path, as a filter)
        let cases = [
            ("*.rs", "a.rs", true, true),
            ("*.rs", "src/a.rs", false, true),
            ("**/*.rs", "src/deep/a.rs", true, true),
            ("**/*.rs", "a.rs", true, true),
            ("src/**", "src/a/b", true, true),
            ("src/*", "src/a/b", false, false),
            ("./src/*.rs", "src/a.rs", true, true),
            ("*.{ts,tsx}", "a.tsx", true, true),
            ("a?c", "abc", true, true),
            ("a?c", "a/c", false, false),
            ("[ab].c", "b.c", true, true),
            (r"\*.c", "*.c", true, true),
            (r"\*.c", "a.c", false, false),
            ("!*.rs", "a.rs", false, false),
            ("!*.rs", "a.c", false, true),
        ];
        for (pattern, path, as_path, as_filter) in cases {
            let takes = |wanted: Wanted| wanted.takes(Path::new(path));
            assert_eq!(takes(Wanted::path(pattern).unwrap()), as_path, "{pattern} {path}");
            assert_eq!(takes(Wanted::filter(pattern).unwrap()), as_filter, "{pattern} {path}");
        }
        assert!(Wanted::path("a{b").unwrap_err().contains("not a pattern"));
    }

    fn seen(directory: &Path, open: &str, kind: Kind) -> Vec<String> {
        let open = directory.join(open).to_str().unwrap().to_owned();
        let place = Place { open, key: "k".into(), inside: true };
        let names = Mutex::new(Vec::new());
        walk(&place, &Wanted::All, kind, || {
            |_: &Path, shown: &str| names.lock().unwrap().push(shown.to_owned())
        })
        .unwrap();
        let mut names: Vec<_> = names
            .into_inner()
            .unwrap()
            .into_iter()
            .map(|name| name.replace(&format!("{}/", directory.display()), ""))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn ignored_files_and_git_are_passed_by_and_hidden_ones_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in [".git", "d/.git", "d/e", "target", "d/target"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        let files = [
            (".gitignore", "/target\n*.log\n!keep.log\n"),
            (".git/config", ""),
            ("d/.git/config", ""),
            ("d/.gitignore", "secret\n"),
            ("d/secret", ""),
            ("d/e/f", ""),
            ("d/target/g", ""),
            ("target/h", ""),
            ("a.log", ""),
            ("keep.log", ""),
            (".hidden", ""),
        ];
        for (name, contents) in files {
            std::fs::write(at(name), contents).unwrap();
        }
        std::os::unix::fs::symlink("d", at("link")).unwrap();
        let all =
            [".gitignore", ".hidden", "d/.gitignore", "d/e/f", "d/target/g", "keep.log", "link"];
        assert_eq!(seen(directory.path(), "", Kind::Names), all);
        assert_eq!(seen(directory.path(), "", Kind::Files), all[..6]);
        assert_eq!(seen(directory.path(), "d/e", Kind::Files), ["d/e/f"]);
        let linked = ["link/.gitignore", "link/e/f", "link/target/g"];
        assert_eq!(seen(directory.path(), "link", Kind::Files), linked);
        // Named by itself, an ignored file is meant.
        assert_eq!(seen(directory.path(), "a.log", Kind::Files), ["a.log"]);
        assert_eq!(seen(directory.path(), "target", Kind::Files), ["target/h"]);
    }
}
