//! `chock policy`: the rules in force, why they decide as they do, and what would spare questions.

mod learn;
mod test;

use std::path::{Path, PathBuf};

use chock_config::{Acceptances, Flags, Remembered, no_such_action};
use chock_policy::{
    Action, Candidate, Explanation, Fate, Lineage, Origin, Ratchet, Request, Rule, explain,
};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::found;
use crate::program::Program;
use crate::settings::{Consent, Settings};
use crate::terminal::{Terminal, Weight};
use crate::visible::visible_line;

/// Show the rules in force, and why they decide as they do
///
/// Without a word it lists every row, ceilings first. Rows decide by being specific: their order
/// never matters.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    act: Option<Act>,

    /// Print JSON
    #[arg(long, global = true)]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, global = true, value_name = "DIRECTORY")]
    project: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Say what would be decided about an action, and why
    Explain(ExplainArgs),
    /// Check that the rules decide as a file of cases expects
    Test {
        /// The file: .{ .cases = .{ .{ .action = "git.push", .decision = .ask } } }
        file: PathBuf,
    },
    /// Print the rows that would have spared a session its questions and refusals
    Learn {
        /// The session's id or the end of it; the newest if there is none
        session: Option<String>,
    },
    /// Take back what was answered with "always" in this project, or what was accepted of it
    Revoke {
        /// The action that was answered
        #[arg(required_unless_present_any = ["all", "accepted"])]
        action: Option<String>,
        /// Take back every such answer
        #[arg(long, conflicts_with = "action")]
        all: bool,
        /// Take back that what the project asks for was accepted
        #[arg(long, conflicts_with_all = ["action", "all"])]
        accepted: bool,
    },
}

#[derive(Debug, clap::Args)]
struct ExplainArgs {
    /// The action, such as git.push
    action: String,
    /// The kind of agent that asks
    #[arg(long, default_value = "main", value_name = "KIND")]
    agent_kind: String,
    /// The model that asks; without it rows about models match no name
    #[arg(long, default_value = "", value_name = "NAME", hide_default_value = true)]
    model: String,
    /// The tool whose call asks; that of a `call.` action, else run_command
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Count the promises that this session holds: its id, or the end of it
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &PolicyArgs,
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let root = project.root();
    if let Some(Act::Revoke { accepted: true, .. }) = &args.act {
        return accept_no_more(program, terminal, root);
    }
    if let Some(Act::Revoke { action, .. }) = &args.act {
        return revoke(program, terminal, root, action.as_deref());
    }
    let settings = Settings::read(program, &project, Flags::default(), Consent::Tell, terminal)?;
    match &args.act {
        None => list(terminal, &settings, args.json),
        Some(Act::Explain(asked)) => {
            let kept = promises(program, root, asked.session.as_deref())?;
            let explained = explanation(&settings, &kept, asked)?;
            tell(terminal, &asked.action, &explained, args.json)
        }
        Some(Act::Test { file }) => test::run(terminal, &settings, file, args.json),
        Some(Act::Learn { session }) => {
            let sessions = program.places.sessions(root);
            let found = found::session(&sessions, session.as_deref())?;
            learn::run(terminal, &settings, &found, args.json)
        }
        Some(Act::Revoke { .. }) => Ok(Exit::Finished),
    }
}

/// Lists every row with where it comes from.
fn list(terminal: &mut Terminal, settings: &Settings, as_json: bool) -> Result<Exit, Failure> {
    for (origin, rule) in settings.table.rows() {
        if as_json {
            let row = json!({
                "origin": origin.word(),
                "row": rule.to_string(),
                "decision": rule.decision.word(),
            });
            terminal.answer(&row.to_string())?;
        } else {
            let weight = if origin == Origin::Shipped { Weight::Quiet } else { Weight::Plain };
            let line = format!("{:<12}  {}", origin.word(), visible_line(&rule.to_string()));
            let line = terminal.paint(&line, weight);
            terminal.answer(&line)?;
        }
    }
    Ok(Exit::Finished)
}

/// Returns what a session gave up; nothing where none is named.
fn promises(program: &Program, root: &Path, session: Option<&str>) -> Result<Ratchet, Failure> {
    let Some(named) = session else { return Ok(Ratchet::default()) };
    let found = found::session(&program.places.sessions(root), Some(named))?;
    let read = chock_log::Log::read(&found.log).map_err(|fault| Failure::because(&fault))?;
    Ok(read.0.promises)
}

