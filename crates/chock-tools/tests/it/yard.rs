//! A git project, a session's workspace of it, its sandbox, its log and its tools.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use chock_log::{
    Ended, Event, FinishedBody, Grounds, Opened, Outcome, StartedBody, TaskFinishedBody, ToolCall,
};
use chock_sandbox::{Containment, Keeper, KeeperOptions, SessionUser};
use chock_testkit::TestLog;
use chock_tools::cage::{
    CageRules, Compiled, Denied, Filter, Home, Host, Limits, ToolchainRules, compile,
};
use chock_tools::{Attended, Cancel, Proposed, Setup, Stamp, TaskEnd, Times, Tools, Walls};
use chock_workspace::{Method, Opening, Owner, Project, Start, Surroundings, Workspace};
use serde_json::Value;
use tempfile::TempDir;

/// The session's user when the tests run as root.
const PLAIN: u32 = 65534;

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What a test wants different.
#[derive(Default)]
pub(crate) struct Wish {
    pub(crate) denied: Vec<Denied>,
    pub(crate) limits: Limits,
    /// Where the session works from, below the project.
    pub(crate) directory: &'static str,
    /// Files of the project, committed before the session starts, by name.
    pub(crate) files: &'static [(&'static str, &'static [u8])],
    pub(crate) call_time: Option<Duration>,
    /// The project's directory, `project` when empty.
    pub(crate) name: &'static [u8],
}

/// A session and everything it stands on, thrown away at the end.
pub(crate) struct Yard {
    directory: TempDir,
    pub(crate) project: PathBuf,
    pub(crate) compiled: Compiled,
    pub(crate) tools: Tools,
    _log: TestLog,
    opened: Opened,
    _workspace: Workspace,
    calls: u32,
}

impl Yard {
    pub(crate) fn new() -> Self {
        Self::with(Wish::default())
    }

    pub(crate) fn with(wish: Wish) -> Self {
        let directory = tempfile::Builder::new().prefix("tools-").tempdir().expect("a yard");
        let at = |name: &str| directory.path().join(name);
        for name in ["sessions", "cache", "outputs", "outside"] {
            fs::create_dir_all(at(name)).expect("a directory");
        }
        fs::write(at("outside/canary"), "untouched").expect("a canary");
        let name = if wish.name.is_empty() { b"project" } else { wish.name };
        let project = directory.path().join(OsStr::from_bytes(name));
        commit(&project, wish.files);
        let workspace = open_workspace(directory.path(), &project);
        let host = host();
        let limits = Limits { scratch_bytes: 256 << 20, ..wish.limits };
        let rules = CageRules {
            limits,
            filter: Filter::default(),
            denied: wish.denied,
            variables: Vec::new(),
            toolchains: ToolchainRules::default(),
            outputs: at("outputs"),
            home: Home::Scratch { bytes: 256 << 20 },
        };
        let compiled = compile(workspace.layout(), &host, &rules);
        let keeper = Keeper::start(&keeper_options(), &compiled.cage).expect("a keeper");
        let tools = Tools::new(Setup {
            images: true,
            skills: Vec::new(),
            notebook: chock_tools::Notebook::at(at("notes/project")),
            redactor: chock_log::Redactor::new([], [7; 32]),
            keeper,
            project: project.clone(),
            directory: project.join(wish.directory).components().collect(),
            environment: compiled.environment.clone(),
            shell: compiled.shell.clone(),
            walls: Walls::of(&compiled.cage, &project),
            outputs: at("outputs"),
            times: Times {
                call: wish.call_time.unwrap_or(Duration::from_secs(60)),
                ..Times::usual()
            },
        });
        let log = TestLog::new();
        let opened = log.open();
        Self {
            directory,
            project,
            compiled,
            tools,
            _log: log,
            opened,
            _workspace: workspace,
            calls: 0,
        }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Proposes a call as the session stands.
    pub(crate) fn propose(&mut self, tool: &str, arguments: &Value) -> (ToolCall, Proposed) {
        self.calls += 1;
        let call = ToolCall {
            id: format!("call-{}", self.calls),
            name: tool.to_owned(),
            arguments: arguments.to_string(),
        };
        let proposed = self.opened.pen.session(|session| self.tools.propose(&call, session));
        (call, proposed)
    }

    /// Does a call as the agent does: record, permit, act, record.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Outcome {
        self.call_until(tool, arguments, &Cancel::new().expect("a pipe"))
    }

