//! Reads one row of `providers`, and says what is wrong with it.

use chock_zon::{Place, Spanned};
use serde::Deserialize;

use super::{
    AIAND, ANTHROPIC, Account, Capabilities, Compat, Credential, Messages, Price, Provider,
    ProviderKind, Quirks, Responses,
};
use crate::budget::is_currency;
use crate::path::PersonPath;
use crate::source::{Source, shown};
use crate::token::Token;
use crate::word::Word;

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
    account: Option<Spanned<AccountRow>>,
    /// Whether the row names a token.
    #[serde(skip)]
    has_token: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct AccountRow {
    issuer: Option<Spanned<String>>,
    client_id: Option<Spanned<String>>,
    scope: Option<Spanned<String>>,
    redirect_ports: Option<Spanned<Vec<u16>>>,
    originator: Option<Spanned<String>>,
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

const KINDS: [&str; 5] = ["openai-compat", "anthropic", "openai", "aiand", "scripted"];

/// The most ports that a browser may be sent back to.
const PORTS_MAX: usize = 16;

/// The least tokens of a reply that the wire of Responses takes.
const RESPONSES_TOKENS_MIN: u64 = 16;

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
        self.has_token = self.token.is_some() || self.token_file.is_some();
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
            "openai-compat" => self.compat(None, place, source).map(ProviderKind::OpenaiCompat),
            "aiand" => self.compat(Some(AIAND), place, source).map(ProviderKind::Aiand),
            "anthropic" => Some(ProviderKind::Anthropic(self.messages(source))),
            "openai" => Some(ProviderKind::Openai(self.responses(source))),
            "scripted" => self.scripted(place, source),
            kind => {
                let message = format!("there is no kind `{}` of provider", shown(kind));
                source.refuse_word(kind_place, message, kind, KINDS);
                None
            }
        }
    }

    fn compat(
        &mut self,
        usual: Option<&str>,
        place: Place,
        source: &mut Source<'_>,
    ) -> Option<Compat> {
        self.refuse_fields(
            &[Field::Script, Field::ApiVersion, Field::Output, Field::Account],
            source,
        );
        let price = self.price.take().map(|price| price.value.check(source));
        let quirks = self.quirks.take().map(|quirks| quirks.value).unwrap_or_default();
        let effort = self.effort.take().map(|effort| effort.value.0);
        let Some(base_url) = self.address(source).or_else(|| usual.map(str::to_owned)) else {
            let message = "the field `base_url` is missing, as in \"http://127.0.0.1:8080/v1\"";
            source.refuse(place, message);
            return None;
        };
        Some(Compat { base_url, effort, price, quirks })
    }

    fn messages(&mut self, source: &mut Source<'_>) -> Messages {
        self.refuse_fields(&[Field::Script, Field::Quirks, Field::Account], source);
        if let Some(tokens) = self.max_output_tokens.as_ref().filter(|tokens| tokens.value == 0) {
            source.refuse(tokens.place, "a reply has at least one token");
        }
        let is_date = |text: &str| {
            text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        };
        if let Some(version) = self.api_version.as_ref().filter(|text| !is_date(&text.value)) {
            source.refuse(version.place, "a version is a date, as in \"2023-06-01\"");
        }
        Messages {
            base_url: self.address(source).unwrap_or_else(|| ANTHROPIC.to_owned()),
            api_version: self.api_version.take().map(|version| version.value),
            max_output_tokens: self.max_output_tokens.take().map(|tokens| tokens.value),
            effort: self.effort.take().map(|effort| effort.value.0),
            price: self.price.take().map(|price| price.value.check(source)),
        }
    }

    fn responses(&mut self, source: &mut Source<'_>) -> Responses {
        self.refuse_fields(&[Field::Script, Field::Quirks, Field::ApiVersion], source);
        let least = RESPONSES_TOKENS_MIN;
        if let Some(tokens) = self.max_output_tokens.as_ref().filter(|tokens| tokens.value < least)
        {
            source.refuse(tokens.place, format!("a reply has at least {least} tokens"));
        }
        let account = self.account.take();
        if let (Some(account), true) = (&account, self.has_token) {
            source.refuse(account.place, "a row with a token has no `.account`");
        }
        Responses {
            base_url: self.address(source),
            max_output_tokens: self.max_output_tokens.take().map(|tokens| tokens.value),
            effort: self.effort.take().map(|effort| effort.value.0),
            price: self.price.take().map(|price| price.value.check(source)),
            account: account.map(|account| account.value.check(source)).unwrap_or_default(),
        }
    }

    /// Takes the address of the row, without a `/` at its end.
    fn address(&mut self, source: &mut Source<'_>) -> Option<String> {
        self.base_url.take().map(|url| address(&url, source))
    }

    /// Refuses fields that only other kinds have.
    fn refuse_fields(&self, fields: &[Field], source: &mut Source<'_>) {
        for field in fields {
            let (name, place, kind) = match field {
                Field::Script => ("script", self.script.as_ref().map(|it| it.place), "`scripted`"),
                Field::BaseUrl => ("base_url", self.base_url.as_ref().map(|it| it.place), COMPAT),
                Field::Effort => ("effort", self.effort.as_ref().map(|it| it.place), COMPAT),
                Field::Price => ("price", self.price.as_ref().map(|it| it.place), COMPAT),
                Field::Quirks => ("quirks", self.quirks.as_ref().map(|it| it.place), COMPAT),
                Field::ApiVersion => {
                    ("api_version", self.api_version.as_ref().map(|it| it.place), "`anthropic`")
                }
                Field::Output => (
                    "max_output_tokens",
                    self.max_output_tokens.as_ref().map(|it| it.place),
                    "`anthropic` or `openai`",
                ),
                Field::Account => ("account", self.account.as_ref().map(|it| it.place), "`openai`"),
            };
            if let Some(place) = place {
                source.refuse(place, format!("`.{name}` is for the kind {kind}"));
            }
        }
    }

    fn scripted(&mut self, place: Place, source: &mut Source<'_>) -> Option<ProviderKind> {
        let others = [
            Field::BaseUrl,
            Field::Effort,
            Field::Price,
            Field::Quirks,
            Field::ApiVersion,
            Field::Output,
            Field::Account,
        ];
        self.refuse_fields(&others, source);
        let Some(script) = self.script.take() else {
            source.refuse(place, "the field `script` is missing: the file with the turns");
            return None;
        };
        Some(ProviderKind::Scripted { script: script.value })
    }
}

