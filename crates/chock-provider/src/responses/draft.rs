//! Gathers one reply from its events.

use chock_log::{Delta, Part, Stop, Thinking, Tokens, ToolCall};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::gist::{CALLS_MAX, Counted, Excess, Gist, InputDetails, OutputDetails, REPLY_BYTES_MAX};
use crate::ids::Ids;

/// One event of a stream. What is not known is passed by.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Event {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) error: Option<Value>,
    /// Absent on the thinner streams of some servers.
    output_index: Option<u64>,
    delta: Option<Value>,
    item: Option<Map<String, Value>>,
    response: Option<Response>,
}

/// A response, as far as it has come or whole.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Response {
    pub(crate) status: Option<String>,
    pub(crate) error: Option<Value>,
    incomplete_details: Option<Incomplete>,
    output: Option<Vec<Map<String, Value>>>,
    /// Read leniently: a count that makes no sense must not cost a reply.
    usage: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Usage {
    input_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

/// A reply as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    /// Each whole item with its place, in the order they came.
    items: Vec<(u64, Map<String, Value>)>,
    calls: usize,
    bytes: usize,
    end: Option<End>,
    tokens: Option<Tokens>,
}

/// How the server ended a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Completed,
    /// It broke off, for this reason.
    Incomplete(Option<String>),
}

impl Gathering {
    /// Takes one event and shows what it brought. An item counts when it is whole.
    pub(crate) fn take(
        &mut self,
        event: Event,
        deltas: &mut dyn FnMut(Delta),
    ) -> Result<(), Excess> {
        let words = || event.delta.as_ref().and_then(Value::as_str).unwrap_or_default();
        match event.kind.as_str() {
            "response.output_text.delta" => show(words(), Delta::Text, deltas),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                show(words(), Delta::Thinking, deltas);
            }
            "response.output_item.added" => {
                if let Some(name) = event.item.as_ref().and_then(name_of_call) {
                    deltas(Delta::Call(name.to_owned()));
                }
            }
            "response.output_item.done" => {
                let place = event.output_index.unwrap_or(u64::MAX);
                if let Some(item) = event.item {
                    self.item(place, item)?;
                }
            }
            "response.completed" | "response.done" => {
                self.ended(End::Completed, event.response.unwrap_or_default())?;
            }
            "response.incomplete" => {
                let response = event.response.unwrap_or_default();
                self.ended(incomplete(&response), response)?;
            }
            // `response.created`, the ends of parts, and what later versions add.
            _ => {}
        }
        Ok(())
    }

    /// Takes a response that came in one piece.
    pub(crate) fn whole(
        &mut self,
        response: Response,
        deltas: &mut dyn FnMut(Delta),
    ) -> Result<(), Excess> {
        let end = match response.status.as_deref() {
            Some("completed") => End::Completed,
            Some("incomplete") => incomplete(&response),
            // It is not whole.
            Some(_) | None => return Ok(()),
        };
        self.ended(end, response)?;
        for (_, item) in &self.items {
            show(&words_of(item, "output_text", "text"), Delta::Text, deltas);
            if let Some(name) = name_of_call(item) {
                deltas(Delta::Call(name.to_owned()));
            }
        }
        Ok(())
    }

    /// Says whether the server ended the reply itself.
    pub(crate) fn is_ended(&self) -> bool {
        self.end.is_some()
    }

    fn ended(&mut self, end: End, response: Response) -> Result<(), Excess> {
        self.tokens = response.usage.and_then(tokens);
        self.end = Some(end);
        if self.items.is_empty() {
            // Some servers tell of whole items only here.
            let output = response.output.unwrap_or_default();
            return (0..).zip(output).try_for_each(|(place, item)| self.item(place, item));
        }
        Ok(())
    }

    fn item(&mut self, place: u64, item: Map<String, Value>) -> Result<(), Excess> {
        self.calls += usize::from(name_of_call(&item).is_some());
        if self.calls > CALLS_MAX {
            return Err(Excess { what: "calls", max: CALLS_MAX });
        }
        self.bytes += item.values().map(weight).sum::<usize>();
        if self.bytes > REPLY_BYTES_MAX {
            return Err(Excess { what: "bytes", max: REPLY_BYTES_MAX });
        }
        self.items.push((place, item));
        Ok(())
    }

    /// Ends the reply, or returns `None` when it is only the beginning of one.
    pub(crate) fn finish(mut self, ids: Ids) -> Option<Gist> {
        let end = self.end?;
        self.items.sort_by_key(|(place, _)| *place);
        let items: Vec<_> = self.items.into_iter().map(|(_, item)| item).collect();
        let refusal: String =
            items.iter().map(|item| words_of(item, "refusal", "refusal")).collect();
        let refused = |category: Option<&str>| Stop::Refused {
            category: category.map(str::to_owned),
            explanation: Some(refusal.clone()).filter(|words| !words.is_empty()),
        };
        let calls = items.iter().any(is_whole_call);
        let stop = match &end {
            End::Incomplete(Some(reason)) if reason == "content_filter" => refused(Some(reason)),
            End::Completed | End::Incomplete(_) if !refusal.is_empty() => refused(None),
            End::Incomplete(Some(reason)) if reason == "max_output_tokens" => Stop::Length,
            End::Completed | End::Incomplete(_) if calls => Stop::Calls,
            End::Completed | End::Incomplete(_) => Stop::Finished,
        };
        let runs = !matches!(stop, Stop::Refused { .. });
        Some(Gist { parts: parts(items, runs, ids), stop, tokens: self.tokens })
    }
}

