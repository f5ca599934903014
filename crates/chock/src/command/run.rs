//! `chock run`: gives the agent a task, or goes on with a session.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use chock_agent::Finish;
use chock_config::Flags;
use chock_log::{EndReason, Log, Session};
use chock_tools::Shown;

use crate::exit::{Exit, Failure};
use crate::found::{self, Found};
use crate::house::{self, Plan};
use crate::nearby;
use crate::program::{Program, new_session};
use crate::settings::{Consent, Settings};
use crate::show::{Show, View, usage_words};
use crate::spare::Spares;
use crate::speaker;
use crate::terminal::{Terminal, Weight};
use crate::told;
use crate::visible::visible_line;

/// The most bytes of a message from a pipe. Source: the format's earlier version.
const MESSAGE_BYTES_MAX: u64 = 4 << 20;

/// The most pictures with one message.
const IMAGES_MAX: usize = 8;

/// Give the agent a task, or go on with a session
///
/// The agent works in a copy of the project's last commit. Its words go to standard
/// output, what it does to standard error.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// What to do, in your words; `-` reads them from standard input
    pub(crate) message: Vec<OsString>,

    /// Go on with the newest session of this project
    #[arg(long = "continue", conflicts_with = "session")]
    go_on: bool,

    /// Go on with this session: its id, or the end of it
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Print the session's records as they are written, one JSON object a line
    #[arg(long)]
    json: bool,

    /// Start from uncommitted and untracked files too
    #[arg(long)]
    allow_dirty: bool,

    /// Show the agent this picture with your words: PNG, JPEG, GIF or WebP; may be given again
    #[arg(long = "image", value_name = "FILE")]
    images: Vec<PathBuf>,

    #[command(flatten)]
    going: Going,
}

/// Options of every command that has a model go on.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Going {
    /// The provider, by its name in config.zon
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// The model, as its provider spells it
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// The project, if it is not the current directory
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) project: Option<PathBuf>,

    /// Tell the agent what stands in this file as well; may be given again
    #[arg(long, value_name = "FILE")]
    instructions: Vec<PathBuf>,

    /// Make room first: have earlier turns told as a summary
    #[arg(long)]
    compact: bool,

    /// Tell the agent nothing but what is said and done: no time, no budget, no reminders
    #[arg(long)]
    no_notices: bool,

    /// Stop after this many replies of the model
    #[arg(long, value_name = "COUNT")]
    max_turns: Option<u32>,

    /// Accept what the project's chock.zon asks for, if it has this digest
    #[arg(long, value_name = "DIGEST")]
    pub(crate) accept_project: Option<String>,
}

impl RunArgs {
    /// The words that go on with a session.
    pub(crate) fn in_session(
        session: String,
        message: Vec<OsString>,
        going: Going,
        json: bool,
    ) -> Self {
        Self {
            message,
            go_on: false,
            session: Some(session),
            json,
            allow_dirty: false,
            images: Vec::new(),
            going,
        }
    }
}

pub(crate) fn run(
    program: &Program,
    mut terminal: Terminal,
    args: &RunArgs,
) -> (Option<Terminal>, Result<Exit, Failure>) {
    let prepared = match prepare(program, &mut terminal, args) {
        Ok(prepared) => prepared,
        Err(failure) => return (Some(terminal), Err(failure)),
    };
    let Prepared { project, plan } = prepared;
    let found = plan.found.clone();
    let view = if args.json { View::Records } else { View::Person };
    announce(&mut terminal, &plan);
    let show = Arc::new(Mutex::new(Show::new(terminal, view)));
    let ended = house::run(program, &project, plan, &show);
    let mut terminal = match Arc::into_inner(show).and_then(|show| show.into_inner().ok()) {
        Some(show) => show.terminal,
        None => return (None, ended.map(|finish| finish.reason.into())),
    };
    let ended = ended.map(|finish| {
        conclude(&mut terminal, &found, &finish);
        finish.reason.into()
    });
    (Some(terminal), ended)
}

/// A run with everything decided and nothing started.
struct Prepared {
    project: chock_workspace::Project,
    plan: Plan,
}

