//! One turn: a reply, and everything its calls do.

use chock_broker::{Cause, Refusal, Verdict};
use chock_log::{
    Delta, EndReason, Ended, Event, FinishedBody, LogError, OpenApproval, Outcome, Permit,
    RetryBody, StartedBody, ToolCall, UsageBody, causes, holds_marker,
};
use chock_provider::{Context, ProviderFault, Reply};
use chock_tools::{Program, Proposed, Reading};

use crate::agent::{Agent, Finish};
use crate::context::context;
use crate::next::reply_was_cut;
use crate::seams::Sight;
use crate::unwanted::refused;

impl Agent<'_> {
    /// Asks the model for one reply and records it.
    ///
    /// A conversation that is too long for the model is made shorter once, and asked again; so is
    /// one with pictures that are refused, without them.
    pub(crate) fn ask_model(&mut self) -> Result<(), Finish> {
        let mut may_fold = true;
        let reply = loop {
            let (system, schemas) = (&self.house.system, &self.schemas);
            let mut context = self.house.pen.session(|session| context(session, system, schemas));
            let refused = self.house.pen.session(refused);
            self.house.gallery.fill(&mut context, &refused);
            match self.ask(&context, true)? {
                Ok(reply) => {
                    self.remember_pictures(&context);
                    break reply;
                }
                Err(ProviderFault::Picture { .. }) if self.leave_out_pictures(&context)? => {}
                Err(ProviderFault::ContextTooLong { .. }) if may_fold && self.fold()? => {
                    may_fold = false;
                }
                // Another model may take more, or less.
                Err(fault) if self.switch(&fault)? => may_fold = true,
                Err(fault) => return Err(Finish::new(fault.end_reason(), causes(&fault))),
            }
        };
        let model = reply.message.model.clone();
        self.record(Event::Usage(UsageBody { model, tokens: reply.tokens, cost: reply.cost }))?;
        self.record(Event::Model(reply.message))?;
        self.end_turn_if_complete()
    }

    /// Sends one request. Waits are records; words are seen by the person where they are for
    /// them.
    pub(crate) fn ask(
        &mut self,
        context: &Context,
        is_seen: bool,
    ) -> Result<Result<Reply, ProviderFault>, Finish> {
        let house = &mut self.house;
        let (pen, watcher) = (&house.pen, &mut house.watcher);
        let mut unwritten: Option<LogError> = None;
        let mut deltas = |delta: Delta| {
            if let Delta::Waiting { seconds, attempt, reason } = &delta {
                let (seconds, attempt, reason) = (*seconds, *attempt, reason.clone());
                let retry = Event::Retry(RetryBody { attempt, seconds, reason });
                unwritten = unwritten.take().or(pen.write(retry).err());
            }
            if is_seen || matches!(delta, Delta::Waiting { .. } | Delta::Left { .. }) {
                watcher(Sight::Delta(&delta));
            }
        };
        let reply = house.model.reply(context, &mut deltas, &house.stop.model);
        match unwritten {
            Some(fault) => Err(Finish::log_failed(&fault)),
            None => Ok(reply),
        }
    }

    /// Answers one call: judges it, does it, records how it came out.
    pub(crate) fn answer(&mut self, call: &ToolCall) -> Result<(), Finish> {
        if self.house.stop.is_triggered() {
            return self.answer_undone(call, "the person stopped the turn");
        }
        if self.house.pen.session(reply_was_cut) {
            let why = "the reply was cut at its length limit, so none of its calls was run";
            return self.answer_undone(call, why);
        }
        if holds_marker(&call.arguments) {
            let why = "its arguments hold a masked secret, and the original is gone";
            return self.answer_undone(call, why);
        }
        let tools = &self.house.tools;
        match self.house.pen.session(|session| tools.propose(call, session)) {
            Proposed::Fault(outcome) | Proposed::Refused(outcome) => self.finish(call, outcome),
            Proposed::Note { event, outcome } => {
                self.record(event)?;
                self.finish(call, outcome)
            }
            Proposed::Promise(promise) => self.promise(call, &promise),
            Proposed::Apply { reason } => self.apply(call, &reason),
            Proposed::Act { proposal, reading } => match self.house.broker.judge(proposal) {
                Verdict::Permitted(permit) => self.carry_out(call, permit, reading),
                Verdict::Refused(refusal) => self.finish_refused(call, refusal),
            },
            Proposed::Skill(proposal) => match self.house.broker.judge(proposal) {
                Verdict::Permitted(permit) => self.read_skill(call, permit),
                Verdict::Refused(refusal) => self.finish_refused(call, refusal),
            },
            Proposed::Memory(proposal) => match self.house.broker.judge(proposal) {
                Verdict::Permitted(permit) => self.note(call, permit),
                Verdict::Refused(refusal) => self.finish_refused(call, refusal),
            },
            Proposed::Task(proposal) => match self.house.broker.judge(proposal) {
                Verdict::Permitted(permit) => self.attend(call, permit),
                Verdict::Refused(refusal) => self.finish_refused(call, refusal),
            },
        }
    }

    fn carry_out(
        &mut self,
        call: &ToolCall,
        permit: Permit<Program>,
        reading: Reading,
    ) -> Result<(), Finish> {
        let approval = Some(permit.approval());
        self.record(Event::ToolStarted(StartedBody { call: call.clone(), approval }))?;
        if let Some(task) = reading.begins(&call.id) {
            self.record(Event::TaskStarted(task))?;
        }
        let house = &mut self.house;
        let watcher = &mut house.watcher;
        let mut progress = |bytes: &[u8]| watcher(Sight::Output(bytes));
        let carried = house.tools.carry_out(permit, reading, &house.stop.call, &mut progress);
        let mut outcome = carried.outcome.clone();
        if let Some(shown) = &carried.picture {
            match self.house.gallery.keep(shown) {
                Ok(picture) => outcome.pictures.push(picture),
                Err(words) => outcome = Outcome::new(Ended::Fault, words),
            }
        }
        self.finish(call, outcome)?;
        // The cell is taken down here, after the record.
        if carried.sandbox_is_lost() {
            return Err(Finish::new(EndReason::Fault, "the session's sandbox is gone"));
        }
        Ok(())
    }

    /// Answers an act whose outcome an earlier run did not live to see.
    pub(crate) fn answer_unknown(&mut self, open: &OpenApproval) -> Result<(), Finish> {
        let text = "[chock] The outcome is unknown: Chock ended while this call ran. It may have \
                    happened wholly, partly or not at all, and it was not repeated. Look before \
                    you go on.";
        let tool = self.house.pen.session(|session| {
            let call = session.pending.iter().find(|call| call.id == open.call);
            call.map(|call| call.name.clone()).unwrap_or_default()
        });
        let outcome = Outcome::new(Ended::Unknown, text);
        self.record(Event::ToolFinished(FinishedBody { call: open.call.clone(), tool, outcome }))?;
        self.end_turn_if_complete()
    }

    /// Answers a call that is not run.
    pub(crate) fn answer_undone(&mut self, call: &ToolCall, why: &str) -> Result<(), Finish> {
        let outcome = Outcome::new(Ended::Cancelled, format!("[chock] Not run: {why}."));
        self.finish(call, outcome)
    }

    pub(crate) fn finish_refused(
        &mut self,
        call: &ToolCall,
        refusal: Refusal,
    ) -> Result<(), Finish> {
        if let Cause::NotRecorded(fault) = &refusal.cause {
            self.close_approval(call)?;
            return Err(Finish::log_failed(fault));
        }
        let denial = refusal.denial();
        let mut text = format!("[chock] Refused. {}", refusal.sentence());
        if let Some(row) = &denial.allowed_by {
            text.push_str(&format!(" The person can allow it with this row in chock.zon: {row}"));
        }
        let outcome = Outcome { denial: Some(denial), ..Outcome::new(Ended::Denied, text) };
        self.finish(call, outcome)
    }

    /// Says of an approval that stands in the log, and gave no permit, that nothing was done.
    ///
    /// Otherwise the next run would have to take the act for one that was interrupted.
    fn close_approval(&self, call: &ToolCall) -> Result<(), Finish> {
        let is_open = self.house.pen.session(|session| {
            session.open_approval.as_ref().is_some_and(|open| open.call == call.id)
        });
        if !is_open {
            return Ok(());
        }
        let text = "[chock] Not run: a required audit sink did not take the approval.";
        let outcome = Outcome::new(Ended::Cancelled, text);
        let (id, tool) = (call.id.clone(), call.name.clone());
        self.record(Event::ToolFinished(FinishedBody { call: id, tool, outcome })).map(drop)
    }

    pub(crate) fn finish(&mut self, call: &ToolCall, outcome: Outcome) -> Result<(), Finish> {
        let (id, tool) = (call.id.clone(), call.name.clone());
        self.record(Event::ToolFinished(FinishedBody { call: id, tool, outcome }))?;
        self.end_turn_if_complete()
    }

    /// Keeps the workspace and flushes the log when a turn is complete: every call has its result.
    fn end_turn_if_complete(&mut self) -> Result<(), Finish> {
        let (complete, turn) =
            self.house.pen.session(|session| (session.turn_is_complete(), session.turns));
        if !complete {
            return Ok(());
        }
        self.keep_workspace(turn)?;
        self.house.pen.flush().map_err(|fault| Finish::log_failed(&fault))
    }

    /// Records the workspace as it is now, or warns that it cannot be kept.
    pub(crate) fn keep_workspace(&mut self, turn: u64) -> Result<(), Finish> {
        match self.house.errands.snapshot(turn) {
            Ok(snapshot) => {
                self.record(Event::Snapshot(snapshot))?;
            }
            Err(why) => {
                let warning = format!("turn {turn} has no snapshot: {why}");
                (self.house.watcher)(Sight::Warning(&warning));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_fails_ends_the_run_as_a_fault() {
        let fault = LogError::Closed { path: "log".into() };
        assert_eq!(Finish::log_failed(&fault).reason, EndReason::Fault);
        let full = LogError::Full { path: "log".into() };
        assert_eq!(Finish::log_failed(&full).reason, EndReason::LogFull);
    }
}
