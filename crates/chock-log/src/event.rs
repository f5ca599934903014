//! What a record can say: one kind, one body.

mod course;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::message::{ModelMessage, ToolCall};
use crate::outcome::Outcome;
use crate::picture::Picture;
use crate::record::Seq;
use crate::usage::{Cost, Tokens};

pub use course::{
    CompactionBody, EndReason, EndedBody, LearnedBody, NoteBody, NoticeBody, PlanBody, PlanStatus,
    PlanStep, RetryBody, SwitchedBody, TitleBody,
};

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident($body:ty) = $kind:literal,)*) => {
        /// What one record says. A kind this version does not know is kept as it is.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Event {
            $($(#[$doc])* $name($body),)*
            /// A kind of a later version.
            Unknown {
                /// Its dotted name.
                kind: String,
                /// Its body.
                body: Value,
            },
        }

        impl Event {
            /// Returns the dotted name.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$name(_) => $kind,)*
                    Self::Unknown { kind, .. } => kind,
                }
            }

            /// Returns the body as JSON.
            #[must_use]
            pub fn body(&self) -> Value {
                let body = match self {
                    $(Self::$name(body) => serde_json::to_value(body),)*
                    Self::Unknown { body, .. } => Ok(body.clone()),
                };
                body.expect("invariant: bodies have string keys only")
            }

            /// Reads a body by its kind.
            pub(crate) fn read(kind: &str, body: &RawValue) -> Result<Self, serde_json::Error> {
                Ok(match kind {
                    $($kind => Self::$name(serde_json::from_str(body.get())?),)*
                    _ => Self::Unknown {
                        kind: kind.to_owned(),
                        body: serde_json::from_str(body.get())?,
                    },
                })
            }
        }
    };
}

events! {
    /// The session goes on from a turn of another one.
    Forked(ForkBody) = "fork.opened",
    /// A session began.
    Start(StartBody) = "session.start",
    /// A run of the program took the session up, with these settings.
    Config(ConfigBody) = "session.config",
    /// The person said something.
    User(UserBody) = "message.user",
    /// The model said something.
    Model(ModelMessage) = "message.model",
    /// A request was counted.
    Usage(UsageBody) = "usage",
    /// A question was put to a person.
    Asked(AskedBody) = "approval.asked",
    /// An act was allowed or refused.
    Answered(AnswerBody) = "approval.answered",
    /// A reviewing agent looked at an act.
    Reviewed(ReviewedBody) = "approval.reviewed",
    /// The agent gave up rights.
    Promise(PromiseBody) = "policy.promise",
    /// A person gave some of them back.
    Widened(WidenedBody) = "policy.widened",
    /// An approved act begins.
    ToolStarted(StartedBody) = "tool.started",
    /// A tool call has its result.
    ToolFinished(FinishedBody) = "tool.finished",
    /// A background task begins.
    TaskStarted(TaskStartedBody) = "task.started",
    /// A background task has ended.
    TaskFinished(TaskFinishedBody) = "task.finished",
    /// The throwaway copy is ready.
    WorkspaceOpened(WorkspaceBody) = "workspace.opened",
    /// The copy's state at the end of a turn.
    Snapshot(SnapshotBody) = "workspace.snapshot",
    /// A person looked at what the session changed, and chose.
    DiffReviewed(DiffReviewedBody) = "diff.reviewed",
    /// Work was carried into the project, or could not be.
    Applied(CarriedBody) = "apply.done",
    /// Work that was carried was taken out again, or put back in.
    Undone(CarriedBody) = "undo.done",
    /// The model's plan, whole.
    Plan(PlanBody) = "plan.updated",
    /// The session's title.
    Title(TitleBody) = "title.set",
    /// A note for later sessions is about to be written.
    Noted(NoteBody) = "note.written",
    /// Older turns were replaced by a summary.
    Compaction(CompactionBody) = "compaction",
    /// A server told what one of its models takes and costs.
    Learned(LearnedBody) = "model.learned",
    /// Another model answers from here on.
    Switched(SwitchedBody) = "model.switched",
    /// A request waited and was sent again.
    Retry(RetryBody) = "retry",
    /// Chock told the model a fact.
    Notice(NoticeBody) = "notice",
    /// A run of the program let the session go.
    Ended(EndedBody) = "session.ended",
}

