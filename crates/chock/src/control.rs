//! The control socket: another process of the same person looks at a running session, stops its
//! tasks, answers its questions, and has its work carried into the project. Nothing that arrives
//! here names a program to start.

mod asked;
mod peer;
mod place;
mod talk;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use chock_tools::{Stopper, Tasks};
use chock_workspace::Direction;

use crate::board::Board;
use crate::exit::Failure;
use crate::ferry::{Ferry, Leftover};
use crate::report::Report;
use crate::words::nearest;
use place::Place;

pub(crate) use asked::{Asked, beside_the_point};
pub(crate) use talk::{Piece, Reply, Request, Row};

/// The longest request, in bytes: a choice of thousands of paths and changes.
const REQUEST_BYTES_MAX: u64 = 1 << 20;

/// The most peers at once.
const PEERS_MAX: usize = 4;

/// How long a peer may say nothing.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// The most bytes of output in one reply.
const PIECE_BYTES: usize = 48 << 10;

/// The control socket of a session that runs. It is removed with the value.
#[derive(Debug)]
pub(crate) struct Control {
    place: Place,
    listener: Arc<UnixListener>,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Control {
    /// Opens the socket in a directory of its own, and serves it on a thread of its own.
    ///
    /// Only the owner of the session's log may call this: what a dead owner left is removed.
    pub(crate) fn open(directory: &Path, desk: Desk) -> io::Result<Self> {
        let place = Place::make(directory)?;
        let listener = Arc::new(place.listen()?);
        let closing = Arc::new(AtomicBool::new(false));
        let server = Server { listener: listener.clone(), closing: closing.clone(), desk };
        let thread = thread::Builder::new().name("control".to_owned()).spawn(|| server.run())?;
        Ok(Self { place, listener, closing, thread: Some(thread) })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Release);
        // Ends the wait for a peer. What cannot be removed is stale, and the next owner's to remove.
        let _ = rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both);
        let _ = self.place.remove();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread serves.
struct Server {
    listener: Arc<UnixListener>,
    closing: Arc<AtomicBool>,
    desk: Desk,
}

/// What peers may look at and change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Desk {
    pub(crate) tasks: Tasks,
    pub(crate) board: Board,
    /// Absent where no work can be carried.
    pub(crate) ferry: Option<Arc<Ferry>>,
}

/// A peer that is being served.
struct Served {
    stream: UnixStream,
    thread: JoinHandle<()>,
}

impl Server {
    fn run(self) {
        let mut peers: Vec<Served> = Vec::new();
        loop {
            let accepted = self.listener.accept();
            if self.closing.load(Ordering::Acquire) {
                break;
            }
            match accepted {
                Ok((stream, _)) => {
                    peers.retain(|peer| !peer.thread.is_finished());
                    if let Some(peer) = self.admit(stream, peers.len()) {
                        peers.push(peer);
                    }
                }
                // No descriptor is left, or the peer is gone already.
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
        for Served { stream, thread } in peers {
            let _ = stream.shutdown(Shutdown::Both);
            let _ = thread.join();
        }
    }

    fn admit(&self, stream: UnixStream, others: usize) -> Option<Served> {
        stream.set_read_timeout(Some(IDLE_MAX)).ok()?;
        stream.set_write_timeout(Some(IDLE_MAX)).ok()?;
        let refusal = peer::refusal(&stream).or_else(|| {
            (others >= PEERS_MAX).then(|| format!("{others} others are asking already; try again"))
        });
        if let Some(words) = refusal {
            let _ = send(&stream, &Reply::Error(words));
            return None;
        }
        let (kept, desk) = (stream.try_clone().ok()?, self.desk.clone());
        let thread = thread::Builder::new().name("control peer".to_owned());
        let thread = thread.spawn(move || {
            serve(&stream, &desk);
            // The other descriptor of it is kept until the next peer comes.
            let _ = stream.shutdown(Shutdown::Both);
        });
        let thread = thread.ok()?;
        Some(Served { stream: kept, thread })
    }
}

/// Answers a peer's requests until it hangs up, says nonsense, or says nothing.
fn serve(stream: &UnixStream, desk: &Desk) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let read = reader.by_ref().take(REQUEST_BYTES_MAX + 1).read_until(b'\n', &mut line);
        let whole = line.ends_with(b"\n");
        if read.is_err() || (!whole && line.len() as u64 <= REQUEST_BYTES_MAX) {
            return;
        }
        let request = if whole { serde_json::from_slice(&line).ok() } else { None };
        let understood = request.is_some();
        let reply = request.map_or_else(
            || Reply::Error("this request is not understood".to_owned()),
            |request| answer(desk, request),
        );
        if send(stream, &reply).is_err() || !understood {
            return;
        }
    }
}

