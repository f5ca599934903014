//! Carries the agent's commits into the project: out of one cage, through another, and then as an
//! act that is judged.

mod choosing;
mod rest;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chock_broker::{Cause, Offer, Refusal, Verdict};
use chock_config::ApplyMode;
use chock_log::{Action, Permit, Proposal};
use chock_sandbox::{Keeper, KeeperOptions, Program as Act};
use chock_tools::cage::{self, Host};
use chock_tools::commits::{self, Check, CommitsFault, Taken};
use chock_workspace::{
    Carried, Combined, Dock, Docked, Landed, LandingMode, Layout, Moved, Named, Parked, Planned,
    ProjectGit, Shelf, Stand, Workspace,
};
use rest::Load;
pub(crate) use rest::{COMMIT, Leftover};

use crate::exit::{Failure, causes};
use crate::handback::{self, Bench, Wanted};
use crate::judge::{Judge, TOOL};
use crate::program::Program;
use crate::report::{PathText, RefusedRow, Report};
use crate::settings::Settings;
use crate::site::Site;
use crate::visible::visible_line;

/// Variables of the person's that a program for signatures needs.
const SIGNING: [&str; 10] = [
    "SSH_AUTH_SOCK",
    "GNUPGHOME",
    "GPG_TTY",
    "TERM",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "LANG",
];

/// The longest patch that a question shows.
const PATCH_BYTES_MAX: usize = 64 << 10;

/// What carrying a session's commits needs.
pub(crate) struct Ferry {
    pub(crate) bench: Bench,
    /// The session's own cage.
    keeper: Arc<Keeper>,
    environment: Vec<(OsString, OsString)>,
    shell: PathBuf,
    layout: Layout,
    /// The commit that the session started from.
    start: Option<String>,
    /// For the cage that checks.
    options: KeeperOptions,
    host: Host,
    mode: ApplyMode,
    variables: Vec<(OsString, OsString)>,
}

impl std::fmt::Debug for Ferry {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Ferry").field("bench", &self.bench).finish_non_exhaustive()
    }
}

/// What is asked for.
#[derive(Debug, Default, Clone)]
pub(crate) struct Ask<'a> {
    /// The agent's call, if one asks.
    pub(crate) call: String,
    pub(crate) reason: String,
    /// How to land, where somebody said.
    pub(crate) mode: Option<LandingMode>,
    /// Flagged paths that are accepted.
    pub(crate) named: Named,
    /// Whether a run's end offers them: what a person declined there is not offered again.
    pub(crate) is_offer: bool,
    /// What becomes of what is not committed.
    pub(crate) rest: Leftover<'a>,
}

const NOTHING_NEW: &str = "there is no commit that the project does not have";

/// What came of it.
#[derive(Debug)]
pub(crate) enum Ferried {
    /// There is nothing to carry.
    Nothing,
    /// It was done, or something stood in the way.
    Report(Box<Report>),
    Refused(Box<Refusal>),
    /// A person declined these very commits before.
    Declined,
}

/// A step that may end the whole with a refusal.
type Step<T> = Result<Result<T, Box<Refusal>>, Failure>;

impl Ferry {
    /// Takes what is needed out of a site and the settings of its session.
    pub(crate) fn new(
        program: &Program,
        settings: &Settings,
        (site, keeper): (&Workspace, Arc<Keeper>),
        (environment, shell): (Vec<(OsString, OsString)>, PathBuf),
        bench: Bench,
    ) -> Result<Self, Failure> {
        let variable = |name: &&str| {
            let name = OsString::from(name);
            program.variables.get(&name).map(|value| (name.clone(), value.clone()))
        };
        let options = KeeperOptions { warm: 0, ..program.keeper_options()? };
        Ok(Self {
            bench,
            keeper,
            environment,
            shell,
            layout: site.layout().clone(),
            start: site.start_commit().map(str::to_owned),
            options,
            host: program.host(),
            mode: settings
                .effective
                .project
                .apply
                .as_ref()
                .map(|mode| mode.value)
                .unwrap_or_default(),
            variables: SIGNING.iter().filter_map(variable).collect(),
        })
    }

