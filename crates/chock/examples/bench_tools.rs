//! Times whole tool calls in lanes, for `cargo xtask bench`: a name in, nanoseconds out.
//!
//! Its arguments are a scratch directory and a project. A call is proposed, judged, recorded,
//! flushed, done in a warm cell of a real workspace and recorded again. Lanes: `call` (a command
//! that does nothing), `grep`, `glob`, and `floor` (`/usr/bin/true` in a warm cell, and one
//! `fdatasync`, without the log and the broker).

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use chock_broker::{Broker, People, Standing, Verdict};
use chock_log::{
    Ended, Event, FinishedBody, Granter, Grounds, Log, Opened, Options, Pen, Redactor, StartedBody,
    ToolCall,
};
use chock_policy::{Lineage, Ratchet, Table};
use chock_sandbox::{Call, Containment, Keeper, KeeperOptions, SessionUser, Stdio};
use chock_tools::cage::{CageRules, Compiled, Filter, Home, Host, Limits, ToolchainRules};
use chock_tools::{Cancel, Notebook, Program, Proposed, Setup, Times, Tools, Walls};
use chock_workspace::{Method, Opening, Owner, Project, Start, Surroundings, Workspace};
use serde_json::{Value, json};

/// Whom a session belongs to when this runs as root.
const SESSION: u32 = 65_534;

/// How long the next cell is given to get ready: a tool call comes later than that.
const READY: Duration = Duration::from_millis(15);

/// What an approval of one call comes to on disk.
const APPROVAL_BYTES: usize = 600;

type Answer<T> = Result<T, Box<dyn Error>>;

fn main() -> Answer<()> {
    chock_sandbox::enter_role_if_asked(std::env::args_os(), chock_tools::HANDS);
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(scratch), Some(project)) = (arguments.next(), arguments.next()) else {
        return Err("a scratch directory and a project are expected".into());
    };
    let scratch = scratch.canonicalize()?.join(std::process::id().to_string());
    let mut yard = Yard::new(&scratch, &project)?;
    for lane in io::stdin().lock().lines() {
        let answer = match yard.once(lane?.trim()) {
            Ok(time) => time.as_nanos().to_string(),
            Err(fault) => format!("! {fault}"),
        };
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}

/// A session, and beside it what the floor stands on.
struct Yard {
    pen: Pen,
    broker: Broker,
    tools: Tools,
    cancel: Cancel,
    calls: u32,
    bare: Bare,
    _workspace: Workspace,
}

/// A keeper of the same cage, permits from a log of its own, and a file to flush.
struct Bare {
    keeper: Keeper,
    granter: Granter,
    file: File,
    program: Program,
}

impl Yard {
    fn new(scratch: &Path, project: &Path) -> Answer<Self> {
        for name in ["", "sessions", "cache", "outputs"] {
            fs::create_dir_all(scratch.join(name))?;
            fs::set_permissions(scratch.join(name), PermissionsExt::from_mode(0o755))?;
        }
        let (project, workspace) = open_workspace(scratch, project)?;
        let compiled = compile(scratch, &workspace);
        let keeper = start_keeper(&compiled)?;
        let Opened { pen, granter, .. } = open_log(&scratch.join("log/session.jsonl"))?;
        let standing = Standing {
            table: Table::defaults(),
            lineage: Lineage::main(),
            kept: Ratchet::default(),
            model: "bench".to_owned(),
        };
        let broker = Broker::new(standing, granter, pen.clone(), People::none());
        let bare = Bare::new(scratch, project.root(), &compiled)?;
        let tools = Tools::new(Setup {
            images: false,
            skills: Vec::new(),
            notebook: Notebook::at(scratch.join("notes")),
            redactor: Redactor::new([], [7; 32]),
            keeper,
            project: project.root().to_owned(),
            walls: Walls::of(&compiled.cage, project.root()),
            directory: project.root().to_owned(),
            environment: compiled.environment,
            shell: compiled.shell,
            outputs: scratch.join("outputs"),
            times: Times { call: Duration::from_secs(60), ..Times::usual() },
        });
        let cancel = Cancel::new()?;
        Ok(Self { pen, broker, tools, cancel, calls: 0, bare, _workspace: workspace })
    }