fn send(mut stream: &UnixStream, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    stream.write_all(&line)
}

fn answer(desk: &Desk, request: Request) -> Reply {
    let Desk { tasks, board, ferry } = desk;
    match request {
        Request::Question => Reply::Question(board.look()),
        Request::Answer { question, given } => match board.answer(question, given) {
            Ok(()) => Reply::Answered,
            Err(words) => Reply::Error(words),
        },
        Request::Tasks => Reply::Tasks(tasks.list().into_iter().map(Row::of).collect()),
        Request::TaskOutput { task, from } => match tasks.look(&task, from, PIECE_BYTES) {
            Some(piece) => Reply::Output(Piece::of(&piece)),
            None => unknown(tasks, &task),
        },
        Request::TaskStop { task } => match tasks.stop(&task, Stopper::Person) {
            Some(row) => Reply::Stopped(Row::of(row)),
            None => unknown(tasks, &task),
        },
        Request::Review { selection } => carried(ferry, |ferry| ferry.bench.review(&selection)),
        Request::Undo { steps } => {
            carried(ferry, |ferry| ferry.bench.turn_back(Direction::Undo, steps))
        }
        Request::Redo { steps } => {
            carried(ferry, |ferry| ferry.bench.turn_back(Direction::Redo, steps))
        }
        Request::Apply { mode, accept } => carried(ferry, |ferry| {
            ferry.directly(&mut ferry.bench.direct.clone(), mode, &accept, Leftover::Stays)
        }),
    }
}

fn carried(
    ferry: &Option<Arc<Ferry>>,
    act: impl FnOnce(&Ferry) -> Result<Report, Failure>,
) -> Reply {
    let Some(ferry) = ferry else {
        return Reply::Error("this session carries no work".to_owned());
    };
    act(ferry).map_or_else(|failure| Reply::Error(failure.message), Reply::Report)
}

fn unknown(tasks: &Tasks, task: &str) -> Reply {
    let names: Vec<_> = tasks.list().into_iter().map(|row| row.task).collect();
    Reply::Error(no_such_task(task, &names))
}

/// Says that there is no such task, and which one may be meant.
pub(crate) fn no_such_task(task: &str, names: &[String]) -> String {
    let shown = crate::visible::visible_line(task);
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    match nearest(task, &names) {
        Some(name) => format!("there is no task `{shown}`; did you mean `{name}`?"),
        None => format!("there is no task `{shown}`; chock tasks lists them"),
    }
}

#[cfg(test)]
mod tests {
    use super::talk::Peer;
    use super::*;

    struct Yard {
        directory: tempfile::TempDir,
    }

    impl Yard {
        fn new() -> Self {
            Self { directory: tempfile::tempdir().expect("a directory") }
        }

        fn path(&self) -> std::path::PathBuf {
            self.directory.path().join("a.ctl")
        }

        fn open(&self) -> Control {
            Control::open(&self.path(), Desk::default()).expect("a control socket")
        }
    }

    /// Sends bytes as they are, and returns everything that comes back.
    fn raw(path: &Path, bytes: &[u8]) -> String {
        let place = Place::open(path).expect("a place");
        let mut stream = place.connect().expect("a connection");
        let mut answer = String::new();
        // The other side may have hung up in the middle of what it does not read.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn requests_are_answered_one_a_line() {
        let yard = Yard::new();
        let control = yard.open();
        let both = b"{\"verb\":\"tasks\"}\n{\"verb\":\"task-stop\",\"task\":\"task-1\"}\n";
        let answer = raw(&yard.path(), both);
        let lines: Vec<_> = answer.lines().collect();
        assert_eq!(lines[0], "{\"tasks\":[]}");
        assert!(lines[1].starts_with("{\"error\":\"there is no task `task-1`"), "{answer}");
        drop(control);
        assert!(!yard.path().exists());
    }

