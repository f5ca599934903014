//! One call: an order to a cell, its output, its end.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Gid, Uid};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::cgroup::{self, Leaf};
use super::disk::Watch;
use super::order::{Packed, Streams};
use super::parent::Keeper;
use super::talk::Report;
use crate::{Applied, Call, Ended, Finished, Layer, LimitKind, Program, SandboxFault, Stdio};

/// How much of the output is read at once: what a pipe holds.
const PIECE: usize = 64 * 1024;

/// The longest wait for a cell that was told to end. Killing what uninterruptible work holds
/// up can take the kernel a while.
const END_MAX: Duration = Duration::from_secs(30);

/// A cell after its call. Dropping it hangs up, and lets the kernel take it down.
#[derive(Debug)]
pub(crate) struct Held {
    #[expect(dead_code, reason = "held for its drop")]
    socket: OwnedFd,
    #[expect(dead_code, reason = "held for its drop, after the socket's")]
    leaf: Option<Leaf>,
}

/// Why a call was told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    Time,
    Cancel,
    Limit(LimitKind),
}

/// What the cell said so far.
#[derive(Debug, Default)]
struct Heard {
    layers: Vec<Applied>,
    not_started: Option<Ended>,
    status: Option<i32>,
}

pub(crate) fn run(
    keeper: &Keeper,
    program: &Program,
    call: Call<'_>,
) -> Result<Finished, SandboxFault> {
    let order = Packed::pack(program)?;
    let started = Instant::now();
    let wall_time = call.wall_time.unwrap_or(Duration::MAX).min(keeper.wall_time);
    let deadline = started.checked_add(wall_time);
    let (socket, leaf) = keeper.take_cell()?;
    let mut output = Output::open(call.stdio, keeper)?;
    // A cell that failed to confine itself hangs up; its report says more than this error.
    let sent = order.send(socket.as_fd(), &output.streams());
    let mut heard = Heard::default();
    let disk = keeper.disk.watch();
    if let Some(group) = keeper.group.as_ref().filter(|_| disk.is_alone()) {
        group.forget_kills();
    }
    let mut ends = Ends { deadline, cancel: call.cancel.descriptor(), disk };
    let stopped = listen(&socket, &mut output, &mut heard, &mut ends)?;
    output.drain();
    let duration = started.elapsed();
    keeper.refill();
    sent.map_err(|errno| SandboxFault::Talk { step: "send the order", source: errno.into() })?;
    let status = heard.status.ok_or(SandboxFault::Lost { what: "the end of a cell" })?;
    // Its init is alive until the socket is dropped.
    let own = leaf.as_ref().filter(|leaf| leaf.holds_a_process());
    let memory = memory_ran_out(keeper, own, &ends.disk, status);
    drop(ends);
    let (ended, limits) = conclude(status, stopped, heard.not_started, memory);
    let mut layers = keeper.layers().to_vec();
    if own.is_some() {
        layers.iter_mut().for_each(add_own_group);
    }
    layers.retain(|held| heard.layers.iter().all(|applied| applied.layer != held.layer));
    layers.append(&mut heard.layers);
    layers.sort_by_key(|applied| applied.layer);
    Ok(Finished { ended, limits, layers, duration, cell: Held { socket, leaf } })
}

/// Says whether it was this call whose process was killed for want of memory.
///
/// The group of a whole session counts for all of its calls, so beside others only a call
/// that ended as one does after a kill is named.
fn memory_ran_out(keeper: &Keeper, leaf: Option<&Leaf>, disk: &Watch<'_>, status: i32) -> bool {
    let Some(group) = &keeper.group else { return false };
    match leaf {
        Some(leaf) => leaf.memory_ran_out(),
        None => (disk.is_alone() || was_killed(status)) && group.memory_ran_out(),
    }
}

/// Says whether a program, or what a shell ran last, was killed.
fn was_killed(status: i32) -> bool {
    let (signal, code) = (status & 0x7f, (status >> 8) & 0xff);
    signal == libc::SIGKILL || (signal == 0 && code == 128 + libc::SIGKILL)
}

fn add_own_group(applied: &mut Applied) {
    if applied.layer == Layer::ControlGroup {
        applied.proof = format!("{}, {}", applied.proof, cgroup::OF_A_CALL);
    }
}

/// What ends a call before its program does.
struct Ends<'a> {
    deadline: Option<Instant>,
    cancel: BorrowedFd<'a>,
    disk: Watch<'a>,
}

