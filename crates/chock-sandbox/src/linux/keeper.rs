//! The keeper: pid 1 of the session, holds its tree and network, and makes its cells.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::Signal;

use super::cell::{self, Setup};
use super::fail::Fail;
use super::filter::Renames;
use super::ids::{self, Ids};
use super::landlock::Rules;
use super::mounts::Sources;
use super::plan::Plan;
use super::proof::{self, Namespaces};
use super::talk::{self, Report};
use super::tree::Tree;
use super::{filter, masks, sys};
use crate::{Applied, Hand, Layer, Mount};

/// What the keeper gets from the stub.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) plan: Plan,
    pub(super) ids: Ids,
    /// What root took; a plain user takes it here.
    pub(super) sources: Option<Sources>,
    pub(super) outside: Namespaces,
    /// Closed when the stub is gone.
    pub(super) alive: OwnedFd,
    pub(super) layers: Vec<Applied>,
    pub(super) hands: &'static [Hand],
}

/// How often a cell is tried again while the namespaces of dead ones are still counted.
const RETRIES_MAX: u32 = 200;

/// The interface flag for "up".
const UP: u16 = 1;

/// The kernel's number for an overlay.
const OVERLAY: rustix::fs::FsWord = 0x794c_7630;

/// The layers that the keeper's namespaces are.
const APART: [Layer; 7] = [
    Layer::UserNamespace,
    Layer::MountNamespace,
    Layer::PidNamespace,
    Layer::IpcNamespace,
    Layer::UtsNamespace,
    Layer::CgroupNamespace,
    Layer::NetworkNamespace,
];

/// Becomes the keeper, and serves until the control socket closes.
pub(super) fn run(start: Start) -> ! {
    let control = sys::standard(0);
    match prepare(start) {
        Ok((setup, layers)) => {
            if Report::Layers(layers).send(control, &[]).is_ok() {
                serve(control, &setup);
            }
            sys::exit_now(0)
        }
        Err(fail) => {
            let _ = Report::Failed(fail).send(control, &[]);
            sys::exit_now(1)
        }
    }
}

fn prepare(start: Start) -> Result<(Setup, Vec<Applied>), Fail> {
    let Start { plan, ids, sources, outside, alive, mut layers, hands } = start;
    tie_to_stub(alive)?;
    let mapped = ids::map_self(ids)?;
    let own = Namespaces::of_self()?;
    // The user namespace's better proof is its map.
    let apart = own.prove_apart(&outside, &APART)?;
    layers.extend(apart.into_iter().filter(|it| it.layer == Layer::NetworkNamespace));
    layers.push(mapped);
    layers.push(loopback()?);
    let mut tree = Tree::begin()?;
    let sources = match sources {
        Some(sources) => sources,
        None => Sources::take(&plan.cage, None)?,
    };
    tree.fill(&plan.cage, sources)?;
    tree.own_proc()?;
    let planted = tree.become_root()?;
    layers.push(proof::tree(&planted.placed)?);
    layers.push(pivoted()?);
    masks::share_watches()?;
    let (overlays, applied) = overlays(&plan.cage.tree)?;
    layers.extend(applied);
    let rules = Rules::make(&planted.writable)?;
    drop(planted);
    let version = rules.version();
    settle(rules.ruleset)?;
    let program = filter::program(plan.cage.filter, Renames::Pass);
    let asking = (!overlays.is_empty()).then(|| filter::program(plan.cage.filter, Renames::Ask));
    let masks = masks::present();
    let setup = Setup {
        ids,
        limits: plan.cage.limits,
        namespaces: own,
        masks,
        program,
        asking,
        overlays,
        landlock: version,
        hands,
    };
    Ok((setup, layers))
}

/// Dies with the stub, also when that is already gone.
fn tie_to_stub(alive: OwnedFd) -> Result<(), Fail> {
    let at = |step| Fail::at(Layer::PidNamespace, step);
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(at("tie the keeper to its stub"))?;
    let mut polled = [PollFd::new(&alive, PollFlags::empty())];
    poll(&mut polled, Some(&Timespec::default())).map_err(at("look for the stub"))?;
    if polled[0].revents().contains(PollFlags::HUP) {
        sys::exit_now(1);
    }
    Ok(())
}

