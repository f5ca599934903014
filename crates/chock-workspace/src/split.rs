//! Splits a hunk where lines that nobody changed lie between.

use crate::compare::hunk_id;
use crate::{FileChange, Hunk, HunkId, Line, LineTag};

impl FileChange {
    /// Replaces a hunk by its pieces, each with an id of its own. False when it has one
    /// piece only, or is not there.
    pub fn split(&mut self, id: &HunkId) -> bool {
        let Some(at) = self.hunks.iter().position(|hunk| hunk.id == *id) else { return false };
        let pieces = pieces(&self.path, &self.hunks[at]);
        if pieces.len() < 2 {
            return false;
        }
        self.hunks.splice(at..=at, pieces);
        true
    }
}

/// The lines between two changes go to the one before, but for the last, which introduces
/// the next one.
fn pieces(path: &[u8], hunk: &Hunk) -> Vec<Hunk> {
    let mut groups: Vec<Vec<Line>> = Vec::new();
    let mut current: Vec<Line> = Vec::new();
    let mut has_change = false;
    let mut between = 0;
    for line in &hunk.lines {
        let is_change = line.tag != LineTag::Context;
        if is_change && has_change && between > 0 {
            let lead = current.split_off(current.len() - usize::from(between > 1));
            groups.push(std::mem::replace(&mut current, lead));
        }
        between = if is_change { 0 } else { between + 1 };
        has_change |= is_change;
        current.push(line.clone());
    }
    groups.push(current);
    let mut old = hunk.old_position();
    let mut new = i64::from(hunk.new_start) - i64::from(hunk.new_lines > 0);
    groups
        .into_iter()
        .map(|lines| {
            let piece = piece(path, lines, (old, new));
            old += i64::from(piece.old_lines);
            new += i64::from(piece.new_lines);
            piece
        })
        .collect()
}

fn piece(path: &[u8], lines: Vec<Line>, (old, new): (i64, i64)) -> Hunk {
    let count = |tag| lines.iter().filter(|line| line.tag != tag).count();
    let (old_lines, new_lines) = (count(LineTag::Added), count(LineTag::Removed));
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    let start = |before: i64, lines: usize| {
        u32::try_from(before + i64::from(lines > 0)).unwrap_or(u32::MAX)
    };
    let (old_start, new_start) = (start(old, old_lines), start(new, new_lines));
    let (old_lines, new_lines) = (number(old_lines), number(new_lines));
    let id = hunk_id(path, old_start, old_lines, &lines);
    Hunk { id, old_start, old_lines, new_start, new_lines, lines }
}
