//! Turns a tool call into an act, and an outcome into words for the model.
//!
//! [`Tools::propose`] checks a call against its tool's schema and makes a
//! proposal of it. Once the act is permitted, [`Tools::carry_out`] has the
//! sandbox do it and words what came of it. File tools are functions that run
//! inside the cell ([`HANDS`]); [`cage::compile`] says what a cell can reach.
//!
//! # Never knows
//!
//! Whether an act is allowed, the terminal, the provider's wire.
//!
//! # Holds
//!
//! - No path that a call names is resolved on the host.
//! - A call has no field by which it could ask to leave the cage.
//! - Arguments are checked against the schema that the model was shown.
//! - Whatever comes back from a cell is bounded before it is kept.
//!
//! # Start reading at
//!
//! [`Tools`], then `tool.rs` and one file of `tool/`.

mod answer;
mod arguments;
pub mod cage;
mod carry;
mod clean;
mod command_line;
pub mod commits;
mod denied;
mod desk;
mod edit;
mod file;
mod hands;
mod hint;
mod inferred;
mod lines;
mod names;
mod notebook;
mod output;
pub mod picture;
mod proposed;
mod reading;
mod said;
mod shelf;
mod skill;
mod tasks;
mod times;
mod tool;
mod tools;
mod walk;

pub use carry::{Carried, Shown};
pub use chock_sandbox::{Cancel, Keeper, Program};
pub use command_line::Ground;
pub use denied::DeniedRow;
pub use hands::HANDS;
pub use inferred::Walls;
pub use notebook::{
    Draft, Listed, NOTE_VERSIONS_MAX, NOTES_MAX, Note, NoteAct, NoteFault, NoteKind, NoteName,
    NoteVersion, Notebook, Stamp, Written,
};
pub use output::{OUTPUT_BYTES_MAX, OUTPUT_FILE_BYTES_MAX, OUTPUTS_INSIDE};
pub use proposed::Proposed;
pub use reading::Reading;
pub use skill::{SKILL_BYTES_MAX, SKILLS_MAX, Skill, SkillAct, SkillFault, SkillLayer};
pub use tasks::{Attended, Piece, Stopper, TASKS_MAX, TaskAct, TaskEnd, TaskRow, Tasks};
pub use times::Times;
pub use tools::{Setup, Tools};
