//! What a model is asked to answer.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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
    /// A picture that belongs to the person's words, or to the result of `call`. It stands behind
    /// what it belongs to.
    Picture {
        /// The call's id; absent for a picture of the person's.
        call: Option<String>,
        /// The picture.
        picture: Picture,
    },
}

/// A picture that a model is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`, which its bytes must be.
    pub media_type: String,
    /// What it is called: SHA-256 of its bytes, lower hex.
    pub hash: String,
    /// All of it.
    pub content: Arc<[u8]>,
}

impl Picture {
    /// Writes it as a URL that holds it.
    pub(crate) fn url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64())
    }

    /// Writes its content in base64.
    pub(crate) fn base64(&self) -> String {
        STANDARD.encode(&self.content)
    }
}

impl Context {
    /// Counts the model's replies so far.
    #[must_use]
    pub fn replies(&self) -> usize {
        self.messages.iter().filter(|message| matches!(message, Message::Model(_))).count()
    }
}
