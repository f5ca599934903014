//! Keeps a session as an append-only chain of records, and turns a durable approval into a permit.
//!
//! [`Log::open`] locks one file and gives out a [`Pen`], which writes what
//! happened, and one [`Granter`], which alone makes a [`Permit`]. The words that
//! the other crates exchange (messages, tool calls, outcomes) are types of this
//! crate too, so that they need to know nothing of each other.
//!
//! # Never knows
//!
//! What an act means, who is at the terminal, which model or tool is behind a record.
//!
//! # Holds
//!
//! - One record is one line in one write; each line carries the hash of the line before it.
//! - A permit exists only after its approval reached the disk.
//! - A failed write is the last one: nothing is appended behind a hole.
//! - Secrets are replaced before a line is hashed.
//! - No permit while a required audit sink lacks a line.
//! - Unknown kinds and fields survive, since nothing is ever rewritten.
//!
//! # Start reading at
//!
//! [`Log::open`], then `permit.rs`.

mod causes;
mod courier;
mod error;
mod event;
mod fold;
mod fork;
mod id;
mod log;
mod masking;
mod message;
mod outcome;
mod permit;
mod picture;
mod proposal;
mod record;
mod redact;
mod seal;
mod session;
mod sshsig;
mod storage;
mod task;
mod usage;
mod verify;
mod writer;

pub use causes::causes;
pub use chock_policy::Action;
pub use courier::{AuditGap, Courier};
pub use error::LogError;
pub use event::{
    AnswerBody, AskedBody, CarriedBody, CommitsBody, CompactionBody, ConfigBody, DiffReviewedBody,
    EndReason, EndedBody, Event, FinishedBody, ForkBody, Grounds, LearnedBody, NoteBody,
    NoticeBody, PlanBody, PlanStatus, PlanStep, PromiseBody, RetryBody, ReviewVerdict,
    ReviewedBody, ReviewedFile, SnapshotBody, StartBody, StartedBody, SwitchedBody,
    TaskFinishedBody, TaskStartedBody, TitleBody, UsageBody, UserBody, WidenedBody, WorkspaceBody,
};
pub use fork::{Branch, BranchFault, Hang, KeptTurn};
pub use id::SessionId;
pub use log::{Clock, Held, Log, Observer, Opened, Options, Running};
pub use masking::Masking;
pub use message::{Delta, ModelMessage, Part, Stop, Thinking, ToolCall, ToolSchema};
pub use outcome::{Denial, Ended, FileFact, Outcome};
pub use permit::{Act, Granter, Permit, Spent};
pub use picture::{PICTURE_BYTES_MAX, PICTURES_MAX, Picture, Pictures};
pub use proposal::Proposal;
pub use record::{HEADER, RECORD_BYTES_MAX, Record, Seq};
pub use redact::{Mask, Redactor, holds_marker};
pub use seal::{SEAL_BYTES_MAX, SEAL_NAMESPACE, Seal, SealKey, Sealed, Statement, key_fingerprint};
pub use session::{Entry, OpenApproval, Session, State, Told, Unheard};
pub use sshsig::SignatureFault;
pub use storage::{FileStorage, Storage};
pub use task::{Task, TaskState};
pub use usage::{Cost, Price, Tokens};
pub use verify::{Checked, Verdict, check, verify};
pub use writer::{LOG_BYTES_MAX, Pen};
