//! Gathers one reply from its events.

use std::collections::BTreeMap;

use chock_log::{Delta, Part, Stop, Thinking, Tokens, ToolCall};
use serde::Deserialize;
use serde_json::Value;

use crate::gist::{CALLS_MAX, Excess, Gist, REPLY_BYTES_MAX};
use crate::ids::Ids;

/// One event of a stream, or a whole message. What is not known is passed by.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Event {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    index: u64,
    /// Of `message_start`.
    message: Option<Head>,
    content_block: Option<Block>,
    delta: Option<Piece>,
    usage: Option<Value>,
    /// Of a whole message.
    content: Vec<Block>,
    stop_reason: Option<String>,
    stop_details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Head {
    usage: Option<Value>,
}

/// A block of a reply, as it begins or whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: String,
    thinking: String,
    signature: String,
    /// Of `redacted_thinking`.
    data: String,
    id: String,
    name: String,
    input: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Piece {
    #[serde(rename = "type")]
    kind: String,
    text: String,
    thinking: String,
    signature: String,
    partial_json: String,
    stop_reason: Option<String>,
    stop_details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    category: Option<String>,
    explanation: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

/// A reply as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    parts: BTreeMap<u64, Gathered>,
    calls: usize,
    stop: Option<String>,
    details: Option<Details>,
    tokens: Option<Tokens>,
    stopped: bool,
    bytes: usize,
}

#[derive(Debug)]
enum Gathered {
    Text(String),
    Thinking(Thinking),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    /// A block of a kind that Chock did not ask for.
    Other,
}

impl Gathering {
    /// Takes one event and shows what it brought.
    pub(crate) fn take(
        &mut self,
        event: Event,
        deltas: &mut dyn FnMut(Delta),
    ) -> Result<(), Excess> {
        match event.kind.as_str() {
            "message_start" => self.count(event.message.and_then(|head| head.usage)),
            "content_block_start" => {
                let block = event.content_block.unwrap_or_default();
                self.begin(event.index, block, deltas)?;
            }
            "content_block_delta" => {
                let piece = event.delta.unwrap_or_default();
                self.go_on(event.index, piece, deltas)?;
            }
            "message_delta" => {
                let end = event.delta.unwrap_or_default();
                self.stop = end.stop_reason.or(self.stop.take());
                self.details = end.stop_details.or(self.details.take());
                self.count(event.usage);
            }
            "message_stop" => self.stopped = true,
            // `ping`, `content_block_stop`, and what later versions add.
            _ => {}
        }
        Ok(())
    }

    /// Takes a message that came in one piece.
    pub(crate) fn whole(
        &mut self,
        message: Event,
        deltas: &mut dyn FnMut(Delta),
    ) -> Result<(), Excess> {
        for (index, mut block) in (0..).zip(message.content) {
            let input = std::mem::take(&mut block.input);
            let is_call = block.kind == "tool_use";
            self.begin(index, block, deltas)?;
            if is_call {
                let partial_json = input.to_string();
                let kind = "input_json_delta".to_owned();
                self.go_on(index, Piece { kind, partial_json, ..Piece::default() }, deltas)?;
            }
        }
        (self.stop, self.details) = (message.stop_reason, message.stop_details);
        self.stopped = message.kind == "message";
        self.count(message.usage);
        Ok(())
    }

