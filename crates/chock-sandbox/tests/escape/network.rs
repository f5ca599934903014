//! The network is the session's and empty.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use crate::harness::Control::{Anyone, AnyoneIf, Root};
use crate::harness::{Attempt, attempt, check, check_prepared};

/// Ports of this test's own listeners, apart from what usual services take.
const TCP: &str = "127.0.0.1:38741";
const TCP_6: &str = "[::1]:38742";
const TCP_ANY: &str = "127.0.0.1:38743";
const UDP: &str = "127.0.0.1:38744";

/// One test for all: the listeners are the host's, and there is one of each.
#[test]
fn listeners_of_the_host_are_not_reached() {
    let tcp = TcpListener::bind(TCP).expect("a listener");
    let tcp_6 = TcpListener::bind(TCP_6).ok();
    let any = TcpListener::bind("0.0.0.0:38743").expect("a listener");
    let echo = UdpSocket::bind(UDP).expect("a socket");
    let echoing = std::thread::spawn(move || {
        let mut piece = [0; 8];
        while let Ok((length, from)) = echo.recv_from(&mut piece) {
            if piece[..length] == *b"end" {
                return;
            }
            echo.send_to(&piece[..length], from).expect("an echo");
        }
    });
    let attempts: [Attempt; 5] = [
        attempt(Anyone, &["connect", TCP]),
        attempt(AnyoneIf("a host without IPv6"), &["connect", TCP_6]),
        attempt(Anyone, &["connect", TCP_ANY]),
        attempt(Anyone, &["send-datagram", UDP]),
        attempt(AnyoneIf("a host without another interface"), &["other-interface"]),
    ];
    check(&attempts);
    for listener in [Some(&tcp), tcp_6.as_ref(), Some(&any)].into_iter().flatten() {
        listener.set_nonblocking(true).expect("a listener");
        let mut count = 0;
        while listener.accept().is_ok() {
            count += 1;
        }
        assert!(count <= 1, "only the control may have come: {count} on {listener:?}");
    }
    let end = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    end.send_to(b"end", UDP).expect("the end");
    echoing.join().expect("the echo");
}

#[test]
fn sockets_of_the_host_are_not_reached() {
    let name = "chock-escape-test";
    let address = SocketAddr::from_abstract_name(name).expect("a name");
    let _held = UnixListener::bind_addr(&address).expect("an abstract socket");
    check(&[attempt(Anyone, &["connect-abstract", "chock-escape-test"])]);
    let by_path = [
        attempt(Anyone, &["connect-path", "{yard}/outside/stream"]),
        attempt(Anyone, &["send-path", "{yard}/outside/datagram"]),
    ];
    check_prepared(&by_path, |yard| {
        let (stream, datagram) = (yard.at("outside/stream"), yard.at("outside/datagram"));
        let held = (
            UnixListener::bind(&stream).expect("a socket"),
            UnixDatagram::bind(&datagram).expect("a socket"),
        );
        if crate::yard::is_root() {
            crate::yard::give(&stream);
            crate::yard::give(&datagram);
        }
        held
    });
}

#[test]
fn other_families_do_not_exist() {
    check(&[
        attempt(Root, &["socket-family", "17", "3", "768"]),
        attempt(Root, &["socket-family", "2", "3", "1"]),
        attempt(Root, &["socket-family", "10", "3", "58"]),
        attempt(AnyoneIf("no vsock here"), &["socket-family", "40", "1", "0"]),
        attempt(AnyoneIf("no crypto sockets here"), &["socket-family", "38", "5", "0"]),
        attempt(AnyoneIf("no bluetooth here"), &["socket-family", "31", "3", "1"]),
        attempt(AnyoneIf("no CAN here"), &["socket-family", "29", "3", "1"]),
        attempt(AnyoneIf("no TIPC here"), &["socket-family", "30", "1", "0"]),
        attempt(AnyoneIf("no XDP here"), &["socket-family", "44", "3", "0"]),
        attempt(Anyone, &["socket-family", "16", "3", "15"]),
        attempt(AnyoneIf("no audit here"), &["socket-family", "16", "3", "9"]),
        attempt(AnyoneIf("no SMC here"), &["socket-family", "43", "1", "0"]),
        attempt(AnyoneIf("no SMC here"), &["socket-family", "2", "1", "256"]),
        attempt(AnyoneIf("no SCTP here"), &["socket-family", "2", "1", "132"]),
    ]);
}

#[test]
fn nothing_leaves() {
    check(&[
        attempt(AnyoneIf("a host without a route"), &["resolve", "192.0.2.1:53"]),
        attempt(AnyoneIf("a host without a route"), &["resolve", "169.254.169.254:80"]),
        attempt(AnyoneIf("a host without a network"), &["connect", "1.1.1.1:443"]),
    ]);
}
