//! The tools of one session.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use chock_log::{Action, Ended, Outcome, Permit, Proposal, Session, ToolCall, ToolSchema};
use chock_sandbox::{Cancel, Keeper, Program};
use serde_json::Value;

use crate::carry::{Carried, Work, carry_out};
use crate::desk::Desk;
use crate::output::Outputs;
use crate::proposed::Proposed;
use crate::reading::{How, Reading};
use crate::tool::{Entry, Prepared, TABLE};
use crate::{arguments, hint};

/// What the tools of a session need.
#[derive(Debug)]
pub struct Setup {
    /// The session's sandbox, whose binary was started with [`HANDS`](crate::HANDS).
    pub keeper: Keeper,
    /// The top of the project, at its place in the cage.
    pub project: PathBuf,
    /// Where the session works from: the project or a directory beneath it. Relative paths of
    /// calls start here.
    pub directory: PathBuf,
    /// The whole environment of a command, as [`Compiled`](crate::cage::Compiled) has it.
    pub environment: Vec<(OsString, OsString)>,
    /// The shell inside the cage, as [`Compiled`](crate::cage::Compiled) has it.
    pub shell: PathBuf,
    /// An existing directory of the host (0755), bound read only at
    /// [`OUTPUTS_INSIDE`](crate::OUTPUTS_INSIDE): long outputs are kept there.
    pub outputs: PathBuf,
    /// How long a command may take when its call says nothing: 120 seconds is usual, and
    /// 600 seconds the most.
    pub call_time: Duration,
}

/// The tools of one session: proposes what calls ask for, and carries out what was permitted.
#[derive(Debug)]
pub struct Tools {
    keeper: Keeper,
    desk: Desk,
    outputs: Outputs,
    known: Vec<Known>,
}

/// One tool with its schema made.
#[derive(Debug)]
struct Known {
    entry: &'static Entry,
    parameters: Value,
}

impl Tools {
    /// Makes the tools of a session.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let Setup { keeper, project, directory, environment, shell, outputs, call_time } = setup;
        let known =
            TABLE.iter().map(|entry| Known { entry, parameters: (entry.parameters)() }).collect();
        let desk = Desk { project, directory, environment, shell, call_time };
        Self { keeper, desk, outputs: Outputs::new(outputs), known }
    }

    /// Describes every tool to a model, always in the same order.
    #[must_use]
    pub fn schemas(&self) -> Vec<ToolSchema> {
        let schemas = self.known.iter().map(|known| ToolSchema {
            name: known.entry.name.to_owned(),
            description: known.entry.description.to_owned(),
            parameters: known.parameters.clone(),
        });
        schemas.collect()
    }

    /// Says what a call asks for. Nothing is touched, on the host or in the cage.
    #[must_use]
    pub fn propose(&self, call: &ToolCall, session: &Session) -> Proposed {
        match self.prepare(call, session) {
            Ok((tool, prepared)) => propose(call, tool, prepared, &self.desk),
            Err(words) => Proposed::Fault(Outcome::new(Ended::Fault, words)),
        }
    }

    fn prepare(
        &self,
        call: &ToolCall,
        session: &Session,
    ) -> Result<(&'static str, Prepared), String> {
        let known = self.known.iter().find(|known| known.entry.name == call.name);
        let Some(Known { entry, parameters }) = known else {
            return Err(unknown_tool(&call.name));
        };
        let checked = arguments::check(parameters, &call.arguments)
            .and_then(|value| (entry.prepare)(value, &self.desk, session));
        match checked {
            Ok(prepared) => Ok((entry.name, prepared)),
            Err(fault) => Err(format!("{}: {fault}", entry.name)),
        }
    }

    /// Does a permitted act in a fresh cell and words what came of it.
    ///
    /// `progress` is given a command's output piece by piece, raw, while it runs; a file tool
    /// says nothing before its end. A fault of the sandbox is an outcome too: see
    /// [`Carried::sandbox_is_lost`].
    pub fn carry_out(
        &mut self,
        permit: Permit<Program>,
        reading: Reading,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&[u8]),
    ) -> Carried {
        let work = Work { keeper: &self.keeper, permit, cancel };
        carry_out(work, reading, &mut self.outputs, progress)
    }

    /// Names the sandbox layers that hold for the whole session, as they were read back.
    #[must_use]
    pub fn layers(&self) -> Vec<String> {
        let layers = self.keeper.layers().iter();
        layers.map(|applied| applied.layer.name().to_owned()).collect()
    }
}

fn propose(call: &ToolCall, tool: &'static str, prepared: Prepared, desk: &Desk) -> Proposed {
    let (act, effect, reading) = match prepared {
        Prepared::Note { event, text } => {
            return Proposed::Note { event, outcome: Outcome::new(Ended::Done, text) };
        }
        Prepared::Hand { request, effect } => {
            let directory = desk.directory.clone();
            let act = Program::Hand { name: tool.to_owned(), request, directory };
            (act, effect, Reading(How::Hand))
        }
        Prepared::Command { act, effect, reading } => (act, effect, Reading(How::Command(reading))),
    };
    let actions = vec![Action::below("call", &[tool])];
    let (call, tool) = (call.id.clone(), tool.to_owned());
    Proposed::Act { proposal: Proposal { call, tool, act, actions, effect }, reading }
}

fn unknown_tool(name: &str) -> String {
    let names: Vec<_> = TABLE.iter().map(|entry| entry.name).collect();
    let shown: String = name.chars().take(64).collect();
    let meant = hint::nearest(name, names.iter().copied());
    let meant = meant.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
    format!("there is no tool `{shown}`: {meant}the tools are {}", names.join(", "))
}
