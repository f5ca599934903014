//! The one question: may this be done?

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use chock_log::{
    Act, AnswerBody, AskedBody, Entry, Event, Granter, Grounds, LogError, Mask, Pen, Proposal,
    ReviewVerdict, ReviewedBody, Session,
};
use chock_policy::{
    Action, Decision, Lineage, Pattern, Ratchet, Request, Rule, Ruling, Table, decide,
};

use crate::asker::{Answer, Asker, Asks, Guarded, Nobody, Offer, Question};
use crate::choose;
use crate::direct::Direct;
use crate::guard;
use crate::reviewer::{NoReviewer, REASON_CHARACTERS, ReviewRequest, Reviewer};
use crate::verdict::{Cause, Chosen, Refusal, Verdict};

/// What holds for the agent whose acts are judged.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The rows in force.
    pub table: Table,
    /// The spawn chain.
    pub lineage: Lineage,
    /// The promises kept.
    pub kept: Ratchet,
    /// The model, as its provider spells it.
    pub model: String,
}

impl Standing {
    /// Rules on every action. A proposal without one may do nothing.
    pub(crate) fn consult<A>(&self, proposal: &Proposal<A>) -> Judgement {
        let table = &self.table;
        let rulings: Vec<_> = proposal
            .actions
            .iter()
            .map(|action| (action.clone(), self.rule_on(table, &proposal.tool, action)))
            .collect();
        let strictest = rulings.iter().min_by_key(|(_, ruling)| ruling.decision).cloned();
        let (action, ruling) = strictest.unwrap_or_else(|| {
            let nothing = Ruling { decision: Decision::Deny, row: None };
            (Action::from_static("exec.unparsed"), nothing)
        });
        let needs_yes =
            |ruling: &Ruling| matches!(ruling.decision, Decision::Ask | Decision::AgentThenHuman);
        let asking = rulings.into_iter().filter(|(_, ruling)| needs_yes(ruling)).collect();
        Judgement { action, ruling, asking }
    }

    pub(crate) fn denies(&self, tool: &str, action: &Action) -> bool {
        self.rule_on(&self.table, tool, action).decision == Decision::Deny
    }

    fn rule_on(&self, table: &Table, tool: &str, action: &Action) -> Ruling {
        let Self { lineage, kept, model, .. } = self;
        decide(table, lineage, kept, &Request { action, tool, model })
    }
}

/// Who can be asked.
pub struct People {
    /// Puts questions to a person.
    pub asker: Box<dyn Asker>,
    /// Reviews acts before or instead of a person.
    pub reviewer: Box<dyn Reviewer>,
}

impl People {
    /// Nobody: whatever would be asked is refused.
    #[must_use]
    pub fn none() -> Self {
        Self { asker: Box::new(Nobody), reviewer: Box::new(NoReviewer) }
    }
}

/// Judges the acts of one agent.
pub struct Broker {
    pub(crate) standing: Standing,
    granter: Arc<Mutex<Granter>>,
    pub(crate) pen: Pen,
    people: People,
    granted: BTreeSet<Action>,
}

impl std::fmt::Debug for Broker {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Broker").field("standing", &self.standing).finish_non_exhaustive()
    }
}

/// The strictest ruling over a proposal's actions, and those that need a person's yes.
pub(crate) struct Judgement {
    pub(crate) action: Action,
    pub(crate) ruling: Ruling,
    pub(crate) asking: Vec<(Action, Ruling)>,
}

impl Broker {
    /// Takes the session's granter; there is no other.
    #[must_use]
    pub fn new(standing: Standing, granter: Granter, pen: Pen, people: People) -> Self {
        let granter = Arc::new(Mutex::new(granter));
        Self { standing, granter, pen, people, granted: BTreeSet::new() }
    }

    /// Judges what comes from here on as acts of another model.
    pub fn hears(&mut self, model: &str) {
        model.clone_into(&mut self.standing.model);
    }

    /// Judges one act for the agent, records the answer, and hands over the permit.
    pub fn judge<A: Act>(&mut self, proposal: Proposal<A>) -> Verdict<A> {
        self.judge_offering(proposal, Vec::new())
    }

