//! Carries a session's work into the project, and out again: the records, the judgement and
//! the act, for a command and for the owner of a running session alike.

use std::path::{Path, PathBuf};

use chock_broker::{Direct, Offer, Refusal, Standing, Verdict};
use chock_log::{
    Action, CarriedBody, CommitsBody, DiffReviewedBody, Event, Log, Pen, Proposal, ReviewedFile,
    Running, Seq, Session,
};
use chock_policy::{Lineage, Ratchet};
use chock_workspace::{
    Carriage, Carried, ChangeSet, Choice, Direction, FileChange, HandBack, HandBackFault, Moved,
    Planned, Project, Recovered, Refused, Shelf, Store, Take, TreeId,
};

use crate::exit::{Failure, causes};
use crate::found::Found;
use crate::house;
use crate::judge::Judge;
use crate::program::Program;
use crate::report::{PathText, RefusedRow, Report};
use crate::selection::{Decided, LeftOut, Selection};
use crate::settings::Settings;
use crate::terminal::{Terminal, Weight};
use crate::visible::visible_line;

/// The most paths of one list in a record.
const RECORDED_MAX: usize = 1_000;

/// How often a hand-back is tried while somebody writes the same files.
const ATTEMPTS_MAX: u32 = 4;

/// What hand-backs of one session are done with.
#[derive(Debug, Clone)]
pub(crate) struct Bench {
    pub(crate) project: Project,
    /// The session whose log is written.
    pub(crate) found: Found,
    /// The directory of the project's sessions.
    pub(crate) sessions: PathBuf,
    pub(crate) pen: Pen,
    pub(crate) direct: Direct,
}

/// What there is to review.
pub(crate) struct Sight {
    pub(crate) store: Store,
    /// From what the project has of it already to the snapshot.
    pub(crate) changes: ChangeSet,
    /// From where the session started, when that is not the same.
    pub(crate) from_start: Option<ChangeSet>,
}

/// Names the place of a project's hand-backs.
pub(crate) fn place(sessions: &Path) -> PathBuf {
    sessions.join("handback")
}

/// Finds what there is to review. `None` before the first complete turn.
pub(crate) fn sight(
    project: &Project,
    found: &Found,
    session: &Session,
    snapshot: Option<&str>,
) -> Result<Option<Sight>, Failure> {
    let Some((start, newest)) = trees(session)? else { return Ok(None) };
    let snapshot = snapshot.map_or(Ok(newest), parse)?;
    let store = Store::open(&found.work()).map_err(|fault| Failure::because(&fault))?;
    let place = place(found.log.parent().unwrap_or(Path::new("/")));
    let accepted = |found: &Found| {
        Shelf::accepted_in(&place, &found.id.to_string()).map_err(|fault| Failure::because(&fault))
    };
    let mut taken = accepted(found)?;
    // Looking for the sessions that it hangs from reads their logs.
    let above = if taken.is_none() { found.ancestors() } else { Vec::new() };
    for ancestor in above {
        let Some(theirs) = accepted(&ancestor)? else { continue };
        // What cannot be compared any more is shown again.
        let other = Store::open(&ancestor.work()).ok();
        let shared =
            other.and_then(|other| store.shared_with((start, snapshot), (&other, theirs)).ok());
        taken = Some(shared.unwrap_or(start));
        break;
    }
    let accepted = taken.unwrap_or(start);
    let read = |base| {
        let mut changes =
            store.changes(base, snapshot).map_err(|fault| Failure::because(&fault))?;
        changes.flag_hooks(project);
        Ok::<_, Failure>(changes)
    };
    let changes = read(accepted)?;
    let from_start = if accepted == start { None } else { Some(read(start)?) };
    Ok(Some(Sight { store, changes, from_start }))
}

/// Finds the two trees in the records: where the session started, and its last snapshot.
pub(crate) fn trees(session: &Session) -> Result<Option<(TreeId, TreeId)>, Failure> {
    let (Some(workspace), Some(snapshot)) = (&session.workspace, &session.snapshot) else {
        return Ok(None);
    };
    let start = workspace.start_tree.as_ref().unwrap_or(&workspace.base_tree);
    Ok(Some((parse(start)?, parse(&snapshot.tree)?)))
}

