//! Has a person choose among ways to do an act.

use chock_log::{Act, Grounds, Pen, Proposal};
use chock_policy::Decision;

use crate::asker::{Answer, Asker, Asks, Offer, Question};
use crate::broker::{Standing, not_recorded, question, record_question, refuse};
use crate::verdict::{Cause, Chosen, Verdict};

/// Asks which of the offers it is to be, of which `proposal` would be one. The question is recorded,
/// and a no is recorded as a refusal of the proposal. `review` is what a reviewer said of it.
pub(crate) fn choose<A: Act>(
    (standing, pen): (&Standing, &Pen),
    asker: &mut dyn Asker,
    proposal: &Proposal<A>,
    (review, offers): (Option<String>, Vec<Offer>),
) -> Chosen {
    let judgement = standing.consult(proposal);
    if judgement.ruling.decision == Decision::Deny || !asker.is_reachable() {
        return Chosen::Nobody;
    }
    let asked = question((standing, pen), proposal, &judgement);
    let asked = Question { review, offers, asks: Asks::Choice, ..asked };
    let action = judgement.action;
    if let Err(fault) = record_question(pen, proposal, &action, &asked) {
        return refused(not_recorded::<A>(action, fault));
    }
    let cause = match asker.ask(&asked) {
        Answer::Offered(word) => return Chosen::Offer(word),
        Answer::No(Some(words)) => Cause::Person(words),
        Answer::No(None) => Cause::Judged(Grounds::Person),
        Answer::TimedOut => Cause::Judged(Grounds::Timeout),
        Answer::Cancelled => Cause::Judged(Grounds::Cancelled),
        // A yes is no choice.
        Answer::Once | Answer::ForSession | Answer::Always | Answer::Nobody => {
            Cause::Judged(Grounds::Nobody)
        }
    };
    refused(refuse(pen, proposal, action, cause))
}

/// The refusal of a verdict.
pub(crate) fn refused<A: Act>(verdict: Verdict<A>) -> Chosen {
    match verdict {
        Verdict::Refused(refusal) => Chosen::Refused(Box::new(refusal)),
        Verdict::Permitted(_) => Chosen::Nobody,
    }
}
