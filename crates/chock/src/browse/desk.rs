//! What lies before a person: the changes, what was said to each, and where they look.

use std::collections::BTreeMap;

use chock_workspace::{Carriage, FileChange, Hunk, HunkId};

use crate::report::PathText;
use crate::selection::{MODE, Selection};

/// What a person said to a change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Mark {
    /// Nothing: it stays for a later review.
    #[default]
    Left,
    Taken,
    /// With a reason, which may be empty.
    Declined(String),
}

/// What is marked on its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// A file that has no parts.
    Whole,
    Mode,
    Hunk(HunkId),
    /// A file that is never carried.
    Never,
}

/// One thing to say something about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) file: usize,
    pub(super) part: Part,
}

/// How many columns a step to the side is.
const SHIFT: usize = 8;

#[derive(Debug)]
pub(super) struct Desk {
    pub(super) files: Vec<FileChange>,
    pub(super) entries: Vec<Entry>,
    marks: BTreeMap<Entry, Mark>,
    /// The entry that is looked at.
    pub(super) at: usize,
    /// The first line that is drawn of the file.
    pub(super) top: usize,
    /// The first column.
    pub(super) left: usize,
    /// How many lines of the file can be seen; known when it was drawn.
    pub(super) page: usize,
}

impl Desk {
    pub(super) fn new(files: Vec<FileChange>) -> Self {
        let entries = entries(&files);
        Self { files, entries, marks: BTreeMap::new(), at: 0, top: 0, left: 0, page: 1 }
    }

    /// Returns the entry that is looked at; there is one when there are files.
    pub(super) fn entry(&self) -> Option<&Entry> {
        self.entries.get(self.at)
    }

    pub(super) fn file(&self) -> Option<&FileChange> {
        self.files.get(self.entry()?.file)
    }

    pub(super) fn mark_of(&self, entry: &Entry) -> &Mark {
        self.marks.get(entry).unwrap_or(&Mark::Left)
    }

    /// Says whether the entry that is looked at can be taken or declined.
    pub(super) fn can_mark(&self) -> bool {
        self.entry().is_some_and(|entry| entry.part != Part::Never)
    }

    pub(super) fn mark(&mut self, mark: Mark) {
        if let Some(entry) = self.entry().filter(|entry| entry.part != Part::Never) {
            self.marks.insert(entry.clone(), mark);
        }
    }

    /// Marks, and goes on to the next.
    pub(super) fn answer(&mut self, mark: Mark) {
        self.mark(mark);
        self.forward();
    }

    /// Marks this and the rest of its file, and goes on to the next file.
    pub(super) fn answer_rest(&mut self, mark: &Mark) {
        let Some(file) = self.entry().map(|entry| entry.file) else { return };
        while self.entry().is_some_and(|entry| entry.file == file) {
            self.mark(mark.clone());
            if self.at + 1 == self.entries.len() {
                return;
            }
            self.at += 1;
        }
        self.look();
    }

    /// Takes back what was said to this.
    pub(super) fn unmark(&mut self) {
        self.mark(Mark::Left);
    }

    /// Splits a change where unchanged lines lie between. What is one stays one.
    pub(super) fn split(&mut self) {
        let Some(Entry { file, part: Part::Hunk(hunk) }) = self.entry().cloned() else { return };
        if self.files[file].split(&hunk) {
            self.entries = entries(&self.files);
            self.look();
        }
    }

    pub(super) fn forward(&mut self) {
        self.go(self.at.saturating_add(1));
    }

    pub(super) fn back(&mut self) {
        self.go(self.at.saturating_sub(1));
    }

    pub(super) fn next_file(&mut self) {
        let file = self.entry().map(|entry| entry.file);
        let next = self.entries.iter().position(|entry| Some(entry.file) > file);
        self.go(next.unwrap_or(self.at));
    }

    pub(super) fn previous_file(&mut self) {
        let Some(file) = self.entry().map(|entry| entry.file) else { return };
        let wanted = file.saturating_sub(1);
        let first = self.entries.iter().position(|entry| entry.file == wanted);
        self.go(first.unwrap_or(0));
    }

    fn go(&mut self, to: usize) {
        self.at = to.min(self.entries.len().saturating_sub(1));
        self.look();
    }

    /// Looks at the entry from its first line.
    fn look(&mut self) {
        self.left = 0;
        self.top = self.entry().map_or(0, |entry| self.line_of(entry));
    }

