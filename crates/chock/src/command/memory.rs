//! `chock memory`: the notes that agents wrote for later sessions of a project.

use std::path::PathBuf;

use chock_tools::{Listed, Note, NoteFault, NoteName, NoteVersion, Notebook};
use serde_json::{Value, json};

use super::sessions::remove::{bytes, consent};
use crate::exit::{Exit, Failure, causes};
use crate::program::Program;
use crate::terminal::{Terminal, Weight};
use crate::visible::{escaped_json, visible, visible_line};

/// List, read and remove the notes that agents wrote for later sessions
#[derive(Debug, clap::Args)]
pub(crate) struct MemoryArgs {
    #[command(subcommand)]
    act: Option<Act>,

    /// Print one JSON object a line
    #[arg(long, global = true)]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, global = true, value_name = "DIRECTORY")]
    project: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// List the notes, one line each
    List,
    /// Show what a note says
    Show {
        /// The note
        name: String,

        /// Show its earlier versions too
        #[arg(long)]
        all: bool,
    },
    /// Remove notes with all their versions
    Remove {
        /// The notes
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        name: Vec<String>,

        /// Remove every note of the project
        #[arg(long)]
        all: bool,

        /// Remove without asking
        #[arg(long)]
        yes: bool,
    },
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &MemoryArgs,
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let notebook = Notebook::at(program.places.notes(project.root()));
    match &args.act {
        None | Some(Act::List) => list(terminal, &notebook, args.json),
        Some(Act::Show { name, all }) => {
            let note = notebook.read(&called(name)?).map_err(|fault| unread(name, &fault))?;
            show(terminal, &note, (*all, args.json))
        }
        Some(Act::Remove { name, all, yes }) => {
            let names = if *all { every(terminal, &notebook)? } else { named(&notebook, name)? };
            if names.is_empty() {
                terminal.say(Weight::Quiet, "nothing to remove: the project has no notes");
                return Ok(Exit::Finished);
            }
            remove(terminal, &notebook, &names, (*yes, args.json))
        }
    }
}

/// Lists the notes. One that cannot be read has its row, and makes the command end with 2.
fn list(terminal: &mut Terminal, notebook: &Notebook, json: bool) -> Result<Exit, Failure> {
    let all = notebook.list().map_err(|fault| Failure::because(&fault))?;
    let mut exit = Exit::Finished;
    for listed in &all {
        if json {
            terminal.answer(&escaped_json(&row(listed).to_string()))?;
        } else {
            terminal.answer(&line(listed))?;
        }
        if listed.note.is_err() {
            exit = Exit::Fault;
        }
    }
    if all.is_empty() && !json {
        terminal.say(Weight::Quiet, "the project has no notes");
    }
    Ok(exit)
}

fn line(listed: &Listed) -> String {
    let name = visible_line(&listed.name);
    match listed.note.as_ref().map(Note::newest) {
        Ok(Some(newest)) => {
            let NoteVersion { version, kind, written_at, description, .. } = newest;
            let day = written_at.split('T').next().unwrap_or_default();
            let line = format!("{name:<24} {:<11} v{version:<2} {day}  {description}", kind.word());
            visible_line(&line)
        }
        Ok(None) => name,
        Err(fault) => format!("{name:<24} cannot be read: {}", visible_line(&causes(fault))),
    }
}

fn row(listed: &Listed) -> Value {
    match &listed.note {
        Ok(note) => note.newest().map_or(Value::Null, |newest| {
            let mut row = object(&listed.name, newest);
            row["versions"] = json!(note.versions().len());
            row
        }),
        Err(fault) => json!({ "name": listed.name, "unreadable": causes(fault) }),
    }
}

/// Tells everything of a version but its text.
fn object(name: &str, version: &NoteVersion) -> Value {
    let NoteVersion { version, kind, written_at, session, description, body } = version;
    json!({
        "name": name, "kind": kind.word(), "version": version, "written_at": written_at,
        "session": session, "bytes": body.len(), "description": description,
    })
}