fn prepare(
    program: &Program,
    terminal: &mut Terminal,
    args: &RunArgs,
) -> Result<Prepared, Failure> {
    let resumes = args.go_on || args.session.is_some();
    let message = message(args, resumes)?;
    let project = program.project(args.going.project.as_deref())?;
    let sessions = program.places.sessions(project.root());
    let found = if resumes {
        found::session(&sessions, args.session.as_deref())?
    } else {
        Found::at(&sessions, new_session()?)
    };
    let earlier = resumes.then(|| Log::read(&found.log)).transpose();
    let earlier = earlier.map_err(|fault| Failure::because(&fault))?.map(|(session, _)| session);
    if let Some(session) = &earlier
        && message.is_none()
    {
        still_owed(&found, session)?;
    }
    let pictures = pictures(program, args, message.is_some())?;
    let flags = Flags {
        provider: args.going.provider.clone(),
        model: args.going.model.clone(),
        max_turns: args.going.max_turns,
    };
    let consent = args.going.accept_project.as_deref().map_or(Consent::Ask, Consent::Digest);
    let mut settings = configured(program, &project, flags, consent, terminal)?;
    if let Some(session) = &earlier {
        settings.still_bind(session)?;
    }
    let speaker = speaker::choose(&program.places, &settings)?;
    settings.permits_model(&speaker.provider, &speaker.name)?;
    if !pictures.is_empty() {
        takes_pictures(&settings, &speaker.provider)?;
    }
    settings.lent = speaker.lent;
    if settings.effective.person.defaults.reviewer.is_some() {
        let reviewer = speaker::reviewer(&program.places, &settings)?;
        settings.permits_model(&reviewer.provider, &reviewer.name)?;
        settings.lent.extend(reviewer.lent);
    }
    let names = (speaker.provider.as_str(), speaker.name.as_str());
    let spares = Spares::prepare(program, &mut settings, names, terminal);
    let plan = Plan {
        found,
        resumes,
        message,
        pictures,
        model: speaker.model,
        provider: speaker.provider,
        model_name: speaker.name,
        spares,
        settings,
        allow_dirty: args.allow_dirty,
        directory: directory(program, args, project.root()),
        instructions: instructions(program, args),
        compacts: args.going.compact,
        notices: !args.going.no_notices,
        options: options(args),
        asks: terminal.can_ask && !args.json,
    };
    Ok(Prepared { project, plan })
}

/// Says where in the project the session works from.
fn directory(program: &Program, args: &RunArgs, root: &Path) -> PathBuf {
    let started = program.directory.join(args.going.project.as_deref().unwrap_or(".".as_ref()));
    let started = started.canonicalize().ok().filter(|started| started.starts_with(root));
    started.unwrap_or_else(|| root.to_owned())
}

/// Reads the settings, and once more when a person with none took what was offered.
fn configured(
    program: &Program,
    project: &chock_workspace::Project,
    flags: Flags,
    consent: Consent<'_>,
    terminal: &mut Terminal,
) -> Result<Settings, Failure> {
    let settings = Settings::read(program, project, flags.clone(), consent, terminal)?;
    if settings.effective.person.providers.is_empty() && nearby::offer(program, terminal)? {
        return Settings::read(program, project, flags, consent, terminal);
    }
    Ok(settings)
}

/// Refuses to go on with a session that owes nothing, before anything is started.
fn still_owed(found: &Found, session: &Session) -> Result<(), Failure> {
    if matches!(chock_agent::next(session), chock_agent::Next::Done(EndReason::Finished)) {
        return Err(Failure::start(format!(
            "session {} has nothing left to do; say what comes next: chock run --session {} \"...\"",
            found.id, found.id
        )));
    }
    Ok(())
}

/// Joins the words, or reads them from a pipe.
fn message(args: &RunArgs, resumes: bool) -> Result<Option<String>, Failure> {
    let from_input = args.message.last().is_some_and(|word| word == "-");
    let words =
        if from_input { &args.message[..args.message.len() - 1] } else { &args.message[..] };
    let mut texts = Vec::new();
    for word in words {
        let text = word.to_str().ok_or_else(|| Failure::start("the message is not UTF-8 text"))?;
        texts.push(text.to_owned());
    }
    let mut text = texts.join(" ");
    let piped = args.message.is_empty() && !resumes && !io::stdin().is_terminal();
    if from_input || piped {
        let input = read_input()?;
        text = if text.is_empty() { input } else { format!("{text}\n\n{input}") };
    }
    if text.trim().is_empty() {
        if resumes && args.message.is_empty() {
            return Ok(None);
        }
        return Err(Failure::start("the message is empty; say what to do: chock run \"...\""));
    }
    Ok(Some(text.trim_end().to_owned()))
}

