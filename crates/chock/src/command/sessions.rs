//! `chock sessions`: what was done in this project, and whether the logs still say so.

mod export;
pub(crate) mod remove;
pub(crate) mod seal;
mod verify;
mod view;

use chock_log::{EndReason, Entry, Running, Session, State};
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::found::{self, Listed};
use crate::program::Program;
use crate::show::{cost_words, usage_words};
use crate::terminal::{Terminal, Weight};
use crate::visible::{shortened, visible, visible_line};

/// List, show, verify, seal, export and remove this project's sessions
#[derive(Debug, clap::Args)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    act: Option<Act>,

    /// Print one JSON object a line
    #[arg(long, global = true)]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, global = true, value_name = "DIRECTORY")]
    project: Option<std::path::PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// List the sessions, newest last
    List,
    /// Show what was said and done in a session
    Show {
        /// The session's id or the end of it; the newest if there is none
        session: Option<String>,
    },
    /// Check that a session's log, or every log, says what was written
    Verify(verify::VerifyArgs),
    /// Sign the head of a session's log
    Seal(seal::SealArgs),
    /// Write a copy of a session's log that verifies elsewhere, or a view of it
    Export(export::ExportArgs),
    /// Remove a session: its log, its copy of the project and everything beside it
    Remove(remove::RemoveArgs),
    /// Remove sessions by their age or number
    Prune(remove::PruneArgs),
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &SessionsArgs,
) -> Result<Exit, Failure> {
    if let Some(Act::Verify(verify)) = &args.act
        && let Some(copy) = verify.copy(program)
    {
        return verify::run(program, terminal, vec![copy], verify, args.json);
    }
    let project = program.project(args.project.as_deref())?;
    let directory = program.places.sessions(project.root());
    let desk = remove::Desk { program, directory: &directory, as_json: args.json };
    match &args.act {
        None | Some(Act::List) => list(terminal, &directory, args.json),
        Some(Act::Show { session }) => {
            let listed = found::session(&directory, session.as_deref())?.read()?;
            show(terminal, &listed, args.json)
        }
        Some(Act::Verify(verify)) => {
            let subjects = verify.sessions(&directory)?;
            verify::run(program, terminal, subjects, verify, args.json)
        }
        Some(Act::Seal(seal)) => seal::run(program, terminal, &directory, seal, args.json),
        Some(Act::Export(export)) => export::run(program, terminal, &directory, export),
        Some(Act::Remove(remove)) => remove::run(terminal, &desk, remove),
        Some(Act::Prune(prune)) => remove::prune(terminal, &desk, prune),
    }
}

fn list(
    terminal: &mut Terminal,
    directory: &std::path::Path,
    as_json: bool,
) -> Result<Exit, Failure> {
    let mut damaged = false;
    for found in found::sessions(directory) {
        let listed = found.read()?;
        damaged |= listed.verdict.is_damage();
        if as_json {
            terminal.answer(&row(&listed).to_string())?;
            continue;
        }
        let started = listed.session.started.map(|time| format!("{time:.0}")).unwrap_or_default();
        let line = format!(
            "{}  {}  {:<11}  {}",
            listed.found.id,
            started.replace('T', " ").replace('Z', ""),
            state_word(&listed),
            usage_words(&listed.session),
        );
        terminal.answer(&line)?;
        let title = shortened(&visible_line(&title(&listed.session)), 100);
        terminal.answer(&format!("    {}", terminal.paint(&title, Weight::Quiet)))?;
    }
    Ok(if damaged { Exit::NotIntact } else { Exit::Finished })
}

fn row(listed: &Listed) -> serde_json::Value {
    let session = &listed.session;
    json!({
        "id": listed.found.id.to_string(),
        "project": session.start.as_ref().map(|start| &start.project),
        "started": session.started.map(|time| time.to_string()),
        "state": state_word(listed),
        "turns": session.turns,
        "model": session.config.as_ref().map(|config| &config.model),
        "cost": cost_words(session).join(", "),
        "title": title(session),
        "parent": null,
        "workspace_bytes": chock_workspace::size_on_disk(&listed.found.work()).ok(),
    })
}

/// Names where a session stands, in a word.
fn state_word(listed: &Listed) -> &'static str {
    if listed.verdict.is_damage() {
        return listed.verdict.word();
    }
    if listed.running == Running::Yes {
        return "running";
    }
    match listed.session.state() {
        State::Open => "interrupted",
        State::Ended(end) => reason_word(end.reason),
    }
}

/// Names a reason as exit codes and scripts do.
pub(crate) fn reason_word(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Finished => "finished",
        EndReason::Cancelled => "stopped",
        EndReason::Fault => "failed",
        EndReason::TurnLimit => "turn limit",
        EndReason::NoProgress => "no progress",
        EndReason::Budget => "budget spent",
        EndReason::EmptyAnswer => "empty answer",
        EndReason::Refused => "refused by the model's provider",
        EndReason::RateLimited => "rate limited",
        EndReason::LogFull => "log full",
        EndReason::AuditGap => "audit gap",
        EndReason::Other => "ended",
    }
}

fn title(session: &Session) -> String {
    let first = session.entries.iter().find_map(|(_, entry)| match entry {
        Entry::User(text) => Some(text.clone()),
        Entry::Model(_) | Entry::Result { .. } | Entry::Notice(_) => None,
    });
    session.title.clone().or(first).unwrap_or_default()
}

fn show(terminal: &mut Terminal, listed: &Listed, as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        let text = std::fs::read(&listed.found.log)?;
        let body = text.splitn(2, |byte| *byte == b'\n').nth(1).unwrap_or_default();
        terminal.out().write_all(body)?;
        return Ok(Exit::Finished);
    }
    for (_, entry) in &listed.session.entries {
        match entry {
            Entry::User(text) => {
                let line = terminal.paint(&format!("> {}", visible(text)), Weight::Strong);
                terminal.answer(&line)?;
            }
            Entry::Model(message) => {
                let text = message.text();
                if !text.trim().is_empty() {
                    terminal.answer(&visible(text.trim_end()))?;
                }
                for call in message.calls() {
                    let arguments = shortened(&visible_line(&call.arguments), 160);
                    let line = format!("● {} {arguments}", visible_line(&call.name));
                    terminal.answer(&line)?;
                }
            }
            Entry::Result { outcome, .. } => {
                for line in outcome.text.lines().take(12) {
                    let line = shortened(&visible_line(line), 160);
                    terminal.answer(&terminal.paint(&format!("    {line}"), Weight::Quiet))?;
                }
            }
            Entry::Notice(text) => {
                terminal.answer(
                    &terminal.paint(&format!("[chock] {}", visible(text)), Weight::Quiet),
                )?;
            }
        }
    }
    terminal.answer(&format!("{}: {}", state_word(listed), usage_words(&listed.session)))?;
    Ok(Exit::Finished)
}
