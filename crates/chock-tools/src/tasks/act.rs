//! The acts of a model on tasks that run already: to look, and to stop.

use std::time::Duration;

use chock_log::{Act, Ended, Outcome, Permit};
use chock_sandbox::Cancel;
use serde_json::{Value, json};

use super::{STOP_MAX, Stopper, TaskEnd, Tasks, output, words};

/// What a call asks of a background task. No cell is needed for it: the output is the host's
/// own bounded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskAct {
    /// To see what it printed.
    Output {
        /// The task.
        task: String,
        /// How long to wait for its end first.
        wait: Duration,
    },
    /// To end it.
    Stop {
        /// The task.
        task: String,
    },
}

impl Act for TaskAct {
    fn record(&self) -> Value {
        match self {
            Self::Output { task, wait } => {
                json!({ "tasks": "output", "task": task, "wait_s": wait.as_secs() })
            }
            Self::Stop { task } => json!({ "tasks": "stop", "task": task }),
        }
    }
}

/// What came of a [`TaskAct`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attended {
    /// The words for the model.
    pub outcome: Outcome,
    /// The task's end, when the outcome tells of it first.
    pub end: Option<TaskEnd>,
}

/// Does a permitted act on a task.
pub(crate) fn attend(tasks: &Tasks, permit: Permit<TaskAct>, cancel: &Cancel) -> Attended {
    let (act, _) = permit.spend();
    let task = match act {
        TaskAct::Output { task, wait } => {
            tasks.wait(&task, wait, Some(cancel));
            task
        }
        TaskAct::Stop { task } => {
            tasks.find(&task, |task| task.tell_to_end(Stopper::Model));
            tasks.wait(&task, STOP_MAX, None);
            task
        }
    };
    let end = tasks.collect(Some(&task)).pop();
    let outcome = tasks.find(&task, words::looked).unwrap_or_else(|| earlier(&task));
    Attended { outcome, end }
}

/// Answers for a task of an earlier run, which ended with it.
fn earlier(task: &str) -> Outcome {
    let inside = output::inside(task);
    let text = format!(
        "[chock: {task} ended with an earlier run of this session; what it printed is in {inside}]\n"
    );
    Outcome::new(Ended::Done, text)
}
