//! A syslog daemon that gets each line as a message of RFC 5424.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{Place, Taken};

/// Facility authpriv, severity notice.
const PRIORITY: u8 = 10 * 8 + 5;

/// The most bytes of one message. Source: rsyslog's default; RFC 5424 wants at least 2048.
pub(super) const MESSAGE_BYTES_MAX: usize = 8192;

/// How long the daemon may take to make room for a message, where every line is required.
const REQUIRED_WAIT: Duration = Duration::from_secs(2);

/// The same where none is: the session does not stand still for it.
const OPTIONAL_WAIT: Duration = Duration::from_millis(50);

/// How long everything that is missing may take before it counts as a gap.
const SETTLE_TIME: Duration = Duration::from_secs(20);

/// A daemon behind a unix datagram socket.
///
/// It cannot say what it has, so a session that is taken up again sends it the whole log again:
/// the session and the number of each record tell a receiver what it had.
pub(super) struct Syslog {
    path: PathBuf,
    session: String,
    wait: Duration,
    socket: Option<UnixDatagram>,
    /// How many bytes of the log were sent.
    sent: u64,
    /// How many whole lines that was, the header among them.
    lines: u64,
}

impl Syslog {
    pub(super) fn new(path: PathBuf, session: &str, required: bool) -> Self {
        let wait = if required { REQUIRED_WAIT } else { OPTIONAL_WAIT };
        Self { path, session: session.to_owned(), wait, socket: None, sent: 0, lines: 0 }
    }

    fn connect(&self) -> io::Result<UnixDatagram> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(&self.path)?;
        socket.set_write_timeout(Some(self.wait))?;
        Ok(socket)
    }

    /// Sends one message, over a new connection when the daemon was started anew.
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let sent = match self.socket.take() {
            Some(socket) => match socket.send(message) {
                Err(fault) if is_gone(&fault) => None,
                sent => Some((socket, sent)),
            },
            None => None,
        };
        let (socket, sent) = match sent {
            Some(sent) => sent,
            None => {
                let socket = self.connect()?;
                let sent = socket.send(message);
                (socket, sent)
            }
        };
        self.socket = Some(socket);
        match sent? {
            count if count == message.len() => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::WriteZero, "a message was cut short")),
        }
    }
}

fn is_gone(fault: &io::Error) -> bool {
    matches!(fault.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotConnected)
}

impl Place for Syslog {
    fn take(&mut self, log: &File, length: u64) -> io::Result<Taken> {
        let since = Instant::now();
        let before = self.sent;
        // Whether anybody is there is asked even when there is nothing to say.
        if self.socket.is_none() {
            self.socket = Some(self.connect()?);
        }
        let mut log = log;
        log.seek(io::SeekFrom::Start(self.sent))?;
        let mut lines = BufReader::with_capacity(1 << 16, io::Read::take(log, length - self.sent));
        let mut line = Vec::new();
        while self.sent < length {
            line.clear();
            let read = lines.read_until(b'\n', &mut line)?;
            if line.pop() != Some(b'\n') {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the log is cut short"));
            }
            for message in messages(&self.session, self.lines, &line) {
                if since.elapsed() > SETTLE_TIME {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "it takes too long"));
                }
                self.send(&message)?;
            }
            self.sent += read as u64;
            self.lines += 1;
        }
        Ok(Taken { bytes: self.sent - before, knew: false })
    }
}

/// Makes the messages of one line, the `seq`-th record of its log; the header is the 0th.
///
/// A line that fits is one message: `<85>1 - - chock - <session> - <line>`. A longer one comes in
/// pieces that have `<seq>:<piece>/<pieces>` in the place of the process's id; joined they are the
/// line, byte for byte.
fn messages(session: &str, seq: u64, line: &[u8]) -> Vec<Vec<u8>> {
    let head = |part: &str| format!("<{PRIORITY}>1 - - chock {part} {session} - ").into_bytes();
    let whole = head("-");
    if whole.len() + line.len() <= MESSAGE_BYTES_MAX {
        return vec![[&whole[..], line].concat()];
    }
    // Wide enough for every number that a record of 16 MiB can need.
    let room = MESSAGE_BYTES_MAX - whole.len() - 40;
    let pieces = pieces(line, room);
    let count = pieces.len();
    let named = pieces.into_iter().enumerate();
    named
        .map(|(place, piece)| [&head(&format!("{seq}:{}/{count}", place + 1))[..], piece].concat())
        .collect()
}

/// Cuts a line into pieces of at most `room` bytes, between its characters.
fn pieces(mut line: &[u8], room: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while line.len() > room {
        let is_inside = |place: usize| line[place] & 0xc0 == 0x80;
        // A character has at most four bytes; what is no UTF-8 is cut anywhere.
        let cut = (room - 3..=room).rev().find(|place| !is_inside(*place)).unwrap_or(room);
        let (piece, rest) = line.split_at(cut);
        pieces.push(piece);
        line = rest;
    }
    pieces.push(line);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_whole_in_messages_of_a_bounded_size() {
        let session = "0".repeat(26);
        for length in [0, 1, 8_000, 8_140, 8_150, 8_160, 8_192, 20_000, 1 << 20] {
            let line: Vec<u8> = "é日🦀".bytes().cycle().take(length).collect();
            let messages = messages(&session, 7, &line);
            let mut joined = Vec::new();
            for (place, message) in messages.iter().enumerate() {
                assert!(message.len() <= MESSAGE_BYTES_MAX, "{length}");
                let parts: Vec<_> = message.splitn(8, |byte| *byte == b' ').collect();
                assert_eq!(
                    (parts[0], parts[3], parts[6]),
                    (&b"<85>1"[..], &b"chock"[..], &b"-"[..])
                );
                let part = if messages.len() == 1 {
                    "-".to_owned()
                } else {
                    format!("7:{}/{}", place + 1, messages.len())
                };
                assert_eq!(parts[4], part.as_bytes());
                assert_eq!(parts[5], session.as_bytes());
                let is_end = place + 1 == messages.len();
                assert!(is_end || std::str::from_utf8(parts[7]).is_ok(), "cut in a character");
                joined.extend_from_slice(parts[7]);
            }
            assert_eq!(joined, line, "{length}");
        }
    }
}