    fn once(&mut self, lane: &str) -> Answer<Duration> {
        thread::sleep(READY);
        // Ten lines in each of ten files, so that both sides search everything and say little.
        let words = json!({"pattern": "line 07[0-9] of 1999[0-9] says"});
        match lane {
            "call" => self.call("run_command", &json!({"command": "true"})),
            "grep" => self.call("grep", &words),
            "glob" => self.call("glob", &json!({"pattern": "**/file*7.txt"})),
            "floor" => self.bare.once(&self.cancel),
            other => Err(format!("no lane is named {other}").into()),
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Answer<Duration> {
        self.calls += 1;
        let (id, name) = (format!("call-{}", self.calls), tool.to_owned());
        let call = ToolCall { id, name, arguments: arguments.to_string() };
        let begun = Instant::now();
        let proposed = self.pen.session(|session| self.tools.propose(&call, session));
        let Proposed::Act { proposal, reading } = proposed else {
            return Err(format!("{tool} did not propose an act").into());
        };
        let Verdict::Permitted(permit) = self.broker.judge(proposal) else {
            return Err(format!("{tool} was refused").into());
        };
        let approval = Some(permit.approval());
        self.pen.write(Event::ToolStarted(StartedBody { call: call.clone(), approval }))?;
        let carried = self.tools.carry_out(permit, reading, &self.cancel, &mut |_| {});
        let outcome = carried.outcome.clone();
        let body = FinishedBody { call: call.id, tool: call.name, outcome: outcome.clone() };
        self.pen.write(Event::ToolFinished(body))?;
        drop(carried);
        let time = begun.elapsed();
        match outcome.ended {
            Ended::Done | Ended::Exited(0) => Ok(time),
            _ => Err(format!("{tool} ended otherwise: {}", outcome.text).into()),
        }
    }
}

impl Bare {
    fn new(scratch: &Path, directory: &Path, compiled: &Compiled) -> Answer<Self> {
        // An overlay's upper half is mounted once, so this keeper has a tree without the project.
        let mut compiled = compiled.clone();
        compiled.cage.tree.retain(|mount| !mount.target().starts_with(directory));
        Ok(Self {
            keeper: start_keeper(&compiled)?,
            granter: open_log(&scratch.join("log/bare.jsonl"))?.granter,
            file: File::create(scratch.join("log/flushed"))?,
            program: Program::Command {
                argv: vec!["/usr/bin/true".into()],
                environment: compiled.environment,
                directory: "/tmp".into(),
            },
        })
    }

    fn once(&mut self, cancel: &Cancel) -> Answer<Duration> {
        let grounds = Grounds::Rule { origin: "bench".to_owned(), row: String::new() };
        let permit = self.granter.grant("floor", self.program.clone(), Vec::new(), grounds)?;
        thread::sleep(READY);
        let begun = Instant::now();
        self.file.write_all(&[b'x'; APPROVAL_BYTES])?;
        self.file.sync_data()?;
        let mut sink = |_: &[u8]| {};
        let call = Call { stdio: Stdio::Captured(&mut sink), wall_time: None, cancel };
        let (_, finished) = chock_sandbox::run(&self.keeper, permit, call);
        drop(finished?);
        Ok(begun.elapsed())
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn open_log(path: &Path) -> Answer<Opened> {
    let clock = Box::new(jiff::Timestamp::now);
    let options =
        Options { clock, redactor: Redactor::new([], [0; 32]), observer: None, courier: None };
    Ok(Log::open(path, options)?)
}

fn open_workspace(scratch: &Path, project: &Path) -> Answer<(Project, Workspace)> {
    let surroundings = Surroundings {
        search_path: std::env::var_os("PATH").unwrap_or_default(),
        home: None,
        config_home: None,
        own_directories: Vec::new(),
    };
    let project = Project::find(project, &surroundings)?;
    let opening = Opening {
        session: scratch.join("sessions/one"),
        cache: scratch.join("cache"),
        method: Method::Overlay,
        owner: is_root().then_some(Owner { uid: SESSION, gid: SESSION }),
        start: Start::Committed,
        covered: Vec::new(),
        binds: Vec::new(),
    };
    let workspace = Workspace::create(&project, &opening)?;
    Ok((project, workspace))
}

/// Compiles the cage of a person without a home: no toolchain of this machine enters.
fn compile(scratch: &Path, workspace: &Workspace) -> Compiled {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let host = Host {
        home: None,
        path: ["/usr/bin", "/bin"].map(PathBuf::from).to_vec(),
        variables: BTreeMap::from([("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8")])
            .into_iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect(),
        is_root: is_root(),
        uid: if is_root() { SESSION } else { uid },
        gid: if is_root() { SESSION } else { gid },
    };
    let rules = CageRules {
        limits: Limits::default(),
        filter: Filter::default(),
        denied: Vec::new(),
        variables: Vec::new(),
        toolchains: ToolchainRules::default(),
        outputs: scratch.join("outputs"),
        home: Home::Scratch { bytes: 64 << 20 },
    };
    chock_tools::cage::compile(workspace.layout(), &host, &rules)
}

fn start_keeper(compiled: &Compiled) -> Answer<Keeper> {
    let options = KeeperOptions {
        program: File::open("/proc/self/exe")?,
        session_user: is_root().then_some(SessionUser { uid: SESSION, gid: SESSION }),
        containment: Containment::BestEffort,
        warm: 1,
    };
    Ok(Keeper::start(&options, &compiled.cage)?)
}
