//! Where Chock keeps the hand-backs of one project, so that they can be undone.
//!
//! One process at a time holds the shelf. What a process that died left half done is
//! finished or rolled back by the next one that opens it.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::branch::{GitMove, Mover};
use crate::carrier::Carrier;
use crate::step::{self, Side, Step, StepState};
use crate::{Direction, Landed, PickFault, Project, TreeId, WorkspaceFault, files, size};

/// The most hand-backs of a project that can be undone.
pub const STEPS_MAX: usize = 100;

/// The most bytes that the hand-backs of a project keep: 2 GiB. The newest is always kept.
pub const STEPS_BYTES_MAX: u64 = 2 << 30;

/// The largest journal that is read.
const JOURNAL_BYTES_MAX: u64 = 4 << 20;

/// The hand-backs of one project, held by this process.
pub struct Shelf {
    directory: PathBuf,
    pub(crate) instant: Instant,
    _lock: File,
}

/// Called at each instant at which a crash would leave something else behind.
pub(crate) type Instant = Box<dyn FnMut()>;

impl fmt::Debug for Shelf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Shelf").field("directory", &self.directory).finish_non_exhaustive()
    }
}

/// What is under way, written before anything of the project is touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    pub(crate) number: u64,
    pub(crate) direction: Direction,
    /// The directory in the project in which files wait and go.
    pub(crate) stage: String,
    /// Moves of the step that are not made, by their index.
    pub(crate) skip: BTreeSet<usize>,
}

/// What the next opener did about an act that was cut short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The session that the work came from.
    pub session: String,
    /// The hand-back's number.
    pub step: u64,
    /// What was under way.
    pub direction: Direction,
    /// Whether the act had come to its end. Otherwise everything is as before it.
    pub finished: bool,
    /// The paths it was about.
    pub paths: Vec<Vec<u8>>,
    /// Where files are kept that somebody wrote at the same time and that lost their place.
    pub kept: Vec<PathBuf>,
}

/// One hand-back that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its number, from 1.
    pub number: u64,
    /// The session it came from.
    pub session: String,
    /// Whether it was undone.
    pub undone: bool,
    /// How many paths it wrote.
    pub files: usize,
    /// How many bytes it keeps on disk.
    pub bytes: u64,
}

/// Why a hand-back, undo or redo could not be tried. Nothing of the project was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandBackFault {
    /// Another process carries work in this project.
    #[error("another chock carries work in this project; try again when it is done")]
    InUse,

    /// A file could not be read or written.
    #[error("cannot {what} `{}`", .path.display())]
    Files {
        /// What was tried, such as `write`.
        what: &'static str,
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// A record of Chock's own cannot be understood.
    #[error("`{}` is damaged", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },

    /// The session's store could not be read.
    #[error("cannot read the session's store")]
    Objects {
        /// What the object store said.
        source: git2::Error,
    },

    /// What was left uncommitted makes no tree.
    #[error("what the session left uncommitted cannot be committed")]
    Pick {
        /// Why.
        source: PickFault,
    },

    /// Git could not do its part.
    #[error("git cannot {what}: {said}")]
    Git {
        /// What was tried, such as `take the commits in`.
        what: &'static str,
        /// The last line that git wrote, with odd characters replaced.
        said: String,
    },

    /// A program for signatures is named by the project.
    #[error(
        "the project's own git configuration names a program for signatures, `{key}`, and none of a \
         project is started: name it in yours with `git config --global {key}`, or keep the \
         commits at the session's ref with `--mode park`"
    )]
    SigningProgram {
        /// The key, as git spells it.
        key: String,
    },

    /// The shelf could not be made or locked.
    #[error("cannot use the place where hand-backs are kept")]
    Place {
        /// Why.
        source: WorkspaceFault,
    },
}

impl HandBackFault {
    pub(crate) fn files(what: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Files { what, path: path.to_owned(), source }
    }
}