    /// The same for a site that is there for this alone.
    pub(crate) fn on(
        program: &Program,
        settings: &Settings,
        site: Site,
        bench: Bench,
    ) -> Result<(Self, Workspace), Failure> {
        let Site { workspace, keeper, compiled, .. } = site;
        let keeper = Arc::new(keeper);
        let cage = (compiled.environment, compiled.shell);
        let ferry = Self::new(program, settings, (&workspace, keeper), cage, bench)?;
        Ok((ferry, workspace))
    }

    /// Carries what the session committed.
    pub(crate) fn carry(&self, judge: &mut dyn Judge, ask: &Ask<'_>) -> Result<Ferried, Failure> {
        let ended = self.carry_steps(judge, ask)?;
        let ended = match (ended, &ask.rest) {
            (Err(refusal), Leftover::IsOffered(workspace)) if matches!(&refusal.cause, Cause::Instead(word) if word == COMMIT) =>
            {
                let rest = Leftover::IsCommitted(workspace, None);
                self.carry_steps(judge, &Ask { rest, ..ask.clone() })?
            }
            (ended, _) => ended,
        };
        Ok(ended.unwrap_or_else(Ferried::Refused))
    }

    /// The same on the person's own word.
    pub(crate) fn directly(
        &self,
        judge: &mut dyn Judge,
        mode: Option<LandingMode>,
        accept: &[PathText],
        rest: Leftover<'_>,
    ) -> Result<Report, Failure> {
        let named = accept.iter().map(|path| path.0.clone()).collect();
        let ask = Ask { mode, named, rest, ..Ask::default() };
        match self.carry(judge, &ask)? {
            Ferried::Report(report) => Ok(*report),
            Ferried::Nothing | Ferried::Declined => {
                let notes = vec![NOTHING_NEW.to_owned()];
                Ok(Report { notes, ..Report::default() })
            }
            Ferried::Refused(refusal) => {
                Err(Failure { exit: crate::Exit::Refused, message: refusal.sentence() })
            }
        }
    }

