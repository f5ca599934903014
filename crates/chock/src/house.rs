//! Builds everything that a session needs, in order, and runs the agent in it.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chock_agent::{
    Agent, Bounds, Fallback, Finish, Gallery, House, Sight, Stop, Surroundings, system_prompt,
};
use chock_broker::{Broker, People, Standing};
use chock_config::Identity;
use chock_log::{
    ConfigBody, Event, Granter, Log, LogError, Observer, Opened, Options, Pen, Pictures, Redactor,
    StartBody, UserBody, WorkspaceBody,
};
use chock_policy::Lineage;
use chock_provider::{Model, Scripted};
use chock_tools::{Notebook, Setup, Shown, Tools, Walls};
use chock_workspace::{Halves, Project, Workspace};
use jiff::ZonedDateTime;

use crate::asker::{Memory, PersonAsker};
use crate::audit::{Audit, Tell};
use crate::board::Board;
use crate::control::{Control, Desk};
use crate::counting::Counting;
use crate::errand::Errand;
use crate::exit::{Exit, Failure, causes};
use crate::ferry::Ferry;
use crate::found::Found;
use crate::handback::{self, Bench};
use crate::instructions::{self, Told};
use crate::kept;
use crate::keys;
use crate::program::{Program, clock};
use crate::reviewer::{MakeModel, ModelReviewer};
use crate::settings::Settings;
use crate::show::Show;
use crate::signals;
use crate::site::{self, Ground, Site};
use crate::spare::Spares;
use crate::speaker;
use crate::terminal::{Colour, Terminal, Weight};
use crate::told::{facts, with_pictures};

/// What one run of a session is made from.
pub(crate) struct Plan {
    /// Where the session's files are.
    pub(crate) found: Found,
    /// Whether the session was there before.
    pub(crate) resumes: bool,
    /// The person's words, if they said any, and the pictures that belong to them.
    pub(crate) message: Option<String>,
    pub(crate) pictures: Vec<Shown>,
    pub(crate) model: Box<dyn Model>,
    pub(crate) provider: String,
    pub(crate) model_name: String,
    /// What is being learned of the model, and who answers in its place.
    pub(crate) spares: Spares,
    pub(crate) settings: Settings,
    /// Whether the session starts from uncommitted work.
    pub(crate) allow_dirty: bool,
    /// Where the session works from, in the project.
    pub(crate) directory: PathBuf,
    /// Files of instructions that the person named for this run.
    pub(crate) instructions: Vec<PathBuf>,
    /// Whether earlier turns are summed up first.
    pub(crate) compacts: bool,
    /// Whether the agent is told facts.
    pub(crate) notices: bool,
    /// The options as typed, for the record.
    pub(crate) options: Vec<String>,
    /// Whether a person can be asked.
    pub(crate) asks: bool,
}

/// Runs one session to its end.
///
/// What a new session left on disk is removed again when it could not start.
pub(crate) fn run(
    program: &Program,
    project: &Project,
    plan: Plan,
    show: &Arc<Mutex<Show>>,
) -> Result<Finish, Failure> {
    let (found, resumes) = (plan.found.clone(), plan.resumes);
    let mut started = false;
    let finish = start_and_run(program, project, plan, show, &mut started);
    if finish.is_err() && !resumes && !started {
        remove_session(&found);
    }
    finish
}

/// Removes the files of a session that never began. What cannot be removed is only space.
pub(crate) fn remove_session(found: &Found) {
    let _ = fs::remove_dir_all(found.work());
    let _ = fs::remove_dir_all(site::outputs(found));
    let _ = fs::remove_dir_all(found.control());
    let _ = fs::remove_dir_all(Pictures::beside(&found.log).directory());
    let _ = fs::remove_file(&found.log);
}

