//! What every wire makes of an answer: one whole reply, within bounds.

use chock_log::{Part, Stop, Tokens};
use serde::Deserialize;

/// The most bytes of words, reasoning and arguments together. 128,000 tokens, the longest
/// replies there are, come to about 512 KiB; one file of 3 MiB fits.
pub(crate) const REPLY_BYTES_MAX: usize = 4 << 20;

/// The most calls of one reply; `OpenAI` offers at most 128 tools at once.
pub(crate) const CALLS_MAX: usize = 128;

/// There is more of a reply than is taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Excess {
    pub(crate) what: &'static str,
    pub(crate) max: usize,
}

/// A reply that is whole.
#[derive(Debug, PartialEq)]
pub(crate) struct Gist {
    pub(crate) parts: Vec<Part>,
    pub(crate) stop: Stop,
    pub(crate) tokens: Option<Tokens>,
}

/// Counts of tokens as `OpenAI`'s wires give them, whatever they call them.
#[derive(Debug)]
pub(crate) struct Counted {
    /// Tokens read, with what a cache served and took.
    pub(crate) input: Option<u64>,
    pub(crate) input_details: Option<InputDetails>,
    /// Tokens written, reasoning included.
    pub(crate) output: Option<u64>,
    pub(crate) output_details: Option<OutputDetails>,
}

/// What of the input went through a cache.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

/// What of the output was reasoning.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl Counted {
    /// The same, each token once. None when nothing was counted.
    pub(crate) fn tokens(self) -> Option<Tokens> {
        let (input, output) = (self.input.unwrap_or(0), self.output.unwrap_or(0));
        if input == 0 && output == 0 {
            return None;
        }
        let details = self.input_details.unwrap_or_default();
        let cache_read = details.cached_tokens.unwrap_or(0).min(input);
        let cache_write = details.cache_write_tokens.unwrap_or(0).min(input - cache_read);
        let reasoning = self.output_details.and_then(|details| details.reasoning_tokens);
        Some(Tokens {
            input: input - cache_read - cache_write,
            cache_read,
            cache_write,
            output,
            reasoning: reasoning.unwrap_or(0).min(output),
        })
    }
}
