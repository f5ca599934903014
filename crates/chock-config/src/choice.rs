//! Which provider and model a run talks to.

use crate::effective::{Flags, Origin, Sourced};
use crate::fault::nearest;
use crate::person::Person;
use crate::provider::{Provider, ProviderKind};

/// The provider and the model of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The provider.
    pub provider: Sourced<Provider>,
    /// The model's name, as the server spells it.
    pub model: Sourced<String>,
}

/// Why no provider or model can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceFault {
    /// `config.zon` names none.
    #[error("no provider is configured; write one into `providers` of config.zon")]
    NoProviders,
    /// A flag names one that is not there.
    #[error("there is no provider `{name}`; the providers are {known}{}", meant(.nearest))]
    UnknownProvider {
        /// The name that was asked for.
        name: String,
        /// The names that are there, joined by commas.
        known: String,
        /// The one that is nearest.
        nearest: Option<String>,
    },
    /// There are several and none is the default.
    #[error(
        "several providers are configured: {known}; choose one with `--provider`, or write `.defaults = .{{ .provider = \"...\" }}`"
    )]
    NoDefault {
        /// The names that are there, joined by commas.
        known: String,
    },
    /// Nothing names a model.
    #[error(
        "no model is named for the provider `{provider}`; use `--model`, or write `.model` into its row"
    )]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// The provider's row lists its models, and this is none of them.
    #[error("the provider `{provider}` has no model `{name}`{}", meant(.nearest))]
    UnknownModel {
        /// The provider.
        provider: String,
        /// The name that was asked for.
        name: String,
        /// The one that is nearest.
        nearest: Option<String>,
    },
}

fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |nearest| format!("; did you mean `{nearest}`?"))
}

impl Choice {
    /// Chooses: a flag's word over the defaults', and that over the provider's own.
    ///
    /// # Errors
    ///
    /// Nothing is named, or what is named is not there.
    pub fn of(person: &Person, flags: &Flags) -> Result<Self, ChoiceFault> {
        let provider = provider(person, flags)?;
        let model = model(person, flags, &provider)?;
        Ok(Self { provider, model })
    }
}

fn provider(person: &Person, flags: &Flags) -> Result<Sourced<Provider>, ChoiceFault> {
    let names = || person.providers.iter().map(|provider| provider.name.as_str());
    let known = || names().collect::<Vec<_>>().join(", ");
    let (name, origin) = match (&flags.provider, &person.defaults.provider) {
        (Some(name), _) => (name, Origin::Flag("--provider")),
        (None, Some(name)) => (&name.value, Origin::Person(name.place)),
        (None, None) => {
            return match person.providers.as_slice() {
                [] => Err(ChoiceFault::NoProviders),
                [only] => Ok(Sourced { value: only.clone(), origin: Origin::Person(only.place) }),
                [_, _, ..] => Err(ChoiceFault::NoDefault { known: known() }),
            };
        }
    };
    if person.providers.is_empty() {
        return Err(ChoiceFault::NoProviders);
    }
    match person.provider(name) {
        Some(provider) => Ok(Sourced { value: provider.clone(), origin }),
        None => Err(ChoiceFault::UnknownProvider {
            name: name.clone(),
            known: known(),
            nearest: nearest(name, names()).map(str::to_owned),
        }),
    }
}

fn model(
    person: &Person,
    flags: &Flags,
    provider: &Sourced<Provider>,
) -> Result<Sourced<String>, ChoiceFault> {
    let Sourced { value: provider, origin } = provider;
    // A default model belongs to the default provider. A provider that was chosen by
    // name has its own first.
    let default = person.defaults.model.as_ref();
    let (first, second) = match origin {
        Origin::Flag(_) => (provider.model.as_ref(), None),
        Origin::Shipped
        | Origin::Machine
        | Origin::Person(_)
        | Origin::Project(_)
        | Origin::Organisation(_) => (default, provider.model.as_ref()),
    };
    let named = first.or(second).map(|model| (&model.value, Origin::Person(model.place)));
    let (name, origin) = match (&flags.model, named) {
        (Some(name), _) => (name.clone(), Origin::Flag("--model")),
        (None, Some((name, origin))) => (name.clone(), origin),
        (None, None) => unnamed(provider)?,
    };
    if !provider.models.is_empty() && !provider.models.contains(&name) {
        let nearest = nearest(&name, provider.models.iter().map(String::as_str)).map(str::to_owned);
        return Err(ChoiceFault::UnknownModel { provider: provider.name.clone(), name, nearest });
    }
    Ok(Sourced { value: name, origin })
}

/// The model of a provider whose row names none: the only one it has.
fn unnamed(provider: &Provider) -> Result<(String, Origin), ChoiceFault> {
    let origin = Origin::Person(provider.place);
    match (&provider.kind, provider.models.as_slice()) {
        (_, [only]) => Ok((only.clone(), origin)),
        (ProviderKind::Scripted { .. }, []) => Ok(("scripted".to_owned(), origin)),
        (
            ProviderKind::Scripted { .. }
            | ProviderKind::OpenaiCompat(_)
            | ProviderKind::Anthropic(_)
            | ProviderKind::Openai(_)
            | ProviderKind::Aiand(_),
            _,
        ) => Err(ChoiceFault::NoModel { provider: provider.name.clone() }),
    }
}
