//! The loop: ask what is owed, do it, ask again.

use std::collections::BTreeSet;

use chock_broker::Broker;
use chock_log::{
    EndReason, EndedBody, Event, LogError, NoticeBody, Pen, ToolSchema, UserBody, causes,
};
use chock_provider::Model;
use chock_tools::Tools;

use crate::bounds::{Bounds, was_warned};
use crate::fallback::Fallback;
use crate::gallery::Gallery;
use crate::next::{Next, next};
use crate::notices::Surroundings;
use crate::seams::{Errands, Sight, Stop};

/// Everything an agent works with.
pub struct House<'a> {
    /// Writes what happens.
    pub pen: Pen,
    /// Judges each act.
    pub broker: Broker,
    /// Turns calls into acts and does them.
    pub tools: Tools,
    /// Answers the conversation.
    pub model: Box<dyn Model>,
    /// Answers in its place when its server is overloaded, in this order.
    pub fallbacks: Vec<Fallback>,
    /// Does what a turn's end asks for.
    pub errands: Box<dyn Errands + 'a>,
    /// Sees what is not yet a record.
    pub watcher: Box<dyn FnMut(Sight<'_>) + 'a>,
    /// Stops the run.
    pub stop: Stop,
    /// The system prompt.
    pub system: String,
    /// When the run stops by itself.
    pub bounds: Bounds,
    /// Its pictures.
    pub gallery: Gallery,
    /// What the agent is told facts from; absent where it is told none.
    pub notices: Option<Surroundings>,
}

/// One agent on one session.
pub struct Agent<'a> {
    pub(crate) house: House<'a>,
    pub(crate) schemas: Vec<ToolSchema>,
    /// Whether room is made before the first request, needed or not.
    pub(crate) compacts: bool,
    /// Up to how many entries no room could be made.
    pub(crate) no_room_at: usize,
    /// The pictures, by hash, of requests of this run that were answered.
    pub(crate) taken: BTreeSet<String>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// Why.
    pub reason: EndReason,
    /// More about it, for a person; empty when there is no more to say.
    pub detail: String,
}

impl Finish {
    pub(crate) fn new(reason: EndReason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }

    /// Ends a run whose log takes no more records.
    pub(crate) fn log_failed(fault: &LogError) -> Self {
        let reason = match fault {
            LogError::Full { .. } => EndReason::LogFull,
            LogError::AuditGap(_) => EndReason::AuditGap,
            LogError::InUse { .. }
            | LogError::Open { .. }
            | LogError::NotALog { .. }
            | LogError::NotIntact { .. }
            | LogError::Append { .. }
            | LogError::Closed { .. }
            | LogError::TooLarge { .. }
            | _ => EndReason::Fault,
        };
        Self::new(reason, causes(fault))
    }
}

impl<'a> Agent<'a> {
    /// Puts an agent to work in a house.
    #[must_use]
    pub fn new(house: House<'a>) -> Self {
        let schemas = house.tools.schemas();
        Self { house, schemas, compacts: false, no_room_at: 0, taken: BTreeSet::new() }
    }

    /// Has earlier turns replaced by a summary before the first request.
    #[must_use]
    pub fn compacting(self, compacts: bool) -> Self {
        Self { compacts, ..self }
    }

    /// Adds the person's words, if there are any, and does what the session owes until it owes
    /// nothing, a bound is reached, or something fails. The end is a record.
    pub fn run(&mut self, message: Option<UserBody>) -> Finish {
        let finish = self.work(message).unwrap_or_else(|finish| finish);
        let finish = self.end_tasks(finish);
        let finish = self.apply_at_the_end(finish);
        let body = EndedBody { reason: finish.reason, detail: finish.detail.clone() };
        let pen = &self.house.pen;
        match pen.write(Event::Ended(body)).and_then(|_| pen.flush()) {
            Ok(()) => finish,
            Err(LogError::AuditGap(_)) if finish.reason == EndReason::AuditGap => finish,
            Err(fault) if finish.reason == EndReason::Fault => {
                Finish::new(finish.reason, format!("{}; {}", finish.detail, causes(&fault)))
            }
            Err(fault) => Finish::log_failed(&fault),
        }
    }

    fn work(&mut self, message: Option<UserBody>) -> Result<Finish, Finish> {
        let turns_before = self.house.pen.session(|session| session.turns);
        self.record_lost_tasks()?;
        if let Some(words) = message {
            self.settle()?;
            self.record(Event::User(words))?;
        }
        loop {
            match self.house.pen.session(next) {
                Next::Interrupted(open) => self.answer_unknown(&open)?,
                Next::Decide(call) => self.answer(&call)?,
                Next::TellCut => {
                    let text = "Your reply reached its length limit. Go on where it stopped.";
                    let text = text.to_owned();
                    self.record(Event::Notice(NoticeBody { text, ..NoticeBody::default() }))?;
                }
                Next::TellTasks => self.tell_tasks()?,
                Next::TellReviews => self.tell_reviews()?,
                Next::AskModel if self.record_ended_tasks()? => {}
                Next::AskModel => {
                    if let Some(finish) = self.reached(turns_before) {
                        return Ok(finish);
                    }
                    let fullness = self.make_room()?;
                    self.tell_facts(fullness)?;
                    self.ask_model()?;
                }
                Next::Done(reason) => return Ok(Finish::new(reason, self.explanation())),
            }
        }
    }

    /// Says why the model is not asked again, if it is not.
    ///
    /// An agent that stands still is told so first, and asked once more.
    fn reached(&self, turns_before: u64) -> Option<Finish> {
        if self.house.stop.is_triggered() {
            return Some(Finish::new(EndReason::Cancelled, ""));
        }
        let bounds = &self.house.bounds;
        let reached = self.house.pen.session(|session| bounds.reached(session, turns_before))?;
        let is_to_be_told = reached.reason == EndReason::NoProgress
            && self.house.notices.is_some()
            && !self.house.pen.session(was_warned);
        (!is_to_be_told).then_some(reached)
    }

    /// Answers what an earlier run left open, so that new words stand behind whole turns.
    fn settle(&mut self) -> Result<(), Finish> {
        loop {
            match self.house.pen.session(next) {
                Next::Interrupted(open) => self.answer_unknown(&open)?,
                Next::Decide(call) => {
                    self.answer_undone(&call, "the session went on without it")?
                }
                Next::AskModel
                | Next::TellCut
                | Next::TellTasks
                | Next::TellReviews
                | Next::Done(_) => return Ok(()),
            }
        }
    }

    /// Writes a record, or ends the run.
    pub(crate) fn record(&self, event: Event) -> Result<chock_log::Seq, Finish> {
        self.house.pen.write(event).map_err(|fault| Finish::log_failed(&fault))
    }

    /// Returns the provider's words for a refusal.
    fn explanation(&self) -> String {
        self.house.pen.session(|session| match session.entries.last() {
            Some((_, chock_log::Entry::Model(message))) => match &message.stop {
                chock_log::Stop::Refused { category, explanation } => {
                    let words = [category, explanation].into_iter().flatten();
                    words.cloned().collect::<Vec<_>>().join(": ")
                }
                chock_log::Stop::Finished | chock_log::Stop::Calls | chock_log::Stop::Length => {
                    String::new()
                }
            },
            _ => String::new(),
        })
    }
}
