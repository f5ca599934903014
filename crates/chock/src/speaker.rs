//! Chooses the model of a run and prepares it.

use std::path::Path;

use chock_config::{
    Choice, Compat, Flags, Messages, OutputLimit, Person, Price, ProviderKind, Reasoning,
    Responses, SystemRole,
};
use chock_provider as provider;
use chock_provider::{Credentials, CredentialsFault, Endpoint, Model, Pass};
use secrecy::{ExposeSecret, SecretString};

use crate::exit::Failure;
use crate::places::Places;
use crate::settings::Settings;

/// A prepared model, and the names of it.
pub(crate) struct Speaker {
    pub(crate) model: Box<dyn Model>,
    pub(crate) provider: String,
    pub(crate) name: String,
    /// The secret that it is lent, which no record may hold.
    pub(crate) lent: Vec<String>,
}

/// Chooses the provider and the model, and prepares them without asking a server anything.
pub(crate) fn choose(places: &Places, settings: &Settings) -> Result<Speaker, Failure> {
    chosen(places, settings, &settings.effective.flags)
}

/// Prepares the model that reviews acts: of the provider that `defaults.reviewer` names, or the
/// session's own.
pub(crate) fn reviewer(places: &Places, settings: &Settings) -> Result<Speaker, Failure> {
    match &settings.effective.person.defaults.reviewer {
        Some(name) => {
            let provider = Some(name.value.clone());
            chosen(places, settings, &Flags { provider, ..Flags::default() })
        }
        None => choose(places, settings),
    }
}

fn chosen(places: &Places, settings: &Settings, flags: &Flags) -> Result<Speaker, Failure> {
    let Settings { effective, .. } = settings;
    let config = &places.config;
    let choice = Choice::of(&effective.person, flags).map_err(|fault| {
        Failure::start(format!("{fault} ({})", config.join("config.zon").display()))
    })?;
    let (row, name) = (choice.provider.value, choice.model.value);
    match &row.kind {
        ProviderKind::Scripted { script } => {
            let path = script.resolve(config, places.home.as_deref());
            let text = std::fs::read_to_string(&path).map_err(|fault| {
                Failure::start(format!("cannot read the script {}: {fault}", path.display()))
            })?;
            let model = provider::Scripted::new(&row.name, &name, &text)
                .map_err(|fault| Failure::because(&fault))?;
            Ok(Speaker { model: Box::new(model), provider: row.name, name, lent: Vec::new() })
        }
        ProviderKind::OpenaiCompat(compat) | ProviderKind::Aiand(compat) => {
            let endpoint = endpoint(&row.name, &name, row.context_tokens, compat);
            let lend = |token| provider::OpenaiCompat::new(endpoint, Box::new(Lent(token)));
            spoken(places, settings, (row.name, name), lend)
        }
        ProviderKind::Anthropic(messages) => {
            let endpoint = messages_endpoint(&row.name, &name, row.context_tokens, messages);
            let lend = |token| provider::Anthropic::new(endpoint, Box::new(Lent(token)));
            spoken(places, settings, (row.name, name), lend)
        }
        ProviderKind::Openai(responses) => {
            let token = credential(&effective.person, &row.name, config, places)?;
            if token.is_none() {
                return Err(Failure::start(format!(
                    "the provider `{}` has no token; write its `.token_file`",
                    row.name
                )));
            }
            let endpoint = responses_endpoint(&row.name, &name, row.context_tokens, responses);
            let lend = |token| provider::Responses::new(endpoint, Box::new(Lent(token)));
            spoken(places, settings, (row.name, name), lend)
        }
    }
}

/// Lends a model the credential of its row.
fn spoken<M: Model + 'static>(
    places: &Places,
    settings: &Settings,
    names: (String, String),
    lend: impl FnOnce(Option<SecretString>) -> Result<M, provider::ProviderFault>,
) -> Result<Speaker, Failure> {
    let (provider, name) = names;
    let token = credential(&settings.effective.person, &provider, &places.config, places)?;
    let lent = token.iter().map(|token| token.expose_secret().to_owned()).collect();
    let model = lend(token).map_err(|fault| Failure::because(&fault))?;
    Ok(Speaker { model: Box::new(model), provider, name, lent })
}

