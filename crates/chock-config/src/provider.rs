//! Where models are reached, as `config.zon` says it.

use chock_zon::{Place, Spanned};
use serde::Deserialize;

use crate::budget::is_currency;
use crate::path::PersonPath;
use crate::source::{Source, shown};
use crate::token::Token;
use crate::word::Word;

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

/// How a provider is spoken to.
#[derive(Debug, Clone, PartialEq)]
pub enum ProviderKind {
    /// Chat completions at any address.
    OpenaiCompat(Compat),
    /// Anthropic's Messages, at its own address or another.
    Anthropic(Messages),
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

/// Where Anthropic itself is reached.
const ANTHROPIC: &str = "https://api.anthropic.com/v1";

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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderRow {
    name: Spanned<Word>,
    kind: Spanned<Word>,
    base_url: Option<Spanned<String>>,
    token: Option<Spanned<Token>>,
    token_file: Option<Spanned<PersonPath>>,
    model: Option<Spanned<String>>,
    #[serde(default)]
    models: Vec<Spanned<String>>,
    context_tokens: Option<Spanned<u64>>,
    #[serde(default)]
    capabilities: Capabilities,
    script: Option<Spanned<PersonPath>>,
    effort: Option<Spanned<Word>>,
    price: Option<Spanned<PriceRow>>,
    quirks: Option<Spanned<Quirks>>,
    api_version: Option<Spanned<String>>,
    max_output_tokens: Option<Spanned<u64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    currency: Spanned<String>,
    input: Spanned<f64>,
    output: Spanned<f64>,
    cache_read: Option<Spanned<f64>>,
    cache_write: Option<Spanned<f64>>,
}

const KINDS: [&str; 3] = ["openai-compat", "anthropic", "scripted"];
const LATER_KINDS: [&str; 2] = ["openai", "aiand"];

/// The longest name of a provider or a model, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// The most models that one row lists.
const MODELS_MAX: usize = 1024;

impl ProviderRow {
    /// The provider that the row says, with its faults noted.
    pub(crate) fn check(mut self, place: Place, source: &mut Source<'_>) -> Option<Provider> {
        let name = &self.name.value.0;
        let fits =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(fits) {
            let message =
                "a provider's name has lower case letters, digits, `-` and `_`, at most 64";
            source.refuse(self.name.place, message);
        }
        self.check_models(source);
        if let Some(tokens) = self.context_tokens.as_ref().filter(|tokens| tokens.value < 1024) {
            source.refuse(tokens.place, "a context of less than 1024 tokens holds no session");
        }
        let credential = self.credential(source);
        let kind = self.kind(place, source)?;
        Some(Provider {
            name: self.name.value.0,
            kind,
            model: self.model,
            models: self.models.into_iter().map(|model| model.value).collect(),
            context_tokens: self.context_tokens.map(|tokens| tokens.value),
            capabilities: self.capabilities,
            credential,
            place,
        })
    }

    fn check_models(&self, source: &mut Source<'_>) {
        for model in self.models.iter().chain(&self.model) {
            let visible =
                !model.value.chars().any(|letter| letter.is_control() || letter.is_whitespace());
            if model.value.is_empty() || model.value.len() > NAME_BYTES_MAX || !visible {
                source.refuse(model.place, "a model's name has no blanks and at most 256 bytes");
            }
        }
        if let Some(model) = self.models.get(MODELS_MAX) {
            source.refuse(model.place, format!("more than {MODELS_MAX} models are listed"));
        }
        if let Some(model) = &self.model
            && !self.models.is_empty()
            && !self.models.iter().any(|listed| listed.value == model.value)
        {
            let message = format!("the model `{}` is not among `.models`", shown(&model.value));
            let known = self.models.iter().map(|model| model.value.as_str());
            source.refuse_word(model.place, message, &model.value, known);
        }
    }

    fn credential(&mut self, source: &mut Source<'_>) -> Credential {
        match (self.token.take(), self.token_file.take()) {
            (Some(_), Some(file)) => {
                source.refuse(file.place, "write `.token` or `.token_file`, not both");
                Credential::Absent
            }
            (Some(token), None) => Credential::Token(token.value),
            (None, Some(file)) => Credential::TokenFile(file.value),
            (None, None) => Credential::Absent,
        }
    }

    fn kind(&mut self, place: Place, source: &mut Source<'_>) -> Option<ProviderKind> {
        let Spanned { value: Word(written), place: kind_place } = self.kind.clone();
        match written.replace('_', "-").as_str() {
            "openai-compat" => self.compat(place, source).map(ProviderKind::OpenaiCompat),
            "anthropic" => Some(ProviderKind::Anthropic(self.messages(source))),
            "scripted" => self.scripted(place, source),
            kind if LATER_KINDS.contains(&kind) => {
                let message = format!(
                    "this version of chock does not speak the kind `{kind}` yet; use `openai-compat`"
                );
                source.refuse(kind_place, message);
                None
            }
            kind => {
                let message = format!("there is no kind `{}` of provider", shown(kind));
                source.refuse_word(kind_place, message, kind, KINDS.into_iter().chain(LATER_KINDS));
                None
            }
        }
    }

