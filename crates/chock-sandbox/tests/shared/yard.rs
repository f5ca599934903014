//! A throwaway place with something to steal in it, and the probe that tries.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The session's user when the tests run as root, and the plain user.
pub(crate) const PLAIN: u32 = 65534;

/// Who Chock is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// Root of the machine; its sessions belong to [`PLAIN`].
    Root,
    /// A plain user.
    User,
}

impl Who {
    /// Returns everyone that these tests can be: both as root, else the user who runs them.
    pub(crate) fn all() -> &'static [Self] {
        if is_root() { &[Self::Root, Self::User] } else { &[Self::User] }
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A project with a cover or two, a home and a directory outside, and the probe.
#[derive(Debug)]
pub(crate) struct Yard {
    directory: TempDir,
    pub(crate) who: Who,
}

impl Yard {
    pub(crate) fn new(who: Who) -> Self {
        let directory = tempfile::Builder::new().prefix("chock-yard-").tempdir().expect("a yard");
        let yard = Self { directory, who };
        std::fs::set_permissions(yard.root(), PermissionsExt::from_mode(0o755)).expect("its mode");
        for part in [
            "probe",
            "project/vault",
            "project/.git",
            "layer/upper",
            "layer/work",
            "git",
            "logs",
            "scratch",
            "home",
            "outside",
        ] {
            std::fs::create_dir_all(yard.at(part)).expect("a directory");
        }
        for (path, text) in [
            ("project/file", "plain\n"),
            ("project/chock.zon", ".{}\n"),
            ("project/secret.env", "KEY=hunter2\n"),
            ("project/vault/key", "hunter2\n"),
            ("home/secret", "hunter2\n"),
            ("outside/canary", "untouched\n"),
        ] {
            std::fs::write(yard.at(path), text).expect("a file");
        }
        std::fs::set_permissions(yard.at("home/secret"), PermissionsExt::from_mode(0o600))
            .expect("its mode");
        if is_root() {
            give(yard.root());
        }
        let probe = env!("CARGO_BIN_EXE_cage-probe");
        // The copy belongs to root: a link would change the owner of the original.
        if std::fs::hard_link(probe, yard.probe()).is_err() {
            // By a process of its own: a descriptor of ours that is open for writing may be in
            // some other test's child at the moment, and then the file is busy.
            let copied = Command::new("cp").arg(probe).arg(yard.probe()).status();
            assert!(copied.expect("cp").success(), "a copy of the probe");
        }
        yard
    }

    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn probe(&self) -> PathBuf {
        self.at("probe/cage-probe")
    }

    /// A process of the probe that is whom this yard says, outside any cage.
    pub(crate) fn command<W: Into<OsString>>(&self, words: impl IntoIterator<Item = W>) -> Command {
        let mut command = Command::new(self.probe());
        command.args(words.into_iter().map(Into::into)).current_dir(self.at("project"));
        command.env("CHOCK_TEST_KEY", "hunter2-in-the-environment");
        if is_root() && self.who == Who::User {
            command.uid(PLAIN).gid(PLAIN);
        }
        command
    }

    /// Runs calls in one session and returns everything that was said.
    pub(crate) fn caged(&self, spec: Value) -> Vec<Value> {
        let mut child = self.start(spec);
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let said =
            lines.map(|line| serde_json::from_str(&line.expect("text")).expect("JSON")).collect();
        child.wait().expect("its end");
        said
    }

    /// Starts a session and returns its process, for those who watch it from outside.
    pub(crate) fn start(&self, spec: Value) -> Child {
        self.session(spec).stdout(Stdio::piped()).spawn().expect("the probe")
    }

    /// Returns the command that runs a session.
    pub(crate) fn session(&self, spec: Value) -> Command {
        self.command(["run".to_owned(), self.write_spec(spec)])
    }

    /// Writes what a session is to do, and returns the file's path.
    pub(crate) fn write_spec(&self, mut spec: Value) -> String {
        let root = self.root().to_str().expect("a plain path");
        spec["yard"] = json!(root);
        let path = tempfile::Builder::new().suffix(".json").tempfile_in(self.root());
        let (_, path) = path.expect("a file").keep().expect("a file");
        std::fs::write(&path, spec.to_string().replace("{yard}", root)).expect("a file");
        let readable = PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(&path, readable).expect("its mode");
        path.to_str().expect("a plain path").to_owned()
    }
}

/// Gives a tree to the session's user.
pub(crate) fn give(path: &Path) {
    chown(path, Some(PLAIN), Some(PLAIN)).expect("a new owner");
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a directory") {
            give(&entry.expect("an entry").path());
        }
    }
}

/// One call of a session: what it printed and how it ended.
#[derive(Debug, Default, Clone)]
pub(crate) struct Seen {
    pub(crate) output: String,
    pub(crate) ended: String,
    pub(crate) fault: String,
    pub(crate) said: Value,
}

/// Puts what a session said together by call. A fault of the session itself is the last one.
pub(crate) fn calls(said: &[Value]) -> Vec<Seen> {
    let mut calls = Vec::new();
    let mut seen = Seen::default();
    for line in said {
        if let Some(output) = line["output"].as_str() {
            seen.output.push_str(output);
        }
        let (ended, fault) = (line["ended"].as_str(), line["fault"].as_str());
        if ended.is_some() || fault.is_some() {
            ended.unwrap_or_default().clone_into(&mut seen.ended);
            fault.unwrap_or_default().clone_into(&mut seen.fault);
            seen.said = line.clone();
            calls.push(std::mem::take(&mut seen));
        }
    }
    calls
}
