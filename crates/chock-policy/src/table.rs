//! The rows in force and the row that wins.

use crate::decide::Request;
use crate::{Decision, Origin, Rule};

/// How many rows one file may hold; the limit of the format's earlier version.
pub const RULES_MAX: usize = 512;

/// Holds the project's rows over the shipped ones, what a person answered for good, and the
/// organisation's ceiling.
#[derive(Debug, Clone)]
pub struct Table {
    project: Vec<Rule>,
    shipped: Vec<Rule>,
    reach: Reach,
    remembered: Vec<Rule>,
    organisation: Vec<Rule>,
}

/// Which requests the project's rows may decide.
#[derive(Debug, Clone, Copy)]
enum Reach {
    /// All that they match.
    Whole,
    /// Those where they are not above the shipped rows.
    Narrowing,
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
        Self::with_reach(project, Reach::Whole)
    }

    /// Takes the project's rows only where they narrow, for rows nobody accepted.
    ///
    /// Where a row is above the shipped decision it is as if it were not there. No
    /// decision of such a table is above that of [`Table::defaults`].
    ///
    /// # Errors
    ///
    /// There are more than [`RULES_MAX`] project rows.
    pub fn narrowing(project: Vec<Rule>) -> Result<Self, TableFault> {
        Self::with_reach(project, Reach::Narrowing)
    }

    /// Holds the shipped defaults alone.
    #[must_use]
    pub fn defaults() -> Self {
        Self::of(Vec::new(), Reach::Narrowing)
    }

    /// Adds what a person answered for good: each row turns `ask` into `allow` where it matches.
    ///
    /// The decision of such a row is not looked at. What is refused or reviewed stays so.
    #[must_use]
    pub fn remembering(self, remembered: Vec<Rule>) -> Self {
        Self { remembered, ..self }
    }

    /// Puts everything under an organisation's ceiling. What its rows do not name is as it was.
    ///
    /// # Errors
    ///
    /// There are more than [`RULES_MAX`] rows.
    pub fn under(self, organisation: Vec<Rule>) -> Result<Self, TableFault> {
        check(&organisation)?;
        Ok(Self { organisation, ..self })
    }

    fn with_reach(project: Vec<Rule>, reach: Reach) -> Result<Self, TableFault> {
        check(&project)?;
        Ok(Self::of(project, reach))
    }

    fn of(project: Vec<Rule>, reach: Reach) -> Self {
        let (remembered, organisation) = (Vec::new(), Vec::new());
        Self { project, shipped: crate::shipped(), reach, remembered, organisation }
    }

    /// Lists every row with where it comes from: ceiling first, shipped rows last.
    pub fn rows(&self) -> impl Iterator<Item = (Origin, &Rule)> {
        of(Origin::Organisation, &self.organisation)
            .chain(of(Origin::Remembered, &self.remembered))
            .chain(of(Origin::Project, &self.project))
            .chain(of(Origin::Shipped, &self.shipped))
    }

    /// Finds the answer a person gave for good, if one matches.
    #[must_use]
    pub fn answer(&self, agent_kind: &str, request: &Request<'_>) -> Option<&Rule> {
        best(&self.remembered, Decision::Allow, agent_kind, request)
    }

    /// Finds the organisation's row, if one matches.
    #[must_use]
    pub fn ceiling(&self, agent_kind: &str, request: &Request<'_>) -> Option<&Rule> {
        best(&self.organisation, Decision::Allow, agent_kind, request)
    }

    /// Says whether a row of the project counts for a request that it matches: one that
    /// nobody accepted counts only where it narrows.
    pub(crate) fn counts(&self, rule: &Rule, agent_kind: &str, request: &Request<'_>) -> bool {
        rule.decision <= self.highest(agent_kind, request)
    }

    /// The highest decision that a row of the project may give.
    fn highest(&self, agent_kind: &str, request: &Request<'_>) -> Decision {
        match self.reach {
            Reach::Whole => Decision::Allow,
            Reach::Narrowing => best(&self.shipped, Decision::Allow, agent_kind, request)
                .map_or(Decision::Ask, |rule| rule.decision),
        }
    }

    /// Finds the row that decides for one kind of agent, if any matches.
    ///
    /// The order is origin, then specificity, then the stricter decision.
    #[must_use]
    pub fn winner(&self, agent_kind: &str, request: &Request<'_>) -> Option<(Origin, &Rule)> {
        let highest = self.highest(agent_kind, request);
        let project = best(&self.project, highest, agent_kind, request);
        let shipped = || best(&self.shipped, Decision::Allow, agent_kind, request);
        project
            .map(|rule| (Origin::Project, rule))
            .or_else(|| shipped().map(|rule| (Origin::Shipped, rule)))
    }

    /// Decides for one kind of agent by the rows alone; no row means `ask`.
    #[must_use]
    pub fn rule(&self, agent_kind: &str, request: &Request<'_>) -> Decision {
        self.winner(agent_kind, request).map_or(Decision::Ask, |(_, rule)| rule.decision)
    }
}

/// Names where each of `rows` comes from.
fn of(origin: Origin, rows: &[Rule]) -> impl Iterator<Item = (Origin, &Rule)> {
    rows.iter().map(move |rule| (origin, rule))
}

fn check(rows: &[Rule]) -> Result<(), TableFault> {
    match rows.len() {
        rules if rules > RULES_MAX => Err(TableFault::TooMany { rules }),
        _ => Ok(()),
    }
}

/// Finds the most specific matching row that is not above `ceiling`.
fn best<'a>(
    rows: &'a [Rule],
    ceiling: Decision,
    agent_kind: &str,
    request: &Request<'_>,
) -> Option<&'a Rule> {
    rows.iter()
        .filter(|rule| rule.decision <= ceiling && rule.matches(agent_kind, request))
        .max_by_key(|rule| (rule.specificity(), std::cmp::Reverse(rule.decision)))
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
    fn without_acceptance_a_row_counts_only_where_it_narrows() {
        let rows = vec![
            row(None, None, Ask),
            row(Some("git.*"), None, Decision::AgentReview),
            row(Some("net.*"), None, Deny),
            row(Some("net.connect.*"), None, Allow),
        ];
        // (action, as written, unless it widens)
        let cases = [
            ("sandbox.debug", Ask, Deny),
            ("call.read_file", Ask, Ask),
            ("git.commit", Decision::AgentReview, Decision::AgentReview),
            ("git.push", Decision::AgentReview, Ask),
            ("net.connect.com.example.443", Allow, Deny),
        ];
        let written = Table::new(rows.clone()).expect("few rows");
        let narrowing = Table::narrowing(rows).expect("few rows");
        for (action, expected, unless_it_widens) in cases {
            let action = Action::from_static(action);
            let request = Request { action: &action, tool: "run_command", model: "m" };
            assert_eq!(written.rule("main", &request), expected, "{action}");
            assert_eq!(narrowing.rule("main", &request), unless_it_widens, "{action}");
        }
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
