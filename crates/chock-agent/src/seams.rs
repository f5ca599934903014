//! What the agent needs done and cannot do itself.

use chock_broker::{Broker, Refusal};
use chock_log::{Delta, SnapshotBody};

/// Does what a turn's end asks for.
pub trait Errands {
    /// Keeps the workspace as it is now; `turn` counts from 1.
    ///
    /// # Errors
    ///
    /// Words for a person: why there is no snapshot of this turn.
    fn snapshot(&mut self, turn: u64) -> Result<SnapshotBody, String>;

    /// Carries the agent's commits into the project, when `broker` permits it. The records of it are
    /// written here.
    ///
    /// `asked` is absent at the end of a run.
    fn apply(&mut self, broker: &mut Broker, asked: Option<&Asked<'_>>) -> Brought;
}

/// The call that asks for an apply.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Its id.
    pub call: &'a str,
    /// Why, in the agent's words.
    pub reason: &'a str,
}

/// What became of the agent's commits.
#[derive(Debug)]
pub enum Brought {
    /// There is no commit that the project does not have.
    Nothing {
        /// How many files of the copy differ from what the session started from.
        uncommitted: u64,
    },
    /// They were carried, in these words.
    Done(String),
    /// They were not, in these words.
    Not(String),
    /// The broker refused.
    Refused(Refusal),
}

/// What somebody who watches sees besides the records.
#[derive(Debug)]
pub enum Sight<'a> {
    /// A piece of the reply that is coming.
    Delta(&'a Delta),
    /// Output of the command that is running.
    Output(&'a [u8]),
    /// Something a person should know, in a sentence.
    Warning(&'a str),
}

/// Stops a run from another thread: once, cleanly, for good.
#[derive(Debug, Clone)]
pub struct Stop {
    /// Ends the model's reply.
    pub model: chock_provider::Cancel,
    /// Ends the running call.
    pub call: chock_tools::Cancel,
}

impl Stop {
    /// Stops the run at the next step, and what it waits for at once.
    pub fn trigger(&self) {
        self.model.trigger();
        self.call.trigger();
    }

    /// Says whether the run was told to stop.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        self.model.is_triggered()
    }
}
