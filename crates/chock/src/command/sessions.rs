//! `chock sessions`: what was done in this project, and whether the logs still say so.

mod export;
mod family;
pub(crate) mod remove;
pub(crate) mod seal;
mod verify;
mod view;

use chock_log::{EndReason, Entry, ForkBody, KeptTurn, Running, Session, State};
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
    let read = found::sessions(directory).into_iter().map(found::Found::read);
    let all = read.collect::<Result<Vec<_>, _>>()?;
    let damaged = all.iter().any(|listed| listed.verdict.is_damage());
    if as_json {
        for listed in &all {
            terminal.answer(&row(listed).to_string())?;
        }
    } else {
        for (depth, listed) in family::tree(all) {
            draw(terminal, depth, &listed)?;
        }
    }
    Ok(if damaged { Exit::NotIntact } else { Exit::Finished })
}

/// Draws one session of the list, `depth` steps below the one that it descends from.
fn draw(terminal: &mut Terminal, depth: usize, listed: &Listed) -> Result<(), Failure> {
    let indent = if depth == 0 { String::new() } else { "  ".repeat(depth - 1) + "└ " };
    let started = listed.session.started.map(|time| format!("{time:.0}")).unwrap_or_default();
    let line = format!(
        "{indent}{}  {}  {:<11}  {}",
        listed.found.id,
        started.replace('T', " ").replace('Z', ""),
        state_word(listed),
        usage_words(&listed.session),
    );
    terminal.answer(&line)?;
    let mut words = title(&listed.session);
    if let Some(fork) = &listed.session.fork {
        let from = if depth == 0 { format!(" of {}", fork.parent) } else { String::new() };
        words = format!("from turn {}{from} · {words}", fork.turn);
    }
    let words = shortened(&visible_line(&words), 100);
    let indent = "  ".repeat(depth);
    terminal.answer(&format!("{indent}    {}", terminal.paint(&words, Weight::Quiet)))?;
    Ok(())
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
        "parent": session.fork.as_ref().map(|fork| &fork.parent),
        "parent_turn": session.fork.as_ref().map(|fork| fork.turn),
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
        State::Open if is_untouched_fork(&listed.session) => "forked",
        State::Open => "interrupted",
        State::Ended(end) => reason_word(end.reason),
    }
}

/// Says whether nothing was done in a fork yet.
fn is_untouched_fork(session: &Session) -> bool {
    // Its own first records, what it took over, its settings and its copy.
    let made = |fork: &ForkBody| session.records <= fork.carried.saturating_add(4);
    session.fork.as_ref().is_some_and(made)
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

pub(super) fn title(session: &Session) -> String {
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
    let mut kept = listed.session.kept.iter().peekable();
    for (seq, entry) in &listed.session.entries {
        while let Some(turn) = kept.next_if(|turn| turn.at < *seq) {
            mark(terminal, turn)?;
        }
        step(terminal, entry)?;
    }
    for turn in kept {
        mark(terminal, turn)?;
    }
    if let Some(fork) = &listed.session.fork {
        let line = format!("fork of {} at turn {}", visible_line(&fork.parent), fork.turn);
        terminal.answer(&line)?;
    }
    terminal.answer(&format!("{}: {}", state_word(listed), usage_words(&listed.session)))?;
    if !listed.session.kept.is_empty() {
        let words = format!("chock fork {} --at <turn> goes on from a turn", listed.found.id);
        terminal.say(Weight::Quiet, &words);
    }
    Ok(Exit::Finished)
}

/// Shows one step of the conversation.
fn step(terminal: &mut Terminal, entry: &Entry) -> Result<(), Failure> {
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
            let line = terminal.paint(&format!("[chock] {}", visible(text)), Weight::Quiet);
            terminal.answer(&line)?;
        }
    }
    Ok(())
}

/// Shows that a turn ends here, and can be forked at.
fn mark(terminal: &mut Terminal, turn: &KeptTurn) -> Result<(), Failure> {
    let line = format!("── turn {}", turn.snapshot.turn);
    terminal.answer(&terminal.paint(&line, Weight::Quiet))?;
    Ok(())
}
