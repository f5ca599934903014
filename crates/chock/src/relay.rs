//! Streams that a caged program may not hold itself, and pipes in their place.
//!
//! A socket belongs to the network that it was made in: who holds it can connect it anew, there.
//! A directory leads to everything above it. So only pipes, plain files and the devices that are
//! in a cage anyway are given as they are.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::JoinHandle;

use rustix::event::{PollFlags, Timespec};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::streams::{Ready, wait, write_all};

/// How much is copied at once.
const PIECE: usize = 16 * 1024;

/// How long what a dead program wrote may take to come through the kernel.
const LAST_WORDS: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// The number of the memory devices, `/dev/null` and its like.
const MEMORY: u32 = 1;
/// Those of them that a cage has too: null, zero, full, random, urandom.
const HARMLESS: [u32; 5] = [3, 5, 7, 8, 9];

/// Copies between the person's streams and pipes, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Relays {
    /// Closed to wake whoever waits for input.
    wake: Option<OwnedFd>,
    woken: Option<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
}

/// Which way a stream goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
}

impl Relays {
    /// Returns what a program gets for `stream`: itself, or the far end of a pipe.
    pub(crate) fn take(&mut self, stream: BorrowedFd<'_>, way: Way) -> io::Result<OwnedFd> {
        let own = stream.try_clone_to_owned()?;
        if may_be_held(stream)? {
            return Ok(own);
        }
        let (far_out, far_in) = pipe_with(PipeFlags::CLOEXEC)?;
        let woken = self.woken()?;
        let (given, work): (_, Box<dyn FnOnce() + Send>) = match way {
            Way::In => (far_out, Box::new(move || bring(&own, &far_in, &woken))),
            Way::Out => (far_in, Box::new(move || carry(&far_out, &own, &woken))),
        };
        let thread = std::thread::Builder::new().name("a stream".to_owned()).spawn(work)?;
        self.threads.push(thread);
        Ok(given)
    }

    fn woken(&mut self) -> io::Result<OwnedFd> {
        if self.woken.is_none() {
            let (woken, wake) = pipe_with(PipeFlags::CLOEXEC)?;
            (self.woken, self.wake) = (Some(woken), Some(wake));
        }
        self.woken.as_ref().expect("invariant: made above").try_clone()
    }
}

impl Drop for Relays {
    /// Carries the program's last words. Its ends of the pipes are closed by now.
    fn drop(&mut self) {
        self.wake = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so itself.
            let _ = thread.join();
        }
    }
}

/// Whether a caged program may hold a stream itself.
fn may_be_held(stream: BorrowedFd<'_>) -> io::Result<bool> {
    let status = rustix::fs::fstat(stream)?;
    Ok(match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile | FileType::Fifo => true,
        FileType::CharacterDevice => {
            let (major, minor) =
                (rustix::fs::major(status.st_rdev), rustix::fs::minor(status.st_rdev));
            major == MEMORY && HARMLESS.contains(&minor)
        }
        FileType::Directory => {
            return Err(io::Error::other("a standard stream is a directory, which leads outside"));
        }
        FileType::Socket | FileType::BlockDevice | FileType::Symlink | FileType::Unknown => false,
    })
}

/// Copies what the person sends, until the end of it, of the program, or of the call.
fn bring(from: &OwnedFd, to: &OwnedFd, woken: &OwnedFd) {
    let mut piece = vec![0; PIECE];
    // A program that does not read must not keep the call from ending.
    let _ = rustix::io::ioctl_fionbio(to, true);
    while is_ready(from, PollFlags::IN, woken, None) {
        match rustix::io::read(from, &mut piece) {
            Ok(0) => return,
            Ok(length) => {
                let mut left = &piece[..length];
                while !left.is_empty() {
                    if !is_ready(to, PollFlags::OUT, woken, None) {
                        return;
                    }
                    match rustix::io::write(to, left) {
                        Ok(written) => left = &left[written..],
                        Err(Errno::INTR | Errno::AGAIN) => {}
                        Err(_) => return,
                    }
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return,
        }
    }
}

/// Copies what the program writes, until every copy of its end is closed.
fn carry(from: &OwnedFd, to: &OwnedFd, woken: &OwnedFd) {
    let mut piece = vec![0; PIECE];
    let mut over = false;
    loop {
        let ready = match over {
            false => is_ready(from, PollFlags::IN, woken, None),
            true => is_ready(from, PollFlags::IN, from, Some(&LAST_WORDS)),
        };
        match (ready, over) {
            (true, _) => {}
            (false, false) => {
                over = true;
                continue;
            }
            (false, true) => return,
        }
        match rustix::io::read(from, &mut piece) {
            Ok(0) => return,
            // A program that writes to nobody is told so by its signal when the pipe closes.
            Ok(length) if write_all(to.as_fd(), &piece[..length]).is_err() => return,
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return,
        }
    }
}

/// Waits; says whether `stream` is ready, or the wait is over by `woken` or by time.
fn is_ready(stream: &OwnedFd, what: PollFlags, woken: &OwnedFd, most: Option<&Timespec>) -> bool {
    matches!(wait(stream, what, Some(woken), most), Ready::Now)
}
