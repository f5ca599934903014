//! Who may talk to a session: the same user, in the same user namespace.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, geteuid};

/// Says why a peer is not listened to; nothing when it is.
///
/// The kernel says who connected. A process of a cage has the same user where Chock is not root,
/// and is told apart by its user namespace. One that cannot be looked up is refused.
pub(super) fn refusal(stream: &UnixStream) -> Option<String> {
    let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) else {
        return Some("nobody can say who you are".to_owned());
    };
    if peer.uid != geteuid() {
        return Some("this session belongs to another user".to_owned());
    }
    let of_peer = user_namespace(&Pid::as_raw(Some(peer.pid)).to_string());
    if of_peer.is_none() || of_peer != user_namespace("self") {
        return Some("you are not in the user namespace of this session's owner".to_owned());
    }
    None
}

/// Returns what the kernel tells a process's user namespace by.
fn user_namespace(process: &str) -> Option<(u64, u64)> {
    let found = fs::metadata(format!("/proc/{process}/ns/user")).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    /// Connects in a program of its own, started by these words, and judges it.
    fn refusal_of(words: &[&str]) -> Option<String> {
        let directory = tempfile::tempdir().expect("a directory");
        let open = |path: &std::path::Path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("a mode");
        };
        open(directory.path());
        let path = directory.path().join("s");
        let listener = UnixListener::bind(&path).expect("a socket");
        open(&path);
        let script = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.recv(1)";
        // Of the system: another user may not run what a person installed.
        let words = [words, &["/usr/bin/python3", "-c", script]].concat();
        let mut child =
            Command::new(words[0]).args(&words[1..]).arg(&path).spawn().expect("a program");
        let (stream, _) = listener.accept().expect("a peer");
        let refusal = refusal(&stream);
        drop(stream);
        assert!(child.wait().expect("an end").success());
        refusal
    }

    #[test]
    fn the_same_user_is_let_in() {
        assert_eq!(refusal_of(&["env"]), None);
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a skipped test says why")]
    fn another_user_is_refused() {
        if !geteuid().is_root() {
            eprintln!("skipped: only root can become another user");
            return;
        }
        let refusal = refusal_of(&["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]);
        assert!(refusal.expect("a refusal").contains("another user"));
    }

    #[test]
    fn the_same_user_in_another_user_namespace_is_refused() {
        let refusal = refusal_of(&["unshare", "--user", "--map-current-user"]);
        assert!(refusal.expect("a refusal").contains("user namespace"));
    }
}
