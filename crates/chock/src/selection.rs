//! What a person takes and declines of a session's changes, in words of paths and hunks.

use std::collections::{BTreeMap, BTreeSet};

use chock_workspace::{Carriage, ChangeSet, Choice, FileChange, HunkId, Named};
use serde::{Deserialize, Serialize};

use crate::report::PathText;
use crate::visible::visible_line;

/// The word that stands for a new mode where a hunk's id would.
pub(crate) const MODE: &str = "mode";

/// What a person takes and declines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Selection {
    /// The snapshot that was looked at; the newest when absent.
    #[serde(default)]
    pub(crate) snapshot: Option<String>,
    /// Everything that needs no accept of its own.
    #[serde(default)]
    pub(crate) all: bool,
    /// `<path>` or `<path>:<hunk>`, or a directory.
    #[serde(default)]
    pub(crate) accept: Vec<PathText>,
    /// The same, and why.
    #[serde(default)]
    pub(crate) reject: Vec<(PathText, String)>,
}

/// What a selection comes to for one change set.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) choice: Choice,
    /// Paths that were accepted by their own name.
    pub(crate) named: Named,
    pub(crate) declined: Vec<Declined>,
    /// What the selection did not take for its flags.
    pub(crate) left_out: Vec<LeftOut>,
}

/// A file that was not taken by `--all` or a directory, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) path: Vec<u8>,
    pub(crate) words: &'static str,
    pub(crate) carriage: Carriage,
}

/// One file, or some of its hunks, that was declined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declined {
    pub(crate) path: Vec<u8>,
    /// Absent for the whole file.
    pub(crate) hunks: Option<Vec<String>>,
    pub(crate) because: String,
}

/// What one word means.
enum Target {
    File(usize),
    Hunk(usize, HunkId),
    Mode(usize),
    /// Everything below a directory.
    Below(Vec<usize>),
    /// A hunk that is in the project already.
    Taken,
}

/// What is wanted of one file.
#[derive(Debug, Clone, Default)]
struct Wish {
    whole: bool,
    mode: bool,
    hunks: BTreeSet<HunkId>,
    declined: Option<String>,
    declined_mode: Option<String>,
    declined_hunks: BTreeMap<HunkId, String>,
}

impl Selection {
    /// Whether nothing is taken and nothing declined.
    pub(crate) fn is_empty(&self) -> bool {
        !self.all && self.accept.is_empty() && self.reject.is_empty()
    }

    /// Finds what each word means. Hunks of `changes` are split where a word names a piece.
    ///
    /// `from_start` are the same changes as `chock diff` tells them, whose ids count as well.
    pub(crate) fn resolve(
        &self,
        changes: &mut ChangeSet,
        from_start: Option<&ChangeSet>,
    ) -> Result<Decided, String> {
        let mut wishes = vec![Wish::default(); changes.files.len()];
        let mut decided = Decided::default();
        let mut by_wildcard = BTreeSet::new();
        if self.all {
            by_wildcard.extend(0..changes.files.len());
        }
        for word in &self.accept {
            match target(&word.0, changes, from_start)? {
                Target::File(at) => {
                    wishes[at].whole = true;
                    decided.named.insert(changes.files[at].path.clone());
                }
                Target::Hunk(at, hunk) => {
                    wishes[at].hunks.insert(hunk);
                    decided.named.insert(changes.files[at].path.clone());
                }
                Target::Mode(at) => {
                    wishes[at].mode = true;
                    decided.named.insert(changes.files[at].path.clone());
                }
                Target::Below(all) => by_wildcard.extend(all),
                Target::Taken => {}
            }
        }
        self.decline(changes, from_start, &mut wishes)?;
        for (file, wish) in changes.files.iter().zip(&wishes) {
            if wish.contradicts_itself() {
                let path = visible_line(&String::from_utf8_lossy(&file.path));
                return Err(format!("`{path}` is both accepted and rejected; say one of them"));
            }
        }
        for at in by_wildcard {
            let file = &changes.files[at];
            if file.carriage() == Carriage::Plain {
                wishes[at].whole = true;
            } else if wishes[at].declined.is_none() && !decided.named.contains(&file.path) {
                let strictest = file.flags.iter().max_by_key(|flag| flag.carriage());
                let words = strictest.map_or("", |flag| flag.words());
                let (path, carriage) = (file.path.clone(), file.carriage());
                decided.left_out.push(LeftOut { path, words, carriage });
            }
        }
        for (file, wish) in changes.files.iter().zip(&wishes) {
            wish.settle(file, &mut decided);
        }
        Ok(decided)
    }

