//! A throwaway project, and everything a workspace of it needs.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use chock_workspace::{
    ChangeSet, Halves, Method, Opening, Project, ProjectFault, Start, Surroundings, TreeId,
    Workspace,
};
use tempfile::TempDir;

/// A temporary directory with a project, a home, a cache and a state directory.
pub(crate) struct Yard {
    directory: TempDir,
    /// Where it is, when another process made it.
    top: Option<PathBuf>,
    pub(crate) project: PathBuf,
}

impl Yard {
    /// A repository without a commit.
    pub(crate) fn empty() -> Self {
        Self::named(OsStr::new("project"))
    }

    /// The same, in a directory of this name.
    pub(crate) fn named(name: &OsStr) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let yard = Self { project: directory.path().join(name), directory, top: None };
        for part in ["home", "state", "cache"] {
            fs::create_dir(yard.path(part)).unwrap();
        }
        fs::create_dir(&yard.project).unwrap();
        let person = "[user]\n\tname = Ann Example\n\temail = ann@example.invalid\n";
        fs::write(yard.path("home").join(".gitconfig"), person).unwrap();
        yard.git(&["init", "--quiet", "--initial-branch=main", "."]);
        yard
    }

    /// A yard that another process made, which also removes it.
    pub(crate) fn standing(top: &Path, project: &Path) -> Self {
        // Only its path is used.
        let directory = TempDir::new_in(top).unwrap();
        Self { directory, top: Some(top.to_owned()), project: project.to_owned() }
    }

    /// A repository with one commit of a few files of different kinds.
    pub(crate) fn filled() -> Self {
        let yard = Self::empty();
        yard.fill();
        yard
    }

    /// The same yard with another of its directories as the project.
    pub(crate) fn at(self, part: &str) -> Self {
        Self { project: self.path(part), ..self }
    }

    pub(crate) fn fill(&self) {
        self.write("README", "one\ntwo\nthree\n");
        self.write("src/main.rs", "fn main() {\n}\n");
        self.write("src/deep/er/leaf.txt", "leaf\n");
        self.write("docs/a.md", "a\n");
        self.write("docs/b.md", "b\n");
        self.write("run.sh", "#!/bin/sh\n");
        fs::set_permissions(self.project.join("run.sh"), fs::Permissions::from_mode(0o755))
            .unwrap();
        std::os::unix::fs::symlink("README", self.project.join("link")).unwrap();
        self.write(".gitignore", "*.log\n/target/\n");
        self.commit("first");
    }

    pub(crate) fn path(&self, part: &str) -> PathBuf {
        self.top.as_deref().unwrap_or(self.directory.path()).join(part)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        put(&self.project, name, text);
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
    }

    /// Runs git in the project as the person would, and gives what it printed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        text(run(self.command(&self.project).args(args)))
    }

    /// Runs git in another directory.
    pub(crate) fn git_in(&self, directory: &Path, args: &[&str]) -> String {
        text(run(self.command(directory).args(args)))
    }

    /// Git, with the yard's home.
    pub(crate) fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new("git");
        command.current_dir(directory).env("HOME", self.path("home"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").env_remove("XDG_CONFIG_HOME").env("LC_ALL", "C");
        command.env("GIT_OPTIONAL_LOCKS", "0");
        command
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        let own = ["state", "cache"].map(|part| self.path(part));
        Surroundings {
            search_path: std::env::var_os("PATH").unwrap(),
            home: Some(self.path("home")),
            config_home: None,
            own_directories: own.to_vec(),
        }
    }

    pub(crate) fn find(&self) -> Result<Project, ProjectFault> {
        Project::find(&self.project, &self.surroundings())
    }

    pub(crate) fn opening(&self, session: &str) -> Opening {
        Opening {
            session: self.path("state").join(session),
            cache: self.path("cache"),
            method: Method::Overlay,
            owner: None,
            start: Start::Committed,
            covered: Vec::new(),
            binds: Vec::new(),
        }
    }

    pub(crate) fn workspace(&self) -> Workspace {
        self.workspace_with(self.opening("one.work"))
    }

    pub(crate) fn workspace_with(&self, opening: Opening) -> Workspace {
        Workspace::create(&self.find().unwrap(), &opening).unwrap()
    }
}

/// Where the session's files are written: the upper layer, or the whole copy.
pub(crate) fn top(workspace: &Workspace) -> PathBuf {
    match &workspace.layout().halves {
        Halves::Overlay { upper, .. } => upper.clone(),
        Halves::Copy { root } => root.clone(),
    }
}

/// Writes a file with the directories above it.
pub(crate) fn put(top: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = top.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The overlay's mark that a name is gone.
pub(crate) fn whiteout(top: &Path, name: &str) {
    let path = top.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let kind = rustix::fs::FileType::CharacterDevice;
    rustix::fs::mknodat(rustix::fs::CWD, &path, kind, rustix::fs::Mode::empty(), 0).unwrap();
}

/// The changes of a session since its start, from a new snapshot.
pub(crate) fn changes(workspace: &Workspace) -> ChangeSet {
    let snapshot = workspace.snapshot().unwrap();
    workspace.store().changes(workspace.start_tree(), snapshot.tree).unwrap()
}

/// `kind path` of each change.
pub(crate) fn rows(changes: &ChangeSet) -> Vec<String> {
    let row = |file: &chock_workspace::FileChange| {
        let kind = serde_json::to_value(file.kind).unwrap();
        format!("{} {}", kind.as_str().unwrap(), String::from_utf8_lossy(&file.path))
    };
    changes.files.iter().map(row).collect()
}

/// The paths of a tree of a session's store, one a line with mode and id.
pub(crate) fn list(yard: &Yard, session: &str, tree: TreeId) -> String {
    let store = yard.path("state").join(session).join("store");
    yard.git_in(&store, &["ls-tree", "-r", &tree.to_string()])
}

pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

pub(crate) fn text(output: Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Every file with its kind and mode, its time and its content.
pub(crate) type State = Vec<(OsString, u32, i64, i64, Vec<u8>)>;

/// Names the paths that differ.
pub(crate) fn assert_same(after: &State, before: &State) {
    let differ = |a: &State, b: &State| -> Vec<OsString> {
        a.iter().filter(|row| !b.contains(row)).map(|row| row.0.clone()).collect()
    };
    let differ = (differ(after, before), differ(before, after));
    assert!(differ.0.is_empty() && differ.1.is_empty(), "{differ:?}");
}

/// The state of everything below `top`.
pub(crate) fn everything(top: &Path) -> State {
    let mut rows = Vec::new();
    let mut left = vec![top.to_owned()];
    while let Some(path) = left.pop() {
        let found = path.symlink_metadata().unwrap();
        let content = if found.is_dir() {
            left.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else if found.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else {
            fs::read(&path).unwrap()
        };
        rows.push((path.into(), found.mode(), found.mtime(), found.mtime_nsec(), content));
    }
    rows.sort();
    rows
}
