//! Measures the workspace against git on a generated project of 20,000 files.
//!
//! Prints one row a line: what, its time, the time of what it is compared with, and
//! the ratio. Medians of a few runs, in one process.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use chock_workspace::{Halves, Method, Opening, Project, Start, Surroundings, Workspace};

/// How many files the project has.
const FILES: usize = 20_000;

/// How many files each directory has.
const FILES_PER_DIRECTORY: usize = 40;

/// How many files the session changes.
const CHANGED: usize = 10;

/// How often each thing is measured.
const RUNS: usize = 7;

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let project = directory.path().join("project");
    generate(&project);
    let yard = Yard { directory: directory.path().to_owned(), project };
    let worktree = yard.worktree_add();
    let (base, warm) = yard.starts();
    row("base, once per tree", base, "git worktree add", worktree);
    row("start with a warm base", warm, "git worktree add", worktree);
    let add = yard.add_and_write_tree();
    let snapshot = yard.snapshot_and_diff();
    row("snapshot and diff, 10 files changed", snapshot, "git add -A && git write-tree", add);
    let workspace = yard.workspace("status");
    let project = yard.find();
    let uncommitted = median(|| assert_eq!(workspace.uncommitted(&project).unwrap(), 0));
    let status = median(|| git(&yard.project, &["status", "--porcelain"]));
    row("count of uncommitted files", uncommitted, "git status", status);
}

fn row(what: &str, time: Duration, against: &str, other: Duration) {
    let ratio = time.as_secs_f64() / other.as_secs_f64();
    println!("{what}: {time:.1?} / {against}: {other:.1?} = {ratio:.3}");
}

fn median(mut act: impl FnMut()) -> Duration {
    median_of(|_| {
        let start = Instant::now();
        act();
        start.elapsed()
    })
}

fn median_of(mut act: impl FnMut(usize) -> Duration) -> Duration {
    let mut times: Vec<_> = (0..RUNS).map(&mut act).collect();
    times.sort_unstable();
    times[RUNS / 2]
}

fn generate(project: &Path) {
    for number in 0..FILES {
        let path = project.join(file(number));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text: String =
            (0..100).map(|line| format!("line {line} of file {number}, and more\n")).collect();
        fs::write(path, text).unwrap();
    }
    git(project, &["init", "--quiet"]);
    git(project, &["add", "-A"]);
    git(project, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "all"]);
}

fn file(number: usize) -> String {
    let directory = number / FILES_PER_DIRECTORY;
    format!("area{}/part{}/file{number}.txt", directory / 25, directory % 25)
}

fn git(directory: &Path, args: &[&str]) {
    let output = Command::new("git").current_dir(directory).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

struct Yard {
    directory: PathBuf,
    project: PathBuf,
}

impl Yard {
    fn find(&self) -> Project {
        let surroundings = Surroundings {
            search_path: std::env::var_os("PATH").unwrap(),
            home: None,
            config_home: None,
            own_directories: Vec::new(),
        };
        Project::find(&self.project, &surroundings).unwrap()
    }

    fn workspace(&self, session: &str) -> Workspace {
        self.workspace_in(session, "cache")
    }

    fn workspace_in(&self, session: &str, cache: &str) -> Workspace {
        let opening = Opening {
            session: self.directory.join(format!("{session}.work")),
            cache: self.directory.join(cache),
            method: Method::Overlay,
            owner: None,
            start: Start::Committed,
            covered: Vec::new(),
        };
        Workspace::create(&self.find(), &opening).unwrap()
    }

    fn worktree_add(&self) -> Duration {
        median_of(|run| {
            let place = format!("../worktree-{run}");
            let start = Instant::now();
            git(&self.project, &["worktree", "add", "--quiet", "--detach", &place]);
            start.elapsed()
        })
    }

    /// The time of a start that makes its base, and of one that finds it.
    fn starts(&self) -> (Duration, Duration) {
        let cold = median_of(|run| {
            let start = Instant::now();
            self.workspace_in(&format!("cold-{run}"), &format!("cache-{run}"));
            start.elapsed()
        });
        self.workspace("first");
        let warm = median_of(|run| {
            let start = Instant::now();
            self.workspace(&format!("warm-{run}"));
            start.elapsed()
        });
        (cold, warm)
    }

    /// In a worktree, where the ten files are changed anew each time.
    fn add_and_write_tree(&self) -> Duration {
        let worktree = self.directory.join("worktree-0");
        median_of(|run| {
            change(&worktree, run);
            let start = Instant::now();
            git(&worktree, &["add", "-A"]);
            git(&worktree, &["write-tree"]);
            start.elapsed()
        })
    }

    fn snapshot_and_diff(&self) -> Duration {
        let workspace = self.workspace("snapshot");
        let Halves::Overlay { upper, .. } = &workspace.layout().halves else {
            return Duration::ZERO;
        };
        median_of(|run| {
            change(upper, run);
            let start = Instant::now();
            let snapshot = workspace.snapshot().unwrap();
            let changes = workspace.store().changes(workspace.start_tree(), snapshot.tree).unwrap();
            let time = start.elapsed();
            assert_eq!(changes.files.len(), CHANGED);
            time
        })
    }
}

fn change(top: &Path, run: usize) {
    for number in 0..CHANGED {
        let path = top.join(file(number * (FILES / CHANGED)));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("changed in run {run}\n")).unwrap();
    }
}
