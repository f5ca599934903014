//! Who judges what is done for a carrying of commits: the agent's broker, or the person's own word.

use chock_broker::{Broker, Direct, Offer, Verdict};
use chock_log::{Action, Proposal};
use chock_sandbox::Program;
use chock_workspace::HandBack;

/// Judges the acts of one carrying of commits.
pub(crate) trait Judge {
    /// Judges a program in a cage.
    fn program(&mut self, proposal: Proposal<Program>) -> Verdict<Program>;

    /// Judges what is carried. A person who is asked may take an offer instead.
    fn hand_back(&mut self, proposal: Proposal<HandBack>, offers: Vec<Offer>) -> Verdict<HandBack>;

    /// Whether a rule denies an action.
    fn denies(&self, action: &Action) -> bool;

    /// Whether a rule allows an action.
    fn allows(&self, action: &Action) -> bool;
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

    fn denies(&self, action: &Action) -> bool {
        Self::denies(self, TOOL, action)
    }

    fn allows(&self, action: &Action) -> bool {
        Self::allows(self, TOOL, action)
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

    fn denies(&self, action: &Action) -> bool {
        Self::denies(self, TOOL, action)
    }

    fn allows(&self, action: &Action) -> bool {
        !Self::denies(self, TOOL, action)
    }
}
