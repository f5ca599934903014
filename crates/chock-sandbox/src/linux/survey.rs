//! Tries every layer of the sandbox by the code that confines calls.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::call;
use super::ids::is_host_root;
use super::machine::Machine;
use super::parent::Keeper;
use crate::{
    Access, Applied, Cage, Call, Cancel, Ended, Filter, Finished, Home, KeeperOptions, Layer,
    Limits, Mount, Owners, Program, Row, SandboxFault, StartStep, State, Stdio, SurveyOptions,
};

/// The bytes of every scratch file system of a survey.
const BYTES: u64 = 1 << 20;

/// The longest that a cell of a survey may take.
const WALL_TIME: Duration = Duration::from_secs(10);

pub(crate) fn survey(options: &SurveyOptions) -> Vec<Row> {
    let machine = Machine::ask();
    let mut rows = plain_rows(options, &machine);
    let halves = Halves::make(options);
    rows.push(match &halves {
        Ok(halves) => overlay_row(options, &machine, halves),
        Err(error) => {
            let detail = format!("cannot use `{}`: {error}", options.scratch.display());
            let cure = "name a directory that the session's user can reach and write".to_owned();
            row(Layer::Overlay, State::Off, detail, cure)
        }
    });
    rows.push(idmapped_row(options, &machine, halves.as_ref().ok()));
    let order = |row: &Row| Layer::ALL.iter().position(|layer| layer.name() == row.layer);
    // The two paths have no layer and come last.
    rows.sort_by_key(|row| order(row).unwrap_or(usize::MAX));
    rows
}

/// Everything that needs neither a file system of the host nor root.
fn plain_rows(options: &SurveyOptions, machine: &Machine) -> Vec<Row> {
    let layers = Layer::ALL
        .into_iter()
        .filter(|layer| !matches!(layer, Layer::Overlay | Layer::IdMappedMount));
    match attempt(options, Vec::new()) {
        Ok(tried) => {
            let mut rows: Vec<_> = layers.map(|layer| proven(layer, &tried.layers)).collect();
            rows.push(path_row("cold path", tried.cold));
            rows.push(path_row("warm path", tried.warm));
            rows
        }
        Err(fault) => {
            let (blamed, detail, cure) = explain(&fault, machine);
            let not_tried = match blamed {
                Some(layer) => format!("not tried: {layer} is off"),
                None => format!("not tried: {detail}"),
            };
            let mut rows: Vec<_> = layers
                .map(|layer| match blamed == Some(layer) {
                    true => row(layer, State::Off, detail.clone(), cure.clone()),
                    false => row(layer, State::Off, not_tried.clone(), String::new()),
                })
                .collect();
            for name in ["cold path", "warm path"] {
                rows.push(named(name, State::Off, not_tried.clone()));
            }
            rows
        }
    }
}

fn proven(layer: Layer, layers: &[Applied]) -> Row {
    match layers.iter().find(|applied| applied.layer == layer) {
        Some(applied) => row(layer, State::On, applied.proof.clone(), String::new()),
        None if layer == Layer::ControlGroup => {
            let detail = "no control group can be had: memory is limited for each process, and \
                          processes for each call";
            let cure = "start Chock in a delegated group: `systemd-run --user --scope -p \
                        Delegate=yes chock ...`";
            row(layer, State::Off, detail.to_owned(), cure.to_owned())
        }
        None => row(layer, State::Off, "it was not reported".to_owned(), String::new()),
    }
}

fn overlay_row(options: &SurveyOptions, machine: &Machine, halves: &Halves) -> Row {
    let overlay = Mount::Overlay {
        base: halves.at("base"),
        upper: halves.at("layer/upper"),
        work: halves.at("layer/work"),
        target: "/workspace".into(),
    };
    match attempt(options, vec![overlay]) {
        Ok(tried) => {
            let mut row = proven(Layer::Overlay, &tried.layers);
            // Only with an overlay does the filter ask about renames.
            let filter = tried.layers.iter().find(|it| it.layer == Layer::SystemCallFilter);
            if let Some(filter) = filter {
                row.detail = format!("{}; {}", row.detail, filter.proof);
            }
            row
        }
        Err(fault) => failed(Layer::Overlay, &fault, machine),
    }
}

fn idmapped_row(options: &SurveyOptions, machine: &Machine, halves: Option<&Halves>) -> Row {
    let layer = Layer::IdMappedMount;
    if !is_host_root() {
        return row(layer, State::Unsupported, "for root only".to_owned(), String::new());
    }
    let Some(halves) = halves else {
        return row(layer, State::Off, "not tried: no directory".to_owned(), String::new());
    };
    let bind = Mount::Bind {
        source: halves.at("base"),
        target: "/mapped".into(),
        access: Access::ReadOnly,
        owners: Owners::RootAsSession,
    };
    match attempt(options, vec![bind]) {
        Ok(tried) => proven(layer, &tried.layers),
        Err(fault) => failed(layer, &fault, machine),
    }
}

/// What a throwaway session showed.
struct Tried {
    layers: Vec<Applied>,
    cold: Duration,
    warm: Duration,
}

