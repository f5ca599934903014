//! The conversation as a model is sent it.

use chock_log::{Entry, Session, ToolSchema};
use chock_provider::{Context, Message};

/// How a fact from Chock is told apart from a person's words.
const NOTICE_PREFIX: &str = "[chock] ";

/// Turns a folded session into a request.
#[must_use]
pub(crate) fn context(session: &Session, system: &str, tools: &[ToolSchema]) -> Context {
    // Every wire refuses an empty reply in a history, and one that says nothing says nothing.
    let told = |entry: &&Entry| !matches!(entry, Entry::Model(reply) if reply.is_empty());
    let entries = session.entries.iter().map(|(_, entry)| entry);
    let messages = entries.filter(told).map(message).collect();
    Context { system: system.to_owned(), messages, tools: tools.to_vec(), max_output_tokens: None }
}

fn message(entry: &Entry) -> Message {
    match entry {
        Entry::User(text) => Message::User { text: text.clone() },
        Entry::Notice(text) => Message::User { text: format!("{NOTICE_PREFIX}{text}") },
        Entry::Model(message) => Message::Model(message.clone()),
        Entry::Result { call, tool, outcome } => Message::Result {
            call: call.clone(),
            tool: tool.clone(),
            text: outcome.text.clone(),
            is_error: outcome.is_error(),
        },
    }
}