    /// Notes what is declined.
    fn decline(
        &self,
        changes: &mut ChangeSet,
        from_start: Option<&ChangeSet>,
        wishes: &mut [Wish],
    ) -> Result<(), String> {
        for (word, because) in &self.reject {
            match target(&word.0, changes, from_start)? {
                Target::File(at) => {
                    wishes[at].declined = Some(because.clone());
                }
                Target::Mode(at) if changes.files[at].has_parts() => {
                    wishes[at].declined_mode = Some(because.clone());
                }
                Target::Mode(at) => wishes[at].declined = Some(because.clone()),
                Target::Hunk(at, hunk) => {
                    wishes[at].declined_hunks.insert(hunk, because.clone());
                }
                Target::Below(all) => {
                    for at in all {
                        wishes[at].declined = Some(because.clone());
                    }
                }
                Target::Taken => {
                    let word = String::from_utf8_lossy(&word.0);
                    return Err(format!(
                        "`{}` is in the project already; chock undo takes it back",
                        visible_line(&word)
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Wish {
    /// Whether the same thing is taken and declined, each by its name.
    fn contradicts_itself(&self) -> bool {
        let takes = self.whole || self.mode || !self.hunks.is_empty();
        (self.declined.is_some() && takes)
            || (self.declined_mode.is_some() && self.mode)
            || self.declined_hunks.keys().any(|hunk| self.hunks.contains(hunk))
    }

    /// Adds what is wanted of `file` to what was decided.
    fn settle(&self, file: &FileChange, decided: &mut Decided) {
        let path = file.path.as_slice();
        if let Some(because) = &self.declined {
            let because = because.clone();
            decided.declined.push(Declined { path: path.to_vec(), hunks: None, because });
            return;
        }
        if let Some(because) = &self.declined_mode {
            let (hunks, because) = (Some(vec![MODE.to_owned()]), because.clone());
            decided.declined.push(Declined { path: path.to_vec(), hunks, because });
        }
        for (hunk, because) in &self.declined_hunks {
            let (hunks, because) = (Some(vec![hunk.to_string()]), because.clone());
            decided.declined.push(Declined { path: path.to_vec(), hunks, because });
        }
        let declined = |hunk: &HunkId| self.declined_hunks.contains_key(hunk);
        let changes_mode = file.old_mode != file.new_mode;
        let all: BTreeSet<_> = file.hunks.iter().map(|hunk| hunk.id.clone()).collect();
        let hunks = if self.whole { &all } else { &self.hunks };
        let hunks: Vec<_> = hunks.iter().filter(|hunk| !declined(hunk)).collect();
        if !file.has_parts() {
            let wanted = self.whole || self.mode || !hunks.is_empty();
            if wanted && self.declined_hunks.is_empty() {
                decided.choice.take_file(path);
            }
            return;
        }
        let mode = (self.whole || self.mode) && self.declined_mode.is_none();
        if hunks.len() == all.len() && (mode || !changes_mode) {
            return decided.choice.take_file(path);
        }
        for hunk in hunks {
            decided.choice.take_hunk(path, hunk);
        }
        if mode && changes_mode {
            decided.choice.take_mode(path);
        }
    }
}

/// Finds what `word` means: a path, a path and a hunk, or a directory.
fn target(
    word: &[u8],
    changes: &mut ChangeSet,
    from_start: Option<&ChangeSet>,
) -> Result<Target, String> {
    if word.is_empty() || word.starts_with(b"/") {
        let word = visible_line(&String::from_utf8_lossy(word));
        return Err(format!("`{word}` is no path of the project; `.` is everything in it"));
    }
    let word = if word == b"./" { b"." } else { word.strip_prefix(b"./").unwrap_or(word) };
    let find =
        |changes: &ChangeSet, path: &[u8]| changes.files.iter().position(|file| file.path == path);
    if let Some(at) = find(changes, word) {
        return Ok(Target::File(at));
    }
    let directory = word.strip_suffix(b"/").unwrap_or(word);
    let directory = if directory == b"." { &b""[..] } else { directory };
    let below: Vec<_> = changes
        .files
        .iter()
        .enumerate()
        .filter(|(_, file)| is_below(&file.path, directory))
        .map(|(at, _)| at)
        .collect();
    if !below.is_empty() {
        return Ok(Target::Below(below));
    }
    if let Some(colon) = word.iter().rposition(|byte| *byte == b':') {
        let (path, name) = (&word[..colon], String::from_utf8_lossy(&word[colon + 1..]));
        let old = from_start.and_then(|old| Some(&old.files[find(old, path)?]));
        if let Some(at) = find(changes, path) {
            return hunk(at, &name, changes, old);
        }
        if old.is_some_and(|old| old.hunks.iter().any(|hunk| hunk.id.as_str() == name)) {
            return Ok(Target::Taken);
        }
    }
    if from_start.is_some_and(|old| find(old, word).is_some()) {
        return Ok(Target::Taken);
    }
    let word = String::from_utf8_lossy(word);
    Err(format!("`{}` is not among the changes; chock review lists them", visible_line(&word)))
}

fn is_below(path: &[u8], directory: &[u8]) -> bool {
    directory.is_empty() || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with(b"/"))
}

/// Finds a hunk of a file by its id, the id of a piece of it, or the one `chock diff` shows.
fn hunk(
    at: usize,
    name: &str,
    changes: &mut ChangeSet,
    old: Option<&FileChange>,
) -> Result<Target, String> {
    let file = &mut changes.files[at];
    if name == MODE && file.old_mode != file.new_mode {
        return Ok(Target::Mode(at));
    }
    if let Some(hunk) = file.hunks.iter().find(|hunk| hunk.id.as_str() == name) {
        return Ok(Target::Hunk(at, hunk.id.clone()));
    }
    let mut pieces = file.clone();
    let ids: Vec<_> = file.hunks.iter().map(|hunk| hunk.id.clone()).collect();
    for id in ids {
        pieces.split(&id);
        let piece = pieces.hunks.iter().find(|piece| piece.id.as_str() == name);
        if let Some(piece) = piece.map(|piece| piece.id.clone()) {
            file.split(&id);
            return Ok(Target::Hunk(at, piece));
        }
    }
    if let Some(old) = old.and_then(|old| old.hunks.iter().find(|hunk| hunk.id.as_str() == name)) {
        let same = file.hunks.iter().find(|hunk| hunk.lines == old.lines);
        return Ok(same.map_or(Target::Taken, |hunk| Target::Hunk(at, hunk.id.clone())));
    }
    let path = String::from_utf8_lossy(&file.path);
    Err(format!(
        "`{}` has no change `{}`; chock review --json lists them",
        visible_line(&path),
        visible_line(name)
    ))
}