fn show(terminal: &mut Terminal, note: &Note, (all, json): (bool, bool)) -> Result<Exit, Failure> {
    let most = if all { usize::MAX } else { 1 };
    for version in note.versions().iter().take(most) {
        if json {
            let mut row = object(note.name().as_str(), version);
            row["body"] = json!(version.body);
            terminal.answer(&escaped_json(&row.to_string()))?;
            continue;
        }
        let NoteVersion { version: number, kind, written_at, session, description, body } = version;
        let head = format!("{} ({}), version {number}", note.name(), kind.word());
        terminal.answer(&visible_line(&format!("{head}, {written_at}, session {session}")))?;
        terminal.answer(&visible_line(description))?;
        terminal.answer(&format!("\n{}\n", visible(body)))?;
    }
    let older = note.versions().len().saturating_sub(1);
    if !all && !json && older > 0 {
        let words = format!("{older} earlier; --all shows them too");
        terminal.say(Weight::Quiet, &words);
    }
    Ok(Exit::Finished)
}

/// Finds every note that can be named.
fn every(terminal: &mut Terminal, notebook: &Notebook) -> Result<Vec<NoteName>, Failure> {
    let all = notebook.list().map_err(|fault| Failure::because(&fault))?;
    let mut names = Vec::new();
    for listed in all {
        match listed.name.parse() {
            Ok(name) => names.push(name),
            Err(_) => {
                let words = format!("{} is no note and stays", visible_line(&listed.name));
                terminal.say(Weight::Warn, &words);
            }
        }
    }
    Ok(names)
}

/// Finds the notes that a person named. One that is not there stops it all.
fn named(notebook: &Notebook, names: &[String]) -> Result<Vec<NoteName>, Failure> {
    let find = |name: &String| match called(name).map(|name| (notebook.read(&name), name)) {
        Ok((Err(fault @ NoteFault::Missing { .. }), _)) => Err(unread(name, &fault)),
        // What cannot be read can be removed.
        Ok((Ok(_) | Err(_), name)) => Ok(name),
        Err(failure) => Err(failure),
    };
    names.iter().map(find).collect()
}

/// Removes them. One that stays is named, makes the command end with 2, and holds up no other.
fn remove(
    terminal: &mut Terminal,
    notebook: &Notebook,
    names: &[NoteName],
    (yes, json): (bool, bool),
) -> Result<Exit, Failure> {
    for name in names {
        let size = notebook.read(name).ok().and_then(|note| {
            let newest = note.newest()?;
            Some(format!("{}  {}", bytes(newest.body.len() as u64), newest.description))
        });
        let size = size.unwrap_or_else(|| "cannot be read".to_owned());
        terminal.say(Weight::Plain, &visible_line(&format!("{name}  {size}")));
    }
    let question = match names.len() {
        1 => "Remove it?".to_owned(),
        count => format!("Remove these {count} notes?"),
    };
    consent(terminal, &question, yes)?;
    let mut exit = Exit::Finished;
    for name in names {
        if let Err(fault) = notebook.remove(name) {
            let words = unread(name.as_str(), &fault).message;
            terminal.say(Weight::Warn, &visible_line(&words));
            exit = Exit::Fault;
            continue;
        }
        if json {
            terminal.answer(&json!({ "removed": name.as_str() }).to_string())?;
        } else {
            terminal.answer(&format!("removed {name}"))?;
        }
    }
    Ok(exit)
}

fn called(name: &str) -> Result<NoteName, Failure> {
    name.parse().map_err(|fault: NoteFault| Failure::start(causes(&fault)))
}

fn unread(name: &str, fault: &NoteFault) -> Failure {
    let words = causes(fault);
    if matches!(fault, NoteFault::Missing { .. }) {
        return Failure::start(format!("{words} of this project; chock memory lists them"));
    }
    Failure::fault(format!("the note {}: {words}", visible_line(name)))
}