/// Listens until the cell reports that everything in it is dead.
fn listen(
    socket: &OwnedFd,
    output: &mut Output<'_>,
    heard: &mut Heard,
    ends: &mut Ends<'_>,
) -> Result<Option<Stopped>, SandboxFault> {
    let mut stopped = None;
    let Ends { deadline, cancel, disk } = ends;
    let mut deadline = *deadline;
    while heard.status.is_none() {
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let look = disk.due().map(|at| at.saturating_duration_since(Instant::now()));
        let first = left.into_iter().chain(look).min();
        let ready = wait(socket, output, stopped.is_none().then_some(&*cancel), first)?;
        // Asked here and not by the wait, which never waits while a program prints and prints.
        let late = left == Some(Duration::ZERO);
        let limit = disk.look();
        if ready.output {
            output.take();
        }
        if ready.cell {
            heard.hear(socket)?;
        }
        let stop = match (ready.cancel, late) {
            (true, _) => Some(Stopped::Cancel),
            (false, true) => Some(Stopped::Time),
            (false, false) => limit.map(Stopped::Limit),
        };
        let Some(stop) = stop.filter(|_| heard.status.is_none()) else { continue };
        if stopped.is_some() {
            return Err(SandboxFault::Lost { what: "the end of a cell within 30 seconds" });
        }
        // Half a hang-up: the cell kills everything, and can still answer.
        let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Write);
        stopped = Some(stop);
        deadline = Instant::now().checked_add(END_MAX);
    }
    Ok(stopped)
}

/// What happened first.
#[derive(Debug, Default)]
struct Ready {
    cell: bool,
    output: bool,
    cancel: bool,
}

fn wait(
    socket: &OwnedFd,
    output: &Output<'_>,
    cancel: Option<&BorrowedFd<'_>>,
    left: Option<Duration>,
) -> Result<Ready, SandboxFault> {
    let pipe = output.reader();
    let mut polled = vec![PollFd::new(socket, PollFlags::IN)];
    polled.extend(pipe.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
    polled.extend(cancel.iter().map(|cancel| PollFd::new(*cancel, PollFlags::IN)));
    let timeout = left.and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut polled, timeout.as_ref()) {
        Ok(0) => return Ok(Ready::default()),
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Ready::default()),
        Err(errno) => {
            return Err(SandboxFault::Talk { step: "wait for a cell", source: errno.into() });
        }
    }
    let mut fired = polled.iter().map(|polled| !polled.revents().is_empty());
    let mut next = || fired.next().unwrap_or(false);
    let cell = next();
    let output = pipe.is_some() && next();
    let cancel = cancel.is_some() && next();
    Ok(Ready { cell, output, cancel })
}

impl Heard {
    fn hear(&mut self, socket: &OwnedFd) -> Result<(), SandboxFault> {
        let report = Report::receive(socket.as_fd())
            .map_err(|errno| SandboxFault::Talk { step: "receive", source: errno.into() })?;
        let (report, _) = report.ok_or(SandboxFault::Lost { what: "a cell" })?;
        match report {
            Report::Layers(layers) => self.layers = layers,
            Report::Failed(fail) => return Err(fail.into_fault()),
            Report::NotStarted(step, errno) => {
                let errno = errno.raw_os_error();
                self.not_started = Some(Ended::NotStarted { step, errno });
            }
            Report::Ended(status) => self.status = Some(status),
            Report::Cell => return Err(SandboxFault::Lost { what: "a cell" }),
        }
        Ok(())
    }
}

/// Names the end of a call, and the limits that were hit.
fn conclude(
    status: i32,
    stopped: Option<Stopped>,
    not_started: Option<Ended>,
    memory_ran_out: bool,
) -> (Ended, Vec<LimitKind>) {
    let (signal, code) = (status & 0x7f, (status >> 8) & 0xff);
    // A shell reports the signal of what it ran as its own code.
    let too_large = signal == libc::SIGXFSZ || (signal == 0 && code == 128 + libc::SIGXFSZ);
    let hit = [(LimitKind::Memory, memory_ran_out), (LimitKind::FileSize, too_large)];
    let mut limits: Vec<_> =
        hit.into_iter().filter_map(|(limit, hit)| hit.then_some(limit)).collect();
    if let Some(Stopped::Limit(limit)) = stopped {
        limits.push(limit);
    }
    let ended = match (not_started, stopped) {
        (Some(not_started), _) => not_started,
        (None, Some(Stopped::Time)) => Ended::TimedOut,
        (None, Some(Stopped::Cancel)) => Ended::Cancelled,
        (None, Some(Stopped::Limit(limit))) => Ended::Limit(limit),
        (None, None) if signal == libc::SIGXFSZ => Ended::Limit(LimitKind::FileSize),
        (None, None) if signal == libc::SIGKILL && memory_ran_out => {
            Ended::Limit(LimitKind::Memory)
        }
        (None, None) if signal != 0 => Ended::Signalled(signal),
        (None, None) => Ended::Exited(code),
    };
    (ended, limits)
}

