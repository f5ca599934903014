//! Why a decision is what it is: every row that matches, and what became of it.

use std::fmt;

use crate::{Lineage, Origin, Ratchet, Request, Rule, Ruling, Table, decide};

/// A decision with everything that was looked at for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What [`decide`] says.
    pub ruling: Ruling,
    /// Every row that matches the request, in the order of [`Table::rows`], promises last.
    pub candidates: Vec<Candidate>,
}

/// A row that matches a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Where it comes from.
    pub origin: Origin,
    /// The row.
    pub rule: Rule,
    /// The kind of agent in the chain that it was looked at for.
    pub agent_kind: String,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a row that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It decided.
    Won,
    /// It would give more than the shipped rows, and nobody accepted it.
    NotAccepted,
    /// Another row of the same origin is more specific, or as specific and stricter.
    LessSpecific,
    /// A row of the project matches, and any of them beats the shipped ones.
    ProjectWins,
    /// An answer given for good counts only where the rows ask.
    NothingAsked,
    /// It is a ceiling, and the answer was not above it.
    NotAbove,
    /// It won among the rows, and an answer, a ceiling or another agent of the chain counts.
    Overruled,
}

impl fmt::Display for Fate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Won => "decides",
            Self::NotAccepted => "gives more than the defaults, and nobody accepted it",
            Self::LessSpecific => "another is more specific, or as specific and stricter",
            Self::ProjectWins => "a project row matches, and beats every shipped one",
            Self::NothingAsked => "an answer counts only where the rows ask",
            Self::NotAbove => "a ceiling, and nothing was above it",
            Self::Overruled => "wins among its rows, and something else counts",
        })
    }
}

/// Decides, and lists every row that matches with what became of it.
#[must_use]
pub fn explain(
    table: &Table,
    lineage: &Lineage,
    kept: &Ratchet,
    request: &Request<'_>,
) -> Explanation {
    let ruling = decide(table, lineage, kept, request);
    let mut candidates = Vec::new();
    for kind in lineage.kinds() {
        let matching = table.rows().filter(|(_, rule)| rule.matches(kind, request));
        candidates.extend(matching.map(|(origin, rule)| Candidate {
            origin,
            rule: rule.clone(),
            agent_kind: kind.to_owned(),
            fate: fate(table, kind, request, (origin, rule)),
        }));
    }
    let asker = lineage.kinds().last().unwrap_or_default();
    let covering = kept.ceilings().filter(|(pattern, _)| pattern.covers(request.action.as_str()));
    candidates.extend(covering.map(|(pattern, ceiling)| Candidate {
        origin: Origin::Promise,
        rule: Rule::action(pattern.clone(), ceiling),
        agent_kind: asker.to_owned(),
        fate: Fate::NotAbove,
    }));
    // Exactly one decides: the first that is the row of the ruling.
    let winner = candidates
        .iter()
        .position(|row| ruling.row.as_ref() == Some(&(row.origin, row.rule.clone())));
    if let Some(winner) = winner {
        candidates[winner].fate = Fate::Won;
    }
    Explanation { ruling, candidates }
}

/// Says what became of a row before the ruling is known.
fn fate(table: &Table, kind: &str, request: &Request<'_>, row: (Origin, &Rule)) -> Fate {
    let (origin, rule) = row;
    let first_or = |best: Option<&Rule>, otherwise| match best {
        Some(best) if best == rule => otherwise,
        Some(_) | None => Fate::LessSpecific,
    };
    match origin {
        Origin::Project if !table.counts(rule, kind, request) => Fate::NotAccepted,
        Origin::Project | Origin::Shipped => match table.winner(kind, request) {
            Some((Origin::Project, _)) if origin == Origin::Shipped => Fate::ProjectWins,
            winner => first_or(winner.map(|(_, rule)| rule), Fate::Overruled),
        },
        Origin::Remembered => first_or(table.answer(kind, request), Fate::NothingAsked),
        Origin::Organisation => first_or(table.ceiling(kind, request), Fate::NotAbove),
        Origin::Promise => Fate::NotAbove,
    }
}
