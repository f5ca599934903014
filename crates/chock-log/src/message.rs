//! What a model is sent and what it says.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One whole reply of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelMessage {
    /// The name of the provider's row in `config.zon`.
    pub provider: String,
    /// The model's name as the provider spells it.
    pub model: String,
    /// Text, thinking and calls in the order they came.
    pub parts: Vec<Part>,
    /// Why the model stopped.
    pub stop: Stop,
}

/// One piece of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Words for the person.
    Text(String),
    /// Reasoning, replayed to the same model unchanged.
    Thinking(Thinking),
    /// A tool call.
    Call(ToolCall),
}

/// Reasoning as the provider sent it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Thinking {
    /// The words, which may be empty.
    pub text: String,
    /// The provider's signature or encrypted form, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Whether the words were kept back, so that the signature is all there is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

/// One tool call of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that the result answers to; unique within a session.
    pub id: String,
    /// The tool's name, which may be one that does not exist.
    pub name: String,
    /// The arguments as the model wrote them: JSON if all is well.
    pub arguments: String,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It had no more to say.
    Finished,
    /// It waits for the results of its calls.
    Calls,
    /// It reached the limit of one reply.
    Length,
    /// The provider, or the model by its provider's word, refused.
    Refused {
        /// The provider's category, if it gave one.
        category: Option<String>,
        /// The provider's words, if it gave any.
        explanation: Option<String>,
    },
}

/// Describes one tool to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSchema {
    /// The name a call uses: letters, digits, `_` and `-`, at most 64 bytes.
    pub name: String,
    /// What it does, in words for the model.
    pub description: String,
    /// A JSON Schema of an object, from the arguments' type.
    pub parameters: Value,
}

/// A piece of a reply while it is still coming, for the screen only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// More words.
    Text(String),
    /// More reasoning.
    Thinking(String),
    /// A call to this tool has begun.
    Call(String),
    /// The request waits before it is sent again.
    Waiting {
        /// How long, in whole seconds, rounded up.
        seconds: u64,
        /// Which try comes next, counted from 2.
        attempt: u32,
        /// The provider's reason, in a few words.
        reason: String,
    },
    /// So much of a wait is left; it comes each second.
    Left {
        /// How long, in whole seconds, rounded up.
        seconds: u64,
    },
    /// What came before of this reply does not count: it starts anew.
    Restart,
}

impl ModelMessage {
    /// Joins the words meant for the person.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Thinking(_) | Part::Call(_) => None,
        });
        texts.collect()
    }

    /// Lists the calls in the order they came.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text(_) | Part::Thinking(_) => None,
        })
    }

    /// Says whether the reply has neither words nor calls.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text().trim().is_empty() && self.calls().next().is_none()
    }
}