fn incomplete(response: &Response) -> End {
    let details = response.incomplete_details.as_ref();
    End::Incomplete(details.and_then(|details| details.reason.clone()))
}

/// Shows words, if there are any.
fn show(words: &str, delta: fn(String) -> Delta, deltas: &mut dyn FnMut(Delta)) {
    if !words.is_empty() {
        deltas(delta(words.to_owned()));
    }
}

/// Makes the parts of a reply; calls only where they may run.
fn parts(items: Vec<Map<String, Value>>, with_calls: bool, mut ids: Ids) -> Vec<Part> {
    let mut parts = Vec::new();
    for item in items {
        match text(&item, "type") {
            "message" => {
                let words = words_of(&item, "output_text", "text");
                if !words.is_empty() {
                    parts.extend(phase(&item));
                    parts.push(Part::Text(words));
                }
            }
            "reasoning" => parts.push(Part::Thinking(thinking(item))),
            "function_call" if with_calls && is_whole_call(&item) => {
                let (name, arguments) = (text(&item, "name"), text(&item, "arguments"));
                let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
                parts.push(Part::Call(ToolCall {
                    id: ids.unique(text(&item, "call_id")),
                    name: name.to_owned(),
                    arguments: arguments.to_owned(),
                }));
            }
            // A call that may not run, and items that Chock did not ask for.
            _ => {}
        }
    }
    parts
}

/// Keeps a reasoning item whole, for it goes back unchanged. What is null says nothing, and some
/// servers refuse it.
fn thinking(mut item: Map<String, Value>) -> Thinking {
    let summary = words_in(item.get("summary"), "summary_text", "text");
    let content = words_in(item.get("content"), "reasoning_text", "text");
    item.retain(|_, value| !value.is_null());
    let words = if summary.is_empty() { content } else { summary };
    let is_sealed = !text(&item, "encrypted_content").is_empty();
    let signature = is_sealed.then(|| Value::Object(item).to_string());
    Thinking { redacted: words.is_empty() && signature.is_some(), text: words, signature }
}

/// Keeps what a server says of the message behind it, and wants to hear again.
fn phase(item: &Map<String, Value>) -> Option<Part> {
    let phase = item.get("phase")?.as_str()?;
    let signature = Some(json!({ "phase": phase }).to_string());
    Some(Part::Thinking(Thinking { text: String::new(), signature, redacted: true }))
}

fn name_of_call(item: &Map<String, Value>) -> Option<&str> {
    (text(item, "type") == "function_call").then(|| text(item, "name"))
}

/// Says whether an item is a call that was not broken off.
fn is_whole_call(item: &Map<String, Value>) -> bool {
    text(item, "type") == "function_call" && text(item, "status") != "incomplete"
}

fn text<'a>(item: &'a Map<String, Value>, field: &str) -> &'a str {
    item.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Joins the words of an item's content that are of `kind`.
fn words_of(item: &Map<String, Value>, kind: &str, field: &str) -> String {
    match text(item, "type") {
        "message" => words_in(item.get("content"), kind, field),
        _ => String::new(),
    }
}

fn words_in(parts: Option<&Value>, kind: &str, field: &str) -> String {
    let parts = parts.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let of_kind =
        parts.iter().filter(|part| part.get("type").and_then(Value::as_str) == Some(kind));
    let words: Vec<_> = of_kind.filter_map(|part| part.get(field)?.as_str()).collect();
    // Parts of a summary are paragraphs; parts of a message follow each other.
    words.join(if kind == "summary_text" { "\n\n" } else { "" })
}

/// Counts the bytes of a value's texts.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(weight).sum(),
        Value::Object(fields) => fields.values().map(weight).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

fn tokens(usage: Value) -> Option<Tokens> {
    let usage: Usage = serde_json::from_value(usage).ok()?;
    let counted = Counted {
        input: usage.input_tokens,
        input_details: usage.input_tokens_details,
        output: usage.output_tokens,
        output_details: usage.output_tokens_details,
    };
    counted.tokens()
}
