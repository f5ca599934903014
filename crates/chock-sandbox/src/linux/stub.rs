//! The first process of a session: takes what root must take, starts the keeper, and waits.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::mount::MountPropagationFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{WaitOptions, waitpid};
use rustix::thread::UnshareFlags;

use super::fail::Fail;
use super::ids::{self, Ids};
use super::keeper::{self, Start};
use super::mounts::Sources;
use super::plan::Plan;
use super::proof::Namespaces;
use super::talk::{self, Report};
use super::{cgroup, rlimits, sys};
use crate::{Applied, Hand, Layer, Mount, Owners};

/// The namespaces of a keeper.
const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// Becomes the stub. Standard input is the control socket; everything else is closed.
pub(crate) fn keep(hands: &'static [Hand]) -> ! {
    // A broken start has nobody to tell but the exit code: the parent sees the socket close.
    if prepare().is_err() {
        sys::exit_now(1);
    }
    let control = sys::adopt(0);
    let code = match start(control.as_fd(), hands) {
        Ok(()) => 0,
        Err(fail) => {
            let _ = Report::Failed(fail).send(control.as_fd(), &[]);
            1
        }
    };
    sys::exit_now(code)
}

/// Makes this process independent of whoever started it.
fn prepare() -> Result<(), Errno> {
    sys::close_range(3)?;
    // Its own session: a Ctrl-C at Chock's terminal must not end the keeper.
    rustix::process::setsid()?;
    for signal in 1..=64 {
        sys::default_signal(signal);
    }
    sys::block_child_signal(false)?;
    rustix::process::umask(rustix::fs::Mode::from(0o022));
    rlimits::raise_descriptors();
    Ok(())
}

fn start(control: BorrowedFd<'_>, hands: &'static [Hand]) -> Result<(), Fail> {
    let at = |step| Fail::at(Layer::UserNamespace, step);
    let plan = receive_plan(control).map_err(at("read the plan"))?;
    let mut layers: Vec<Applied> = cgroup::join(&plan.groups).into_iter().collect();
    let outside = Namespaces::of_self()?;
    let sources = as_root(&plan, &mut layers)?;
    let ids = Ids::current();
    if ids.uid == 0 && ids::is_host_root() {
        return Err(at("leave root: no user was given")(Errno::PERM));
    }
    let (alive, held) = pipe_with(PipeFlags::CLOEXEC).map_err(at("make a pipe"))?;
    match sys::clone(NAMESPACES).map_err(at("make the keeper's namespaces"))? {
        None => {
            drop(held);
            keeper::run(Start { plan, ids, sources, outside, alive, layers, hands })
        }
        Some(child) => {
            cgroup::step_aside(&plan.groups, child);
            // The control socket is the keeper's alone: its closing must reach the keeper.
            ids::silence(0..=2).map_err(at("close the control socket"))?;
            let _ = rustix::io::retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()));
            drop(held);
            Ok(())
        }
    }
}

/// As root of the machine: takes the mounts, then leaves root for good.
fn as_root(plan: &Plan, layers: &mut Vec<Applied>) -> Result<Option<Sources>, Fail> {
    let at = |step| Fail::at(Layer::UserNamespace, step);
    if !ids::is_host_root() {
        return Ok(None);
    }
    let user = plan.user.ok_or_else(|| at("leave root: no user was given")(Errno::PERM))?;
    unshare_mounts().map_err(Fail::at(Layer::MountNamespace, "leave the machine's mounts"))?;
    let wants_map = plan.cage.tree.iter().any(|mount| match mount {
        Mount::Bind { owners, .. } | Mount::View { owners, .. } => *owners == Owners::RootAsSession,
        Mount::Overlay { .. }
        | Mount::Scratch { .. }
        | Mount::Cover { .. }
        | Mount::Link { .. }
        | Mount::Directory { .. }
        | Mount::Text { .. } => false,
    });
    let map: Option<OwnedFd> = if wants_map { Some(ids::root_as(user)?) } else { None };
    let sources = Sources::take(&plan.cage, map.as_ref().map(AsFd::as_fd))?;
    if wants_map {
        let proof = format!("0 as {}", user.uid);
        layers.push(Applied { layer: Layer::IdMappedMount, proof });
    }
    ids::leave_root(user)?;
    Ok(Some(sources))
}

fn unshare_mounts() -> Result<(), Errno> {
    sys::unshare(UnshareFlags::NEWNS)?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)
}

fn receive_plan(control: BorrowedFd<'_>) -> Result<Plan, Errno> {
    let mut buffer = [0; 8];
    let (_, beside) = talk::receive(control, &mut buffer)?.ok_or(Errno::PIPE)?;
    let memory = beside.into_iter().next().ok_or(Errno::PROTO)?;
    Plan::unseal(memory)
}
