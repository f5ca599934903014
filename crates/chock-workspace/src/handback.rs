//! Carries approved work into the project, all of it or nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;

use chock_log::{Act, Permit, Spent};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::branch::{GitMove, Mover, RefMove};
use crate::carrier::{Carrier, Stopped};
use crate::shelf::Journal;
use crate::step::{Move, Side, Step, StepState};
use crate::{HandBackFault, JsonBytes, LandingMode, Parked, Project, Shelf, TreeId};

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

    /// Whether there is nothing to write, and no ref to move.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.moves().next().is_none() && self.step.git.is_none()
    }

    /// What it does to refs, when commits are carried.
    #[must_use]
    pub fn refs(&self) -> Option<Moved> {
        let to = self.direction.side();
        let git = self.step.git.as_ref()?;
        let moved = |moved: &RefMove| MovedRef {
            name: moved.name.clone(),
            from: moved.at(to.other()).map(str::to_owned),
            to: moved.at(to).map(str::to_owned),
        };
        Some(Moved {
            kept: moved(&git.kept),
            branch: git.branch.as_ref().map(moved),
            mode: git.mode,
            parked: git.parked,
            commits: git.commits,
        })
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

/// What a hand-back of commits does to refs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The ref that keeps the session's commits.
    pub kept: MovedRef,
    /// The branch they land on.
    pub branch: Option<MovedRef>,
    /// How they land.
    pub mode: LandingMode,
    /// Why they do not.
    pub parked: Option<Parked>,
    /// How many they are.
    pub commits: u64,
}

/// One ref, and the commits it goes from and to. `None` where there is no ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedRef {
    /// Its whole name.
    pub name: String,
    /// What it names before, in 40 hexadecimal digits.
    pub from: Option<String>,
    /// What it names afterwards.
    pub to: Option<String>,
}

impl Act for HandBack {
    fn record(&self) -> Value {
        json!({
            "git": self.step.git.as_ref().map(GitMove::record),
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
    let (to, pack) = (direction.side(), GitMove::pack(&steps, step.number));
    let mover = step.git.as_ref().map(|git| Mover { project, git, to, pack });
    if let Err(stopped) = together(&mut carrier, mover.as_ref(), &mut shelf.instant) {
        (shelf.instant)();
        let mut others = mover.as_ref().map(Mover::back).unwrap_or_default();
        others.extend(carrier.roll_back());
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
        // A branch that was moved stays so, and the journal has the next opener finish it.
        if mover.is_none() {
            let _others = carrier.roll_back();
            let _kept = carrier.clean(shelf.directory());
        }
        return Err(fault);
    }
    (shelf.instant)();
    let kept = carrier.clean(shelf.directory());
    (shelf.instant)();
    let forgotten = if direction == Direction::Apply { shelf.trim(step.number)? } else { 0 };
    Ok(Carried::Whole { forgotten, kept })
}

/// Moves refs and files. The branch moves last: from then on the act counts as done.
fn together(
    carrier: &mut Carrier<'_>,
    mover: Option<&Mover<'_>>,
    instant: &mut dyn FnMut(),
) -> Result<(), Stopped> {
    if let Some(mover) = mover {
        instant();
        mover.begin()?;
    }
    if mover.is_none() || carrier.has_moves() {
        carrier.carry(instant)?;
    }
    mover.map_or(Ok(()), |mover| mover.finish(instant))
}
