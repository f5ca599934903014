//! Writes a context as a Messages request.

use std::borrow::Cow;

use chock_log::{ModelMessage, Part, Thinking, ToolCall, ToolSchema, holds_marker};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::compat::{replayed, valid};
use crate::context::{Context, Picture};
use crate::endpoint::Endpoint;
use crate::history::{Answer, Piece, Turn, turns};

/// The most tokens of a reply when nothing says so. Every current model takes it.
const OUTPUT_TOKENS: u64 = 16_000;

/// What stands where the wire wants a person's words and there are none.
const GO_ON: &str = "Go on.";

/// How many of the last messages of the person end in a mark for the cache: the newest, and the
/// one before it, which the last request marked. Tools and system have one each, and 4 are allowed.
const MARKED_MESSAGES: usize = 2;

#[derive(Debug, Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Adaptive>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    stream: bool,
}

#[derive(Debug, Serialize)]
struct Adaptive {
    r#type: &'static str,
}

#[derive(Debug, Serialize)]
struct OutputConfig<'a> {
    effort: &'a str,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mark>,
}

/// A place up to which the server may keep the prompt.
#[derive(Debug, Clone, Copy, Serialize)]
struct Mark {
    r#type: &'static str,
}

const MARK: Mark = Mark { r#type: "ephemeral" };

#[derive(Debug, Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Debug, Serialize)]
struct Block<'a> {
    #[serde(flatten)]
    body: BlockBody<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Mark>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockBody<'a> {
    Text { text: Cow<'a, str> },
    Thinking { thinking: &'a str, signature: &'a str },
    RedactedThinking { data: &'a str },
    ToolUse { id: Cow<'a, str>, name: Cow<'a, str>, input: Box<RawValue> },
    ToolResult { tool_use_id: Cow<'a, str>, content: Content<'a>, is_error: bool },
    Image { source: Source<'a> },
}

/// What a call came to: words, or words and pictures.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Words(&'a str),
    Blocks(Vec<BlockBody<'a>>),
}

/// A picture in the request itself.
#[derive(Debug, Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: String,
}

impl<'a> From<BlockBody<'a>> for Block<'a> {
    fn from(body: BlockBody<'a>) -> Self {
        Self { body, cache_control: None }
    }
}

/// Writes the request's body. No sampling field is sent: newer models refuse them all.
pub(crate) fn body(endpoint: &Endpoint, context: &Context) -> Vec<u8> {
    let max_tokens = context.max_output_tokens.or(endpoint.max_output_tokens);
    let mut tools: Vec<_> = context.tools.iter().map(tool).collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(MARK);
    }
    let system = (!context.system.trim().is_empty())
        .then(|| Block { cache_control: Some(MARK), ..text(context.system.as_str()).into() });
    let mut messages = messages(endpoint, context);
    let persons = messages.iter_mut().rev().filter(|message| message.role == USER);
    for message in persons.take(MARKED_MESSAGES) {
        if let Some(last) = message.content.last_mut() {
            last.cache_control = Some(MARK);
        }
    }
    let effort = endpoint.effort.as_deref();
    let may_think = has_its_thoughts(endpoint, context);
    let body = Body {
        model: &endpoint.model,
        max_tokens: max_tokens.unwrap_or(OUTPUT_TOKENS),
        system: system.into_iter().collect(),
        messages,
        tools,
        thinking: effort.filter(|_| may_think).map(|_| Adaptive { r#type: "adaptive" }),
        output_config: effort.map(|effort| OutputConfig { effort }),
        stream: true,
    };
    serde_json::to_vec(&body).expect("invariant: keys are strings")
}

/// Says whether the last reply goes back with all its thinking, as it must while its calls are
/// answered and the model is asked to think. Without what another model thought, or what has a secret
/// masked in it, the model is not asked to until its own next reply.
fn has_its_thoughts(endpoint: &Endpoint, context: &Context) -> bool {
    let last = context.messages.iter().rev().find_map(|message| match message {
        crate::context::Message::Model(reply) => Some(reply).filter(|reply| !reply.is_empty()),
        crate::context::Message::User { .. }
        | crate::context::Message::Result { .. }
        | crate::context::Message::Picture { .. } => None,
    });
    let Some(last) = last.filter(|reply| reply.calls().next().is_some()) else { return true };
    let is_sent = |part: &Part| match part {
        Part::Thinking(thinking) => thought(thinking).is_some(),
        Part::Text(_) | Part::Call(_) => true,
    };
    is_of(endpoint, last) && last.parts.iter().all(is_sent)
}

/// Says whether a reply is the endpoint's own.
fn is_of(endpoint: &Endpoint, message: &ModelMessage) -> bool {
    message.provider == endpoint.provider && message.model == endpoint.model
}

const USER: &str = "user";
const ASSISTANT: &str = "assistant";

/// Writes the conversation: roles alternate, a person is first and last, and results come first
/// in the message behind their calls.
fn messages<'a>(endpoint: &Endpoint, context: &'a Context) -> Vec<Message<'a>> {
    let mut messages: Vec<Message<'a>> = Vec::new();
    for turn in turns(&context.messages) {
        match turn {
            Turn::User(texts) => {
                let blocks = texts.into_iter().map(|piece| match piece {
                    Piece::Words(words) => text(words).into(),
                    Piece::Picture(picture) => image(picture).into(),
                });
                push(&mut messages, USER, blocks.collect());
            }
            Turn::Reply { message, results } => {
                let blocks = reply(endpoint, message);
                if messages.is_empty() && !blocks.is_empty() {
                    push(&mut messages, USER, vec![text(GO_ON).into()]);
                }
                push(&mut messages, ASSISTANT, blocks);
                let results = results.into_iter().map(|answer| result(&answer).into());
                push(&mut messages, USER, results.collect());
            }
        }
    }
    if messages.last().is_none_or(|last| last.role != USER) {
        push(&mut messages, USER, vec![text(GO_ON).into()]);
    }
    messages
}

