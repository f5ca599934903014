//! Which untracked paths the project's patterns leave out.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::{Odb, Oid};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The largest `.gitignore` that is read. A larger one counts as empty.
pub(crate) const PATTERNS_BYTES_MAX: u64 = 1 << 20;

/// Where the patterns of one directory are.
#[derive(Debug)]
pub(crate) enum Source {
    /// There are none.
    None,
    /// They were read from the workspace.
    Bytes(Vec<u8>),
    /// They are in the base, not read yet.
    Base(Oid),
}

/// The patterns that are in force at one place of the walk.
#[derive(Debug)]
pub(crate) struct Ignored {
    everywhere: Gitignore,
    levels: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    /// How many bytes of a path lead to this directory, the last `/` included.
    prefix: usize,
    source: Source,
    patterns: Option<Gitignore>,
}

impl Ignored {
    /// Starts at the top, with the patterns that hold everywhere.
    pub(crate) fn new(exclude: &[u8]) -> Self {
        Self { everywhere: patterns(exclude), levels: Vec::new() }
    }

    /// Enters the directory whose path, with a `/` at its end, has `prefix` bytes.
    pub(crate) fn enter(&mut self, prefix: usize, source: Source) {
        self.levels.push(Level { prefix, source, patterns: None });
    }

    /// Leaves the directory entered last.
    pub(crate) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Whether `path`, relative to the top, is ignored. The deepest pattern wins.
    ///
    /// The directories above it are not asked: whoever walks has not entered an
    /// ignored one.
    pub(crate) fn covers(&mut self, odb: &Odb<'_>, path: &[u8], is_dir: bool) -> bool {
        for level in self.levels.iter_mut().rev() {
            let below = Path::new(OsStr::from_bytes(&path[level.prefix..]));
            match level.patterns(odb).matched(below, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        self.everywhere.matched(Path::new(OsStr::from_bytes(path)), is_dir).is_ignore()
    }
}

impl Level {
    fn patterns(&mut self, odb: &Odb<'_>) -> &Gitignore {
        let source = &self.source;
        self.patterns.get_or_insert_with(|| match source {
            Source::None => Gitignore::empty(),
            Source::Bytes(text) => patterns(text),
            Source::Base(id) => match odb.read_header(*id) {
                Ok((length, _)) if length as u64 <= PATTERNS_BYTES_MAX => {
                    odb.read(*id).map_or_else(|_| Gitignore::empty(), |blob| patterns(blob.data()))
                }
                Ok(_) | Err(_) => Gitignore::empty(),
            },
        })
    }
}

/// A line that is no pattern matches nothing, as in git.
fn patterns(text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(".");
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Ok(line) = std::str::from_utf8(line) {
            let _no_pattern = builder.add_line(None, line);
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests {
    use super::{Ignored, Source};

    #[test]
    fn the_deepest_pattern_wins() {
        let mut ignored = Ignored::new(b"*.log\n");
        let odb = git2::Odb::new().expect("an empty store");
        ignored.enter(0, Source::Bytes(b"/build\n*.tmp\n".to_vec()));
        ignored.enter(4, Source::Bytes(b"!keep.log\n".to_vec()));
        let cases = [
            ("sub/a.log", false, true),
            ("sub/keep.log", false, false),
            ("sub/build", true, false),
            ("sub/.x.tmp", false, true),
            ("sub/plain", false, false),
        ];
        for (path, is_dir, expected) in cases {
            assert_eq!(ignored.covers(&odb, path.as_bytes(), is_dir), expected, "{path}");
        }
        ignored.leave();
        assert!(ignored.covers(&odb, b"build", true));
    }
}