    pub(crate) fn call_until(&mut self, tool: &str, arguments: &Value, cancel: &Cancel) -> Outcome {
        let (call, proposed) = self.propose(tool, arguments);
        let outcome = match proposed {
            Proposed::Fault(outcome) | Proposed::Refused(outcome) => outcome,
            Proposed::Promise(promise) => panic!("the broker takes {promise:?}"),
            Proposed::Apply { reason } => panic!("the errands carry commits: {reason}"),
            Proposed::Note { event, outcome } => {
                self.opened.pen.write(event).expect("a record");
                outcome
            }
            Proposed::Skill(proposal) => panic!("there are no skills: {proposal:?}"),
            Proposed::Memory(proposal) => {
                let granter = &mut self.opened.granter;
                let permit = granter
                    .grant(&call.id, proposal.act, Vec::new(), Grounds::Person)
                    .expect("an approval on disk");
                let stamp =
                    Stamp { written_at: "2026-11-30T08:00:00Z".into(), session: "s".into() };
                self.tools.note(permit, &stamp)
            }
            Proposed::Task(proposal) => {
                let granter = &mut self.opened.granter;
                let permit = granter
                    .grant(&call.id, proposal.act, Vec::new(), Grounds::Person)
                    .expect("an approval on disk");
                let Attended { outcome, end } = self.tools.attend(permit, cancel);
                self.record_ends(end.into_iter().collect());
                outcome
            }
            Proposed::Act { proposal, reading } => {
                let names = proposal.actions.iter().map(ToString::to_string).collect();
                let granter = &mut self.opened.granter;
                let permit = granter
                    .grant(&call.id, proposal.act, names, Grounds::Person)
                    .expect("an approval on disk");
                let started = StartedBody { call: call.clone(), approval: Some(permit.approval()) };
                self.opened.pen.write(Event::ToolStarted(started)).expect("a record");
                if let Some(task) = reading.begins(&call.id) {
                    self.opened.pen.write(Event::TaskStarted(task)).expect("a record");
                }
                let carried = self.tools.carry_out(permit, reading, cancel, &mut |_| {});
                assert!(!carried.sandbox_is_lost(), "{:?}", carried.outcome);
                carried.outcome.clone()
            }
        };
        let (call, tool) = (call.id, tool.to_owned());
        let body = FinishedBody { call, tool, outcome: outcome.clone() };
        self.opened.pen.write(Event::ToolFinished(body)).expect("a record");
        outcome
    }

    /// Starts a background task, and returns its name.
    #[track_caller]
    pub(crate) fn start(&mut self, command: &str) -> String {
        let call = serde_json::json!({ "command": command, "background": true });
        let outcome = self.call("run_command", &call);
        assert_eq!(outcome.ended, Ended::Done, "{command}: {}", outcome.text);
        outcome.text.split_whitespace().next().expect("a name").to_owned()
    }

    /// Records ends of tasks, as the agent does.
    pub(crate) fn record_ends(&mut self, ends: Vec<TaskEnd>) {
        for TaskEnd { task, outcome } in ends {
            let body = TaskFinishedBody { task, outcome, told: false };
            self.opened.pen.write(Event::TaskFinished(body)).expect("a record");
        }
    }

    /// Runs a command and returns its output, which must end well.
    #[track_caller]
    pub(crate) fn run(&mut self, command: &str) -> String {
        let outcome = self.call("run_command", &serde_json::json!({ "command": command }));
        assert_eq!(outcome.ended, Ended::Exited(0), "{command}: {}", outcome.text);
        let text = outcome.text.replace("[chock: exit status 0]\n", "");
        text.replace("[chock: no output, exit status 0]\n", "")
    }

    /// Reads a file of the workspace, from inside.
    #[track_caller]
    pub(crate) fn contents(&mut self, path: &str) -> String {
        self.run(&format!("cat '{path}'"))
    }
}

fn keeper_options() -> KeeperOptions {
    KeeperOptions {
        program: File::open(env!("CARGO_BIN_EXE_tools-cell")).expect("the tests' keeper"),
        session_user: is_root().then_some(SessionUser { uid: PLAIN, gid: PLAIN }),
        containment: Containment::BestEffort,
        warm: 0,
    }
}

/// The machine as these tests find it: its own home, `PATH` and environment.
pub(crate) fn host() -> Host {
    let variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let path = variables.get(&OsString::from("PATH")).cloned().unwrap_or_default();
    let (uid, gid) = if is_root() {
        (PLAIN, PLAIN)
    } else {
        (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
    };
    Host {
        home: variables.get(&OsString::from("HOME")).map(PathBuf::from),
        path: std::env::split_paths(&path).collect(),
        variables,
        is_root: is_root(),
        uid,
        gid,
    }
}

fn open_workspace(yard: &Path, project: &Path) -> Workspace {
    let host = host();
    let surroundings = Surroundings {
        search_path: host.variables[&OsString::from("PATH")].clone(),
        home: None,
        config_home: None,
        own_directories: Vec::new(),
    };
    let project = Project::find(project, &surroundings).expect("a project");
    let opening = Opening {
        session: yard.join("sessions/one"),
        cache: yard.join("cache"),
        method: Method::Overlay,
        owner: is_root().then_some(Owner { uid: PLAIN, gid: PLAIN }),
        start: Start::Committed,
        covered: Vec::new(),
        binds: Vec::new(),
    };
    Workspace::create(&project, &opening).expect("a workspace")
}

fn commit(project: &Path, files: &[(&str, &[u8])]) {
    let usual: [(&str, &[u8]); 3] = [
        ("a.txt", b"one\ntwo\nthree\n"),
        ("src/lib.rs", b"fn one() {}\n"),
        ("chock.zon", b".{}\n"),
    ];
    for (name, contents) in usual.iter().chain(files) {
        let path = project.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, contents).expect("a file");
    }
    git(project, &["init", "-q", "-b", "main"]);
    git(project, &["config", "user.name", "A"]);
    git(project, &["config", "user.email", "a@b"]);
    git(project, &["add", "-A"]);
    git(project, &["commit", "-qm", "first"]);
}

pub(crate) fn git(project: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(arguments)
        .current_dir(project)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .status()
        .expect("git");
    assert!(status.success(), "git {arguments:?}");
}
