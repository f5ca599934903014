//! The ceilings an agent put on itself.

use std::collections::BTreeMap;

use crate::{Action, Decision, Pattern};

/// Keeps an agent's promises: ceilings that only ever come down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ratchet {
    ceilings: BTreeMap<Pattern, Decision>,
}

impl Ratchet {
    /// Gives up everything above `ceiling` for the actions `pattern` covers.
    ///
    /// There is no opposite.
    pub fn narrow(&mut self, pattern: Pattern, ceiling: Decision) {
        let held = self.ceilings.entry(pattern).or_insert(ceiling);
        *held = ceiling.min(*held);
    }

    /// Lowers `decision` to what the promises leave of it.
    #[must_use]
    pub fn cap(&self, action: &Action, decision: Decision) -> Decision {
        let ceilings = self.ceilings.iter();
        ceilings
            .filter(|(pattern, _)| pattern.covers(action.as_str()))
            .fold(decision, |left, (_, ceiling)| left.min(*ceiling))
    }

    /// Lists the promises in the order of their patterns.
    pub fn ceilings(&self) -> impl Iterator<Item = (&Pattern, Decision)> {
        self.ceilings.iter().map(|(pattern, ceiling)| (pattern, *ceiling))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_promise_ever_widens() {
        let action = Action::from_static("git.push");
        for decision in Decision::ALL {
            for ceiling in Decision::ALL {
                let mut kept = Ratchet::default();
                kept.narrow(Pattern::from_static("git.*"), ceiling);
                assert_eq!(kept.cap(&action, decision), decision.min(ceiling));
            }
        }
    }

    #[test]
    fn a_second_promise_cannot_lift_the_first() {
        let mut kept = Ratchet::default();
        kept.narrow(Pattern::from_static("git.push"), Decision::Deny);
        kept.narrow(Pattern::from_static("git.push"), Decision::Allow);
        let action = Action::from_static("git.push");
        assert_eq!(kept.cap(&action, Decision::Allow), Decision::Deny);
    }
}
