//! What a file tool says from inside its cell, and the words for it outside.

use chock_log::{Denial, Ended, FileFact, Outcome};
use serde::{Deserialize, Serialize};

use crate::names;

/// The most bytes of an answer that are read: the longest text as JSON spells it.
pub(crate) const ANSWER_BYTES_MAX: usize = 2 << 20;

/// What a file tool says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// It did what was asked.
    Done(Done),
    /// It could not, for a reason that is not the wall's. Nothing was changed.
    Fault(String),
    /// The wall refused.
    Refused(Refused),
}

/// What was done.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Done {
    /// The words for the model.
    pub(crate) text: String,
    /// The file that was read or written.
    pub(crate) file: Option<FileFact>,
    /// How many bytes were found and not shown.
    pub(crate) dropped: u64,
}

/// What the wall refused.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    pub(crate) operation: Operation,
    /// The path as the model knows it.
    pub(crate) path: String,
    pub(crate) wall: Wall,
}

/// What was tried with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Operation {
    Read,
    Write,
}

/// How the wall refused, as far as it is known for sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Wall {
    /// The file system there is mounted read only.
    ReadOnly,
    /// The path leads where the cage has nothing.
    Absent,
    /// A cover lies over it.
    Covered,
}

/// Why a file tool did not do what was asked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Fault(String),
    Refused(Refused),
}

impl From<String> for Trouble {
    fn from(text: String) -> Self {
        Self::Fault(text)
    }
}

impl From<Result<Done, Trouble>> for Answer {
    fn from(result: Result<Done, Trouble>) -> Self {
        match result {
            Ok(done) => Self::Done(done),
            Err(Trouble::Fault(text)) => Self::Fault(text),
            Err(Trouble::Refused(refused)) => Self::Refused(refused),
        }
    }
}

impl Answer {
    /// Words the answer for the model.
    pub(crate) fn into_outcome(self) -> Outcome {
        match self {
            Self::Done(Done { text, file, dropped }) => {
                Outcome { file, bytes_dropped: dropped, ..Outcome::new(Ended::Done, text) }
            }
            Self::Fault(text) => Outcome::new(Ended::Fault, text),
            Self::Refused(refused) => refused.into_outcome(),
        }
    }
}

impl Refused {
    fn into_outcome(self) -> Outcome {
        let Self { operation, path, wall } = self;
        let rules = path.rsplit('/').next() == Some("chock.zon");
        let (why, allowed_by) = match (wall, rules) {
            (Wall::ReadOnly, true) => (
                "the project's rules are read only in a session",
                Some("the person editing chock.zon outside the session"),
            ),
            (Wall::ReadOnly, false) => ("it is read only in this sandbox", None),
            (Wall::Absent, _) => (
                "the sandbox holds the project, /tmp, the system's programs and toolchains, and \
                 nothing else of this machine",
                None,
            ),
            (Wall::Covered, _) => (
                "the person keeps it from every tool",
                Some("the person removing its row from `deny_read` in chock.zon"),
            ),
        };
        let word = operation.word();
        let cure = allowed_by.map(|cure| format!("; only {cure} allows it")).unwrap_or_default();
        let text = format!("denied: cannot {word} {}: {why}{cure}", names::shown(&path));
        let denial = Denial {
            operation: word.to_owned(),
            action: None,
            target: Some(path),
            layer: "mount".into(),
            allowed_by: allowed_by.map(str::to_owned),
            inferred: false,
        };
        Outcome { denial: Some(denial), ..Outcome::new(Ended::Denied, text) }
    }
}

impl Operation {
    /// Returns the word that denials use.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_operation_path_and_layer() {
        let walls = [
            (Wall::ReadOnly, "src/chock.zon", "rules", true),
            (Wall::ReadOnly, "/usr/bin/true", "read only", false),
            (Wall::Absent, "/root/.ssh/id", "nothing else of this machine", false),
            (Wall::Covered, ".env", "deny_read", true),
        ];
        for (wall, path, word, allowed) in walls {
            for operation in [Operation::Read, Operation::Write] {
                let refused = Refused { operation, path: path.into(), wall };
                let outcome = Answer::Refused(refused).into_outcome();
                let denial = outcome.denial.expect("a denial");

                assert_eq!(outcome.ended, Ended::Denied);
                assert_eq!(denial.operation, operation.word());
                assert_eq!(denial.target.as_deref(), Some(path));
                assert_eq!(denial.layer, "mount");
                assert_eq!(denial.allowed_by.is_some(), allowed, "{wall:?}");
                assert!(outcome.text.contains(word), "{}", outcome.text);
                assert!(outcome.text.contains(path), "{}", outcome.text);
            }
        }
    }

    #[test]
    fn a_fault_has_no_denial() {
        let outcome = Answer::Fault("`a` is not there".into()).into_outcome();
        assert_eq!((outcome.ended, outcome.denial), (Ended::Fault, None));
    }
}
