//! What differs between two trees: files, modes, links and their hunks.

use std::fmt;

use crate::notes::Notes;
use crate::{Flag, Skipped, TreeId};

/// The difference of two trees, by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSet {
    /// The tree that the changes start from.
    pub base: TreeId,
    /// The tree that the changes lead to.
    pub snapshot: TreeId,
    /// One entry a changed file, sorted by path.
    pub files: Vec<FileChange>,
    /// What the snapshot left out, ignored files apart.
    pub skipped: Vec<Skipped>,
}

impl ChangeSet {
    /// Counts files and lines, as `git diff --shortstat` does.
    #[must_use]
    pub fn stat(&self) -> Stat {
        let files = self.files.len() as u64;
        let (added, removed) = self.files.iter().fold((0, 0), |(added, removed), file| {
            (added + file.added_lines(), removed + file.removed_lines())
        });
        Stat { files, added, removed }
    }

    /// Adds what was noted beside the newer tree.
    pub(crate) fn annotate(&mut self, notes: Notes) {
        self.skipped = notes.skipped;
        for (path, flag) in notes.flags {
            for file in &mut self.files {
                let below = || file.path.strip_prefix(path.as_slice())?.strip_prefix(b"/");
                let is_meant = match flag {
                    Flag::Setuid => file.path == path,
                    Flag::NestedRepository => below().is_some(),
                    // Every other flag is told by the names and the trees.
                    Flag::LeavesTree
                    | Flag::GitName
                    | Flag::BareRepository
                    | Flag::FoldsTogether
                    | Flag::OddName
                    | Flag::Submodule
                    | Flag::Rules
                    | Flag::Instructions
                    | Flag::Environment
                    | Flag::Editor
                    | Flag::Tools
                    | Flag::GitSettings
                    | Flag::Hooks => false,
                };
                if is_meant {
                    file.flag(flag);
                }
            }
        }
    }
}

/// How much a change set changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// How many files.
    pub files: u64,
    /// How many lines are new, over all text files.
    pub added: u64,
    /// How many lines are gone, over all text files.
    pub removed: u64,
}

/// What happened to one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The path in the newer tree, or the path that was deleted. Bytes, with `/`.
    pub path: Vec<u8>,
    /// Where a renamed file was before.
    pub old_path: Option<Vec<u8>>,
    /// What kind of change it is.
    pub kind: ChangeKind,
    /// The mode as git writes it, such as `0o100644`. Zero when added.
    pub old_mode: u32,
    /// The mode as git writes it. Zero when deleted.
    pub new_mode: u32,
    /// The object id of the old content, 40 hexadecimal digits, zeros when added.
    pub old_id: String,
    /// The object id of the new content, 40 hexadecimal digits, zeros when deleted.
    pub new_id: String,
    /// Whether the content is not text, or over the limit of what is compared.
    pub binary: bool,
    /// What wants a second look, sorted.
    pub flags: Vec<Flag>,
    /// The changed places of a text. Empty for binary, mode only and empty files.
    pub hunks: Vec<Hunk>,
}

impl FileChange {
    /// How many lines are new.
    #[must_use]
    pub fn added_lines(&self) -> u64 {
        self.count(LineTag::Added)
    }

    /// How many lines are gone.
    #[must_use]
    pub fn removed_lines(&self) -> u64 {
        self.count(LineTag::Removed)
    }

    fn count(&self, tag: LineTag) -> u64 {
        let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.filter(|line| line.tag == tag).count() as u64
    }
}

/// What happened to one path, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChangeKind {
    /// The path is new.
    Added,
    /// The content changed, and perhaps the mode.
    Modified,
    /// The path is gone.
    Deleted,
    /// The file moved, and perhaps changed.
    Renamed,
    /// Only the mode changed.
    Mode,
    /// A symbolic link changed its target, became a file, or was one.
    Symlink,
    /// A submodule points somewhere else.
    Submodule,
}

/// One changed place of a text, with its surroundings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The name of this hunk.
    pub id: HunkId,
    /// The first line in the old text, counted from 1; 0 when it has none.
    pub old_start: u32,
    /// How many lines of the old text it covers.
    pub old_lines: u32,
    /// The first line in the new text, counted from 1; 0 when it has none.
    pub new_start: u32,
    /// How many lines of the new text it covers.
    pub new_lines: u32,
    /// Its lines, in order.
    pub lines: Vec<Line>,
}

/// Names one hunk by its file, its place in the old text and its lines.
///
/// Twelve hexadecimal digits. It stays the same while other hunks of the file
/// come and go.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct HunkId(pub(crate) String);

impl HunkId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HunkId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Which text has it.
    pub tag: LineTag,
    /// Its bytes, with the line feed at its end when the file has one there.
    pub bytes: Vec<u8>,
}

/// Which of the two texts has a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineTag {
    /// Both.
    Context,
    /// Only the old one.
    Removed,
    /// Only the new one.
    Added,
}