/// Body of `fork.opened`, the first record of a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkBody {
    /// The session it hangs from.
    pub parent: String,
    /// The parent's turn that it goes on from, counted from 1.
    pub turn: u64,
    /// The parent's record that ends this turn.
    pub record: Seq,
    /// SHA-256 of that record's line, lower hex.
    pub hash: String,
    /// How many records were taken over from the parent. They stand behind `session.start`.
    pub carried: u64,
}

/// Body of `session.start`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartBody {
    /// The session's id.
    pub session: String,
    /// The project's real path; odd bytes are shown as replacement characters.
    pub project: String,
    /// The version of Chock.
    pub version: String,
    /// The kind of agent, `main` for the one a person started.
    pub agent_kind: String,
}

/// Body of `session.config`: hashes of every file and each flag that shaped a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigBody {
    /// The provider's row.
    pub provider: String,
    /// The model.
    pub model: String,
    /// SHA-256 of the files read, by name, lower hex.
    #[serde(default)]
    pub files: std::collections::BTreeMap<String, String>,
    /// Options of the command line as typed.
    #[serde(default)]
    pub options: Vec<String>,
    /// The sandbox layers that were applied and read back.
    #[serde(default)]
    pub layers: Vec<String>,
    /// The digest of the project's widening parts, when they were accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
}

/// Body of `message.user`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UserBody {
    /// The words.
    pub text: String,
    /// Pictures that the model is shown with them, each kept beside the log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
}

/// Body of `usage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageBody {
    /// The model that was asked.
    pub model: String,
    /// Tokens by kind; absent when the provider did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// What they cost.
    pub cost: Cost,
}

/// Body of `approval.asked`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedBody {
    /// The tool call in question.
    pub call: String,
    /// The strictest action.
    pub action: String,
    /// The effect as it was shown.
    pub effect: String,
}

/// Body of `approval.reviewed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewedBody {
    /// The tool call in question.
    pub call: String,
    /// The strictest action.
    pub action: String,
    /// What came of the review.
    pub review: ReviewVerdict,
    /// The reviewer's own words, or why there was no review. The asking agent never gets them.
    pub note: String,
}

/// What came of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    /// The reviewer said yes.
    Approved,
    /// It said no, or nothing that can be read.
    Refused,
    /// It could not be asked.
    Unavailable,
}

/// Body of `policy.promise`: from here on the agent may do no more than this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseBody {
    /// A pattern of actions, as a rule spells it.
    pub action: String,
    /// The word of a decision. One that is not known counts as `deny`.
    pub ceiling: String,
    /// Why, in the agent's words.
    pub reason: String,
}

/// Body of `policy.widened`: a promise of exactly this pattern is replaced by a higher one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WidenedBody {
    /// The promise's pattern.
    pub action: String,
    /// The new ceiling. A word that is not known changes nothing.
    pub ceiling: String,
}

/// Body of `approval.answered`. An allowing one is on disk before the act begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerBody {
    /// The tool call in question; empty where a person acts, and no call.
    pub call: String,
    /// Whether the act may be done.
    pub allowed: bool,
    /// Every action it was judged under.
    pub actions: Vec<String>,
    /// On what grounds.
    pub grounds: Grounds,
    /// The act, as its own crate describes it.
    pub act: Value,
    /// What the person said to it, if they said more than no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// Who or what decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grounds {
    /// A row of the table, as `chock.zon` would spell it, and where it stands.
    Rule {
        /// `shipped`, `project` ...
        origin: String,
        /// The row.
        row: String,
    },
    /// A person said so, once.
    Person,
    /// A person said so for the whole session.
    PersonForSession,
    /// A person ran the program themselves.
    PersonDirectly,
    /// Nobody answered in time.
    Timeout,
    /// Nobody was there to ask.
    Nobody,
    /// A person stopped the turn while the question was open.
    Cancelled,
    /// The act needs a reviewer, and there is none.
    NoReviewer,
    /// A reviewing agent answered; its note is in `approval.reviewed`.
    Reviewer,
    /// A person answered, for good in this project.
    PersonAlways,
}

