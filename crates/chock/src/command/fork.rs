//! `chock fork`: a new session that goes on from a turn of another one.

use std::ffi::OsString;

use chock_config::Flags;
use serde_json::json;

use super::run::{Going, RunArgs};
use crate::exit::{Exit, Failure};
use crate::forking::{self, Forked};
use crate::found;
use crate::program::Program;
use crate::settings::{Consent, Settings};
use crate::terminal::{Terminal, Weight};
use crate::visible::visible_line;

/// Go on from an earlier turn of a session, in a new one
///
/// The new session has the conversation, the files, the refs and the index of that turn, and what
/// was promised, planned and spent by then. What people allowed is asked anew. The other session
/// stays as it is, and may be at work meanwhile.
#[derive(Debug, clap::Args)]
pub(crate) struct ForkArgs {
    /// The session's id or the end of it
    session: String,

    /// What to do next, in your words; `-` reads them from standard input. Without them the fork waits
    message: Vec<OsString>,

    /// The turn to go on from; the last one if there is none. `chock sessions show` lists them
    #[arg(long, value_name = "TURN")]
    at: Option<u64>,

    /// Print where the fork hangs as a JSON object, then its records as they are written
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    going: Going,
}

pub(crate) fn run(
    program: &Program,
    mut terminal: Terminal,
    args: &ForkArgs,
) -> (Option<Terminal>, Result<Exit, Failure>) {
    let forked = match make(program, &mut terminal, args) {
        Ok(forked) => forked,
        Err(failure) => return (Some(terminal), Err(failure)),
    };
    if let Err(failure) = tell(&mut terminal, args, &forked) {
        return (Some(terminal), Err(failure));
    }
    if args.message.is_empty() {
        return (Some(terminal), Ok(Exit::Finished));
    }
    let id = forked.found.id.to_string();
    let run = RunArgs::in_session(id, args.message.clone(), args.going.clone(), args.json);
    super::run::run(program, terminal, &run)
}

fn make(program: &Program, terminal: &mut Terminal, args: &ForkArgs) -> Result<Forked, Failure> {
    if !args.message.is_empty() && args.message.iter().all(|word| word.is_empty()) {
        return Err(Failure::start("the message is empty; leave it out, or say what to do"));
    }
    let project = program.project(args.going.project.as_deref())?;
    let sessions = program.places.sessions(project.root());
    let parent = found::session(&sessions, Some(&args.session))?.read()?;
    // The run that follows asks; a fork alone does nothing that needs it.
    let consent = args.going.accept_project.as_deref().map_or(Consent::Tell, Consent::Digest);
    let settings = Settings::read(program, &project, Flags::default(), consent, terminal)?;
    settings.refuse_strange_objects()?;
    forking::fork(program, (&project, &settings), &parent, args.at)
}

fn tell(terminal: &mut Terminal, args: &ForkArgs, forked: &Forked) -> Result<(), Failure> {
    let Forked { found, body, notices } = forked;
    for notice in notices {
        terminal.say(Weight::Warn, &format!("note: {}", visible_line(&notice.to_string())));
    }
    if args.json {
        let row = json!({
            "session": found.id.to_string(), "parent": body.parent, "turn": body.turn,
            "record": body.record, "hash": body.hash,
        });
        terminal.answer(&row.to_string())?;
        return Ok(());
    }
    let (parent, turn) = (&body.parent, body.turn);
    terminal.say(Weight::Quiet, &format!("fork of {parent} at turn {turn}"));
    if args.message.is_empty() {
        terminal.answer(&found.id.to_string())?;
        let words = format!("to go on: chock run --session {} \"...\"", found.id);
        terminal.say(Weight::Quiet, &words);
    }
    Ok(())
}