fn read_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MESSAGE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|fault| Failure::start(format!("cannot read the message: {fault}")))?;
    if bytes.len() as u64 > MESSAGE_BYTES_MAX {
        return Err(Failure::start(format!("the message is over {MESSAGE_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| Failure::start("the message is not UTF-8 text"))
}

/// Refuses to show pictures to models that nobody said take them.
fn takes_pictures(settings: &Settings, provider: &str) -> Result<(), Failure> {
    if settings.takes_pictures(provider) {
        return Ok(());
    }
    Err(Failure::start(format!(
        "the models of `{}` are shown no pictures; if they take them, write \
         .capabilities = .{{ .images = true }} in its row of config.zon",
        visible_line(provider)
    )))
}

/// Reads the pictures that the command line names.
fn pictures(program: &Program, args: &RunArgs, has_words: bool) -> Result<Vec<Shown>, Failure> {
    if !args.images.is_empty() && !has_words {
        return Err(Failure::start("a picture needs words with it: say what to do"));
    }
    if args.images.len() > IMAGES_MAX {
        return Err(Failure::start(format!("{IMAGES_MAX} pictures are the most at a time")));
    }
    args.images.iter().map(|path| told::picture(&program.directory.join(path))).collect()
}

/// Names the files of instructions that the command line names.
fn instructions(program: &Program, args: &RunArgs) -> Vec<PathBuf> {
    args.going.instructions.iter().map(|path| program.directory.join(path)).collect()
}

/// Lists the options that shape the run, for its record.
fn options(args: &RunArgs) -> Vec<String> {
    let mut options = Vec::new();
    if args.allow_dirty {
        options.push("--allow-dirty".to_owned());
    }
    if args.going.compact {
        options.push("--compact".to_owned());
    }
    if args.going.no_notices {
        options.push("--no-notices".to_owned());
    }
    options.extend(args.images.iter().map(|path| format!("--image={}", path.display())));
    let named = args.going.instructions.iter();
    options.extend(named.map(|path| format!("--instructions={}", path.display())));
    let valued = [
        ("--provider", args.going.provider.clone()),
        ("--model", args.going.model.clone()),
        ("--max-turns", args.going.max_turns.map(|count| count.to_string())),
        ("--accept-project", args.going.accept_project.clone()),
    ];
    options
        .extend(valued.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?))));
    options
}

/// Names the session before it starts.
fn announce(terminal: &mut Terminal, plan: &Plan) {
    let verb = if plan.resumes { "going on with" } else { "session" };
    let line = format!(
        "{verb} {} · {} · {}",
        plan.found.id,
        plan.provider,
        visible_line(&plan.model_name)
    );
    terminal.say(Weight::Quiet, &line);
    if terminal.verbose {
        terminal.say(Weight::Quiet, &format!("log {}", plan.found.log.display()));
    }
}

/// Says how the run ended, what it used, and what can be done now.
fn conclude(terminal: &mut Terminal, found: &Found, finish: &Finish) {
    let Ok((session, _)) = Log::read(&found.log) else { return };
    let word = super::sessions::reason_word(finish.reason);
    let weight = if finish.reason == EndReason::Finished { Weight::Good } else { Weight::Bad };
    let detail = visible_line(&finish.detail);
    let line = if detail.is_empty() { word.to_owned() } else { format!("{word}: {detail}") };
    terminal.say(weight, &line);
    terminal.say(Weight::Quiet, &usage_words(&session));
    if let Some(words) = super::diff::summary_words(found, &session) {
        terminal.say(Weight::Plain, &words);
    }
    if let Some(hint) = hint(finish.reason) {
        terminal.say(Weight::Quiet, hint);
    }
}

/// Says what a person can do after an end that is not a good one.
fn hint(reason: EndReason) -> Option<&'static str> {
    match reason {
        EndReason::Finished | EndReason::Other | EndReason::LogFull => None,
        EndReason::Refused => Some("another wording may be answered: chock run --continue \"...\""),
        EndReason::Budget => Some("raise budget in chock.zon, then: chock run --continue"),
        EndReason::AuditGap => {
            Some("nothing is lost; when the sink can be written: chock run --continue")
        }
        EndReason::Cancelled | EndReason::Fault | EndReason::TurnLimit | EndReason::RateLimited => {
            Some("nothing is lost; to go on: chock run --continue")
        }
        EndReason::NoProgress | EndReason::EmptyAnswer => {
            Some("to go on with more words: chock run --continue \"...\"")
        }
    }
}
