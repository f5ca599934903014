//! Plays the turns of a script, for tests and the demonstration.

use std::time::Duration;

use chock_log::{Cost, Delta, ModelMessage, Part, Stop, Thinking, Tokens, ToolCall};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

use crate::cancel::Cancel;
use crate::context::Context;
use crate::fault::{Cause, ProviderFault};
use crate::ids::Ids;
use crate::model::{Model, Reply};

/// The longest pause before a turn.
const DELAY_MAX: Duration = Duration::from_secs(3600);

/// A model that says what its script says.
///
/// The script is JSON: `{"turns": [{"text", "thinking", "tools", "refusal", "stop",
/// "usage", "delay_ms"}]}`, each field optional. A tool is `{"name", "input"}` or
/// `{"name", "raw_arguments"}`. The turn that follows the replies of the context is
/// played, so that a session goes on where it was left.
#[derive(Debug)]
pub struct Scripted {
    provider: String,
    model: String,
    turns: Vec<Turn>,
    played: usize,
    runtime: Runtime,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    #[serde(default, rename = "about")]
    _about: String,
    turns: Vec<Turn>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Turn {
    text: String,
    thinking: String,
    tools: Vec<Tool>,
    refusal: Option<Refusal>,
    stop: Option<Halt>,
    usage: Option<Usage>,
    delay_ms: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    name: String,
    #[serde(default)]
    input: Map<String, Value>,
    /// Sent as it stands, in place of `input`.
    #[serde(default)]
    raw_arguments: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Refusal {
    Words(String),
    Full(FullRefusal),
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FullRefusal {
    text: String,
    category: Option<String>,
    explanation: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Halt {
    Length,
}

/// `input` counts all of it, cached or not.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Usage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    reasoning: u64,
}

impl Scripted {
    /// Reads a script. `provider` and `model` are the names that its replies carry.
    ///
    /// # Errors
    ///
    /// It is no JSON, or not of the shape.
    pub fn new(provider: &str, model: &str, script: &str) -> Result<Self, ProviderFault> {
        let fault = |source: Cause| ProviderFault::Script { source };
        let script: Script = serde_json::from_str(script).map_err(|source| fault(source.into()))?;
        let runtime = Builder::new_current_thread().enable_time().build();
        Ok(Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            turns: script.turns,
            played: 0,
            runtime: runtime.map_err(|source| fault(source.into()))?,
        })
    }
}

impl Model for Scripted {
    fn reply(
        &mut self,
        context: &Context,
        deltas: &mut dyn FnMut(Delta),
        cancel: &Cancel,
    ) -> Result<Reply, ProviderFault> {
        // Replies that are in no context any more were played by this very model.
        let place = self.played.max(context.replies());
        let Some(turn) = self.turns.get(place).cloned() else {
            let (provider, turns) = (self.provider.clone(), self.turns.len());
            return Err(ProviderFault::OutOfTurns { provider, turns });
        };
        self.pause(Duration::from_millis(turn.delay_ms).min(DELAY_MAX), cancel)?;
        self.played = place + 1;
        show(&turn, deltas);
        let tokens = turn.usage.map(Usage::tokens);
        let (provider, model) = (self.provider.clone(), self.model.clone());
        let (parts, stop) = turn.said(Ids::of(context), place);
        let message = ModelMessage { provider, model, parts, stop };
        Ok(Reply { message, tokens, cost: Cost::Free, retries: Vec::new() })
    }
}

impl Scripted {
    fn pause(&self, delay: Duration, cancel: &Cancel) -> Result<(), ProviderFault> {
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = cancel.triggered() => Err(ProviderFault::Cancelled),
                () = sleep(delay) => Ok(()),
            }
        })
    }
}

/// Shows a turn piece by piece: reasoning, words line by line, calls.
fn show(turn: &Turn, deltas: &mut dyn FnMut(Delta)) {
    if !turn.thinking.is_empty() {
        deltas(Delta::Thinking(turn.thinking.clone()));
    }
    for line in turn.text.split_inclusive('\n') {
        deltas(Delta::Text(line.to_owned()));
    }
    for tool in &turn.tools {
        deltas(Delta::Call(tool.name.clone()));
    }
}

impl Turn {
    fn said(self, mut ids: Ids, place: usize) -> (Vec<Part>, Stop) {
        let thinking = Thinking { text: self.thinking, ..Thinking::default() };
        let thinking = Some(thinking).filter(|thinking| !thinking.text.is_empty());
        let text = Some(self.text).filter(|text| !text.is_empty());
        let calls: Vec<_> = self
            .tools
            .into_iter()
            .enumerate()
            .map(|(number, tool)| {
                let id = ids.unique(&format!("call_{}_{}", place + 1, number + 1));
                let input = || Value::Object(tool.input).to_string();
                let arguments = tool.raw_arguments.unwrap_or_else(input);
                Part::Call(ToolCall { id, name: tool.name, arguments })
            })
            .collect();
        let stop = match (self.refusal, self.stop) {
            (Some(refusal), _) => refusal.stop(),
            (None, Some(Halt::Length)) => Stop::Length,
            (None, None) if calls.is_empty() => Stop::Finished,
            (None, None) => Stop::Calls,
        };
        let said = thinking.map(Part::Thinking).into_iter().chain(text.map(Part::Text));
        (said.chain(calls).collect(), stop)
    }
}

impl Refusal {
    fn stop(self) -> Stop {
        match self {
            Self::Words(text) => Stop::Refused { category: None, explanation: Some(text) },
            Self::Full(FullRefusal { text, category, explanation }) => {
                let explanation = explanation.or(Some(text)).filter(|text| !text.is_empty());
                Stop::Refused { category, explanation }
            }
        }
    }
}

impl Usage {
    fn tokens(self) -> Tokens {
        let Self { input, output, cache_read, cache_write, reasoning } = self;
        let input = input.saturating_sub(cache_read).saturating_sub(cache_write);
        Tokens { input, cache_read, cache_write, output, reasoning }
    }
}
