//! Chock's side: starts a keeper and takes cells from it.

use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::cgroup::{Group, Leaf};
use super::disk::Disk;
use super::ids::{self, Ids};
use super::plan::Plan;
use super::talk::{self, Report};
use crate::role::KEEPER_ROLE;
use crate::{Applied, Cage, Containment, KeeperOptions, SandboxFault, SessionUser};

/// The longest wait for a keeper or a cell. A tree of 4,000 mounts takes a quarter second.
const READY_MAX: Duration = Duration::from_secs(20);

/// The longest wait for the processes of an ended session.
const END_MAX: Duration = Duration::from_secs(5);

/// The handle of a running keeper.
#[derive(Debug)]
pub(crate) struct Keeper {
    line: Mutex<Line>,
    layers: Vec<Applied>,
    pub(super) ids: Ids,
    pub(super) wall_time: Duration,
    /// What calls write to on the host.
    pub(super) disk: Disk,
    stub: Child,
    /// Removed after the stub has ended.
    pub(super) group: Option<Group>,
}

/// The control socket, and the cells that were asked for over it.
#[derive(Debug)]
struct Line {
    control: Option<OwnedFd>,
    asked: VecDeque<Option<Leaf>>,
    warm: usize,
}

impl Keeper {
    pub(crate) fn start(options: &KeeperOptions, cage: &Cage) -> Result<Self, SandboxFault> {
        let KeeperOptions { program, session_user, containment, warm } = options;
        Self::start_with(program, *session_user, *containment, *warm, cage)
    }

    pub(super) fn start_with(
        program: &File,
        user: Option<SessionUser>,
        containment: Containment,
        warm: usize,
        cage: &Cage,
    ) -> Result<Self, SandboxFault> {
        let ids = whom(user)?;
        let start = |step| move |errno: Errno| SandboxFault::Start { step, source: errno.into() };
        let group = match containment {
            Containment::BestEffort => Group::make(&cage.limits, ids),
            Containment::ProcessLimits => None,
        };
        let groups = group.as_ref().map(|it| it.directories().to_vec()).unwrap_or_default();
        let plan = Plan { user, groups, cage: cage.clone() };
        let (control, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(start("make a socket"))?;
        let memory = plan.seal().map_err(start("write the plan"))?;
        talk::send(control.as_fd(), b"plan", &[memory.as_fd()]).map_err(start("send the plan"))?;
        let disk = Disk::open(cage)?;
        let stub = spawn(program, theirs)?;
        let disk = disk.of_session(stub.id());
        let line = Line { control: Some(control), asked: VecDeque::new(), warm };
        let (line, wall_time) = (Mutex::new(line), cage.limits.wall_time);
        let mut keeper = Self { line, layers: Vec::new(), ids, wall_time, disk, stub, group };
        keeper.layers = keeper.wait_until_ready()?;
        if let Some(group) = &mut keeper.group {
            group.divide();
        }
        keeper.refill();
        Ok(keeper)
    }

    pub(crate) fn layers(&self) -> &[Applied] {
        &self.layers
    }

    pub(crate) fn ids(&self) -> (u32, u32) {
        (self.ids.uid, self.ids.gid)
    }

    fn wait_until_ready(&mut self) -> Result<Vec<Applied>, SandboxFault> {
        let line = self.line.get_mut().expect("invariant: no thread has it yet");
        match line.receive()?.0 {
            Report::Layers(layers) => Ok(layers),
            Report::Failed(fail) => Err(fail.into_fault()),
            Report::NotStarted(..) | Report::Ended(_) | Report::Cell => {
                Err(SandboxFault::Lost { what: "the keeper's first report" })
            }
        }
    }

    /// Returns the socket of a cell: one that was asked for before, or a new one.
    pub(super) fn take_cell(&self) -> Result<(OwnedFd, Option<Leaf>), SandboxFault> {
        let mut line = self.line.lock().expect("invariant: nothing panics while it holds the line");
        if line.asked.is_empty() {
            line.ask(self.group.as_ref())?;
        }
        let (report, descriptors) = line.receive()?;
        let leaf = line.asked.pop_front().flatten();
        match (report, descriptors.into_iter().next()) {
            (Report::Cell, Some(socket)) => Ok((socket, leaf)),
            _ => Err(SandboxFault::Lost { what: "a cell" }),
        }
    }

    /// Asks for as many cells as are to be kept ready; does not wait for them.
    pub(super) fn refill(&self) {
        let mut line = self.line.lock().expect("invariant: nothing panics while it holds the line");
        while line.asked.len() < line.warm {
            // A keeper that is gone shows at the next call.
            if line.ask(self.group.as_ref()).is_err() {
                return;
            }
        }
    }
}

impl Line {
    fn ask(&mut self, group: Option<&Group>) -> Result<(), SandboxFault> {
        let gone = SandboxFault::Lost { what: "the keeper" };
        let control = self.control.as_ref().ok_or(gone)?;
        let leaf = group.and_then(Group::leaf);
        let beside: Vec<_> = leaf.iter().map(Leaf::descriptor).collect();
        talk::send(control.as_fd(), b"cell", &beside)
            .map_err(|_| SandboxFault::Lost { what: "the keeper" })?;
        drop(beside);
        self.asked.push_back(leaf);
        Ok(())
    }

    fn receive(&mut self) -> Result<(Report, Vec<OwnedFd>), SandboxFault> {
        let lost = |what| SandboxFault::Lost { what };
        let control = self.control.as_ref().ok_or(lost("the keeper"))?;
        if !readable_within(control, READY_MAX) {
            return Err(lost("an answer of the keeper within 20 seconds"));
        }
        Report::receive(control.as_fd())
            .map_err(|errno| SandboxFault::Talk { step: "receive", source: errno.into() })?
            .ok_or(lost("the keeper"))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Ok(line) = self.line.get_mut() {
            line.control = None;
        }
        // The keeper ends when its socket closes, and the stub with it.
        let ended = rustix::process::Pid::from_child(&self.stub);
        let ended = rustix::process::pidfd_open(ended, rustix::process::PidfdFlags::empty())
            .is_ok_and(|process| readable_within(&process, END_MAX));
        if !ended {
            let _ = self.stub.kill();
        }
        let _ = self.stub.wait();
    }
}

/// Says whom the session will belong to, as far as this process can tell.
fn whom(user: Option<SessionUser>) -> Result<Ids, SandboxFault> {
    if !ids::is_host_root() {
        return Ok(Ids::current());
    }
    let user = user.filter(|user| user.uid != 0 && user.gid != 0);
    let user = user.ok_or(SandboxFault::NoSessionUser)?;
    Ok(Ids { uid: user.uid, gid: user.gid })
}

/// Starts this binary in its keeper role: a plain spawn that copies nothing of this process.
fn spawn(program: &File, control: OwnedFd) -> Result<Child, SandboxFault> {
    Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()))
        .arg0("chock-keeper")
        .arg(KEEPER_ROLE)
        .env_clear()
        .stdin(control)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| SandboxFault::Start { step: "start this binary again", source })
}

fn readable_within(file: &OwnedFd, time: Duration) -> bool {
    let time = Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: 0 };
    let mut polled = [PollFd::new(file, PollFlags::IN)];
    rustix::io::retry_on_intr(|| poll(&mut polled, Some(&time))).is_ok_and(|ready| ready > 0)
}
