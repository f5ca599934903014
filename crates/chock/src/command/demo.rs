//! `chock demo`: the whole of Chock on a small project, with a model that is built in.

use std::fs;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use chock_log::{Entry, Log, Outcome, Verdict};
use chock_workspace::Direction;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::found::Found;
use crate::handback::Bench;
use crate::house::{self, Plan};
use crate::outside;
use crate::program::Program;
use crate::report::PathText;
use crate::selection::Selection;
use crate::settings::Settings;
use crate::show::{Show, View};
use crate::spare::Spares;
use crate::terminal::{Terminal, Weight};

/// How long the listener's thread may take to tell of a connection on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the planted secret says. Nothing else on the machine does.
const CANARY: &str = "the-planted-secret";

/// Show what Chock does, on a model that is built in
///
/// In a temporary directory, an agent with a fixed script reads, edits, tests and
/// commits in a cage, then tries three forbidden things. Then part of its work is taken
/// into the project, and undone. It needs no key and no network, and ends with 0 only if
/// every forbidden thing was refused and the project is as it was.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Leave the directory, to look at it
    #[arg(long)]
    keep: bool,
}

/// The demo's small world.
struct World {
    root: tempfile::TempDir,
    project: PathBuf,
    home: PathBuf,
    /// A file beside the project, which is not the agent's business.
    outside: PathBuf,
    port: u16,
    /// A word for each connection that the listener saw.
    connections: Receiver<()>,
}

/// One forbidden thing, and how it shows that it worked.
struct Attempt {
    what: &'static str,
    kind: Kind,
    command: String,
}

/// Which of the three it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Secret,
    Listener,
    Neighbour,
}

pub(crate) fn run(
    program: &Program,
    terminal: Terminal,
    args: &DemoArgs,
) -> (Option<Terminal>, Result<Exit, Failure>) {
    let show = Arc::new(Mutex::new(Show::new(terminal, View::Person)));
    let ended = tell(program, &show, args);
    (Arc::into_inner(show).and_then(|show| show.into_inner().ok()).map(|show| show.terminal), ended)
}

fn tell(program: &Program, show: &Arc<Mutex<Show>>, args: &DemoArgs) -> Result<Exit, Failure> {
    let mut world = World::make(program)?;
    let attempts = world.attempts();
    say(show, Weight::Strong, "1. Without a cage, each of these works:");
    for attempt in &attempts {
        let worked = world.try_outside(program, attempt)?;
        let (weight, word) = if worked { (Weight::Warn, "works") } else { (Weight::Bad, "fails") };
        say(show, weight, &format!("   {}: {word}", attempt.what));
        if !worked {
            return Err(Failure::fault(format!(
                "the control failed, so nothing can be shown: {}",
                attempt.command
            )));
        }
    }
    world.reset()?;

    say(
        show,
        Weight::Strong,
        "\n2. An agent works in a cage, on a copy of the project, and tries them too:",
    );
    let program = program.moved_to(&world.home)?;
    let project = program.project(Some(&world.project))?;
    let directory = program.places.sessions(project.root());
    let found = Found::at(&directory, crate::program::new_session()?);
    let plan = Plan {
        found: found.clone(),
        resumes: false,
        message: Some("Make the greeting polite, see the tests pass, and commit.".to_owned()),
        model: house::scripted("demo", &script(&attempts).to_string())?,
        provider: "demo".to_owned(),
        model_name: "scripted".to_owned(),
        spares: Spares::default(),
        settings: Settings::shipped(),
        allow_dirty: false,
        directory: project.root().to_owned(),
        instructions: Vec::new(),
        compacts: false,
        notices: true,
        pictures: Vec::new(),
        options: vec!["demo".to_owned()],
        asks: false,
    };
    let finish = house::run(&program, &project, plan, show)?;
    if finish.reason != chock_log::EndReason::Finished {
        return Err(Failure::fault(format!("the session ended early: {}", finish.detail)));
    }
    let refused = world.report(show, &found, &attempts)?;
    let returned = world
        .bring_back(show, &Bench::open(&program, (&project, &Settings::shipped()), &found)?)?;
    if args.keep {
        world.root.disable_cleanup(true);
        let kept = world.root.path().display();
        say(show, Weight::Quiet, &format!("\nKept in {kept}"));
    }
    Ok(if refused && returned { Exit::Finished } else { Exit::Fault })
}

fn say(show: &Arc<Mutex<Show>>, weight: Weight, line: &str) {
    show.lock().expect("invariant: nobody panics while showing").say(weight, line);
}

