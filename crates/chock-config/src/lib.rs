//! Turns `chock.zon`, `config.zon` and `tokens.zon` into typed values.
//!
//! `chock.zon` comes with a project and is a stranger's wish: what in it widens
//! the defaults is a [`Widening`], and [`Project::without_widening`] is what counts
//! until a person accepted it. `config.zon` is the person's own.
//!
//! # Never knows
//!
//! How a rule, a limit or a provider is put to work, and where the files lie:
//! texts, paths and the machine's size are arguments.
//!
//! # Holds
//!
//! - Nothing is ignored: an unknown name, or a block that only a later version
//!   reads, refuses the file, with its place and the nearest known name.
//! - Without its widening parts no project decides anything above the defaults.
//! - A token is never part of a fault, a listing or a debug print.
//! - Every value in force knows where it came from.
//!
//! # Start reading at
//!
//! [`Project::read`] and [`Person::read`], then `widening.rs`.

mod acceptance;
mod amount;
mod apply;
mod audit;
mod bind;
mod budget;
mod choice;
mod denied;
mod effective;
mod expectations;
mod fault;
mod file;
mod issued;
mod limits;
mod listing;
mod organisation;
mod path;
mod person;
mod project;
mod project_path;
mod provider;
mod remembered;
mod rules;
mod source;
mod store;
mod token;
mod tokens;
mod toolchains;
mod variable;
mod widening;
mod word;

pub use acceptance::Acceptances;
pub use amount::{Amount, AmountFault};
pub use apply::ApplyMode;
pub use audit::{SINKS_MAX, Sink, SinkKind};
pub use bind::{BINDS_MAX, Bind, BindMode};
pub use budget::{Budget, Cost};
pub use chock_zon::{Place, Spanned};
pub use choice::{Choice, ChoiceFault};
pub use denied::{DENIED_MAX, Denied, WhenTracked};
pub use effective::{Effective, Flags, MAX_TURNS, Origin, Sourced};
pub use expectations::Expectation;
pub use fault::{Fault, Faults, nearest};
pub use file::{FileFault, Links, TEXT_BYTES_MAX, read_text};
pub use issued::Issued;
pub use limits::{Limit, Limits, LimitsBlock, Machine};
pub use listing::Row;
pub use organisation::{Organisation, OrganisationBlock, OrganisationFault};
pub use path::{PathFault, PersonPath};
pub use person::{Defaults, Fallback, Person};
pub use project::{INSTRUCTIONS_MAX, Project, SKILL_DIRECTORIES_MAX};
pub use project_path::{ProjectName, ProjectPath, ProjectPathFault, ProjectPattern};
pub use provider::{
    Account, Capabilities, Compat, Credential, Messages, OutputLimit, Price, Provider,
    ProviderKind, Quirks, Reasoning, Responses, SystemRole,
};
pub use remembered::Remembered;
pub use rules::no_such_action;
pub use store::{Identity, StoreFault};
pub use token::{Token, TokenFault};
pub use tokens::Tokens;
pub use toolchains::Toolchains;
pub use variable::{VARIABLES_MAX, VariableFault, VariableName};
pub use widening::{Beneath, Widening, WideningItem};