/// Brings up loopback, the only interface of the session's network.
fn loopback() -> Result<Applied, Fail> {
    let at = |step| Fail::at(Layer::Loopback, step);
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(at("open a socket"))?;
    let flags = sys::loopback_flags(socket.as_fd(), None).map_err(at("read its flags"))?;
    sys::loopback_flags(socket.as_fd(), Some(flags | UP)).map_err(at("bring it up"))?;
    let flags = sys::loopback_flags(socket.as_fd(), None).map_err(at("read its flags"))?;
    if flags & UP == 0 {
        return Err(at("read its flags back")(Errno::PROTO));
    }
    Ok(Applied { layer: Layer::Loopback, proof: "up".to_owned() })
}

fn pivoted() -> Result<Applied, Fail> {
    let at = |step| Fail::at(Layer::PivotRoot, step);
    let root = rustix::fs::statvfs("/").map_err(at("look at the root"))?;
    if !root.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
        return Err(at("read the root back")(Errno::PROTO));
    }
    Ok(Applied { layer: Layer::PivotRoot, proof: "root read only, machine detached".to_owned() })
}

/// Asks the kernel what stands where the cage has overlays, and for their numbers as devices;
/// nothing when it has none.
fn overlays(tree: &[Mount]) -> Result<(Vec<u64>, Option<Applied>), Fail> {
    let at = |step| Fail::at(Layer::Overlay, step);
    let mut devices = Vec::new();
    for mount in tree {
        let (Mount::Overlay { target, .. } | Mount::View { target, .. }) = mount else { continue };
        let status = rustix::fs::statfs(target).map_err(at("look at an overlay"))?;
        if status.f_type != OVERLAY {
            return Err(at("read an overlay back")(Errno::PROTO));
        }
        let status = rustix::fs::stat(target).map_err(at("look at an overlay"))?;
        devices.push(status.st_dev);
    }
    let proof = format!("{} mounted, userxattr", devices.len());
    let applied = (!devices.is_empty()).then_some(Applied { layer: Layer::Overlay, proof });
    Ok((devices, applied))
}

/// Puts descriptors where cells look for them, and closes everything else.
///
/// 0 is the control socket, 1 and 2 the tree's empty device, 3 a cell's place for its order
/// socket, 4 the ruleset.
fn settle(ruleset: OwnedFd) -> Result<(), Fail> {
    let at = |step| Fail::at(Layer::Descriptors, step);
    ids::silence(1..=3).map_err(at("open the empty device"))?;
    sys::reserve_at(ruleset.as_fd(), cell::RULESET).map_err(at("place the ruleset"))?;
    // Every owner is dropped or, like this one, forgotten: the numbers above are given up.
    std::mem::forget(ruleset);
    sys::close_range(cell::RULESET + 1).map_err(at("close the rest"))?;
    ids::set_dumpable(false).map_err(at("close itself to others"))?;
    sys::ignore_children();
    // It makes the next cell while Chock is busy with the answer of the last one.
    sys::wake_politely();
    Ok(())
}

/// Makes a cell for each request; a closed socket ends the session.
fn serve(control: BorrowedFd<'_>, setup: &Setup) {
    let mut request = [0; 8];
    while let Ok(Some((_, beside))) = talk::receive(control, &mut request) {
        let group = beside.into_iter().next();
        if make_cell(control, setup, group).is_err() {
            return;
        }
    }
}

/// Makes a cell, in a control group of its own if there is one.
fn make_cell(control: BorrowedFd<'_>, setup: &Setup, group: Option<OwnedFd>) -> Result<(), Errno> {
    let kind = SocketType::SEQPACKET;
    let (chocks, cells) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    // Before the cell is there: the order then waits in the socket, and nobody waits for a
    // message that says the cell is ready.
    Report::Cell.send(control, &[chocks.as_fd()])?;
    drop(chocks);
    // Groups are the one best-effort layer. What was refused is tried without; Chock sees that
    // the group is empty.
    let into_group = group.and_then(|group| sys::clone_into(cell::NAMESPACES, group.as_fd()).ok());
    match into_group.map_or_else(clone_patiently, Ok) {
        Ok(None) => cell::run(setup, cells.as_fd()),
        Ok(Some(_)) => Ok(()),
        Err(errno) => {
            let fail = Fail::at(Layer::UserNamespace, "make a cell's namespaces")(errno);
            // Chock may have hung up on this cell; that is no reason to end the session.
            let _ = Report::Failed(fail).send(cells.as_fd(), &[]);
            Ok(())
        }
    }
}

/// Dead cells are counted until the kernel has taken them down, so a full count is tried again.
fn clone_patiently() -> Result<Option<rustix::process::Pid>, Errno> {
    let mut tries = 0;
    loop {
        match sys::clone(cell::NAMESPACES) {
            Err(Errno::NOSPC | Errno::AGAIN) if tries < RETRIES_MAX => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            other => return other,
        }
    }
}