fn attempt(options: &SurveyOptions, tree: Vec<Mount>) -> Result<Tried, SandboxFault> {
    let limits = Limits {
        wall_time: WALL_TIME,
        scratch_bytes: BYTES,
        shared_memory_bytes: BYTES,
        ..Limits::default()
    };
    let home = Home::Scratch { bytes: BYTES };
    let cage = Cage { tree, home, stored: Vec::new(), limits, filter: Filter::default() };
    cage.check()?;
    let cold = one(options, &cage, 0)?;
    let warm = one(options, &cage, 1)?;
    Ok(Tried { layers: cold.0.layers, cold: cold.1, warm: warm.1 })
}

/// Sends a whole call through a keeper of its own: it asks for a hand that nobody has, so that
/// everything but a program is tried.
fn one(
    options: &SurveyOptions,
    cage: &Cage,
    warm: usize,
) -> Result<(Finished, Duration), SandboxFault> {
    let KeeperOptions { program, session_user, containment, .. } = &options.keeper;
    let keeper = Keeper::start_with(program, *session_user, *containment, warm, cage)?;
    let nothing =
        Program::Hand { name: "nothing".to_owned(), request: Vec::new(), directory: "/".into() };
    let talk = |source| SandboxFault::Talk { step: "make a pipe", source };
    let cancel = Cancel::new().map_err(talk)?;
    if warm > 0 {
        // The cell gets itself ready meanwhile.
        std::thread::sleep(Duration::from_millis(20));
    }
    let begun = Instant::now();
    let mut sink = |_: &[u8]| {};
    let stdio = Stdio::Captured(&mut sink);
    let finished = call::run(&keeper, &nothing, Call { stdio, wall_time: None, cancel: &cancel })?;
    let took = begun.elapsed();
    match finished.ended {
        Ended::NotStarted { step: StartStep::Hand, .. } => Ok((finished, took)),
        Ended::NotStarted { .. }
        | Ended::Exited(_)
        | Ended::Signalled(_)
        | Ended::TimedOut
        | Ended::Cancelled
        | Ended::Limit(_) => Err(SandboxFault::Lost { what: "a cell's own answer" }),
    }
}

/// Returns the layer to blame, what happened, and the cure.
fn explain(fault: &SandboxFault, machine: &Machine) -> (Option<Layer>, String, String) {
    let mut detail = fault.to_string();
    let mut source = std::error::Error::source(fault);
    while let Some(next) = source {
        detail = format!("{detail}: {next}");
        source = next.source();
    }
    match fault {
        SandboxFault::Layer { layer, step, source, .. } => {
            let errno = source.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error);
            let cure = machine.cure(*layer, errno).to_owned();
            let blamed = machine.blame(*layer, errno);
            (Some(blamed), format!("cannot {step}: {source}"), cure)
        }
        SandboxFault::NoSessionUser => {
            let cure = "give the session an unprivileged user".to_owned();
            (Some(Layer::UserNamespace), detail, cure)
        }
        SandboxFault::Cage(_)
        | SandboxFault::Mount { .. }
        | SandboxFault::Start { .. }
        | SandboxFault::Lost { .. }
        | SandboxFault::Talk { .. }
        | SandboxFault::TooLarge { .. }
        | SandboxFault::Malformed { .. }
        | SandboxFault::Unsupported => (None, detail, String::new()),
    }
}

fn failed(layer: Layer, fault: &SandboxFault, machine: &Machine) -> Row {
    let (blamed, detail, cure) = explain(fault, machine);
    match blamed.filter(|blamed| *blamed != layer) {
        Some(other) => row(layer, State::Off, format!("not tried: {other} is off"), String::new()),
        None => row(layer, State::Off, detail, cure),
    }
}

fn row(layer: Layer, state: State, detail: String, cure: String) -> Row {
    let blocks = !matches!(layer, Layer::ControlGroup | Layer::IdMappedMount);
    Row { layer: layer.name().to_owned(), state, blocks, detail, cure }
}

fn named(name: &str, state: State, detail: String) -> Row {
    let (layer, cure) = (name.to_owned(), String::new());
    Row { layer, state, blocks: true, detail, cure }
}

fn path_row(name: &str, took: Duration) -> Row {
    named(name, State::On, format!("{:.1} ms", took.as_secs_f64() * 1000.0))
}

/// Directories to try an overlay on, removed at the end.
struct Halves(PathBuf);

impl Halves {
    fn make(options: &SurveyOptions) -> std::io::Result<Self> {
        let scratch = std::fs::canonicalize(&options.scratch)?;
        let root = scratch.join(format!("survey-{}", std::process::id()));
        std::fs::create_dir(&root)?;
        let halves = Self(root);
        for part in ["base", "layer", "layer/upper", "layer/work"] {
            std::fs::create_dir(halves.at(part))?;
        }
        if let Some(user) = options.keeper.session_user.filter(|_| is_host_root()) {
            for part in ["base", "layer", "layer/upper", "layer/work"] {
                let path = halves.at(part);
                std::os::unix::fs::chown(path, Some(user.uid), Some(user.gid))?;
            }
        }
        Ok(halves)
    }

    fn at(&self, part: &str) -> PathBuf {
        self.0.join(Path::new(part))
    }
}

impl Drop for Halves {
    fn drop(&mut self) {
        // The overlay leaves a directory of mode 000 in `work`, which belongs to its user.
        let inner = self.at("layer/work/work");
        let _ = std::fs::remove_dir(&inner);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
