//! Chat completions, Messages and Responses against the strict fake and against odd servers; scripts.

#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(clippy::print_stdout, reason = "what a real server said is to be read")]

mod anthropic;
mod bench;
mod cancel;
mod fake;
mod faults;
mod odd;
mod peer;
mod quirks;
mod raw;
mod responses;
mod scenarios;
mod scripted;
mod trickle;
