//! A small Chock: reads a cage and calls from JSON, does them, and says what happened.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use chock_log::{Grounds, Log, Permit};
use chock_sandbox::{
    Access, Cage, Call, Cancel, Containment, CoverKind, Filter, Finished, Grant, Home, Keeper,
    KeeperOptions, Limits, Mount, Owners, Program, SandboxFault, SessionUser, Stdio,
};
use serde_json::{Value, json};

/// Whom a session belongs to when the tests run as root.
const SESSION: SessionUser = SessionUser { uid: 65534, gid: 65534 };

/// Does what a file of JSON says: `{"yard", "calls": [...], ...}`. See `tests/shared/yard.rs`.
pub(crate) fn run(words: &[String]) -> ExitCode {
    let Some(spec) = words.first().and_then(|path| read_spec(Path::new(path))) else {
        return ExitCode::from(4);
    };
    match session(&spec) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            say(&json!({ "fault": chain(&fault) }));
            ExitCode::from(1)
        }
    }
}

/// Reads what to do from a file: an argument would be too small for some of it.
pub(crate) fn read_spec(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

pub(crate) fn options(spec: &Value) -> KeeperOptions {
    KeeperOptions {
        program: File::open("/proc/self/exe").expect("this program"),
        session_user: Some(SESSION),
        containment: match spec["containment"].as_bool() {
            Some(false) => Containment::ProcessLimits,
            _ => Containment::BestEffort,
        },
        warm: usize::try_from(spec["warm"].as_u64().unwrap_or(0)).expect("few cells"),
    }
}

fn session(spec: &Value) -> Result<(), SandboxFault> {
    let yard = PathBuf::from(spec["yard"].as_str().expect("a yard"));
    if spec["survey"].as_bool() == Some(true) {
        let survey = chock_sandbox::survey(&chock_sandbox::SurveyOptions {
            keeper: options(spec),
            scratch: yard.join("scratch"),
        });
        say(&json!({ "rows": survey.rows(), "can_contain": survey.can_contain() }));
        return Ok(());
    }
    let keeper = Keeper::start(&options(spec), &cage(spec, &yard))?;
    say(&json!({ "keeper": keeper.layers(), "ids": keeper.ids() }));
    for (number, call) in spec["calls"].as_array().into_iter().flatten().enumerate() {
        if call["threads"].as_u64().is_some() {
            side_by_side(&keeper, &yard, call);
            continue;
        }
        if let Some(milliseconds) = call["sleep_ms"].as_u64() {
            std::thread::sleep(Duration::from_millis(milliseconds));
            continue;
        }
        let outcome = one(&keeper, &yard, call, number);
        if let Some(line) = call["survivor"].as_str() {
            // Before the cell is let go: its answer alone means that all are dead.
            say(&json!({ "survivors": processes(line) }));
        }
        say_outcome(&outcome);
        drop(outcome);
    }
    drop(keeper);
    say(&json!({ "done": true }));
    Ok(())
}

/// Counts the processes of the machine with this command line.
fn processes(line: &str) -> usize {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|bytes| String::from_utf8_lossy(bytes).replace('\0', " ").trim() == line).count()
}

fn side_by_side(keeper: &Keeper, yard: &Path, call: &Value) {
    let threads = call["threads"].as_u64().unwrap_or(1);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let number = usize::try_from(1000 + thread).expect("few");
            scope.spawn(move || say_outcome(&one(keeper, yard, call, number)));
        }
    });
}