/// Where a call's streams go.
enum Output<'a> {
    /// The writer stays open to the end, so that nobody is woken when a call's last process
    /// closes the pipe: its cell says right after that it has ended.
    Captured {
        sink: &'a mut dyn FnMut(&[u8]),
        reader: OwnedFd,
        writer: OwnedFd,
    },
    Own {
        stdin: BorrowedFd<'a>,
        stdout: BorrowedFd<'a>,
        stderr: BorrowedFd<'a>,
    },
}

impl<'a> Output<'a> {
    fn open(stdio: Stdio<'a>, keeper: &Keeper) -> Result<Self, SandboxFault> {
        let sink = match stdio {
            Stdio::Own { stdin, stdout, stderr } => {
                return Ok(Self::Own { stdin, stdout, stderr });
            }
            Stdio::Captured(sink) => sink,
        };
        let open = || {
            let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
            let flags = rustix::fs::fcntl_getfl(&reader)?;
            rustix::fs::fcntl_setfl(&reader, flags | rustix::fs::OFlags::NONBLOCK)?;
            // A program that opens /dev/stderr anew must be its owner.
            if rustix::process::geteuid().as_raw() != keeper.ids.uid {
                let (uid, gid) = (Uid::from_raw(keeper.ids.uid), Gid::from_raw(keeper.ids.gid));
                rustix::fs::fchown(&writer, Some(uid), Some(gid))?;
            }
            Ok((reader, writer))
        };
        let (reader, writer) = open().map_err(|errno: Errno| SandboxFault::Talk {
            step: "make a pipe for the output",
            source: errno.into(),
        })?;
        Ok(Self::Captured { sink, reader, writer })
    }

    fn streams(&self) -> Streams<BorrowedFd<'_>> {
        match self {
            Self::Captured { writer, .. } => {
                let writer = writer.as_fd();
                Streams { input: None, output: writer, errors: writer }
            }
            Self::Own { stdin, stdout, stderr } => {
                Streams { input: Some(*stdin), output: *stdout, errors: *stderr }
            }
        }
    }

    fn reader(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Captured { reader, .. } => Some(reader.as_fd()),
            Self::Own { .. } => None,
        }
    }

    /// Takes one piece; says whether there may be more at once.
    fn take(&mut self) -> bool {
        let Self::Captured { sink, reader, .. } = self else { return false };
        let mut piece = [0; PIECE];
        // An empty pipe is an error here, and its end does not come.
        match rustix::io::retry_on_intr(|| rustix::io::read(&*reader, &mut piece)) {
            Ok(length) => {
                sink(&piece[..length]);
                length > 0
            }
            Err(_) => false,
        }
    }

    /// Takes what is left. Nobody writes any more, but a program of another cell may hold the
    /// pipe, so its end is not waited for; more than a pipe can hold is not there.
    fn drain(&mut self) {
        for _ in 0..DRAIN_MAX {
            if !self.take() {
                return;
            }
        }
    }
}

/// A pipe holds at most 1 MiB: 16 pieces, each of which may come in parts.
const DRAIN_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_named() {
        let ended = |status, stopped| conclude(status, stopped, None, false).0;
        assert_eq!(ended(0, None), Ended::Exited(0));
        assert_eq!(ended(3 << 8, None), Ended::Exited(3));
        assert_eq!(ended(9, None), Ended::Signalled(9));
        assert_eq!(ended(9, Some(Stopped::Time)), Ended::TimedOut);
        assert_eq!(ended(9, Some(Stopped::Cancel)), Ended::Cancelled);
        assert_eq!(ended(libc::SIGXFSZ, None), Ended::Limit(LimitKind::FileSize));
        let (ended, limits) = conclude((128 + libc::SIGXFSZ) << 8, None, None, false);
        assert_eq!((ended, limits), (Ended::Exited(153), vec![LimitKind::FileSize]));
        let full = Some(Stopped::Limit(LimitKind::FreeSpace));
        let free = (Ended::Limit(LimitKind::FreeSpace), vec![LimitKind::FreeSpace]);
        assert_eq!(conclude(9, full, None, false), free);
        let memory = vec![LimitKind::Memory];
        let dead = conclude(libc::SIGKILL, None, None, true);
        assert_eq!(dead, (Ended::Limit(LimitKind::Memory), memory.clone()));
        assert_eq!(conclude(1 << 8, None, None, true), (Ended::Exited(1), memory));
    }
}
