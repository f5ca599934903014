//! `chock policy learn`: the smallest rows that would have spared a session its questions.

use std::collections::BTreeMap;

use chock_log::{AnswerBody, Event, Grounds, Log};
use chock_policy::{Action, Decision, Lineage, Origin, Pattern, Ratchet, Request, Rule, decide};
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::found::Found;
use crate::settings::Settings;
use crate::terminal::{Terminal, Weight};

/// What happened to an action in a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Met {
    /// How many times it was asked about and allowed.
    allowed: u32,
    /// How many times it was not done because nobody answered.
    unanswered: u32,
    /// How many times a person or a reviewer refused it.
    refused: u32,
    /// How many times a rule refused it.
    denied: u32,
}

/// Prints the rows. Nothing is written anywhere.
pub(super) fn run(
    terminal: &mut Terminal,
    settings: &Settings,
    found: &Found,
    as_json: bool,
) -> Result<Exit, Failure> {
    let mut learned = Learned { settings, tools: BTreeMap::new(), met: BTreeMap::new() };
    let read = Log::records(&found.log, |record| learned.take(&record.event));
    read.map_err(|fault| Failure::because(&fault))?;
    let mut printed = 0;
    for ((tool, action), met) in learned.met {
        let row = Rule {
            tool: Pattern::new(tool.as_str()).ok(),
            ..Rule::action(pattern(&action)?, Decision::Allow)
        };
        let advice = advice(met, settings, &tool, &action);
        printed += 1;
        if as_json {
            let row = json!({
                "row": row.to_string(),
                "asked": met.allowed + met.refused + met.unanswered,
                "refused": met.refused,
                "denied": met.denied,
                "advice": advice,
            });
            terminal.answer(&row.to_string())?;
        } else {
            let comment = if advice.is_empty() { "" } else { "// " };
            terminal.answer(&format!("{comment}{row}, // {}{advice}", words(met)))?;
        }
    }
    let id = found.id;
    let line = match printed {
        0 => format!("session {id} was asked nothing and refused nothing that a row would change"),
        _ => "these rows are for `policy.rules` of chock.zon; nothing was written".to_owned(),
    };
    terminal.say(Weight::Quiet, &line);
    Ok(Exit::Finished)
}

fn pattern(action: &Action) -> Result<Pattern, Failure> {
    Pattern::new(action.as_str()).map_err(|fault| Failure::because(&fault))
}

/// What each action of a session met that the rules of today do not allow by themselves.
struct Learned<'a> {
    settings: &'a Settings,
    /// The tool of each call.
    tools: BTreeMap<String, String>,
    met: BTreeMap<(String, Action), Met>,
}

impl Learned<'_> {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Model(message) => {
                let calls = message.calls().map(|call| (call.id.clone(), call.name.clone()));
                self.tools.extend(calls);
            }
            Event::Answered(body) => self.answered(body),
            _ => {}
        }
    }

    fn answered(&mut self, body: &AnswerBody) {
        if body.allowed && matches!(body.grounds, Grounds::Rule { .. }) {
            return;
        }
        let tool = self.tools.get(&body.call).map_or("run_command", String::as_str);
        for action in body.actions.iter().filter_map(|name| Action::new(name.as_str()).ok()) {
            let allowed = ruling(self.settings, tool, &action).decision == Decision::Allow;
            if !allowed && !action.is_cut() {
                note(self.met.entry((tool.to_owned(), action)).or_default(), body);
            }
        }
    }
}

fn ruling(settings: &Settings, tool: &str, action: &Action) -> chock_policy::Ruling {
    let request = Request { action, tool, model: "" };
    decide(&settings.table, &Lineage::main(), &Ratchet::default(), &request)
}

fn note(met: &mut Met, body: &AnswerBody) {
    let counter = match &body.grounds {
        Grounds::Rule { .. } => &mut met.denied,
        Grounds::Timeout | Grounds::Nobody | Grounds::Cancelled | Grounds::NoReviewer => {
            &mut met.unanswered
        }
        Grounds::Person
        | Grounds::PersonForSession
        | Grounds::PersonAlways
        | Grounds::PersonDirectly
        | Grounds::Reviewer => {
            if body.allowed {
                &mut met.allowed
            } else {
                &mut met.refused
            }
        }
    };
    *counter += 1;
}

/// Says why a row is printed as a comment; empty where it is a fair proposal.
fn advice(met: Met, settings: &Settings, tool: &str, action: &Action) -> String {
    let ruling = ruling(settings, tool, action);
    if let Some((Origin::Organisation, row)) = &ruling.row {
        return format!("; would not help: the organisation's {row} is above it");
    }
    if met.refused > 0 {
        return "; somebody refused it".to_owned();
    }
    if met.denied > 0 && ruling.decision == Decision::Deny {
        return "; a rule denies it on purpose".to_owned();
    }
    String::new()
}

fn words(met: Met) -> String {
    let Met { allowed, unanswered, refused, denied } = met;
    let counts = [
        (allowed, "allowed when asked"),
        (unanswered, "not answered"),
        (refused, "refused by somebody"),
        (denied, "refused by a rule"),
    ];
    let words = counts.iter().filter(|(count, _)| *count > 0);
    words.map(|(count, words)| format!("{count} {words}")).collect::<Vec<_>>().join(", ")
}
