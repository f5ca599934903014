//! What a person types while something else may answer first.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long one look waits. Whoever waits for a line looks for an answer from elsewhere as often.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// The most bytes of an answer that are read: the longest line that a terminal gives.
const ANSWER_BYTES_MAX: usize = 4096;

/// What was typed by now.
pub(crate) enum Typed {
    Nothing,
    Line(Vec<u8>),
    TheEnd,
}

/// Waits a moment for a line of standard input.
pub(crate) fn typed() -> Typed {
    let stdin = io::stdin();
    let look = Timespec::try_from(LOOK).expect("invariant: a short time fits");
    let mut ready = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
    match poll(&mut ready, Some(&look)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Typed::Nothing,
        Err(_) => Typed::TheEnd,
        Ok(_) => {
            let mut line = [0; ANSWER_BYTES_MAX];
            match stdin.lock().read(&mut line) {
                Ok(0) | Err(_) => Typed::TheEnd,
                Ok(read) => Typed::Line(line[..read].to_vec()),
            }
        }
    }
}
