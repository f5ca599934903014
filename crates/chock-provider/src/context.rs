//! What a model is asked to answer.

use chock_log::{ModelMessage, ToolSchema};

/// Everything one request carries.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Context {
    /// The system prompt.
    pub system: String,
    /// The conversation, oldest first. Results stand behind the reply whose calls they answer.
    pub messages: Vec<Message>,
    /// The tools on offer.
    pub tools: Vec<ToolSchema>,
    /// The most tokens the reply may have; `None` leaves it to the server.
    pub max_output_tokens: Option<u64>,
    /// What the conversation is called, for servers that keep prompts by that; empty if it has no
    /// name.
    pub conversation: String,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Words of the person, or of Chock.
    User {
        /// The words.
        text: String,
    },
    /// An earlier reply, as it came.
    Model(ModelMessage),
    /// The result of one call of the reply before.
    Result {
        /// The call's id.
        call: String,
        /// The tool's name.
        tool: String,
        /// The words for the model.
        text: String,
        /// Whether the model is told of an error.
        is_error: bool,
    },
}

impl Context {
    /// Counts the model's replies so far.
    #[must_use]
    pub fn replies(&self) -> usize {
        self.messages.iter().filter(|message| matches!(message, Message::Model(_))).count()
    }
}
