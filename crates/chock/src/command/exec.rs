//! `chock exec`: runs a command in the cage that a tool call would get.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use chock_agent::Stop;
use chock_broker::{Direct, Standing, Verdict};
use chock_config::Flags;
use chock_log::{Action, EndReason, EndedBody, Event, FinishedBody, Outcome, Permit, Proposal};
use chock_policy::{Lineage, Ratchet};
use chock_sandbox::{Call, Ended, Finished, Keeper, Program as Act, SandboxFault};
use chock_workspace::Project;
use serde_json::json;

use crate::counting::Counting;
use crate::exit::{Exit, Failure, causes};
use crate::explain::CageWords;
use crate::found::{self, Found};
use crate::handback;
use crate::house::{self, Beginning};
use crate::program::{Program, new_session};
use crate::pty::Seat;
use crate::settings::{Consent, Settings};
use crate::show::{Show, View};
use crate::signals;
use crate::site::{self, Ground, Site};
use crate::terminal::{Colour, Terminal, Weight};
use crate::visible::visible_line;

/// Chock's own faults, as `env` and the shells number them.
const NOT_CONTAINED: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Run a command in the cage that a tool call would get
///
/// It runs in a fresh copy of the project, which is thrown away at the end. It ends
/// with the command's own status; 125 to 127 are Chock's own faults.
#[derive(Debug, clap::Args)]
pub(crate) struct ExecArgs {
    /// The command and its arguments
    #[arg(
        required_unless_present = "explain",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<OsString>,

    /// Whether it is the cage's own shell instead, for `chock workspace shell`
    #[arg(skip)]
    shell: bool,

    /// Use the copy of this session: its id, or the end of it
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Keep the copy, and say where it is
    #[arg(long)]
    keep: bool,

    /// Say what is mounted, granted and limited, and run nothing
    #[arg(long)]
    explain: bool,

    /// At the end, print one JSON object to standard error; with --explain, to standard output
    #[arg(long)]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, value_name = "DIRECTORY")]
    project: Option<PathBuf>,

    /// Accept what the project's chock.zon asks for, if this is its digest
    #[arg(long, value_name = "DIGEST")]
    accept_project: Option<String>,
}

impl ExecArgs {
    /// A shell in the copy of a session.
    pub(crate) fn shell_in(session: String, project: Option<PathBuf>) -> Self {
        Self {
            command: Vec::new(),
            shell: true,
            session: Some(session),
            keep: false,
            explain: false,
            json: false,
            project,
            accept_project: None,
        }
    }

    /// The command and its arguments.
    fn argv(&self, site: &Site) -> Vec<OsString> {
        if self.shell { vec![site.compiled.shell.clone().into()] } else { self.command.clone() }
    }
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &ExecArgs,
) -> Result<Exit, Failure> {
    caged(program, terminal, args)
        .map_err(|failure| Failure { exit: Exit::Command(NOT_CONTAINED), message: failure.message })
}

fn caged(program: &Program, terminal: &mut Terminal, args: &ExecArgs) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let consent = args.accept_project.as_deref().map_or(Consent::Tell, Consent::Digest);
    let settings = Settings::read(program, &project, Flags::default(), consent, terminal)?;
    let log = Found::at(&program.places.executions(project.root()), new_session()?);
    let found = match &args.session {
        Some(name) => {
            let listed =
                found::session(&program.places.sessions(project.root()), Some(name))?.read()?;
            settings.still_bind(&listed.session)?;
            listed.found
        }
        None => log.clone(),
    };
    let show = Arc::new(Mutex::new(Show::new(
        Terminal::new(Colour::Auto, true, terminal.verbose),
        View::Person,
    )));
    let ground = Ground {
        found: &found,
        resumes: args.session.is_some(),
        allow_dirty: false,
        settings: &settings,
    };
    let mut site = site::prepare(program, &project, &ground, &show)?;
    let mut counting = site.counting.take();
    // What is not counted when the command starts is said when it has ended.
    let mut tell = |terminal: &mut Terminal| {
        if let Some(words) = counting.as_mut().and_then(Counting::words) {
            terminal.say(Weight::Warn, &words);
        }
    };
    tell(terminal);
    let ended = if args.explain {
        explain(terminal, &site, &settings, args)
    } else {
        let work = Work { program, project: &project, settings: &settings, log: &log, args };
        work.execute(terminal, &site)
    };
    tell(terminal);
    drop(counting);
    let Site { workspace, keeper, outputs, .. } = site;
    drop(keeper);
    if args.keep {
        terminal.say(Weight::Quiet, &format!("kept in {}", found.work().display()));
    } else if args.session.is_none() {
        workspace.remove().map_err(|fault| Failure::because(&fault))?;
        // Only an empty directory is left.
        let _ = std::fs::remove_dir_all(outputs);
    }
    ended
}