fn start_and_run(
    program: &Program,
    project: &Project,
    mut plan: Plan,
    show: &Arc<Mutex<Show>>,
    started: &mut bool,
) -> Result<Finish, Failure> {
    let Opened { pen, granter, torn_bytes } = open_log(program, &plan, show)?;
    if torn_bytes > 0 {
        warn(
            show,
            &format!("the log ended in a record cut short; {torn_bytes} bytes were removed"),
        );
    }
    let sessions = program.places.sessions(project.root());
    if let Some(words) = handback::recover(&sessions, project, &pen)? {
        warn(show, &words);
    }
    let ground = Ground {
        found: &plan.found,
        resumes: plan.resumes,
        allow_dirty: plan.allow_dirty,
        settings: &plan.settings,
    };
    let mut site = site::prepare(program, project, &ground, show)?;
    let mut counting = site.counting.take();
    let told = told(program, project, &plan, &site, show)?;
    *started = true;
    plan.settings.files.extend(told.files.clone());
    let named = Named { provider: &plan.provider, model: &plan.model_name, options: &plan.options };
    let beginning = Beginning {
        project: project.root(),
        session: &plan.found.id.to_string(),
        settings: &plan.settings,
        named: Some(named),
    };
    begin(&pen, &beginning, &site)?;
    let stop = stoppable()?;
    let names = (plan.provider.as_str(), plan.model_name.as_str());
    let spares = std::mem::take(&mut plan.spares);
    let fallbacks = spares.ready(&pen, names, plan.model.as_mut())?;
    let control_place = plan.found.control();
    let board = Board::default();
    let people = people(program, project, &plan, (show, &stop, &board))?;
    let (found, sessions) = (plan.found.clone(), program.places.sessions(project.root()));
    let counted = counting.as_ref().map(Counting::so_far).unwrap_or_default();
    let writing = Writing { pen, granter, stop, people, told, fallbacks, counted };
    let compacts = plan.compacts;
    let place = (project.clone(), found, sessions);
    let (house, message, ferry) = furnish(program, place, plan, (site, writing), show)?;
    let ferry = Some(ferry);
    let desk = Desk { tasks: house.tools.tasks(), board, ferry };
    let control = Control::open(&control_place, desk);
    if let Some(counting) = &mut counting {
        counting.tell(show);
    }
    let mut agent = Agent::new(house).compacting(compacts);
    if let Err(fault) = &control {
        let words = "chock tasks, approve and review cannot reach this session: no control socket";
        warn(show, &format!("{words}: {fault}"));
    }
    let finish = agent.run(message);
    // The log has its owner until the agent is gone: another owner's socket is never removed.
    drop(control);
    Ok(finish)
}

/// Makes what stops the run, and has signals trigger it.
fn stoppable() -> Result<Stop, Failure> {
    let stop = Stop {
        model: chock_provider::Cancel::new(),
        call: chock_tools::Cancel::new()
            .map_err(|fault| Failure::start(format!("no descriptor is left: {fault}")))?,
    };
    signals::listen(stop.clone())
        .map_err(|fault| Failure::start(format!("cannot listen for signals: {fault}")))?;
    Ok(stop)
}

/// The two ends of an open log, and what stops the run that writes it.
struct Writing {
    pen: Pen,
    granter: Granter,
    stop: Stop,
    people: People,
    told: Told,
    fallbacks: Vec<Fallback>,
    /// How many files of the project the copy is without, so far as they are counted.
    counted: Arc<AtomicU64>,
}

/// Gathers what the agent is told of how to work, and says what was left out.
fn told(
    program: &Program,
    project: &Project,
    plan: &Plan,
    site: &Site,
    show: &Arc<Mutex<Show>>,
) -> Result<Told, Failure> {
    let places = instructions::Places {
        config: &program.places.config,
        workspace: &site.workspace,
        settings: &plan.settings,
        directory: plan.directory.strip_prefix(project.root()).unwrap_or(Path::new("")),
        named: &plan.instructions,
    };
    let mut told = instructions::gather(&places)?;
    told.learn(&places, &program.places.packaged_skills)?;
    if plan.settings.allows("read_memory", "call.read_memory") {
        told.remember(&Notebook::at(program.places.notes(project.root())));
    }
    told.notes.iter().for_each(|note| warn(show, note));
    Ok(told)
}

/// Finds out who can be asked: a person here or at another terminal, and a reviewing model.
fn people(
    program: &Program,
    project: &Project,
    plan: &Plan,
    seen: (&Arc<Mutex<Show>>, &Stop, &Board),
) -> Result<People, Failure> {
    let (show, stop, board) = seen;
    let identity = Identity::of(project.root()).map_err(|fault| Failure::because(&fault))?;
    let memory = Memory { store: program.places.answers(), identity };
    let asker = PersonAsker {
        show: show.clone(),
        stop: stop.clone(),
        board: board.clone(),
        memory,
        at_terminal: plan.asks,
    };
    let (places, settings) = (program.places.clone(), plan.settings.clone());
    let make: MakeModel = Box::new(move || Ok(speaker::reviewer(&places, &settings)?.model));
    let reviewer = ModelReviewer { make, cancel: stop.model.clone() };
    Ok(People { asker: Box::new(asker), reviewer: Box::new(reviewer) })
}

