//! The five answers, from nothing to everything.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Says how much of an act may be done, ordered from the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Never.
    Deny,
    /// Only after a reviewing agent and then a person said yes.
    AgentThenHuman,
    /// Only after a person said yes.
    Ask,
    /// Only after a reviewing agent said yes.
    AgentReview,
    /// Without asking anybody.
    Allow,
}

impl Decision {
    /// Every decision, strictest first.
    pub const ALL: [Self; 5] =
        [Self::Deny, Self::AgentThenHuman, Self::Ask, Self::AgentReview, Self::Allow];

    /// Returns the word a table uses.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::AgentThenHuman => "agent_then_human",
            Self::Ask => "ask",
            Self::AgentReview => "agent_review",
            Self::Allow => "allow",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A word that is none of the five decisions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a decision; use deny, agent_then_human, ask, agent_review or allow")]
pub struct UnknownDecision(String);

impl FromStr for Decision {
    type Err = UnknownDecision;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|decision| decision.word() == word);
        found.ok_or_else(|| UnknownDecision(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_runs_from_deny_to_allow() {
        assert!(Decision::ALL.is_sorted());
        assert_eq!(Decision::ALL.iter().min(), Some(&Decision::Deny));
    }

    #[test]
    fn every_word_reads_back() {
        for decision in Decision::ALL {
            assert_eq!(decision.word().parse(), Ok(decision));
        }
        assert!("Allow".parse::<Decision>().is_err());
    }
}
