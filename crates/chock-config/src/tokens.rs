//! `tokens.zon`: tokens that are kept apart from `config.zon`.

use std::collections::BTreeMap;

use crate::fault::Faults;
use crate::source::Source;
use crate::token::Token;

/// Tokens by the name of their provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens(BTreeMap<String, Token>);

/// The most tokens of one file.
const TOKENS_MAX: usize = 256;

impl Tokens {
    /// Reads the `text` of a file that people know as `name`: `.{ .provider = "token" }`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, without any of its lines.
    pub fn read(name: &str, text: &str) -> Result<Self, Faults> {
        let mut source = Source::all_secret(name, text);
        let mut tokens = BTreeMap::new();
        if let Some(tree) = source.parse() {
            for entry in tree.root().entries() {
                if let Some(token) = source.read(entry.value()) {
                    tokens.insert(entry.name().to_owned(), token);
                }
            }
            if tokens.len() > TOKENS_MAX {
                let message = format!("{} tokens are over the limit of {TOKENS_MAX}", tokens.len());
                source.refuse(tree.root().anchor(), message);
            }
        }
        source.finish(Self(tokens))
    }

    /// The token of a provider.
    #[must_use]
    pub fn get(&self, provider: &str) -> Option<&Token> {
        self.0.get(provider)
    }

    /// All tokens by the name of their provider.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Token)> {
        self.0.iter().map(|(name, token)| (name.as_str(), token))
    }
}
