//! The rows in force and the row that wins.

use crate::decide::Request;
use crate::{Decision, Origin, Rule};

/// How many rows a project may write; the limit of the format's earlier version.
pub const RULES_MAX: usize = 512;

/// Holds the project's rows over the shipped ones.
#[derive(Debug, Clone)]
pub struct Table {
    project: Vec<Rule>,
    shipped: Vec<Rule>,
}

/// Why rows do not make a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableFault {
    /// More rows than anyone reads.
    #[error("{rules} rules are over the limit of {RULES_MAX}")]
    TooMany { rules: usize },
}

impl Table {
    /// Puts the project's rows over the shipped defaults.
    ///
    /// # Errors
    ///
    /// There are more than [`RULES_MAX`] project rows.
    pub fn new(project: Vec<Rule>) -> Result<Self, TableFault> {
        if project.len() > RULES_MAX {
            return Err(TableFault::TooMany { rules: project.len() });
        }
        Ok(Self { project, shipped: crate::shipped() })
    }

    /// Holds the shipped defaults alone.
    #[must_use]
    pub fn defaults() -> Self {
        Self { project: Vec::new(), shipped: crate::shipped() }
    }

    /// Lists every row with where it comes from, project first.
    pub fn rows(&self) -> impl Iterator<Item = (Origin, &Rule)> {
        let project = self.project.iter().map(|rule| (Origin::Project, rule));
        project.chain(self.shipped.iter().map(|rule| (Origin::Shipped, rule)))
    }

    /// Finds the row that decides for one kind of agent, if any matches.
    ///
    /// The order is origin, then specificity, then the stricter decision.
    #[must_use]
    pub fn winner(&self, agent_kind: &str, request: &Request<'_>) -> Option<(Origin, &Rule)> {
        self.rows().filter(|(_, rule)| rule.matches(agent_kind, request)).max_by_key(
            |(origin, rule)| (*origin, rule.specificity(), std::cmp::Reverse(rule.decision)),
        )
    }

    /// Decides for one kind of agent; no row means `ask`.
    #[must_use]
    pub fn rule(&self, agent_kind: &str, request: &Request<'_>) -> Decision {
        self.winner(agent_kind, request).map_or(Decision::Ask, |(_, rule)| rule.decision)
    }
}

#[cfg(test)]
mod tests {
    use super::Decision::{Allow, Ask, Deny};
    use super::*;
    use crate::{Action, Pattern};

    fn row(action: Option<&'static str>, tool: Option<&'static str>, decision: Decision) -> Rule {
        Rule {
            agent_kind: None,
            model: None,
            tool: tool.map(Pattern::from_static),
            action: action.map(Pattern::from_static),
            decision,
        }
    }

    fn check(rows: &[Rule], action: &'static str, expected: Decision) {
        let action = Action::from_static(action);
        let request = Request { action: &action, tool: "run_command", model: "m" };
        for turn in 0..rows.len().max(1) {
            let mut rows = rows.to_vec();
            rows.rotate_left(turn);
            let table = Table::new(rows).expect("few rows");
            assert_eq!(table.rule("main", &request), expected, "{action} after {turn} turns");
        }
    }

    #[test]
    fn the_most_specific_row_wins_in_any_order() {
        check(
            &[row(Some("git.*"), None, Allow), row(Some("git.push"), None, Deny)],
            "git.push",
            Deny,
        );
        check(
            &[row(Some("git.*"), None, Deny), row(Some("git.push"), None, Allow)],
            "git.push",
            Allow,
        );
        check(
            &[row(None, Some("run_command"), Deny), row(Some("git.*"), None, Allow)],
            "git.x",
            Allow,
        );
        check(&[row(Some("a.*"), None, Deny), row(Some("a.b.*"), None, Ask)], "a.b.c", Ask);
    }

    #[test]
    fn between_equals_the_stricter_wins() {
        check(
            &[row(Some("git.push"), None, Allow), row(Some("git.push"), None, Deny)],
            "git.push",
            Deny,
        );
    }

    #[test]
    fn a_wide_project_row_beats_a_narrow_shipped_one() {
        check(&[], "call.read_file", Allow);
        check(&[row(Some("call.*"), None, Deny)], "call.read_file", Deny);
        check(&[row(None, None, Deny)], "call.read_file", Deny);
    }

    #[test]
    fn nothing_matching_means_ask() {
        check(&[], "net.connect.com.example.443", Ask);
        check(&[], "no.such.thing", Ask);
    }

    #[test]
    fn a_table_is_bounded() {
        let rows = vec![row(Some("a.b"), None, Deny); RULES_MAX + 1];
        assert_eq!(Table::new(rows).err(), Some(TableFault::TooMany { rules: RULES_MAX + 1 }));
    }
}
