//! Writes a context as a Responses request.

use std::borrow::Cow;

use chock_log::{ModelMessage, Part, Thinking, ToolSchema, holds_marker};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::compat::{replayed, valid};
use crate::context::Context;
use crate::endpoint::Endpoint;
use crate::history::{Answer, Piece, Turn, turns};

/// The least tokens of a reply that the wire takes.
const OUTPUT_TOKENS_MIN: u64 = 16;

/// What stands where the wire wants a person's words and there are none.
const GO_ON: &str = "Go on.";

/// What stands where an account's back end wants instructions and there are none.
const INSTRUCTIONS: &str = "Answer what you are asked.";

/// The request's body. The whole conversation is in it, and the server keeps nothing.
#[derive(Debug, Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    store: bool,
    stream: bool,
    include: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Reasoning<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    /// The wire's own default changes the schema.
    strict: bool,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Said(Said<'a>),
    /// A reasoning item, as it came.
    Reasoning(Map<String, Value>),
    Called(Called<'a>),
    Result(Output<'a>),
}

#[derive(Debug, Serialize)]
struct Said<'a> {
    r#type: &'static str,
    role: &'static str,
    content: Vec<Words<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
}

/// Words, or a picture.
#[derive(Debug, Serialize)]
struct Words<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_url: Option<String>,
}

impl<'a> Words<'a> {
    fn new(r#type: &'static str, text: &'a str) -> Self {
        Self { r#type, text: Some(text), image_url: None }
    }

    fn of(piece: &Piece<'a>) -> Self {
        match piece {
            Piece::Words(text) => Self::new("input_text", text),
            Piece::Picture(picture) => {
                Self { r#type: "input_image", text: None, image_url: Some(picture.url()) }
            }
        }
    }
}

/// A call without its item's own id: with it, the server insists on the reasoning before it.
#[derive(Debug, Serialize)]
struct Called<'a> {
    r#type: &'static str,
    call_id: &'a str,
    name: Cow<'a, str>,
    arguments: String,
}

#[derive(Debug, Serialize)]
struct Output<'a> {
    r#type: &'static str,
    call_id: &'a str,
    output: Shown<'a>,
}

/// What a call came to: words, or words and pictures.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Words(&'a str),
    Pieces(Vec<Words<'a>>),
}

/// Writes the request's body.
pub(crate) fn body(endpoint: &Endpoint, context: &Context) -> Vec<u8> {
    let is_account = endpoint.originator.is_some();
    let system = Some(context.system.as_str()).filter(|system| !system.trim().is_empty());
    let has_tools = !context.tools.is_empty();
    let effort = endpoint.effort.as_deref();
    // With a key, some organisations may not ask for summaries.
    let summary = is_account.then_some("auto");
    let limit = context.max_output_tokens.or(endpoint.max_output_tokens);
    let body = Body {
        model: &endpoint.model,
        instructions: system.or(is_account.then_some(INSTRUCTIONS)),
        input: items(endpoint, context),
        tools: context.tools.iter().map(tool).collect(),
        tool_choice: has_tools.then_some("auto"),
        parallel_tool_calls: has_tools.then_some(true),
        reasoning: (effort.is_some() || is_account).then_some(Reasoning { effort, summary }),
        store: false,
        stream: true,
        include: ["reasoning.encrypted_content"],
        prompt_cache_key: Some(context.conversation.as_str()).filter(|name| !name.is_empty()),
        // An account's back end refuses the field.
        max_output_tokens: limit.filter(|_| !is_account).map(|limit| limit.max(OUTPUT_TOKENS_MIN)),
    };
    serde_json::to_vec(&body).expect("invariant: keys are strings")
}

/// Writes the conversation. A person's words are last, unless results are.
fn items<'a>(endpoint: &Endpoint, context: &'a Context) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    let mut is_owed = true;
    for turn in turns(&context.messages) {
        match turn {
            Turn::User(texts) => {
                items.push(Item::Said(person(texts)));
                is_owed = false;
            }
            Turn::Reply { message, results } => {
                items.extend(reply(endpoint, message));
                is_owed = results.is_empty();
                items.extend(results.into_iter().map(result));
            }
        }
    }
    if is_owed {
        items.push(Item::Said(person(vec![Piece::Words(GO_ON)])));
    }
    items
}

fn person(pieces: Vec<Piece<'_>>) -> Said<'_> {
    let content = pieces.iter().map(Words::of).collect();
    Said { r#type: "message", role: "user", content, phase: None }
}

/// Writes the items of a reply in the order they came.
fn reply<'a>(endpoint: &Endpoint, message: &'a ModelMessage) -> Vec<Item<'a>> {
    let same = message.provider == endpoint.provider && message.model == endpoint.model;
    let mut items = Vec::new();
    let mut phase = None;
    for part in &message.parts {
        match part {
            Part::Text(text) => {
                let phase = phase.take();
                if !text.trim().is_empty() {
                    let content = vec![Words::new("output_text", text)];
                    items.push(Item::Said(Said {
                        r#type: "message",
                        role: "assistant",
                        content,
                        phase,
                    }));
                }
            }
            Part::Thinking(thinking) if same => match sealed(thinking) {
                Some(Sealed::Item(item)) => items.push(Item::Reasoning(item)),
                Some(Sealed::Phase(word)) => phase = Some(word),
                None => {}
            },
            Part::Thinking(_) => {}
            Part::Call(call) => items.push(Item::Called(Called {
                r#type: "function_call",
                call_id: &call.id,
                name: valid(&call.name),
                arguments: replayed(&call.arguments),
            })),
        }
    }
    // Reasoning that nothing followed is refused.
    while matches!(items.last(), Some(Item::Reasoning(_))) {
        items.pop();
    }
    items
}

/// What a signature of this wire holds.
enum Sealed {
    /// A reasoning item.
    Item(Map<String, Value>),
    /// The phase of the message behind it.
    Phase(String),
}

/// Reads what goes back unchanged; nothing of another wire, and nothing with a secret masked in it.
fn sealed(thinking: &Thinking) -> Option<Sealed> {
    let signature = thinking.signature.as_deref().filter(|text| !holds_marker(text))?;
    let item: Map<String, Value> = serde_json::from_str(signature).ok()?;
    if let Some(phase) = item.get("phase").and_then(Value::as_str) {
        return Some(Sealed::Phase(phase.to_owned()));
    }
    let is_reasoning = item.get("type").and_then(Value::as_str) == Some("reasoning");
    is_reasoning.then_some(Sealed::Item(item))
}

fn result<'a>(answer: Answer<'a>) -> Item<'a> {
    let Answer { call, text, pictures, .. } = answer;
    let output = if pictures.is_empty() {
        Shown::Words(text)
    } else {
        let pictures = pictures.into_iter().map(Piece::Picture);
        let pieces = [Piece::Words(text)].into_iter().chain(pictures);
        Shown::Pieces(pieces.map(|piece| Words::of(&piece)).collect())
    };
    Item::Result(Output { r#type: "function_call_output", call_id: &call.id, output })
}

fn tool(schema: &ToolSchema) -> Tool<'_> {
    let ToolSchema { name, description, parameters } = schema;
    Tool { r#type: "function", name, description, parameters, strict: false }
}
