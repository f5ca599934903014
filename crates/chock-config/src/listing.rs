//! Every value in force as a list of rows.

use chock_policy::{
    self as policy, Action, Decision, Lineage, Ratchet, Request, Rule, Table, decide,
};
use chock_zon::Spanned;

use crate::apply::ApplyMode;
use crate::choice::Choice;
use crate::effective::{Effective, Origin};
use crate::limits::Limit;
use crate::person::Fallback;
use crate::provider::{Credential, Price, Provider, ProviderKind};
use crate::source::shown;

/// One value in force. No row holds a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its name: the path to it in its file, as in `limits.memory`.
    pub name: String,
    /// The value in words, without control characters.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
}

/// Actions that are settled once for a session, by the filter of system calls.
const FILTER_ACTIONS: [&str; 2] = ["sandbox.jit", "sandbox.debug"];

impl Row {
    fn new(name: impl Into<String>, value: impl AsRef<str>, origin: Origin) -> Self {
        Self { name: name.into(), value: shown(value.as_ref()), origin }
    }
}

impl Effective {
    /// Lists every value in force.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = self.choice_rows();
        rows.push(Row::new("max_turns", self.max_turns.value.to_string(), self.max_turns.origin));
        for provider in &self.person.providers {
            provider_rows(provider, &mut rows);
        }
        for limit in Limit::ALL {
            let sourced = self.limits.get(limit);
            let name = format!("limits.{}", limit.name());
            rows.push(Row::new(name, limit.words(sourced.value), sourced.origin));
        }
        self.person_rows(&mut rows);
        self.audit_rows(&mut rows);
        self.project_rows(&mut rows);
        self.organisation_rows(&mut rows);
        self.filter_rows(&mut rows);
        rows
    }

    fn organisation_rows(&self, rows: &mut Vec<Row>) {
        let Some(organisation) = &self.organisation else { return };
        let whole = Origin::Organisation(organisation.place);
        for (name, value) in [("issuer", &organisation.issuer), ("subject", &organisation.subject)]
        {
            if !value.is_empty() {
                rows.push(Row::new(format!("organisation.{name}"), value, whole));
            }
        }
        let times =
            [("issued_ms", organisation.issued_ms), ("expires_ms", organisation.expires_ms)];
        for (name, time) in times.into_iter().filter(|(_, time)| *time > 0) {
            rows.push(Row::new(format!("organisation.{name}"), time.to_string(), whole));
        }
        for rule in &organisation.rules {
            let origin = Origin::Organisation(rule.place);
            rows.push(Row::new("organisation.rules", rule.value.to_string(), origin));
        }
        for sink in &organisation.sinks {
            let origin = Origin::Organisation(sink.place);
            rows.push(Row::new("organisation.sinks", sink.to_string(), origin));
        }
    }

    /// What a run would talk to; what cannot be chosen has no row.
    fn choice_rows(&self) -> Vec<Row> {
        let Ok(Choice { provider, model }) = Choice::of(&self.person, &self.flags) else {
            return Vec::new();
        };
        vec![
            Row::new("provider", &provider.value.name, provider.origin),
            Row::new("model", &model.value, model.origin),
        ]
    }

    /// The rows in force: the project's and the shipped ones, under the organisation's.
    #[must_use]
    pub fn table(&self) -> Table {
        let organisation = self.organisation.iter().flat_map(|organisation| &organisation.rules);
        let rows = organisation.map(|rule| rule.value.clone()).collect();
        let table = self.project.table().under(rows);
        table.expect("invariant: the rows were counted when they were read")
    }

    /// The two rows of the policy that change what programs may ask of the kernel.
    fn filter_rows(&self, rows: &mut Vec<Row>) {
        let table = self.table();
        for name in FILTER_ACTIONS {
            let action = Action::from_static(name);
            let request = Request { action: &action, tool: "run_command", model: "" };
            let ruling = decide(&table, &Lineage::main(), &Ratchet::default(), &request);
            // Nobody is asked in the middle of a call: what is not allowed is refused.
            let word = if ruling.decision == Decision::Allow { "allow" } else { "deny" };
            let written = |rows: &[Spanned<Rule>], rule: &Rule| {
                rows.iter().find(|row| row.value == *rule).map(|row| row.place)
            };
            let origin = match (&ruling.row, &self.organisation) {
                (Some((policy::Origin::Project, rule)), _) => {
                    written(self.project.rules(), rule).map(Origin::Project)
                }
                (Some((policy::Origin::Organisation, rule)), Some(organisation)) => {
                    written(&organisation.rules, rule).map(Origin::Organisation)
                }
                _ => None,
            };
            rows.push(Row::new(name, word, origin.unwrap_or(Origin::Shipped)));
        }
    }

    fn person_rows(&self, rows: &mut Vec<Row>) {
        for Fallback { provider, model } in &self.person.defaults.fallbacks {
            let model = model.as_ref().map(|model| format!(" · {}", model.value));
            let value = format!("{}{}", provider.value, model.unwrap_or_default());
            rows.push(Row::new("defaults.fallbacks", value, Origin::Person(provider.place)));
        }
        let toolchains = &self.person.toolchains;
        for (name, paths) in [("add", &toolchains.add), ("remove", &toolchains.remove)] {
            for path in paths {
                let origin = Origin::Person(path.place);
                rows.push(Row::new(format!("toolchains.{name}"), path.value.as_str(), origin));
            }
        }
    }

    fn audit_rows(&self, rows: &mut Vec<Row>) {
        for sink in &self.person.sinks {
            rows.push(Row::new("audit.sinks", sink.to_string(), Origin::Person(sink.place)));
        }
    }

    fn project_rows(&self, rows: &mut Vec<Row>) {
        match self.budget() {
            Some(budget) => {
                let origin = match self.project.budget {
                    Some(_) => Origin::Project(budget.place),
                    None => Origin::Organisation(budget.place),
                };
                rows.push(Row::new("budget", budget.to_string(), origin));
            }
            None => rows.push(Row::new("budget", "none", Origin::Shipped)),
        }
        for row in &self.denied {
            rows.push(Row::new("deny_read", row.value.to_string(), row.origin));
        }
        for name in &self.project.environment {
            let origin = Origin::Project(name.place);
            rows.push(Row::new("environment", name.value.as_str(), origin));
        }
        for path in &self.project.instructions {
            rows.push(Row::new("instructions", path.value.as_str(), Origin::Project(path.place)));
        }
        for path in &self.project.skills {
            rows.push(Row::new("skills", path.value.as_str(), Origin::Project(path.place)));
        }
        for bind in &self.project.binds {
            let origin = Origin::Project(bind.place);
            rows.push(Row::new("workspace.binds", bind.value.to_string(), origin));
        }
        match &self.project.apply {
            Some(mode) => {
                rows.push(Row::new("apply.mode", mode.value.word(), Origin::Project(mode.place)));
            }
            None => {
                rows.push(Row::new("apply.mode", ApplyMode::default().word(), Origin::Shipped));
            }
        }
        for rule in self.project.rules() {
            let origin = Origin::Project(rule.place);
            rows.push(Row::new("policy.rules", rule.value.to_string(), origin));
        }
    }
}

