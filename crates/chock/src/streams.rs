//! Waiting for streams and writing to them whole.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// What a wait came to.
pub(crate) enum Ready {
    Now,
    Woken,
    Never,
}

/// Waits until `stream` is ready, `woken` is, or the time is over.
pub(crate) fn wait(
    stream: &OwnedFd,
    what: PollFlags,
    woken: Option<&OwnedFd>,
    most: Option<&Timespec>,
) -> Ready {
    loop {
        let mut polled = vec![PollFd::new(stream, what)];
        polled.extend(woken.map(|woken| PollFd::new(woken, PollFlags::IN)));
        match poll(&mut polled, most) {
            Ok(0) => return Ready::Never,
            Ok(_) if !polled[0].revents().is_empty() => return Ready::Now,
            Ok(_) => return Ready::Woken,
            Err(Errno::INTR) => {}
            Err(_) => return Ready::Never,
        }
    }
}

/// Writes all of it, and waits where there is no room.
pub(crate) fn write_all(stream: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(stream, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                poll(&mut [PollFd::new(&stream, PollFlags::OUT)], None)?;
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
