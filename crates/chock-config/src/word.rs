//! A word that may be written as a name or as a string.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

/// `.name` or `"name"`, for words that have a hyphen or come from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordVisitor;

        impl Visitor<'_> for WordVisitor {
            type Value = Word;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a name, as in `.name` or \"name\"")
            }

            fn visit_str<E>(self, word: &str) -> Result<Word, E> {
                Ok(Word(word.to_owned()))
            }
        }

        deserializer.deserialize_identifier(WordVisitor)
    }
}