const COMPAT: &str = "`openai-compat`";

/// A field that not every kind has.
#[derive(Debug, Clone, Copy)]
enum Field {
    Script,
    BaseUrl,
    Effort,
    Price,
    Quirks,
    ApiVersion,
    Output,
    Account,
}

impl AccountRow {
    fn check(self, source: &mut Source<'_>) -> Account {
        let usual = Account::default();
        let Self { issuer, client_id, scope, redirect_ports, originator } = self;
        let ports = redirect_ports.as_ref().filter(|ports| {
            ports.value.is_empty() || ports.value.len() > PORTS_MAX || ports.value.contains(&0)
        });
        if let Some(ports) = ports {
            let message = format!("there are 1 to {PORTS_MAX} ports, none of them 0");
            source.refuse(ports.place, message);
        }
        let mut word = |text: Option<Spanned<String>>, usual: String, blanks: bool| {
            let Some(text) = text else { return usual };
            let fits = |byte: u8| byte.is_ascii_graphic() || (blanks && byte == b' ');
            let length = 1..=NAME_BYTES_MAX;
            if !length.contains(&text.value.len()) || !text.value.bytes().all(fits) {
                let message = "it has visible ASCII characters only, 1 to 256 of them";
                source.refuse(text.place, message);
            }
            text.value
        };
        Account {
            client_id: word(client_id, usual.client_id, false),
            scope: word(scope, usual.scope, true),
            originator: word(originator, usual.originator, false),
            redirect_ports: redirect_ports.map_or(usual.redirect_ports, |ports| ports.value),
            issuer: issuer.map_or(usual.issuer, |url| address(&url, source)),
        }
    }
}

/// Checks an address, and takes the `/` from its end.
fn address(url: &Spanned<String>, source: &mut Source<'_>) -> String {
    if let Err(why) = check_url(&url.value) {
        source.refuse(url.place, why);
    }
    url.value.trim_end_matches('/').to_owned()
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
