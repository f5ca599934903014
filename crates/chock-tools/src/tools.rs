//! The tools of one session.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use chock_log::{Outcome, Permit, Redactor, Session, ToolCall, ToolSchema};
use chock_sandbox::{Cancel, Keeper, Program};

use crate::carry::{Carried, Work, carry_out};
use crate::desk::Desk;
use crate::inferred::Walls;
use crate::notebook::{self, NoteAct, Notebook, Stamp};
use crate::output::Outputs;
use crate::proposed::Proposed;
use crate::reading::{Reading, When};
use crate::shelf::Shelf;
use crate::skill::{self, Skill, SkillAct};
use crate::tasks::{self, Attended, TaskAct, TaskEnd, Tasks, Threads};
use crate::times::Times;

/// What the tools of a session need.
#[derive(Debug)]
pub struct Setup {
    /// The session's sandbox, whose binary was started with [`HANDS`](crate::HANDS).
    pub keeper: Keeper,
    /// The top of the project, at its place in the cage.
    pub project: PathBuf,
    /// Where the session works from: the project or a directory beneath it. Relative paths of
    /// calls start here.
    pub directory: PathBuf,
    /// The whole environment of a command, as [`Compiled`](crate::cage::Compiled) has it.
    pub environment: Vec<(OsString, OsString)>,
    /// The shell inside the cage, as [`Compiled`](crate::cage::Compiled) has it.
    pub shell: PathBuf,
    /// An existing directory of the host (0755), bound read only at
    /// [`OUTPUTS_INSIDE`](crate::OUTPUTS_INSIDE): long outputs are kept there.
    pub outputs: PathBuf,
    /// How long commands may take. The keeper's cage allows at least
    /// [`task_max`](Times::task_max).
    pub times: Times,
    /// What the cage holds, for denials that are inferred.
    pub walls: Walls,
    /// Replaces secrets in what is kept of outputs.
    pub redactor: Redactor,
    /// The project's notes.
    pub notebook: Notebook,
    /// The skills that can be read, each with a name of its own, at most
    /// [`SKILLS_MAX`](crate::SKILLS_MAX).
    pub skills: Vec<Skill>,
    /// Whether the model is shown pictures.
    pub images: bool,
}

/// The tools of one session: proposes what calls ask for, and carries out what was permitted.
#[derive(Debug)]
pub struct Tools {
    /// Before the keeper: tasks end first.
    threads: Threads,
    keeper: Arc<Keeper>,
    outputs: Outputs,
    shelf: Shelf,
    walls: Walls,
    notebook: Notebook,
    redactor: Redactor,
}

impl Tools {
    /// Makes the tools of a session.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let Setup { keeper, project, directory, environment, shell, .. } = setup;
        let Setup { outputs, times, walls, redactor, notebook, skills, images, .. } = setup;
        let denied = walls.denied().clone();
        let desk = Desk { project, directory, environment, shell, times, denied, skills };
        let keeper = Arc::new(keeper);
        let threads = Threads::new(keeper.clone(), outputs.clone(), redactor.clone());
        let outputs = Outputs::new(outputs, redactor.clone());
        let shelf = Shelf::new(desk, images);
        Self { threads, keeper, outputs, shelf, walls, notebook, redactor }
    }

    /// Describes every tool to a model, always in the same order.
    #[must_use]
    pub fn schemas(&self) -> Vec<ToolSchema> {
        self.shelf.schemas()
    }

    /// Offers nothing more that shows a picture, for a model that takes none.
    pub fn take_pictures_away(&mut self) {
        self.shelf.take_pictures_away();
    }

    /// Says what a call asks for. Nothing is touched, on the host or in the cage.
    #[must_use]
    pub fn propose(&self, call: &ToolCall, session: &Session) -> Proposed {
        match self.shelf.propose(call, session) {
            Proposed::Memory(proposal) => notebook::masked(proposal, &self.redactor),
            other => other,
        }
    }

    /// Does a permitted act in a fresh cell and words what came of it. A background task is only
    /// started: what [`Reading::begins`] says is recorded before.
    ///
    /// `progress` is given a command's output piece by piece, raw, while it runs; a file tool
    /// says nothing before its end. A fault of the sandbox is an outcome too: see
    /// [`Carried::sandbox_is_lost`].
    pub fn carry_out(
        &mut self,
        permit: Permit<Program>,
        reading: Reading,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&[u8]),
    ) -> Carried {
        let how = match reading.0 {
            When::Now(how) => how,
            When::InTheBackground(background) => {
                return Carried::goes_on(self.threads.start(permit, background));
            }
        };
        let work = Work { keeper: &self.keeper, permit, cancel, walls: &self.walls };
        carry_out(work, how, &mut self.outputs, progress)
    }

    /// Does a permitted act on a background task: to wait and show its output, or to end it.
    /// `cancel` ends the wait.
    pub fn attend(&mut self, permit: Permit<TaskAct>, cancel: &Cancel) -> Attended {
        tasks::attend(self.threads.tasks(), permit, cancel)
    }

    /// Does a permitted act on the project's notes and words what came of it. What
    /// [`NoteAct::announces`] says is recorded, and on disk, before.
    pub fn note(&mut self, permit: Permit<NoteAct>, stamp: &Stamp) -> Outcome {
        notebook::note(&self.notebook, permit, stamp)
    }

    /// Does a permitted reading of a skill.
    pub fn skill(&self, permit: Permit<SkillAct>) -> Outcome {
        skill::read(permit)
    }

    /// Hands over each background task that has ended, once, for its record.
    pub fn ended_tasks(&mut self) -> Vec<TaskEnd> {
        self.threads.tasks().ended()
    }

    /// Ends every background task, and hands over each end that has no record yet. Everything
    /// they started is dead.
    pub fn end_tasks(&mut self) -> Vec<TaskEnd> {
        self.threads.end()
    }

    /// Returns the background tasks, for somebody else who may look at them and stop them.
    #[must_use]
    pub fn tasks(&self) -> Tasks {
        self.threads.tasks().clone()
    }

    /// Returns the session's sandbox, for what is done in it beside calls.
    #[must_use]
    pub fn keeper(&self) -> Arc<Keeper> {
        self.keeper.clone()
    }

    /// Names the sandbox layers that hold for the whole session, as they were read back.
    #[must_use]
    pub fn layers(&self) -> Vec<String> {
        let layers = self.keeper.layers().iter();
        layers.map(|applied| applied.layer.name().to_owned()).collect()
    }
}
