//! Where a session works: its copy of the project, and the keeper that contains it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use chock_sandbox::{Applied, Keeper, KeeperOptions, Layer, SandboxFault};
use chock_tools::cage::Compiled;
use chock_workspace::{Method, Opening, Project, Start, Workspace};

use crate::counting::Counting;
use crate::exit::{Failure, causes};
use crate::found::Found;
use crate::house::{make_private, make_readable, warn};
use crate::program::Program;
use crate::settings::Settings;
use crate::show::Show;
use crate::{filter_words, kept, making};

/// A workspace and the keeper that shows it to calls.
pub(crate) struct Site {
    /// What of the project is not in a new copy. Before the workspace: it ends first.
    pub(crate) counting: Option<Counting>,
    pub(crate) workspace: Workspace,
    pub(crate) keeper: Keeper,
    pub(crate) layers: Vec<String>,
    pub(crate) outputs: PathBuf,
    /// What a call may reach, and its environment.
    pub(crate) compiled: Compiled,
}

/// How a session's files are made or found again.
pub(crate) struct Ground<'a> {
    pub(crate) found: &'a Found,
    pub(crate) resumes: bool,
    pub(crate) allow_dirty: bool,
    pub(crate) settings: &'a Settings,
}

/// Makes or opens the workspace and starts the keeper on it.
pub(crate) fn prepare(
    program: &Program,
    project: &Project,
    ground: &Ground<'_>,
    show: &Arc<Mutex<Show>>,
) -> Result<Site, Failure> {
    ground.settings.refuse_strange_objects()?;
    let outputs = outputs(ground.found);
    make_readable(&outputs)?;
    let options = program.keeper_options()?;
    let place = Place { program, options: &options, settings: ground.settings, outputs: &outputs };
    let project = &project.clone().telling(making::progress(show));
    let workspace = open_workspace(program, project, ground, Method::Overlay)?;
    for notice in workspace.notices() {
        warn(show, &notice.to_string());
    }
    for words in filter_words::unusual(ground.settings.filter()) {
        warn(show, words);
    }
    // Looking at the whole project takes a while, and nothing waits for it.
    let counting =
        (!ground.resumes && !ground.allow_dirty).then(|| Counting::begin(project, &workspace));
    match start_keeper(&place, &workspace) {
        Err(SandboxFault::Layer { layer: Layer::Overlay, .. }) if !ground.resumes => {
            drop(counting);
            // Without overlay the copy is whole; everything that confines stays the same.
            workspace.remove().map_err(|fault| Failure::because(&fault))?;
            let workspace = open_workspace(program, project, ground, Method::Copy)?;
            let counting = (!ground.allow_dirty).then(|| Counting::begin(project, &workspace));
            let keeper = start_keeper(&place, &workspace);
            finish_site(keeper, workspace, (outputs, counting))
        }
        keeper => finish_site(keeper, workspace, (outputs, counting)),
    }
}

type Started = (Keeper, Compiled);

fn finish_site(
    started: Result<Started, SandboxFault>,
    workspace: Workspace,
    (outputs, counting): (PathBuf, Option<Counting>),
) -> Result<Site, Failure> {
    let (keeper, compiled) = started.map_err(|fault| {
        Failure::start(format!(
            "no session can be contained on this machine: {}; chock doctor says more",
            causes(&fault)
        ))
    })?;
    let mut layers: Vec<_> = keeper.layers().iter().map(layer_words).collect();
    layers.extend(filter_words::rows(compiled.cage.filter));
    Ok(Site { counting, workspace, keeper, layers, outputs, compiled })
}

fn layer_words(applied: &Applied) -> String {
    format!("{}: {}", applied.layer, applied.proof)
}

fn open_workspace(
    program: &Program,
    project: &Project,
    ground: &Ground<'_>,
    method: Method,
) -> Result<Workspace, Failure> {
    let session = ground.found.work();
    let effective = &ground.settings.effective;
    let covered = kept::covers(&effective.denied);
    let binds = kept::binds(&effective.project.binds);
    let workspace = if ground.resumes {
        Workspace::open(project, &session, &covered, &binds)
    } else {
        let start = if ground.allow_dirty { Start::Uncommitted } else { Start::Committed };
        let cache = program.places.cache.clone();
        make_private(&cache)?;
        let owner = program.owner();
        let opening = Opening { session, cache, method, owner, start, covered, binds };
        Workspace::create(project, &opening)
    };
    workspace.map_err(|fault| {
        if !ground.resumes {
            // Nothing is in it yet; what cannot be removed is only an empty directory.
            let _ = fs::remove_dir(outputs(ground.found));
        }
        Failure::because(&fault)
    })
}

/// What a keeper is started with, besides its workspace.
struct Place<'a> {
    program: &'a Program,
    options: &'a KeeperOptions,
    settings: &'a Settings,
    outputs: &'a Path,
}

fn start_keeper(place: &Place<'_>, workspace: &Workspace) -> Result<Started, SandboxFault> {
    let denied = kept::denied(workspace);
    let rules = place.settings.cage_rules(place.program, place.outputs, denied);
    let host = place.program.host();
    let compiled = chock_tools::cage::compile(workspace.layout(), &host, &rules);
    let keeper = Keeper::start(place.options, &compiled.cage)?;
    Ok((keeper, compiled))
}

/// Names the directory of a session's whole outputs.
pub(crate) fn outputs(found: &Found) -> PathBuf {
    found.log.with_extension("outputs")
}
