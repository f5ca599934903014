//! A person's side of a conversation: asks, answers calls, gathers what was said.

use std::time::Duration;

use chock_log::{Delta, ToolSchema};
use chock_provider::{
    Cancel, Context, Credentials, CredentialsFault, Endpoint, Message, Model, OpenaiCompat, Pass,
    Patience, ProviderFault, Quirks, Reply,
};
use secrecy::SecretString;
use serde_json::json;

pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

pub(crate) struct Key;

impl Credentials for Key {
    fn pass(&self) -> Result<Option<Pass>, CredentialsFault> {
        Ok(Some(SecretString::from(KEY).into()))
    }
}

pub(crate) fn endpoint(base_url: &str) -> Endpoint {
    Endpoint {
        provider: "test".to_owned(),
        base_url: base_url.to_owned(),
        model: "fake-model".to_owned(),
        context_tokens: None,
        api_version: None,
        max_output_tokens: None,
        effort: None,
        price: None,
        originator: None,
        quirks: Quirks::default(),
        patience: Patience {
            tries: 6,
            base: Duration::from_millis(20),
            total: Duration::from_secs(30),
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(20),
        },
    }
}

pub(crate) fn model(endpoint: Endpoint) -> OpenaiCompat {
    OpenaiCompat::new(endpoint, Box::new(Key)).unwrap()
}

pub(crate) fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

pub(crate) fn context(text: &str) -> Context {
    let names =
        ["read_file", "edit_file", "write_file", "run_command", "fetch_url", "request_action"];
    let tool = |name: &str| ToolSchema {
        name: name.to_owned(),
        description: format!("the tool {name}"),
        parameters: json!({"type": "object", "properties": {}}),
    };
    Context {
        system: "You are a test.".to_owned(),
        messages: vec![user(text)],
        tools: names.map(tool).to_vec(),
        max_output_tokens: None,
        conversation: "a-conversation".to_owned(),
    }
}

/// Asks once and gathers the deltas.
pub(crate) fn ask(
    model: &mut dyn Model,
    context: &Context,
) -> (Result<Reply, ProviderFault>, Vec<Delta>) {
    let mut deltas = Vec::new();
    let reply = model.reply(context, &mut |delta| deltas.push(delta), &Cancel::new());
    (reply, deltas)
}

/// Adds a reply and the results of its calls.
pub(crate) fn answer(context: &mut Context, reply: &Reply) {
    context.messages.push(Message::Model(reply.message.clone()));
    for call in reply.message.calls() {
        let arguments = serde_json::from_str::<serde_json::Value>(&call.arguments);
        let text = match call.name.as_str() {
            _ if arguments.is_err() => "the arguments are not JSON".to_owned(),
            "read_file" => "def parse(text):\n    return int(text)\n".to_owned(),
            "run_command" => "line-000001-\n[cut]\n".to_owned(),
            _ => "done".to_owned(),
        };
        let (call, tool) = (call.id.clone(), call.name.clone());
        context.messages.push(Message::Result { call, tool, text, is_error: arguments.is_err() });
    }
}

/// Plays turns until one calls nothing; checks that deltas and replies say the same.
pub(crate) fn play(model: &mut dyn Model, context: &mut Context) -> Vec<Reply> {
    let mut replies = Vec::new();
    loop {
        let (reply, deltas) = ask(model, context);
        let reply = reply.unwrap();
        assert_eq!(shown(&deltas), reply.message.text(), "{deltas:?}");
        answer(context, &reply);
        let done = reply.message.calls().next().is_none();
        replies.push(reply);
        if done {
            return replies;
        }
        assert!(replies.len() < 200, "it goes on for ever");
    }
}

/// Joins the words of the deltas that still count.
pub(crate) fn shown(deltas: &[Delta]) -> String {
    let begin = deltas.iter().rposition(|delta| *delta == Delta::Restart).map_or(0, |at| at + 1);
    let words = deltas[begin..].iter().filter_map(|delta| match delta {
        Delta::Text(text) => Some(text.as_str()),
        Delta::Thinking(_)
        | Delta::Call(_)
        | Delta::Waiting { .. }
        | Delta::Left { .. }
        | Delta::Restart => None,
    });
    words.collect()
}

pub(crate) fn waits(deltas: &[Delta]) -> Vec<(u64, u32)> {
    let waits = deltas.iter().filter_map(|delta| match delta {
        Delta::Waiting { seconds, attempt, .. } => Some((*seconds, *attempt)),
        Delta::Text(_)
        | Delta::Thinking(_)
        | Delta::Call(_)
        | Delta::Left { .. }
        | Delta::Restart => None,
    });
    waits.collect()
}