    /// The same, with what a person may answer instead of yes or no. Where one takes an offer, the
    /// act is refused with [`Cause::Instead`].
    pub fn judge_offering<A: Act>(
        &mut self,
        proposal: Proposal<A>,
        offers: Vec<Offer>,
    ) -> Verdict<A> {
        let judgement = self.consult(&proposal);
        let (action, ruling) = (judgement.action.clone(), judgement.ruling.clone());
        self.settle(proposal, judgement, offers).beside(&action, &ruling)
    }

    /// Has a person choose among offers, of which `proposal` would be one. A no is recorded as a
    /// refusal of it.
    /// Where a reviewer has to say yes, it is asked first.
    pub fn choose<A: Act>(&mut self, proposal: &Proposal<A>, offers: Vec<Offer>) -> Chosen {
        let judgement = self.consult(proposal);
        let is_reviewed = match judgement.ruling.decision {
            Decision::AgentReview | Decision::AgentThenHuman => self.can_ask(),
            Decision::Allow | Decision::Deny | Decision::Ask => false,
        };
        let review = match is_reviewed.then(|| self.review(proposal, &judgement.action)) {
            Some(Err(cause)) => {
                return choose::refused(refuse(&self.pen, proposal, judgement.action, cause));
            }
            Some(Ok(note)) => Some(note),
            None => None,
        };
        let asker = self.people.asker.as_mut();
        choose::choose((&self.standing, &self.pen), asker, proposal, (review, offers))
    }

