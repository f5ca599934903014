//! What a conversation is filled with.

use std::collections::BTreeMap;

use chock_log::{Part, Session};
use chock_provider::Message;

use crate::context::{BYTES_A_TOKEN, LEFT_OUT, NOTICE_PREFIX, PICTURE_BYTES, messages};

/// What the next request of a session holds beside the system prompt and the tools, in bytes of
/// text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fill {
    /// Words of people.
    pub people: u64,
    /// Words of Chock.
    pub chock: u64,
    /// What stands for turns that are left out.
    pub summary: u64,
    /// Words of the model.
    pub replies: u64,
    /// Reasoning that is replayed.
    pub thinking: u64,
    /// Calls with their arguments.
    pub calls: u64,
    /// Pictures, as much text as they count for.
    pub pictures: u64,
    /// Results, by tool.
    pub results: BTreeMap<String, u64>,
}

impl Fill {
    /// Looks at what a session's model would be sent.
    #[must_use]
    pub fn of(session: &Session) -> Self {
        let mut fill = Self::default();
        for message in messages(session, session.compaction.as_ref()) {
            fill.add(&message);
        }
        fill
    }

    /// Returns the sum of all parts, in bytes of text.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let results: u64 = self.results.values().sum();
        self.people
            + self.chock
            + self.summary
            + self.replies
            + self.thinking
            + self.calls
            + self.pictures
            + results
    }

    /// Estimates how many tokens so many bytes of text are.
    #[must_use]
    pub fn tokens(bytes: u64) -> u64 {
        bytes / BYTES_A_TOKEN
    }

    fn add(&mut self, message: &Message) {
        let length = |text: &str| u64::try_from(text.len()).unwrap_or(u64::MAX);
        match message {
            Message::User { text } => match text.strip_prefix(NOTICE_PREFIX) {
                Some(words) if words.starts_with(LEFT_OUT) => self.summary += length(text),
                Some(_) => self.chock += length(text),
                None => self.people += length(text),
            },
            Message::Result { tool, text, .. } => {
                *self.results.entry(tool.clone()).or_default() += length(text);
            }
            Message::Picture { .. } => self.pictures += PICTURE_BYTES as u64,
            Message::Model(reply) => {
                for part in &reply.parts {
                    match part {
                        Part::Text(text) => self.replies += length(text),
                        Part::Thinking(thinking) => {
                            let signature = thinking.signature.as_deref().unwrap_or_default();
                            self.thinking += length(&thinking.text) + length(signature);
                        }
                        Part::Call(call) => {
                            self.calls += length(&call.name) + length(&call.arguments);
                        }
                    }
                }
            }
        }
    }
}
