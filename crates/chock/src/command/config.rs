//! `chock config`: every setting in force, and where it comes from.

use std::path::PathBuf;

use chock_config::Flags;
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::program::Program;
use crate::settings::{Consent, Settings};
use crate::terminal::{Terminal, Weight};

/// Show every setting in force and where it comes from
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, value_name = "DIRECTORY")]
    project: Option<PathBuf>,
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &ConfigArgs,
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let flags = Flags::default();
    let settings = Settings::read(program, &project, flags, Consent::Tell, terminal)?;
    for row in settings.effective.rows() {
        let origin = row.origin.to_string();
        if args.json {
            let row = json!({ "name": row.name, "value": row.value, "origin": origin });
            terminal.answer(&row.to_string())?;
        } else {
            let origin = terminal.paint(&origin, Weight::Quiet);
            terminal.answer(&format!("{:<28} {:<28} {origin}", row.name, row.value))?;
        }
    }
    Ok(Exit::Finished)
}
