//! Starts git on the host, in a way that nothing of the project acts.
//!
//! There are five ways to start it, and no other: to look at a project, with its
//! own configuration for facts only; in a git directory of Chock's; the same with the
//! person's program for signatures; to read the person's own configuration; and to add
//! objects to a project and move its refs and its index, which is part of a permitted act.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Options that keep programs named by a configuration from running.
const QUIET: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "diff.external=",
    "protocol.ext.allow=never",
    "safe.bareRepository=explicit",
];

/// The git program and what it may know of the person.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    /// The value of `PATH`.
    pub(crate) search_path: OsString,
    /// The person's home, for the person's own configuration.
    pub(crate) home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, for the same.
    pub(crate) config_home: Option<PathBuf>,
    /// Repositories of other owners that the person trusts.
    pub(crate) trusted: Vec<OsString>,
}

/// Why git gave no answer.
#[derive(Debug)]
pub(crate) enum GitFault {
    /// The program could not be started.
    Start(io::Error),
    /// It ended with another status than zero.
    Failed(Failure),
}

/// How git failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit status, `None` after a signal.
    pub(crate) status: Option<i32>,
    /// What it wrote on standard error, with odd bytes replaced.
    pub(crate) error: String,
}

impl Failure {
    /// The line that says what went wrong, without `fatal:`, fit to be shown.
    pub(crate) fn said(&self) -> String {
        let lines = || self.error.lines().map(str::trim).filter(|line| !line.is_empty());
        let line = lines()
            .find_map(|line| line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: ")))
            .or_else(|| lines().next_back());
        match line {
            Some(line) => line.chars().filter(|c| !c.is_control()).take(300).collect(),
            None => match self.status {
                Some(status) => format!("it ended with status {status}"),
                None => "a signal ended it".to_owned(),
            },
        }
    }
}

impl GitFault {
    /// One line for a person.
    pub(crate) fn said(&self) -> String {
        match self {
            Self::Start(source) => format!("cannot start it: {source}"),
            Self::Failed(failure) => failure.said(),
        }
    }
}

/// A git directory of Chock's own, and what a command there works on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own<'a> {
    /// The git directory.
    pub(crate) git_dir: &'a Path,
    /// The working tree.
    pub(crate) work_tree: &'a Path,
    /// The index file.
    pub(crate) index: &'a Path,
}

/// What ends a git that takes long, from another thread.
#[derive(Debug, Default)]
pub(crate) struct Leash(Mutex<Leashed>);

#[derive(Debug, Default)]
struct Leashed {
    is_pulled: bool,
    running: Option<Child>,
}

impl Leash {
    /// Ends what runs, and lets nothing start any more.
    pub(crate) fn pull(&self) {
        let mut leashed = self.leashed();
        leashed.is_pulled = true;
        if let Some(child) = &mut leashed.running {
            // One that has ended is waited for all the same.
            let _ended = child.kill();
        }
    }

    fn leashed(&self) -> MutexGuard<'_, Leashed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Git {
    /// Asks about the repository that `directory` is in.
    pub(crate) fn look(&self, directory: &Path, args: &[&str]) -> Result<Vec<u8>, GitFault> {
        let mut command = self.command();
        command.current_dir(directory).args(args);
        finish(command, None)
    }

    /// Runs in a git directory of Chock's own.
    pub(crate) fn own(
        &self,
        own: &Own<'_>,
        args: &[&OsStr],
        input: Option<&[u8]>,
    ) -> Result<Vec<u8>, GitFault> {
        let mut command = self.in_own(own);
        command.args(args);
        finish(command, input)
    }

