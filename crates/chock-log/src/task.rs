//! A background task, as the records tell of it.

use crate::outcome::Outcome;
use crate::session::Session;

/// One background task of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its name, as `task-01`.
    pub id: String,
    /// The call that asked for it.
    pub call: String,
    /// The command line.
    pub command: String,
    /// How far it is.
    pub state: TaskState,
}

/// How far a background task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    /// Its end is not recorded.
    Running,
    /// It has ended, and the model does not know.
    Untold(Outcome),
    /// It has ended, and the model was told.
    Told(Outcome),
}

impl Task {
    /// Notes that the model was told of the end.
    pub(crate) fn tell(&mut self) {
        if let TaskState::Untold(outcome) = &self.state {
            self.state = TaskState::Told(outcome.clone());
        }
    }

    /// Returns the outcome that the model does not know yet.
    #[must_use]
    pub fn untold(&self) -> Option<&Outcome> {
        match &self.state {
            TaskState::Untold(outcome) => Some(outcome),
            TaskState::Running | TaskState::Told(_) => None,
        }
    }
}

impl Session {
    /// Lists the tasks whose end is not recorded.
    pub fn running_tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| task.state == TaskState::Running)
    }

    /// Lists the tasks that have ended without the model knowing.
    pub fn untold_tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| task.untold().is_some())
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::event::{Event, NoticeBody, TaskFinishedBody, TaskStartedBody};
    use crate::outcome::Ended;
    use crate::record::{Record, Seq};

    fn fold(events: Vec<Event>) -> Session {
        let mut session = Session::default();
        for (event, seq) in events.into_iter().zip(1..) {
            session.absorb(&Record { seq: Seq(seq), time: Timestamp::UNIX_EPOCH, event });
        }
        session
    }

    fn started(task: &str) -> Event {
        let (call, command) = ("c".to_owned(), "sleep 9".to_owned());
        Event::TaskStarted(TaskStartedBody { task: task.to_owned(), call, command })
    }

    fn finished(task: &str, told: bool) -> Event {
        let outcome = Outcome::new(Ended::Exited(0), "it ended");
        Event::TaskFinished(TaskFinishedBody { task: task.to_owned(), outcome, told })
    }

    fn notice(tasks: &[&str]) -> Event {
        let tasks = tasks.iter().map(|task| (*task).to_owned()).collect();
        Event::Notice(NoticeBody { text: "x".into(), tasks, ..NoticeBody::default() })
    }

    #[track_caller]
    fn check(events: Vec<Event>, running: &[&str], untold: &[&str]) {
        let session = fold(events);
        let ids: Vec<_> = session.running_tasks().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, running);
        let ids: Vec<_> = session.untold_tasks().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, untold);
    }

    #[test]
    fn a_task_runs_until_its_end_is_recorded_and_is_untold_until_a_notice() {
        let two = || vec![started("task-01"), started("task-02")];
        let then = |more: Vec<Event>| two().into_iter().chain(more).collect();
        check(two(), &["task-01", "task-02"], &[]);
        check(then(vec![finished("task-01", false)]), &["task-02"], &["task-01"]);
        check(then(vec![finished("task-01", true)]), &["task-02"], &[]);
        check(then(vec![finished("task-01", false), notice(&["task-01"])]), &["task-02"], &[]);
        // A notice of something else, or of a task that runs, tells of no end.
        check(then(vec![finished("task-01", false), notice(&[])]), &["task-02"], &["task-01"]);
        check(then(vec![notice(&["task-01"])]), &["task-01", "task-02"], &[]);
        check(vec![finished("task-07", false)], &[], &[]);
    }

    #[test]
    fn a_finished_task_reads_back_with_and_without_its_optional_field() {
        for told in [false, true] {
            let event = finished("task-01", told);
            let text = serde_json::value::to_raw_value(&event.body()).expect("JSON");
            assert_eq!(text.get().contains("told"), told, "{text}");
            assert_eq!(Event::read(event.kind(), &text).expect("a body"), event);
        }
    }
}