    fn carry_steps(&self, judge: &mut dyn Judge, ask: &Ask<'_>) -> Step<Ferried> {
        let project = &self.bench.project;
        let fault = |fault| Failure::because(&fault);
        if self.layout.project_git == ProjectGit::None {
            return Ok(Ok(Ferried::Nothing));
        }
        let taken = match self.take(judge)? {
            Ok(taken) => taken,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let is_commit = matches!(ask.rest, Leftover::IsCommitted(..));
        match &taken {
            Taken::Nothing if !is_commit => return Ok(Ok(Ferried::Nothing)),
            Taken::Commits { head, .. } if ask.is_offer && !is_commit => {
                if self.bench.pen.session(|session| session.declined.contains(head)) {
                    return Ok(Ok(Ferried::Declined));
                }
            }
            Taken::Nothing | Taken::Commits { .. } => {}
        }
        let (mut shelf, notes) = self.bench.shelf()?;
        let mut report = Report { notes, ..Report::default() };
        let stand = Stand::of(project).map_err(fault)?;
        let load = match self.load(judge, (ask, &stand), taken)? {
            Ok(load) => load,
            Err(refusal) => return Ok(Err(refusal)),
        };
        load.tell(&mut report);
        let Some(head) = load.head.as_deref() else {
            report.notes.push("there is nothing to carry".to_owned());
            return Ok(Ok(Ferried::Report(Box::new(report))));
        };
        let ways = self.ways(judge, ask, &stand);
        report.notes.extend(ways.note);
        let landed = self.landed(&shelf)?;
        let (start, ours) = (self.start.as_deref(), stand.commit.as_deref());
        let dock = Dock::make(&self.bench.found.work(), project).map_err(fault)?;
        let title = self.landing_title(ask);
        let session = self.bench.found.id.to_string();
        let mut ready = Vec::new();
        for mode in ways.modes {
            let wanted = Check { head, start, ours, landed: &landed, mode };
            let combined = match self.check(judge, &wanted, &load.pack)? {
                Ok(combined) => combined,
                Err(refusal) => return Ok(Err(refusal)),
            };
            if combined.commits.is_empty() {
                return Ok(Ok(nothing_new(report, is_commit)));
            }
            let wish = self.wish(ask, (&session, title.as_deref()), mode);
            ready.push(dock.ready(project, (start, &stand), &combined, &wish).map_err(fault)?);
        }
        let (docked, is_chosen) = match &ready[..] {
            [_] => (ready.swap_remove(0), false),
            _ => match self.choose(judge, (&mut shelf, &dock), ready, (ask, &load))? {
                Ok(chosen) => chosen,
                Err(refusal) => return Ok(Err(refusal)),
            },
        };
        // Who chose one of them has said yes to it.
        let mut direct = self.bench.direct.clone();
        let lander: &mut dyn Judge = if is_chosen { &mut direct } else { judge };
        let carried = (&mut shelf, &dock, docked);
        if let Err(refusal) = self.land(lander, carried, (ask, &load), &mut report)? {
            return Ok(Err(refusal));
        }
        self.follow(judge, &load, &mut report);
        Ok(Ok(Ferried::Report(Box::new(report))))
    }

    /// What of the session, and of those it hangs from, landed as other commits.
    fn landed(&self, shelf: &Shelf) -> Result<Vec<Landed>, Failure> {
        let found = &self.bench.found;
        let above = found.ancestors().into_iter().map(|one| one.id);
        let sessions: Vec<_> =
            std::iter::once(found.id).chain(above).map(|id| id.to_string()).collect();
        shelf.landed(&sessions).map_err(|fault| Failure::because(&fault))
    }

    /// The title of what lands as one commit.
    fn landing_title(&self, ask: &Ask<'_>) -> Option<String> {
        match &ask.rest {
            Leftover::IsCommitted(_, Some(title)) => Some(title.clone()),
            Leftover::IsCommitted(_, None) | Leftover::IsOffered(_) | Leftover::Stays => {
                self.bench.pen.session(|session| session.title.clone())
            }
        }
    }

    /// Packs the commits in the session's cage.
    fn take(&self, judge: &mut dyn Judge) -> Step<Taken> {
        let cage = (&self.environment[..], self.shell.as_path());
        let act = commits::take(&self.layout.project, self.start.as_deref(), cage);
        let permit = match self.permit(judge, act, "pack the session's commits, in its own cage") {
            Ok(permit) => permit,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let (_spent, taken) = commits::carry_out_take(&self.keeper, permit);
        taken.map(Ok).map_err(|fault| not_carried(&fault))
    }

    /// Checks and combines them in a cage of their own.
    fn check(&self, judge: &mut dyn Judge, wanted: &Check<'_>, pack: &[u8]) -> Step<Combined> {
        let incoming = Incoming::write(&self.bench.found.work(), pack)?;
        let shallow = self.bench.project.shallow().map_err(|fault| Failure::because(&fault))?;
        let compiled = cage::checking(&self.layout, &self.host, &incoming.0, shallow);
        let cage = (&compiled.environment[..], compiled.shell.as_path());
        let act = commits::check(wanted, cage);
        let effect =
            "check the session's commits in a cage of their own, and combine them with yours";
        let permit = match self.permit(judge, act, effect) {
            Ok(permit) => permit,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let keeper = Keeper::start(&self.options, &compiled.cage);
        let keeper = keeper.map_err(|fault| Failure::because(&fault))?;
        let (_spent, combined) = commits::carry_out_check(&keeper, permit, wanted.head);
        combined
            .map(Ok)
            .map_err(|fault| Failure { exit: crate::Exit::Refused, message: causes(&fault) })
    }

    /// What a person who is asked may have instead.
    fn offers(
        &self,
        dock: &Dock,
        (docked, ask): (&Docked, &Ask<'_>),
    ) -> Result<Vec<Offer>, Failure> {
        let Leftover::IsOffered(workspace) = &ask.rest else { return Ok(Vec::new()) };
        let words = match self.count_rest(workspace, dock, (docked.head(), ask))? {
            0 => return Ok(Vec::new()),
            1 => "commit the 1 file that the agent did not, and ask again".to_owned(),
            count => format!("commit the {count} files that the agent did not, and ask again"),
        };
        Ok(vec![Offer { word: COMMIT.to_owned(), words }])
    }

    fn permit(
        &self,
        judge: &mut dyn Judge,
        act: Act,
        effect: &str,
    ) -> Result<Permit<Act>, Box<Refusal>> {
        let actions = vec![Action::from_static("call.request_action")];
        let (call, tool, effect) = (String::new(), TOOL.to_owned(), effect.to_owned());
        match judge.program(Proposal { call, tool, act, actions, effect }) {
            Verdict::Permitted(permit) => Ok(permit),
            Verdict::Refused(refusal) => Err(Box::new(refusal)),
        }
    }

    /// Plans, has it judged, and does it. What cannot land is kept at the session's ref.
    fn land(
        &self,
        judge: &mut dyn Judge,
        (shelf, dock, docked): (&mut Shelf, &Dock, Docked),
        (ask, load): (&Ask<'_>, &Load),
        report: &mut Report,
    ) -> Step<()> {
        let session = self.bench.found.id.to_string();
        let plan = |shelf: &mut Shelf, docked: &Docked| {
            let planned = shelf.plan_commits(&self.bench.project, (dock, &session), docked);
            planned.map_err(|fault| Failure::because(&fault))
        };
        let conflicts = docked.conflicts.iter();
        report.notes.extend(conflicts.map(|words| format!("in the way of landing: {words}")));
        let mut docked = docked;
        let mut planned = plan(shelf, &docked)?;
        if let (Planned::Refused(refused), true) = (&planned, docked.refused.is_empty()) {
            let rows = refused.iter();
            report.notes.extend(rows.map(|row| {
                format!("in the way of landing: {}: {}", handback::lossy(&row.path), row.reason)
            }));
            docked = docked.park(Parked::DirtyTree);
            planned = plan(shelf, &docked)?;
        }
        let act = match planned {
            Planned::Refused(refused) => {
                report.refused = handback::rows(refused);
                return Ok(Ok(()));
            }
            Planned::Ready(act) => *act,
        };
        let Some(moved) = act.refs() else { return Ok(Ok(())) };
        if docked.is_known() {
            shelf.forget_unapproved().map_err(|fault| Failure::because(&fault))?;
            report.commits = Some(handback::commits(moved));
            report.notes.push("the session's ref has these commits already".to_owned());
            return Ok(Ok(()));
        }
        let offers = if judge.can_ask() { self.offers(dock, (&docked, ask))? } else { Vec::new() };
        let landing = landing_lines(&moved);
        let effect = effect(&session, (&moved, &landing), (&docked, dock), (ask, load))?;
        let is_made = load.rested.as_ref().is_some_and(|rested| rested.commit.is_some());
        let also = is_made.then(|| Action::from_static("workspace.commit"));
        let wanted = Wanted { act, call: ask.call.clone(), effect, also, offers };
        match self.bench.carry_once(judge, shelf, wanted, report)? {
            Err(refusal) => Ok(Err(Box::new(refusal))),
            Ok(Carried::Whole { .. }) => Ok(Ok(())),
            Ok(Carried::Nothing { path, why, .. }) => {
                let moved = path.starts_with(b"refs/heads/").then_some(Parked::BranchMoved);
                let reason = moved.map_or(why.clone(), |moved| format!("{why} ({})", moved.word()));
                let path = PathText(path);
                report.refused = vec![RefusedRow { path, reason, conflict: None }];
                Ok(Ok(()))
            }
        }
    }
}

/// Ends an apply without commits. Of a commit of the rest it is said what stays out.
fn nothing_new(mut report: Report, is_commit: bool) -> Ferried {
    if !is_commit {
        return Ferried::Nothing;
    }
    report.notes.push(NOTHING_NEW.to_owned());
    Ferried::Report(Box::new(report))
}

/// Ends an apply whose commits did not pass.
fn not_carried(fault: &CommitsFault) -> Failure {
    Failure { exit: crate::Exit::Refused, message: causes(fault) }
}

/// Says what would become of the branch.
fn landing_lines(moved: &Moved) -> [String; 1] {
    let short = |id: &Option<String>| {
        id.as_deref().map_or_else(|| "nothing".to_owned(), |id| id.chars().take(10).collect())
    };
    [match (&moved.branch, moved.parked) {
        (Some(branch), _) => {
            let (mode, name) = (moved.mode.word(), &branch.name);
            let (from, to) = (short(&branch.from), short(&branch.to));
            format!("and land them on {name} by {mode}: {from} -> {to}")
        }
        (None, Some(parked)) => {
            format!("and leave every branch as it is: {parked} ({})", parked.word())
        }
        (None, None) => "and leave every branch as it is".to_owned(),
    }]
}

/// Says what would be done: the refs, the commits, and what they change.
fn effect(
    session: &str,
    (moved, landing): (&Moved, &[String]),
    (docked, dock): (&Docked, &Dock),
    (ask, load): (&Ask<'_>, &Load),
) -> Result<String, Failure> {
    let count = match moved.commits {
        1 => "1 commit".to_owned(),
        count => format!("{count} commits"),
    };
    let mut lines = vec![format!("carry {count} of session {session} to {}", moved.kept.name)];
    lines.extend_from_slice(landing);
    if !ask.reason.is_empty() {
        lines.push(format!("because, it says: {}", visible_line(&ask.reason)));
    }
    lines.extend(docked.told.iter().map(|(id, subject)| format!("{id} {}", visible_line(subject))));
    if moved.commits > docked.told.len() as u64 {
        lines.push(format!("and {} more", moved.commits - docked.told.len() as u64));
    }
    lines.extend(load.left_out());
    let stat = docked.changes.stat();
    lines.push(format!("{} files changed, +{} -{}", stat.files, stat.added, stat.removed));
    let patch = dock.patch(&docked.changes).map_err(|fault| Failure::because(&fault))?;
    if patch.len() <= PATCH_BYTES_MAX {
        lines.push(String::from_utf8_lossy(&patch).trim_end().to_owned());
    } else {
        let files = docked.changes.files.iter().take(1000);
        lines.extend(files.map(|file| {
            let (added, removed) = (file.added_lines(), file.removed_lines());
            let path = visible_line(&handback::lossy(&file.path));
            format!("{path} (+{added} -{removed})")
        }));
        lines.push(format!("chock diff shows all of it: {} bytes", patch.len()));
    }
    Ok(lines.join("\n"))
}

/// Seconds since 1970, and minutes east of Greenwich.
fn now() -> (i64, i32) {
    let now = jiff::ZonedDateTime::now();
    (now.timestamp().as_second(), now.offset().seconds() / 60)
}

/// A pack on its way from one cage to the other, removed with the value.
struct Incoming(PathBuf);

impl Incoming {
    fn write(work: &Path, pack: &[u8]) -> Result<Self, Failure> {
        let path = work.join("incoming.pack");
        let fault = |fault: std::io::Error| {
            Failure::fault(format!("cannot write {}: {fault}", path.display()))
        };
        match fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(fault(source));
            }
            Ok(()) | Err(_) => {}
        }
        // The cage's user reads it; nobody else enters the directory.
        let mut options = fs::OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(0o644).open(&path);
        let written = opened.and_then(|mut file| {
            file.set_permissions(fs::Permissions::from_mode(0o644))?;
            file.write_all(pack)
        });
        written.map_err(fault)?;
        Ok(Self(path))
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // What cannot be removed goes with the session.
        let _left = fs::remove_file(&self.0);
    }
}
