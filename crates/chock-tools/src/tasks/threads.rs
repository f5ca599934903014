//! Runs each background task on a thread of its own, in a cell of its own.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use chock_log::{Ended, Outcome, Permit, Redactor};
use chock_sandbox::{
    Call, Cancel, Ended as CellEnded, Finished, Keeper, Program, SandboxFault, Stdio, run,
};

use super::{End, STOP_MAX, Stopper, Task, TaskEnd, TaskOutput, Tasks, words};
use crate::carry;
use crate::reading::Background;

/// Starts tasks, and ends them with the session.
#[derive(Debug)]
pub(crate) struct Threads {
    keeper: Arc<Keeper>,
    /// Where outputs go, on the host.
    directory: PathBuf,
    redactor: Redactor,
    tasks: Tasks,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    pub(crate) fn new(keeper: Arc<Keeper>, directory: PathBuf, redactor: Redactor) -> Self {
        Self { keeper, directory, redactor, tasks: Tasks::default(), threads: Vec::new() }
    }

    pub(crate) fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Starts a permitted command. Whatever keeps it from running is its end, too.
    pub(crate) fn start(&mut self, permit: Permit<Program>, background: Background) -> Outcome {
        let Background { task, line, .. } = &background;
        let output = TaskOutput::create(&self.directory, task, self.redactor.clone());
        let output = Arc::new(Mutex::new(output));
        let cancel = Cancel::new();
        self.tasks.lock().push(Task {
            id: task.clone(),
            command: line.clone(),
            started: Instant::now(),
            cancel: cancel.as_ref().ok().cloned(),
            stopper: None,
            output: output.clone(),
            looked: 0,
            end: None,
            collected: false,
        });
        let outcome = Outcome::new(Ended::Done, words::started(&background));
        let (id, tasks, keeper) = (task.clone(), self.tasks.clone(), self.keeper.clone());
        let started = cancel.and_then(|cancel| {
            let work = Work { keeper, permit, cancel, background, output, tasks };
            thread::Builder::new().name(id.clone()).spawn(move || work.run())
        });
        match started {
            Ok(thread) => self.threads.push(thread),
            Err(error) => {
                let words = format!("was not started: {error}");
                self.tasks.finish(&id, End { ended: Ended::Fault, words, time: Duration::ZERO });
            }
        }
        outcome
    }

    /// Ends every task with the session, and hands over each end that has no record yet.
    pub(crate) fn end(&mut self) -> Vec<TaskEnd> {
        for task in self.tasks.lock().iter_mut() {
            task.tell_to_end(Stopper::Session);
        }
        for row in self.tasks.list() {
            self.tasks.wait(&row.task, STOP_MAX, None);
            let words = "was told to end with the session, and nobody knows how it did".into();
            self.tasks.finish(&row.task, End { ended: Ended::Unknown, words, time: row.time });
        }
        self.tasks.collect(None)
    }
}

impl Drop for Threads {
    /// Ends what still runs, and gives the keeper back.
    fn drop(&mut self) {
        self.end();
        for thread in self.threads.drain(..) {
            // A task that panicked has ended as well.
            let _ = thread.join();
        }
    }
}

/// One task on its way into a cell.
struct Work {
    keeper: Arc<Keeper>,
    permit: Permit<Program>,
    cancel: Cancel,
    background: Background,
    output: Arc<Mutex<TaskOutput>>,
    tasks: Tasks,
}

impl Work {
    fn run(self) {
        let Self { keeper, permit, cancel, background, output, tasks } = self;
        let mut sink = |piece: &[u8]| {
            output.lock().unwrap_or_else(PoisonError::into_inner).feed(piece);
        };
        let stdio = Stdio::Captured(&mut sink);
        let time = background.command.time;
        let call = Call { stdio, wall_time: Some(time), cancel: &cancel };
        let (_, result) = run(&keeper, permit, call);
        output.lock().unwrap_or_else(PoisonError::into_inner).finish();
        let end = conclude(&background, &result);
        // Whoever waits for the end may end the session next: the keeper is given back before.
        drop((result, keeper));
        tasks.finish(&background.task, end);
    }
}

fn conclude(background: &Background, result: &Result<Finished, SandboxFault>) -> End {
    let finished = match result {
        Ok(finished) => finished,
        Err(fault) => {
            let Outcome { ended, text, .. } = carry::not_contained(fault);
            return End { ended, words: format!("ended: {text}"), time: Duration::ZERO };
        }
    };
    let time = finished.duration;
    if let CellEnded::NotStarted { step, errno } = finished.ended {
        let Outcome { ended, text, .. } = carry::not_started(&background.command, step, errno);
        return End { ended, words: format!("was not started: {text}"), time };
    }
    let (ended, words) = carry::status(finished.ended, background.command.time);
    End { ended, words: format!("has ended: {words}"), time }
}
