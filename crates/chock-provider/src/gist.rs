//! What every wire makes of an answer: one whole reply, within bounds.

use chock_log::{Part, Stop, Tokens};

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
