//! `update_plan`: the steps of the work, for the person and for later.

use chock_log::{Event, PlanBody, PlanStatus, PlanStep, Session};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Prepared, Tool};
use crate::desk::Desk;
use crate::names::count;

/// The most steps of a plan. A longer one is a list of files, not a plan.
const STEPS_MAX: usize = 64;

/// The longest step, in bytes.
const STEP_BYTES_MAX: usize = 500;

pub(crate) struct UpdatePlan;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Every step of the plan, in order: it replaces the plan as it was.
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Step {
    /// What is to be done, in a line.
    step: String,
    /// How far it is.
    status: Status,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Done,
    Abandoned,
}

impl From<Status> for PlanStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::InProgress => Self::InProgress,
            Status::Done => Self::Done,
            Status::Abandoned => Self::Abandoned,
        }
    }
}

impl Tool for UpdatePlan {
    const NAME: &'static str = "update_plan";
    const DESCRIPTION: &'static str = "Writes down the plan of the work, which the person sees: every step and how far it is. \
         Use it when the work has several steps, and again when one of them is done.";
    type Arguments = Arguments;

    fn prepare(Arguments { steps }: Arguments, _: &Desk, _: &Session) -> Result<Prepared, String> {
        if steps.len() > STEPS_MAX {
            return Err(format!("`steps` has {} steps: the limit is {STEPS_MAX}", steps.len()));
        }
        for (index, Step { step, .. }) in steps.iter().enumerate() {
            if step.trim().is_empty() {
                return Err(format!("`steps[{index}].step` is empty"));
            }
            if step.len() > STEP_BYTES_MAX {
                let bytes = step.len();
                return Err(format!(
                    "`steps[{index}].step` has {bytes} bytes: the limit is {STEP_BYTES_MAX}"
                ));
            }
        }
        let steps: Vec<_> = steps
            .into_iter()
            .map(|Step { step, status }| PlanStep { step, status: status.into() })
            .collect();
        let open = steps.iter().filter(|step| is_open(step.status)).count();
        let text = format!("the plan has {}, {open} open\n", count(steps.len() as u64, "step"));
        Ok(Prepared::Note { event: Event::Plan(PlanBody { steps }), text })
    }
}

fn is_open(status: PlanStatus) -> bool {
    match status {
        PlanStatus::Pending | PlanStatus::InProgress => true,
        PlanStatus::Done | PlanStatus::Abandoned => false,
    }
}