/// A token that lasts as long as the run.
struct Lent(Option<SecretString>);

impl Credentials for Lent {
    fn pass(&self) -> Result<Option<Pass>, CredentialsFault> {
        Ok(self.0.clone().map(Pass::from))
    }
}

fn endpoint(name: &str, model: &str, context_tokens: Option<u64>, compat: &Compat) -> Endpoint {
    let quirks = &compat.quirks;
    Endpoint {
        provider: name.to_owned(),
        base_url: compat.base_url.clone(),
        model: model.to_owned(),
        context_tokens,
        api_version: None,
        max_output_tokens: None,
        effort: compat.effort.clone(),
        price: compat.price.as_ref().map(price),
        originator: None,
        quirks: provider::Quirks {
            system_role: match quirks.system_role {
                SystemRole::System => provider::SystemRole::System,
                SystemRole::Developer => provider::SystemRole::Developer,
            },
            reasoning: match quirks.reasoning {
                Reasoning::Drop => provider::ReasoningReplay::Drop,
                Reasoning::ReasoningContent => provider::ReasoningReplay::ReasoningContent,
                Reasoning::Reasoning => provider::ReasoningReplay::Reasoning,
            },
            output_limit: match quirks.output_limit {
                OutputLimit::MaxTokens => provider::OutputLimit::MaxTokens,
                OutputLimit::MaxCompletionTokens => provider::OutputLimit::MaxCompletionTokens,
            },
            tool_streaming: if quirks.whole_tool_replies {
                provider::ToolStreaming::Whole
            } else {
                provider::ToolStreaming::Stream
            },
            usage: if quirks.no_usage {
                provider::UsageRequest::Silent
            } else {
                provider::UsageRequest::Ask
            },
        },
        patience: provider::Patience::default(),
    }
}

fn messages_endpoint(
    name: &str,
    model: &str,
    context_tokens: Option<u64>,
    messages: &Messages,
) -> Endpoint {
    Endpoint {
        provider: name.to_owned(),
        base_url: messages.base_url.clone(),
        model: model.to_owned(),
        context_tokens,
        api_version: messages.api_version.clone(),
        max_output_tokens: messages.max_output_tokens,
        effort: messages.effort.clone(),
        price: messages.price.as_ref().map(price),
        originator: None,
        quirks: provider::Quirks::default(),
        patience: provider::Patience::default(),
    }
}

/// Makes the endpoint of a token: an account's has its own address and an originator.
fn responses_endpoint(
    name: &str,
    model: &str,
    context_tokens: Option<u64>,
    responses: &Responses,
) -> Endpoint {
    Endpoint {
        provider: name.to_owned(),
        base_url: responses.address(true).to_owned(),
        model: model.to_owned(),
        context_tokens,
        api_version: None,
        max_output_tokens: responses.max_output_tokens,
        effort: responses.effort.clone(),
        price: responses.price.as_ref().map(price),
        originator: None,
        quirks: provider::Quirks::default(),
        patience: provider::Patience::default(),
    }
}

fn price(price: &Price) -> provider::Price {
    provider::Price {
        currency: price.currency.clone(),
        input: price.input,
        cache_read: price.cache_read,
        cache_write: price.cache_write,
        output: price.output,
    }
}

/// Finds the token of a provider's row; a server on this machine may need none.
fn credential(
    person: &Person,
    name: &str,
    config: &Path,
    places: &Places,
) -> Result<Option<SecretString>, Failure> {
    let row = person.provider(name);
    let home = places.home.as_deref();
    let lent = row.map(|row| chock_auth::lend(row, config, home)).transpose();
    lent.map(Option::flatten).map_err(|fault| Failure::because(&fault))
}
