//! A terminal of our own between the person's and a caged program.
//!
//! The program gets the far end of a fresh pseudo terminal, never the person's. Keys go in as they
//! are pressed; what comes out passes a [`Filter`]. The person's terminal is put back whatever
//! happens: at the end, on a signal, on a panic.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread::JoinHandle;

use chock_agent::Stop;
use chock_sandbox::{SessionUser, Stdio};
use rustix::event::{PollFlags, Timespec};
use rustix::fs::{Gid, OFlags, Uid};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, getpgrp, getpid, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
use rustix::termios::{
    OptionalActions, OutputModes, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
    tcsetwinsize,
};
use signal_hook::consts::{SIGALRM, SIGCONT, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::{Handle, Signals};

use crate::filter::{Filter, Modes};
use crate::relay::{Relays, Way};
use crate::streams::{Ready, wait, write_all};

/// How much is copied at once.
const PIECE: usize = 16 * 1024;

/// How long what a dead program wrote may take to come through the kernel.
const LAST_WORDS: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// What a shell adds to the number of a signal that ended a program.
const SIGNALLED: i32 = 128;

/// The person's terminal and how it was, while it is not so. There is one a process.
static CHANGED: Mutex<Option<(OwnedFd, Termios)>> = Mutex::new(None);

/// What the program switched on the person's terminal and not back.
static MODES: AtomicU16 = AtomicU16::new(0);

/// The streams of one call, and the terminal between, if the person has one.
pub(crate) struct Seat {
    /// Input, output and errors, as the program gets them.
    given: Option<[OwnedFd; 3]>,
    between: Option<Between>,
    relays: Relays,
}

/// The near end of the terminal, and who serves it.
struct Between {
    /// Closed to wake whoever waits.
    wake: Option<OwnedFd>,
    signals: Handle,
    threads: Vec<JoinHandle<()>>,
}

impl Seat {
    /// Takes this process's streams for a call: a terminal among them is replaced by one of our
    /// own, what a caged program may not hold by a pipe, and the rest is given as it is.
    ///
    /// `owner` is the session's user, where it is not the caller.
    pub(crate) fn take(owner: Option<SessionUser>, stop: &Stop) -> io::Result<Self> {
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        let own = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
        let is_terminal = own.map(|stream| stream.is_terminal());
        let Some(place) = is_terminal.iter().position(|is_terminal| *is_terminal) else {
            let mut relays = Relays::default();
            let given = held(own, &mut relays)?;
            given.iter().try_for_each(|stream| own_pipe(stream.as_fd(), owner))?;
            return Ok(Self { given: Some(given), between: None, relays });
        };
        let person = copy(own[place])?;
        let (near, far) = pair(owner)?;
        let mut shape = tcgetattr(&person)?;
        let reads_keys = is_terminal[0] && in_front(&person);
        if !reads_keys {
            // The person's terminal goes on turning a line's end into two letters.
            shape.output_modes.remove(OutputModes::OPOST);
        }
        tcsetattr(&far, OptionalActions::Now, &shape)?;
        resize(&person, &near);
        let screen = screen(own, is_terminal, &person)?;
        let mut relays = Relays::default();
        let mixed = [0, 1, 2].map(|at| if is_terminal[at] { far.as_fd() } else { own[at] });
        let given = held(mixed, &mut relays)?;
        for (stream, is_terminal) in given.iter().zip(is_terminal) {
            if !is_terminal {
                own_pipe(stream.as_fd(), owner)?;
            }
        }
        let between = Between::serve(person, near, screen, reads_keys, stop)?;
        Ok(Self { given: Some(given), between: Some(between), relays })
    }

    /// Returns the streams for the call.
    pub(crate) fn stdio(&self) -> Stdio<'_> {
        let [stdin, stdout, stderr] = self.given.as_ref().expect("invariant: given until the end");
        Stdio::Own { stdin: stdin.as_fd(), stdout: stdout.as_fd(), stderr: stderr.as_fd() }
    }
}

