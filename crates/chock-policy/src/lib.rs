//! Answers how much of an action an agent may do.
//!
//! A table of rules, a spawn chain and the promises an agent made go in; one
//! [`Decision`] comes out. Everything here is a pure function of its arguments.
//!
//! # Never knows
//!
//! Files, clocks, processes, the terminal, or how a decision is enforced.
//!
//! # Holds
//!
//! - The most specific rule wins; between equals the stricter decision wins, so
//!   the order of a table never matters.
//! - A project's rule beats every shipped default. No rule means `ask`, and an
//!   empty spawn chain means `deny`.
//! - An organisation's rows and promises only lower a decision. Nothing raises one but a
//!   person's lasting answer, which turns `ask` into `allow`.
//!
//! # Start reading at
//!
//! [`decide`], then `table.rs`.

mod action;
mod decide;
mod decision;
mod explain;
mod pattern;
mod ratchet;
mod rule;
mod shipped;
mod table;

pub use action::{Action, NameFault, host_labels};
pub use decide::{Lineage, Request, Ruling, decide};
pub use decision::{Decision, UnknownDecision};
pub use explain::{Candidate, Explanation, Fate, explain};
pub use pattern::Pattern;
pub use ratchet::Ratchet;
pub use rule::{Origin, Rule, Specificity};
pub use shipped::shipped;
pub use table::{RULES_MAX, Table, TableFault};