    /// Says whether a person could be asked now.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        self.people.asker.is_reachable()
    }

    fn settle<A: Act>(
        &mut self,
        proposal: Proposal<A>,
        judgement: Judgement,
        offers: Vec<Offer>,
    ) -> Verdict<A> {
        match judgement.ruling.decision {
            Decision::Allow => {
                let grounds = rule(&judgement.ruling);
                self.permit(proposal, judgement.action, grounds)
            }
            Decision::Deny => {
                let grounds = rule(&judgement.ruling);
                self.refuse(&proposal, judgement.action, Cause::Judged(grounds))
            }
            Decision::Ask
                if judgement.asking.iter().all(|(name, _)| self.granted.contains(name)) =>
            {
                self.permit(proposal, judgement.action, Grounds::PersonForSession)
            }
            Decision::Ask => self.ask(proposal, judgement, (None, offers)),
            Decision::AgentReview => match self.review(&proposal, &judgement.action) {
                Ok(_) => self.permit(proposal, judgement.action, Grounds::Reviewer),
                Err(cause) => self.refuse(&proposal, judgement.action, cause),
            },
            // Where no person could be asked afterwards, the review is not paid for.
            Decision::AgentThenHuman if !self.people.asker.is_reachable() => {
                self.refuse(&proposal, judgement.action, Cause::Judged(Grounds::Nobody))
            }
            Decision::AgentThenHuman => match self.review(&proposal, &judgement.action) {
                Ok(note) => self.ask(proposal, judgement, (Some(note), offers)),
                Err(cause) => self.refuse(&proposal, judgement.action, cause),
            },
        }
    }

    /// Returns what judges the person's own acts, also while this broker is busy.
    #[must_use]
    pub fn direct(&self) -> Direct {
        let (standing, granter) = (self.standing.clone(), self.granter.clone());
        Direct { standing, granter, pen: self.pen.clone() }
    }

    /// Says whether a rule or a promise denies an action to a tool.
    #[must_use]
    pub fn denies(&self, tool: &str, action: &Action) -> bool {
        self.standing.denies(tool, action)
    }

    /// Says whether a rule allows an action to a tool, so that nobody is asked.
    #[must_use]
    pub fn allows(&self, tool: &str, action: &Action) -> bool {
        self.standing.rule_on(&self.standing.table, tool, action).decision == Decision::Allow
    }

    fn consult<A>(&self, proposal: &Proposal<A>) -> Judgement {
        self.standing.consult(proposal)
    }

    fn ask<A: Act>(
        &mut self,
        proposal: Proposal<A>,
        judgement: Judgement,
        (review, offers): (Option<String>, Vec<Offer>),
    ) -> Verdict<A> {
        let always = self.lasting(&proposal.tool, &judgement.asking);
        let question = question((&self.standing, &self.pen), &proposal, &judgement);
        let question = Question { review, always, offers, ..question };
        let Judgement { action, asking, .. } = judgement;
        if let Err(fault) = record_question(&self.pen, &proposal, &action, &question) {
            return not_recorded(action, fault);
        }
        let mut grant = |grounds| {
            let whole = asking.iter().filter(|(name, _)| !name.is_cut());
            self.granted.extend(whole.map(|(name, _)| name.clone()));
            grounds
        };
        match self.people.asker.ask(&question) {
            Answer::Once => self.permit(proposal, action, Grounds::Person),
            Answer::ForSession => {
                let grounds = grant(Grounds::PersonForSession);
                self.permit(proposal, action, grounds)
            }
            Answer::Always => {
                let grounds = grant(Grounds::PersonAlways);
                self.permit(proposal, action, grounds)
            }
            Answer::Offered(word) => self.refuse(&proposal, action, Cause::Instead(word)),
            Answer::No(None) => self.refuse(&proposal, action, Cause::Judged(Grounds::Person)),
            Answer::No(Some(words)) => self.refuse(&proposal, action, Cause::Person(words)),
            Answer::Nobody => self.refuse(&proposal, action, Cause::Judged(Grounds::Nobody)),
            Answer::TimedOut => self.refuse(&proposal, action, Cause::Judged(Grounds::Timeout)),
            Answer::Cancelled => self.refuse(&proposal, action, Cause::Judged(Grounds::Cancelled)),
        }
    }

    /// Spells the rows of a lasting yes: for exactly these actions, this tool and this kind of
    /// agent. None where a ceiling or a review would ask again all the same.
    fn lasting(&self, tool: &str, asking: &[(Action, Ruling)]) -> Vec<Rule> {
        let kind = self.standing.lineage.kinds().last().and_then(|kind| Pattern::new(kind).ok());
        let (Some(agent_kind), Ok(of_tool)) = (kind, Pattern::new(tool)) else { return Vec::new() };
        let mut rows = Vec::new();
        for (action, _) in asking {
            let Ok(pattern) = Pattern::new(action.as_str()) else { return Vec::new() };
            let row = Rule {
                agent_kind: Some(agent_kind.clone()),
                tool: Some(of_tool.clone()),
                ..Rule::action(pattern, Decision::Allow)
            };
            let table = self.standing.table.clone().remembering(vec![row.clone()]);
            let would_be = self.standing.rule_on(&table, tool, action).decision;
            if would_be != Decision::Allow || action.as_str() == WIDEN || action.is_cut() {
                return Vec::new();
            }
            rows.push(row);
        }
        rows
    }

    /// Has an act reviewed. A yes is the reviewer's note, which the agent never gets.
    fn review<A>(&mut self, proposal: &Proposal<A>, action: &Action) -> Result<String, Cause> {
        let request = ReviewRequest {
            action: action.to_string(),
            tool: proposal.tool.clone(),
            chain: self.standing.lineage.kinds().map(str::to_owned).collect(),
            reason: self.pen.session(last_words),
            effect: self.pen.masked(&proposal.effect, Mask::LentOnly),
            why: guard::why(action),
        };
        let review = self.people.reviewer.review(&request);
        let body = ReviewedBody {
            call: proposal.call.clone(),
            action: request.action,
            review: review.verdict,
            note: review.note.clone(),
        };
        if let Some(usage) = review.usage {
            self.pen.write(Event::Usage(usage)).map_err(Cause::NotRecorded)?;
        }
        self.pen.write(Event::Reviewed(body)).map_err(Cause::NotRecorded)?;
        match review.verdict {
            ReviewVerdict::Approved => Ok(review.note),
            ReviewVerdict::Refused => Err(Cause::Judged(Grounds::Reviewer)),
            ReviewVerdict::Unavailable => Err(Cause::Judged(Grounds::NoReviewer)),
        }
    }

    fn permit<A: Act>(
        &self,
        proposal: Proposal<A>,
        action: Action,
        grounds: Grounds,
    ) -> Verdict<A> {
        permit(&self.granter, proposal, action, grounds)
    }

    fn refuse<A: Act>(&self, proposal: &Proposal<A>, action: Action, cause: Cause) -> Verdict<A> {
        refuse(&self.pen, proposal, action, cause)
    }
}

