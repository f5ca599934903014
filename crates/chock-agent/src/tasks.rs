//! Background tasks: looked at and stopped by calls, told of at the top of a turn, ended with the
//! run.

use chock_log::{
    Ended, Event, NoticeBody, Outcome, Permit, StartedBody, TaskFinishedBody, ToolCall,
};
use chock_tools::{Attended, TaskAct, TaskEnd};

use crate::agent::{Agent, Finish};

impl Agent<'_> {
    /// Does a permitted act on a task, and records the task's end if the act's result tells it.
    pub(crate) fn attend(
        &mut self,
        call: &ToolCall,
        permit: Permit<TaskAct>,
    ) -> Result<(), Finish> {
        let approval = Some(permit.approval());
        self.record(Event::ToolStarted(StartedBody { call: call.clone(), approval }))?;
        let house = &mut self.house;
        let Attended { outcome, end } = house.tools.attend(permit, &house.stop.call);
        if let Some(TaskEnd { task, outcome }) = end {
            self.record(Event::TaskFinished(TaskFinishedBody { task, outcome, told: true }))?;
        }
        self.finish(call, outcome)
    }

    /// Records the tasks that have ended since the last turn; says whether there were any.
    pub(crate) fn record_ended_tasks(&mut self) -> Result<bool, Finish> {
        let ended = self.house.tools.ended_tasks();
        let any = !ended.is_empty();
        self.record_tasks(ended)?;
        Ok(any)
    }

    /// Tells the model of every ended task that it does not know of.
    pub(crate) fn tell_tasks(&mut self) -> Result<(), Finish> {
        let notice = self.house.pen.session(|session| {
            let untold: Vec<_> = session.untold_tasks().collect();
            let sentences = untold.iter().filter_map(|task| task.untold());
            let text: Vec<_> = sentences.map(|outcome| outcome.text.as_str()).collect();
            let tasks = untold.iter().map(|task| task.id.clone()).collect();
            NoticeBody { text: text.join("\n"), tasks, ..NoticeBody::default() }
        });
        self.record(Event::Notice(notice))?;
        Ok(())
    }

    /// Records the end of tasks that an earlier run left behind: they died with it.
    pub(crate) fn record_lost_tasks(&mut self) -> Result<(), Finish> {
        let lost = self.house.pen.session(|session| {
            let tasks = session.running_tasks().map(|task| {
                let text = format!(
                    "{} ended with an earlier run of this session; nobody knows how far it got",
                    task.id
                );
                TaskEnd { task: task.id.clone(), outcome: Outcome::new(Ended::Unknown, text) }
            });
            tasks.collect()
        });
        self.record_tasks(lost)
    }

    /// Ends the tasks that still run, and records every end and what they left in the workspace.
    pub(crate) fn end_tasks(&mut self, finish: Finish) -> Finish {
        let ended = self.house.tools.end_tasks();
        if ended.is_empty() {
            return finish;
        }
        let turn = self.house.pen.session(|session| session.turns);
        let recorded = self.record_tasks(ended).and_then(|()| self.keep_workspace(turn));
        // What ended the run first is told; a log that failed shows again at its last record.
        recorded.err().filter(|_| finish.detail.is_empty()).unwrap_or(finish)
    }

    fn record_tasks(&mut self, ended: Vec<TaskEnd>) -> Result<(), Finish> {
        for TaskEnd { task, outcome } in ended {
            self.record(Event::TaskFinished(TaskFinishedBody { task, outcome, told: false }))?;
        }
        Ok(())
    }
}