fn parse(text: &str) -> Result<TreeId, Failure> {
    text.parse().map_err(|fault| Failure::because(&fault))
}

/// Finishes or rolls back what an earlier process left half done, and records it.
pub(crate) fn recover(
    sessions: &Path,
    project: &Project,
    pen: &Pen,
) -> Result<Option<String>, Failure> {
    let place = place(sessions);
    if !Shelf::is_unsettled(&place) {
        return Ok(None);
    }
    let (shelf, recovered) =
        Shelf::open(&place, project).map_err(|fault| Failure::because(&fault))?;
    recovered.map(|recovered| settle(&shelf, pen, &recovered)).transpose()
}

/// The same for a command that does its own work whatever comes of it: it is said, and no more.
pub(crate) fn recover_beside(
    terminal: &mut Terminal,
    (sessions, project): (&Path, &Project),
    pen: impl FnOnce(&mut Terminal) -> Result<Pen, Failure>,
) {
    if !Shelf::is_unsettled(&place(sessions)) {
        return;
    }
    match pen(terminal).and_then(|pen| recover(sessions, project, &pen)) {
        Ok(words) => {
            words.iter().for_each(|words| {
                terminal.say(Weight::Warn, &visible_line(&format!("note: {words}")));
            });
        }
        Err(failure) => {
            let words = "an apply, review, undo or redo is under way or was cut short, and is not settled now";
            let line = format!("note: {words}: {}", failure.message);
            terminal.say(Weight::Warn, &visible_line(&line));
        }
    }
}

/// Records what became of an act that was cut short.
fn settle(shelf: &Shelf, pen: &Pen, recovered: &Recovered) -> Result<String, Failure> {
    let (what, why) = if recovered.finished {
        ("is finished now", String::new())
    } else {
        (
            "is rolled back now: nothing of it is in the project",
            "an earlier run was cut short".to_owned(),
        )
    };
    let body = CarriedBody {
        approval: None,
        step: recovered.step,
        session: recovered.session.clone(),
        direction: recovered.direction.word().to_owned(),
        done: recovered.finished,
        paths: recovered.paths.iter().take(RECORDED_MAX).map(|path| lossy(path)).collect(),
        count: recovered.paths.len() as u64,
        why,
        commits: None,
    };
    write(pen, event(recovered.direction, body))?;
    shelf.settle().map_err(|fault| Failure::because(&fault))?;
    let word = recovered.direction.word();
    let kept = match recovered.kept.is_empty() {
        true => String::new(),
        false => format!("; {}", kept_words(&recovered.kept)),
    };
    Ok(format!("an earlier {word} was cut short, and {what}{kept}"))
}

impl Bench {
    /// Opens the session's log, which nobody owns, for what a person does.
    pub(crate) fn open(
        program: &Program,
        (project, settings): (&Project, &Settings),
        found: &Found,
    ) -> Result<Self, Failure> {
        let opened = house::open_quiet_log(program, found, settings)?;
        let standing = Standing {
            table: settings.table.clone(),
            lineage: Lineage::main(),
            kept: Ratchet::default(),
            model: String::new(),
        };
        let direct = Direct::new(standing, opened.granter, opened.pen.clone());
        let sessions = program.places.sessions(project.root());
        let (project, found) = (project.clone(), found.clone());
        Ok(Self { project, found, sessions, pen: opened.pen, direct })
    }