/// Records an approval and hands over the permit.
pub(crate) fn permit<A: Act>(
    granter: &Mutex<Granter>,
    proposal: Proposal<A>,
    action: Action,
    grounds: Grounds,
) -> Verdict<A> {
    let Proposal { call, act, actions, .. } = proposal;
    // A panic while granting left no permit, and the log itself knows whether it takes more.
    let mut granter = granter.lock().unwrap_or_else(PoisonError::into_inner);
    match granter.grant(&call, act, names(&actions), grounds) {
        Ok(permit) => Verdict::Permitted(permit),
        Err(fault) => not_recorded(action, fault),
    }
}

/// Records a refusal.
pub(crate) fn refuse<A: Act>(
    pen: &Pen,
    proposal: &Proposal<A>,
    action: Action,
    cause: Cause,
) -> Verdict<A> {
    let (grounds, words) = match &cause {
        Cause::Judged(grounds) => (grounds.clone(), None),
        Cause::Person(words) => (Grounds::Person, Some(words.clone())),
        Cause::Instead(word) => (Grounds::Person, Some(format!("instead: {word}"))),
        Cause::NotRecorded(_) => (Grounds::Nobody, None),
    };
    let body = AnswerBody {
        call: proposal.call.clone(),
        allowed: false,
        actions: names(&proposal.actions),
        grounds,
        act: proposal.act.record(),
        words,
    };
    match pen.write(Event::Answered(body)) {
        Ok(_) => Verdict::Refused(Refusal { action: action.to_string(), cause, in_the_way: None }),
        Err(fault) => not_recorded(action, fault),
    }
}

/// The action that lifts a promise. No lasting yes covers it: the promise would hold nothing.
pub(crate) const WIDEN: &str = "policy.widen";

/// What a person is asked about an act: yes or no, with nothing offered instead.
pub(crate) fn question<A>(
    (standing, pen): (&Standing, &Pen),
    proposal: &Proposal<A>,
    judgement: &Judgement,
) -> Question {
    let guarded = judgement.asking.iter().map(|(action, ruling)| Guarded {
        action: action.to_string(),
        why: guard::why(action),
        row: ruling.row.as_ref().map(|(origin, row)| format!("{origin}: {row}")),
    });
    Question {
        guarded: guarded.collect(),
        tool: proposal.tool.clone(),
        chain: standing.lineage.kinds().map(str::to_owned).collect(),
        effect: pen.masked(&proposal.effect, Mask::LentOnly),
        review: None,
        always: Vec::new(),
        offers: Vec::new(),
        asks: Asks::Permission,
    }
}

/// Has a question on disk before anybody is asked it.
pub(crate) fn record_question<A>(
    pen: &Pen,
    proposal: &Proposal<A>,
    action: &Action,
    question: &Question,
) -> Result<(), LogError> {
    let asked = AskedBody {
        call: proposal.call.clone(),
        action: action.to_string(),
        effect: question.effect.clone(),
    };
    pen.write(Event::Asked(asked)).and_then(|_| pen.flush())
}

/// Returns what the agent said in its last reply, as far as a reviewer reads it.
fn last_words(session: &Session) -> String {
    let entries = session.entries.iter().rev();
    let said = entries.filter_map(|(_, entry)| match entry {
        Entry::Model(message) => Some(message.text()),
        Entry::User(_) | Entry::Result { .. } | Entry::Notice(_) => None,
    });
    said.take(1).collect::<String>().chars().take(REASON_CHARACTERS).collect()
}

pub(crate) fn not_recorded<A>(action: Action, fault: LogError) -> Verdict<A> {
    let (action, cause) = (action.to_string(), Cause::NotRecorded(fault));
    Verdict::Refused(Refusal { action, cause, in_the_way: None })
}

fn names(actions: &[Action]) -> Vec<String> {
    actions.iter().map(ToString::to_string).collect()
}

pub(crate) fn rule(ruling: &Ruling) -> Grounds {
    match &ruling.row {
        Some((origin, row)) => {
            Grounds::Rule { origin: origin.word().to_owned(), row: row.to_string() }
        }
        None => Grounds::Rule {
            origin: "built-in".to_owned(),
            row: "nothing else is allowed".to_owned(),
        },
    }
}