    fn compat(&mut self, place: Place, source: &mut Source<'_>) -> Option<Compat> {
        if let Some(script) = &self.script {
            source.refuse(script.place, "`.script` is for the kind `scripted`");
        }
        self.refuse_messages(source);
        let price = self.price.take().map(|price| price.value.check(source));
        let quirks = self.quirks.take().map(|quirks| quirks.value).unwrap_or_default();
        let effort = self.effort.take().map(|effort| effort.value.0);
        let Some(url) = self.base_url.take() else {
            let message = "the field `base_url` is missing, as in \"http://127.0.0.1:8080/v1\"";
            source.refuse(place, message);
            return None;
        };
        if let Err(why) = check_url(&url.value) {
            source.refuse(url.place, why);
        }
        let base_url = url.value.trim_end_matches('/').to_owned();
        Some(Compat { base_url, effort, price, quirks })
    }

    fn messages(&mut self, source: &mut Source<'_>) -> Messages {
        if let Some(script) = &self.script {
            source.refuse(script.place, "`.script` is for the kind `scripted`");
        }
        if let Some(quirks) = &self.quirks {
            source.refuse(quirks.place, "`.quirks` is for the kind `openai-compat`");
        }
        if let Some(tokens) = self.max_output_tokens.as_ref().filter(|tokens| tokens.value == 0) {
            source.refuse(tokens.place, "a reply has at least one token");
        }
        let is_date = |text: &str| {
            text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        };
        if let Some(version) = self.api_version.as_ref().filter(|text| !is_date(&text.value)) {
            source.refuse(version.place, "a version is a date, as in \"2023-06-01\"");
        }
        let url = self.base_url.take();
        if let Some((url, why)) =
            url.as_ref().and_then(|url| Some((url, check_url(&url.value).err()?)))
        {
            source.refuse(url.place, why);
        }
        let base_url = url.map_or_else(|| ANTHROPIC.to_owned(), |url| url.value);
        Messages {
            base_url: base_url.trim_end_matches('/').to_owned(),
            api_version: self.api_version.take().map(|version| version.value),
            max_output_tokens: self.max_output_tokens.take().map(|tokens| tokens.value),
            effort: self.effort.take().map(|effort| effort.value.0),
            price: self.price.take().map(|price| price.value.check(source)),
        }
    }

    /// Refuses the fields that only the kind `anthropic` has.
    fn refuse_messages(&self, source: &mut Source<'_>) {
        let others = [
            ("api_version", self.api_version.as_ref().map(|version| version.place)),
            ("max_output_tokens", self.max_output_tokens.as_ref().map(|tokens| tokens.place)),
        ];
        for (name, place) in others {
            if let Some(place) = place {
                source.refuse(place, format!("`.{name}` is for the kind `anthropic`"));
            }
        }
    }

    fn scripted(&mut self, place: Place, source: &mut Source<'_>) -> Option<ProviderKind> {
        let others = [
            ("base_url", self.base_url.as_ref().map(|url| url.place)),
            ("effort", self.effort.as_ref().map(|effort| effort.place)),
            ("price", self.price.as_ref().map(|price| price.place)),
            ("quirks", self.quirks.as_ref().map(|quirks| quirks.place)),
        ];
        for (name, place) in others {
            if let Some(place) = place {
                source.refuse(place, format!("`.{name}` is for the kind `openai-compat`"));
            }
        }
        self.refuse_messages(source);
        let Some(script) = self.script.take() else {
            source.refuse(place, "the field `script` is missing: the file with the turns");
            return None;
        };
        Some(ProviderKind::Scripted { script: script.value })
    }
}

impl PriceRow {
    fn check(self, source: &mut Source<'_>) -> Price {
        if !is_currency(&self.currency.value) {
            source.refuse(self.currency.place, "a currency has three letters, as in \"USD\"");
        }
        let mut millionths = |price: &Spanned<f64>| {
            let value = price.value * 1e6;
            if !(0.0..=1e15).contains(&value) {
                source.refuse(price.place, "a price is what a million tokens cost, zero or more");
                return 0;
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked above"
            )]
            let value = value.round() as u64;
            value
        };
        let (input, output) = (millionths(&self.input), millionths(&self.output));
        Price {
            currency: self.currency.value.to_ascii_uppercase(),
            cache_read: self.cache_read.as_ref().map_or(input, &mut millionths),
            cache_write: self.cache_write.as_ref().map_or(input, &mut millionths),
            input,
            output,
        }
    }
}

/// Checks an address as far as can be without asking anybody.
fn check_url(url: &str) -> Result<(), &'static str> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let Some(rest) = rest else { return Err("an address starts with `http://` or `https://`") };
    if url.len() > 2048 || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("an address has visible ASCII characters only, at most 2048");
    }
    if url.contains(['?', '#']) {
        return Err("an address has no `?` and no `#`; `/chat/completions` is put behind it");
    }
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.contains('@') {
        return Err("an address has no user or password in it; write a `.token_file`");
    }
    if authority.is_empty() || authority.starts_with(':') {
        return Err("the address has no host");
    }
    Ok(())
}
