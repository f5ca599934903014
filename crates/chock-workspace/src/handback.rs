//! Carries approved work into the project, all of it or nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chock_log::{Act, Permit, Spent};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::carrier::Carrier;
use crate::shelf::Journal;
use crate::step::{Move, Side, Step, StepState};
use crate::{HandBackFault, JsonBytes, Project, Shelf, TreeId};

/// The most paths that the record of an approval names. A digest covers all of them.
const RECORDED_MAX: usize = 2_000;

/// Which way a hand-back goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Work of a session goes into the project.
    Apply,
    /// The last hand-back goes out again.
    Undo,
    /// What was undone goes in again.
    Redo,
}

impl Direction {
    pub(crate) fn side(self) -> Side {
        match self {
            Self::Apply | Self::Redo => Side::After,
            Self::Undo => Side::Before,
        }
    }

    /// The word of the log and of machine output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Undo => "undo",
            Self::Redo => "redo",
        }
    }
}

/// The act of carrying files into a project, or out again: exactly these, from exactly what
/// they are to exactly what they will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandBack {
    pub(crate) direction: Direction,
    pub(crate) step: Step,
    /// Moves of the step that are already made, by their index.
    pub(crate) skip: BTreeSet<usize>,
    /// Where in the project files wait.
    pub(crate) stage: String,
    /// Paths that are already as wanted.
    pub(crate) settled: Vec<Vec<u8>>,
}

impl HandBack {
    /// The paths that would be written, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.moves().map(|change| change.path.as_slice())
    }

    fn moves(&self) -> impl Iterator<Item = &Move> {
        let wanted = |(index, _): &(usize, &Move)| !self.skip.contains(index);
        self.step.moves.iter().enumerate().filter(wanted).map(|(_, change)| change)
    }

    /// The paths that are already as wanted, and are not touched.
    pub fn settled(&self) -> impl Iterator<Item = &[u8]> {
        self.settled.iter().map(Vec::as_slice)
    }

    /// Which way it goes.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The hand-back's number in its project.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.step.number
    }

    /// The session that the work comes from.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.step.session
    }

    /// The tree that the choice was made against, and the one that it led to.
    #[must_use]
    pub fn trees(&self) -> (TreeId, TreeId) {
        (self.step.base, self.step.tree)
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.moves().next().is_none()
    }

    /// SHA-256 over every path with its content before and after, lower hex.
    #[must_use]
    pub fn digest(&self) -> String {
        let moves: Vec<_> = self.moves().collect();
        let moves = serde_json::to_vec(&moves).expect("invariant: moves are JSON");
        Sha256::digest(moves).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// `path`, and the hashes before and after, of at most 2,000 files.
    #[must_use]
    pub fn files(&self) -> Vec<Value> {
        let to = self.direction.side();
        let rows = self.moves().take(RECORDED_MAX).map(|change| {
            let hash = |side| change.image(side).map(|image| &image.hash);
            json!({
                "path": JsonBytes(&change.path), "before": hash(to.other()), "after": hash(to),
            })
        });
        rows.collect()
    }
}

impl Act for HandBack {
    fn record(&self) -> Value {
        json!({
            "kind": "hand_back",
            "direction": self.direction.word(),
            "step": self.step.number,
            "session": self.step.session,
            "base": self.step.base,
            "tree": self.step.tree,
            "count": self.moves().count(),
            "digest": self.digest(),
            "files": self.files(),
        })
    }
}

/// What became of a hand-back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    /// Everything is in its place.
    Whole {
        /// How many of the oldest hand-backs can no longer be undone, for their size or number.
        forgotten: usize,
        /// Where files are kept that somebody wrote at the very same time.
        kept: Vec<PathBuf>,
    },
    /// Everything is as before.
    Nothing {
        /// The path that stood in the way.
        path: Vec<u8>,
        /// Why.
        why: String,
        /// Paths that somebody wrote meanwhile: they are as that wrote them.
        others: Vec<Vec<u8>>,
        /// Where files are kept that somebody wrote at the very same time.
        kept: Vec<PathBuf>,
    },
}

/// Does a hand-back. All of it is in the project afterwards, or nothing.
///
/// A process that dies in between leaves a journal, and the next [`Shelf::open`] finishes or
/// rolls back. The caller records what became of it and then calls [`Shelf::settle`].
///
/// # Errors
///
/// [`HandBackFault`]; nothing of the project was changed.
pub fn apply(
    permit: Permit<HandBack>,
    shelf: &mut Shelf,
    project: &Project,
) -> (Spent, Result<Carried, HandBackFault>) {
    let (act, spent) = permit.spend();
    (spent, carry(act, shelf, project))
}

fn carry(act: HandBack, shelf: &mut Shelf, project: &Project) -> Result<Carried, HandBackFault> {
    let HandBack { direction, step, skip, stage, .. } = act;
    let steps = shelf.steps();
    let journal = Journal { number: step.number, direction, stage, skip };
    (shelf.instant)();
    shelf.begin(&journal)?;
    let mut carrier = Carrier::open(project.root(), &steps, &step, &journal)?;
    if let Err(stopped) = carrier.carry(&mut shelf.instant) {
        (shelf.instant)();
        let others = carrier.roll_back();
        let kept = carrier.clean(shelf.directory());
        return Ok(Carried::Nothing { path: stopped.path, why: stopped.why, others, kept });
    }
    (shelf.instant)();
    let settled = Step {
        state: match direction.side() {
            Side::After => StepState::Done,
            Side::Before => StepState::Undone,
        },
        ..step.clone()
    };
    if let Err(fault) = settled.write(&steps) {
        let _others = carrier.roll_back();
        let _kept = carrier.clean(shelf.directory());
        return Err(fault);
    }
    (shelf.instant)();
    let kept = carrier.clean(shelf.directory());
    (shelf.instant)();
    let forgotten = if direction == Direction::Apply { shelf.trim(step.number)? } else { 0 };
    Ok(Carried::Whole { forgotten, kept })
}
