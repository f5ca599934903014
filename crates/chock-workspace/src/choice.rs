//! What of a change set is wanted: whole files, or some of their hunks.

use std::collections::{BTreeMap, BTreeSet};

use crate::{ChangeKind, ChangeSet, FileChange, HunkId};

/// What of a change set is wanted, by path in the newer tree.
///
/// A file that is not named stays as it is in the base.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    files: BTreeMap<Vec<u8>, Take>,
}

/// How much of one file is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Take {
    /// All of it.
    Whole,
    /// Some of a text. A renamed file gets its new name with any part.
    ///
    /// Of what can only be taken whole (new and deleted files, links, submodules,
    /// what is not text) any hunk is everything.
    Parts {
        /// Whether the new mode is wanted.
        mode: bool,
        /// The wanted hunks.
        hunks: BTreeSet<HunkId>,
    },
}

impl Choice {
    /// Chooses every file of `changes`, whole.
    #[must_use]
    pub fn everything(changes: &ChangeSet) -> Self {
        let files = changes.files.iter().map(|file| (file.path.clone(), Take::Whole));
        Self { files: files.collect() }
    }

    /// Chooses a whole file.
    pub fn take_file(&mut self, path: &[u8]) {
        self.files.insert(path.to_vec(), Take::Whole);
    }

    /// Chooses one more hunk of a file, unless the whole file is chosen.
    pub fn take_hunk(&mut self, path: &[u8], hunk: &HunkId) {
        match self.parts(path) {
            Take::Whole => {}
            Take::Parts { hunks, .. } => drop(hunks.insert(hunk.clone())),
        }
    }

    /// Chooses the new mode of a file without its text.
    pub fn take_mode(&mut self, path: &[u8]) {
        match self.parts(path) {
            Take::Whole => {}
            Take::Parts { mode, .. } => *mode = true,
        }
    }

    /// Takes a file out of the choice.
    pub fn leave(&mut self, path: &[u8]) {
        self.files.remove(path);
    }

    /// How much of a file is chosen, if anything.
    #[must_use]
    pub fn of(&self, path: &[u8]) -> Option<&Take> {
        self.files.get(path)
    }

    /// Whether nothing is chosen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The chosen paths, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.files.keys().map(Vec::as_slice)
    }

    fn parts(&mut self, path: &[u8]) -> &mut Take {
        let nothing = || Take::Parts { mode: false, hunks: BTreeSet::new() };
        self.files.entry(path.to_vec()).or_insert_with(nothing)
    }
}

impl FileChange {
    /// Whether hunks of the file can be taken one by one.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        match self.kind {
            ChangeKind::Modified | ChangeKind::Renamed => !self.binary && !self.hunks.is_empty(),
            ChangeKind::Added
            | ChangeKind::Deleted
            | ChangeKind::Mode
            | ChangeKind::Symlink
            | ChangeKind::Submodule => false,
        }
    }

    /// What `take` leaves of this change: nothing, all of it, or its chosen parts.
    pub(crate) fn taken(&self, take: &Take) -> Option<Self> {
        let Take::Parts { mode, hunks } = take else { return Some(self.clone()) };
        let wanted = |id: &HunkId| hunks.contains(id);
        if !self.has_parts() {
            let by_mode = *mode && self.kind == ChangeKind::Mode;
            let by_hunk = self.hunks.iter().any(|hunk| wanted(&hunk.id));
            return (by_mode || by_hunk).then(|| self.clone());
        }
        let mut part = self.clone();
        part.hunks.retain(|hunk| wanted(&hunk.id));
        let changes_mode = *mode && self.old_mode != self.new_mode;
        if part.hunks.is_empty() && !changes_mode {
            return None;
        }
        if !mode {
            part.new_mode = part.old_mode;
        }
        part.renumber();
        Some(part)
    }

    /// Moves the hunks to where they are in the new text without their neighbours.
    fn renumber(&mut self) {
        let mut grown = 0_i64;
        for hunk in &mut self.hunks {
            let place = hunk.old_position() + grown;
            let start = if hunk.new_lines == 0 { place } else { place + 1 };
            hunk.new_start = u32::try_from(start).unwrap_or(0);
            grown += i64::from(hunk.new_lines) - i64::from(hunk.old_lines);
        }
    }
}
