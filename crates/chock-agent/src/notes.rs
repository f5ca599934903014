//! Notes for later sessions, recorded on disk before one is written, and skills.

use chock_log::{Event, Permit, StartedBody, ToolCall};
use chock_tools::{NoteAct, SkillAct, Stamp};

use crate::agent::{Agent, Finish};

impl Agent<'_> {
    /// Does a permitted act on the project's notes.
    pub(crate) fn note(&mut self, call: &ToolCall, permit: Permit<NoteAct>) -> Result<(), Finish> {
        let approval = Some(permit.approval());
        self.record(Event::ToolStarted(StartedBody { call: call.clone(), approval }))?;
        if let Some(body) = permit.act().announces(&call.id) {
            self.record(Event::Noted(body))?;
            self.house.pen.flush().map_err(|fault| Finish::log_failed(&fault))?;
        }
        let stamp = self.house.pen.session(|session| Stamp {
            written_at: session.last.map(|time| format!("{time:.0}")).unwrap_or_default(),
            session: session.start.as_ref().map(|start| start.session.clone()).unwrap_or_default(),
        });
        let outcome = self.house.tools.note(permit, &stamp);
        self.finish(call, outcome)
    }

    /// Does a permitted reading of a skill.
    pub(crate) fn read_skill(
        &mut self,
        call: &ToolCall,
        permit: Permit<SkillAct>,
    ) -> Result<(), Finish> {
        let approval = Some(permit.approval());
        self.record(Event::ToolStarted(StartedBody { call: call.clone(), approval }))?;
        let outcome = self.house.tools.skill(permit);
        self.finish(call, outcome)
    }
}
