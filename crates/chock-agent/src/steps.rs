//! The calls since the person last spoke, with what came of them.

use chock_log::{Ended, Entry, ModelMessage, Outcome, Seq, Session, ToolCall};

/// How many calls are looked back at, at most about.
pub(crate) const LOOKED_AT: usize = 64;

/// One call with its result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step<'a> {
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a str,
    pub(crate) text: &'a str,
    pub(crate) failed: bool,
    /// Whether it was malformed or refused.
    pub(crate) faulty: bool,
}

impl Step<'_> {
    /// Says whether another call asked for the same and got the same answer.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        let of = |step: &Self| (step.failed, step.faulty);
        self.tool == other.tool
            && self.arguments == other.arguments
            && self.text == other.text
            && of(self) == of(other)
    }
}

/// Lists the calls since the person last spoke, newest first.
pub(crate) fn steps(session: &Session) -> impl Iterator<Item = Step<'_>> {
    let since = |entry: &&(Seq, Entry)| !matches!(entry.1, Entry::User(_));
    let recent = session.entries.iter().rev().take_while(since);
    let mut results = Vec::new();
    let mut steps = Vec::new();
    for (_, entry) in recent {
        match entry {
            Entry::Result { call, outcome, .. } => results.push((call, outcome)),
            Entry::Model(message) => {
                steps.extend(answered(message, &results));
                results.clear();
            }
            Entry::User(_) | Entry::Notice(_) => {}
        }
        if steps.len() >= LOOKED_AT {
            break;
        }
    }
    steps.into_iter()
}

/// Pairs a reply's calls with their results, last call first.
fn answered<'a>(message: &'a ModelMessage, results: &[(&'a String, &'a Outcome)]) -> Vec<Step<'a>> {
    let calls: Vec<_> = message.calls().collect();
    let pair = |call: &&'a ToolCall| {
        let (_, outcome) = results.iter().find(|(id, _)| **id == call.id)?;
        Some(Step {
            tool: &call.name,
            arguments: &call.arguments,
            text: &outcome.text,
            failed: outcome.is_error(),
            faulty: matches!(outcome.ended, Ended::Fault | Ended::Denied),
        })
    };
    calls.iter().rev().filter_map(pair).collect()
}
