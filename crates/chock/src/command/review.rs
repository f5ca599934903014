//! `chock review`: what of a session's work comes into the project.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use chock_config::Flags;
use chock_log::{Log, NoteBody};
use chock_workspace::Direction;
use serde_json::json;

use crate::browse;
use crate::control::{Asked, Reply, Request, beside_the_point};
use crate::exit::{Exit, Failure};
use crate::found::{self, Found};
use crate::handback::{self, Bench};
use crate::program::Program;
use crate::report::{PathText, Report};
use crate::selection::{MODE, Selection};
use crate::settings::{Consent, Settings};
use crate::terminal::{Terminal, Weight};
use crate::visible::visible_line;
use crate::walk;

/// Choose what of a session's work comes into the project
///
/// At a terminal it shows the changes on a full screen, one key each. With options it asks nothing:
/// what is accepted is written, all of it or nothing, and what is rejected is told to the model.
#[derive(Debug, clap::Args)]
pub(crate) struct ReviewArgs {
    /// The session's id or the end of it; the newest if there is none
    session: Option<String>,

    /// Take a file, one change of it, or what is below a directory; may be given again
    #[arg(long, value_name = "PATH[:HUNK]")]
    accept: Vec<OsString>,

    /// Decline it, and tell the model; may be given again
    #[arg(long, value_name = "PATH[:HUNK]")]
    reject: Vec<OsString>,

    /// Take everything that needs no accept of its own
    #[arg(long)]
    all: bool,

    /// Why something is rejected, for the model
    #[arg(long, value_name = "WORDS", requires = "reject")]
    because: Option<String>,

    /// Ask line by line instead of on a full screen
    #[arg(long, conflicts_with = "json")]
    lines: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, value_name = "DIRECTORY")]
    project: Option<PathBuf>,
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &ReviewArgs,
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let sessions = program.places.sessions(project.root());
    let listed = found::session(&sessions, args.session.as_deref())?.read()?;
    let notes = listed.session.notes.as_slice();
    if !args.json {
        say_notes(terminal, notes);
    }
    let Some(sight) = handback::sight(&project, &listed.found, &listed.session, None)? else {
        terminal.say(Weight::Quiet, "nothing to review: no turn of this session is complete");
        return nothing(terminal, notes, args.json);
    };
    let mut selection = args.selection();
    if selection.is_empty() {
        if sight.changes.files.is_empty() {
            let words = match sight.from_start {
                Some(_) => {
                    "nothing to review: all of it was taken before. Where it is not in the project \
                     any more, chock undo makes it reviewable again"
                }
                None => "nothing to review: the session changed nothing",
            };
            terminal.say(Weight::Quiet, words);
            return nothing(terminal, notes, args.json);
        }
        if args.json || !terminal.can_ask {
            return list(terminal, (&sight, notes), args.json);
        }
        let lines = args.lines || program.draws_lines_only();
        let walk = if lines { walk::through } else { browse::through };
        match walk(terminal, &sight)? {
            Some(chosen) => selection = chosen,
            None => return Ok(Exit::Finished),
        }
    }
    selection.snapshot = Some(sight.changes.snapshot.to_string());
    let declined: Vec<_> = selection.reject.iter().map(|(path, _)| path.clone()).collect();
    let asker = Asker { program, project: &project, found: &listed.found };
    let mut report = asker.report(terminal, Request::Review { selection })?;
    report.memory = notes.to_vec();
    report.tell(terminal, ("wrote", args.json))?;
    if !args.json && report.refused.is_empty() {
        for path in declined {
            let path = visible_line(&String::from_utf8_lossy(&path.0));
            terminal.say(Weight::Plain, &format!("declined {path}"));
        }
    }
    if !args.json && !report.written.is_empty() {
        terminal.say(Weight::Quiet, "chock undo takes it out again");
    }
    Ok(report.exit())
}

