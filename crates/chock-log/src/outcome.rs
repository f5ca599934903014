//! How a tool call came out.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::picture::Picture;

/// The result of one tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How the act ended.
    pub ended: Ended,
    /// The words for the model: output first, then what Chock says of it.
    pub text: String,
    /// What the wall or the table refused, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<Denial>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// Bytes of output that the model gets.
    #[serde(default)]
    pub bytes_kept: u64,
    /// Bytes of output that it does not.
    #[serde(default)]
    pub bytes_dropped: u64,
    /// The file the call read or wrote, with its state afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileFact>,
    /// The pictures that the model is shown, each kept beside the log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
}

/// How an act ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// A tool of Chock's own did what was asked.
    Done,
    /// The call could not be understood or its tool found a fault; nothing was changed.
    Fault,
    /// A program ended by itself with this status.
    Exited(i32),
    /// A program was ended by this signal.
    Signalled(i32),
    /// The time limit, in seconds, was over.
    TimedOut(u64),
    /// A limit of the cage ended it; the word names the limit.
    Limit(String),
    /// The table, a person or the wall refused.
    Denied,
    /// The person stopped it.
    Cancelled,
    /// Chock ended while it ran, so nobody knows.
    Unknown,
}

/// What was refused, and what would allow it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// What was tried, in a word: `run`, `read`, `write`, `connect`.
    pub operation: String,
    /// The action it was judged under, if the table refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The path, host or call in question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The layer that refused: `policy`, `person`, `mount`, `network`, `seccomp` ...
    pub layer: String,
    /// The row or the answer that would allow it, if one would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_by: Option<String>,
    /// Whether it was inferred from what a program printed; otherwise it is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
}

/// A file's state as a tool saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFact {
    /// The path as seen in the cage.
    pub path: String,
    /// The content's hash, as `read_file` shows it.
    pub hash: String,
}

impl Outcome {
    /// Makes an outcome of words alone.
    #[must_use]
    pub fn new(ended: Ended, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            ended,
            bytes_kept: text.len() as u64,
            text,
            denial: None,
            duration_ms: 0,
            bytes_dropped: 0,
            file: None,
            pictures: Vec::new(),
        }
    }

    /// Notes how long the act took.
    #[must_use]
    pub fn lasting(mut self, duration: Duration) -> Self {
        self.duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Says whether the model is told of an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match &self.ended {
            Ended::Done => false,
            Ended::Exited(code) => *code != 0,
            Ended::Fault
            | Ended::Signalled(_)
            | Ended::TimedOut(_)
            | Ended::Limit(_)
            | Ended::Denied
            | Ended::Cancelled
            | Ended::Unknown => true,
        }
    }
}