impl Shelf {
    /// Opens the shelf in `directory`, making it when it is missing, and settles what an
    /// earlier process left half done. Its parent exists.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn open(
        directory: &Path,
        project: &Project,
    ) -> Result<(Self, Option<Recovered>), HandBackFault> {
        let place = |source| HandBackFault::Place { source };
        files::make_private(directory).map_err(place)?;
        files::make_private(&directory.join("steps")).map_err(place)?;
        let lock = files::try_lock(&directory.join("lock")).map_err(place)?;
        let lock = lock.ok_or(HandBackFault::InUse)?;
        let mut shelf =
            Self { directory: directory.to_owned(), instant: Box::new(|| {}), _lock: lock };
        let recovered = shelf.recover(project)?;
        shelf.sweep()?;
        Ok((shelf, recovered))
    }

    /// The session whose work would be undone or redone next, without taking the shelf.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn session_in(
        directory: &Path,
        direction: Direction,
    ) -> Result<Option<String>, HandBackFault> {
        let steps = directory.join("steps");
        if !steps.exists() {
            return Ok(None);
        }
        let (done, undone) = ends(&steps)?;
        let step = match direction.side() {
            Side::Before => done,
            Side::After => undone,
        };
        Ok(step.map(|step| step.session))
    }

    /// Says whether an act was cut short, without taking the shelf.
    #[must_use]
    pub fn is_unsettled(directory: &Path) -> bool {
        directory.join("journal.json").exists()
    }

    /// Has `instant` called whenever a crash would leave something else behind than before.
    #[doc(hidden)]
    pub fn at_each_instant(&mut self, instant: impl FnMut() + 'static) {
        self.instant = Box::new(instant);
    }

    /// The tree of what a session's hand-backs have brought into the project so far: what its
    /// next review starts from. `None` before the first.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn accepted(&self, session: &str) -> Result<Option<TreeId>, HandBackFault> {
        Self::accepted_in(&self.directory, session)
    }

    /// The same of the shelf in `directory`, without taking it.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn accepted_in(directory: &Path, session: &str) -> Result<Option<TreeId>, HandBackFault> {
        let steps = directory.join("steps");
        if !steps.exists() {
            return Ok(None);
        }
        for number in Step::numbers(&steps)?.into_iter().rev() {
            let step = Step::read(&steps, number)?;
            if step.state == StepState::Done && step.session == session {
                return Ok(Some(step.tree));
            }
        }
        Ok(None)
    }

    /// Which commits of these sessions came onto a branch as others, the newest first. Whether
    /// the branch still has them is not asked.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn landed(&self, sessions: &[String]) -> Result<Vec<Landed>, HandBackFault> {
        let steps = self.steps();
        let mut landed = Vec::new();
        for number in Step::numbers(&steps)?.into_iter().rev() {
            let step = Step::read(&steps, number)?;
            let is_theirs = step.state == StepState::Done && sessions.contains(&step.session);
            let Some(GitMove { kept, branch: Some(branch), .. }) = step.git.filter(|_| is_theirs)
            else {
                continue;
            };
            if kept.after != branch.after {
                landed.push(Landed { head: kept.after, tip: branch.after });
            }
        }
        Ok(landed)
    }

    /// Removes what was kept for an act that was planned and not approved.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn forget_unapproved(&self) -> Result<(), HandBackFault> {
        self.sweep()
    }

    /// Lists the hand-backs that are kept, oldest first.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn list(&self) -> Result<Vec<Kept>, HandBackFault> {
        Self::list_in(&self.directory)
    }

    /// The same of the shelf in `directory`, without taking it.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn list_in(directory: &Path) -> Result<Vec<Kept>, HandBackFault> {
        let steps = directory.join("steps");
        if !steps.exists() {
            return Ok(Vec::new());
        }
        let kept = |number| {
            let step = Step::read(&steps, number)?;
            if step.state == StepState::Prepared {
                return Ok(None);
            }
            let bytes = size::size_on_disk(&Step::place(&steps, number))
                .map_err(|source| HandBackFault::Place { source })?;
            Ok(Some(Kept {
                number,
                session: step.session,
                undone: step.state == StepState::Undone,
                files: step.moves.len(),
                bytes,
            }))
        };
        let numbers = Step::numbers(&steps)?.into_iter();
        numbers.map(kept).filter_map(Result::transpose).collect()
    }

    /// Forgets every hand-back. None of them can be undone any more.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn clear(&mut self) -> Result<(), HandBackFault> {
        let steps = self.steps();
        Step::numbers(&steps)?
            .into_iter()
            .try_for_each(|number| step::remove(&Step::place(&steps, number)))
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn steps(&self) -> PathBuf {
        self.directory.join("steps")
    }

    /// The newest hand-back that is in the project, and the oldest after it that is not.
    pub(crate) fn ends(&self) -> Result<(Option<Step>, Option<Step>), HandBackFault> {
        ends(&self.steps())
    }

    pub(crate) fn next_number(&self) -> Result<u64, HandBackFault> {
        Ok(Step::begun(&self.steps())?.last().map_or(1, |last| last + 1))
    }

    /// Forgets what a new hand-back makes impossible to redo, and the oldest beyond the bounds.
    ///
    /// Returns how many can no longer be undone.
    pub(crate) fn trim(&self, newest: u64) -> Result<usize, HandBackFault> {
        self.trim_to(newest, (STEPS_MAX, STEPS_BYTES_MAX))
    }

    fn trim_to(
        &self,
        newest: u64,
        (most, most_bytes): (usize, u64),
    ) -> Result<usize, HandBackFault> {
        let steps = self.steps();
        let mut done = Vec::new();
        for number in Step::numbers(&steps)? {
            if number == newest {
                continue;
            }
            if Step::read(&steps, number)?.state == StepState::Done {
                done.push(number);
            } else {
                step::remove(&Step::place(&steps, number))?;
            }
        }
        let bytes = |number| size::size_on_disk(&Step::place(&steps, number)).unwrap_or(0);
        let mut total: u64 = done.iter().map(|number| bytes(*number)).sum::<u64>() + bytes(newest);
        let mut count = done.len() + 1;
        let mut forgotten = 0;
        for number in done {
            if count <= most && total <= most_bytes {
                break;
            }
            total = total.saturating_sub(bytes(number));
            count -= 1;
            step::remove(&Step::place(&steps, number))?;
            forgotten += 1;
        }
        Ok(forgotten)
    }

    fn journal(&self) -> PathBuf {
        self.directory.join("journal.json")
    }

    pub(crate) fn begin(&self, journal: &Journal) -> Result<(), HandBackFault> {
        let path = self.journal();
        let text = serde_json::to_vec(journal).expect("invariant: a journal is JSON");
        let written = files::write_whole(&path, &text);
        let lasting = written.and_then(|()| File::open(&self.directory)?.sync_all());
        lasting.map_err(|source| HandBackFault::files("write", &path, source))
    }

    /// Says that what the journal names is settled, and recorded.
    ///
    /// # Errors
    ///
    /// [`HandBackFault::Files`]; the next opener then settles it once more.
    pub fn settle(&self) -> Result<(), HandBackFault> {
        match fs::remove_file(self.journal()) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(HandBackFault::files("remove", &self.journal(), source))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn recover(&mut self, project: &Project) -> Result<Option<Recovered>, HandBackFault> {
        let path = self.journal();
        let text = match files::read_bounded(&path, JOURNAL_BYTES_MAX) {
            Ok(text) => text,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(HandBackFault::files("read", &path, source)),
        };
        let journal: Journal = serde_json::from_slice(&text)
            .map_err(|source| HandBackFault::Damaged { path, source })?;
        let steps = self.steps();
        let step = Step::read(&steps, journal.number)?;
        let to = journal.direction.side();
        let mut finished = match step.state {
            StepState::Done => to == Side::After,
            StepState::Undone => to == Side::Before,
            StepState::Prepared => false,
        };
        let mut carrier = Carrier::open(project.root(), &steps, &step, &journal)?;
        let pack = GitMove::pack(&steps, step.number);
        let mover = step.git.as_ref().map(|git| Mover { project, git, to, pack });
        if let Some(mover) = &mover
            && !finished
            && mover.has_passed()?
        {
            // What is left then can be done again by hand, and nothing of it holds up the rest.
            let _moved_since = mover.complete();
            let state = if to == Side::After { StepState::Done } else { StepState::Undone };
            Step { state, ..step.clone() }.write(&steps)?;
            finished = true;
        }
        if !finished {
            mover.as_ref().map(Mover::back);
            carrier.roll_back();
        }
        let kept = carrier.clean(&self.directory);
        let paths = step.moves.iter().map(|change| change.path.clone()).collect();
        Ok(Some(Recovered {
            session: step.session,
            step: journal.number,
            direction: journal.direction,
            finished,
            paths,
            kept,
        }))
    }

    /// Removes steps that never came to be.
    fn sweep(&self) -> Result<(), HandBackFault> {
        if self.journal().exists() {
            return Ok(());
        }
        let steps = self.steps();
        for number in Step::begun(&steps)? {
            let place = Step::place(&steps, number);
            let prepared = || Ok(Step::read(&steps, number)?.state == StepState::Prepared);
            if !place.join("step.json").exists() || prepared()? {
                step::remove(&place)?;
            }
        }
        Ok(())
    }
}

