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
    /// The row that decided; absent when no row matched.
    pub row: Option<(Origin, Rule)>,
}

/// Decides how much of an action an agent may do.
///
/// The strictest answer wins: the rules for the agent, the rules for every agent above it, the
/// organisation's ceiling, and the promises that were made. No rule means `ask`, which an answer
/// that a person gave for good turns into `allow`. A lineage with nobody in it may do nothing.
#[must_use]
pub fn decide(table: &Table, lineage: &Lineage, kept: &Ratchet, request: &Request<'_>) -> Ruling {
    let strictest = lineage
        .kinds()
        .map(|kind| for_kind(table, kind, request))
        .min_by_key(|ruling| ruling.decision);
    let ruling = strictest.unwrap_or(Ruling { decision: Decision::Deny, row: None });
    match kept.strictest(request.action) {
        Some((pattern, ceiling)) if ceiling < ruling.decision => {
            let row = Rule::action(pattern.clone(), ceiling);
            Ruling { decision: ceiling, row: Some((Origin::Promise, row)) }
        }
        Some(_) | None => ruling,
    }
}

/// Decides for one kind of agent, promises apart.
fn for_kind(table: &Table, kind: &str, request: &Request<'_>) -> Ruling {
    let won = table.winner(kind, request);
    let mut decision = won.map_or(Decision::Ask, |(_, rule)| rule.decision);
    let mut row = won;
    if decision == Decision::Ask
        && let Some(rule) = table.answer(kind, request)
    {
        (decision, row) = (Decision::Allow, Some((Origin::Remembered, rule)));
    }
    if let Some(rule) = table.ceiling(kind, request)
        && rule.decision < decision
    {
        (decision, row) = (rule.decision, Some((Origin::Organisation, rule)));
    }
    Ruling { decision, row: row.map(|(origin, rule)| (origin, rule.clone())) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Decision::{Allow, Ask, Deny};
    use super::*;
    use crate::{Fate, Pattern, explain};

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
        let tools = prop::option::of(prop::sample::select(vec!["run_command", "edit_file"]));
        let actions = prop::option::of(patterns());
        (kinds, tools, actions, decisions()).prop_map(|(kind, tool, action, decision)| Rule {
            agent_kind: kind.map(Pattern::from_static),
            model: None,
            tool: tool.map(Pattern::from_static),
            action,
            decision,
        })
    }

    /// Everything that a decision depends on.
    #[derive(Debug, Clone)]
    struct Case {
        project: Vec<Rule>,
        accepted: bool,
        remembered: Vec<Rule>,
        organisation: Vec<Rule>,
        kinds: Vec<&'static str>,
        kept: Vec<(Pattern, Decision)>,
        name: &'static str,
    }

    fn cases() -> impl Strategy<Value = Case> {
        let rows = |most| prop::collection::vec(rules(), 0..most);
        let names =
            ["git.push", "git.branch.delete", "git.commit", "exec.path.ls", "sandbox.debug"];
        (
            (rows(12), any::<bool>(), rows(3), rows(4)),
            prop::collection::vec(prop::sample::select(vec!["main", "scout"]), 0..3),
            prop::collection::vec((patterns(), decisions()), 0..4),
            prop::sample::select(names.to_vec()),
        )
            .prop_map(
                |((project, accepted, remembered, organisation), kinds, kept, name)| Case {
                    project,
                    accepted,
                    remembered,
                    organisation,
                    kinds,
                    kept,
                    name,
                },
            )
    }

    /// The most specific of the rows that match, the stricter between equals.
    fn naive_best(rows: &[Rule], kind: &str, name: &str) -> Option<Decision> {
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
        let mut best: Option<([usize; 3], Decision)> = None;
        for rule in rows {
            if !fits(&rule.action, name)
                || !fits(&rule.agent_kind, kind)
                || !fits(&rule.tool, "run_command")
            {
                continue;
            }
            let score = [width(&rule.action), width(&rule.tool), width(&rule.agent_kind)];
            let better = best.is_none_or(|(held_score, held)| {
                score > held_score || (score == held_score && rule.decision < held)
            });
            if better {
                best = Some((score, rule.decision));
            }
        }
        best.map(|(_, decision)| decision)
    }

    /// The same answer by the words of the contract, written without the code under test.
    fn naive(case: &Case) -> Decision {
        let mut answer = if case.kinds.is_empty() { Deny } else { Allow };
        for kind in &case.kinds {
            let shipped = naive_best(&crate::shipped(), kind, case.name);
            let mut project = case.project.clone();
            if !case.accepted {
                project.retain(|rule| rule.decision <= shipped.unwrap_or(Ask));
            }
            let mut of_kind = naive_best(&project, kind, case.name).or(shipped).unwrap_or(Ask);
            if of_kind == Ask && naive_best(&case.remembered, kind, case.name).is_some() {
                of_kind = Allow;
            }
            if let Some(ceiling) = naive_best(&case.organisation, kind, case.name) {
                of_kind = of_kind.min(ceiling);
            }
            answer = answer.min(of_kind);
        }
        for (pattern, ceiling) in &case.kept {
            if pattern.covers(case.name) {
                answer = answer.min(*ceiling);
            }
        }
        answer
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn a_second_evaluator_and_the_explanation_agree(case in cases()) {
            let project = case.project.clone();
            let table = if case.accepted { Table::new(project) } else { Table::narrowing(project) };
            let table = table.expect("few rows").remembering(case.remembered.clone());
            let table = table.under(case.organisation.clone()).expect("few rows");
            let mut kept = Ratchet::default();
            for (pattern, ceiling) in &case.kept {
                kept.narrow(pattern.clone(), *ceiling);
            }
            let lineage = Lineage::new(case.kinds.iter().map(|kind| (*kind).to_owned()).collect());
            let action = Action::from_static(case.name);
            let request = Request { action: &action, tool: "run_command", model: "m" };
            let ruling = decide(&table, &lineage, &kept, &request);
            prop_assert_eq!(ruling.decision, naive(&case));

            let told = explain(&table, &lineage, &kept, &request);
            prop_assert_eq!(&told.ruling, &ruling);
            let won: Vec<_> = told.candidates.iter().filter(|row| row.fate == Fate::Won).collect();
            match (&ruling.row, won.as_slice()) {
                (None, []) => {}
                (Some((origin, row)), [winner]) => {
                    prop_assert_eq!((origin, row), (&winner.origin, &winner.rule));
                }
                (row, won) => prop_assert!(false, "{row:?} is not what won: {won:?}"),
            }
        }
    }

    #[test]
    fn an_answer_for_good_spares_a_question_and_lifts_nothing_else() {
        let push = || Rule::action(Pattern::from_static("git.push"), Allow);
        let action = Action::from_static("git.push");
        let request = Request { action: &action, tool: "run_command", model: "m" };
        let ruling = |project: Option<Decision>, organisation: Option<Decision>| {
            let row = |decision| Rule::action(Pattern::from_static("git.push"), decision);
            let table = Table::new(project.map(row).into_iter().collect()).expect("few rows");
            let table = table.remembering(vec![push()]);
            let table = table.under(organisation.map(row).into_iter().collect()).expect("few");
            decide(&table, &Lineage::main(), &Ratchet::default(), &request).decision
        };
        assert_eq!(ruling(None, None), Allow);
        assert_eq!(ruling(Some(Ask), None), Allow);
        assert_eq!(ruling(Some(Deny), None), Deny);
        assert_eq!(ruling(Some(Decision::AgentThenHuman), None), Decision::AgentThenHuman);
        assert_eq!(ruling(None, Some(Ask)), Ask);
    }
}
