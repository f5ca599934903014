//! What a record says of a session's course: its plan, its length, its end.

use serde::{Deserialize, Serialize};

use crate::record::Seq;
use crate::usage::Price;

/// Body of `plan.updated`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanBody {
    /// Every step, in order.
    pub steps: Vec<PlanStep>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// What is to be done.
    pub step: String,
    /// How far it is.
    pub status: PlanStatus,
}

/// How far a step of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Done,
    /// Given up.
    Abandoned,
}

/// Body of `title.set`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TitleBody {
    /// One line.
    pub title: String,
}

/// Body of `note.written`: stands before the note is written. Whether it was is in the result of
/// its call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteBody {
    /// The call that asked for it.
    pub call: String,
    /// The note.
    pub name: String,
    /// What it is about, in a word: `insight`, `gotcha` ...
    pub kind: String,
    /// What it says, in a line.
    pub description: String,
    /// How long its text is.
    pub bytes: u64,
    /// SHA-256 of its text, lower hex.
    pub hash: String,
}

/// Body of `compaction`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionBody {
    /// What stands for the older turns.
    pub summary: String,
    /// The last record that the summary covers; 0 when there is no summary.
    pub through: Seq,
    /// The last record whose result the model is told shortened; 0 for none.
    #[serde(default)]
    pub shortened: Seq,
    /// The model that wrote the summary; empty when Chock did.
    #[serde(default)]
    pub written_by: String,
}

/// Body of `model.learned`: what nobody's configuration says of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LearnedBody {
    /// The provider's row.
    pub provider: String,
    /// The model.
    pub model: String,
    /// How many tokens a request and its reply may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// What it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Of which day the price is, when it is from a table and the server said none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_day: Option<String>,
}

/// Body of `model.switched`: who answers in the place of a model whose server is overloaded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SwitchedBody {
    /// The provider's row of the model that answers from here on.
    pub provider: String,
    /// That model.
    pub model: String,
    /// The provider's row of the one that does not.
    pub from_provider: String,
    /// That model.
    pub from_model: String,
    /// What its server said.
    pub reason: String,
}

/// Body of `retry`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryBody {
    /// Which try came next, counted from 2.
    pub attempt: u32,
    /// How long it waited, in seconds.
    pub seconds: u64,
    /// Why.
    pub reason: String,
}

/// Body of `notice`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NoticeBody {
    /// The words for the model.
    pub text: String,
    /// The background tasks whose end it tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// The reviews and undos that it tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<Seq>,
    /// The facts that it tells, each by a word: `time`, `task`, `repeat` ...
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
}

/// Body of `session.ended`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedBody {
    /// Why.
    pub reason: EndReason,
    /// More about it, for a person.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// Why a run let its session go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The model had no more to do.
    Finished,
    /// The person stopped it.
    Cancelled,
    /// Something failed.
    Fault,
    /// The turn limit was reached.
    TurnLimit,
    /// The same calls came again and again.
    NoProgress,
    /// The budget was spent.
    Budget,
    /// The model said nothing.
    EmptyAnswer,
    /// The provider refused.
    Refused,
    /// The provider's rate limit outlasted all tries.
    RateLimited,
    /// The log reached its size limit.
    LogFull,
    /// A required audit sink lacked lines of the log.
    AuditGap,
    /// A reason of a later version.
    #[serde(other)]
    Other,
}