fn price_words(price: &Price) -> String {
    let [input, output] = [price.input, price.output].map(millionths);
    format!("{input} in, {output} out, {} a million tokens", price.currency)
}

fn provider_rows(provider: &Provider, rows: &mut Vec<Row>) {
    let origin = Origin::Person(provider.place);
    let mut row = |field: &str, value: &str| {
        rows.push(Row::new(format!("providers.{}.{field}", provider.name), value, origin));
    };
    let (mut effort, mut price) = (None, None);
    match &provider.kind {
        ProviderKind::OpenaiCompat(compat) => {
            row("kind", "openai-compat");
            row("base_url", &compat.base_url);
            (effort, price) = (compat.effort.as_ref(), compat.price.as_ref());
        }
        ProviderKind::Aiand(compat) => {
            row("kind", "aiand");
            row("base_url", &compat.base_url);
            (effort, price) = (compat.effort.as_ref(), compat.price.as_ref());
        }
        ProviderKind::Anthropic(messages) => {
            row("kind", "anthropic");
            row("base_url", &messages.base_url);
            if let Some(version) = &messages.api_version {
                row("api_version", version);
            }
            (effort, price) = (messages.effort.as_ref(), messages.price.as_ref());
        }
        ProviderKind::Openai(responses) => {
            row("kind", "openai");
            let has_token = provider.credential != Credential::Absent;
            row("base_url", responses.address(has_token));
            if !has_token {
                row("account.issuer", &responses.account.issuer);
                row("account.originator", &responses.account.originator);
            }
            (effort, price) = (responses.effort.as_ref(), responses.price.as_ref());
        }
        ProviderKind::Scripted { script } => {
            row("kind", "scripted");
            row("script", script.as_str());
        }
    }
    if let Some(effort) = effort {
        row("effort", effort);
    }
    if let Some(price) = price {
        row("price", &price_words(price));
    }
    match &provider.credential {
        Credential::Absent => {}
        Credential::Token(_) => row("token", "(set, not shown)"),
        Credential::TokenFile(path) => row("token_file", path.as_str()),
    }
    if let Some(model) = &provider.model {
        row("model", &model.value);
    }
    if !provider.models.is_empty() {
        row("models", &provider.models.join(", "));
    }
    if let Some(tokens) = provider.context_tokens {
        row("context_tokens", &tokens.to_string());
    }
    if provider.capabilities.images {
        row("capabilities.images", "true");
    }
}

/// A price as it is written in a file.
fn millionths(price: u64) -> String {
    let (whole, part) = (price / 1_000_000, price % 1_000_000);
    let text = format!("{whole}.{part:06}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
