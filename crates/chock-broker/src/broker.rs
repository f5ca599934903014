//! The one question: may this be done?

use std::collections::BTreeSet;

use chock_log::{
    Act, AnswerBody, AskedBody, Event, Granter, Grounds, LogError, Mask, Pen, Proposal,
};
use chock_policy::{Action, Decision, Lineage, Ratchet, Request, Ruling, Table, decide};

use crate::asker::{Answer, Asker, Question};
use crate::verdict::{Cause, Refusal, Verdict};

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

/// Judges the acts of one agent.
pub struct Broker {
    standing: Standing,
    granter: Granter,
    pen: Pen,
    asker: Box<dyn Asker>,
    granted: BTreeSet<Action>,
}

impl std::fmt::Debug for Broker {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Broker").field("standing", &self.standing).finish_non_exhaustive()
    }
}

/// The strictest ruling over a proposal's actions, and those that it asks about.
struct Judgement {
    action: Action,
    ruling: Ruling,
    asking: Vec<Action>,
}

impl Broker {
    /// Takes the session's granter; there is no other.
    #[must_use]
    pub fn new(standing: Standing, granter: Granter, pen: Pen, asker: Box<dyn Asker>) -> Self {
        Self { standing, granter, pen, asker, granted: BTreeSet::new() }
    }

    /// Judges one act for the agent, records the answer, and hands over the permit.
    pub fn judge<A: Act>(&mut self, proposal: Proposal<A>) -> Verdict<A> {
        let judgement = self.consult(&proposal);
        match judgement.ruling.decision {
            Decision::Allow => {
                let grounds = rule(&judgement.ruling);
                self.permit(proposal, judgement.action, grounds)
            }
            Decision::Deny => {
                let grounds = rule(&judgement.ruling);
                self.refuse(&proposal, judgement.action, Cause::Judged(grounds))
            }
            Decision::Ask if judgement.asking.iter().all(|name| self.granted.contains(name)) => {
                self.permit(proposal, judgement.action, Grounds::PersonForSession)
            }
            Decision::Ask => self.ask(proposal, judgement),
            // No reviewer is built into a session yet, and an absent one refuses.
            Decision::AgentReview | Decision::AgentThenHuman => {
                self.refuse(&proposal, judgement.action, Cause::Judged(Grounds::NoReviewer))
            }
        }
    }

    /// Judges an act that a person does themselves: only what is denied is refused.
    pub fn judge_for_person<A: Act>(&mut self, proposal: Proposal<A>) -> Verdict<A> {
        let judgement = self.consult(&proposal);
        if judgement.ruling.decision == Decision::Deny {
            let grounds = rule(&judgement.ruling);
            return self.refuse(&proposal, judgement.action, Cause::Judged(grounds));
        }
        self.permit(proposal, judgement.action, Grounds::PersonDirectly)
    }

    /// Rules on every action. A proposal without one may do nothing.
    fn consult<A>(&self, proposal: &Proposal<A>) -> Judgement {
        let mut judgement = Judgement {
            action: Action::from_static("exec.unparsed"),
            ruling: Ruling { decision: Decision::Deny, row: None },
            asking: Vec::new(),
        };
        let rulings: Vec<_> = proposal
            .actions
            .iter()
            .map(|action| (action, self.rule_on(&proposal.tool, action)))
            .collect();
        if let Some((action, ruling)) = rulings.iter().min_by_key(|(_, ruling)| ruling.decision) {
            judgement.action = (*action).clone();
            judgement.ruling = ruling.clone();
        }
        let asking = rulings.iter().filter(|(_, ruling)| ruling.decision == Decision::Ask);
        judgement.asking = asking.map(|(action, _)| (*action).clone()).collect();
        judgement
    }

    fn rule_on(&self, tool: &str, action: &Action) -> Ruling {
        let Standing { table, lineage, kept, model } = &self.standing;
        decide(table, lineage, kept, &Request { action, tool, model })
    }

    fn ask<A: Act>(&mut self, proposal: Proposal<A>, judgement: Judgement) -> Verdict<A> {
        let effect = self.pen.masked(&proposal.effect, Mask::LentOnly);
        let asked = AskedBody {
            call: proposal.call.clone(),
            action: judgement.action.to_string(),
            effect: effect.clone(),
        };
        let recorded = self.pen.write(Event::Asked(asked)).and_then(|_| self.pen.flush());
        if let Err(fault) = recorded {
            return not_recorded(judgement.action, fault);
        }
        let question = Question {
            actions: judgement.asking.iter().map(ToString::to_string).collect(),
            tool: proposal.tool.clone(),
            agent_kind: self.standing.lineage.kinds().last().unwrap_or_default().to_owned(),
            effect,
        };
        let action = judgement.action;
        match self.asker.ask(&question) {
            Answer::Once => self.permit(proposal, action, Grounds::Person),
            Answer::ForSession => {
                self.granted.extend(judgement.asking);
                self.permit(proposal, action, Grounds::PersonForSession)
            }
            Answer::No(None) => self.refuse(&proposal, action, Cause::Judged(Grounds::Person)),
            Answer::No(Some(words)) => self.refuse(&proposal, action, Cause::Person(words)),
            Answer::Nobody => self.refuse(&proposal, action, Cause::Judged(Grounds::Nobody)),
            Answer::TimedOut => self.refuse(&proposal, action, Cause::Judged(Grounds::Timeout)),
            Answer::Cancelled => self.refuse(&proposal, action, Cause::Judged(Grounds::Cancelled)),
        }
    }

    fn permit<A: Act>(
        &mut self,
        proposal: Proposal<A>,
        action: Action,
        grounds: Grounds,
    ) -> Verdict<A> {
        let Proposal { call, act, actions, .. } = proposal;
        match self.granter.grant(&call, act, names(&actions), grounds) {
            Ok(permit) => Verdict::Permitted(permit),
            Err(fault) => not_recorded(action, fault),
        }
    }

    fn refuse<A: Act>(&self, proposal: &Proposal<A>, action: Action, cause: Cause) -> Verdict<A> {
        let grounds = match &cause {
            Cause::Judged(grounds) => grounds.clone(),
            Cause::Person(_) | Cause::NotRecorded(_) => Grounds::Person,
        };
        let body = AnswerBody {
            call: proposal.call.clone(),
            allowed: false,
            actions: names(&proposal.actions),
            grounds,
            act: proposal.act.record(),
        };
        match self.pen.write(Event::Answered(body)) {
            Ok(_) => Verdict::Refused(Refusal { action: action.to_string(), cause }),
            Err(fault) => not_recorded(action, fault),
        }
    }
}

fn not_recorded<A>(action: Action, fault: LogError) -> Verdict<A> {
    Verdict::Refused(Refusal { action: action.to_string(), cause: Cause::NotRecorded(fault) })
}

fn names(actions: &[Action]) -> Vec<String> {
    actions.iter().map(ToString::to_string).collect()
}

fn rule(ruling: &Ruling) -> Grounds {
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