/// Says what a call of this project would get.
fn explain(
    terminal: &mut Terminal,
    site: &Site,
    settings: &Settings,
    args: &ExecArgs,
) -> Result<Exit, Failure> {
    let cage = CageWords { compiled: &site.compiled, settings, layers: site.keeper.layers() };
    if args.json {
        terminal.answer(&cage.json().to_string())?;
    } else {
        for line in cage.lines() {
            terminal.answer(&visible_line(&line))?;
        }
    }
    Ok(Exit::Finished)
}

/// What one command runs in.
struct Work<'a> {
    program: &'a Program,
    project: &'a Project,
    settings: &'a Settings,
    log: &'a Found,
    args: &'a ExecArgs,
}

impl Work<'_> {
    /// Records, judges and runs the command.
    fn execute(&self, terminal: &mut Terminal, site: &Site) -> Result<Exit, Failure> {
        let opened = house::open_quiet_log(self.program, self.log, self.settings)?;
        let pen = opened.pen.clone();
        let beginning = Beginning {
            project: self.project.root(),
            session: &self.log.id.to_string(),
            settings: self.settings,
            named: None,
        };
        house::begin(&pen, &beginning, site)?;
        let sessions = self.program.places.sessions(self.project.root());
        handback::recover_beside(terminal, (&sessions, self.project), |_| Ok(pen.clone()));
        let standing = Standing {
            table: self.settings.table.clone(),
            lineage: Lineage::main(),
            kept: Ratchet::default(),
            model: String::new(),
        };
        // What may fail without a trace comes before the approval.
        let seated = self.sit_down()?;
        let direct = Direct::new(standing, opened.granter, opened.pen);
        let permit = match direct.judge(self.proposal(site)) {
            Verdict::Permitted(permit) => permit,
            Verdict::Refused(refusal) => return Err(Failure::start(refusal.sentence())),
        };
        let (ended, outcome) = self.call(terminal, &site.keeper, seated, permit)?;
        let body = FinishedBody { call: "exec".to_owned(), tool: "exec".to_owned(), outcome };
        let end = EndedBody { reason: EndReason::Finished, detail: String::new() };
        let written =
            pen.write(Event::ToolFinished(body)).and_then(|_| pen.write(Event::Ended(end)));
        written.and_then(|_| pen.flush()).map_err(|fault| Failure::fault(causes(&fault)))?;
        Ok(ended)
    }

    fn proposal(&self, site: &Site) -> Proposal<Act> {
        let argv = self.args.argv(site);
        let words = argv.iter().map(|word| word.to_string_lossy());
        let effect = words.collect::<Vec<_>>().join(" ");
        let inside = self.program.directory.canonicalize().ok();
        let directory = inside.filter(|path| path.starts_with(self.project.root()));
        let directory = directory.unwrap_or_else(|| self.project.root().to_owned());
        let environment = site.compiled.environment.clone();
        let ground = chock_tools::Ground::new(self.project.root(), &directory, &environment);
        let mut actions = vec![Action::from_static("call.run_command")];
        actions.extend(ground.words(&argv));
        Proposal {
            call: "exec".to_owned(),
            tool: "exec".to_owned(),
            effect,
            act: Act::Command { argv, environment, directory },
            actions,
        }
    }

    /// Listens for signals and takes the streams.
    fn sit_down(&self) -> Result<(Seat, Stop), Failure> {
        let no_descriptor = |fault| Failure::start(format!("no descriptor is left: {fault}"));
        let stop = Stop {
            model: chock_provider::Cancel::new(),
            call: chock_tools::Cancel::new().map_err(no_descriptor)?,
        };
        signals::listen(stop.clone()).map_err(no_descriptor)?;
        let seat = Seat::take(self.program.session_user(), &stop)
            .map_err(|fault| Failure::start(format!("no terminal can be put between: {fault}")))?;
        Ok((seat, stop))
    }

    fn call(
        &self,
        terminal: &mut Terminal,
        keeper: &Keeper,
        (seat, stop): (Seat, Stop),
        permit: Permit<Act>,
    ) -> Result<(Exit, Outcome), Failure> {
        // Somebody sits at a shell, and ends it themselves.
        let wall_time = (!self.args.shell).then(|| self.settings.limits().wall_time);
        let call = Call { stdio: seat.stdio(), wall_time, cancel: &stop.call };
        let (_spent, finished) = chock_sandbox::run(keeper, permit, call);
        drop(seat);
        let finished = finished.map_err(|fault: SandboxFault| Failure::start(causes(&fault)))?;
        if self.args.json {
            terminal.say(Weight::Plain, &as_json(&finished).to_string());
        }
        self.conclude(terminal, &finished)
    }

    fn conclude(
        &self,
        terminal: &mut Terminal,
        finished: &Finished,
    ) -> Result<(Exit, Outcome), Failure> {
        use chock_log::Ended as Told;
        let name = self
            .args
            .command
            .first()
            .map_or_else(|| "the shell".to_owned(), |word| visible_line(&word.to_string_lossy()));
        let (code, told, words) = match finished.ended {
            Ended::Exited(code) => (low_byte(code), Told::Exited(code), None),
            Ended::Signalled(signal) => (low_byte(128 + signal), Told::Signalled(signal), None),
            Ended::NotStarted { step, errno } => {
                let why = io::Error::from_raw_os_error(errno);
                let code = if errno == NOT_THERE { NOT_FOUND } else { NOT_EXECUTABLE };
                (code, Told::Fault, Some(format!("{name} was not started ({step:?}): {why}")))
            }
            Ended::TimedOut => {
                let limit = self.settings.limits().wall_time.as_secs();
                let words =
                    format!("{name} was ended after its limit of {limit} s (limits.time_s)");
                (NOT_CONTAINED, Told::TimedOut(limit), Some(words))
            }
            Ended::Cancelled => (low_byte(130), Told::Cancelled, None),
            Ended::Limit(limit) => {
                let words = format!("{name} was ended by the limit on {}", limit.name());
                (low_byte(137), Told::Limit(limit.name().to_owned()), Some(words))
            }
        };
        if let Some(words) = words {
            terminal.fail(&words);
        }
        let outcome = Outcome::new(told, "").lasting(finished.duration);
        Ok((Exit::Command(code), outcome))
    }
}

/// `ENOENT`, which the kernel answers for a program that is not there.
const NOT_THERE: i32 = 2;

fn low_byte(code: i32) -> u8 {
    u8::try_from(code & 0xff).unwrap_or(u8::MAX)
}

fn as_json(finished: &Finished) -> serde_json::Value {
    let (status, signal, limit) = match finished.ended {
        Ended::Exited(code) => (Some(code), None, None),
        Ended::Signalled(signal) => (None, Some(signal), None),
        Ended::Limit(limit) => (None, None, Some(limit.name())),
        Ended::TimedOut => (None, None, Some("time_s")),
        Ended::NotStarted { .. } | Ended::Cancelled => (None, None, None),
    };
    let layers: Vec<_> = finished.layers.iter().map(|applied| applied.layer.name()).collect();
    json!({ "status": status, "signal": signal, "limit": limit, "denied": [], "layers": layers })
}