    /// Carries what a selection takes, and records what it declines.
    pub(crate) fn review(&self, selection: &Selection) -> Result<Report, Failure> {
        let (mut shelf, notes) = self.shelf()?;
        let session = self.pen.session(Clone::clone);
        let snapshot = selection.snapshot.as_deref();
        let Some(mut sight) = sight(&self.project, &self.found, &session, snapshot)? else {
            return Err(Failure::start("no turn of this session is complete: nothing to review"));
        };
        let decided = selection
            .resolve(&mut sight.changes, sight.from_start.as_ref())
            .map_err(Failure::start)?;
        let mut report = Report { notes, ..Report::default() };
        let left_out = decided.left_out.iter();
        report.notes.extend(left_out.map(|LeftOut { path, words, carriage }| {
            let cure = match carriage {
                Carriage::Refused => "it is never carried",
                Carriage::Plain | Carriage::Flagged => "--accept it by its name",
            };
            format!("left out: {} ({words}); {cure}", lossy(path))
        }));
        report.left = left(&sight.changes, &decided.choice);
        if decided.choice.is_empty() {
            if !decided.declined.is_empty() {
                let tree = sight.changes.base;
                report.record = Some(self.record_review(&sight.changes, &decided, tree)?.0);
            }
            return Ok(report);
        }
        let picked = sight.store.pick(&sight.changes, &decided.choice);
        let picked = picked.map_err(|fault| Failure::start(causes(&fault)))?;
        let id = self.found.id.to_string();
        let plan = |shelf: &mut Shelf| {
            shelf.plan(&self.project, (&sight.store, &id), &picked, &decided.named)
        };
        match plan(&mut shelf).map_err(|fault| Failure::because(&fault))? {
            Planned::Refused(refused) => {
                report.refused = rows(refused);
                report.left = everything(&sight.changes);
            }
            Planned::Ready(act) => {
                let seq = self.record_review(&sight.changes, &decided, picked.tree)?;
                report.record = Some(seq.0);
                self.carry(&mut shelf, *act, &mut |shelf| plan(shelf).map(Some), &mut report)?;
            }
        }
        Ok(report)
    }

    /// Takes the last hand-backs out of the project again, or puts them back in.
    pub(crate) fn turn_back(&self, direction: Direction, steps: u32) -> Result<Report, Failure> {
        let (mut shelf, notes) = self.shelf()?;
        let mut report = Report { notes, ..Report::default() };
        for number in 0..steps {
            let mut plan = |shelf: &mut Shelf| match direction {
                Direction::Undo => shelf.plan_undo(&self.project),
                Direction::Redo | Direction::Apply => shelf.plan_redo(&self.project),
            };
            match plan(&mut shelf).map_err(|fault| Failure::because(&fault))? {
                None if number == 0 => {
                    return Err(Failure::start(format!(
                        "there is nothing to {}",
                        direction.word()
                    )));
                }
                None => break,
                Some(Planned::Refused(refused)) => {
                    report.refused = rows(refused);
                    break;
                }
                Some(Planned::Ready(act)) => {
                    self.carry(&mut shelf, *act, &mut plan, &mut report)?;
                }
            }
            if !report.refused.is_empty() {
                break;
            }
        }
        Ok(report)
    }

    /// Takes the shelf, and settles what an earlier run left.
    pub(crate) fn shelf(&self) -> Result<(Shelf, Vec<String>), Failure> {
        let place = place(&self.sessions);
        let (shelf, recovered) =
            Shelf::open(&place, &self.project).map_err(|fault| Failure::because(&fault))?;
        let note = recovered.map(|recovered| settle(&shelf, &self.pen, &recovered)).transpose()?;
        Ok((shelf, note.into_iter().collect()))
    }

