//! A cell's first process: namespaces, `/proc` and devices of its own, then its one command.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, WaitOptions, wait as wait_for_any};

use super::fail::Fail;
use super::ids::{self, Ids};
use super::masks::OwnProc;
use super::proof::Namespaces;
use super::renames::Renames;
use super::talk::Report;
use super::{capabilities, command, devices, rlimits, sys, talk};
use crate::{Applied, Hand, Layer, Limits};

/// The namespaces of a cell. The network is the session's.
pub(super) const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// Where a cell has its order socket.
pub(super) const ORDER: i32 = 3;

/// Where the keeper has the Landlock ruleset for its cells.
pub(super) const RULESET: i32 = 4;

/// The layers that a cell's namespaces are.
const APART: [Layer; 6] = [
    Layer::UserNamespace,
    Layer::MountNamespace,
    Layer::PidNamespace,
    Layer::IpcNamespace,
    Layer::UtsNamespace,
    Layer::CgroupNamespace,
];

/// What every cell of a session is made from.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) ids: Ids,
    pub(super) limits: Limits,
    /// The keeper's.
    pub(super) namespaces: Namespaces,
    /// What of `/proc` there is to cover.
    pub(super) masks: Vec<&'static str>,
    /// The system call filter.
    pub(super) program: &'static [libc::sock_filter],
    /// The same, but it asks about renames; none without an overlay.
    pub(super) asking: Option<&'static [libc::sock_filter]>,
    /// The overlays' numbers as devices.
    pub(super) overlays: Vec<u64>,
    /// The version of Landlock.
    pub(super) landlock: u32,
    pub(super) hands: &'static [Hand],
}

/// Becomes a cell's init: builds, starts the command, waits, kills, reports, waits again.
pub(super) fn run(setup: &Setup, socket: BorrowedFd<'_>) -> ! {
    if sys::reserve_at(socket, ORDER).is_err() || sys::close_range(RULESET + 1).is_err() {
        sys::exit_now(1);
    }
    let (socket, ruleset) = (sys::adopt(ORDER), sys::adopt(RULESET));
    let code = match build(setup)
        .and_then(|(layers, children)| Ok((start(setup, &socket, &ruleset, layers)?, children)))
    {
        Ok(((command, listener), children)) => {
            let renames = listener.map(|listener| Renames::new(setup, listener, ruleset));
            supervise(socket.as_fd(), children.as_fd(), command, renames)
        }
        Err(fail) => {
            let _ = Report::Failed(fail).send(socket.as_fd(), &[]);
            1
        }
    };
    sys::exit_now(code)
}

fn build(setup: &Setup) -> Result<(Vec<Applied>, OwnedFd), Fail> {
    let at = |step| Fail::at(Layer::Descriptors, step);
    ids::silence(0..=2).map_err(at("open the empty device"))?;
    ids::set_dumpable(true).map_err(Fail::at(Layer::UserNamespace, "own its id map"))?;
    let mapped = ids::map_self(setup.ids)?;
    let own = Namespaces::of_self()?;
    let mut layers = own.prove_apart(&setup.namespaces, &APART)?;
    layers.retain(|applied| applied.layer != Layer::UserNamespace);
    layers.push(mapped);
    rustix::system::sethostname(b"chock").map_err(Fail::at(Layer::UtsNamespace, "set a name"))?;
    let (proc, applied) = OwnProc::mount(&setup.masks)?;
    layers.push(applied);
    layers.push(devices::own(&setup.limits)?);
    layers.push(proc.zero_counts()?);
    rustix::process::umask(Mode::from(0o022));
    sys::block_child_signal(true).map_err(at("block SIGCHLD"))?;
    sys::default_signal(libc::SIGCHLD);
    let children = sys::child_signal_descriptor().map_err(at("watch for ended children"))?;
    Ok((layers, children))
}