impl Drop for Seat {
    /// Shows the program's last words, and puts the person's terminal back.
    fn drop(&mut self) {
        // The far end is closed first: that ends the output.
        self.given = None;
        self.between = None;
        self.relays = Relays::default();
    }
}

impl Between {
    fn serve(
        person: OwnedFd,
        near: OwnedFd,
        screen: OwnedFd,
        reads_keys: bool,
        stop: &Stop,
    ) -> io::Result<Self> {
        let (woken, wake) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::fs::fcntl_setfl(&near, rustix::fs::fcntl_getfl(&near)? | OFlags::NONBLOCK)?;
        let others = [SIGWINCH, SIGCONT, SIGTSTP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM];
        let mut signals = Signals::new(others)?;
        let mut between = Self { wake: Some(wake), signals: signals.handle(), threads: Vec::new() };
        let (sized, sizing) = (copy(person.as_fd())?, copy(near.as_fd())?);
        between.thread("signals of the terminal", move || {
            for signal in signals.forever() {
                obey(signal, &sized, &sizing, reads_keys);
            }
        })?;
        let (written, waiting) = (copy(near.as_fd())?, copy(woken.as_fd())?);
        between.thread("output", move || show(&written, &screen, &waiting))?;
        if reads_keys {
            change(&person)?;
            let stop = stop.clone();
            between.thread("keys", move || {
                if !type_in(&person, &near, &woken) {
                    stop.trigger();
                }
            })?;
        }
        Ok(between)
    }

    fn thread(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work)?;
        self.threads.push(thread);
        Ok(())
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        self.wake = None;
        self.signals.close();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so itself.
            let _ = thread.join();
        }
        give_back();
    }
}

/// Puts the person's terminal back as it was, if it is not.
pub(crate) fn give_back() {
    let undo = Modes::from_number(MODES.swap(0, Ordering::Relaxed)).undo();
    let held = CHANGED.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    let Some((person, before)) = held else {
        return;
    };
    // Nothing is left to be done about a terminal that is gone.
    let _ = write_all(person.as_fd(), undo.as_bytes());
    if in_front(&person) {
        let _ = tcsetattr(&person, OptionalActions::Now, &before);
    }
}

/// Has keys arrive as they are pressed, and remembers how it was.
fn change(person: &OwnedFd) -> io::Result<()> {
    let before = tcgetattr(person)?;
    let mut raw = before.clone();
    raw.make_raw();
    let kept = copy(person.as_fd())?;
    let mut changed = CHANGED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // After a stop that nobody saw coming it is changed already.
    changed.get_or_insert((kept, before));
    tcsetattr(person, OptionalActions::Now, &raw)?;
    Ok(())
}

/// Says whether this process may use the terminal now: one in the background would be stopped.
fn in_front(person: &OwnedFd) -> bool {
    match tcgetpgrp(person) {
        Ok(group) => group == getpgrp(),
        // Not the terminal of this session: nobody is stopped for using it.
        Err(_) => true,
    }
}

fn obey(signal: i32, person: &OwnedFd, near: &OwnedFd, reads_keys: bool) {
    match signal {
        SIGWINCH => resize(person, near),
        SIGCONT => {
            resize(person, near);
            if reads_keys && in_front(person) {
                // Without it keys come a line at a time, and everything else goes on.
                let _ = change(person);
            }
        }
        SIGTSTP => {
            give_back();
            let _ = kill_process(getpid(), Signal::STOP);
        }
        ended_by => {
            give_back();
            #[expect(clippy::exit, reason = "the signal ends the program, its terminal put back")]
            std::process::exit(SIGNALLED + ended_by);
        }
    }
}

/// Tells the program's terminal how large the person's is.
fn resize(person: &OwnedFd, near: &OwnedFd) {
    if let Ok(size) = tcgetwinsize(person) {
        let _ = tcsetwinsize(near, size);
    }
}

/// Makes a pseudo terminal: the near end, and the far end for the program.
fn pair(owner: Option<SessionUser>) -> io::Result<(OwnedFd, OwnedFd)> {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&near)?;
    unlockpt(&near)?;
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let far = rustix::pty::ioctl_tiocgptpeer(&near, flags)?;
    give(far.as_fd(), owner)?;
    Ok((near, far))
}