impl ReviewArgs {
    fn selection(&self) -> Selection {
        let path = |word: &OsString| PathText(word.clone().into_vec());
        let because = self.because.clone().unwrap_or_default();
        Selection {
            snapshot: None,
            all: self.all,
            accept: self.accept.iter().map(path).collect(),
            reject: self.reject.iter().map(|word| (path(word), because.clone())).collect(),
        }
    }
}

/// Says which notes for later sessions the session wrote: no review takes or declines them.
fn say_notes(terminal: &mut Terminal, notes: &[NoteBody]) {
    for NoteBody { name, kind, description, .. } in notes {
        let line = format!("this session wrote the note {name} ({kind}): {description}");
        terminal.say(Weight::Warn, &visible_line(&line));
        let cure = format!("    chock memory show {name}, or chock memory remove {name}");
        terminal.say(Weight::Quiet, &visible_line(&cure));
    }
}

fn nothing(terminal: &mut Terminal, notes: &[NoteBody], json: bool) -> Result<Exit, Failure> {
    if json {
        let report = Report { memory: notes.to_vec(), ..Report::default() };
        report.tell(terminal, ("", true))?;
    }
    Ok(Exit::Finished)
}

/// Says what there is to review, with the names of its changes.
fn list(
    terminal: &mut Terminal,
    (sight, notes): (&handback::Sight, &[NoteBody]),
    json: bool,
) -> Result<Exit, Failure> {
    if json {
        let left = handback::everything(&sight.changes);
        let report = Report { left, memory: notes.to_vec(), ..Report::default() };
        let mut object = serde_json::to_value(&report).map_err(|fault| Failure::because(&fault))?;
        object["files"] = json!(sight.changes.files);
        terminal.answer(&object.to_string())?;
        return Ok(Exit::Finished);
    }
    for file in &sight.changes.files {
        terminal.answer(&walk::headline(file))?;
        for flag in &file.flags {
            terminal.answer(&format!("  {}", flag.words()))?;
        }
        if file.has_parts() {
            let path = visible_line(&String::from_utf8_lossy(&file.path));
            if file.old_mode != file.new_mode {
                let (old, new) = (file.old_mode, file.new_mode);
                terminal.answer(&format!("  {path}:{MODE} {old:06o} -> {new:06o}"))?;
            }
            for hunk in &file.hunks {
                terminal.answer(&format!("  {path}:{} line {}", hunk.id, hunk.new_start))?;
            }
        }
    }
    terminal.say(Weight::Quiet, "take them with --accept, --reject or --all, or at a terminal");
    Ok(Exit::Finished)
}

/// Has something done to the project by whoever owns the session's log.
pub(crate) struct Asker<'a> {
    pub(crate) program: &'a Program,
    pub(crate) project: &'a chock_workspace::Project,
    pub(crate) found: &'a Found,
}

impl Asker<'_> {
    /// Asks the owner of a running session, or does it here.
    pub(crate) fn report(
        &self,
        terminal: &mut Terminal,
        request: Request,
    ) -> Result<Report, Failure> {
        if handback::is_running(self.found) {
            let Reply::Report(report) = Asked::connect(self.found.clone())?.ask(&request)? else {
                return Err(beside_the_point());
            };
            return Ok(report);
        }
        let (program, project) = (self.program, self.project);
        let settings = Settings::read(program, project, Flags::default(), Consent::Tell, terminal)?;
        let (session, _) = Log::read(&self.found.log).map_err(|fault| Failure::because(&fault))?;
        settings.still_bind(&session)?;
        let bench = Bench::open(program, (project, &settings), self.found)?;
        match request {
            Request::Review { selection } => bench.review(&selection),
            Request::Undo { steps } => bench.turn_back(Direction::Undo, steps),
            Request::Redo { steps } => bench.turn_back(Direction::Redo, steps),
            Request::Tasks
            | Request::TaskOutput { .. }
            | Request::TaskStop { .. }
            | Request::Question
            | Request::Apply { .. }
            | Request::Answer { .. } => {
                Err(Failure::fault("only the owner of a running session can say this"))
            }
        }
    }
}