/// A house, the person's first words, and what carries work out of it.
type Furnished<'a> = (House<'a>, Option<UserBody>, Arc<Ferry>);

fn furnish<'a>(
    program: &Program,
    (project, found, sessions): (Project, Found, PathBuf),
    plan: Plan,
    (site, writing): (Site, Writing),
    show: &'a Arc<Mutex<Show>>,
) -> Result<Furnished<'a>, Failure> {
    let Plan { message, pictures, model, model_name, settings, directory, notices, .. } = plan;
    let is_shown = settings.takes_pictures(&plan.provider);
    let gallery = Gallery { pictures: Pictures::beside(&found.log), is_shown };
    let message = with_pictures(message, &pictures, &gallery)?;
    let counted = writing.counted;
    let uncommitted = Box::new(move || counted.load(Ordering::Relaxed));
    let (stop, mut told) = (writing.stop, writing.told);
    told.mask(&writing.pen.redactor());
    let cage = (site.compiled.environment.clone(), site.compiled.shell.clone());
    let kept = writing.pen.session(|session| session.promises.clone());
    let (table, lineage) = (settings.table.clone(), Lineage::main());
    let standing = Standing { table, lineage, kept, model: model_name };
    let tools = Tools::new(Setup {
        keeper: site.keeper,
        project: project.root().to_owned(),
        directory: directory.clone(),
        walls: Walls::of(&site.compiled.cage, project.root()).naming(kept::rows(
            &site.workspace,
            project.root(),
            &settings.effective.denied,
        )),
        environment: site.compiled.environment,
        shell: site.compiled.shell,
        outputs: site.outputs,
        times: settings.times(),
        redactor: writing.pen.redactor(),
        images: is_shown,
        notebook: Notebook::at(program.places.notes(project.root())),
        skills: std::mem::take(&mut told.skills),
    });
    let started = writing.pen.session(|session| session.started);
    let facts = facts((project.root(), &directory), started, &tools, told);
    let pen = writing.pen;
    let broker = Broker::new(standing, writing.granter, pen.clone(), writing.people);
    let (direct, log) = (broker.direct(), pen.clone());
    let bench = Bench { project, found, sessions, pen: log, direct };
    let held = (&site.workspace, tools.keeper());
    let ferry = Arc::new(Ferry::new(program, &settings, held, cage, bench)?);
    let house = House {
        broker,
        pen,
        tools,
        model,
        fallbacks: writing.fallbacks,
        errands: Box::new(Errand { ferry: ferry.clone(), workspace: site.workspace }),
        watcher: Box::new(move |sight: Sight<'_>| {
            show.lock().expect("invariant: nobody panics while showing").sight(&sight);
        }),
        stop,
        system: system_prompt(&facts),
        bounds: Bounds { turns: Some(settings.max_turns()), budget: settings.budget() },
        gallery,
        notices: notices.then(|| Surroundings { clock: Box::new(ZonedDateTime::now), uncommitted }),
    };
    Ok((house, message, ferry))
}

/// Opens the session's log, with its records going to the screen and to the audit sinks.
fn open_log(program: &Program, plan: &Plan, show: &Arc<Mutex<Show>>) -> Result<Opened, Failure> {
    let key = keys::redaction_key(&program.places.data)?;
    let redactor = Redactor::new(plan.settings.lent.iter().cloned(), key);
    let (teller, seen) = (show.clone(), show.clone());
    show.lock().expect("invariant: nobody panics while showing").guard(redactor.clone());
    let observer: Observer = Box::new(move |record, line| {
        seen.lock().expect("invariant: nobody panics while showing").record(record, line);
    });
    let watch = Watch {
        redactor,
        observer: Some(observer),
        tell: Box::new(move |words| warn(&teller, words)),
    };
    open_watched(program, &plan.found, &plan.settings, watch)
}

/// Opens the log of a command that no screen follows.
pub(crate) fn open_quiet_log(
    program: &Program,
    found: &Found,
    settings: &Settings,
) -> Result<Opened, Failure> {
    let tell: Tell = Box::new(|words| {
        Terminal::new(Colour::Auto, true, false).say(Weight::Warn, &format!("note: {words}"));
    });
    let redactor = Redactor::new([], keys::redaction_key(&program.places.data)?);
    open_watched(program, found, settings, Watch { redactor, observer: None, tell })
}

/// Who sees what is written, and what they do not see.
struct Watch {
    redactor: Redactor,
    observer: Option<Observer>,
    tell: Tell,
}

