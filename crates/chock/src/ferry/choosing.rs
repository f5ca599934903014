//! Has a person choose how commits land, where the project's mode is to ask.

use chock_broker::{Cause, Chosen, Offer, Refusal};
use chock_config::ApplyMode;
use chock_log::{Action, Proposal};
use chock_workspace::{Dock, Docked, LandingMode, Parked, Planned, Shelf, Stand};

use super::rest::Load;
use super::{Ask, COMMIT, Ferry, Step, effect};
use crate::exit::Failure;
use crate::judge::Judge;

/// The modes that a person chooses from.
const MODES: [LandingMode; 3] = [LandingMode::Merge, LandingMode::Rebase, LandingMode::Squash];

/// The word for leaving every branch as it is.
const LEAVE: &str = "leave";

/// How the commits may land.
pub(super) struct Ways {
    /// One, or those that a person chooses from.
    pub(super) modes: Vec<LandingMode>,
    /// Why nobody is asked who should be.
    pub(super) note: Option<String>,
}

impl Ferry {
    /// Says how the commits may land.
    pub(super) fn ways(&self, judge: &dyn Judge, ask: &Ask<'_>, stand: &Stand) -> Ways {
        let one = |mode| Ways { modes: vec![mode], note: None };
        if judge.denies(&Action::from_static("workspace.integrate")) || stand.parked.is_some() {
            return one(LandingMode::Park);
        }
        if let Some(mode) = ask.mode {
            return one(mode);
        }
        match self.mode {
            ApplyMode::Merge => one(LandingMode::Merge),
            ApplyMode::Rebase => one(LandingMode::Rebase),
            ApplyMode::Squash => one(LandingMode::Squash),
            ApplyMode::Ask if judge.can_ask() => Ways { modes: MODES.to_vec(), note: None },
            ApplyMode::Ask => {
                let words = "the project's mode is `ask`, and nobody is here to be asked";
                let cure = "chock apply --mode merge, rebase or squash says how they land";
                let note = Some(format!("{words}; {cure}"));
                Ways { modes: vec![LandingMode::Park], note }
            }
        }
    }

    /// Has a person choose among what was made ready. Where nothing can land, nobody is asked.
    ///
    /// With what was chosen comes whether a person chose it.
    pub(super) fn choose(
        &self,
        judge: &mut dyn Judge,
        (shelf, dock): (&mut Shelf, &Dock),
        mut ready: Vec<Docked>,
        (ask, load): (&Ask<'_>, &Load),
    ) -> Step<(Docked, bool)> {
        let lands = |docked: &Docked| docked.parked().is_none() && docked.refused.is_empty();
        let Some(first) = ready.iter().position(lands) else {
            return Ok(Ok((ready.swap_remove(0), false)));
        };
        let session = self.bench.found.id.to_string();
        let planned = shelf.plan_commits(&self.bench.project, (dock, &session), &ready[first]);
        let act = match planned.map_err(|fault| Failure::because(&fault))? {
            Planned::Ready(act) => *act,
            // What is in the way is in the way of each.
            Planned::Refused(_) => return Ok(Ok((ready.swap_remove(first), false))),
        };
        let Some(moved) = act.refs() else { return Ok(Ok((ready.swap_remove(first), false))) };
        let branch = moved.branch.as_ref().map_or("", |branch| branch.name.as_str());
        let landing = [format!("and land them on {branch}, in one of these ways")];
        let effect = effect(&session, (&moved, &landing), (&ready[first], dock), (ask, load))?;
        let mut offers: Vec<_> = ready.iter().map(way).collect();
        let words = format!("keep them at {}, and leave every branch as it is", moved.kept.name);
        offers.push(Offer { word: LEAVE.to_owned(), words });
        offers.extend(self.offers(dock, (&ready[first], ask))?);
        let (call, tool) = (ask.call.clone(), act.direction().word().to_owned());
        let actions = vec![Action::from_static("workspace.apply")];
        let chosen = judge.choose(&Proposal { call, tool, act, actions, effect }, offers);
        shelf.forget_unapproved().map_err(|fault| Failure::because(&fault))?;
        let word = match chosen {
            Chosen::Offer(word) => word,
            Chosen::Refused(refusal) => return Ok(Err(refusal)),
            Chosen::Nobody => {
                return Ok(Ok((ready.swap_remove(first).park(Parked::NotAskedFor), false)));
            }
        };
        if word == COMMIT {
            let (action, cause) = ("workspace.apply".to_owned(), Cause::Instead(word));
            return Ok(Err(Box::new(Refusal { action, cause, in_the_way: None })));
        }
        let docked = match ready.iter().position(|docked| docked.mode().word() == word) {
            Some(at) => ready.swap_remove(at),
            None => ready.swap_remove(first).park(Parked::NotAskedFor),
        };
        Ok(Ok((docked, true)))
    }
}

/// Names one way of landing, and what comes of it.
fn way(docked: &Docked) -> Offer {
    let word = docked.mode().word().to_owned();
    let words = match (docked.parked(), docked.tip()) {
        (Some(parked), _) => {
            format!("they would stay where they are: {parked} ({})", parked.word())
        }
        (None, Some((from, to))) => {
            let short = |id: &str| id.chars().take(10).collect::<String>();
            format!("{} -> {}, {}", short(from), short(to), what(docked))
        }
        (None, None) => "they would stay where they are".to_owned(),
    };
    Offer { word, words }
}

fn what(docked: &Docked) -> &'static str {
    match docked.mode() {
        LandingMode::Merge if docked.is_as_committed() => "the commits themselves",
        LandingMode::Merge => "a merge of both, or the commits again on top",
        LandingMode::Rebase => "each commit again on top",
        LandingMode::Squash => "one commit on top",
        LandingMode::Park => "no branch",
    }
}
