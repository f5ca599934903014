//! `chock apply`: the agent's commits, carried into the project.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use chock_agent::Stop;
use chock_broker::Asker;
use chock_config::{Flags, Identity};
use chock_log::Log;
use chock_workspace::{LandingMode, Project};

use crate::asker::{Memory, PersonAsker};
use crate::board::Board;
use crate::control::{Asked, Reply, Request, beside_the_point};
use crate::exit::{Exit, Failure};
use crate::ferry::{Ferry, Leftover};
use crate::found::{self, Found};
use crate::handback::{self, Bench};

use crate::judge::AtTerminal;
use crate::program::Program;
use crate::report::{PathText, Report};
use crate::settings::{Consent, Settings};
use crate::show::{Show, View};
use crate::site::{self, Ground};
use crate::terminal::{Colour, Terminal, Weight};

/// Carry what the agent committed into the project
///
/// The commits are kept at a ref of the session, and land on your branch when no file of yours
/// is changed and nothing is in the way. It asks nothing; chock undo takes it back.
#[derive(Debug, clap::Args)]
pub(crate) struct ApplyArgs {
    /// The session's id or the end of it; the newest if there is none
    session: Option<String>,

    /// How they land, instead of what chock.zon says
    #[arg(long, value_name = "MODE")]
    mode: Option<Mode>,

    /// Commit what the agent left uncommitted too, with the session's title or this one
    #[arg(
        long, value_name = "TITLE", num_args = 0..=1, require_equals = true,
        default_missing_value = ""
    )]
    commit: Option<String>,

    /// Accept what needs an accept of its own; may be given again
    #[arg(long, value_name = "PATH")]
    accept: Vec<OsString>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, value_name = "DIRECTORY")]
    project: Option<PathBuf>,
}

/// How commits land.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Mode {
    Merge,
    Rebase,
    Squash,
    /// Keep them at the session's ref
    Park,
}

impl From<Mode> for LandingMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Merge => Self::Merge,
            Mode::Rebase => Self::Rebase,
            Mode::Squash => Self::Squash,
            Mode::Park => Self::Park,
        }
    }
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &ApplyArgs,
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let sessions = program.places.sessions(project.root());
    let found = found::session(&sessions, args.session.as_deref())?;
    let accept: Vec<_> = args.accept.iter().map(|word| PathText(word.clone().into_vec())).collect();
    let mode = args.mode.map(LandingMode::from);
    let commit = args.commit.clone().map(|title| Some(title).filter(|title| !title.is_empty()));
    let report = if handback::is_running(&found) {
        if commit.is_some() {
            return Err(Failure::start(
                "the session runs, and --commit takes what it left when it ended: wait for it, or \
                 leave --commit out",
            ));
        }
        let request = Request::Apply { mode, accept };
        let Reply::Report(report) = Asked::connect(found)?.ask(&request)? else {
            return Err(beside_the_point());
        };
        report
    } else {
        here(
            program,
            terminal,
            (&project, found),
            &Wish { mode, accept, commit, is_asked: !args.json },
        )?
    };
    report.tell(terminal, ("wrote", args.json))?;
    let landed = report.commits.as_ref().is_some_and(|commits| !commits.branch.is_empty());
    if !args.json && landed {
        terminal.say(Weight::Quiet, "chock undo takes it out again");
    }
    Ok(exit(&report, mode))
}

/// Refused where they were to land and did not.
fn exit(report: &Report, mode: Option<LandingMode>) -> Exit {
    let is_parked = report.commits.as_ref().is_some_and(|commits| {
        !matches!(commits.parked.as_str(), "" | "not_asked_for" | "already_there")
    });
    if is_parked && mode != Some(LandingMode::Park) { Exit::Refused } else { report.exit() }
}

/// Asks at this terminal, if there is one.
fn asker(
    program: &Program,
    project: &Project,
    (terminal, is_asked): (&Terminal, bool),
) -> Result<Box<dyn Asker>, Failure> {
    let identity = Identity::of(project.root()).map_err(|fault| Failure::because(&fault))?;
    let call = chock_tools::Cancel::new()
        .map_err(|fault| Failure::start(format!("no descriptor is left: {fault}")))?;
    let own = Terminal::new(Colour::Auto, false, terminal.verbose);
    Ok(Box::new(PersonAsker {
        show: Arc::new(Mutex::new(Show::new(own, View::Person))),
        stop: Stop { model: chock_provider::Cancel::new(), call },
        board: Board::default(),
        memory: Memory { store: program.places.answers(), identity },
        at_terminal: terminal.can_ask && is_asked,
    }))
}

/// What is wished for.
struct Wish {
    mode: Option<LandingMode>,
    accept: Vec<PathText>,
    /// Whether the rest is committed too, and under which title.
    commit: Option<Option<String>>,
    /// Whether a person may be asked.
    is_asked: bool,
}

/// Does it in this process, for a session that does not run.
fn here(
    program: &Program,
    terminal: &mut Terminal,
    (project, found): (&Project, Found),
    wish: &Wish,
) -> Result<Report, Failure> {
    let settings = Settings::read(program, project, Flags::default(), Consent::Tell, terminal)?;
    let (session, _) = Log::read(&found.log).map_err(|fault| Failure::because(&fault))?;
    settings.still_bind(&session)?;
    let bench = Bench::open(program, (project, &settings), &found)?;
    let quiet = Terminal::new(Colour::Auto, true, terminal.verbose);
    let show = Arc::new(Mutex::new(Show::new(quiet, View::Person)));
    let ground = Ground { found: &found, resumes: true, allow_dirty: false, settings: &settings };
    let site = site::prepare(program, project, &ground, &show)?;
    let asker = asker(program, project, (terminal, wish.is_asked))?;
    let (ferry, workspace) = Ferry::on(program, &settings, site, bench)?;
    let rest = match &wish.commit {
        None => Leftover::Stays,
        Some(title) => Leftover::IsCommitted(&workspace, title.clone()),
    };
    let mut judge = AtTerminal { direct: ferry.bench.direct.clone(), asker };
    let report = ferry.directly(&mut judge, wish.mode, &wish.accept, rest);
    // The mounts go before the lock of what they show.
    drop(ferry);
    drop(workspace);
    report
}