    /// Says whether the server ended the reply itself.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    fn begin(
        &mut self,
        index: u64,
        block: Block,
        deltas: &mut dyn FnMut(Delta),
    ) -> Result<(), Excess> {
        let Block { kind, text, thinking, signature, data, id, name, .. } = block;
        self.weigh(text.len() + thinking.len() + signature.len() + data.len() + name.len())?;
        let part = match kind.as_str() {
            "text" => {
                show(&text, Delta::Text, deltas);
                Gathered::Text(text)
            }
            "thinking" => {
                show(&thinking, Delta::Thinking, deltas);
                let signature = Some(signature).filter(|signature| !signature.is_empty());
                Gathered::Thinking(Thinking { text: thinking, signature, redacted: false })
            }
            "redacted_thinking" => Gathered::Thinking(Thinking {
                text: String::new(),
                signature: Some(data),
                redacted: true,
            }),
            "tool_use" => {
                self.calls += 1;
                if self.calls > CALLS_MAX {
                    return Err(Excess { what: "calls", max: CALLS_MAX });
                }
                deltas(Delta::Call(name.clone()));
                Gathered::Call { id, name, arguments: String::new() }
            }
            _ => Gathered::Other,
        };
        self.parts.insert(index, part);
        Ok(())
    }

    fn go_on(
        &mut self,
        index: u64,
        piece: Piece,
        deltas: &mut dyn FnMut(Delta),
    ) -> Result<(), Excess> {
        let Piece { kind, text, thinking, signature, partial_json, .. } = piece;
        self.weigh(text.len() + thinking.len() + signature.len() + partial_json.len())?;
        match (kind.as_str(), self.parts.get_mut(&index)) {
            ("text_delta", Some(Gathered::Text(so_far))) => {
                so_far.push_str(&text);
                show(&text, Delta::Text, deltas);
            }
            ("thinking_delta", Some(Gathered::Thinking(so_far))) => {
                so_far.text.push_str(&thinking);
                show(&thinking, Delta::Thinking, deltas);
            }
            ("signature_delta", Some(Gathered::Thinking(so_far))) => {
                so_far.signature.get_or_insert_default().push_str(&signature);
            }
            ("input_json_delta", Some(Gathered::Call { arguments, .. })) => {
                arguments.push_str(&partial_json);
            }
            _ => {}
        }
        Ok(())
    }

    fn weigh(&mut self, bytes: usize) -> Result<(), Excess> {
        self.bytes += bytes;
        if self.bytes > REPLY_BYTES_MAX {
            return Err(Excess { what: "bytes", max: REPLY_BYTES_MAX });
        }
        Ok(())
    }

    /// Takes a count of tokens. Counts are cumulative, and what is absent is as it was.
    fn count(&mut self, usage: Option<Value>) {
        let usage = usage.and_then(|usage| serde_json::from_value::<Usage>(usage).ok());
        let Some(usage) = usage else { return };
        let held = self.tokens.unwrap_or_default();
        let output = usage.output_tokens.unwrap_or(held.output);
        let thought = usage.output_tokens_details.and_then(|details| details.thinking_tokens);
        self.tokens = Some(Tokens {
            input: usage.input_tokens.unwrap_or(held.input),
            cache_read: usage.cache_read_input_tokens.unwrap_or(held.cache_read),
            cache_write: usage.cache_creation_input_tokens.unwrap_or(held.cache_write),
            output,
            reasoning: thought.unwrap_or(held.reasoning).min(output),
        });
    }

    /// Ends the reply, or returns `None` when it is only the beginning of one.
    pub(crate) fn finish(self, ids: Ids) -> Option<Gist> {
        if !self.stopped {
            return None;
        }
        let details = self.details.unwrap_or_default();
        let refused =
            Stop::Refused { category: details.category, explanation: details.explanation };
        let stop = match self.stop.as_deref()? {
            "refusal" => refused,
            "max_tokens" | "model_context_window_exceeded" => Stop::Length,
            _ if self.calls > 0 => Stop::Calls,
            _ => Stop::Finished,
        };
        let runs = !matches!(stop, Stop::Refused { .. });
        Some(Gist { parts: parts(self.parts, runs, ids), stop, tokens: self.tokens })
    }
}

/// Shows words, if there are any.
fn show(words: &str, delta: fn(String) -> Delta, deltas: &mut dyn FnMut(Delta)) {
    if !words.is_empty() {
        deltas(delta(words.to_owned()));
    }
}

/// Makes the parts of a reply; calls only where they may run.
fn parts(gathered: BTreeMap<u64, Gathered>, with_calls: bool, mut ids: Ids) -> Vec<Part> {
    let part = |gathered| match gathered {
        Gathered::Text(text) if text.is_empty() => None,
        Gathered::Text(text) => Some(Part::Text(text)),
        Gathered::Thinking(thinking) => Some(Part::Thinking(thinking)),
        Gathered::Call { id, name, arguments } if with_calls => {
            // No piece at all is a call without arguments.
            let arguments = if arguments.is_empty() { "{}".to_owned() } else { arguments };
            Some(Part::Call(ToolCall { id: ids.unique(&id), name, arguments }))
        }
        Gathered::Call { .. } | Gathered::Other => None,
    };
    gathered.into_values().filter_map(part).collect()
}
