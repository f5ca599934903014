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

/// What tokens cost, in millionths of the currency's unit for a million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Three letters, such as `USD`.
    pub currency: String,
    /// Input that no cache served.
    pub input: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// Output, reasoning included.
    pub output: u64,
}

impl Price {
    /// Returns what `tokens` cost.
    #[must_use]
    pub fn of(&self, tokens: &Tokens) -> Cost {
        let kinds = [
            (tokens.input, self.input),
            (tokens.cache_read, self.cache_read),
            (tokens.cache_write, self.cache_write),
            (tokens.output, self.output),
        ];
        let sum: u128 =
            kinds.iter().map(|(count, price)| u128::from(*count) * u128::from(*price)).sum();
        let micros = u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX);
        Cost::Priced { micros, currency: self.currency.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_price() {
        // 2.00, 0.20, 2.50 and 10.00 for a million.
        let price = Price {
            currency: "USD".to_owned(),
            input: 2_000_000,
            cache_read: 200_000,
            cache_write: 2_500_000,
            output: 10_000_000,
        };
        let cost = |input, cache_read, cache_write, output| match price.of(&Tokens {
            input,
            cache_read,
            cache_write,
            output,
            reasoning: 0,
        }) {
            Cost::Priced { micros, .. } => micros,
            Cost::Free | Cost::Unknown => panic!("it is priced"),
        };
        assert_eq!(cost(0, 0, 0, 0), 0);
        assert_eq!(cost(1_000_000, 0, 0, 0), 2_000_000);
        assert_eq!(cost(1000, 1000, 1000, 1000), 2000 + 200 + 2500 + 10_000);
        assert_eq!(cost(0, 1, 0, 0), 1);
        assert_eq!(cost(u64::MAX, 0, 0, u64::MAX), u64::MAX);
    }
}
