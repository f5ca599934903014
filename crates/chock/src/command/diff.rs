//! `chock diff`: what a session changed.

use std::path::PathBuf;

use chock_workspace::{ChangeKind, ChangeSet, FileChange, LineTag, Store, TreeId};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::found;
use crate::program::Program;
use crate::terminal::{Terminal, Weight};
use crate::visible::visible_line;

/// Show what a session changed
#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// The session's id or the end of it; the newest if there is none
    session: Option<String>,

    /// Count changed lines by file
    #[arg(long, conflicts_with = "json")]
    stat: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, value_name = "DIRECTORY")]
    project: Option<PathBuf>,
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
    let store = Store::open(&listed.found.work()).map_err(|fault| Failure::because(&fault))?;
    let changes = store.changes(base, snapshot).map_err(|fault| Failure::because(&fault))?;
    if args.json {
        terminal.answer(&as_json(&id, &changes)?.to_string())?;
    } else if args.stat {
        write_stat(terminal, &changes)?;
    } else if terminal.out_is_terminal {
        write_pretty(terminal, &changes)?;
    } else {
        store.write_patch(&changes, terminal.out()).map_err(|fault| Failure::because(&fault))?;
    }
    Ok(Exit::Finished)
}

/// Draws the changes of a session that just ran, and says whether there were any.
pub(crate) fn write_session(
    terminal: &mut Terminal,
    found: &found::Found,
    session: &chock_log::Session,
) -> Result<bool, Failure> {
    let Some((base, snapshot)) = trees(session)? else { return Ok(false) };
    let store = Store::open(&found.work()).map_err(|fault| Failure::because(&fault))?;
    let changes = store.changes(base, snapshot).map_err(|fault| Failure::because(&fault))?;
    write_pretty(terminal, &changes)?;
    Ok(!changes.files.is_empty())
}

/// Says in a line what a session changed; nothing when it changed nothing.
pub(crate) fn summary_words(found: &found::Found, session: &chock_log::Session) -> Option<String> {
    let (base, snapshot) = trees(session).ok().flatten()?;
    if base == snapshot {
        return None;
    }
    let changes = Store::open(&found.work()).ok()?.changes(base, snapshot).ok()?;
    Some(format!("{}: chock diff shows them", total_words(&changes)))
}

/// Finds the two trees in the records: where the session started, and its last snapshot.
fn trees(session: &chock_log::Session) -> Result<Option<(TreeId, TreeId)>, Failure> {
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
fn write_pretty(terminal: &mut Terminal, changes: &ChangeSet) -> Result<(), Failure> {
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
            for line in &hunk.lines {
                let text = String::from_utf8_lossy(&line.bytes);
                let text = crate::visible::visible(text.trim_end_matches('\n')).into_owned();
                let weight = match line.tag {
                    LineTag::Context => Weight::Plain,
                    LineTag::Removed => Weight::Bad,
                    LineTag::Added => Weight::Good,
                };
                let shown = format!("{}{text}", char::from(line.tag.sign()));
                terminal.answer(&terminal.paint(&shown, weight))?;
            }
        }
        terminal.answer("")?;
    }
    if changes.files.is_empty() {
        terminal.say(Weight::Quiet, "nothing changed");
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
