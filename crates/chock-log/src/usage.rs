//! What a request cost.

use serde::{Deserialize, Serialize};

/// Tokens of one request or of many, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Input that no cache served.
    pub input: u64,
    /// Input read from the provider's cache.
    pub cache_read: u64,
    /// Input written to the provider's cache.
    pub cache_write: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// The part of the output that was reasoning.
    pub reasoning: u64,
}

/// What was paid: known, nothing, or not known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// A price is known.
    Priced {
        /// Millionths of the currency's unit.
        micros: u64,
        /// Three letters, such as `USD`.
        currency: String,
    },
    /// Nothing is paid for this model.
    Free,
    /// Nobody told the price, or the count of tokens.
    Unknown,
}

impl Tokens {
    /// Adds what another request used.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }

    /// Counts input and output together.
    #[must_use]
    pub fn total(&self) -> u64 {
        let input = self.input.saturating_add(self.cache_read).saturating_add(self.cache_write);
        input.saturating_add(self.output)
    }
}
