//! Judges what a person does themselves, also while the broker is busy with the agent's acts.

use std::sync::{Arc, Mutex};

use chock_log::{Act, Granter, Grounds, Pen, Proposal};
use chock_policy::{Action, Decision};

use crate::asker::{Asker, Offer};
use crate::broker::{Standing, permit, refuse, rule};
use crate::choose;
use crate::verdict::{Cause, Chosen, Verdict};

/// Judges a person's own acts. It refuses what is denied, and asks nobody.
#[derive(Debug, Clone)]
pub struct Direct {
    pub(crate) standing: Standing,
    pub(crate) granter: Arc<Mutex<Granter>>,
    pub(crate) pen: Pen,
}

impl Direct {
    /// Takes the granter of a session in which no agent acts.
    #[must_use]
    pub fn new(standing: Standing, granter: Granter, pen: Pen) -> Self {
        Self { standing, granter: Arc::new(Mutex::new(granter)), pen }
    }

    /// Says whether a rule denies an action to a tool.
    #[must_use]
    pub fn denies(&self, tool: &str, action: &Action) -> bool {
        self.standing.denies(tool, action)
    }

    /// Has the person choose among offers, of which `proposal` would be one. A no is recorded as a
    /// refusal of it.
    pub fn choose<A: Act>(
        &self,
        asker: &mut dyn Asker,
        proposal: &Proposal<A>,
        offers: Vec<Offer>,
    ) -> Chosen {
        choose::choose((&self.standing, &self.pen), asker, proposal, (None, offers))
    }

    /// Judges one act, records the answer, and hands over the permit.
    pub fn judge<A: Act>(&self, proposal: Proposal<A>) -> Verdict<A> {
        let judgement = self.standing.consult(&proposal);
        if judgement.ruling.decision == Decision::Deny {
            let grounds = rule(&judgement.ruling);
            let action = judgement.action.clone();
            let verdict = refuse(&self.pen, &proposal, action, Cause::Judged(grounds));
            return verdict.beside(&judgement.action, &judgement.ruling);
        }
        permit(&self.granter, proposal, judgement.action, Grounds::PersonDirectly)
    }
}