/// The type of the file system of nameless pipes.
const PIPE_MAGIC: u64 = 0x5049_5045;

/// Lets the session's user open a nameless pipe anew, as `/dev/stderr`.
fn own_pipe(stream: BorrowedFd<'_>, owner: Option<SessionUser>) -> io::Result<()> {
    let is_pipe = |kind| u64::try_from(kind).is_ok_and(|kind| kind == PIPE_MAGIC);
    if rustix::fs::fstatfs(stream).is_ok_and(|found| is_pipe(found.f_type)) {
        give(stream, owner)?;
    }
    Ok(())
}

fn give(stream: BorrowedFd<'_>, owner: Option<SessionUser>) -> io::Result<()> {
    if let Some(SessionUser { uid, gid }) = owner {
        rustix::fs::fchown(stream, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
    }
    Ok(())
}

/// Finds where the program's output is drawn.
fn screen(
    own: [BorrowedFd<'_>; 3],
    is_terminal: [bool; 3],
    person: &OwnedFd,
) -> io::Result<OwnedFd> {
    if let Some(place) = [1, 2].into_iter().find(|place| is_terminal[*place]) {
        return copy(own[place]);
    }
    // Only the input is a terminal: what it echoes belongs on it.
    match File::options().write(true).open("/dev/tty") {
        Ok(file) => Ok(file.into()),
        Err(_) => copy(person.as_fd()),
    }
}

fn held(streams: [BorrowedFd<'_>; 3], relays: &mut Relays) -> io::Result<[OwnedFd; 3]> {
    let [input, output, errors] = streams;
    let mut take = |stream: BorrowedFd<'_>, way| match stream.is_terminal() {
        true => copy(stream),
        false => relays.take(stream, way),
    };
    Ok([take(input, Way::In)?, take(output, Way::Out)?, take(errors, Way::Out)?])
}

fn copy(stream: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    stream.try_clone_to_owned()
}

/// Draws what the program writes, until every copy of its end is closed.
fn show(near: &OwnedFd, screen: &OwnedFd, woken: &OwnedFd) {
    let mut filter = Filter::default();
    let mut piece = vec![0; PIECE];
    let (mut passed, mut over) = (Vec::new(), false);
    loop {
        let ready = match over {
            false => wait(near, PollFlags::IN, Some(woken), None),
            true => wait(near, PollFlags::IN, None, Some(&LAST_WORDS)),
        };
        match ready {
            Ready::Now => {}
            Ready::Woken => {
                over = true;
                continue;
            }
            Ready::Never => return,
        }
        match rustix::io::read(near, &mut piece) {
            Ok(0) => return,
            Ok(length) => {
                passed.clear();
                filter.feed(&piece[..length], &mut passed);
                MODES.store(filter.modes().number(), Ordering::Relaxed);
                // The program goes on when nobody looks; a hang-up ends it by its signal.
                let _ = write_all(screen.as_fd(), &passed);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            // How a terminal says that nobody is left at its other end.
            Err(_) => return,
        }
    }
}

/// Hands the person's keys to the program; says whether the terminal is still there.
fn type_in(person: &OwnedFd, near: &OwnedFd, woken: &OwnedFd) -> bool {
    let mut piece = vec![0; PIECE];
    loop {
        match wait(person, PollFlags::IN, Some(woken), None) {
            Ready::Now => {}
            Ready::Woken | Ready::Never => return true,
        }
        let length = match rustix::io::read(person, &mut piece) {
            Ok(0) => return false,
            Ok(length) => length,
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(_) => return false,
        };
        let mut keys = &piece[..length];
        while !keys.is_empty() {
            match wait(near, PollFlags::OUT, Some(woken), None) {
                Ready::Now => {}
                Ready::Woken | Ready::Never => return true,
            }
            match rustix::io::write(near, keys) {
                Ok(written) => keys = &keys[written..],
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return true,
            }
        }
    }
}
