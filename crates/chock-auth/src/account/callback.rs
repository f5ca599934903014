//! The loopback address that the issuer sends the browser back to.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::SignInFault;

/// The most bytes of a request's head: codes and states have some hundred.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// How many connections are kept at once. A browser opens some to have them.
const VISITORS_MAX: usize = 16;

/// How long a connection may take to say what it wants.
const VISIT_TIME: Duration = Duration::from_secs(10);

/// How long a stale sign-in may take to give its port free.
const STALE_TIME: Duration = Duration::from_secs(2);

/// A listener on 127.0.0.1, and who came to it.
pub(crate) struct Callback {
    listener: TcpListener,
    pub(crate) port: u16,
    visitors: Vec<Visitor>,
}

/// A connection whose request is not whole yet.
struct Visitor {
    stream: TcpStream,
    head: Vec<u8>,
    since: Instant,
}

/// A whole request, to be answered.
pub(crate) struct Visit {
    stream: TcpStream,
    /// The path with its query; none for what is not a GET.
    pub(crate) target: Option<String>,
}

impl Callback {
    /// Listens at the first of `ports` that is free. When none is, a sign-in that was left
    /// behind at the first one is asked to end.
    pub(crate) fn open(ports: &[u16]) -> Result<Self, SignInFault> {
        if let Some(callback) = Self::first_free(ports)? {
            return Ok(callback);
        }
        if let Some(first) = ports.first() {
            displace(*first);
            let since = Instant::now();
            while since.elapsed() < STALE_TIME {
                if let Some(callback) = Self::first_free(&[*first])? {
                    return Ok(callback);
                }
                thread::sleep(Duration::from_millis(50));
            }
        }
        let ports: Vec<_> = ports.iter().map(ToString::to_string).collect();
        Err(SignInFault::PortsBusy { ports: ports.join(" and ") })
    }

    fn first_free(ports: &[u16]) -> Result<Option<Self>, SignInFault> {
        for port in ports {
            match TcpListener::bind((Ipv4Addr::LOCALHOST, *port)) {
                Ok(listener) => return Self::of(listener).map(Some),
                Err(fault) if fault.kind() == io::ErrorKind::AddrInUse => {}
                Err(source) => return Err(SignInFault::Listen { source }),
            }
        }
        Ok(None)
    }

    fn of(listener: TcpListener) -> Result<Self, SignInFault> {
        let fault = |source| SignInFault::Listen { source };
        listener.set_nonblocking(true).map_err(fault)?;
        let port = listener.local_addr().map_err(fault)?.port();
        Ok(Self { listener, port, visitors: Vec::new() })
    }

    /// Waits up to `wait` for a whole request.
    pub(crate) fn look(&mut self, wait: Duration) -> Result<Option<Visit>, SignInFault> {
        let fault = |source| SignInFault::Listen { source };
        self.wait(wait).map_err(fault)?;
        self.accept().map_err(fault)?;
        self.visitors.retain(|visitor| visitor.since.elapsed() < VISIT_TIME);
        let mut index = 0;
        while index < self.visitors.len() {
            match self.visitors[index].read() {
                Heard::More => index += 1,
                Heard::Gone => drop(self.visitors.swap_remove(index)),
                Heard::Whole(target) => {
                    let stream = self.visitors.swap_remove(index).stream;
                    return Ok(Some(Visit { stream, target }));
                }
            }
        }
        Ok(None)
    }

    fn wait(&self, wait: Duration) -> io::Result<()> {
        let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
        let mut polled = vec![PollFd::new(&self.listener, PollFlags::IN)];
        let streams = self.visitors.iter().map(|visitor| &visitor.stream);
        polled.extend(streams.map(|stream| PollFd::new(stream, PollFlags::IN)));
        match poll(&mut polled, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(fault) => Err(fault.into()),
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Ok((stream, from)) => self.admit(stream, from)?,
                Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(fault) if fault.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
                Err(fault) => return Err(fault),
            }
        }
    }

    fn admit(&mut self, stream: TcpStream, from: SocketAddr) -> io::Result<()> {
        if !from.ip().is_loopback() {
            return Ok(());
        }
        stream.set_nonblocking(true)?;
        if self.visitors.len() == VISITORS_MAX {
            // The oldest only holds a place.
            drop(self.visitors.remove(0));
        }
        self.visitors.push(Visitor { stream, head: Vec::new(), since: Instant::now() });
        Ok(())
    }
}

/// What a connection has said so far.
enum Heard {
    More,
    Gone,
    Whole(Option<String>),
}

impl Visitor {
    fn read(&mut self) -> Heard {
        let mut piece = [0; 4096];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return Heard::Gone,
                Ok(read) => self.head.extend_from_slice(&piece[..read]),
                Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => return Heard::More,
                Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Heard::Gone,
            }
            if self.head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
                return Heard::Whole(target(&self.head));
            }
            if self.head.len() > HEAD_BYTES_MAX {
                return Heard::Gone;
            }
        }
    }
}

/// Reads the first line of a head: `GET target HTTP/1.1`.
fn target(head: &[u8]) -> Option<String> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let target = (words.next() == Some("GET")).then(|| words.next()).flatten()?;
    (target.starts_with('/') && words.next().is_some()).then(|| target.to_owned())
}

impl Visit {
    /// Answers with a page of one sentence. Nobody who does not listen holds the sign-in.
    pub(crate) fn answer(mut self, status: &str, sentence: &str) {
        let page = format!(
            "<!doctype html><meta charset=\"utf-8\"><title>Chock</title><p>{sentence}</p>\n"
        );
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
             Connection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
             Content-Security-Policy: default-src 'none'\r\nX-Content-Type-Options: nosniff\r\n\r\n{page}",
            page.len()
        );
        // The page is smaller than any socket's buffer.
        let _ = self.stream.write_all(answer.as_bytes());
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }
}

/// Asks whoever signs in at `port` to stop. Whoever else listens there ignores it.
fn displace(port: u16) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let asked = TcpStream::connect_timeout(&address, STALE_TIME).and_then(|mut stream| {
        stream.set_read_timeout(Some(STALE_TIME))?;
        stream.set_write_timeout(Some(STALE_TIME))?;
        let request =
            format!("GET /cancel HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        stream.read(&mut [0; 64])
    });
    // Whether it ended shows by the port.
    drop(asked);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_get_has_a_target() {
        let cases = [
            (
                "GET /auth/callback?code=a HTTP/1.1\r\nHost: x\r\n\r\n",
                Some("/auth/callback?code=a"),
            ),
            ("POST /auth/callback HTTP/1.1\r\n\r\n", None),
            ("GET http://x/ HTTP/1.1\r\n\r\n", None),
            ("GET /\r\n\r\n", None),
            ("\r\n\r\n", None),
        ];
        for (head, expected) in cases {
            assert_eq!(target(head.as_bytes()).as_deref(), expected, "{head:?}");
        }
    }
}
