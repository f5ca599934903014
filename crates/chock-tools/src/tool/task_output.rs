//! `task_output`: what a background task printed since the last look.

use std::time::Duration;

use chock_log::Session;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Prepared, Tool};
use crate::desk::Desk;
use crate::hint;
use crate::names::escaped;
use crate::tasks::TaskAct;

pub(crate) struct TaskOutput;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The task, such as task-01.
    task: String,
    /// How many seconds to wait for its end first. The default is 0, the most is 600.
    #[schemars(range(min = 0, max = 600))]
    wait_s: Option<u64>,
}

impl Tool for TaskOutput {
    const NAME: &'static str = "task_output";
    const DESCRIPTION: &'static str = "Shows what a background task printed since the last look at it, and whether it still \
         runs.";
    type Arguments = Arguments;

    fn prepare(
        Arguments { task, wait_s }: Arguments,
        _: &Desk,
        session: &Session,
    ) -> Result<Prepared, String> {
        must_be_there(&task, session)?;
        let effect = format!("show the output of {task}");
        let wait = Duration::from_secs(wait_s.unwrap_or(0));
        Ok(Prepared::Task { act: TaskAct::Output { task, wait }, effect })
    }
}

/// Refuses the name of a task that was never started.
pub(super) fn must_be_there(task: &str, session: &Session) -> Result<(), String> {
    let known = || session.tasks.iter().map(|known| known.id.as_str());
    if known().any(|known| known == task) {
        return Ok(());
    }
    let shown: String = escaped(task).chars().take(64).collect();
    let all: Vec<_> = known().collect();
    if all.is_empty() {
        return Err(format!("there is no task `{shown}`: none was started in this session"));
    }
    let meant = hint::nearest(task, known());
    let meant = meant.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
    Err(format!("there is no task `{shown}`: {meant}the tasks are {}", all.join(", ")))
}
