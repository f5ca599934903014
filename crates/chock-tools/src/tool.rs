//! The table of tools: what each is called, what it takes, and how its calls become acts.

mod edit_file;
mod glob;
mod grep;
mod list_directory;
mod read_file;
mod read_image;
mod read_memory;
mod read_skill;
mod request_action;
mod restrict_self;
mod run_command;
mod set_title;
mod task_output;
mod task_stop;
mod update_plan;
mod write_file;
mod write_memory;

use chock_log::{Action, Event, Outcome, PromiseBody, Session};
use chock_sandbox::Program;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments;
use crate::desk::Desk;
use crate::notebook::NoteAct;
use crate::reading::When;
use crate::skill::SkillAct;
use crate::tasks::TaskAct;

pub(crate) use edit_file::EditFile;
pub(crate) use glob::Glob;
pub(crate) use grep::Grep;
pub(crate) use list_directory::ListDirectory;
pub(crate) use read_file::ReadFile;
pub(crate) use read_image::ReadImage;
pub(crate) use read_memory::ReadMemory;
pub(crate) use read_skill::ReadSkill;
pub(crate) use request_action::RequestAction;
pub(crate) use restrict_self::RestrictSelf;
pub(crate) use run_command::RunCommand;
pub(crate) use set_title::SetTitle;
pub(crate) use task_output::TaskOutput;
pub(crate) use task_stop::TaskStop;
pub(crate) use update_plan::UpdatePlan;
pub(crate) use write_file::WriteFile;
pub(crate) use write_memory::WriteMemory;

/// Every tool, in the order models see them.
pub(crate) static TABLE: [Entry; 17] = [
    Entry::of::<ReadFile>(),
    Entry::of::<ReadImage>(),
    Entry::of::<ListDirectory>(),
    Entry::of::<Glob>(),
    Entry::of::<Grep>(),
    Entry::of::<WriteFile>(),
    Entry::of::<EditFile>(),
    Entry::of::<RunCommand>(),
    Entry::of::<TaskOutput>(),
    Entry::of::<TaskStop>(),
    Entry::of::<UpdatePlan>(),
    Entry::of::<SetTitle>(),
    Entry::of::<ReadMemory>(),
    Entry::of::<WriteMemory>(),
    Entry::of::<ReadSkill>(),
    Entry::of::<RestrictSelf>(),
    Entry::of::<RequestAction>(),
];

/// One tool.
pub(crate) trait Tool {
    /// What a call names it.
    const NAME: &'static str;
    /// What it does, in words for a model.
    const DESCRIPTION: &'static str;
    /// What a call says to it.
    type Arguments: DeserializeOwned + JsonSchema;

    /// Makes an act, or a record, of a call. The fault is worded for the model.
    fn prepare(
        arguments: Self::Arguments,
        desk: &Desk,
        session: &Session,
    ) -> Result<Prepared, String>;
}

/// What a call comes to.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// A question to the hand of the tool's name.
    Hand { request: Vec<u8>, effect: String },
    /// A command, and the names of what it starts.
    Command { act: Program, actions: Vec<Action>, effect: String, when: When },
    /// What a rule keeps from every tool.
    Refused(Outcome),
    /// An act on a background task.
    Task { act: TaskAct, effect: String },
    /// An act on the notes of the project.
    Memory { act: NoteAct, effect: String },
    /// A skill is to be read.
    Skill(SkillAct),
    /// A record and words.
    Note { event: Event, text: String },
    /// Rights that the agent gives up, or wants back.
    Promise(PromiseBody),
    /// The agent's commits are to be carried into the project.
    Apply { reason: String },
}

impl Prepared {
    /// Makes a question to a hand.
    fn hand(request: &impl Serialize, effect: String) -> Self {
        let request = serde_json::to_vec(request).expect("invariant: requests have string keys");
        Self::Hand { request, effect }
    }
}

/// One row of the [`TABLE`].
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) parameters: fn() -> Value,
    /// Takes arguments that were checked against the parameters.
    pub(crate) prepare: fn(Value, &Desk, &Session) -> Result<Prepared, String>,
}

impl Entry {
    const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            description: T::DESCRIPTION,
            parameters: arguments::schema::<T::Arguments>,
            prepare: |value, desk, session| T::prepare(arguments::read(value)?, desk, session),
        }
    }
}
