//! The background tasks of a session, for whoever may look at them and stop them.

mod act;
mod output;
mod threads;
mod words;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chock_log::{Ended, Outcome};
use chock_sandbox::Cancel;

pub(crate) use act::attend;
pub use act::{Attended, TaskAct};
pub use output::Piece;
pub(crate) use output::TaskOutput;
pub(crate) use threads::Threads;

/// The most background tasks of one session. Source: the format's earlier version.
pub const TASKS_MAX: usize = 32;

/// The longest wait for a task that was told to end: what the sandbox itself waits for a cell,
/// and a little more.
const STOP_MAX: Duration = Duration::from_secs(35);

/// How often a wait looks whether the person stopped it.
const LOOK: Duration = Duration::from_millis(100);

/// The background tasks of a session. Clones are the same tasks; nothing here starts one.
#[derive(Debug, Clone, Default)]
pub struct Tasks(Arc<Board>);

#[derive(Debug, Default)]
struct Board {
    tasks: Mutex<Vec<Task>>,
    /// Told when a task ends.
    changed: Condvar,
}

/// One task of this run.
#[derive(Debug)]
struct Task {
    id: String,
    command: String,
    started: Instant,
    cancel: Option<Cancel>,
    stopper: Option<Stopper>,
    output: Arc<Mutex<TaskOutput>>,
    /// How much of the output the model was shown.
    looked: u64,
    end: Option<End>,
    /// Whether the end was handed over for its record.
    collected: bool,
}

/// How a task ended.
#[derive(Debug, Clone)]
struct End {
    ended: Ended,
    /// How, in words that follow a name.
    words: String,
    time: Duration,
}

/// Who ended a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopper {
    /// A call of `task_stop`.
    Model,
    /// A person.
    Person,
    /// The session, which ended.
    Session,
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Its name, as `task-01`.
    pub task: String,
    /// Its command line, as the model wrote it.
    pub command: String,
    /// How it ended; `None` while it runs.
    pub ended: Option<Ended>,
    /// How long it has been running, or ran.
    pub time: Duration,
    /// Bytes of output so far.
    pub bytes: u64,
    /// Bytes of output that are kept: the first 8 MiB.
    pub bytes_kept: u64,
}

/// The end of a task, for its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEnd {
    /// The task.
    pub task: String,
    /// How it ended, with a sentence for the model.
    pub outcome: Outcome,
}

impl Tasks {
    /// Lists every task of this run, in the order they were started.
    #[must_use]
    pub fn list(&self) -> Vec<TaskRow> {
        self.lock().iter().map(Task::row).collect()
    }

    /// Returns at most `most` bytes of a task's output from byte `from` on, or from the first
    /// later byte that is kept. `None` when there is no such task.
    #[must_use]
    pub fn look(&self, task: &str, from: u64, most: usize) -> Option<Piece> {
        let output = self.find(task, |task| task.output.clone())?;
        let output = output.lock().unwrap_or_else(PoisonError::into_inner);
        Some(output.piece(from, most))
    }

    /// Ends a task, waits until everything in it is dead, and says where it stands then. A task
    /// that has ended stays as it is. `None` when there is no such task.
    pub fn stop(&self, task: &str, by: Stopper) -> Option<TaskRow> {
        self.find(task, |task| task.tell_to_end(by))?;
        self.wait(task, STOP_MAX, None);
        self.find(task, |task| task.row())
    }

    /// Waits until a task has ended, the time is over, or the person stopped the turn.
    fn wait(&self, task: &str, time: Duration, cancel: Option<&Cancel>) {
        let until = Instant::now().checked_add(time);
        let mut tasks = self.lock();
        loop {
            let runs = tasks.iter().any(|other| other.id == task && other.end.is_none());
            let left = until.map_or(LOOK, |at| at.saturating_duration_since(Instant::now()));
            if !runs || left.is_zero() || cancel.is_some_and(Cancel::is_triggered) {
                return;
            }
            let waited = self.0.changed.wait_timeout(tasks, left.min(LOOK));
            tasks = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Hands over every end that nobody has collected yet.
    pub(crate) fn ended(&self) -> Vec<TaskEnd> {
        self.collect(None)
    }

    /// Hands over the ends that nobody has collected yet; of one task, if it is named.
    fn collect(&self, only: Option<&str>) -> Vec<TaskEnd> {
        let mut tasks = self.lock();
        let wanted = tasks.iter_mut().filter(|task| only.is_none_or(|only| only == task.id));
        wanted.filter_map(Task::collect).collect()
    }

    /// Notes how a task ended.
    fn finish(&self, task: &str, end: End) {
        let _ = self.find(task, |task| task.end.get_or_insert(end).time);
        self.0.changed.notify_all();
    }

    fn find<R>(&self, task: &str, ask: impl FnOnce(&mut Task) -> R) -> Option<R> {
        self.lock().iter_mut().find(|other| other.id == task).map(ask)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Task>> {
        // A task is whole between any two statements that could panic.
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task {
    fn row(&self) -> TaskRow {
        let (bytes, bytes_kept) = self.amounts();
        TaskRow {
            task: self.id.clone(),
            command: self.command.clone(),
            ended: self.end.as_ref().map(|end| end.ended.clone()),
            time: self.end.as_ref().map_or_else(|| self.started.elapsed(), |end| end.time),
            bytes,
            bytes_kept,
        }
    }

    fn tell_to_end(&mut self, by: Stopper) {
        if self.end.is_none() {
            self.stopper.get_or_insert(by);
        }
        if let Some(cancel) = &self.cancel {
            cancel.trigger();
        }
    }

    fn collect(&mut self) -> Option<TaskEnd> {
        let end = self.end.clone().filter(|_| !self.collected)?;
        self.collected = true;
        let (bytes, bytes_kept) = self.amounts();
        let text = words::ended(self, &end);
        let outcome = Outcome {
            bytes_kept,
            bytes_dropped: bytes - bytes_kept,
            ..Outcome::new(end.ended, text).lasting(end.time)
        };
        Some(TaskEnd { task: self.id.clone(), outcome })
    }

    /// Returns how many bytes came, and how many are kept.
    fn amounts(&self) -> (u64, u64) {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).amounts()
    }
}

/// Names a task by its number, from 1.
pub(crate) fn name(number: usize) -> String {
    format!("task-{number:02}")
}
