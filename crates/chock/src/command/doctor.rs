//! `chock doctor`: which layers of the sandbox hold on this machine.

use chock_config::{Flags, Row, Sink};
use chock_sandbox::{State, Survey, SurveyOptions};
use serde_json::json;

use crate::audit;
use crate::exit::{Exit, Failure};
use crate::program::Program;
use crate::settings::{Consent, Settings};
use crate::terminal::{Terminal, Weight};
use crate::visible::visible_line;

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
    let settings = here(program, terminal);
    let policy = policy(&settings);
    let bundle = settings.effective.organisation.as_ref();
    let sinks: Vec<_> =
        settings.effective.sinks().iter().map(|sink| Post::of(program, sink)).collect();
    if args.json {
        let policy: Vec<_> = policy
            .iter()
            .map(|row| json!({ "name": row.name, "value": row.value, "origin": row.origin.to_string() }))
            .collect();
        let (can_contain, rows) = (survey.can_contain(), survey.rows());
        let bundle = bundle.map(|bundle| {
            json!({ "issuer": bundle.issuer, "subject": bundle.subject, "rules": bundle.rules.len() })
        });
        let sinks: Vec<_> = sinks
            .iter()
            .map(
                |post| json!({ "name": post.name, "required": post.required, "fault": post.fault }),
            )
            .collect();
        let object = json!({
            "can_contain": can_contain, "rows": rows, "policy": policy, "organisation": bundle,
            "sinks": sinks,
        });
        terminal.answer(&object.to_string())?;
    } else {
        write_table(terminal, &survey, &policy)?;
        if let Some(bundle) = bundle {
            let (issuer, rules) = (visible_line(&bundle.issuer), bundle.rules.len());
            let rules = if rules == 1 { "1 rule".to_owned() } else { format!("{rules} rules") };
            let line = format!("organisation       bound by a bundle of {rules} {issuer}");
            terminal.answer(line.trim_end())?;
        }
        for post in &sinks {
            post.write(terminal)?;
        }
        write_verdict(terminal, &survey)?;
    }
    Ok(if survey.can_contain() { Exit::Finished } else { Exit::CannotContain })
}

/// An audit sink, and whether it is there.
struct Post {
    name: String,
    required: bool,
    fault: Option<String>,
}

impl Post {
    fn of(program: &Program, sink: &Sink) -> Self {
        let fault = audit::reach(&program.places, sink).err().map(|fault| fault.to_string());
        Self { name: visible_line(&sink.to_string()), required: sink.required, fault }
    }

    fn write(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let (word, weight) = match (&self.fault, self.required) {
            (None, _) => ("there", Weight::Good),
            (Some(_), true) => ("missing", Weight::Bad),
            (Some(_), false) => ("missing", Weight::Warn),
        };
        let word = terminal.paint(&format!("{word:<9}"), weight);
        let fault = self.fault.as_ref().map(|fault| format!(": {fault}")).unwrap_or_default();
        Ok(terminal.answer(&format!("{:<18} {word} {}{fault}", "audit sink", self.name))?)
    }
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

/// Reads what holds in this project, if here is one.
fn here(program: &Program, terminal: &mut Terminal) -> Settings {
    let settings = program.project(None).ok().map(|project| {
        Settings::read(program, &project, Flags::default(), Consent::Tell, terminal)
    });
    match settings {
        Some(Ok(settings)) => settings,
        Some(Err(failure)) => {
            terminal.say(Weight::Warn, &failure.message);
            Settings::shipped()
        }
        None => Settings::everywhere(program, terminal).unwrap_or_else(|failure| {
            terminal.say(Weight::Warn, &failure.message);
            Settings::shipped()
        }),
    }
}

/// Finds the rows that change the filter of system calls.
fn policy(settings: &Settings) -> Vec<Row> {
    let rows = settings.effective.rows().into_iter();
    rows.filter(|row| row.name.starts_with("sandbox.")).collect()
}

fn write_table(terminal: &mut Terminal, survey: &Survey, policy: &[Row]) -> Result<(), Failure> {
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
    for Row { name, value, origin } in policy {
        terminal.answer(&format!("{name:<18} {value:<9} {origin}"))?;
    }
    Ok(())
}

/// Says what all of it comes to.
fn write_verdict(terminal: &mut Terminal, survey: &Survey) -> Result<(), Failure> {
    let (verdict, weight) = if survey.can_contain() {
        ("A session can be contained on this machine.", Weight::Good)
    } else {
        ("No session can be contained on this machine; chock run will not start one.", Weight::Bad)
    };
    terminal.answer("")?;
    terminal.answer(&terminal.paint(verdict, weight))?;
    Ok(())
}
