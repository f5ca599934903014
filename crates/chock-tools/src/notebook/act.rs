//! The acts of a model on notes: to list, to read, and to write one.

use chock_log::{Act, Ended, NoteBody, Outcome, Permit, Proposal, Redactor};
use serde_json::{Value, json};

use super::{Draft, NoteName, Notebook, words};
use crate::Proposed;
use crate::file::sha256;
use crate::said;

/// What a call asks of the notes. No cell is needed for it: a name can be no path, and the
/// files are the host's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteAct {
    /// To see what notes there are.
    List,
    /// To read the newest version of one.
    Read {
        /// Which.
        name: NoteName,
    },
    /// To write one.
    Write(Draft),
}

/// Who writes a version of a note, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The time, as RFC 3339 in UTC.
    pub written_at: String,
    /// The session.
    pub session: String,
}

impl NoteAct {
    /// Says what a person is shown of it.
    pub(crate) fn effect(&self) -> String {
        match self {
            Self::List => "list the notes of earlier sessions".to_owned(),
            Self::Read { name } => format!("read the note `{name}`"),
            Self::Write(draft) => {
                let (name, kind) = (draft.name(), draft.kind().word());
                let head = format!("write the note `{name}` ({kind}): {}", draft.description());
                said::effect(&head, &[('+', draft.body())])
            }
        }
    }

    /// Returns what is to be recorded before the act, when it writes.
    #[must_use]
    pub fn announces(&self, call: &str) -> Option<NoteBody> {
        match self {
            Self::List | Self::Read { .. } => None,
            Self::Write(draft) => Some(NoteBody {
                call: call.to_owned(),
                name: draft.name().to_string(),
                kind: draft.kind().word().to_owned(),
                description: draft.description().to_owned(),
                bytes: draft.body().len() as u64,
                hash: sha256(draft.body().as_bytes()),
            }),
        }
    }
}

impl Act for NoteAct {
    fn record(&self) -> Value {
        match self {
            Self::List => json!({ "notes": "list" }),
            Self::Read { name } => json!({ "notes": "read", "name": name.as_str() }),
            Self::Write(draft) => json!({
                "notes": "write",
                "name": draft.name().as_str(),
                "note_kind": draft.kind().word(),
                "description": draft.description(),
                "bytes": draft.body().len(),
                "hash": sha256(draft.body().as_bytes()),
            }),
        }
    }
}

/// Replaces the secrets in a note that is to be written, so that what is judged, recorded and
/// written is the same.
pub(crate) fn masked(mut proposal: Proposal<NoteAct>, redactor: &Redactor) -> Proposed {
    if let NoteAct::Write(draft) = &proposal.act {
        match draft.masked(redactor) {
            Ok(None) => {}
            Ok(Some(draft)) => {
                proposal.act = NoteAct::Write(draft);
                proposal.effect = proposal.act.effect();
            }
            Err(words) => {
                let text = format!("{}: with its secrets masked, {words}", proposal.tool);
                return Proposed::Fault(Outcome::new(Ended::Fault, text));
            }
        }
    }
    Proposed::Memory(proposal)
}

/// Does a permitted act on notes, and words what came of it.
pub(crate) fn note(notebook: &Notebook, permit: Permit<NoteAct>, stamp: &Stamp) -> Outcome {
    let (act, _) = permit.spend();
    let writes = matches!(act, NoteAct::Write(_));
    let done = match act {
        NoteAct::List => notebook.list().map(|all| words::listed(&all)),
        NoteAct::Read { name } => notebook.read(&name).map(|note| words::read(&note)),
        NoteAct::Write(draft) => {
            notebook.write(&draft, stamp).map(|written| words::written(&draft, written))
        }
    };
    match done {
        Ok(text) => Outcome::new(Ended::Done, text),
        Err(fault) => Outcome::new(Ended::Fault, words::fault(&fault, writes)),
    }
}
