//! `chock diff`: what a session changed.

use std::path::PathBuf;
use std::str::FromStr;

use chock_config::Flags;
use chock_log::Session;
use chock_workspace::{ChangeKind, ChangeSet, FileChange, Hunk, LineTag, Store, TreeId};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::found;
use crate::handback;
use crate::house;
use crate::program::Program;
use crate::settings::{Consent, Settings};
use crate::terminal::{Terminal, Weight};
use crate::visible::{visible, visible_line};
use crate::word_diff::{self, Piece};

/// Show what a session changed
#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// The session's id or the end of it; the newest if there is none
    session: Option<String>,

    /// Count changed lines by file
    #[arg(long, conflicts_with = "json")]
    stat: bool,

    /// Write a patch for git apply, on a terminal too
    #[arg(long, conflicts_with_all = ["stat", "json", "word"])]
    patch: bool,

    /// Draw only the words that changed: [-gone-] and {+new+}
    #[arg(long, conflicts_with_all = ["stat", "json"])]
    word: bool,

    /// What these turns changed, such as 3, 2..4, 2.. or ..4
    #[arg(long, value_name = "RANGE")]
    turns: Option<Turns>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, value_name = "DIRECTORY")]
    project: Option<PathBuf>,
}

/// Some turns of a session, from the first to the last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turns {
    first: u64,
    last: Option<u64>,
}

impl FromStr for Turns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok().filter(|turn: &u64| *turn > 0);
        let turns = match text.split_once("..") {
            None => number(text).map(|turn| Self { first: turn, last: Some(turn) }),
            Some(("", "")) => None,
            Some(("", last)) => number(last).map(|last| Self { first: 1, last: Some(last) }),
            Some((first, "")) => number(first).map(|first| Self { first, last: None }),
            Some((first, last)) => number(first)
                .zip(number(last))
                .map(|(first, last)| Self { first, last: Some(last) }),
        };
        turns.filter(|turns| turns.last.is_none_or(|last| last >= turns.first)).ok_or_else(|| {
            "it is a turn or a range of turns, such as 3, 2..4, 2.. or ..4".to_owned()
        })
    }
}

impl Turns {
    /// Finds the states of the copy before the first of the turns and after the last.
    fn trees(self, session: &Session, base: TreeId) -> Result<(TreeId, TreeId), Failure> {
        let last = self.last.unwrap_or(session.turns);
        if self.first.max(last) > session.turns {
            return Err(Failure::start(format!(
                "the session has {} turns, counted from 1",
                session.turns
            )));
        }
        let at_the_end_of = |turn: u64| {
            let kept = session.kept.iter().rev().find(|kept| kept.snapshot.turn <= turn);
            let tree = kept.map(|kept| kept.snapshot.tree.parse());
            tree.unwrap_or(Ok(base)).map_err(|fault| Failure::because(&fault))
        };
        Ok((at_the_end_of(self.first - 1)?, at_the_end_of(last)?))
    }
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &DiffArgs,
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let directory = program.places.sessions(project.root());
    let listed = found::session(&directory, args.session.as_deref())?.read()?;
    let id = listed.found.id.to_string();
    handback::recover_beside(terminal, (&directory, &project), |terminal| {
        let settings =
            Settings::read(program, &project, Flags::default(), Consent::Tell, terminal)?;
        Ok(house::open_quiet_log(program, &listed.found, &settings)?.pen)
    });
    let Some((base, snapshot)) = trees(&listed.session)? else {
        if args.json {
            terminal.answer(
                &json!({"session": id, "base": null, "snapshot": null, "files": []}).to_string(),
            )?;
        } else {
            terminal.say(Weight::Quiet, "nothing changed: no turn of this session is complete");
        }
        return Ok(Exit::Finished);
    };
    let (base, snapshot) = match args.turns {
        Some(turns) => turns.trees(&listed.session, base)?,
        None => (base, snapshot),
    };
    let store = Store::open(&listed.found.work()).map_err(|fault| Failure::because(&fault))?;
    let changes = store.changes(base, snapshot).map_err(|fault| Failure::because(&fault))?;
    if args.json {
        terminal.answer(&as_json(&id, &changes)?.to_string())?;
    } else if args.stat {
        write_stat(terminal, &changes)?;
    } else if args.word {
        write_pretty(terminal, &changes, write_words)?;
    } else if terminal.out_is_terminal && !args.patch {
        write_pretty(terminal, &changes, write_lines)?;
    } else {
        store.write_patch(&changes, terminal.out()).map_err(|fault| Failure::because(&fault))?;
    }
    Ok(Exit::Finished)
}

/// Draws the changes of a session that just ran, and says whether there were any.
pub(crate) fn write_session(
    terminal: &mut Terminal,
    found: &found::Found,
    session: &Session,
) -> Result<bool, Failure> {
    let Some((base, snapshot)) = trees(session)? else { return Ok(false) };
    let store = Store::open(&found.work()).map_err(|fault| Failure::because(&fault))?;
    let changes = store.changes(base, snapshot).map_err(|fault| Failure::because(&fault))?;
    write_pretty(terminal, &changes, write_lines)?;
    Ok(!changes.files.is_empty())
}

