//! Where models are reached, as `config.zon` says it.

mod row;

use chock_zon::{Place, Spanned};
use serde::Deserialize;

pub(crate) use self::row::ProviderRow;
use crate::path::PersonPath;
use crate::token::Token;

/// One row of `providers`.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// The name by which it is chosen: lower case letters, digits, `-` and `_`.
    pub name: String,
    /// How it is spoken to.
    pub kind: ProviderKind,
    /// The model to use when none is named.
    pub model: Option<Spanned<String>>,
    /// The models that may be chosen; empty when any may.
    pub models: Vec<String>,
    /// How many tokens a request and its reply may have together, when that is known.
    pub context_tokens: Option<u64>,
    /// What its models can do.
    pub capabilities: Capabilities,
    /// What lets the person in.
    pub credential: Credential,
    /// Where the row stands.
    pub place: Place,
}

impl Provider {
    /// What a token costs, when the person said so.
    #[must_use]
    pub fn price(&self) -> Option<&Price> {
        match &self.kind {
            ProviderKind::OpenaiCompat(compat) | ProviderKind::Aiand(compat) => {
                compat.price.as_ref()
            }
            ProviderKind::Anthropic(messages) => messages.price.as_ref(),
            ProviderKind::Openai(responses) => responses.price.as_ref(),
            ProviderKind::Scripted { .. } => None,
        }
    }
}

/// How a provider is spoken to.
#[derive(Debug, Clone, PartialEq)]
pub enum ProviderKind {
    /// Chat completions at any address.
    OpenaiCompat(Compat),
    /// Anthropic's Messages, at its own address or another.
    Anthropic(Messages),
    /// OpenAI's Responses: a ChatGPT account, or any server that takes a token.
    Openai(Responses),
    /// ai&, which speaks chat completions and says what its models cost.
    Aiand(Compat),
    /// Turns read from a file.
    Scripted {
        /// The file, beside `config.zon` when it is relative.
        script: PersonPath,
    },
}

/// A server of chat completions.
#[derive(Debug, Clone, PartialEq)]
pub struct Compat {
    /// The address that `/chat/completions` is put behind, without a `/` at its end.
    pub base_url: String,
    /// How hard a reasoning model thinks, in the server's words.
    pub effort: Option<String>,
    /// What a token costs, when the person said so.
    pub price: Option<Price>,
    /// How the server differs from others.
    pub quirks: Quirks,
}

/// A server of Anthropic's Messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Messages {
    /// The address that `/messages` is put behind, without a `/` at its end.
    pub base_url: String,
    /// The version of the wire, a date; the oldest where the row names none.
    pub api_version: Option<String>,
    /// The most tokens of one reply, at least 1.
    pub max_output_tokens: Option<u64>,
    /// How hard a model thinks, in the server's words.
    pub effort: Option<String>,
    /// What a token costs, when the person said so.
    pub price: Option<Price>,
}

/// A server of OpenAI's Responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Responses {
    /// The address that `/responses` is put behind, when the row names one.
    pub base_url: Option<String>,
    /// The most tokens of one reply, at least 16; an account's back end is not told.
    pub max_output_tokens: Option<u64>,
    /// How hard a model thinks, in the server's words.
    pub effort: Option<String>,
    /// What a token costs, when the person said so.
    pub price: Option<Price>,
    /// How a person signs in, where the row has no token.
    pub account: Account,
}

impl Responses {
    /// The address of the row, without a `/` at its end. Where it names none, a token goes to the
    /// API of `OpenAI` itself, and an account to the back end of ChatGPT.
    #[must_use]
    pub fn address(&self, has_token: bool) -> &str {
        match &self.base_url {
            Some(url) => url,
            None if has_token => OPENAI,
            None => CHATGPT,
        }
    }
}

/// How a person signs in with a ChatGPT account. Nothing of it is promised by anybody, so that a
/// row may say each part anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Where the sign-in is, without a `/` at its end.
    pub issuer: String,
    /// The public name of the client that the issuer knows.
    pub client_id: String,
    /// What is asked for, words with blanks between.
    pub scope: String,
    /// The ports on this machine that the issuer may send the browser back to, in order; at least
    /// one.
    pub redirect_ports: Vec<u16>,
    /// The name that requests give themselves.
    pub originator: String,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            issuer: "https://auth.openai.com".to_owned(),
            client_id: "app_EMoamEEZ73f0CkXaXp7hrann".to_owned(),
            scope: "openid profile email offline_access".to_owned(),
            redirect_ports: vec![1455, 1457],
            originator: "chock".to_owned(),
        }
    }
}

/// Where Anthropic itself is reached.
const ANTHROPIC: &str = "https://api.anthropic.com/v1";
/// Where OpenAI's API is reached with a token.
const OPENAI: &str = "https://api.openai.com/v1";
/// Where the back end of ChatGPT is reached with an account.
const CHATGPT: &str = "https://chatgpt.com/backend-api/codex";
/// Where ai& is reached.
const AIAND: &str = "https://api.aiand.com/v1";

/// What models can do besides text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capabilities {
    /// They see pictures.
    pub images: bool,
}

/// What lets the person in. Where it is absent, `tokens.zon` may have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// Nothing here.
    Absent,
    /// A token in `config.zon` itself.
    Token(Token),
    /// A file with a token, beside `config.zon` when it is relative.
    TokenFile(PersonPath),
}

/// What a million tokens cost, in millionths of the currency's unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// Three letters, upper case.
    pub currency: String,
    /// Input that no cache served.
    pub input: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// Output, reasoning included.
    pub output: u64,
}

/// How a compatible server differs from others. The default fits most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// The role of the system prompt.
    pub system_role: SystemRole,
    /// The field that earlier reasoning is sent back in.
    pub reasoning: Reasoning,
    /// The field that bounds a reply.
    pub output_limit: OutputLimit,
    /// Replies that may call tools are not streamed, for servers that lose calls so.
    pub whole_tool_replies: bool,
    /// The server is not asked to count tokens, for servers that refuse the question.
    pub no_usage: bool,
}

/// The role of the system prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    /// `system`, which every server takes.
    #[default]
    System,
    /// `developer`, for OpenAI's own reasoning models.
    Developer,
}

/// The field that earlier reasoning is sent back in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "they are the names of the wire's fields")]
pub enum Reasoning {
    /// It is not sent back.
    #[default]
    Drop,
    /// `reasoning_content`.
    ReasoningContent,
    /// `reasoning`.
    Reasoning,
}

/// The field that bounds a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimit {
    /// `max_tokens`, which most servers take.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which OpenAI's reasoning models insist on.
    MaxCompletionTokens,
}
