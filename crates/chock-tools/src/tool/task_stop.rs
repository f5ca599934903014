//! `task_stop`: the end of a background task.

use chock_log::Session;
use schemars::JsonSchema;
use serde::Deserialize;

use super::task_output::must_be_there;
use super::{Prepared, Tool};
use crate::desk::Desk;
use crate::tasks::TaskAct;

pub(crate) struct TaskStop;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The task, such as task-01.
    task: String,
}

impl Tool for TaskStop {
    const NAME: &'static str = "task_stop";
    const DESCRIPTION: &'static str = "Ends a background task with everything it started, and shows what it printed since the \
         last look.";
    type Arguments = Arguments;

    fn prepare(
        Arguments { task }: Arguments,
        _: &Desk,
        session: &Session,
    ) -> Result<Prepared, String> {
        must_be_there(&task, session)?;
        let effect = format!("stop {task}");
        Ok(Prepared::Task { act: TaskAct::Stop { task }, effect })
    }
}