/// Adds blocks behind those of the same role.
fn push<'a>(messages: &mut Vec<Message<'a>>, role: &'static str, content: Vec<Block<'a>>) {
    if content.is_empty() {
        return;
    }
    match messages.last_mut() {
        Some(last) if last.role == role => last.content.extend(content),
        Some(_) | None => messages.push(Message { role, content }),
    }
}

fn reply<'a>(endpoint: &Endpoint, message: &'a ModelMessage) -> Vec<Block<'a>> {
    let same = is_of(endpoint, message);
    let block = |part: &'a Part| match part {
        Part::Text(words) => (!words.trim().is_empty()).then(|| text(words)),
        Part::Thinking(thinking) => thought(thinking).filter(|_| same),
        Part::Call(call) => Some(call_of(call)),
    };
    message.parts.iter().filter_map(block).map(Block::from).collect()
}

/// Sends thinking back as it came. Without its signature, or with a secret masked in it, the
/// server would refuse it.
fn thought(thinking: &Thinking) -> Option<BlockBody<'_>> {
    let Thinking { text, signature, redacted } = thinking;
    // What begins like this is an item of the wire of Responses, from when the row was of its kind.
    let signature = signature.as_deref().filter(|signature| !signature.starts_with('{'))?;
    if *redacted {
        return Some(BlockBody::RedactedThinking { data: signature });
    }
    (!holds_marker(text)).then_some(BlockBody::Thinking { thinking: text, signature })
}

fn call_of(call: &ToolCall) -> BlockBody<'_> {
    let input = RawValue::from_string(replayed(&call.arguments));
    BlockBody::ToolUse {
        id: id(&call.id),
        name: valid(&call.name),
        input: input.expect("invariant: what is replayed is an object"),
    }
}

fn result<'a>(answer: &Answer<'a>) -> BlockBody<'a> {
    let words = if answer.text.is_empty() { "(nothing)" } else { answer.text };
    // Beside an error only words are taken.
    let content = if answer.pictures.is_empty() || answer.is_error {
        Content::Words(words)
    } else {
        let pictures = answer.pictures.iter().map(|picture| image(picture));
        Content::Blocks([text(words)].into_iter().chain(pictures).collect())
    };
    BlockBody::ToolResult { tool_use_id: id(&answer.call.id), content, is_error: answer.is_error }
}

fn image(picture: &Picture) -> BlockBody<'_> {
    let (media_type, data) = (picture.media_type.as_str(), picture.base64());
    BlockBody::Image { source: Source { r#type: "base64", media_type, data } }
}

/// Makes an id that another wire gave one that this wire takes: letters, digits, `_` and `-`.
fn id(given: &str) -> Cow<'_, str> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if given.bytes().all(allowed) {
        return Cow::Borrowed(given);
    }
    Cow::Owned(given.bytes().map(|byte| format!("{byte:02x}")).collect())
}

fn text<'a>(words: impl Into<Cow<'a, str>>) -> BlockBody<'a> {
    BlockBody::Text { text: words.into() }
}

fn tool(schema: &ToolSchema) -> Tool<'_> {
    let ToolSchema { name, description, parameters } = schema;
    Tool { name, description, input_schema: parameters, cache_control: None }
}