    #[test]
    fn what_is_no_request_ends_the_connection_and_nothing_else() {
        let yard = Yard::new();
        let control = yard.open();
        let long = vec![b'x'; 2 << 20];
        let cases: [&[u8]; 7] = [
            b"\n",
            b"{}\n",
            b"{\"verb\":\"run\",\"command\":\"id\"}\n",
            b"{\"verb\":\"task-stop\"}\n",
            b"{\"verb\":\"task-stop\",\"task\":\"a\",\"command\":\"id\"}\n",
            b"\xff\xfe\n",
            &long,
        ];
        for bytes in cases {
            let answer = raw(&yard.path(), bytes);
            // A hang-up with bytes unread may throw the answer away.
            let told = answer == "{\"error\":\"this request is not understood\"}\n";
            assert!(
                told || (answer.is_empty() && bytes.len() as u64 > REQUEST_BYTES_MAX),
                "{answer}"
            );
        }
        assert_eq!(raw(&yard.path(), b"{\"verb\":\"tasks\""), "");
        assert_eq!(raw(&yard.path(), b"{\"verb\":\"tasks\"}\n"), "{\"tasks\":[]}\n");
        drop(control);
    }

    #[test]
    fn a_fifth_peer_is_sent_away_and_one_that_left_makes_room() {
        let yard = Yard::new();
        let control = yard.open();
        let place = Place::open(&yard.path()).expect("a place");
        let mut peers: Vec<_> =
            (0..PEERS_MAX).map(|_| Peer::over(place.connect().expect("a connection"))).collect();
        for peer in &mut peers {
            assert!(matches!(peer.ask(&Request::Tasks), Ok(Reply::Tasks(_))));
        }
        let mut fifth = Peer::over(place.connect().expect("a connection"));
        let told = fifth.ask(&Request::Tasks);
        assert!(matches!(&told, Ok(Reply::Error(words)) if words.contains("4 others")), "{told:?}");
        peers.pop();
        let admitted = (0..500).any(|_| {
            let mut peer = Peer::over(place.connect().expect("a connection"));
            thread::sleep(Duration::from_millis(10));
            matches!(peer.ask(&Request::Tasks), Ok(Reply::Tasks(_)))
        });
        assert!(admitted);
        // Peers that say nothing do not hold the end up.
        let since = std::time::Instant::now();
        drop(control);
        assert!(since.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_dead_owner_s_socket_is_replaced_and_paths_may_be_long_and_odd() {
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::PermissionsExt;
        let yard = Yard::new();
        let name = std::ffi::OsStr::from_bytes(b"odd \xff \n name");
        let deep = yard.directory.path().join(name).join("x".repeat(200)).join("y".repeat(200));
        std::fs::create_dir_all(&deep).expect("a directory");
        let path = deep.join("a.ctl");
        std::fs::create_dir(&path).expect("a directory");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).expect("a mode");
        drop(Place::make(&path).expect("a place").listen().expect("a socket nobody serves"));
        let dead = Place::open(&path).expect("a place").connect();
        assert_eq!(dead.expect_err("nobody").kind(), io::ErrorKind::ConnectionRefused);

        let control = Control::open(&path, Desk::default()).expect("a control socket");
        assert_eq!(raw(&path, b"{\"verb\":\"tasks\"}\n"), "{\"tasks\":[]}\n");
        let mode = |path: &Path| std::fs::metadata(path).expect("a mode").permissions().mode();
        assert_eq!(mode(&path) & 0o7777, 0o700);
        assert_eq!(mode(&path.join("s")) & 0o7777, 0o600);
        drop(control);
        assert!(!path.exists());
    }

    #[test]
    fn a_link_or_a_file_in_its_place_is_not_followed() {
        let yard = Yard::new();
        let elsewhere = yard.directory.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).expect("a directory");
        std::os::unix::fs::symlink(&elsewhere, yard.path()).expect("a link");
        assert!(Control::open(&yard.path(), Desk::default()).is_err());
        std::fs::remove_file(yard.path()).expect("removed");
        std::fs::write(yard.path(), "").expect("a file");
        assert!(Control::open(&yard.path(), Desk::default()).is_err());
        assert_eq!(std::fs::read_dir(&elsewhere).expect("a directory").count(), 0);
    }
}
