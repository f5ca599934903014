//! What a fork takes over from the log it hangs from, and whether it still hangs there.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use crate::error::LogError;
use crate::event::{CarriedBody, CompactionBody, Event, ForkBody, NoticeBody, SnapshotBody};
use crate::log::Log;
use crate::record::{Record, Seq};
use crate::session::Session;
use crate::verify::{Verdict, scan};

/// A complete turn whose workspace was kept: a session can be forked there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTurn {
    /// The record that ends it.
    pub at: Seq,
    /// What was kept, and of which turn.
    pub snapshot: SnapshotBody,
    /// How long the conversation was by then.
    pub(crate) entries: usize,
}

/// A session up to the end of one turn, as a fork takes it over.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// The turn.
    pub turn: KeptTurn,
    /// The hash of the record that ends it, in lower hex.
    pub hash: String,
    /// What the fork's own log says of it, in order, behind `fork.opened` and `session.start`.
    pub carried: Vec<Event>,
}

/// How many records of a fork's own stand before those it took over.
const OWN_FIRST: u64 = 2;

/// Why a session cannot be forked at a turn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BranchFault {
    /// No turn of it is complete.
    #[error("no turn of this session is complete, so there is nothing to fork at")]
    Nothing,

    /// There is no such turn.
    #[error("there is no turn {turn}: this session has {turns}, counted from 1")]
    NoTurn {
        /// The turn that was asked for.
        turn: u64,
        /// How many there are.
        turns: u64,
    },

    /// The turn is there, and its workspace was not kept.
    #[error("turn {turn} has no snapshot, so its files cannot be restored; {cure}")]
    NotKept {
        /// The turn that was asked for.
        turn: u64,
        /// Which turns can be forked at.
        cure: String,
    },

    /// The log says something else than was written.
    #[error("the log `{}` is not intact: {verdict}", .path.display())]
    NotIntact {
        /// The log.
        path: PathBuf,
        /// What is wrong with it.
        verdict: String,
    },

    /// The log could not be read.
    #[error("the session's log cannot be read")]
    Log {
        /// Why.
        source: LogError,
    },
}

/// Whether a fork hangs where its first record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hang {
    /// The parent has that record, byte for byte.
    Holds,
    /// The parent's log is not there.
    NoParent,
    /// The parent's log has another record there, or none.
    Another,
    /// The parent's log cannot be read so far.
    Unreadable(String),
}

impl Log {
    /// Reads a session up to the end of `turn`, or of the last one that was kept.
    ///
    /// Its owner may be at work: only whole records of complete turns are taken, and no lock.
    ///
    /// # Errors
    ///
    /// [`BranchFault`]: there is no such turn, it was not kept, or the log is damaged.
    pub fn branch(path: &Path, turn: Option<u64>) -> Result<Branch, BranchFault> {
        let (session, verdict) = Self::read(path).map_err(|source| BranchFault::Log { source })?;
        if verdict.is_damage() {
            let verdict = verdict.to_string();
            return Err(BranchFault::NotIntact { path: path.to_owned(), verdict });
        }
        let turn = session.kept_turn(turn)?.clone();
        let mut carrying = Carrying::default();
        let mut hash = None;
        let read = Self::lines(path, |record, prev| {
            if record.seq <= turn.at {
                carrying.take(record);
            } else if record.seq.0 == turn.at.0 + 1 {
                hash = Some(prev);
            }
        });
        let (verdict, head) = read.map_err(|source| BranchFault::Log { source })?;
        if verdict.is_damage() {
            let verdict = verdict.to_string();
            return Err(BranchFault::NotIntact { path: path.to_owned(), verdict });
        }
        Ok(Branch { turn, hash: hash.unwrap_or(head), carried: carrying.events })
    }

    /// Returns what the log of a fork says of where it hangs. `None` for any other log.
    #[must_use]
    pub fn fork_of(path: &Path) -> Option<ForkBody> {
        let mut first = None;
        let file = File::open(path).ok()?;
        // What stands behind the first record is not read.
        scan(BufReader::new(file), |envelope| {
            if let Event::Forked(body) = envelope.open()?.event {
                first = Some(body);
            }
            Err(serde::de::Error::custom("the first record is enough"))
        });
        first
    }

    /// Says whether the log at `parent` has the record that `fork` hangs from.
    #[must_use]
    pub fn hang(parent: &Path, fork: &ForkBody) -> Hang {
        if !parent.exists() {
            return Hang::NoParent;
        }
        let (mut hash, mut last) = (None, Seq(0));
        let read = Self::lines(parent, |record, prev| {
            if record.seq.0 == fork.record.0 + 1 {
                hash = Some(prev);
            }
            last = record.seq;
        });
        match read {
            Err(fault) => Hang::Unreadable(fault.to_string()),
            Ok((verdict, head)) => match hash.or((last == fork.record).then_some(head)) {
                Some(hash) if hash == fork.hash => Hang::Holds,
                Some(_) => Hang::Another,
                None if verdict.is_damage() => Hang::Unreadable(verdict.to_string()),
                None => Hang::Another,
            },
        }
    }