fn explanation(
    settings: &Settings,
    kept: &Ratchet,
    asked: &ExplainArgs,
) -> Result<Explanation, Failure> {
    let action = Action::new(asked.action.as_str())
        .map_err(|fault| Failure::start(visible_line(&fault.to_string())))?;
    if let Some(words) = no_such_action(action.as_str()) {
        return Err(Failure::start(words));
    }
    let lineage = Lineage::new(vec![asked.agent_kind.clone()]);
    let own = action.as_str().strip_prefix("call.").unwrap_or("run_command");
    let tool = asked.tool.as_deref().unwrap_or(own);
    let request = Request { action: &action, tool, model: &asked.model };
    Ok(explain(&settings.table, &lineage, kept, &request))
}

/// Says what is decided, and what became of every row that matches.
fn tell(
    terminal: &mut Terminal,
    action: &str,
    explained: &Explanation,
    as_json: bool,
) -> Result<Exit, Failure> {
    if as_json {
        terminal.answer(&object(action, explained).to_string())?;
        return Ok(Exit::Finished);
    }
    let decision = explained.ruling.decision;
    let because = match &explained.ruling.row {
        Some((origin, rule)) => format!("because of {origin}: {rule}"),
        None => "because no row matches, and what no row names asks".to_owned(),
    };
    terminal.answer(&format!("{}: {decision}", visible_line(action)))?;
    terminal.answer(&format!("  {}", visible_line(&because)))?;
    for Candidate { origin, rule, fate, .. } in &explained.candidates {
        if *fate != Fate::Won {
            let line = format!("  not {origin}: {rule}");
            let why = terminal.paint(&format!("      {fate}"), Weight::Quiet);
            terminal.answer(&visible_line(&line))?;
            terminal.answer(&why)?;
        }
    }
    Ok(Exit::Finished)
}

fn object(action: &str, explained: &Explanation) -> Value {
    let because = match &explained.ruling.row {
        Some((origin, rule)) => json!({ "origin": origin.word(), "row": rule.to_string() }),
        None => json!({ "origin": "built-in", "row": Value::Null }),
    };
    let candidates = explained.candidates.iter().map(|candidate| {
        json!({
            "origin": candidate.origin.word(),
            "row": candidate.rule.to_string(),
            "decision": candidate.rule.decision.word(),
            "won": candidate.fate == Fate::Won,
            "why": candidate.fate.to_string(),
        })
    });
    json!({
        "action": action,
        "decision": explained.ruling.decision.word(),
        "because": because,
        "candidates": candidates.collect::<Vec<_>>(),
    })
}

/// Takes back what was accepted of this project.
fn accept_no_more(
    program: &Program,
    terminal: &mut Terminal,
    root: &Path,
) -> Result<Exit, Failure> {
    let (store, real) = (program.places.accepted(), root.canonicalize()?);
    let held = Acceptances::read(&store).map_err(|fault| Failure::because(&fault))?;
    if !held.rows().any(|(_, path)| path == real) {
        return Err(Failure::start("nothing that this project asks for was accepted"));
    }
    Acceptances::revoke(&store, &real).map_err(|fault| Failure::because(&fault))?;
    terminal.say(Weight::Plain, "what this project asks for is not accepted any more");
    Ok(Exit::Finished)
}

/// Takes back lasting answers of this project.
fn revoke(
    program: &Program,
    terminal: &mut Terminal,
    root: &Path,
    action: Option<&str>,
) -> Result<Exit, Failure> {
    let store = program.places.answers();
    let real = root.canonicalize()?;
    let about =
        |rule: &Rule| rule.action.as_ref().map_or("", |pattern| pattern.as_str()).to_owned();
    let chosen = |rule: &Rule| action.is_none_or(|action| about(rule) == action);
    let gone =
        Remembered::revoke(&store, &real, chosen).map_err(|fault| Failure::because(&fault))?;
    if gone == 0 {
        let kept = Remembered::read(&store).map_err(|fault| Failure::because(&fault))?;
        let known: Vec<_> =
            kept.rows().filter(|(path, _)| *path == real).map(|(_, rule)| about(rule)).collect();
        let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
        return Err(Failure::start(format!(
            "no lasting answer was taken back; answered with always here: {known}"
        )));
    }
    let words = match gone {
        1 => "1 lasting answer was taken back".to_owned(),
        _ => format!("{gone} lasting answers were taken back"),
    };
    terminal.say(Weight::Plain, &words);
    Ok(Exit::Finished)
}
