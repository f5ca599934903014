//! What a file tool says from inside its cell, and the words for it outside.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use chock_log::{Denial, Ended, FileFact, Outcome};
use serde::{Deserialize, Serialize};

use crate::denied::DeniedRows;
use crate::names;

/// The most bytes of an answer that are read: the longest text as JSON spells it, or the largest
/// picture in base64.
pub(crate) const ANSWER_BYTES_MAX: usize = 5 << 20;

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
    /// The picture to show, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) picture: Option<String>,
}

/// What the wall refused.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    pub(crate) operation: Operation,
    /// The path as the model knows it.
    pub(crate) path: String,
    pub(crate) wall: Wall,
    /// Where the cover that lies over it really is, as bytes.
    pub(crate) cover: Option<Vec<u8>>,
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
    pub(crate) fn into_outcome(self, denied: &DeniedRows) -> Outcome {
        match self {
            Self::Done(Done { text, file, dropped, .. }) => {
                Outcome { file, bytes_dropped: dropped, ..Outcome::new(Ended::Done, text) }
            }
            Self::Fault(text) => Outcome::new(Ended::Fault, text),
            Self::Refused(refused) => refused.into_outcome(denied),
        }
    }
}

impl Refused {
    /// Words a refusal of a path that a row keeps from every tool.
    pub(crate) fn covered(operation: Operation, path: &Path, denied: &DeniedRows) -> Outcome {
        let cover = Some(path.as_os_str().as_bytes().to_owned());
        let path = path.to_string_lossy().into_owned();
        Self { operation, path, wall: Wall::Covered, cover }.into_outcome(denied)
    }

    fn into_outcome(self, denied: &DeniedRows) -> Outcome {
        let Self { operation, path, wall, cover } = self;
        let cover = cover.map(|cover| PathBuf::from(OsString::from_vec(cover)));
        let row = cover.and_then(|cover| denied.row(&cover));
        let rules = path.rsplit('/').next() == Some("chock.zon");
        let (why, allowed_by) = match (wall, rules) {
            (Wall::ReadOnly, true) => (
                "the project's rules are read only in a session",
                Some("the person editing chock.zon outside the session".to_owned()),
            ),
            (Wall::ReadOnly, false) => ("it is read only in this sandbox", None),
            (Wall::Absent, _) => (
                "the sandbox holds the project, /tmp, the system's programs and toolchains, and \
                 nothing else of this machine",
                None,
            ),
            (Wall::Covered, _) => (
                "the person keeps it from every tool",
                Some(match row {
                    Some(row) => DeniedRows::cure(row),
                    None => "the person removing its row from `deny_read` in chock.zon".to_owned(),
                }),
            ),
        };
        let word = operation.word();
        let cure =
            allowed_by.as_ref().map(|cure| format!("; only {cure} allows it")).unwrap_or_default();
        let text = format!("denied: cannot {word} {}: {why}{cure}", names::shown(&path));
        let denial = Denial {
            operation: word.to_owned(),
            action: None,
            target: Some(path),
            layer: "mount".into(),
            allowed_by,
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
    use crate::denied::DeniedRow;

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
                let refused = Refused { operation, path: path.into(), wall, cover: None };
                let outcome = Answer::Refused(refused).into_outcome(&DeniedRows::default());
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
    fn a_cover_names_the_row_that_it_comes_from() {
        let row = "\"**/*.pem\" (chock.zon:3:9)".to_owned();
        let rows = DeniedRows::new(vec![DeniedRow { path: "/p/keys/a.pem".into(), row }]);
        let refused = |cover: &str| Refused {
            operation: Operation::Read,
            path: "link".into(),
            wall: Wall::Covered,
            cover: Some(cover.into()),
        };
        let outcome = Answer::Refused(refused("/p/keys/a.pem")).into_outcome(&rows);
        let allowed_by = outcome.denial.expect("a denial").allowed_by.expect("a row");
        assert_eq!(allowed_by, "the person removing \"**/*.pem\" (chock.zon:3:9) from `deny_read`");
        assert!(outcome.text.contains(&allowed_by), "{}", outcome.text);
        let other = Answer::Refused(refused("/p/other")).into_outcome(&rows);
        assert!(other.text.contains("its row from `deny_read`"), "{}", other.text);
    }

    #[test]
    fn a_fault_has_no_denial() {
        let fault = Answer::Fault("`a` is not there".into());
        let outcome = fault.into_outcome(&DeniedRows::default());
        assert_eq!((outcome.ended, outcome.denial), (Ended::Fault, None));
    }
}