/// The newest step that is in the project, and the oldest after it that is not.
fn ends(steps: &Path) -> Result<(Option<Step>, Option<Step>), HandBackFault> {
    let mut undone = None;
    for number in Step::numbers(steps)?.into_iter().rev() {
        let step = Step::read(steps, number)?;
        match step.state {
            StepState::Done => return Ok((Some(step), undone)),
            StepState::Undone => undone = Some(step),
            StepState::Prepared => {}
        }
    }
    Ok((None, undone))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Step;

    /// A shelf with steps in these states, each with a content of this many bytes.
    fn shelf(directory: &Path, states: &[StepState], bytes: usize) -> Shelf {
        let steps = directory.join("steps");
        fs::create_dir(&steps).expect("a directory");
        let tree: TreeId = "4b825dc642cb6eb9a060e54bf8d69288fbee4904".parse().expect("an id");
        for (number, state) in (1..).zip(states) {
            Step::make(&steps, number).expect("a step");
            Step::keep(&steps, number, (Side::After, 0), &vec![7; bytes]).expect("content");
            let mut step = Step::new(number, "one", (tree, tree));
            step.state = *state;
            step.write(&steps).expect("a record");
        }
        let lock = File::create(directory.join("lock")).expect("a file");
        Shelf { directory: directory.to_owned(), instant: Box::new(|| {}), _lock: lock }
    }

    fn left(shelf: &Shelf) -> Vec<u64> {
        shelf.list().expect("a list").iter().map(|kept| kept.number).collect()
    }

    #[test]
    fn the_oldest_go_first_and_the_newest_stays() {
        use StepState::{Done, Undone};
        let check = |states: &[StepState], bounds, expected: &[u64], forgotten| {
            let directory = tempfile::tempdir().expect("a directory");
            let shelf = shelf(directory.path(), states, 40_000);
            let newest = states.len() as u64;
            assert_eq!(shelf.trim_to(newest, bounds).expect("trimmed"), forgotten);
            assert_eq!(left(&shelf), expected);
        };
        let much = 1 << 30;
        check(&[Done; 4], (10, much), &[1, 2, 3, 4], 0);
        check(&[Done; 4], (2, much), &[3, 4], 2);
        check(&[Done; 4], (10, 130_000), &[3, 4], 2);
        check(&[Done; 4], (10, 1), &[4], 3);
        // What was undone cannot be redone after something new; that is not forgetting.
        check(&[Done, Undone, Undone, Done], (10, much), &[1, 4], 0);
    }

    #[test]
    fn a_step_that_was_only_begun_is_in_nobody_s_way() {
        let directory = tempfile::tempdir().expect("a directory");
        let shelf = shelf(directory.path(), &[StepState::Done], 10);
        Step::make(&shelf.steps(), 2).expect("a step");
        assert_eq!(left(&shelf), [1]);
        let next = Shelf::session_in(directory.path(), Direction::Undo).expect("an answer");
        assert_eq!(next.as_deref(), Some("one"));
        assert!(Shelf::accepted_in(directory.path(), "one").expect("an answer").is_some());
        assert_eq!(shelf.next_number().expect("a number"), 3);
        shelf.sweep().expect("swept");
        assert_eq!(shelf.next_number().expect("a number"), 2);
    }
}
