//! Reads a line that nobody sees while it is typed.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chock_auth::TOKEN_BYTES_MAX;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use secrecy::SecretString;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::terminal::Terminal;
use crate::typed::LOOK;

/// What a key does to the line.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Goes,
    Whole,
    Cancelled,
}

/// The terminal as it was; it is put back when this ends.
struct Hushed(Termios);

impl Hushed {
    /// Has keys come one by one, unseen. What was typed before is thrown away.
    fn new() -> io::Result<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let mut hushed = before.clone();
        hushed.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        tcsetattr(&stdin, OptionalActions::Flush, &hushed)?;
        Ok(Self(before))
    }
}

impl Drop for Hushed {
    fn drop(&mut self) {
        // Nothing is left to be done about a terminal that is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}

/// Asks for a line at the terminal; none when the person or a signal ended it.
pub(crate) fn line(terminal: &mut Terminal, prompt: &str) -> io::Result<Option<SecretString>> {
    let (ended, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // Behind the prompt a signal ends the program again.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&over))?;
        signal_hook::flag::register(signal, Arc::clone(&ended))?;
    }
    let read = {
        let _hushed = Hushed::new()?;
        terminal.say_piece(prompt);
        keys(&ended)
    };
    over.store(true, Ordering::Relaxed);
    terminal.say_piece("\n");
    read
}

fn keys(ended: &AtomicBool) -> io::Result<Option<SecretString>> {
    let stdin = io::stdin();
    let look = Timespec::try_from(LOOK).expect("invariant: a short time fits");
    let mut line = Vec::new();
    loop {
        let mut ready = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        match poll(&mut ready, Some(&look)) {
            _ if ended.load(Ordering::Relaxed) => return Ok(None),
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(fault) => return Err(fault.into()),
        }
        let mut bytes = [0; 256];
        let read = stdin.lock().read(&mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        for byte in &bytes[..read] {
            match press(&mut line, *byte) {
                Step::Goes => {}
                Step::Cancelled => return Ok(None),
                Step::Whole => {
                    let text = String::from_utf8_lossy(&line).into_owned();
                    return Ok(Some(text.into()));
                }
            }
        }
    }
}

/// Does what a terminal does with the keys of a line.
fn press(line: &mut Vec<u8>, byte: u8) -> Step {
    match byte {
        b'\r' | b'\n' => return Step::Whole,
        // Ctrl-C, Ctrl-\, and Ctrl-D on an empty line.
        0x03 | 0x1c => return Step::Cancelled,
        0x04 if line.is_empty() => return Step::Cancelled,
        0x04 => return Step::Whole,
        0x7f | 0x08 => drop(line.pop()),
        // Ctrl-U
        0x15 => line.clear(),
        _ if line.len() == TOKEN_BYTES_MAX => {}
        other => line.push(other),
    }
    Step::Goes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_make_a_line() {
        let cases: [(&[u8], &[u8], Step); 6] = [
            (b"abc\r", b"abc", Step::Whole),
            (b"ax\x7fb\n", b"ab", Step::Whole),
            (b"wrong\x15right\x04", b"right", Step::Whole),
            (b"ab\x03", b"ab", Step::Cancelled),
            (b"\x04", b"", Step::Cancelled),
            (b"\x7fab", b"ab", Step::Goes),
        ];
        for (keys, expected, end) in cases {
            let mut line = Vec::new();
            let last = keys.iter().map(|byte| press(&mut line, *byte)).last();
            assert_eq!((line.as_slice(), last), (expected, Some(end)), "{keys:?}");
        }
    }
}