fn one(
    keeper: &Keeper,
    yard: &Path,
    call: &Value,
    number: usize,
) -> Result<Finished, SandboxFault> {
    let mut sink = |bytes: &[u8]| say(&json!({ "output": String::from_utf8_lossy(bytes) }));
    let cancel = Cancel::new().expect("a pipe");
    let later = call["cancel_ms"].as_u64().map(|milliseconds| {
        let cancel = cancel.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(milliseconds));
            cancel.trigger();
        })
    });
    let null = File::options().read(true).write(true).open("/dev/null").expect("the null device");
    let null = std::os::fd::AsFd::as_fd(&null);
    let stdio = match call["own"].as_bool() {
        Some(true) => Stdio::Own { stdin: null, stdout: null, stderr: null },
        _ => Stdio::Captured(&mut sink),
    };
    let wall_time = call["wall_ms"].as_u64().map(Duration::from_millis);
    let permit = permit(program(call, yard), yard, number);
    let (_, result) =
        chock_sandbox::run(keeper, permit, Call { stdio, wall_time, cancel: &cancel });
    if let Some(later) = later {
        later.join().expect("the thread that cancels");
    }
    result
}

/// Gets a permit as a broker does: from a log of its own.
fn permit(program: Program, yard: &Path, number: usize) -> Permit<Program> {
    let name = format!("{}-{number}.jsonl", std::process::id());
    permit_from(&yard.join("logs").join(name), program)
}

fn permit_from(path: &Path, program: Program) -> Permit<Program> {
    let mut opened = open_log(path);
    opened
        .granter
        .grant("call", program, vec!["call.run_command".to_owned()], grounds())
        .expect("an approval on disk")
}

fn program(call: &Value, yard: &Path) -> Program {
    let strings = |value: &Value| -> Vec<String> {
        let parts = value.as_array().into_iter().flatten();
        parts.map(|part| part.as_str().expect("a string").to_owned()).collect()
    };
    let directory = call["directory"].as_str().map_or(yard.join("project"), PathBuf::from);
    if let Some(name) = call["hand"].as_str() {
        let request = strings(&call["request"]).join("\n").into_bytes();
        return Program::Hand { name: name.to_owned(), request, directory };
    }
    let mut environment: Vec<(OsString, OsString)> = vec![
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("HOME".into(), chock_sandbox::HOME.into()),
        ("LANG".into(), "C.UTF-8".into()),
    ];
    for pair in strings(&call["environment"]) {
        let (name, value) = pair.split_once('=').expect("NAME=value");
        environment.push((name.into(), value.into()));
    }
    let argv = strings(&call["argv"]).into_iter().map(OsString::from).collect();
    Program::Command { argv, environment, directory }
}

/// A cage as a tool call would get: system, probe, workspace with a cover or two.
pub(crate) fn cage(spec: &Value, yard: &Path) -> Cage {
    let project = yard.join("project");
    let mut tree = system();
    let bind = |source: PathBuf, target: PathBuf, access| Mount::Bind {
        source,
        target,
        access,
        owners: Owners::AsOutside,
    };
    tree.push(bind(yard.join("probe"), "/opt/probe".into(), Access::ReadOnly));
    tree.push(Mount::Overlay {
        base: project.clone(),
        upper: yard.join("layer/upper"),
        work: yard.join("layer/work"),
        target: project.clone(),
    });
    tree.push(bind(yard.join("git"), project.join(".git"), Access::ReadWrite));
    tree.push(bind(project.join("chock.zon"), project.join("chock.zon"), Access::ReadOnly));
    tree.push(Mount::Cover { target: project.join("secret.env"), kind: CoverKind::File });
    tree.push(Mount::Cover { target: project.join("later.env"), kind: CoverKind::File });
    tree.push(Mount::Cover { target: project.join("vault"), kind: CoverKind::File });
    for extra in spec["binds"].as_array().into_iter().flatten() {
        let part = |at: usize| extra[at].as_str().expect("a string");
        let writable = part(2).starts_with("rw");
        let access = if writable { Access::ReadWrite } else { Access::ReadOnly };
        let mapped = part(2).ends_with("root");
        let owners = if mapped { Owners::RootAsSession } else { Owners::AsOutside };
        let (source, target) = (part(0).into(), part(1).into());
        if part(2).starts_with("view") {
            tree.push(Mount::View { source, target, owners });
            continue;
        }
        tree.push(Mount::Bind { source, target, access, owners });
    }
    let many = spec["mounts"].as_u64().unwrap_or(0);
    for number in 0..many {
        let target = PathBuf::from(format!("/many/{number}"));
        tree.push(bind(project.join("chock.zon"), target, Access::ReadOnly));
    }
    let grant = |name: &str, shipped| match spec[name].as_bool() {
        Some(true) => Grant::Allow,
        Some(false) => Grant::Deny,
        None => shipped,
    };
    let filter = Filter { jit: grant("jit", Grant::Allow), debug: grant("debug", Grant::Deny) };
    let stored = vec![yard.join("layer/upper"), yard.join("git")];
    Cage { tree, home: Home::Scratch { bytes: 64 << 20 }, stored, limits: limits(spec), filter }
}