    /// Hands over each record with the hash of the line before it, and returns the last line's.
    fn lines(
        path: &Path,
        mut each: impl FnMut(Record, String),
    ) -> Result<(Verdict, String), LogError> {
        let opened = File::open(path);
        let file = opened.map_err(|source| LogError::Open { path: path.to_owned(), source })?;
        let read = scan(BufReader::with_capacity(1 << 20, file), |envelope| {
            each(envelope.open()?, envelope.prev.to_string());
            Ok(())
        });
        Ok((read.verdict, read.head.to_string()))
    }
}

impl Session {
    /// Finds a turn that can be forked at, the last one if none is named.
    ///
    /// # Errors
    ///
    /// [`BranchFault`]: there is no such turn, or it was not kept.
    pub fn kept_turn(&self, turn: Option<u64>) -> Result<&KeptTurn, BranchFault> {
        let Some(turn) = turn else { return self.kept.last().ok_or(BranchFault::Nothing) };
        let found = self.kept.iter().find(|kept| kept.snapshot.turn == turn);
        found.ok_or_else(|| {
            if turn == 0 || turn > self.turns {
                return BranchFault::NoTurn { turn, turns: self.turns };
            }
            let others = self.kept.iter().map(|kept| kept.snapshot.turn.to_string());
            let cure = match others.collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => "no turn of this session was kept".to_owned(),
                others => format!("these were kept: {others}"),
            };
            BranchFault::NotKept { turn, cure }
        })
    }

    /// Notes that the workspace was kept at the end of a turn.
    ///
    /// Background tasks that ended with the run may have written behind the turn's first
    /// snapshot: the later one counts, unless the conversation went on in between.
    pub(crate) fn keep_turn(&mut self, at: Seq, snapshot: &SnapshotBody) {
        if !self.turn_is_complete() {
            return;
        }
        let kept = KeptTurn { at, snapshot: snapshot.clone(), entries: self.entries.len() };
        match self.kept.last_mut() {
            Some(last) if last.snapshot.turn == snapshot.turn => {
                if last.entries == kept.entries {
                    *last = kept;
                }
            }
            Some(_) | None => self.kept.push(kept),
        }
    }
}

/// Turns the records of a parent into those of a fork.
#[derive(Debug, Default)]
struct Carrying {
    events: Vec<Event>,
    /// The place in the fork of each record that was taken over.
    places: HashMap<Seq, Seq>,
}

impl Carrying {
    fn take(&mut self, record: Record) {
        if let Some(event) = self.carried(record.event) {
            self.events.push(event);
            let place = Seq(OWN_FIRST + self.events.len() as u64);
            self.places.insert(record.seq, place);
        }
    }

    /// What a fork says of one event of its parent.
    ///
    /// What was said and done, promised, spent, planned and kept goes over. Answers of people,
    /// settings and the ends of runs do not: the fork asks anew.
    fn carried(&self, event: Event) -> Option<Event> {
        match event {
            Event::User(_)
            | Event::Model(_)
            | Event::Usage(_)
            | Event::Promise(_)
            | Event::Widened(_)
            | Event::ToolFinished(_)
            | Event::TaskStarted(_)
            | Event::TaskFinished(_)
            | Event::Snapshot(_)
            | Event::DiffReviewed(_)
            | Event::Plan(_)
            | Event::Title(_)
            | Event::Learned(_) => Some(event),
            Event::Undone(body) => body
                .done
                // The approval is a record of the parent's.
                .then_some(Event::Undone(CarriedBody { approval: None, ..body })),
            Event::Compaction(body) => {
                let through = self.last_place_up_to(body.through);
                let shortened = self.last_place_up_to(body.shortened);
                Some(Event::Compaction(CompactionBody { through, shortened, ..body }))
            }
            Event::Notice(body) => {
                let reviews = body.reviews.iter().filter_map(|seq| self.places.get(seq).copied());
                let reviews = reviews.collect();
                Some(Event::Notice(NoticeBody { reviews, ..body }))
            }
            Event::Forked(_)
            | Event::Start(_)
            | Event::Config(_)
            | Event::Asked(_)
            | Event::Answered(_)
            | Event::Reviewed(_)
            | Event::ToolStarted(_)
            | Event::WorkspaceOpened(_)
            | Event::Applied(_)
            // It is listed at the session that wrote it.
            | Event::Noted(_)
            | Event::Switched(_)
            | Event::Retry(_)
            | Event::Ended(_)
            // What a later version meant by it is not known: it could be a right.
            | Event::Unknown { .. } => None,
        }
    }

    fn last_place_up_to(&self, seq: Seq) -> Seq {
        let below = self.places.iter().filter(|(parent, _)| **parent <= seq);
        below.map(|(_, place)| *place).max().unwrap_or(Seq(0))
    }
}
