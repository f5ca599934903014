//! Adds one record to a session.

use chock_policy::{Decision, Pattern};

use crate::event::{
    AnswerBody, DiffReviewedBody, Event, FinishedBody, Grounds, NoticeBody, PromiseBody,
    TaskFinishedBody, TaskStartedBody, UsageBody, WidenedBody,
};
use crate::message::ModelMessage;
use crate::outcome::Ended;
use crate::record::{Record, Seq};
use crate::session::{Entry, OpenApproval, Session, Told, Unheard};
use crate::task::{Task, TaskState};
use crate::usage::Cost;

impl Session {
    /// Adds what one record says.
    pub fn absorb(&mut self, record: &Record) {
        self.records += 1;
        self.last = Some(record.time);
        let seq = record.seq;
        match &record.event {
            Event::Forked(body) => self.fork = Some(body.clone()),
            Event::Start(body) => {
                self.start = Some(body.clone());
                self.started = Some(record.time);
            }
            Event::Config(body) => {
                self.config = Some(body.clone());
                self.answering = Some((body.provider.clone(), body.model.clone()));
                self.ended = None;
            }
            Event::User(body) => {
                self.ended = None;
                self.entries.push((seq, Entry::User(body.text.clone())));
                if !body.pictures.is_empty() {
                    self.pictures.insert(seq, body.pictures.clone());
                }
            }
            Event::Model(message) => self.absorb_reply(seq, message),
            Event::Usage(body) => self.absorb_usage(body),
            Event::Answered(body) => self.absorb_answer(seq, body),
            Event::ToolFinished(body) => self.absorb_result(seq, body),
            Event::TaskStarted(body) => self.absorb_task(body),
            Event::TaskFinished(body) => self.absorb_task_end(body),
            Event::WorkspaceOpened(body) => self.workspace = Some(body.clone()),
            Event::Snapshot(body) => {
                self.keep_turn(seq, body);
                self.snapshot = Some(body.clone());
            }
            Event::DiffReviewed(body) => self.absorb_review(seq, body),
            Event::Undone(body) if body.done => {
                self.unheard.push((seq, Unheard::Undone(body.clone())));
            }
            Event::Plan(body) => self.plan = body.clone(),
            Event::Noted(body) => self.notes.push(body.clone()),
            Event::Title(body) => self.title = Some(body.title.clone()),
            Event::Compaction(body) => {
                self.compaction = Some(body.clone());
                self.compacted = Some(seq);
                // It counted a request that is sent no more.
                self.last_input = None;
            }
            Event::Switched(body) => {
                self.answering = Some((body.provider.clone(), body.model.clone()));
            }
            Event::Learned(body) => {
                let model = (body.provider.clone(), body.model.clone());
                self.learned.insert(model, body.clone());
            }
            Event::Notice(body) => self.absorb_notice(record, body),
            Event::Ended(body) => self.ended = Some(body.clone()),
            Event::Promise(body) => self.absorb_promise(body),
            Event::Widened(body) => self.absorb_widening(body),
            Event::Applied(_)
            | Event::Undone(_)
            | Event::Asked(_)
            | Event::Reviewed(_)
            | Event::ToolStarted(_)
            | Event::Retry(_)
            | Event::Unknown { .. } => {}
        }
    }

    fn absorb_review(&mut self, seq: Seq, body: &DiffReviewedBody) {
        for file in &body.accepted {
            self.declined_paths.remove(&file.path);
        }
        self.declined_paths.extend(body.declined.iter().map(|file| file.path.clone()));
        self.unheard.push((seq, Unheard::Reviewed(body.clone())));
    }

    fn absorb_reply(&mut self, seq: Seq, message: &ModelMessage) {
        self.turns += 1;
        self.pending = message.calls().cloned().collect();
        self.entries.push((seq, Entry::Model(message.clone())));
    }

    fn absorb_usage(&mut self, body: &UsageBody) {
        match &body.tokens {
            Some(tokens) => {
                self.tokens.add(tokens);
                self.last_input = Some(tokens.input + tokens.cache_read + tokens.cache_write);
            }
            None => self.uncounted += 1,
        }
        match &body.cost {
            Cost::Priced { micros, currency } => {
                let spent = self.spent.entry(currency.clone()).or_default();
                *spent = spent.saturating_add(*micros);
            }
            Cost::Free => {}
            Cost::Unknown => self.unpriced += 1,
        }
    }

    fn absorb_answer(&mut self, seq: Seq, body: &AnswerBody) {
        if body.allowed && !body.call.is_empty() {
            self.open_approval = Some(OpenApproval { approval: seq, call: body.call.clone() });
        }
        if body.call.is_empty()
            && let Some(head) = body.act["git"]["kept"]["new"].as_str()
        {
            if !body.allowed && body.grounds == Grounds::Person {
                self.declined.insert(head.to_owned());
            } else {
                self.declined.remove(head);
            }
        }
    }

    fn absorb_result(&mut self, seq: Seq, body: &FinishedBody) {
        self.pending.retain(|call| call.id != body.call);
        if self.open_approval.as_ref().is_some_and(|open| open.call == body.call) {
            self.open_approval = None;
        }
        if !matches!(body.outcome.ended, Ended::Done | Ended::Unknown) {
            self.notes.retain(|note| note.call != body.call);
        }
        if let Some(file) = &body.outcome.file {
            self.files.insert(file.path.clone(), file.hash.clone());
        }
        self.entries.push((
            seq,
            Entry::Result {
                call: body.call.clone(),
                tool: body.tool.clone(),
                outcome: body.outcome.clone(),
            },
        ));
    }

    /// Lowers a ceiling. What cannot be read lowers it as far as it goes.
    fn absorb_promise(&mut self, body: &PromiseBody) {
        let ceiling = body.ceiling.parse().unwrap_or(Decision::Deny);
        match Pattern::new(body.action.as_str()) {
            Ok(pattern) => self.promises.narrow(pattern, ceiling),
            Err(_) => self.promises.narrow_all(),
        }
    }

    /// Replaces a promise by a higher one. What cannot be read changes nothing.
    fn absorb_widening(&mut self, body: &WidenedBody) {
        if let (Ok(pattern), Ok(ceiling)) =
            (Pattern::new(body.action.as_str()), body.ceiling.parse())
        {
            self.promises.widen(pattern, ceiling);
        }
    }

    fn absorb_task(&mut self, body: &TaskStartedBody) {
        let TaskStartedBody { task, call, command } = body.clone();
        self.tasks.push(Task { id: task, call, command, state: TaskState::Running });
    }

    fn absorb_task_end(&mut self, body: &TaskFinishedBody) {
        let outcome = body.outcome.clone();
        let state = if body.told { TaskState::Told(outcome) } else { TaskState::Untold(outcome) };
        for task in self.tasks.iter_mut().filter(|task| task.id == body.task) {
            task.state = state.clone();
        }
    }

    fn absorb_notice(&mut self, record: &Record, body: &NoticeBody) {
        let told = Told { at: record.seq, time: record.time, turn: self.turns };
        self.told.extend(body.facts.iter().map(|fact| (fact.clone(), told)));
        for task in self.tasks.iter_mut().filter(|task| body.tasks.contains(&task.id)) {
            task.tell();
        }
        self.unheard.retain(|(seq, _)| !body.reviews.contains(seq));
        self.entries.push((record.seq, Entry::Notice(body.text.clone())));
    }
}
