//! Chooses the model of a run and prepares it.

use chock_auth::{Store, Stored};
use chock_config::{
    Choice, Compat, Flags, Messages, OutputLimit, Person, Price, Provider, ProviderKind, Reasoning,
    Responses, SystemRole,
};
use chock_provider as provider;
use chock_provider::{
    Cancel, Credentials, CredentialsFault, Endpoint, Listed, Model, Pass, ProviderFault,
};
use secrecy::{ExposeSecret, SecretString};

use crate::account::{self, SignedIn};
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

/// Prepares the model that `flags` name.
pub(crate) fn chosen(
    places: &Places,
    settings: &Settings,
    flags: &Flags,
) -> Result<Speaker, Failure> {
    let person = &settings.effective.person;
    let choice = Choice::of(person, flags).map_err(|fault| {
        Failure::start(format!("{fault} ({})", places.config.join("config.zon").display()))
    })?;
    prepared(places, person, choice.provider.value, choice.model.value)
}

/// Prepares a row without a model, to list its server's.
pub(crate) fn of_row(
    places: &Places,
    person: &Person,
    row: &Provider,
) -> Result<Box<dyn Model>, Failure> {
    prepared(places, person, row.clone(), String::new()).map(|speaker| speaker.model)
}

fn prepared(
    places: &Places,
    person: &Person,
    row: Provider,
    name: String,
) -> Result<Speaker, Failure> {
    let config = &places.config;
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
            let lend = |pass| provider::OpenaiCompat::new(endpoint, Box::new(Lent(pass)));
            spoken(places, person, (row.name, name), lend)
        }
        ProviderKind::Anthropic(messages) => {
            let endpoint = messages_endpoint(&row.name, &name, row.context_tokens, messages);
            let lend = |pass| provider::Anthropic::new(endpoint, Box::new(Lent(pass)));
            spoken(places, person, (row.name, name), lend)
        }
        ProviderKind::Openai(responses) => answering(places, person, (&row, name), responses),
    }
}

/// Prepares a model that speaks Responses: with a key, or with the account that is signed in.
fn answering(
    places: &Places,
    person: &Person,
    (row, name): (&Provider, String),
    responses: &Responses,
) -> Result<Speaker, Failure> {
    let stored = lent(person, &row.name, places)?;
    let (endpoint, credentials, lent): (_, Box<dyn Credentials>, _) = match stored {
        None => return Err(signed_out(&row.name)),
        Some(Stored::Key(key)) => {
            let lent = vec![key.expose_secret().to_owned()];
            let endpoint = responses_endpoint(row, &name, responses);
            (endpoint, Box::new(Lent(Some(key.into()))), lent)
        }
        Some(Stored::Account(_)) => {
            let signed_in = SignedIn::new(places, &row.name, responses)?;
            let lent = signed_in.secrets()?;
            (account_endpoint(row, &name, responses), Box::new(signed_in), lent)
        }
    };
    let model = provider::Responses::new(endpoint, credentials);
    let model = Box::new(model.map_err(|fault| Failure::because(&fault))?);
    Ok(Speaker { model, provider: row.name.clone(), name, lent })
}

/// Lends a model the credential of its row.
fn spoken<M: Model + 'static>(
    places: &Places,
    person: &Person,
    names: (String, String),
    lend: impl FnOnce(Option<Pass>) -> Result<M, ProviderFault>,
) -> Result<Speaker, Failure> {
    let (provider, name) = names;
    let token = credential(person, &provider, places)?;
    let lent = token.iter().map(|token| token.expose_secret().to_owned()).collect();
    let model = lend(token.map(Pass::from)).map_err(|fault| Failure::because(&fault))?;
    Ok(Speaker { model: Box::new(model), provider, name, lent })
}

/// What lasts as long as the run.
struct Lent(Option<Pass>);

impl Credentials for Lent {
    fn pass(&self) -> Result<Option<Pass>, CredentialsFault> {
        Ok(self.0.clone())
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

fn responses_endpoint(row: &Provider, model: &str, responses: &Responses) -> Endpoint {
    Endpoint {
        provider: row.name.clone(),
        base_url: responses.address(true).to_owned(),
        model: model.to_owned(),
        context_tokens: row.context_tokens,
        api_version: None,
        max_output_tokens: responses.max_output_tokens,
        effort: responses.effort.clone(),
        price: responses.price.as_ref().map(price),
        originator: None,
        quirks: provider::Quirks::default(),
        patience: provider::Patience::default(),
    }
}

/// An account has an address of its own, and requests say who makes them.
fn account_endpoint(row: &Provider, model: &str, responses: &Responses) -> Endpoint {
    Endpoint {
        base_url: responses.address(false).to_owned(),
        originator: Some(responses.account.originator.clone()),
        ..responses_endpoint(row, model, responses)
    }
}

pub(crate) fn price(price: &Price) -> chock_log::Price {
    chock_log::Price {
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
    places: &Places,
) -> Result<Option<SecretString>, Failure> {
    match lent(person, name, places)? {
        Some(Stored::Key(key)) => Ok(Some(key)),
        Some(Stored::Account(_)) => Err(Failure::start(format!(
            "an account is stored for `{name}`, which takes a key: chock login {name}"
        ))),
        None if person.provider(name).is_some_and(needs_one) => Err(signed_out(name)),
        None => Ok(None),
    }
}

/// Finds what lets in at a provider.
fn lent(person: &Person, name: &str, places: &Places) -> Result<Option<Stored>, Failure> {
    let Some(row) = person.provider(name) else { return Ok(None) };
    let store = Store::at(&places.data);
    let lent = chock_auth::lend(row, &places.config, places.home.as_deref(), &store);
    lent.map_err(|fault| Failure::because(&fault))
}

fn signed_out(name: &str) -> Failure {
    Failure::start(format!(
        "nothing lets you in at `{name}`: chock login {name}, or name a `.token_file` in its row"
    ))
}

/// Says whether a provider lets nobody in without a credential.
fn needs_one(row: &Provider) -> bool {
    match &row.kind {
        ProviderKind::Anthropic(messages) => messages.base_url.starts_with("https://"),
        ProviderKind::Aiand(compat) => compat.base_url.starts_with("https://"),
        ProviderKind::Openai(_) => true,
        ProviderKind::OpenaiCompat(_) | ProviderKind::Scripted { .. } => false,
    }
}

/// Lists the models of a row's server for one credential.
pub(crate) fn listed(
    row: &Provider,
    credential: &Stored,
    cancel: &Cancel,
) -> Result<Vec<Listed>, ProviderFault> {
    let pass = match credential {
        Stored::Key(key) => Pass::from(key.clone()),
        Stored::Account(account) => account::pass(account),
    };
    let lent = Box::new(Lent(Some(pass)));
    match &row.kind {
        ProviderKind::OpenaiCompat(compat) | ProviderKind::Aiand(compat) => {
            let endpoint = endpoint(&row.name, "", row.context_tokens, compat);
            provider::OpenaiCompat::new(endpoint, lent)?.models(cancel)
        }
        ProviderKind::Anthropic(messages) => {
            let endpoint = messages_endpoint(&row.name, "", row.context_tokens, messages);
            provider::Anthropic::new(endpoint, lent)?.models(cancel)
        }
        ProviderKind::Openai(responses) => {
            let endpoint = match credential {
                Stored::Key(_) => responses_endpoint(row, "", responses),
                Stored::Account(_) => account_endpoint(row, "", responses),
            };
            provider::Responses::new(endpoint, lent)?.models(cancel)
        }
        ProviderKind::Scripted { .. } => Ok(Vec::new()),
    }
}