/// Body of `tool.started`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedBody {
    /// The call.
    pub call: ToolCall,
    /// The approval's record; absent for a call that touches nothing outside the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Seq>,
}

/// Body of `tool.finished`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedBody {
    /// The call's id.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// How it came out.
    pub outcome: Outcome,
}

/// Body of `task.started`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStartedBody {
    /// The task, as `task-01`.
    pub task: String,
    /// The call that asked for it; its approval stands before this record.
    pub call: String,
    /// The command line.
    pub command: String,
}

/// Body of `task.finished`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFinishedBody {
    /// The task.
    pub task: String,
    /// How it ended, its bytes of output, and a sentence for the model.
    pub outcome: Outcome,
    /// Whether the result of a call tells the model; otherwise a notice will.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
}

/// Body of `workspace.opened`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceBody {
    /// `overlay` or `copy`.
    pub kind: String,
    /// The base's tree.
    pub base_tree: String,
    /// The commit the base was made from; absent before the first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<String>,
    /// The tree the session starts from, when it starts from uncommitted work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_tree: Option<String>,
}

/// Body of `workspace.snapshot`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotBody {
    /// The turn that ended, counted from 1.
    pub turn: u64,
    /// The tree.
    pub tree: String,
    /// How many files differ from the base.
    pub files: u64,
    /// The files of the session's git directory, as a tree; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<String>,
}

/// Body of `diff.reviewed`: what was taken and what was declined; the rest was left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffReviewedBody {
    /// The tree that the changes start from.
    pub base: String,
    /// The tree that was looked at.
    pub snapshot: String,
    /// The tree that the choice leads to.
    pub tree: String,
    /// What was taken.
    #[serde(default)]
    pub accepted: Vec<ReviewedFile>,
    /// What was declined.
    #[serde(default)]
    pub declined: Vec<ReviewedFile>,
    /// How many changed files were neither taken nor declined.
    #[serde(default)]
    pub left: u64,
    /// Who chose.
    pub by: String,
}

/// One file of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewedFile {
    /// The path; odd bytes are shown as replacement characters.
    pub path: String,
    /// The object id of the content that was looked at.
    pub hash: String,
    /// The hunks in question; absent when it is the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunks: Option<Vec<String>>,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
}

/// Body of `apply.done` and `undo.done`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedBody {
    /// The approval's record; absent when an earlier run was cut short before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Seq>,
    /// The hand-back's number in the project.
    pub step: u64,
    /// The session that the work comes from.
    pub session: String,
    /// `apply`, `undo` or `redo`.
    pub direction: String,
    /// Whether it was done. Otherwise nothing of it is in the project.
    pub done: bool,
    /// The paths in question, at most 1,000; odd bytes are shown as replacement characters.
    #[serde(default)]
    pub paths: Vec<String>,
    /// How many paths there are.
    pub count: u64,
    /// Why it was not done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What it did to refs, where commits were carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<CommitsBody>,
}

/// What a carrying of commits did to refs: in `apply.done` and `undo.done`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitsBody {
    /// How many commits there are.
    pub count: u64,
    /// The ref that keeps them, whole.
    #[serde(rename = "ref")]
    pub kept: String,
    /// The session's last commit.
    pub head: String,
    /// `merge`, `rebase`, `squash` or `park`.
    pub mode: String,
    /// The branch that moved, whole; empty when none did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// The commit that the branch left.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// The commit that it is on now.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// Why no branch moved.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub parked: String,
}