fn start(
    setup: &Setup,
    socket: &OwnedFd,
    ruleset: &OwnedFd,
    mut layers: Vec<Applied>,
) -> Result<(Pid, Option<OwnedFd>), Fail> {
    layers.push(rlimits::apply(&setup.limits)?);
    lower()?;
    let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
    let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, flags, None)
        .map_err(Fail::at(Layer::SystemCallFilter, "make a way for its questions"))?;
    match sys::clone(0).map_err(Fail::at(Layer::PidNamespace, "start the command"))? {
        None => {
            drop(ours);
            command::run(setup, socket.as_fd(), ruleset.as_fd(), theirs, layers)
        }
        Some(command) => {
            drop(theirs);
            // Nothing comes when it does not ask, or failed, which it says itself.
            let received = talk::receive(ours.as_fd(), &mut [0]).ok().flatten();
            Ok((command, received.and_then(|(_, beside)| beside.into_iter().next())))
        }
    }
}

/// Gives up everything that init does not need, before there is anyone who could want it. The
/// command inherits the loss, and proves it.
fn lower() -> Result<(), Fail> {
    let at = |step| Fail::at(Layer::Capabilities, step);
    capabilities::give_up()?;
    rustix::thread::set_no_new_privs(true).map_err(at("give up privileges"))?;
    ids::set_dumpable(false).map_err(at("close init to others"))
}

/// Waits for the command or a hang-up, ends everything, and reports.
fn supervise(
    socket: BorrowedFd<'_>,
    children: BorrowedFd<'_>,
    command: Pid,
    renames: Option<Renames<'_>>,
) -> i32 {
    let mut family = Family { command, status: None, empty: false, renames };
    wait(socket, children, &mut family);
    family.end();
    // What is left for it to do is nothing that anyone waits for.
    sys::wake_politely();
    if Report::Ended(family.status.unwrap_or(libc::SIGKILL)).send(socket, &[]).is_err() {
        return 0;
    }
    // The parent hangs up when its record is written: until then this process keeps the
    // namespaces, whose tear-down would run on the parent's core before it read the answer.
    let mut polled = [PollFd::new(&socket, PollFlags::RDHUP)];
    while poll(&mut polled, None) == Err(Errno::INTR) {}
    0
}

/// Waits until the command has ended, or Chock hung up.
fn wait(socket: BorrowedFd<'_>, children: BorrowedFd<'_>, family: &mut Family<'_>) {
    loop {
        let (asks, events) = match &family.renames {
            Some(renames) => (renames.listener(), PollFlags::IN),
            None => (socket, PollFlags::empty()),
        };
        let mut polled = [
            PollFd::new(&socket, PollFlags::RDHUP),
            PollFd::new(&children, PollFlags::IN),
            PollFd::from_borrowed_fd(asks, events),
        ];
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        let asked = polled[2].revents();
        let ended = polled[1].revents().contains(PollFlags::IN);
        let hung_up = polled[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP);
        if ended {
            let _ = rustix::io::read(children, &mut [0u8; 128]);
            while family.reap(WaitOptions::NOHANG) {}
        }
        if hung_up || family.status.is_some() {
            return;
        }
        family.answer(asked);
    }
}

/// The processes of a cell: every orphan becomes init's child, so no child means none at all.
struct Family<'a> {
    command: Pid,
    status: Option<i32>,
    empty: bool,
    renames: Option<Renames<'a>>,
}

impl Family<'_> {
    /// Answers a rename, if one waits.
    fn answer(&mut self, asked: PollFlags) {
        let Some(renames) = &mut self.renames else { return };
        if asked.contains(PollFlags::IN) {
            renames.answer();
        } else if asked.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            // Nobody is left who could ask.
            self.renames = None;
        }
    }

    /// Reaps one child; says whether there was one.
    fn reap(&mut self, options: WaitOptions) -> bool {
        match rustix::io::retry_on_intr(|| wait_for_any(options)) {
            Ok(Some((pid, status))) => {
                if pid == self.command {
                    self.status = Some(status.as_raw());
                } else if let Some(renames) = &mut self.renames {
                    renames.ended(pid);
                }
                true
            }
            Ok(None) => false,
            Err(_) => {
                self.empty = true;
                false
            }
        }
    }

    /// Kills and reaps until nothing is left.
    fn end(&mut self) {
        if self.empty {
            // To kill nothing costs a walk over every process of the machine.
            return;
        }
        // An error means that nothing was left; the reaping shows whether it was so.
        let _ = sys::kill_all();
        // No copy is started for those that still wait in the moment of their death.
        self.renames = None;
        while self.reap(WaitOptions::empty()) {}
    }
}
