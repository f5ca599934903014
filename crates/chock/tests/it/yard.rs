//! A throwaway project, a home beside it, and the program run in them.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A project, a home and everything of Chock's, gone with the value.
pub(crate) struct Yard {
    top: TempDir,
    user: Option<u32>,
    program: PathBuf,
}

/// What a run of the program left.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Asserts the exit code, and shows everything when it is another.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        let (out, err) = (&self.out, &self.err);
        assert_eq!(self.code, Some(code), "\n--- out\n{out}\n--- err\n{err}");
        self
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Yard {
    /// Makes a project with one commit of a small Python program and its test.
    pub(crate) fn new() -> Self {
        let yard = Self::bare();
        yard.write("parser.py", "def number(text):\n    return int(text)\n");
        yard.write(
            "test_parser.py",
            "import unittest\nfrom parser import number\n\n\nclass Number(unittest.TestCase):\n    def test_spaces(self):\n        self.assertEqual(number(' -7 '), -7)\n\n\nif __name__ == '__main__':\n    unittest.main()\n",
        );
        yard.write("a.txt", "alpha\n");
        yard.write("b.txt", "beta\n");
        yard.write("naïve dir/ünïcödé", "x\n");
        yard.write(".gitignore", "__pycache__/\n");
        yard.commit();
        yard
    }

    /// Makes an empty directory for a project, and a home.
    pub(crate) fn bare() -> Self {
        let top = tempfile::Builder::new().prefix("chock-yard-").tempdir().expect("a directory");
        let yard = Self { top, user: None, program: env!("CARGO_BIN_EXE_chock").into() };
        for name in ["project", "home/.config/chock"] {
            fs::create_dir_all(yard.path(name)).expect("a directory");
        }
        yard
    }

    /// Makes the same yard for a plain user, when the tests run as root.
    #[expect(clippy::wrong_self_convention, reason = "it reads as the sentence it makes")]
    pub(crate) fn as_plain_user(mut self) -> Self {
        if rustix::process::geteuid().is_root() {
            let program = self.path("chock");
            fs::copy(&self.program, &program).expect("a copy of the program");
            self.program = program;
            self.user = Some(PLAIN_USER);
            self.own_everything();
        }
        self
    }

    /// Gives the plain user, if it is the yard's, what was made since.
    pub(crate) fn own_everything(&self) {
        if self.user.is_some() {
            self.run_tool("chown", &["-R", "65534:65534", "."]);
        }
    }

    /// Has a command run as the yard's user.
    pub(crate) fn become_its_user(&self, command: &mut Command) {
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
    }

    /// Names a path in the yard.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.top.path().canonicalize().expect("a real path").join(name)
    }

    /// Names the project.
    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    /// Makes the project a repository if it is none, and commits everything.
    pub(crate) fn commit(&self) {
        self.git(&["init", "-q", "-b", "main"]);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "start"]);
    }

    /// Runs git in the project and returns what it prints.
    pub(crate) fn git(&self, words: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@localhost"])
            .args(["-c", "commit.gpgsign=false", "-c", "safe.directory=*"])
            .args(words)
            .current_dir(self.project())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git");
        assert!(output.status.success(), "git {words:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn run_tool(&self, tool: &str, words: &[&str]) {
        let status = Command::new(tool).args(words).current_dir(self.top.path()).status();
        assert!(status.expect("a tool").success(), "{tool} {words:?}");
    }

    /// Points Chock at a server on loopback.
    pub(crate) fn configure(&self, port: u16) {
        self.config(&format!(
            ".{{ .providers = .{{ .{{ .name = \"fake\", .kind = .@\"openai-compat\", .base_url = \"http://127.0.0.1:{port}/v1\", .token = \"test-token-123456\", .model = \"fake-1\" }} }} }}"
        ));
    }

    /// Writes the person's configuration.
    pub(crate) fn config(&self, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path("home/.config/chock/config.zon");
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
        if let Some(user) = self.user {
            std::os::unix::fs::chown(&path, Some(user), Some(user)).expect("an owner");
        }
    }

    /// Prepares the program with its words, in the project, with an environment of its own.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(words)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null());
        self.become_its_user(&mut command);
        command
    }

    /// Runs the program to its end.
    pub(crate) fn chock(&self, words: &[&str]) -> Ran {
        self.command(words).output().expect("the program").into()
    }

    /// Lists the session logs, oldest first.
    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        let mut logs = Vec::new();
        let sessions = self.path("home/.local/state/chock/sessions");
        for project in entries(&sessions) {
            let files = entries(&project);
            logs.extend(
                files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl")),
            );
        }
        logs.sort();
        logs
    }

    /// Reads the records of the newest session.
    pub(crate) fn records(&self) -> Vec<Value> {
        let log = self.logs().pop().expect("a session");
        let text = fs::read_to_string(log).expect("a log");
        text.lines().skip(1).map(|line| serde_json::from_str(line).expect("a record")).collect()
    }

    /// Returns the outcome of each tool call of the newest session, in order.
    pub(crate) fn outcomes(&self) -> Vec<Value> {
        let finished =
            self.records().into_iter().filter(|record| record["kind"] == "tool.finished");
        finished.map(|record| record["body"]["outcome"].clone()).collect()
    }

    /// Sums the project up: its files, its index, its refs and its objects.
    pub(crate) fn fingerprint(&self) -> String {
        let index = fs::read(self.project().join(".git/index")).unwrap_or_default();
        let mut names = tree(&self.project());
        names.sort();
        let files: Vec<_> = names
            .iter()
            .map(|path| {
                let text = fs::read(path).unwrap_or_default();
                format!(
                    "{} {:?} {}",
                    path.display(),
                    fs::symlink_metadata(path).map(|data| data.len()).ok(),
                    hash(&text)
                )
            })
            .collect();
        format!("{}\n{}\n{}", hash(&index), self.git(&["for-each-ref"]), files.join("\n"))
    }
}

const PLAIN_USER: u32 = 65534;

fn hash(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let read = fs::read_dir(directory).into_iter().flatten().flatten();
    read.map(|entry| entry.path()).collect()
}

fn tree(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for path in entries(directory) {
        let is_directory = fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir());
        if is_directory {
            all.extend(tree(&path));
        }
        all.push(path);
    }
    all
}
