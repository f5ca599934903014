//! Reads what is owed next from the log and does it.
//!
//! # Never knows
//!
//! Paths, policy tables, the terminal, or how a copy is made: a turn's end is an [`Errands`].
//!
//! # Holds
//!
//! - [`next`] is a pure question. Run and resume are the same loop over it.
//! - Every step is a record before it is an act; an act whose outcome is unknown is never repeated.
//! - Calls run only when the reply is whole, one after the other, each answered once.
//! - Everything a model sees comes out of the folded log.
//!
//! # Start reading at
//!
//! [`next`], then [`Agent::run`].

mod agent;
mod apply;
mod bounds;
mod budget;
mod context;
mod fallback;
mod fill;
mod gallery;
mod next;
mod notes;
mod notices;
mod promise;
mod prompt;
mod reviews;
mod room;
mod seams;
mod steps;
mod tasks;
mod turn;
mod unwanted;

pub use agent::{Agent, Finish, House};
pub use bounds::Bounds;
pub use budget::Budget;
pub use fallback::Fallback;
pub use fill::Fill;
pub use gallery::Gallery;
pub use next::{Next, next};
pub use notices::Surroundings;
pub use prompt::{Facts, Instruction, system_prompt};
pub use seams::{Asked, Brought, Errands, Sight, Stop};