impl World {
    /// Makes the project, a home with a secret, a file outside and a listener.
    fn make(program: &Program) -> Result<Self, Failure> {
        let made = || -> std::io::Result<Self> {
            let root = tempfile::Builder::new().prefix("chock-demo-").tempdir()?;
            let top = root.path().canonicalize()?;
            let (project, home) = (top.join("greeting"), top.join("home"));
            let outside = top.join("neighbour.txt");
            fs::create_dir_all(&project)?;
            fs::create_dir_all(home.join(".secrets"))?;
            fs::write(home.join(".secrets/token"), CANARY)?;
            fs::write(&outside, "mine\n")?;
            fs::write(project.join("greet.sh"), "#!/bin/sh\necho \"Hey $1\"\n")?;
            fs::write(
                project.join("test.sh"),
                "#!/bin/sh\ntest \"$(sh greet.sh Ada)\" = 'Good day, Ada' || { echo 'not polite'; exit 1; }\necho 'all tests passed'\n",
            )?;
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let port = listener.local_addr()?.port();
            let connections = tell_connections(listener)?;
            Ok(Self { root, project, home, outside, port, connections })
        };
        let world = made().map_err(|fault| {
            Failure::start(format!("cannot make the demo's directory: {fault}"))
        })?;
        let commit = "git init -q -b main && git -c user.name=Demo -c user.email=demo@localhost \
                      -c commit.gpgsign=false add -A && git -c user.name=Demo \
                      -c user.email=demo@localhost -c commit.gpgsign=false commit -q -m 'Greet'";
        let made = world.outside(program, commit)?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr);
            let said = crate::visible::visible_line(said.trim());
            return Err(Failure::start(format!("git cannot make the demo's project: {said}")));
        }
        Ok(world)
    }

    fn attempts(&self) -> [Attempt; 3] {
        let quote = |path: &Path| {
            let text = String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned();
            format!("'{}'", text.replace('\'', "'\\''"))
        };
        [
            Attempt {
                what: "read a secret in the home directory",
                kind: Kind::Secret,
                command: format!("cat {}", quote(&self.home.join(".secrets/token"))),
            },
            Attempt {
                what: "reach a server on this machine's loopback",
                kind: Kind::Listener,
                // git is the one network client that every machine of a developer has.
                command: format!("git ls-remote git://127.0.0.1:{}/demo", self.port),
            },
            Attempt {
                what: "change a file beside the project",
                kind: Kind::Neighbour,
                command: format!("echo yours > {}", quote(&self.outside)),
            },
        ]
    }

    fn outside(&self, program: &Program, command: &str) -> Result<std::process::Output, Failure> {
        let path = std::ffi::OsStr::new("PATH");
        let search_path = program.variables.get(path).cloned().unwrap_or_default();
        outside::control(command, &self.project, &self.home, &search_path)
            .map_err(|fault| Failure::start(format!("cannot run sh: {fault}")))
    }

    /// Tries a forbidden thing uncaged and says whether it worked.
    fn try_outside(&self, program: &Program, attempt: &Attempt) -> Result<bool, Failure> {
        let output = self.outside(program, &attempt.command)?;
        Ok(match attempt.kind {
            Kind::Secret => String::from_utf8_lossy(&output.stdout).contains(CANARY),
            Kind::Listener => self.connections.recv_timeout(PATIENCE).is_ok(),
            Kind::Neighbour => fs::read(&self.outside).is_ok_and(|text| text == b"yours\n"),
        })
    }

    /// Puts back what the controls changed.
    fn reset(&mut self) -> Result<(), Failure> {
        while self.connections.try_recv().is_ok() {}
        fs::write(&self.outside, "mine\n")?;
        Ok(())
    }

    /// Says what was refused, verifies the log and points to the diff.
    fn report(
        &self,
        show: &Arc<Mutex<Show>>,
        found: &Found,
        attempts: &[Attempt],
    ) -> Result<bool, Failure> {
        let (session, verdict) = Log::read(&found.log).map_err(|fault| Failure::because(&fault))?;
        say(show, Weight::Strong, "\n3. What came of it:");
        let mut all = true;
        let outcomes = session.entries.iter().filter_map(|(_, entry)| match entry {
            Entry::Result { outcome, .. } => Some(outcome),
            Entry::User(_) | Entry::Model(_) | Entry::Notice(_) => None,
        });
        let outcomes: Vec<_> = outcomes.collect();
        let first = outcomes.len().saturating_sub(attempts.len());
        let worked = outcomes[..first].iter().all(|outcome| !outcome.is_error());
        for (index, attempt) in attempts.iter().enumerate() {
            let outcome = outcomes.get(first + index).copied();
            let refused = self.was_refused(outcome, attempt.kind);
            all &= refused;
            let (weight, word) =
                if refused { (Weight::Good, "refused") } else { (Weight::Bad, "NOT REFUSED") };
            say(show, weight, &format!("   {}: {word}", attempt.what));
        }
        let intact = matches!(verdict, Verdict::Intact { .. });
        let weight = if intact { Weight::Good } else { Weight::Bad };
        say(show, weight, &format!("   the log: {verdict}"));
        let untouched =
            fs::read(self.project.join("greet.sh"))?.starts_with(b"#!/bin/sh\necho \"Hey");
        let (weight, word) =
            if untouched { (Weight::Good, "untouched") } else { (Weight::Bad, "CHANGED") };
        say(show, weight, &format!("   the project itself: {word}"));
        say(show, Weight::Strong, "\n4. The work, as chock diff shows it:");
        let mut show = show.lock().expect("invariant: nobody panics while showing");
        let changed = super::diff::write_session(&mut show.terminal, found, &session)?;
        Ok(worked && all && intact && untouched && changed)
    }

    /// Takes part of the work into the project, as `chock review` does, and undoes it.
    fn bring_back(&self, show: &Arc<Mutex<Show>>, bench: &Bench) -> Result<bool, Failure> {
        let greeting = self.project.join("greet.sh");
        let before = fs::read(&greeting)?;
        say(show, Weight::Strong, "\n5. You take what you want of it:");
        say(show, Weight::Quiet, "   $ chock review --accept greet.sh --reject NOTES.md");
        let word = |path: &str| PathText(path.as_bytes().to_vec());
        let selection = Selection {
            accept: vec![word("greet.sh")],
            reject: vec![(word("NOTES.md"), "no notes, please".to_owned())],
            ..Selection::default()
        };
        let taken = bench.review(&selection)?;
        let is_taken = taken.written == [word("greet.sh")]
            && fs::read(&greeting)?.windows(8).any(|piece| piece == b"Good day")
            && !self.project.join("NOTES.md").exists();
        let show_lines = |verb: &str, holds: bool, words: &str| {
            let (weight, words) =
                if holds { (Weight::Good, words) } else { (Weight::Bad, "WRONG") };
            say(show, weight, &format!("   {verb} greet.sh: {words}"));
        };
        show_lines("wrote", is_taken, "the greeting is polite, and there are no notes");
        say(show, Weight::Strong, "\n6. And it goes out again:");
        say(show, Weight::Quiet, "   $ chock undo");
        let undone = bench.turn_back(Direction::Undo, 1)?;
        let is_undone = undone.written == [word("greet.sh")] && fs::read(&greeting)? == before;
        show_lines("put back", is_undone, "the project is as it was");
        Ok(is_taken && is_undone)
    }

    fn was_refused(&self, outcome: Option<&Outcome>, kind: Kind) -> bool {
        let Some(outcome) = outcome else { return false };
        let kept = match kind {
            Kind::Secret => !outcome.text.contains(CANARY),
            Kind::Listener => self.connections.try_recv() == Err(TryRecvError::Empty),
            Kind::Neighbour => fs::read(&self.outside).is_ok_and(|text| text == b"mine\n"),
        };
        outcome.is_error() && kept
    }
}

