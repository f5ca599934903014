//! `chock undo` and `chock redo`: takes the last hand-back out of the project, and puts it back.

use std::path::PathBuf;

use chock_workspace::{Direction, Shelf};

use super::review::Asker;
use crate::control::Request;
use crate::exit::{Exit, Failure};
use crate::found::Found;
use crate::handback;
use crate::program::{Program, new_session};
use crate::terminal::{Terminal, Weight};

/// Take the last work out of the project again, or with redo put it back
///
/// Exactly the paths that were written are put back as they were. A path that changed since
/// is refused by its name, and then nothing is done. No branch and no index is touched.
#[derive(Debug, clap::Args)]
pub(crate) struct UndoArgs {
    /// How many hand-backs
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    steps: u32,

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
    (args, direction): (&UndoArgs, Direction),
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let sessions = program.places.sessions(project.root());
    let session = Shelf::session_in(&handback::place(&sessions), direction)
        .map_err(|fault| Failure::because(&fault))?;
    let session = session
        .ok_or_else(|| Failure::start(format!("there is nothing to {}", direction.word())))?;
    let of_session = session.parse().ok().map(|id| Found::at(&sessions, id));
    let found = match of_session.filter(|found| found.log.exists()) {
        Some(found) => found,
        // The session is gone, and its work is not: a log of its own tells what became of it.
        None => Found::at(&program.places.executions(project.root()), new_session()?),
    };
    let asker = Asker { program, project: &project, found: &found };
    let request = match direction {
        Direction::Undo => Request::Undo { steps: args.steps },
        Direction::Redo | Direction::Apply => Request::Redo { steps: args.steps },
    };
    let report = asker.report(terminal, request)?;
    let verb = if direction == Direction::Undo { "put back" } else { "wrote" };
    report.tell(terminal, (verb, args.json))?;
    if !args.json && direction == Direction::Undo && !report.written.is_empty() {
        terminal.say(Weight::Quiet, "chock redo puts it in again");
    }
    Ok(report.exit())
}
