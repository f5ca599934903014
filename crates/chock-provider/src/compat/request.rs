//! Writes a context as a chat completions request.

use std::borrow::Cow;

use chock_log::{ModelMessage, Part, ToolSchema};
use serde::Serialize;
use serde_json::Value;

use crate::compat::calls::replayed;
use crate::context::Context;
use crate::endpoint::{
    Endpoint, OutputLimit, ReasoningReplay, SystemRole, ToolStreaming, UsageRequest,
};
use crate::history::{Answer, Piece, Turn, turns};

/// The longest name of a function, by `OpenAI`'s rules.
const NAME_BYTES_MAX: usize = 64;

/// The request's body. What is not configured is not sent: some servers refuse it.
#[derive(Debug, Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Debug, Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Debug, Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    Developer {
        content: &'a str,
    },
    User {
        content: Said<'a>,
    },
    Assistant {
        /// Null only beside calls.
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

/// What a person says: words, or words and pictures.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Said<'a> {
    Words(Cow<'a, str>),
    Pieces(Vec<SaidPiece<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum SaidPiece<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Debug, Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Debug, Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Called<'a>,
}

#[derive(Debug, Serialize)]
struct Called<'a> {
    name: Cow<'a, str>,
    arguments: String,
}

/// Writes the request's body.
pub(crate) fn body(endpoint: &Endpoint, context: &Context) -> Vec<u8> {
    let quirks = &endpoint.quirks;
    let stream = context.tools.is_empty() || quirks.tool_streaming == ToolStreaming::Stream;
    let limit = |field| context.max_output_tokens.filter(|_| quirks.output_limit == field);
    let body = Body {
        model: &endpoint.model,
        messages: messages(endpoint, context),
        tools: context.tools.iter().map(tool).collect(),
        max_tokens: limit(OutputLimit::MaxTokens),
        max_completion_tokens: limit(OutputLimit::MaxCompletionTokens),
        reasoning_effort: endpoint.effort.as_deref(),
        stream,
        stream_options: (stream && quirks.usage == UsageRequest::Ask)
            .then_some(StreamOptions { include_usage: true }),
    };
    serde_json::to_vec(&body).expect("invariant: keys are strings")
}

fn messages<'a>(endpoint: &Endpoint, context: &'a Context) -> Vec<Message<'a>> {
    let mut messages = Vec::new();
    let content = context.system.as_str();
    if !content.is_empty() {
        messages.push(match endpoint.quirks.system_role {
            SystemRole::System => Message::System { content },
            SystemRole::Developer => Message::Developer { content },
        });
    }
    // Pictures of results: this wire takes them from a person only, behind all results.
    let mut shown: Vec<Piece<'a>> = Vec::new();
    for turn in turns(&context.messages) {
        match turn {
            Turn::User(pieces) => {
                let pieces: Vec<_> = shown.drain(..).chain(pieces).collect();
                messages.push(Message::User { content: said(&pieces) });
            }
            Turn::Reply { message, results } => {
                show(&mut messages, &mut shown);
                messages.push(assistant(endpoint, message));
                for Answer { call, text, pictures, .. } in results {
                    messages.push(Message::Tool { tool_call_id: &call.id, content: text });
                    let first = (!pictures.is_empty()).then_some(Piece::Words(FROM_TOOLS));
                    shown.extend(first.filter(|_| shown.is_empty()));
                    shown.extend(pictures.into_iter().map(Piece::Picture));
                }
            }
        }
    }
    show(&mut messages, &mut shown);
    messages
}

/// What stands before pictures of results.
const FROM_TOOLS: &str = "[chock] The pictures of the results above, in their order:";

/// Writes the pictures that wait for a message of the person's, if there are any.
fn show<'a>(messages: &mut Vec<Message<'a>>, shown: &mut Vec<Piece<'a>>) {
    if !shown.is_empty() {
        messages.push(Message::User { content: said(&std::mem::take(shown)) });
    }
}

fn said<'a>(pieces: &[Piece<'a>]) -> Said<'a> {
    let words = pieces.iter().map(|piece| match piece {
        Piece::Words(text) => Some(*text),
        Piece::Picture(_) => None,
    });
    if let Some(texts) = words.collect::<Option<Vec<_>>>() {
        return Said::Words(joined(&texts));
    }
    let pieces = pieces.iter().map(|piece| match piece {
        Piece::Words(text) => SaidPiece::Text { text },
        Piece::Picture(picture) => {
            SaidPiece::ImageUrl { image_url: ImageUrl { url: picture.url() } }
        }
    });
    Said::Pieces(pieces.collect())
}

fn assistant<'a>(endpoint: &Endpoint, message: &'a ModelMessage) -> Message<'a> {
    let texts: Vec<_> = message.parts.iter().filter_map(text).collect();
    let tool_calls: Vec<_> = message
        .calls()
        .map(|call| Call {
            id: &call.id,
            r#type: "function",
            function: Called { name: valid(&call.name), arguments: replayed(&call.arguments) },
        })
        .collect();
    let content = match texts.as_slice() {
        [text] => Cow::Borrowed(*text),
        texts => Cow::Owned(texts.concat()),
    };
    let content = Some(content).filter(|text| !text.trim().is_empty() || tool_calls.is_empty());
    let same = message.provider == endpoint.provider && message.model == endpoint.model;
    let thought =
        |name| (same && endpoint.quirks.reasoning == name).then(|| reasoning(message)).flatten();
    Message::Assistant {
        content,
        tool_calls,
        reasoning_content: thought(ReasoningReplay::ReasoningContent),
        reasoning: thought(ReasoningReplay::Reasoning),
    }
}

