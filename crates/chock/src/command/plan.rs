//! `chock plan`: the steps that the agent of a session wrote down, and how far each is.

use std::path::PathBuf;

use chock_log::PlanStatus;
use serde_json::json;

use super::sessions::title;
use crate::exit::{Exit, Failure};
use crate::found;
use crate::program::Program;
use crate::terminal::{Terminal, Weight};
use crate::visible::{escaped_json, visible_line};

/// Show the plan of a session
///
/// It is the plan as the agent last wrote it down, also while the session runs.
#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {
    /// The session's id or the end of it; the newest if there is none
    session: Option<String>,

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
    args: &PlanArgs,
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let directory = program.places.sessions(project.root());
    let listed = found::session(&directory, args.session.as_deref())?.read()?;
    let (id, steps) = (listed.found.id, &listed.session.plan.steps);
    if args.json {
        let object = json!({
            "session": id.to_string(), "title": listed.session.title, "steps": steps,
        });
        terminal.answer(&escaped_json(&object.to_string()))?;
        return Ok(Exit::Finished);
    }
    let title = visible_line(&title(&listed.session));
    terminal.say(Weight::Quiet, format!("{id}  {title}").trim_end());
    for step in steps {
        terminal.answer(&format!("[{}] {}", mark(step.status), visible_line(&step.step)))?;
    }
    if steps.is_empty() {
        terminal.say(Weight::Quiet, "the agent wrote down no plan");
    }
    Ok(Exit::Finished)
}

fn mark(status: PlanStatus) -> char {
    match status {
        PlanStatus::Pending => ' ',
        PlanStatus::InProgress => '>',
        PlanStatus::Done => 'x',
        PlanStatus::Abandoned => '-',
    }
}