    /// Returns the line at which an entry begins among the lines of its file.
    fn line_of(&self, entry: &Entry) -> usize {
        let Part::Hunk(wanted) = &entry.part else { return 0 };
        let hunks = &self.files[entry.file].hunks;
        hunks.iter().take_while(|hunk| hunk.id != *wanted).map(height).sum()
    }

    /// Returns how many lines the hunks of the file are.
    pub(super) fn height(&self) -> usize {
        self.file().map_or(0, |file| file.hunks.iter().map(height).sum())
    }

    pub(super) fn scroll_down(&mut self) {
        let last = self.height().saturating_sub(self.page);
        self.top = (self.top + self.page.saturating_sub(1).max(1)).min(last.max(self.top));
    }

    pub(super) fn scroll_up(&mut self) {
        self.top = self.top.saturating_sub(self.page.saturating_sub(1).max(1));
    }

    pub(super) fn shift_right(&mut self) {
        self.left = self.left.saturating_add(SHIFT);
    }

    pub(super) fn shift_left(&mut self) {
        self.left = self.left.saturating_sub(SHIFT);
    }

    /// Counts what was said: taken, declined, and all there is to say something about.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let marked = self.entries.iter().filter(|entry| entry.part != Part::Never);
        marked.fold((0, 0, 0), |(taken, declined, all), entry| match self.mark_of(entry) {
            Mark::Left => (taken, declined, all + 1),
            Mark::Taken => (taken + 1, declined, all + 1),
            Mark::Declined(_) => (taken, declined + 1, all + 1),
        })
    }

    /// Puts what was said into words of paths and hunks.
    pub(super) fn selection(&self) -> Selection {
        let mut selection = Selection::default();
        for entry in &self.entries {
            let path = self.files[entry.file].path.as_slice();
            let name = match &entry.part {
                Part::Whole => PathText(path.to_vec()),
                Part::Mode => PathText([path, b":", MODE.as_bytes()].concat()),
                Part::Hunk(hunk) => PathText([path, b":", hunk.as_str().as_bytes()].concat()),
                Part::Never => continue,
            };
            match self.mark_of(entry) {
                Mark::Left => {}
                Mark::Taken => selection.accept.push(name),
                Mark::Declined(because) => selection.reject.push((name, because.clone())),
            }
        }
        selection
    }
}

/// Returns how many lines a hunk is drawn on: one that names its place, and its own.
pub(super) fn height(hunk: &Hunk) -> usize {
    hunk.lines.len() + 1
}

fn entries(files: &[FileChange]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let mut push = |part| entries.push(Entry { file: number, part });
        if file.carriage() == Carriage::Refused {
            push(Part::Never);
        } else if file.has_parts() {
            if file.old_mode != file.new_mode {
                push(Part::Mode);
            }
            file.hunks.iter().for_each(|hunk| push(Part::Hunk(hunk.id.clone())));
        } else {
            push(Part::Whole);
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use chock_workspace::ChangeKind;

    use super::*;

    fn file(path: &str, (old_mode, new_mode): (u32, u32)) -> FileChange {
        FileChange {
            path: path.into(),
            old_path: None,
            kind: ChangeKind::Added,
            old_mode,
            new_mode,
            old_id: String::new(),
            new_id: "1".repeat(40),
            binary: false,
            flags: Vec::new(),
            hunks: Vec::new(),
        }
    }

    #[test]
    fn what_was_said_is_told_once_and_can_be_taken_back() {
        let mut desk = Desk::new(vec![file("a", (0, 0o100_644)), file("b", (0, 0o100_644))]);
        assert!(desk.selection().is_empty());
        desk.answer(Mark::Taken);
        desk.answer(Mark::Declined("no".to_owned()));
        // At the last one it stays.
        assert_eq!((desk.at, desk.counts()), (1, (1, 1, 2)));
        let selection = desk.selection();
        assert_eq!(selection.accept, [PathText(b"a".to_vec())]);
        assert_eq!(selection.reject, [(PathText(b"b".to_vec()), "no".to_owned())]);
        desk.unmark();
        assert_eq!(desk.counts(), (1, 0, 2));
        desk.previous_file();
        desk.answer_rest(&Mark::Declined(String::new()));
        assert_eq!((desk.at, desk.counts()), (1, (0, 1, 2)));
        desk.next_file();
        assert_eq!(desk.at, 1);
    }

    #[test]
    fn nothing_to_look_at_is_no_fault() {
        let mut desk = Desk::new(Vec::new());
        desk.answer(Mark::Taken);
        desk.answer_rest(&Mark::Taken);
        desk.split();
        desk.next_file();
        desk.previous_file();
        desk.scroll_down();
        assert!(desk.selection().is_empty() && !desk.can_mark());
    }
}