/// Says in a line what a session changed; nothing when it changed nothing.
pub(crate) fn summary_words(found: &found::Found, session: &Session) -> Option<String> {
    let (base, snapshot) = trees(session).ok().flatten()?;
    if base == snapshot {
        return None;
    }
    let changes = Store::open(&found.work()).ok()?.changes(base, snapshot).ok()?;
    Some(format!("{}: chock diff shows them", total_words(&changes)))
}

/// Finds the two trees in the records: where the session started, and its last snapshot.
fn trees(session: &Session) -> Result<Option<(TreeId, TreeId)>, Failure> {
    let (Some(workspace), Some(snapshot)) = (&session.workspace, &session.snapshot) else {
        return Ok(None);
    };
    let start = workspace.start_tree.as_ref().unwrap_or(&workspace.base_tree);
    let read = |text: &String| text.parse().map_err(|fault| Failure::because(&fault));
    Ok(Some((read(start)?, read(&snapshot.tree)?)))
}

fn as_json(session: &str, changes: &ChangeSet) -> Result<Value, Failure> {
    let mut object = serde_json::to_value(changes)
        .map_err(|fault| Failure::fault(format!("cannot write the changes as JSON: {fault}")))?;
    object["session"] = json!(session);
    Ok(object)
}

fn write_stat(terminal: &mut Terminal, changes: &ChangeSet) -> Result<(), Failure> {
    for file in &changes.files {
        let (more, less) = (file.added_lines(), file.removed_lines());
        let numbers = if file.binary { "binary".to_owned() } else { format!("+{more} -{less}") };
        terminal.answer(&format!("{:<10} {numbers:<12} {}", kind_word(file.kind), name(file)))?;
    }
    terminal.answer(&total_words(changes))?;
    Ok(())
}

/// Counts what changed, in a line.
fn total_words(changes: &ChangeSet) -> String {
    let files = changes.files.len();
    let added: u64 = changes.files.iter().map(FileChange::added_lines).sum();
    let removed: u64 = changes.files.iter().map(FileChange::removed_lines).sum();
    let word = if files == 1 { "file" } else { "files" };
    format!("{files} {word} changed, +{added} -{removed}")
}

/// Draws the changes for a person; nothing in a file can draw by itself.
fn write_pretty(
    terminal: &mut Terminal,
    changes: &ChangeSet,
    write: fn(&mut Terminal, &Hunk) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for file in &changes.files {
        let head = format!("{} {}", kind_word(file.kind), name(file));
        terminal.answer(&terminal.paint(&head, Weight::Strong))?;
        if file.binary {
            terminal.answer("  (not text)")?;
        }
        for flag in &file.flags {
            let flag = serde_json::to_string(flag).unwrap_or_default();
            terminal.answer(&terminal.paint(&format!("  look twice: {flag}"), Weight::Warn))?;
        }
        for hunk in &file.hunks {
            let place = format!("@@ line {} @@", hunk.new_start);
            terminal.answer(&terminal.paint(&place, Weight::Quiet))?;
            write(terminal, hunk)?;
        }
        terminal.answer("")?;
    }
    if changes.files.is_empty() {
        terminal.say(Weight::Quiet, "nothing changed");
    }
    Ok(())
}

fn weight(tag: LineTag) -> Weight {
    match tag {
        LineTag::Context => Weight::Plain,
        LineTag::Removed => Weight::Bad,
        LineTag::Added => Weight::Good,
    }
}

fn write_lines(terminal: &mut Terminal, hunk: &Hunk) -> Result<(), Failure> {
    for line in &hunk.lines {
        let text = String::from_utf8_lossy(&line.bytes);
        let text = visible(text.trim_end_matches('\n'));
        let shown = format!("{}{text}", char::from(line.tag.sign()));
        terminal.answer(&terminal.paint(&shown, weight(line.tag)))?;
    }
    Ok(())
}

fn write_words(terminal: &mut Terminal, hunk: &Hunk) -> Result<(), Failure> {
    for line in word_diff::lines(&hunk.lines) {
        let mut shown = String::new();
        for Piece { tag, text } in &line {
            let text = visible(text);
            let text = match tag {
                LineTag::Context => text.into_owned(),
                LineTag::Removed => format!("[-{text}-]"),
                LineTag::Added => format!("{{+{text}+}}"),
            };
            shown.push_str(&terminal.paint(&text, weight(*tag)));
        }
        terminal.answer(&shown)?;
    }
    Ok(())
}

fn name(file: &FileChange) -> String {
    let show = |path: &[u8]| visible_line(&String::from_utf8_lossy(path));
    match &file.old_path {
        Some(old) => format!("{} -> {}", show(old), show(&file.path)),
        None => show(&file.path),
    }
}

const fn kind_word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
        ChangeKind::Renamed => "renamed",
        ChangeKind::Mode => "mode",
        ChangeKind::Symlink => "symlink",
        ChangeKind::Submodule => "submodule",
        _ => "changed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_one_or_a_range() {
        let turns = |first, last| Ok(Turns { first, last });
        let cases = [
            ("3", turns(3, Some(3))),
            ("2..4", turns(2, Some(4))),
            ("2..", turns(2, None)),
            ("..4", turns(1, Some(4))),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse(), expected, "{text}");
        }
        for text in ["", "0", "..", "0..2", "4..2", "x", "-1", "1..x", "1...3"] {
            assert!(text.parse::<Turns>().is_err(), "{text}");
        }
    }
}
