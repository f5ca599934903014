//! The one question of this crate.

use crate::{Action, Decision, Origin, Ratchet, Rule, Table};

/// What is asked: an action, by which tool, for which model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The action in question.
    pub action: &'a Action,
    /// The tool whose call asks.
    pub tool: &'a str,
    /// The model that made the call.
    pub model: &'a str,
}

/// The kinds of agent from the root to the one that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage(Vec<String>);

impl Lineage {
    /// Takes the kinds of a spawn chain, root first, the asking agent last.
    #[must_use]
    pub fn new(kinds: Vec<String>) -> Self {
        Self(kinds)
    }

    /// Holds the one agent a person started.
    #[must_use]
    pub fn main() -> Self {
        Self(vec!["main".to_owned()])
    }

    /// Lists the kinds, root first.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// A decision, and the row that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// The answer.
    pub decision: Decision,
    /// The strictest winning row of the chain; absent when no row matched, or a promise decided.
    pub row: Option<(Origin, Rule)>,
}

/// Decides how much of an action an agent may do.
///
/// The strictest of three answers wins: the rule for the agent, the rules for
/// every agent above it, and the promises it made. No rule means `ask`, and a
/// lineage with nobody in it may do nothing.
#[must_use]
pub fn decide(table: &Table, lineage: &Lineage, kept: &Ratchet, request: &Request<'_>) -> Ruling {
    let by_rule = lineage.kinds().map(|kind| {
        let row = table.winner(kind, request);
        let decision = row.map_or(Decision::Ask, |(_, rule)| rule.decision);
        Ruling { decision, row: row.map(|(origin, rule)| (origin, rule.clone())) }
    });
    let strictest = by_rule.min_by_key(|ruling| ruling.decision);
    let ruling = strictest.unwrap_or(Ruling { decision: Decision::Deny, row: None });
    match kept.cap(request.action, ruling.decision) {
        capped if capped < ruling.decision => Ruling { decision: capped, row: None },
        _ => ruling,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Decision::{Allow, Ask, Deny};
    use super::*;
    use crate::Pattern;

    fn check(
        parent: Option<Decision>,
        own: Option<Decision>,
        promise: Decision,
        expected: Decision,
    ) {
        let row = |kind: &'static str, decision| Rule {
            agent_kind: Some(Pattern::from_static(kind)),
            ..Rule::action(Pattern::from_static("git.push"), decision)
        };
        let rows = [("main", parent), ("scout", own)];
        let rows = rows.into_iter().filter_map(|(kind, decision)| Some(row(kind, decision?)));
        let table = Table::new(rows.collect()).expect("few rows");
        let lineage = Lineage::new(vec!["main".to_owned(), "scout".to_owned()]);
        let mut kept = Ratchet::default();
        kept.narrow(Pattern::from_static("git.*"), promise);
        let action = Action::from_static("git.push");
        let request = Request { action: &action, tool: "run_command", model: "m" };

        let ruling = decide(&table, &lineage, &kept, &request);

        assert_eq!(ruling.decision, expected, "{parent:?}, {own:?}, {promise:?}");
    }

    #[test]
    fn the_strictest_answer_wins() {
        check(Some(Allow), Some(Allow), Allow, Allow);
        check(Some(Allow), Some(Ask), Allow, Ask);
        check(Some(Ask), Some(Allow), Allow, Ask);
        check(Some(Allow), Some(Allow), Deny, Deny);
        check(Some(Allow), None, Allow, Ask);
        check(None, Some(Allow), Allow, Ask);
        check(None, None, Allow, Ask);
        check(Some(Deny), Some(Allow), Ask, Deny);
    }

    #[test]
    fn an_empty_lineage_may_do_nothing() {
        let action = Action::from_static("call.read_file");
        let request = Request { action: &action, tool: "read_file", model: "m" };
        let nobody = Lineage::new(Vec::new());
        let ruling = decide(&Table::defaults(), &nobody, &Ratchet::default(), &request);
        assert_eq!(ruling, Ruling { decision: Deny, row: None });
    }

    fn decisions() -> impl Strategy<Value = Decision> {
        prop::sample::select(Decision::ALL.to_vec())
    }

    fn patterns() -> impl Strategy<Value = Pattern> {
        let texts = ["git.push", "git.*", "git.branch.delete", "git.branch.*", "exec.*"];
        prop::sample::select(texts.map(Pattern::from_static).to_vec())
    }

    fn rules() -> impl Strategy<Value = Rule> {
        let kinds = prop::option::of(prop::sample::select(vec!["main", "scout", "other"]));
        (kinds, prop::option::of(patterns()), decisions()).prop_map(|(kind, action, decision)| {
            Rule {
                agent_kind: kind.map(Pattern::from_static),
                model: None,
                tool: None,
                action,
                decision,
            }
        })
    }

    /// The same answer by the words of the contract, written without the code under test.
    fn naive(rows: &[Rule], kinds: &[&str], kept: &[(Pattern, Decision)], name: &str) -> Decision {
        let mut answer = if kinds.is_empty() { Deny } else { Allow };
        for kind in kinds {
            let mut best: Option<(&Rule, [usize; 2])> = None;
            for rule in rows {
                let width = |field: &Option<Pattern>| match field {
                    None => 0,
                    Some(pattern) if pattern.as_str().ends_with(".*") => pattern.as_str().len(),
                    Some(_) => usize::MAX,
                };
                let fits = |field: &Option<Pattern>, value: &str| match field {
                    None => true,
                    Some(pattern) => match pattern.as_str().strip_suffix('*') {
                        Some(prefix) => value.len() > prefix.len() && value.starts_with(prefix),
                        None => pattern.as_str() == value,
                    },
                };
                if !fits(&rule.action, name) || !fits(&rule.agent_kind, kind) {
                    continue;
                }
                let score = [width(&rule.action), width(&rule.agent_kind)];
                let better = best.is_none_or(|(held, held_score)| {
                    score > held_score || (score == held_score && rule.decision < held.decision)
                });
                if better {
                    best = Some((rule, score));
                }
            }
            answer = answer.min(best.map_or(Ask, |(rule, _)| rule.decision));
        }
        for (pattern, ceiling) in kept {
            if pattern.covers(name) {
                answer = answer.min(*ceiling);
            }
        }
        answer
    }

    proptest! {
        #[test]
        fn a_second_evaluator_agrees(
            rows in prop::collection::vec(rules(), 1..12),
            kinds in prop::collection::vec(prop::sample::select(vec!["main", "scout"]), 0..3),
            kept in prop::collection::vec((patterns(), decisions()), 0..4),
            name in prop::sample::select(vec!["git.push", "git.branch.delete", "exec.path.ls"]),
        ) {
            // A last row for everything keeps the shipped defaults out of the comparison.
            let mut rows = rows;
            rows.push(Rule { agent_kind: None, model: None, tool: None, action: None, decision: Ask });
            let table = Table::new(rows.clone()).expect("few rows");
            let mut ratchet = Ratchet::default();
            for (pattern, ceiling) in &kept {
                ratchet.narrow(pattern.clone(), *ceiling);
            }
            let lineage = Lineage::new(kinds.iter().map(|kind| (*kind).to_owned()).collect());
            let action = Action::from_static(name);
            let request = Request { action: &action, tool: "run_command", model: "m" };
            let ruling = decide(&table, &lineage, &ratchet, &request);
            prop_assert_eq!(ruling.decision, naive(&rows, &kinds, &kept, name));
        }
    }
}
