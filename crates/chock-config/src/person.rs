//! `config.zon`: the person's own configuration.

use chock_zon::{Node, Spanned};
use serde::Deserialize;

use crate::audit::{Sink, audit};
use crate::fault::Faults;
use crate::limits::LimitsBlock;
use crate::organisation::OrganisationBlock;
use crate::project::list;
use crate::provider::{Provider, ProviderRow};
use crate::source::{Names, Source, shown};
use crate::toolchains::Toolchains;
use crate::word::Word;

/// What `config.zon` says. The default is what no file says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Person {
    /// Where models are reached, in the order of the file. No two have the same name.
    pub providers: Vec<Provider>,
    /// What is used when a command names nothing.
    pub defaults: Defaults,
    /// How much a call may use.
    pub limits: LimitsBlock,
    /// Which toolchains enter the sandbox.
    pub toolchains: Toolchains,
    /// What holds of the organisation's bundle.
    pub organisation: OrganisationBlock,
    /// Where else a session's log goes.
    pub sinks: Vec<Sink>,
}

/// What is used when a command names nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defaults {
    /// The name of one of the providers.
    pub provider: Option<Spanned<String>>,
    /// The name of a model.
    pub model: Option<Spanned<String>>,
    /// The name of the provider whose model reviews acts; without it the session's own does.
    pub reviewer: Option<Spanned<String>>,
    /// How many turns one run may have, at least 1.
    pub max_turns: Option<Spanned<u32>>,
    /// Who answers when the server of the model before is overloaded, in this order.
    pub fallbacks: Vec<Fallback>,
}

/// A model that may answer in the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// The name of one of the providers.
    pub provider: Spanned<String>,
    /// The name of a model; that of the provider's row where it is absent.
    pub model: Option<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DefaultsBlock {
    provider: Option<Spanned<Word>>,
    model: Option<Spanned<String>>,
    reviewer: Option<Spanned<Word>>,
    max_turns: Option<Spanned<u32>>,
    fallbacks: Vec<Spanned<FallbackRow>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FallbackRow {
    provider: Spanned<Word>,
    model: Option<Spanned<String>>,
}

const BLOCKS: Names = Names {
    known: &["providers", "defaults", "limits", "toolchains", "organisation", "audit"],
    later: &["nix", "search", "credentials", "sandbox", "interface", "notices"],
};

/// The most fallbacks: each is tried for a minute or so.
const FALLBACKS_MAX: usize = 8;

/// The most providers of one file.
const PROVIDERS_MAX: usize = 256;

impl Person {
    /// Reads the `text` of a file that people know as `name`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, without any token.
    pub fn read(name: &str, text: &str) -> Result<Self, Faults> {
        let mut source = Source::with_tokens(name, text);
        let mut person = Self::default();
        let mut defaults = DefaultsBlock::default();
        if let Some(tree) = source.parse() {
            for entry in tree.root().entries() {
                let node = entry.value();
                match entry.name() {
                    "providers" => person.providers = providers(node, &mut source),
                    "defaults" => defaults = source.read(node).unwrap_or_default(),
                    "audit" => person.sinks = audit(node, &mut source),
                    "limits" => {
                        let block = source.read::<LimitsBlock>(node).unwrap_or_default();
                        person.limits = block.check(&mut source);
                    }
                    "toolchains" => {
                        let block = source.read::<Toolchains>(node).unwrap_or_default();
                        person.toolchains = block.check(&mut source);
                    }
                    "organisation" => {
                        person.organisation = OrganisationBlock::read(node.entries(), &mut source);
                    }
                    _ => source.refuse_name(entry, &BLOCKS, "block"),
                }
            }
        }
        person.defaults = defaults.check(&person.providers, &mut source);
        source.finish(person)
    }

    /// The provider with this name.
    #[must_use]
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.name == name)
    }
}

fn providers(node: Node<'_>, source: &mut Source<'_>) -> Vec<Provider> {
    let rows: Vec<Spanned<ProviderRow>> = list(node, PROVIDERS_MAX, "providers", source);
    let mut providers: Vec<Provider> = Vec::new();
    for row in rows {
        let Some(provider) = row.value.check(row.place, source) else { continue };
        if let Some(first) = providers.iter().find(|first| first.name == provider.name) {
            let (name, line) = (shown(&provider.name), first.place.line);
            let message = format!("the provider of line {line} is called `{name}` already");
            source.refuse(provider.place, message);
        }
        providers.push(provider);
    }
    providers
}

impl DefaultsBlock {
    fn check(self, providers: &[Provider], source: &mut Source<'_>) -> Defaults {
        let Self { provider, model, reviewer, max_turns, fallbacks } = self;
        // When a row was refused its name is not known, and only the row is to blame.
        let rows_are_known = !source.has_faults();
        let mut named = |name: Spanned<Word>| {
            let name = Spanned { value: name.value.0, place: name.place };
            if rows_are_known && !providers.iter().any(|provider| provider.name == name.value) {
                let message = format!("there is no provider `{}`", shown(&name.value));
                let known = providers.iter().map(|provider| provider.name.as_str());
                source.refuse_word(name.place, message, &name.value, known);
            }
            name
        };
        let (provider, reviewer) = (provider.map(&mut named), reviewer.map(&mut named));
        let fallbacks: Vec<_> = fallbacks
            .into_iter()
            .map(|row| (row.place, named(row.value.provider), row.value.model))
            .collect();
        if let Some((place, ..)) = fallbacks.get(FALLBACKS_MAX) {
            source.refuse(*place, format!("more than {FALLBACKS_MAX} fallbacks are listed"));
        }
        let fallbacks = fallbacks.into_iter().map(|(_, provider, model)| {
            listed(providers, &provider, model.as_ref(), source);
            Fallback { provider, model }
        });
        let fallbacks = fallbacks.collect();
        if let Some(turns) = max_turns.as_ref().filter(|turns| turns.value == 0) {
            source.refuse(turns.place, "a run has at least one turn");
        }
        Defaults { provider, model, reviewer, max_turns, fallbacks }
    }
}

/// Refuses a fallback's model that its provider's row does not list.
fn listed(
    providers: &[Provider],
    provider: &Spanned<String>,
    model: Option<&Spanned<String>>,
    source: &mut Source<'_>,
) {
    let row = providers.iter().find(|row| row.name == provider.value);
    let (Some(row), Some(model)) = (row, model) else { return };
    if !row.models.is_empty() && !row.models.contains(&model.value) {
        let message = format!("the model `{}` is not among `.models`", shown(&model.value));
        let known = row.models.iter().map(String::as_str);
        source.refuse_word(model.place, message, &model.value, known);
    }
}