/// Opens a log, and closes what its audit sinks lack of it before anything is done.
fn open_watched(
    program: &Program,
    found: &Found,
    settings: &Settings,
    watch: Watch,
) -> Result<Opened, Failure> {
    make_private(found.log.parent().unwrap_or(Path::new("/")))?;
    let sinks = settings.effective.sinks();
    let Watch { redactor, observer, tell } = watch;
    let courier = Audit::of(&program.places, found, &sinks, tell);
    let options = Options { clock: clock(), redactor, observer, courier };
    let opened = Log::open(&found.log, options).map_err(|fault| Failure::because(&fault))?;
    opened.pen.flush().map_err(|fault| unflushed(&fault))?;
    Ok(opened)
}

/// Says why records could not be made sure of.
pub(crate) fn unflushed(fault: &LogError) -> Failure {
    let exit = match fault {
        LogError::AuditGap(_) => Exit::AuditGap,
        _ => Exit::Fault,
    };
    Failure { exit, message: causes(fault) }
}

/// Who answers in a run.
pub(crate) struct Named<'a> {
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
    pub(crate) options: &'a [String],
}

/// What the first records say of a session.
pub(crate) struct Beginning<'a> {
    pub(crate) project: &'a Path,
    pub(crate) session: &'a str,
    pub(crate) settings: &'a Settings,
    /// Absent where no model answers.
    pub(crate) named: Option<Named<'a>>,
}

/// Writes what the session is, before anything is done in it.
pub(crate) fn begin(pen: &Pen, beginning: &Beginning<'_>, site: &Site) -> Result<(), Failure> {
    let Beginning { project, session, settings, named } = beginning;
    let (workspace, named) = (&site.workspace, named.as_ref());
    let mut events = Vec::new();
    if pen.session(|session| session.start.is_none()) {
        events.push(Event::Start(StartBody {
            session: (*session).to_owned(),
            project: project.display().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            agent_kind: "main".to_owned(),
        }));
    }
    events.push(Event::Config(ConfigBody {
        provider: named.map_or("", |named| named.provider).to_owned(),
        model: named.map_or("", |named| named.model).to_owned(),
        files: settings.files.clone(),
        options: named.map(|named| named.options.to_vec()).unwrap_or_default(),
        layers: site.layers.clone(),
        accepted: settings.accepted.clone(),
    }));
    events.push(Event::WorkspaceOpened(workspace_body(workspace)));
    for event in events {
        pen.write(event).map_err(|fault| Failure::fault(causes(&fault)))?;
    }
    pen.flush().map_err(|fault| unflushed(&fault))
}

/// Says what a session's copy was made from.
pub(crate) fn workspace_body(workspace: &Workspace) -> WorkspaceBody {
    let (base, start) = (workspace.base_tree(), workspace.start_tree());
    WorkspaceBody {
        kind: match workspace.layout().halves {
            Halves::Overlay { .. } => "overlay".to_owned(),
            Halves::Copy { .. } => "copy".to_owned(),
        },
        base_tree: base.to_string(),
        base_commit: workspace.start_commit().map(str::to_owned),
        start_tree: (start != base).then(|| start.to_string()),
    }
}

/// Makes the scripted model from turns in JSON.
pub(crate) fn scripted(provider: &str, turns: &str) -> Result<Box<dyn Model>, Failure> {
    let model =
        Scripted::new(provider, "scripted", turns).map_err(|fault| Failure::because(&fault))?;
    Ok(Box::new(model))
}

/// Makes a directory, and those above it, that only the person can read.
pub(crate) fn make_private(directory: &Path) -> Result<(), Failure> {
    make_directory(directory, 0o700)
}

/// Makes a directory that a session's user can read, in one that nobody else can enter.
pub(crate) fn make_readable(directory: &Path) -> Result<(), Failure> {
    make_directory(directory, 0o755)
}

fn make_directory(directory: &Path, mode: u32) -> Result<(), Failure> {
    let made = fs::DirBuilder::new().recursive(true).mode(mode).create(directory);
    made.map_err(|fault| {
        Failure::start(format!("cannot make the directory {}: {fault}", directory.display()))
    })
}

pub(crate) fn warn(show: &Arc<Mutex<Show>>, words: &str) {
    let words = crate::visible::visible_line(words);
    let mut show = show.lock().expect("invariant: nobody panics while showing");
    show.say(Weight::Warn, &format!("note: {words}"));
}
