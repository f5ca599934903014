//! The ceilings an agent put on itself.

use std::collections::BTreeMap;

use crate::{Action, Decision, Pattern};

/// Keeps an agent's promises: ceilings that the agent itself only ever brings down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ratchet {
    ceilings: BTreeMap<Pattern, Decision>,
}

impl Ratchet {
    /// Gives up everything above `ceiling` for the actions `pattern` covers.
    ///
    /// An agent has no opposite: [`Ratchet::widen`] is for a person's yes.
    pub fn narrow(&mut self, pattern: Pattern, ceiling: Decision) {
        let held = self.ceilings.entry(pattern).or_insert(ceiling);
        *held = ceiling.min(*held);
    }

    /// Gives up everything, for a promise that cannot be read.
    pub fn narrow_all(&mut self) {
        self.narrow(Pattern::everything(), Decision::Deny);
    }

    /// Replaces a promise of exactly this pattern by a higher one.
    ///
    /// Only a person's yes to `policy.widen` leads here. Without such a promise, or with one that
    /// is not below `ceiling`, nothing changes. Says whether something did.
    pub fn widen(&mut self, pattern: Pattern, ceiling: Decision) -> bool {
        let lower = self.held(&pattern).is_some_and(|held| held < ceiling);
        if lower {
            self.ceilings.insert(pattern, ceiling);
        }
        lower
    }

    /// Returns the ceiling that a promise of exactly this pattern set.
    #[must_use]
    pub fn held(&self, pattern: &Pattern) -> Option<Decision> {
        self.ceilings.get(pattern).copied()
    }

    /// Returns the strictest promise that covers `action`.
    #[must_use]
    pub fn strictest(&self, action: &Action) -> Option<(&Pattern, Decision)> {
        self.ceilings()
            .filter(|(pattern, _)| pattern.covers(action.as_str()))
            .min_by_key(|(_, ceiling)| *ceiling)
    }

    /// Lowers `decision` to what the promises leave of it.
    #[must_use]
    pub fn cap(&self, action: &Action, decision: Decision) -> Decision {
        self.strictest(action).map_or(decision, |(_, ceiling)| decision.min(ceiling))
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
    fn only_a_promise_of_exactly_the_pattern_is_widened_and_only_upwards() {
        let git = Pattern::from_static("git.*");
        let push = Pattern::from_static("git.push");
        let action = Action::from_static("git.push");
        let mut kept = Ratchet::default();
        kept.narrow(git.clone(), Decision::Ask);
        assert!(!kept.widen(push, Decision::Allow));
        assert!(!kept.widen(git.clone(), Decision::Deny));
        assert_eq!(kept.cap(&action, Decision::Allow), Decision::Ask);
        assert!(kept.widen(git, Decision::Allow));
        assert_eq!(kept.cap(&action, Decision::Allow), Decision::Allow);
        kept.narrow_all();
        assert_eq!(kept.cap(&action, Decision::Allow), Decision::Deny);
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
