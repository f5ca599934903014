//! `chock doctor`: which layers of the sandbox hold on this machine.

use chock_sandbox::{State, Survey, SurveyOptions};
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::program::Program;
use crate::terminal::{Terminal, Weight};

/// Show which sandbox layers hold on this machine
///
/// Each layer is tried in a throwaway process. A layer that could not be tried is
/// shown as off.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &DoctorArgs,
) -> Result<Exit, Failure> {
    let survey = survey(program)?;
    if args.json {
        let object = json!({ "can_contain": survey.can_contain(), "rows": survey.rows() });
        terminal.answer(&object.to_string())?;
    } else {
        write_table(terminal, &survey)?;
    }
    Ok(if survey.can_contain() { Exit::Finished } else { Exit::CannotContain })
}

/// Tries the layers where this program's workspaces would be.
pub(crate) fn survey(program: &Program) -> Result<Survey, Failure> {
    let scratch = &program.places.state;
    crate::house::make_private(scratch)?;
    let scratch = scratch.canonicalize().map_err(|fault| {
        Failure::start(format!("cannot use the directory {}: {fault}", scratch.display()))
    })?;
    Ok(chock_sandbox::survey(&SurveyOptions { keeper: program.keeper_options()?, scratch }))
}

fn write_table(terminal: &mut Terminal, survey: &Survey) -> Result<(), Failure> {
    for row in survey.rows() {
        let (word, weight) = match (row.state, row.blocks) {
            (State::On, _) => ("on", Weight::Good),
            (State::Off, true) => ("off", Weight::Bad),
            (State::Off, false) => ("off", Weight::Warn),
            (State::Unsupported, _) => ("not here", Weight::Quiet),
        };
        let word = terminal.paint(&format!("{word:<9}"), weight);
        terminal.answer(format!("{:<18} {word} {}", row.layer, row.detail).trim_end())?;
        if !row.cure.is_empty() {
            terminal.answer(&format!("{:<29}{}", "", row.cure))?;
        }
    }
    let (verdict, weight) = if survey.can_contain() {
        ("A session can be contained on this machine.", Weight::Good)
    } else {
        ("No session can be contained on this machine; chock run will not start one.", Weight::Bad)
    };
    terminal.answer("")?;
    terminal.answer(&terminal.paint(verdict, weight))?;
    Ok(())
}
