//! Makes a session that goes on from a turn of another one.

use std::fs;
use std::path::Path;

use chock_log::{
    Branch, BranchFault, ConfigBody, Event, ForkBody, Log, Pen, Pictures, Seq, SessionId, StartBody,
};
use chock_workspace::{Forking, Notice, Project, TreeId, Workspace, WorkspaceFault};

use crate::exit::{Exit, Failure, causes};
use crate::found::{Found, Listed};
use crate::house;
use crate::kept;
use crate::program::{Program, new_session};
use crate::settings::Settings;
use crate::site;

/// A fork that was just made.
pub(crate) struct Forked {
    pub(crate) found: Found,
    /// Where it hangs.
    pub(crate) body: ForkBody,
    /// What the person is told of its workspace.
    pub(crate) notices: Vec<Notice>,
}

/// Makes a fork of `parent` at `turn`, or at its last turn. Nothing of the parent is changed.
///
/// What was half made is removed again.
pub(crate) fn fork(
    program: &Program,
    (project, settings): (&Project, &Settings),
    parent: &Listed,
    turn: Option<u64>,
) -> Result<Forked, Failure> {
    settings.still_bind(&parent.session)?;
    let id = parent.found.id;
    let branch = Log::branch(&parent.found.log, turn).map_err(|fault| refused(id, &fault))?;
    if !parent.found.work().exists() {
        return Err(Failure::start(format!(
            "the copy of session {id} was cleared, and the files of its turns with it: it cannot \
             be forked"
        )));
    }
    let found = Found::at(&program.places.sessions(project.root()), new_session()?);
    let making = Making { program, project, settings, parent, found: &found };
    let made = making.make(branch);
    if made.is_err() {
        house::remove_session(&found);
    }
    let (body, notices) = made?;
    Ok(Forked { found, body, notices })
}

fn refused(id: SessionId, fault: &BranchFault) -> Failure {
    let words = match fault {
        BranchFault::NotIntact { .. } => {
            format!("{}; chock sessions verify says more", causes(fault))
        }
        BranchFault::Nothing
        | BranchFault::NoTurn { .. }
        | BranchFault::NotKept { .. }
        | BranchFault::Log { .. }
        | _ => causes(fault),
    };
    Failure::start(format!("session {id} cannot be forked: {words}"))
}

/// What a fork is made with.
struct Making<'a> {
    program: &'a Program,
    project: &'a Project,
    settings: &'a Settings,
    parent: &'a Listed,
    found: &'a Found,
}

impl Making<'_> {
    /// Writes what the fork is and takes over, then makes its workspace.
    fn make(&self, branch: Branch) -> Result<(ForkBody, Vec<Notice>), Failure> {
        let Branch { turn, hash, carried } = branch;
        let body = ForkBody {
            parent: self.parent.found.id.to_string(),
            turn: turn.snapshot.turn,
            record: turn.at,
            hash,
            carried: carried.len() as u64,
        };
        let tree = |text: &String| text.parse().map_err(|fault| Failure::because(&fault));
        let (files, git) = (tree(&turn.snapshot.tree)?, turn.snapshot.git.as_ref());
        let git: Option<TreeId> = git.map(tree).transpose()?;
        let opened = house::open_quiet_log(self.program, self.found, self.settings)?;
        self.begin(&opened.pen, &body, carried)?;
        let denied = &self.settings.effective.denied;
        let forking = Forking {
            session: self.found.work(),
            parent: self.parent.found.work(),
            tree: files,
            git,
            covered: kept::covers(denied),
            binds: kept::binds(&self.settings.effective.project.binds),
        };
        let workspace =
            Workspace::fork(self.project, &forking).map_err(|fault| self.no_workspace(&fault))?;
        link_outputs(&self.parent.found, self.found)?;
        link_pictures(&self.parent.found, self.found)?;
        write(&opened.pen, Event::WorkspaceOpened(house::workspace_body(&workspace)))?;
        opened.pen.flush().map_err(|fault| house::unflushed(&fault))?;
        Ok((body, workspace.notices().to_vec()))
    }

    fn begin(&self, pen: &Pen, body: &ForkBody, carried: Vec<Event>) -> Result<(), Failure> {
        let session = &self.parent.session;
        let config = session.config.as_ref();
        write(pen, Event::Forked(body.clone()))?;
        write(
            pen,
            Event::Start(StartBody {
                session: self.found.id.to_string(),
                project: self.project.root().display().to_string(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                agent_kind: "main".to_owned(),
            }),
        )?;
        for event in carried {
            write(pen, event)?;
        }
        // No run has taken it up yet; the organisation's bundle binds whoever does.
        let config = ConfigBody {
            provider: config.map(|config| config.provider.clone()).unwrap_or_default(),
            model: config.map(|config| config.model.clone()).unwrap_or_default(),
            files: self.settings.files.clone(),
            options: Vec::new(),
            layers: Vec::new(),
            accepted: self.settings.accepted.clone(),
        };
        write(pen, Event::Config(config))?;
        pen.flush().map_err(|fault| house::unflushed(&fault))
    }

    fn no_workspace(&self, fault: &WorkspaceFault) -> Failure {
        let id = self.parent.found.id;
        match fault {
            WorkspaceFault::Missing { .. } => Failure::start(format!(
                "the copy of session {id} is not whole, so none of its turns can be restored"
            )),
            fault => Failure::start(format!("session {id} cannot be forked: {}", causes(fault))),
        }
    }
}

fn write(pen: &Pen, event: Event) -> Result<Seq, Failure> {
    pen.write(event).map_err(|fault| Failure { exit: Exit::Fault, message: causes(&fault) })
}

/// Shares the parent's long outputs: its conversation names their files.
fn link_outputs(parent: &Found, fork: &Found) -> Result<(), Failure> {
    let (from, to) = (site::outputs(parent), site::outputs(fork));
    house::make_readable(&to)?;
    let entries = fs::read_dir(&from).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())) {
        share(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Shares the pictures that the parent's conversation names.
fn link_pictures(parent: &Found, fork: &Found) -> Result<(), Failure> {
    let (from, to) = (Pictures::beside(&parent.log), Pictures::beside(&fork.log));
    let entries = fs::read_dir(from.directory()).into_iter().flatten().flatten();
    for entry in entries {
        house::make_private(to.directory())?;
        share(&entry.path(), &to.directory().join(entry.file_name()))?;
    }
    Ok(())
}

fn share(from: &Path, to: &Path) -> Result<(), Failure> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to)
        .map(drop)
        .map_err(|fault| Failure::fault(format!("cannot copy {}: {fault}", from.display())))
}
