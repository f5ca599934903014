//! What a call asks for.

use chock_log::{Event, Outcome, PromiseBody, Proposal};
use chock_sandbox::Program;

use crate::{NoteAct, Reading, SkillAct, TaskAct};

/// What a tool call comes to before anybody has judged it.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time, taken apart at once")]
pub enum Proposed {
    /// Something to be done in a cell, for which a permit is needed.
    Act {
        /// The act, the names it goes by, and what a person is shown.
        proposal: Proposal<Program>,
        /// How its result becomes words; handed back to
        /// [`Tools::carry_out`](crate::Tools::carry_out).
        reading: Reading,
    },
    /// Something to be done to a background task, for which a permit is needed; carried out by
    /// [`Tools::attend`](crate::Tools::attend).
    Task(Proposal<TaskAct>),
    /// Something to be done with the project's notes, for which a permit is needed; carried out
    /// by [`Tools::note`](crate::Tools::note).
    Memory(Proposal<NoteAct>),
    /// A skill to be read, for which a permit is needed; carried out by
    /// [`Tools::skill`](crate::Tools::skill).
    Skill(Proposal<SkillAct>),
    /// A record and words, and nothing else: the plan, the title.
    Note {
        /// The record.
        event: Event,
        /// The words for the model.
        outcome: Outcome,
    },
    /// Rights that the agent gives up, or wants back; the broker's to take.
    Promise(PromiseBody),
    /// The agent's commits are to be carried into the project, which is somebody else's to do.
    Apply {
        /// Why, in the agent's words.
        reason: String,
    },
    /// The call names what a row keeps from every tool; nobody is asked.
    Refused(Outcome),
    /// The call makes no sense; the words name the field and what is expected.
    Fault(Outcome),
}
