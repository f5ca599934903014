//! Ways out of an empty network.

use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram, UnixStream};
use std::time::Duration;

use super::{Attack, End, end};

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("connect", connect),
    ("connect-path", |words| end(UnixStream::connect(&words[0]))),
    ("send-path", |words| end(UnixDatagram::unbound().and_then(|it| it.send_to(b"x", &words[0])))),
    ("connect-abstract", connect_abstract),
    ("send-datagram", send_datagram),
    ("other-interface", other_interface),
    ("resolve", resolve),
];

fn connect(words: &[String]) -> End {
    let address: SocketAddr = words[0].parse().expect("an address");
    end(TcpStream::connect_timeout(&address, Duration::from_secs(2)))
}

fn connect_abstract(words: &[String]) -> End {
    let address = UnixAddress::from_abstract_name(words[0].as_bytes()).expect("a name");
    end(UnixStream::connect_addr(&address))
}

/// Sends a datagram and waits for the echo.
fn send_datagram(words: &[String]) -> End {
    let send = || -> io::Result<usize> {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        socket.send_to(b"x", &words[0])?;
        socket.recv(&mut [0; 8])
    };
    end(send())
}

/// Looks for an interface other than loopback.
fn other_interface(_: &[String]) -> End {
    let text = std::fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let names = text.lines().skip(2).filter_map(|line| line.split(':').next()).map(str::trim);
    match names.into_iter().find(|name| *name != "lo") {
        Some(name) => End::Through(name.to_owned()),
        None => End::Refused("loopback only".to_owned()),
    }
}

/// Sends a question to the name server that the words give.
fn resolve(words: &[String]) -> End {
    let ask = || -> io::Result<usize> {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect(&words[0])?;
        socket.send(&[0; 12])
    };
    end(ask())
}
