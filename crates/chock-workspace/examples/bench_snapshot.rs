//! Lanes for `cargo xtask bench`: what a workspace costs in a large project.
//!
//! Arguments: a scratch directory and a project. Each line of standard input names a lane, is done
//! once, and answered with its nanoseconds, or with `!` and the reason why it cannot:
//!
//! - `open`: makes the workspace of a new session, with a base that is there.
//! - `base`: the same in an empty cache.
//! - `snapshot`: a snapshot and its change set after changing ten files (not timed).
//! - `fork`: makes a workspace out of a turn in which ten files were changed.
//! - `uncommitted`: counts the uncommitted files.

use std::error::Error;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use chock_workspace::{
    Forking, Halves, Method, Opening, Project, Snapshot, Start, Surroundings, Workspace,
};

/// How many files change before each snapshot.
const CHANGED: usize = 10;

fn main() -> ExitCode {
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // Whoever reads the lanes sees the end of the output as well.
            let _nobody_there = writeln!(io::stderr(), "{fault}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(scratch), Some(project)) = (arguments.next(), arguments.next()) else {
        return Err("a scratch directory and a project are expected".into());
    };
    let surroundings = Surroundings {
        search_path: std::env::var_os("PATH").unwrap_or_default(),
        home: None,
        config_home: None,
        own_directories: vec![scratch.clone()],
    };
    let mut yard =
        Yard { project, surroundings, scratch, workspace: None, snapshot: None, rounds: 0 };
    for lane in io::stdin().lock().lines() {
        let answer = match yard.once(&lane?) {
            Ok(time) => time.as_nanos().to_string(),
            Err(fault) => format!("! {fault}"),
        };
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}

struct Yard {
    project: PathBuf,
    surroundings: Surroundings,
    scratch: PathBuf,
    /// The workspace whose snapshots are taken.
    workspace: Option<(Project, Workspace)>,
    /// The last snapshot of it.
    snapshot: Option<Snapshot>,
    rounds: u64,
}

impl Yard {
    fn once(&mut self, lane: &str) -> Result<Duration, Box<dyn Error>> {
        self.rounds += 1;
        match lane {
            "open" => self.open("cache"),
            "base" => self.open(&format!("cache-{}", self.rounds)),
            "snapshot" => self.snapshot(),
            "fork" => self.fork(),
            "uncommitted" => self.uncommitted(),
            other => Err(format!("no lane is named {other}").into()),
        }
    }

    fn create(&self, name: &str, cache: &str) -> Result<(Project, Workspace), Box<dyn Error>> {
        let opening = Opening {
            session: self.scratch.join(name),
            cache: self.scratch.join(cache),
            method: Method::Overlay,
            owner: None,
            start: Start::Committed,
            covered: Vec::new(),
            binds: Vec::new(),
        };
        let project = Project::find(&self.project, &self.surroundings)?;
        let workspace = Workspace::create(&project, &opening)?;
        Ok((project, workspace))
    }

    fn open(&self, cache: &str) -> Result<Duration, Box<dyn Error>> {
        let start = Instant::now();
        let (_, workspace) = self.create(&format!("round-{}", self.rounds), cache)?;
        let time = start.elapsed();
        workspace.remove()?;
        Ok(time)
    }

    fn kept(&mut self) -> Result<&(Project, Workspace), Box<dyn Error>> {
        if self.workspace.is_none() {
            self.workspace = Some(self.create("kept", "cache")?);
        }
        self.workspace.as_ref().ok_or_else(|| "there is no workspace".into())
    }

    fn snapshot(&mut self) -> Result<Duration, Box<dyn Error>> {
        let round = self.rounds;
        let (_, workspace) = self.kept()?;
        let Halves::Overlay { base, upper, .. } = &workspace.layout().halves else {
            return Err("an overlay is expected".into());
        };
        let names = some_files(base)?;
        for name in &names {
            let path = upper.join(name);
            fs::create_dir_all(path.parent().unwrap_or(upper))?;
            fs::write(path, format!("changed in round {round}\n"))?;
        }
        let start = Instant::now();
        let snapshot = workspace.snapshot()?;
        let changes = workspace.store().changes(workspace.start_tree(), snapshot.tree)?;
        let time = start.elapsed();
        self.snapshot = Some(snapshot);
        if changes.files.len() == names.len() {
            Ok(time)
        } else {
            Err(format!("{} files changed, not {}", changes.files.len(), names.len()).into())
        }
    }

    fn fork(&mut self) -> Result<Duration, Box<dyn Error>> {
        if self.snapshot.is_none() {
            self.snapshot()?;
        }
        let kept = self.snapshot.clone().ok_or("there is no snapshot")?;
        let session = self.scratch.join(format!("round-{}", self.rounds));
        let parent = self.scratch.join("kept");
        let (project, _) = self.kept()?;
        let (covered, binds) = (Vec::new(), Vec::new());
        let (tree, git) = (kept.tree, kept.git);
        let forking = Forking { session, parent, tree, git, covered, binds };
        let start = Instant::now();
        let workspace = Workspace::fork(project, &forking)?;
        let time = start.elapsed();
        workspace.remove()?;
        Ok(time)
    }

    fn uncommitted(&mut self) -> Result<Duration, Box<dyn Error>> {
        let (project, workspace) = self.kept()?;
        let start = Instant::now();
        workspace.uncommitted(project).count()?;
        Ok(start.elapsed())
    }
}

/// The first file of each of some directories, in the order of their names.
fn some_files(base: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut left = vec![base.to_owned()];
    while let (Some(directory), true) = (left.pop(), found.len() < CHANGED) {
        let entries: Result<Vec<_>, _> = directory.read_dir()?.collect();
        let mut paths: Vec<_> = entries?.iter().map(fs::DirEntry::path).collect();
        paths.sort();
        let file = paths.iter().find(|path| path.is_file());
        found.extend(file.and_then(|path| path.strip_prefix(base).ok()).map(Path::to_owned));
        left.extend(paths.into_iter().filter(|path| path.is_dir() && !path.ends_with(".git")));
    }
    Ok(found)
}
