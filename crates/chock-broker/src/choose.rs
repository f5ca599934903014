//! Has a person choose among ways to do an act.

use chock_log::{Act, AskedBody, Event, Grounds, Mask, Pen, Proposal};
use chock_policy::Decision;

use crate::asker::{Answer, Asker, Asks, Guarded, Offer, Question};
use crate::broker::{Standing, not_recorded, refuse};
use crate::guard;
use crate::verdict::{Cause, Chosen, Verdict};

/// Asks which of the offers it is to be, of which `proposal` would be one. The question is recorded,
/// and a no is recorded as a refusal of the proposal.
pub(crate) fn choose<A: Act>(
    (standing, pen): (&Standing, &Pen),
    asker: &mut dyn Asker,
    proposal: &Proposal<A>,
    offers: Vec<Offer>,
) -> Chosen {
    let judgement = standing.consult(proposal);
    if judgement.ruling.decision == Decision::Deny || !asker.is_reachable() {
        return Chosen::Nobody;
    }
    let guarded = judgement.asking.iter().map(|(action, ruling)| Guarded {
        action: action.to_string(),
        why: guard::why(action),
        row: ruling.row.as_ref().map(|(origin, row)| format!("{origin}: {row}")),
    });
    let question = Question {
        guarded: guarded.collect(),
        tool: proposal.tool.clone(),
        chain: standing.lineage.kinds().map(str::to_owned).collect(),
        effect: pen.masked(&proposal.effect, Mask::LentOnly),
        review: None,
        always: Vec::new(),
        offers,
        asks: Asks::Choice,
    };
    let refused = |verdict: Verdict<A>| match verdict {
        Verdict::Refused(refusal) => Chosen::Refused(Box::new(refusal)),
        Verdict::Permitted(_) => Chosen::Nobody,
    };
    let action = judgement.action;
    let asked = AskedBody {
        call: proposal.call.clone(),
        action: action.to_string(),
        effect: question.effect.clone(),
    };
    if let Err(fault) = pen.write(Event::Asked(asked)).and_then(|_| pen.flush()) {
        return refused(not_recorded(action, fault));
    }
    let cause = match asker.ask(&question) {
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
