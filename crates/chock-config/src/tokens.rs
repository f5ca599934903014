//! `tokens.zon`: tokens that are kept apart from `config.zon`.

use std::collections::BTreeMap;

use chock_zon::{Place, Span};

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

    /// Reads the file's `bytes` as [`Tokens::read`] reads its text.
    ///
    /// # Errors
    ///
    /// As [`Tokens::read`], and when the bytes are not UTF-8.
    pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<Self, Faults> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::read(name, text),
            Err(fault) => {
                let good = &bytes[..fault.valid_up_to()];
                let good = std::str::from_utf8(good).expect("invariant: valid up to here");
                let line = good.matches('\n').count() + 1;
                let column = good.rfind('\n').map_or(good.len(), |at| good.len() - at - 1) + 1;
                let mut source = Source::all_secret(name, "");
                let place = Place { line, column, span: Span::default() };
                source.refuse(place, "this byte is not UTF-8 text");
                source.finish(Self::default())
            }
        }
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
