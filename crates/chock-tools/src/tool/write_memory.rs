//! `write_memory`: a note for later sessions.

use chock_log::Session;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Prepared, Tool};
use crate::desk::Desk;
use crate::notebook::{Draft, NoteAct, NoteFault, NoteKind, NoteName};

pub(crate) struct WriteMemory;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The note's name: letters a to z, digits, hyphens and underscores.
    name: String,
    /// What it says, in a line of at most 200 bytes.
    description: String,
    /// What it is about.
    kind: Kind,
    /// The text, at most 16 KiB.
    body: String,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Insight,
    CodeFact,
    Convention,
    Gotcha,
    DeadEnd,
    Environment,
}

impl From<Kind> for NoteKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Insight => Self::Insight,
            Kind::CodeFact => Self::CodeFact,
            Kind::Convention => Self::Convention,
            Kind::Gotcha => Self::Gotcha,
            Kind::DeadEnd => Self::DeadEnd,
            Kind::Environment => Self::Environment,
        }
    }
}

impl Tool for WriteMemory {
    const NAME: &'static str = "write_memory";
    const DESCRIPTION: &'static str = "Writes a note for later sessions of this project, which the person sees too. Write down \
         what a new agent would waste time finding out again: facts, not how far the work is. What \
         was tried and does not work is worth most. A note of the same name gets a new version.";
    type Arguments = Arguments;

    fn prepare(arguments: Arguments, _: &Desk, _: &Session) -> Result<Prepared, String> {
        let Arguments { name, description, kind, body } = arguments;
        let name: NoteName = name.parse().map_err(|fault: NoteFault| fault.to_string())?;
        let act = NoteAct::Write(Draft::new(name, kind.into(), &description, &body)?);
        Ok(Prepared::Memory { effect: act.effect(), act })
    }
}
