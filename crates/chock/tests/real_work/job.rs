//! One job: the files of a project, and a command line that must work outside and inside.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::yard::{Ran, Yard};

/// A job before it runs.
pub(crate) struct Job {
    name: &'static str,
    needs: Vec<String>,
    config: &'static str,
    files: Vec<(&'static str, String)>,
}

/// Who runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// Whoever runs the tests, with the toolchains of that home.
    Tester,
    /// A plain user with an empty home, when the tests run as root.
    Plain,
}

impl Job {
    /// Names a job as the list of what was left out would.
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, needs: Vec::new(), config: ".{}", files: Vec::new() }
    }

    /// Names a program without which the job is left out.
    pub(crate) fn needs(self, program: &str) -> Self {
        self.needs_that(&format!("command -v {program}"))
    }

    /// Gives a command line without whose success the job is left out.
    pub(crate) fn needs_that(mut self, probe: &str) -> Self {
        self.needs.push(probe.to_owned());
        self
    }

    /// Sets the person's configuration.
    pub(crate) fn configured(mut self, text: &'static str) -> Self {
        self.config = text;
        self
    }

    /// Adds a file to the project's first commit.
    pub(crate) fn file(mut self, path: &'static str, text: impl Into<String>) -> Self {
        self.files.push((path, text.into()));
        self
    }

    /// Runs a command line of `bash` outside and inside, for everybody.
    ///
    /// It must succeed and print `words` in both places.
    #[track_caller]
    pub(crate) fn runs(&self, script: &str, words: &str) {
        for who in everybody() {
            let Some(yard) = self.yard(who) else { continue };
            let control = yard.outside(script);
            check(&format!("{} ({who:?}, outside)", self.name), &control, words);
            let inside = yard.inside(&["exec", "--", "bash", "-c", script]);
            check(&format!("{} ({who:?}, inside)", self.name), &inside, words);
        }
    }

    /// Makes the project for somebody, unless what the job needs is not within reach.
    pub(crate) fn yard(&self, who: Who) -> Option<Workshop> {
        let yard = Yard::bare();
        for (path, text) in &self.files {
            yard.write(path, text);
        }
        yard.git(&["init", "-q", "-b", "main"]);
        for (name, value) in [("user.name", "Ada"), ("user.email", "ada@localhost")] {
            yard.git(&["config", name, value]);
        }
        yard.commit();
        for name in ["outside-home", "outside-tmp"] {
            std::fs::create_dir(yard.path(name)).expect("a directory");
        }
        let pair = [yard.project(), yard.path("control")];
        assert!(Command::new("cp").arg("-a").args(pair).status().expect("cp").success());
        let yard = match who {
            Who::Tester => yard,
            Who::Plain => yard.as_plain_user(),
        };
        yard.config(self.config);
        let workshop = Workshop { yard, who };
        for probe in &self.needs {
            if workshop.outside(probe).code != Some(0) {
                skip(&format!("{} ({who:?})", self.name), &format!("`{probe}` fails here"));
                return None;
            }
        }
        Some(workshop)
    }
}

/// Lists who runs the jobs.
pub(crate) fn everybody() -> Vec<Who> {
    match rustix::process::geteuid().is_root() {
        true => vec![Who::Tester, Who::Plain],
        false => vec![Who::Tester],
    }
}

/// Notes that something could not be tried here.
pub(crate) fn skip(name: &str, reason: &str) {
    let Some(path) = std::env::var_os("CHOCK_TEST_SKIPS") else { return };
    let file = OpenOptions::new().append(true).create(true).open(path);
    let line = format!("real work: {name}: {reason}\n");
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the list of skips");
}

#[track_caller]
fn check(what: &str, ran: &Ran, words: &str) {
    let worked = ran.code == Some(0) && ran.out.contains(words);
    assert!(worked, "{what}: {:?}\n--- out\n{}\n--- err\n{}", ran.code, ran.out, ran.err);
}

/// A project, a copy of it for the control, and homes for both.
pub(crate) struct Workshop {
    pub(crate) yard: Yard,
    who: Who,
}

impl Workshop {
    /// Runs a command line uncaged, in the copy of the project.
    pub(crate) fn outside(&self, script: &str) -> Ran {
        let template = self.yard.command(&[]);
        let mut command = Command::new("bash");
        command.args(["-c", script]).current_dir(self.yard.path("control")).env_clear();
        for (name, value) in template.get_envs() {
            command.env(name, value.expect("a value"));
        }
        command.env("HOME", self.yard.path("outside-home")).stdin(Stdio::null());
        command.env("TMPDIR", self.yard.path("outside-tmp"));
        command.env("CARGO_NET_OFFLINE", "true");
        for (name, place) in [("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")] {
            if let Some(place) = self.home().map(|home| home.join(place)).filter(|it| it.is_dir()) {
                command.env(name, place);
            }
        }
        self.yard.become_its_user(&mut command);
        command.output().expect("bash").into()
    }

    /// Configures a model that follows a script.
    pub(crate) fn scripted(&self, turns: &serde_json::Value) {
        let script = self.yard.path("home/.config/chock/script.json");
        std::fs::write(&script, turns.to_string()).expect("a script");
        self.yard.config(
            ".{ .providers = .{ .{ .name = \"script\", .kind = .scripted, .script = \"script.json\" } } }",
        );
    }

    /// Runs Chock in the project, with the toolchains of whoever it is.
    pub(crate) fn inside(&self, words: &[&str]) -> Ran {
        let output: Output = self.command(words).output().expect("the program");
        output.into()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.yard.command(words);
        if let Some(home) = self.home() {
            command.env("HOME", home);
            let own = self.yard.path("home");
            for (name, place) in [
                ("XDG_CONFIG_HOME", ".config"),
                ("XDG_STATE_HOME", ".local/state"),
                ("XDG_DATA_HOME", ".local/share"),
                ("XDG_CACHE_HOME", ".cache"),
            ] {
                command.env(name, own.join(place));
            }
        }
        command
    }

    /// Returns the tester's own home, where toolchains may be.
    fn home(&self) -> Option<PathBuf> {
        (self.who == Who::Tester).then(|| std::env::var_os("HOME")).flatten().map(PathBuf::from)
    }
}
