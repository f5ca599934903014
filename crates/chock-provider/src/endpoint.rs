//! Where a model is reached, and how its server differs from others.

use std::error::Error;
use std::time::Duration;

use chock_log::Price;
use secrecy::SecretString;

/// One model behind one server.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    /// The name of the provider's row in the configuration.
    pub provider: String,
    /// The URL that the wire's paths are put behind; for chat completions it usually ends in `/v1`.
    pub base_url: String,
    /// The model's name as the server spells it.
    pub model: String,
    /// How many tokens a request and its reply may have, if that is known.
    pub context_tokens: Option<u64>,
    /// The version of the wire, where it has several; `None` is the oldest that is spoken.
    pub api_version: Option<String>,
    /// The most tokens of one reply, where the wire must say so and nothing else does.
    pub max_output_tokens: Option<u64>,
    /// How hard a reasoning model thinks, in the server's words; `None` sends nothing.
    pub effort: Option<String>,
    /// What a token costs; `None` is free on this machine's own address, else unknown.
    pub price: Option<Price>,
    /// The name that requests give themselves, for the back end of a ChatGPT account; it takes fewer
    /// fields than other servers of its wire. `None` for all others.
    pub originator: Option<String>,
    /// How the server differs from others.
    pub quirks: Quirks,
    /// How long to wait for it.
    pub patience: Patience,
}

/// How a compatible server differs from others. The default fits most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quirks {
    /// The role of the system prompt.
    pub system_role: SystemRole,
    /// What becomes of earlier reasoning.
    pub reasoning: ReasoningReplay,
    /// The field that limits a reply.
    pub output_limit: OutputLimit,
    /// Whether replies that may call tools are streamed.
    pub tool_streaming: ToolStreaming,
    /// Whether the server is asked to count tokens in a stream.
    pub usage: UsageRequest,
}

/// The role of the system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SystemRole {
    /// `system`, which every server takes.
    #[default]
    System,
    /// `developer`, as `OpenAI`'s reasoning models name it.
    Developer,
}

/// What becomes of the reasoning of earlier replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReasoningReplay {
    /// It is not sent back.
    #[default]
    Drop,
    /// It goes back as `reasoning_content`.
    ReasoningContent,
    /// It goes back as `reasoning`.
    Reasoning,
}

/// The field that limits a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputLimit {
    /// `max_tokens`, which most servers take.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which `OpenAI`'s reasoning models insist on.
    MaxCompletionTokens,
}

/// Whether replies that may call tools are streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolStreaming {
    /// They are.
    #[default]
    Stream,
    /// They come whole, for servers that lose calls in a stream.
    Whole,
}

/// Whether the server is asked to count tokens in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UsageRequest {
    /// It is asked.
    #[default]
    Ask,
    /// It is not, for servers that refuse `stream_options`.
    Silent,
}

/// How long to wait for a server, and how often to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How often one request is sent, the first time included.
    pub tries: u32,
    /// The wait before the second try when the server names none; it doubles each time.
    pub base: Duration,
    /// The longest that all waits of one reply may take together.
    pub total: Duration,
    /// The longest that a connection may take.
    pub connect: Duration,
    /// The longest silence before and within an answer.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            tries: 6,
            base: Duration::from_secs(2),
            total: Duration::from_secs(15 * 60),
            connect: Duration::from_secs(20),
            idle: Duration::from_secs(5 * 60),
        }
    }
}

/// Lends the credential of one server.
pub trait Credentials: Send {
    /// Returns what lets a request in, or `None` for a server that needs nothing.
    ///
    /// It is asked before each request, so that a refreshed one is taken up.
    ///
    /// # Errors
    ///
    /// There should be a credential and it cannot be had.
    fn pass(&self) -> Result<Option<Pass>, CredentialsFault>;

    /// Is told that the server refused `refused` (status 401), and says whether another can be had
    /// from [`Credentials::pass`] now. The request is then sent once more.
    ///
    /// It is called on the session's thread, which waits: its own requests must be bounded in time.
    ///
    /// # Errors
    ///
    /// There should be another and it cannot be had; that is reported in place of the refusal.
    fn renew(&self, refused: &Pass) -> Result<bool, CredentialsFault> {
        let _ = refused;
        Ok(false)
    }
}

/// What lets one request in.
#[derive(Debug, Clone)]
pub struct Pass {
    /// What goes behind `Authorization: Bearer`, or into the wire's own header.
    pub secret: SecretString,
    /// The account that it speaks for, where the server wants to hear it.
    pub account: Option<String>,
}

impl From<SecretString> for Pass {
    fn from(secret: SecretString) -> Self {
        Self { secret, account: None }
    }
}

/// Why a credential could not be had.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct CredentialsFault {
    /// What is wrong and what to do, in lower case.
    pub reason: String,
    /// The cause, if another error is one.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// The credentials of a server that needs none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoCredentials;

impl Credentials for NoCredentials {
    fn pass(&self) -> Result<Option<Pass>, CredentialsFault> {
        Ok(None)
    }
}