    /// The same, until somebody pulls the leash. What it says of a failure is not kept.
    pub(crate) fn own_until(
        &self,
        leash: &Leash,
        own: &Own<'_>,
        args: &[&OsStr],
    ) -> Result<Vec<u8>, GitFault> {
        let mut command = self.in_own(own);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut leashed = leash.leashed();
        if leashed.is_pulled {
            return Err(GitFault::Start(io::ErrorKind::Interrupted.into()));
        }
        let mut child = command.spawn().map_err(GitFault::Start)?;
        let output = child.stdout.take();
        leashed.running = Some(child);
        drop(leashed);
        let mut answer = Vec::new();
        let read = output.map_or(Ok(0), |mut output| output.read_to_end(&mut answer));
        // It has closed its output: what is left of it ends at once.
        let mut leashed = leash.leashed();
        let ended = leashed.running.take().map(|mut child| child.wait()).transpose();
        match (ended.map_err(GitFault::Start)?, read) {
            (Some(status), Ok(_)) if status.success() => Ok(answer),
            (status, Ok(_)) => {
                let status = status.and_then(|status| status.code());
                Err(GitFault::Failed(Failure { status, error: String::new() }))
            }
            (_, Err(fault)) => Err(GitFault::Start(fault)),
        }
    }

    fn in_own(&self, own: &Own<'_>) -> Command {
        let mut command = self.command();
        command
            .current_dir(own.work_tree)
            .env("GIT_DIR", own.git_dir)
            .env("GIT_WORK_TREE", own.work_tree)
            .env("GIT_INDEX_FILE", own.index);
        command
    }

    /// Makes a commit in a git directory of Chock's that the person's own program signs.
    pub(crate) fn sign(
        &self,
        own: &Own<'_>,
        variables: &[(OsString, OsString)],
        args: &[OsString],
        message: &[u8],
    ) -> Result<Vec<u8>, GitFault> {
        let mut command = self.in_own(own);
        command.envs(variables.iter().map(|(name, value)| (name, value))).args(args);
        if let Some(home) = &self.home {
            command.env("HOME", home);
        }
        finish(command, Some(message))
    }

    /// Changes objects, refs or the index of the project at `root`, for an act that is permitted.
    pub(crate) fn change(
        &self,
        root: &Path,
        (name, email): (&OsStr, &OsStr),
        args: &[&str],
        input: Option<&[u8]>,
    ) -> Result<Vec<u8>, GitFault> {
        let mut command = self.command();
        command
            .current_dir(root)
            .env("GIT_COMMITTER_NAME", name)
            .env("GIT_COMMITTER_EMAIL", email)
            .args(args);
        finish(command, input)
    }

    /// Reads the configuration as the person's own git sees it in `directory`.
    pub(crate) fn personal(&self, directory: &Path, args: &[&str]) -> Result<Vec<u8>, GitFault> {
        let mut command = self.command();
        command.env_remove("GIT_CONFIG_NOSYSTEM").env_remove("GIT_CONFIG_GLOBAL");
        if let Some(home) = &self.home {
            command.env("HOME", home);
        }
        if let Some(config_home) = &self.config_home {
            command.env("XDG_CONFIG_HOME", config_home);
        }
        command.current_dir(directory).arg("config").args(args);
        finish(command, None)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command
            .env_clear()
            .env("PATH", &self.search_path)
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0");
        for option in QUIET {
            command.arg("-c").arg(option);
        }
        for path in &self.trusted {
            let mut option = OsString::from("safe.directory=");
            option.push(path);
            command.arg("-c").arg(option);
        }
        command
    }
}

fn finish(mut command: Command, input: Option<&[u8]>) -> Result<Vec<u8>, GitFault> {
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(GitFault::Start)?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // A git that stops reading has failed, and its status says how.
        let _broken_pipe = pipe.write_all(input);
    }
    let Output { status, stdout, stderr } = child.wait_with_output().map_err(GitFault::Start)?;
    if status.success() {
        return Ok(stdout);
    }
    let error = String::from_utf8_lossy(&stderr).into_owned();
    Err(GitFault::Failed(Failure { status: status.code(), error }))
}

/// Cuts the line feed that ends git's answer.
pub(crate) fn line(mut answer: Vec<u8>) -> Vec<u8> {
    if answer.last() == Some(&b'\n') {
        answer.pop();
    }
    answer
}
