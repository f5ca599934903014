//! Commits what a session left uncommitted, where a person or a row says so.

use std::fs::File;

use chock_broker::Broker;
use chock_log::{Action, Permit};
use chock_sandbox::Program;
use chock_tools::commits::{self, Check, Taken};
use chock_workspace::{Dock, Landing, LandingMode, Refused, Rest, Rested, Stand, Workspace};

use super::{Ask, Ferry, Incoming, Step, not_carried};
use crate::exit::{Exit, Failure};
use crate::handback::lossy;
use crate::judge::{Judge, TOOL};
use crate::report::{PathText, Report};
use crate::visible::visible_line;

/// The word that a person answers to have the rest committed too.
pub(crate) const COMMIT: &str = "commit";

/// Why nothing is committed where files may hold both sides of a merge.
const UNFINISHED: &str = "a merge, a rebase or the like is under way in the session: have the \
                          agent end it, or leave --commit out";

/// What becomes of what the session left uncommitted.
#[derive(Debug, Default, Clone)]
pub(crate) enum Leftover<'a> {
    /// It stays in review.
    #[default]
    Stays,
    /// A person who is asked may say that it is committed.
    IsOffered(&'a Workspace),
    /// It is committed, under this title or the session's.
    IsCommitted(&'a Workspace, Option<String>),
}

/// What is carried.
pub(super) struct Load {
    /// The last commit. `None` where there is nothing.
    pub(super) head: Option<String>,
    pub(super) pack: Vec<u8>,
    /// What the session's HEAD names.
    pub(super) parent: Option<String>,
    /// What became of the rest, where it was to be committed.
    pub(super) rested: Option<Rested>,
}

impl<'a> Leftover<'a> {
    /// What the rows say of it at a run's end.
    pub(crate) fn at_the_end(broker: &Broker, workspace: &'a Workspace) -> Self {
        let action = Action::from_static("workspace.commit");
        if broker.allows(TOOL, &action) {
            return Self::IsCommitted(workspace, None);
        }
        let stays = broker.denies(TOOL, &action) || workspace.is_unfinished();
        if stays { Self::Stays } else { Self::IsOffered(workspace) }
    }
}

impl Ferry {
    /// Adds a commit of the rest to what was taken, where it is to be committed.
    pub(super) fn load(
        &self,
        judge: &mut dyn Judge,
        (ask, stand): (&Ask<'_>, &Stand),
        taken: Taken,
    ) -> Step<Load> {
        let (head, pack) = match taken {
            Taken::Commits { head, pack } => (Some(head), pack),
            Taken::Nothing => (None, Vec::new()),
        };
        let parent = head.clone().or_else(|| self.start.clone());
        let Leftover::IsCommitted(workspace, title) = &ask.rest else {
            return Ok(Ok(Load { head, pack, parent, rested: None }));
        };
        if workspace.is_unfinished() {
            let message = UNFINISHED.to_owned();
            return Err(Failure { exit: Exit::Refused, message });
        }
        let fault = |fault| Failure::because(&fault);
        let (project, session) = (&self.bench.project, self.bench.found.work());
        let checked = match &head {
            None => None,
            Some(head) => {
                let (start, ours) = (self.start.as_deref(), stand.commit.as_deref());
                let mode = LandingMode::Park;
                match self.check(judge, &Check { head, start, ours, landed: &[], mode }, &pack)? {
                    Ok(combined) => Some(combined.pack),
                    Err(refusal) => return Ok(Err(refusal)),
                }
            }
        };
        let dock = Dock::make(&session, project).map_err(fault)?;
        if let Some(checked) = checked {
            dock.take_in(project, &checked).map_err(fault)?;
        }
        let title = title.clone().unwrap_or_else(|| self.title());
        let rested = self.with_rest(workspace, (parent.as_deref(), &title), |rest| {
            let id = self.bench.found.id.to_string();
            let wish = self.wish(ask, (&id, None), LandingMode::Park);
            dock.commit_rest(project, (rest, self.start.as_deref()), &wish).map_err(fault)
        })?;
        let mut load = Load { head, pack, parent, rested: None };
        if let Some(commit) = &rested.commit {
            load.head = Some(commit.clone());
            load.pack.clone_from(&rested.pack);
        }
        Ok(Ok(Load { rested: Some(rested), ..load }))
    }

    /// Says how many files a commit of the rest would have in it.
    pub(super) fn count_rest(
        &self,
        workspace: &Workspace,
        dock: &Dock,
        (head, ask): (&str, &Ask<'_>),
    ) -> Result<usize, Failure> {
        self.with_rest(workspace, (Some(head), ""), |rest| {
            let counted = dock.count_rest(&self.bench.project, rest, &ask.named);
            counted.map_err(|fault| Failure::because(&fault))
        })
    }

    fn with_rest<T>(
        &self,
        workspace: &Workspace,
        (parent, message): (Option<&str>, &str),
        act: impl FnOnce(&Rest<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        // Nothing of the session runs: this is a snapshot like that of a turn's end.
        let snapshot = workspace.snapshot().map_err(|fault| Failure::because(&fault))?.tree;
        let declined = self.bench.pen.session(|session| session.declined_paths.clone());
        let (layout, declined) = (workspace.layout(), &declined);
        act(&Rest { parent, snapshot, layout, declined, message })
    }

    /// What the rest is committed under where nobody gave it a title.
    fn title(&self) -> String {
        let title = self.bench.pen.session(|session| session.title.clone());
        title.unwrap_or_else(|| format!("Work of session {}", self.bench.found.id))
    }

    /// Has the session go on from the commit that was made of its files.
    pub(super) fn follow(&self, judge: &mut dyn Judge, load: &Load, report: &mut Report) {
        let (Some(Rested { commit: Some(new), pack, .. }), Some(_)) = (&load.rested, report.record)
        else {
            return;
        };
        let cage = (&self.environment[..], self.shell.as_path());
        let act = commits::follow(&self.layout.project, (load.parent.as_deref(), new), cage);
        let effect = "have the session go on from this commit, in its own cage";
        let followed = match self.permit(judge, act, effect) {
            Err(refusal) => Err(refusal.sentence()),
            Ok(permit) => self.hand_in(permit, pack).map_err(|failure| failure.message),
        };
        if let Err(words) = followed {
            report.notes.push(format!("the session does not have the commit itself: {words}"));
        }
    }

    fn hand_in(&self, permit: Permit<Program>, pack: &[u8]) -> Result<(), Failure> {
        let incoming = Incoming::write(&self.bench.found.work(), pack)?;
        let file = File::open(&incoming.0).map_err(|fault| {
            Failure::fault(format!("cannot read {}: {fault}", incoming.0.display()))
        })?;
        let (_spent, followed) = commits::carry_out_follow(&self.keeper, permit, &file);
        followed.map_err(|fault| not_carried(&fault))
    }

    pub(super) fn wish<'a>(
        &'a self,
        ask: &'a Ask<'_>,
        (session, title): (&'a str, Option<&'a str>),
        mode: LandingMode,
    ) -> Landing<'a> {
        let (seconds, zone) = super::now();
        let (variables, named) = (&self.variables[..], &ask.named);
        Landing { session, title, mode, named, seconds, zone, variables }
    }
}

impl Load {
    /// Tells what stays out of the commit, and whose it is.
    pub(super) fn tell(&self, report: &mut Report) {
        let Some(Rested { commit, left_out, is_nobody_s, .. }) = &self.rested else { return };
        report.left = left_out.iter().map(|row| PathText(row.path.clone())).collect();
        report.notes.extend(self.left_out());
        if *is_nobody_s && commit.is_some() {
            let words = "git knows no name or no address of yours, so the commit is by Chock";
            let cure = "git config --global user.name and user.email give them";
            report.notes.push(format!("{words}; {cure}"));
        }
    }

    /// What stays out of the commit, a line each.
    pub(super) fn left_out(&self) -> Vec<String> {
        let rows = self.rested.iter().flat_map(|rested| &rested.left_out);
        let line = |Refused { path, reason, .. }: &Refused| {
            format!("left out: {} ({reason})", visible_line(&lossy(path)))
        };
        rows.map(line).collect()
    }
}
