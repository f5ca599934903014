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
//! - A question that nobody answers is a refusal, and so is a review that nobody could make.
//! - An agent's promises only lower what it may do; lifting one is an act that a person permits.
//!
//! # Start reading at
//!
//! [`Broker::judge`].

mod asker;
mod broker;
mod choose;
mod direct;
mod guard;
mod promise;
mod reviewer;
mod verdict;

pub use asker::{Answer, Asker, Asks, Guarded, Nobody, Offer, Question};
pub use broker::{Broker, People, Standing};
pub use direct::Direct;
pub use promise::{PROMISES_MAX, Promised, Widen};
pub use reviewer::{NoReviewer, REASON_CHARACTERS, Review, ReviewRequest, Reviewer};
pub use verdict::{Cause, Chosen, Refusal, Verdict};
