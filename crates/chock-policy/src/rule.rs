//! One row of a table.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::decide::Request;
use crate::{Decision, Pattern};

/// Gives a decision to every request that all of its fields match.
///
/// An absent field matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Which kinds of agent it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_kind: Option<Pattern>,
    /// Which models, by the name a provider gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Pattern>,
    /// Which tools, such as `run_command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Pattern>,
    /// Which actions, such as `git.push`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Pattern>,
    /// The answer.
    pub decision: Decision,
}

/// Where a row comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The program's own defaults.
    Shipped,
    /// The project's `chock.zon`. Any row of it beats any shipped one.
    Project,
    /// An answer that a person gave for good. It turns `ask` into `allow` and nothing else.
    Remembered,
    /// The organisation's bundle: a ceiling.
    Organisation,
    /// What the agent, or one above it, gave up: a ceiling.
    Promise,
}

impl Origin {
    /// Returns the word that listings and records use.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::Project => "project",
            Self::Remembered => "remembered",
            Self::Organisation => "organisation",
            Self::Promise => "promise",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// How narrow a rule is, compared action first, then tool, model and agent kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Specificity([u32; 4]);

impl Rule {
    /// Makes a row about an action alone.
    #[must_use]
    pub fn action(pattern: Pattern, decision: Decision) -> Self {
        Self { agent_kind: None, model: None, tool: None, action: Some(pattern), decision }
    }

    /// Says whether every field matches the request of an agent of `agent_kind`.
    #[must_use]
    pub fn matches(&self, agent_kind: &str, request: &Request<'_>) -> bool {
        let fits = |field: &Option<Pattern>, name: &str| {
            field.as_ref().is_none_or(|pattern| pattern.covers(name))
        };
        fits(&self.action, request.action.as_str())
            && fits(&self.tool, request.tool)
            && fits(&self.model, request.model)
            && fits(&self.agent_kind, agent_kind)
    }

    /// Measures how narrow the row is.
    #[must_use]
    pub fn specificity(&self) -> Specificity {
        let rank = |field: &Option<Pattern>| field.as_ref().map_or(0, Pattern::rank);
        Specificity([
            rank(&self.action),
            rank(&self.tool),
            rank(&self.model),
            rank(&self.agent_kind),
        ])
    }
}

impl fmt::Display for Rule {
    /// Writes the row as `chock.zon` spells it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(".{")?;
        let fields = [
            ("agent_kind", &self.agent_kind),
            ("model", &self.model),
            ("tool", &self.tool),
            ("action", &self.action),
        ];
        for (name, field) in fields {
            if let Some(pattern) = field {
                write!(out, " .{name} = \"{}\",", pattern.as_str().escape_default())?;
            }
        }
        write!(out, " .decision = .{} }}", self.decision)
    }
}