fn reasoning(message: &ModelMessage) -> Option<String> {
    let thoughts = message.parts.iter().filter_map(|part| match part {
        Part::Thinking(thinking) => Some(thinking.text.as_str()),
        Part::Text(_) | Part::Call(_) => None,
    });
    Some(thoughts.collect::<String>()).filter(|text| !text.is_empty())
}

fn text(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text),
        Part::Thinking(_) | Part::Call(_) => None,
    }
}

fn tool(schema: &ToolSchema) -> Tool<'_> {
    let ToolSchema { name, description, parameters } = schema;
    Tool { r#type: "function", function: Function { name, description, parameters } }
}

fn joined<'a>(texts: &[&'a str]) -> Cow<'a, str> {
    match texts {
        [text] => Cow::Borrowed(text),
        texts => Cow::Owned(texts.join("\n\n")),
    }
}

/// Makes the name of a tool, which the model may have invented, one that servers take back.
pub(crate) fn valid(name: &str) -> Cow<'_, str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(allowed) {
        return Cow::Borrowed(name);
    }
    let replaced = name.chars().take(NAME_BYTES_MAX).map(|c| if allowed(c) { c } else { '_' });
    let name: String = replaced.collect();
    Cow::Owned(if name.is_empty() { "unnamed".to_owned() } else { name })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use chock_log::{Stop, Thinking, ToolCall};
    use serde_json::json;

    use super::*;
    use crate::context;
    use crate::endpoint::{Patience, Quirks};

    fn endpoint(quirks: Quirks) -> Endpoint {
        Endpoint {
            provider: "p".to_owned(),
            base_url: "http://127.0.0.1/v1".to_owned(),
            model: "m".to_owned(),
            context_tokens: None,
            api_version: None,
            max_output_tokens: None,
            effort: None,
            price: None,
            originator: None,
            quirks,
            patience: Patience::default(),
        }
    }

    fn context() -> Context {
        let call = |id: &str, name: &str, arguments: &str| {
            let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.to_owned());
            Part::Call(ToolCall { id, name, arguments })
        };
        let reply = |parts| {
            let (provider, model) = ("p".to_owned(), "m".to_owned());
            context::Message::Model(ModelMessage { provider, model, parts, stop: Stop::Calls })
        };
        let user = |text: &str| context::Message::User { text: text.to_owned() };
        Context {
            system: "be good".to_owned(),
            messages: vec![
                user("a"),
                user("b"),
                reply(vec![
                    Part::Thinking(Thinking { text: "hm".to_owned(), ..Thinking::default() }),
                    call("1", "read", "{\"x\": 1}"),
                    call("2", "no such tool!", "{broken"),
                ]),
                context::Message::Result {
                    call: "1".to_owned(),
                    tool: "read".to_owned(),
                    text: "one".to_owned(),
                    is_error: false,
                },
                reply(vec![Part::Text("done".to_owned())]),
                user("c"),
            ],
            tools: Vec::new(),
            max_output_tokens: Some(9),
            conversation: String::new(),
        }
    }

    fn written(endpoint: &Endpoint, context: &Context) -> Value {
        serde_json::from_slice(&body(endpoint, context)).unwrap()
    }

    #[test]
    fn a_conversation_is_written_as_servers_want_it() {
        assert_eq!(
            written(&endpoint(Quirks::default()), &context()),
            json!({
                "model": "m",
                "messages": [
                    {"role": "system", "content": "be good"},
                    {"role": "user", "content": "a\n\nb"},
                    {"role": "assistant", "content": null, "tool_calls": [
                        {"id": "1", "type": "function",
                         "function": {"name": "read", "arguments": "{\"x\": 1}"}},
                        {"id": "2", "type": "function",
                         "function": {"name": "no_such_tool_",
                                      "arguments": "{\"not_an_object\":\"{broken\"}"}},
                    ]},
                    {"role": "tool", "tool_call_id": "1", "content": "one"},
                    {"role": "tool", "tool_call_id": "2",
                     "content": "no result was recorded for this call"},
                    {"role": "assistant", "content": "done"},
                    {"role": "user", "content": "c"},
                ],
                "max_tokens": 9,
                "stream": true,
                "stream_options": {"include_usage": true},
            })
        );
    }

    #[test]
    fn every_switch_is_seen() {
        let quirks = Quirks {
            system_role: SystemRole::Developer,
            reasoning: ReasoningReplay::ReasoningContent,
            output_limit: OutputLimit::MaxCompletionTokens,
            tool_streaming: ToolStreaming::Whole,
            usage: UsageRequest::Silent,
        };
        let mut endpoint = endpoint(quirks);
        endpoint.effort = Some("high".to_owned());
        let mut context = context();
        let parameters = json!({"type": "object"});
        context.tools = vec![ToolSchema {
            name: "read".to_owned(),
            description: "reads".to_owned(),
            parameters: parameters.clone(),
        }];

        let body = written(&endpoint, &context);

        assert_eq!(body["messages"][0]["role"], "developer");
        assert_eq!(body["messages"][2]["reasoning_content"], "hm");
        assert_eq!(body["max_completion_tokens"], 9);
        assert_eq!(body.get("max_tokens"), None);
        assert_eq!(body["reasoning_effort"], "high");
        assert_eq!(body["stream"], false);
        assert_eq!(body.get("stream_options"), None);
        let function = json!({"name": "read", "description": "reads", "parameters": parameters});
        assert_eq!(body["tools"], json!([{"type": "function", "function": function}]));

        endpoint.quirks.reasoning = ReasoningReplay::Reasoning;
        assert_eq!(written(&endpoint, &context)["messages"][2]["reasoning"], "hm");
        endpoint.model = "another".to_owned();
        assert_eq!(written(&endpoint, &context)["messages"][2].get("reasoning"), None);
    }
}
