//! Who judges what is done for a carrying of commits: the agent's broker, or the person's own word.

use chock_broker::{Asker, Broker, Chosen, Direct, Offer, Verdict};
use chock_log::{Action, Proposal};
use chock_sandbox::Program;
use chock_workspace::HandBack;

/// Judges the acts of one carrying of commits.
pub(crate) trait Judge {
    /// Judges a program in a cage.
    fn program(&mut self, proposal: Proposal<Program>) -> Verdict<Program>;

    /// Judges what is carried. A person who is asked may take an offer instead.
    fn hand_back(&mut self, proposal: Proposal<HandBack>, offers: Vec<Offer>) -> Verdict<HandBack>;

    /// Whether a person could be asked now.
    fn can_ask(&self) -> bool;

    /// Has a person choose among offers, of which the proposal would be one.
    fn choose(&mut self, proposal: &Proposal<HandBack>, offers: Vec<Offer>) -> Chosen;

    /// Whether a rule denies an action.
    fn denies(&self, action: &Action) -> bool;
}

/// The tool that the acts are judged as.
pub(crate) const TOOL: &str = "request_action";

impl Judge for Broker {
    fn program(&mut self, proposal: Proposal<Program>) -> Verdict<Program> {
        self.judge(proposal)
    }

    fn hand_back(&mut self, proposal: Proposal<HandBack>, offers: Vec<Offer>) -> Verdict<HandBack> {
        self.judge_offering(proposal, offers)
    }

    fn can_ask(&self) -> bool {
        Self::can_ask(self)
    }

    fn choose(&mut self, proposal: &Proposal<HandBack>, offers: Vec<Offer>) -> Chosen {
        Self::choose(self, proposal, offers)
    }

    fn denies(&self, action: &Action) -> bool {
        Self::denies(self, TOOL, action)
    }
}

impl Judge for Direct {
    fn program(&mut self, proposal: Proposal<Program>) -> Verdict<Program> {
        self.judge(proposal)
    }

    fn hand_back(
        &mut self,
        proposal: Proposal<HandBack>,
        _offers: Vec<Offer>,
    ) -> Verdict<HandBack> {
        self.judge(proposal)
    }

    fn can_ask(&self) -> bool {
        false
    }

    fn choose(&mut self, _proposal: &Proposal<HandBack>, _offers: Vec<Offer>) -> Chosen {
        Chosen::Nobody
    }

    fn denies(&self, action: &Action) -> bool {
        Self::denies(self, TOOL, action)
    }
}

/// The person's own word, of somebody who sits at a terminal and can choose.
pub(crate) struct AtTerminal {
    pub(crate) direct: Direct,
    pub(crate) asker: Box<dyn Asker>,
}

impl Judge for AtTerminal {
    fn program(&mut self, proposal: Proposal<Program>) -> Verdict<Program> {
        self.direct.program(proposal)
    }

    fn hand_back(&mut self, proposal: Proposal<HandBack>, offers: Vec<Offer>) -> Verdict<HandBack> {
        self.direct.hand_back(proposal, offers)
    }

    fn can_ask(&self) -> bool {
        self.asker.is_reachable()
    }

    fn choose(&mut self, proposal: &Proposal<HandBack>, offers: Vec<Offer>) -> Chosen {
        self.direct.choose(self.asker.as_mut(), proposal, offers)
    }

    fn denies(&self, action: &Action) -> bool {
        Judge::denies(&self.direct, action)
    }
}
