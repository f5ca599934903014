//! Judges one act, records the answer and hands over the permit.
//!
//! # Never knows
//!
//! How an act is carried out: it cannot start a program. What a tool is, what a terminal is.
//!
//! # Holds
//!
//! - [`Broker::judge`] returns a [`Verdict`] and no error: what cannot be recorded is refused.
//! - The broker owns the session's one [`Granter`](chock_log::Granter), so nothing else makes permits.
//! - The strictest answer over every action of a proposal counts.
//! - A question that nobody answers is a refusal.
//!
//! # Start reading at
//!
//! [`Broker::judge`].

mod asker;
mod broker;
mod verdict;

pub use asker::{Answer, Asker, Nobody, Question};
pub use broker::{Broker, Standing};
pub use verdict::{Cause, Refusal, Verdict};