fn limits(spec: &Value) -> Limits {
    let mut limits = Limits { wall_time: Duration::from_secs(60), ..Limits::default() };
    let number = |name: &str| spec["limits"][name].as_u64();
    let set = |field: &mut u64, name: &str| {
        if let Some(value) = number(name) {
            *field = value;
        }
    };
    set(&mut limits.processes, "processes");
    set(&mut limits.memory_bytes, "memory_bytes");
    set(&mut limits.data_bytes, "data_bytes");
    set(&mut limits.file_bytes, "file_bytes");
    set(&mut limits.open_files, "open_files");
    set(&mut limits.scratch_bytes, "scratch_bytes");
    set(&mut limits.shared_memory_bytes, "shared_memory_bytes");
    set(&mut limits.workspace_bytes, "workspace_bytes");
    set(&mut limits.workspace_files, "workspace_files");
    set(&mut limits.free_bytes, "free_bytes");
    limits
}

/// What programs need of this machine.
fn system() -> Vec<Mount> {
    let mut tree = Vec::new();
    let bind = |path: &str| Mount::Bind {
        source: path.into(),
        target: path.into(),
        access: Access::ReadOnly,
        owners: Owners::AsOutside,
    };
    tree.push(bind("/usr"));
    for name in ["bin", "sbin", "lib", "lib32", "lib64"] {
        let path = Path::new("/").join(name);
        match std::fs::read_link(&path) {
            Ok(to) => tree.push(Mount::Link { target: path, to }),
            Err(_) if path.is_dir() => tree.push(bind(path.to_str().expect("ASCII"))),
            Err(_) => {}
        }
    }
    for name in ["ld.so.cache", "passwd", "group", "nsswitch.conf", "alternatives", "ssl"] {
        let path = format!("/etc/{name}");
        if std::fs::symlink_metadata(&path).is_ok_and(|it| !it.is_symlink()) {
            tree.push(bind(&path));
        }
    }
    let contents = b"127.0.0.1 localhost\n::1 localhost\n".to_vec();
    tree.push(Mount::Text { target: "/etc/hosts".into(), contents });
    tree
}

fn say_outcome(outcome: &Result<Finished, SandboxFault>) {
    match outcome {
        Ok(finished) => say(&json!({
            "ended": format!("{:?}", finished.ended),
            "limits": finished.limits.iter().map(|limit| limit.name()).collect::<Vec<_>>(),
            "layers": finished.layers,
            "micros": u64::try_from(finished.duration.as_micros()).unwrap_or(0),
        })),
        Err(fault) => say(&json!({ "fault": chain(fault) })),
    }
}

fn chain(fault: &dyn std::error::Error) -> String {
    let mut text = fault.to_string();
    let mut source = fault.source();
    while let Some(next) = source {
        text = format!("{text}: {next}");
        source = next.source();
    }
    text
}

fn say(line: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

fn open_log(path: &Path) -> chock_log::Opened {
    let redactor = chock_log::Redactor::new([], [0; 32]);
    let options = chock_log::Options {
        clock: Box::new(Default::default),
        redactor,
        observer: None,
        courier: None,
    };
    Log::open(path, options).expect("a log")
}

fn grounds() -> Grounds {
    Grounds::Rule { origin: "shipped".to_owned(), row: "test".to_owned() }
}
