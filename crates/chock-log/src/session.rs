//! What a log adds up to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chock_policy::Ratchet;
use jiff::Timestamp;

use crate::event::{
    CarriedBody, CompactionBody, ConfigBody, DiffReviewedBody, EndedBody, ForkBody, LearnedBody,
    NoteBody, PlanBody, SnapshotBody, StartBody, WorkspaceBody,
};
use crate::fork::KeptTurn;
use crate::message::{ModelMessage, ToolCall};
use crate::outcome::Outcome;
use crate::picture::Picture;
use crate::record::Seq;
use crate::task::Task;
use crate::usage::Tokens;

/// One step of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// The person's words.
    User(String),
    /// The model's reply.
    Model(ModelMessage),
    /// The result of one of its calls.
    Result {
        /// The call's id.
        call: String,
        /// The tool.
        tool: String,
        /// How it came out.
        outcome: Outcome,
    },
    /// A fact that Chock told the model.
    Notice(String),
}

/// When a fact was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// The notice's record.
    pub at: Seq,
    /// The time of it.
    pub time: Timestamp,
    /// How many replies the model had given.
    pub turn: u64,
}

/// An approval that has no result yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenApproval {
    /// The approval's record.
    pub approval: Seq,
    /// The call it belongs to.
    pub call: String,
}

/// What a person did with the session's work that the model has not been told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unheard {
    /// Took some of it, and declined some.
    Reviewed(DiffReviewedBody),
    /// Took it out of the project again, or put it back in.
    Undone(CarriedBody),
}

/// Where a session stands, for a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It has not ended; whether it runs is asked of the kernel.
    Open,
    /// Its last run ended so.
    Ended(EndedBody),
}

/// A session folded from its records.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    /// Where it hangs, if it is a fork.
    pub fork: Option<ForkBody>,
    /// What it is.
    pub start: Option<StartBody>,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When the last record was written.
    pub last: Option<Timestamp>,
    /// The settings of the latest run.
    pub config: Option<ConfigBody>,
    /// The conversation, with the record each entry comes from.
    pub entries: Vec<(Seq, Entry)>,
    /// Calls of the last reply that have no result, in order.
    pub pending: VecDeque<ToolCall>,
    /// The approval whose result is missing, if there is one.
    pub open_approval: Option<OpenApproval>,
    /// The background tasks, in the order they were started.
    pub tasks: Vec<Task>,
    /// How many replies the model gave.
    pub turns: u64,
    /// Tokens used, where they were told.
    pub tokens: Tokens,
    /// Money spent in millionths, by currency.
    pub spent: BTreeMap<String, u64>,
    /// How many requests have an unknown cost.
    pub unpriced: u64,
    /// How many requests have no count of tokens.
    pub uncounted: u64,
    /// The input of the last counted request, in tokens.
    pub last_input: Option<u64>,
    /// The title, once there is one.
    pub title: Option<String>,
    /// The plan as last written.
    pub plan: PlanBody,
    /// The notes for later sessions that it wrote, or may have written.
    pub notes: Vec<NoteBody>,
    /// What the agent gave up.
    pub promises: Ratchet,
    /// Content hashes of files the session read or wrote, by path in the cage.
    pub files: BTreeMap<String, String>,
    /// The workspace as last opened.
    pub workspace: Option<WorkspaceBody>,
    /// The last snapshot.
    pub snapshot: Option<SnapshotBody>,
    /// The complete turns whose workspace was kept, in order: it can be forked there.
    pub kept: Vec<KeptTurn>,
    /// What the model has not been told of reviews and undos, with the records.
    pub unheard: Vec<(Seq, Unheard)>,
    /// The commits that a person would not have carried when a run's end offered them, each the
    /// last of those that it leads to.
    pub declined: BTreeSet<String>,
    /// Paths of which a person declined something in a review, and did not take it in a later one.
    pub declined_paths: BTreeSet<String>,
    /// The last compaction.
    pub compaction: Option<CompactionBody>,
    /// The record of the last compaction.
    pub compacted: Option<Seq>,
    /// The provider and the model that answer now.
    pub answering: Option<(String, String)>,
    /// What servers told of their models, by provider and model.
    pub learned: BTreeMap<(String, String), LearnedBody>,
    /// Pictures that the person showed, by the record of the words they belong to.
    pub pictures: BTreeMap<Seq, Vec<Picture>>,
    /// When each fact was last told the model, by the fact's word.
    pub told: BTreeMap<String, Told>,
    /// How the last run ended, unless another began.
    pub ended: Option<EndedBody>,
    /// How many records there are.
    pub records: u64,
}

impl Session {
    /// Says where the session stands.
    #[must_use]
    pub fn state(&self) -> State {
        self.ended.clone().map_or(State::Open, State::Ended)
    }

    /// Says whether the last turn has all its results, or there was none.
    #[must_use]
    pub fn turn_is_complete(&self) -> bool {
        self.pending.is_empty() && self.open_approval.is_none()
    }
}
