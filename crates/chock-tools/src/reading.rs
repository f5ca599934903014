//! How the raw result of an act becomes words.

use std::path::PathBuf;
use std::time::Duration;

use chock_log::TaskStartedBody;

/// How the raw result of one act becomes words. Made with its proposal, used once.
#[derive(Debug)]
pub struct Reading(pub(crate) When);

/// The two ways of doing an act.
#[derive(Debug)]
pub(crate) enum When {
    /// While its call waits.
    Now(How),
    /// While the session goes on.
    InTheBackground(Background),
}

/// The two kinds of act that a call waits for.
#[derive(Debug)]
pub(crate) enum How {
    /// A file tool, which words its answer itself.
    Hand,
    /// A command.
    Command(CommandReading),
}

/// What is remembered of a command.
#[derive(Debug)]
pub(crate) struct CommandReading {
    /// How long it may take.
    pub(crate) time: Duration,
    /// Where it starts, as the model named it.
    pub(crate) directory: String,
    /// The shell.
    pub(crate) shell: PathBuf,
}

/// What is remembered of a background task.
#[derive(Debug)]
pub(crate) struct Background {
    /// Its name.
    pub(crate) task: String,
    /// Its command line.
    pub(crate) line: String,
    pub(crate) command: CommandReading,
}

impl Reading {
    /// Returns what is to be recorded before the act, when it is a background task.
    #[must_use]
    pub fn begins(&self, call: &str) -> Option<TaskStartedBody> {
        match &self.0 {
            When::Now(_) => None,
            When::InTheBackground(Background { task, line, .. }) => Some(TaskStartedBody {
                task: task.clone(),
                call: call.to_owned(),
                command: line.clone(),
            }),
        }
    }
}