    /// Judges and does one act, again when somebody wrote at the same time.
    fn carry(
        &self,
        shelf: &mut Shelf,
        first: HandBack,
        plan: &mut dyn FnMut(&mut Shelf) -> Result<Option<Planned>, HandBackFault>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let mut act = first;
        for attempt in 1.. {
            if act.is_empty() && act.direction() == Direction::Apply {
                report.notes.push("what was taken is in the project already".to_owned());
                return Ok(());
            }
            let wanted = Wanted::files(act);
            let carried = self.carry_once(&mut self.direct.clone(), shelf, wanted, report)?;
            let carried = carried.map_err(|refusal| Failure {
                exit: crate::Exit::Refused,
                message: refusal.sentence(),
            })?;
            let Carried::Nothing { path, why, others, kept } = carried else { return Ok(()) };
            report.notes.extend(
                others.iter().map(|path| format!("{} is as somebody wrote it", lossy(path))),
            );
            report.notes.extend(kept.iter().map(|path| kept_words(std::slice::from_ref(path))));
            let again = if attempt < ATTEMPTS_MAX {
                plan(shelf).map_err(|fault| Failure::because(&fault))?
            } else {
                None
            };
            match again {
                Some(Planned::Ready(next)) => act = *next,
                Some(Planned::Refused(refused)) => {
                    report.refused = rows(refused);
                    return Ok(());
                }
                None => {
                    let path = PathText(path);
                    report.refused = vec![RefusedRow { path, reason: why, conflict: None }];
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Judges and does one act, and records what came of it.
    pub(crate) fn carry_once(
        &self,
        judge: &mut dyn Judge,
        shelf: &mut Shelf,
        wanted: Wanted,
        report: &mut Report,
    ) -> Result<Result<Carried, Refusal>, Failure> {
        let Wanted { act, call, effect, also, offers } = wanted;
        let told = Told::of(&act);
        let proposal = Proposal {
            call,
            tool: told.direction.word().to_owned(),
            effect,
            act,
            actions: std::iter::once(Action::from_static("workspace.apply")).chain(also).collect(),
        };
        let permit = match judge.hand_back(proposal, offers) {
            Verdict::Permitted(permit) => permit,
            Verdict::Refused(refusal) => {
                shelf.forget_unapproved().map_err(|fault| Failure::because(&fault))?;
                return Ok(Err(refusal));
            }
        };
        let (spent, carried) = chock_workspace::apply(permit, shelf, &self.project);
        let (done, why) = match &carried {
            Ok(Carried::Whole { .. }) => (true, String::new()),
            Ok(Carried::Nothing { path, why, .. }) => (false, format!("{}: {why}", lossy(path))),
            Err(fault) => (false, causes(fault)),
        };
        let body = told.body(Some(spent.approval), (done, why));
        let seq = write(&self.pen, event(told.direction, body))?;
        let carried = carried.map_err(|fault| Failure::fault(causes(&fault)))?;
        shelf.settle().map_err(|fault| Failure::because(&fault))?;
        if let Carried::Whole { forgotten, kept } = &carried {
            report.record = Some(seq.0);
            report.written.extend(told.paths.iter().cloned().map(PathText));
            report.commits.clone_from(&told.commits);
            if *forgotten > 0 {
                report.notes.push(format!("{forgotten} old hand-backs can no longer be undone"));
            }
            report.notes.extend(kept.iter().map(|path| kept_words(std::slice::from_ref(path))));
        }
        Ok(Ok(carried))
    }

    fn record_review(
        &self,
        changes: &ChangeSet,
        decided: &Decided,
        tree: TreeId,
    ) -> Result<Seq, Failure> {
        let file = |path: &[u8]| changes.files.iter().find(|file| file.path == path);
        let accepted = decided.choice.paths().filter_map(|path| {
            let hunks = match decided.choice.of(path)? {
                Take::Whole => None,
                Take::Parts { hunks, .. } => Some(hunks.iter().map(ToString::to_string).collect()),
            };
            Some(reviewed(file(path)?, hunks, ""))
        });
        let declined = decided.declined.iter().filter_map(|declined| {
            Some(reviewed(file(&declined.path)?, declined.hunks.clone(), &declined.because))
        });
        let (accepted, declined): (Vec<_>, Vec<_>) =
            (accepted.take(RECORDED_MAX).collect(), declined.take(RECORDED_MAX).collect());
        let is_decided = |file: &&FileChange| {
            decided.choice.of(&file.path).is_some()
                || decided.declined.iter().any(|declined| declined.path == file.path)
        };
        let left = changes.files.iter().filter(|file| !is_decided(file)).count() as u64;
        let body = DiffReviewedBody {
            base: changes.base.to_string(),
            snapshot: changes.snapshot.to_string(),
            tree: tree.to_string(),
            accepted,
            declined,
            left,
            by: "person".to_owned(),
        };
        write(&self.pen, Event::DiffReviewed(body))
    }
}

/// An act that is wanted.
pub(crate) struct Wanted {
    pub(crate) act: HandBack,
    /// The call that asks for it, if one does.
    pub(crate) call: String,
    pub(crate) effect: String,
    /// What it takes besides `workspace.apply`.
    pub(crate) also: Option<Action>,
    /// What a person who is asked may have instead.
    pub(crate) offers: Vec<Offer>,
}

impl Wanted {
    fn files(act: HandBack) -> Self {
        let word = act.direction().word();
        let effect = format!("{word} {} files of the project", act.paths().count());
        Self { act, call: String::new(), effect, also: None, offers: Vec::new() }
    }
}

/// What is recorded of an act after it was done.
struct Told {
    step: u64,
    session: String,
    direction: Direction,
    paths: Vec<Vec<u8>>,
    commits: Option<CommitsBody>,
}

impl Told {
    fn of(act: &HandBack) -> Self {
        Self {
            step: act.number(),
            session: act.session().to_owned(),
            direction: act.direction(),
            paths: act.paths().map(<[u8]>::to_vec).collect(),
            commits: act.refs().map(commits),
        }
    }

    fn body(&self, approval: Option<Seq>, (done, why): (bool, String)) -> CarriedBody {
        CarriedBody {
            approval,
            step: self.step,
            session: self.session.clone(),
            direction: self.direction.word().to_owned(),
            done,
            paths: self.paths.iter().take(RECORDED_MAX).map(|path| lossy(path)).collect(),
            count: self.paths.len() as u64,
            why,
            commits: self.commits.clone(),
        }
    }
}

/// What a record and a report say of refs.
pub(crate) fn commits(moved: Moved) -> CommitsBody {
    let Moved { kept, branch, mode, parked, commits } = moved;
    let head = kept.to.or(kept.from).unwrap_or_default();
    let (branch, from, to) = branch.map_or_else(Default::default, |moved| {
        (moved.name, moved.from.unwrap_or_default(), moved.to.unwrap_or_default())
    });
    let parked = parked.map(|parked| parked.word().to_owned()).unwrap_or_default();
    let mode = mode.word().to_owned();
    CommitsBody { count: commits, kept: kept.name, head, mode, branch, from, to, parked }
}

/// Says whether the session's owner has to be asked instead.
pub(crate) fn is_running(found: &Found) -> bool {
    Log::running(&found.log) == Running::Yes
}

fn event(direction: Direction, body: CarriedBody) -> Event {
    match direction {
        Direction::Apply => Event::Applied(body),
        Direction::Undo | Direction::Redo => Event::Undone(body),
    }
}

fn write(pen: &Pen, event: Event) -> Result<Seq, Failure> {
    let written = pen.write(event).and_then(|seq| pen.flush().map(|()| seq));
    written.map_err(|fault| Failure::fault(causes(&fault)))
}

fn reviewed(file: &FileChange, hunks: Option<Vec<String>>, because: &str) -> ReviewedFile {
    let (path, hash, because) = (lossy(&file.path), file.new_id.clone(), because.to_owned());
    ReviewedFile { path, hash, hunks, because }
}

pub(crate) fn rows(refused: Vec<Refused>) -> Vec<RefusedRow> {
    let row = |refused: Refused| RefusedRow {
        path: PathText(refused.path),
        reason: refused.reason,
        conflict: refused.conflict.map(|text| String::from_utf8_lossy(&text).into_owned()),
    };
    refused.into_iter().map(row).collect()
}

/// The paths of which something is not chosen.
fn left(changes: &ChangeSet, choice: &Choice) -> Vec<PathText> {
    let is_left = |file: &&FileChange| choice.of(&file.path) != Some(&Take::Whole);
    changes.files.iter().filter(is_left).map(|file| PathText(file.path.clone())).collect()
}

/// The paths of every change.
pub(crate) fn everything(changes: &ChangeSet) -> Vec<PathText> {
    changes.files.iter().map(|file| PathText(file.path.clone())).collect()
}

fn kept_words(kept: &[PathBuf]) -> String {
    let paths: Vec<_> = kept.iter().map(|path| path.display().to_string()).collect();
    match paths.len() {
        0 => String::new(),
        _ => format!("what somebody wrote at the same time is kept in {}", paths.join(", ")),
    }
}

pub(crate) fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
