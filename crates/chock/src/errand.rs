//! What the agent needs done outside of its calls: a snapshot, and commits carried.

use std::sync::Arc;

use chock_agent::{Asked, Brought, Errands};
use chock_broker::Broker;
use chock_log::SnapshotBody;
use chock_workspace::Workspace;

use crate::exit::causes;
use crate::ferry::{Ask, Ferried, Ferry, Leftover};
use crate::handback;
use crate::report::{Report, commit_lines};

/// Does the errands of a session.
pub(crate) struct Errand {
    /// Before the workspace: what is mounted goes first.
    pub(crate) ferry: Arc<Ferry>,
    pub(crate) workspace: Workspace,
}

impl Errands for Errand {
    fn snapshot(&mut self, turn: u64) -> Result<SnapshotBody, String> {
        let snapshot = self.workspace.snapshot().map_err(|fault| causes(&fault))?;
        let (tree, git) = (snapshot.tree.to_string(), snapshot.git.map(|git| git.to_string()));
        Ok(SnapshotBody { turn, tree, files: snapshot.files_read, git })
    }

    fn apply(&mut self, broker: &mut Broker, asked: Option<&Asked<'_>>) -> Brought {
        let rest = Leftover::at_the_end(broker, &self.workspace);
        let is_wanted = matches!(rest, Leftover::IsCommitted(..)) || self.workspace.has_objects();
        if asked.is_none() && !is_wanted {
            return Brought::Nothing { uncommitted: 0 };
        }
        let offer = Ask { is_offer: true, rest, ..Ask::default() };
        let ask = asked.map_or(offer, |asked| Ask {
            call: asked.call.to_owned(),
            reason: asked.reason.to_owned(),
            ..Ask::default()
        });
        match self.ferry.carry(broker, &ask) {
            Ok(Ferried::Nothing) => Brought::Nothing { uncommitted: self.uncommitted() },
            Ok(Ferried::Report(report)) => self.told(&report, asked.is_none()),
            Ok(Ferried::Refused(refusal)) => Brought::Refused(*refusal),
            Ok(Ferried::Declined) => Brought::Not(self.with_hint("you declined these commits")),
            Err(failure) => Brought::Not(self.with_hint(&failure.message)),
        }
    }
}

impl Errand {
    /// How many files differ from what the session started from.
    fn uncommitted(&self) -> u64 {
        let changes = self.workspace.snapshot().ok().and_then(|snapshot| {
            self.workspace.store().changes(self.workspace.start_tree(), snapshot.tree).ok()
        });
        changes.map_or(0, |changes| changes.files.len() as u64)
    }

    fn told(&self, report: &Report, at_the_end: bool) -> Brought {
        let mut words = report.notes.clone();
        let refused = report.refused.iter();
        words
            .extend(refused.map(|row| format!("{}: {}", handback::lossy(&row.path.0), row.reason)));
        words.extend(report.commits.iter().flat_map(commit_lines));
        let landed = report.commits.as_ref().is_some_and(|commits| !commits.branch.is_empty());
        if report.refused.is_empty() && (landed || report.record.is_some()) {
            let hint =
                if landed { "chock undo takes it out again" } else { "chock apply lands them" };
            words.push(hint.to_owned());
            return Brought::Done(words.join("; "));
        }
        if at_the_end && report.refused.is_empty() {
            // Nothing is new since the last time.
            return Brought::Nothing { uncommitted: 0 };
        }
        Brought::Not(self.with_hint(&format!("the commits are not carried: {}", words.join("; "))))
    }

    fn with_hint(&self, words: &str) -> String {
        format!("{words}; they stay in the session: chock apply {}", self.ferry.bench.found.id)
    }
}