/// Accepts and closes connections on a thread, and tells of each.
fn tell_connections(listener: TcpListener) -> std::io::Result<Receiver<()>> {
    let (tell, connections) = mpsc::channel();
    thread::Builder::new().name("listener".to_owned()).spawn(move || {
        for connection in listener.incoming() {
            drop(connection);
            if tell.send(()).is_err() {
                break;
            }
        }
    })?;
    Ok(connections)
}

/// What the model says, turn by turn. The three attempts are its last calls.
fn script(attempts: &[Attempt; 3]) -> Value {
    let shell = |command: &str| json!({ "name": "run_command", "input": { "command": command } });
    let edit = json!({ "name": "edit_file", "input": {
        "path": "greet.sh", "old_string": "Hey $1", "new_string": "Good day, $1" } });
    let note = json!({ "name": "write_file", "input": {
        "path": "NOTES.md", "content": "The greeting is polite since today.\n" } });
    let tries: Vec<_> = attempts.iter().map(|attempt| shell(&attempt.command)).collect();
    json!({ "turns": [
        { "text": "I look at the script first.\n",
          "tools": [{ "name": "read_file", "input": { "path": "greet.sh" } }] },
        { "text": "A small edit, then the tests.\n", "tools": [edit, shell("sh test.sh")] },
        { "text": "I leave a note.\n", "tools": [note] },
        { "text": "They pass, so I commit.\n",
          "tools": [shell("git commit -qam 'Be polite' && git log --oneline")] },
        { "text": "Now three things I should not be able to do.\n", "tools": tries },
        { "text": "The greeting is polite now, and the rest was refused.\n" },
    ]})
}
