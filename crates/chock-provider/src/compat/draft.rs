//! Gathers one reply from its chunks.

use chock_log::{Delta, Part, Stop, Thinking, Tokens, ToolCall};
use serde::Deserialize;
use serde_json::Value;

use crate::compat::calls::{CallPiece, Calls, Draft, Taken};
use crate::gist::{CALLS_MAX, Counted, Excess, Gist, InputDetails, OutputDetails, REPLY_BYTES_MAX};
use crate::ids::Ids;

/// One event of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Chunk {
    choices: Option<Vec<Choice>>,
    /// Read leniently: a count that makes no sense must not cost a reply.
    usage: Option<Value>,
    /// Anything but null is an error, with or without choices beside it.
    pub(crate) error: Option<Value>,
    /// `error` in the errors of some servers.
    pub(crate) object: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Choice {
    index: Option<u64>,
    delta: Option<Piece>,
    message: Option<Piece>,
    finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Piece {
    content: Option<Value>,
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
    refusal: Option<Value>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<InputDetails>,
    completion_tokens_details: Option<OutputDetails>,
}

/// A reply as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    parts: Vec<Gathered>,
    calls: Calls,
    refusal: String,
    finish: Option<String>,
    tokens: Option<Tokens>,
    bytes: usize,
}

#[derive(Debug)]
enum Gathered {
    Text(String),
    Thinking(String),
    /// The place of a call.
    Call(usize),
}

impl Gathering {
    /// Takes one chunk and shows what it brought.
    pub(crate) fn take(
        &mut self,
        chunk: Chunk,
        deltas: &mut dyn FnMut(Delta),
    ) -> Result<(), Excess> {
        // Counts are cumulative where they come more than once.
        self.tokens = chunk.usage.and_then(tokens).or(self.tokens);
        let choices = chunk.choices.unwrap_or_default();
        for choice in choices.into_iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
            if let Some(piece) = choice.delta.or(choice.message) {
                self.piece(piece, deltas)?;
            }
            let finish = choice.finish_reason.filter(|reason| !reason.is_empty());
            self.finish = finish.or(self.finish.take());
        }
        Ok(())
    }

    /// Says whether the server told why it stopped.
    pub(crate) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn piece(&mut self, piece: Piece, deltas: &mut dyn FnMut(Delta)) -> Result<(), Excess> {
        let thought = text(piece.reasoning_content);
        let thought = if thought.is_empty() { text(piece.reasoning) } else { thought };
        if !thought.is_empty() {
            self.count(thought.len())?;
            deltas(Delta::Thinking(thought.clone()));
            match self.parts.last_mut() {
                Some(Gathered::Thinking(so_far)) => so_far.push_str(&thought),
                _ => self.parts.push(Gathered::Thinking(thought)),
            }
        }
        let words = text(piece.content);
        if !words.is_empty() {
            self.count(words.len())?;
            deltas(Delta::Text(words.clone()));
            match self.parts.last_mut() {
                Some(Gathered::Text(so_far)) => so_far.push_str(&words),
                _ => self.parts.push(Gathered::Text(words)),
            }
        }
        let refusal = text(piece.refusal);
        self.count(refusal.len())?;
        self.refusal.push_str(&refusal);
        let calls = piece.tool_calls.unwrap_or_default();
        calls.into_iter().try_for_each(|piece| self.call(piece, deltas))
    }

    fn call(&mut self, piece: CallPiece, deltas: &mut dyn FnMut(Delta)) -> Result<(), Excess> {
        let (taken, bytes) = self.calls.take(piece);
        self.count(bytes)?;
        match taken {
            Taken::Began(place) => {
                deltas(Delta::Call(self.calls.name(place).to_owned()));
                self.parts.push(Gathered::Call(place));
                Ok(())
            }
            Taken::Continued => Ok(()),
            Taken::TooMany => Err(Excess { what: "calls", max: CALLS_MAX }),
        }
    }

    fn count(&mut self, bytes: usize) -> Result<(), Excess> {
        self.bytes += bytes;
        if self.bytes > REPLY_BYTES_MAX {
            return Err(Excess { what: "bytes", max: REPLY_BYTES_MAX });
        }
        Ok(())
    }

    /// Ends the reply, or returns `None` when it is only the beginning of one.
    ///
    /// `done` says that the server ended the stream itself. Without a reason beside
    /// it, calls count only if each is whole.
    pub(crate) fn finish(mut self, done: bool, ids: Ids) -> Option<Gist> {
        let stop = match self.finish.as_deref() {
            Some("error") => return None,
            Some("content_filter") => self.refused(Some("content_filter")),
            Some(_) if !self.refusal.is_empty() => self.refused(None),
            Some("length" | "max_tokens") => {
                // The limit broke the last call off: without arguments it would pass for a whole one.
                self.calls.drop_unbegun();
                if self.calls.is_empty() { Stop::Length } else { Stop::Calls }
            }
            // Some servers say `stop` beside calls.
            Some(_) if self.calls.is_empty() => Stop::Finished,
            Some(_) => Stop::Calls,
            None if !done || !self.calls.are_whole() => return None,
            None if !self.refusal.is_empty() => self.refused(None),
            None if self.calls.is_empty() => Stop::Finished,
            None => Stop::Calls,
        };
        Some(Gist { parts: parts(self.parts, self.calls, ids), stop, tokens: self.tokens })
    }

    /// Makes the reply a refusal, of which nothing is run.
    fn refused(&mut self, category: Option<&str>) -> Stop {
        self.calls = Calls::default();
        let explanation = Some(std::mem::take(&mut self.refusal)).filter(|text| !text.is_empty());
        Stop::Refused { category: category.map(str::to_owned), explanation }
    }
}

fn parts(gathered: Vec<Gathered>, calls: Calls, mut ids: Ids) -> Vec<Part> {
    let mut drafts: Vec<_> = calls.into_drafts().into_iter().map(Some).collect();
    let part = |gathered| match gathered {
        Gathered::Text(text) => Some(Part::Text(text)),
        Gathered::Thinking(text) => Some(Part::Thinking(Thinking { text, ..Thinking::default() })),
        Gathered::Call(place) => {
            let Draft { id, name, arguments, .. } = drafts.get_mut(place)?.take()?;
            Some(Part::Call(ToolCall { id: ids.unique(&id), name, arguments }))
        }
    };
    gathered.into_iter().filter_map(part).collect()
}

fn tokens(usage: Value) -> Option<Tokens> {
    let usage: Usage = serde_json::from_value(usage).ok()?;
    let counted = Counted {
        input: usage.prompt_tokens,
        input_details: usage.prompt_tokens_details,
        output: usage.completion_tokens,
        output_details: usage.completion_tokens_details,
    };
    counted.tokens()
}

/// Reads words that are a text, or a list of parts with texts.
fn text(value: Option<Value>) -> String {
    match value {
        Some(Value::String(text)) => text,
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            String::new()
        }
    }
}
