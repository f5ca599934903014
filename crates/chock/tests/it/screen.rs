//! A program on a pseudo terminal of its own, as a person has one.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

use crate::kill::until;
use crate::yard::Yard;

/// The size that every terminal has at first.
const ROWS: u16 = 24;
const COLUMNS: u16 = 80;

/// A program on a pseudo terminal of its own.
pub(crate) struct Screen {
    keys: File,
    pieces: mpsc::Receiver<Vec<u8>>,
    seen: String,
    /// What a person sees on a full screen.
    picture: vt100::Parser,
    child: std::process::Child,
    /// The number of the terminal.
    pub(crate) device: u64,
}

impl Screen {
    pub(crate) fn start(yard: &Yard, words: &[&str]) -> Self {
        Self::start_with(yard, words, None)
    }

    /// Starts it on a terminal that has a full screen of 24 lines of 80 columns.
    pub(crate) fn start_full(yard: &Yard, words: &[&str]) -> Self {
        let mut command = yard.command(words);
        command.env("TERM", "xterm");
        Self::start_command(yard, &command, None)
    }

    /// Starts it with its answers going elsewhere.
    pub(crate) fn start_with(yard: &Yard, words: &[&str], stdout: Option<Stdio>) -> Self {
        Self::start_command(yard, &yard.command(words), stdout)
    }

    /// Starts a command that was prepared.
    pub(crate) fn start_command(yard: &Yard, inner: &Command, stdout: Option<Stdio>) -> Self {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&main).and_then(|()| unlockpt(&main)).expect("a terminal");
        let name = ptsname(&main, Vec::new()).expect("a name");
        let open = || -> OwnedFd {
            rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("its end")
        };
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&main, size).expect("a size");
        // setsid makes the terminal the program's own, as a login does.
        let mut command = Command::new("setsid");
        command.arg("-c").arg("-w").arg(inner.get_program()).args(inner.get_args());
        command.current_dir(inner.get_current_dir().expect("a directory")).env_clear();
        for (name, value) in inner.get_envs() {
            command.env(name, value.expect("a value"));
        }
        let stdout = stdout.unwrap_or_else(|| Stdio::from(open()));
        command.stdin(Stdio::from(open())).stdout(stdout).stderr(Stdio::from(open()));
        let device = rustix::fs::fstat(open()).expect("a device").st_rdev;
        yard.become_its_user(&mut command);
        let child = command.spawn().expect("the program");
        let keys = File::from(main);
        let mut screen = keys.try_clone().expect("a descriptor");
        let (send, pieces) = mpsc::channel();
        thread::spawn(move || {
            let mut piece = [0; 4096];
            // EIO is how a terminal says that nobody is left at its other end.
            while let Ok(read @ 1..) = screen.read(&mut piece) {
                if send.send(piece[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        let picture = vt100::Parser::new(ROWS, COLUMNS, 0);
        Self { keys, pieces, seen: String::new(), picture, child, device }
    }

    /// Reads more of what was drawn until the words are there, and forgets everything up to them.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, words: &str) {
        while !self.seen.contains(words) {
            let piece = self.pieces.recv_timeout(Duration::from_secs(20));
            let piece = piece.unwrap_or_else(|_| panic!("{words:?} never came:\n{}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&piece));
        }
        let end = self.seen.find(words).expect("the words") + words.len();
        self.seen.drain(..end);
    }

    /// Reads more of what was drawn until the words stand on the full screen.
    #[track_caller]
    pub(crate) fn wait_to_see(&mut self, words: &str) {
        while !self.picture.screen().contents().contains(words) {
            let piece = self.pieces.recv_timeout(Duration::from_secs(20));
            let picture = || self.picture.screen().contents();
            let piece = piece.unwrap_or_else(|_| panic!("{words:?} never came:\n{}", picture()));
            self.picture.process(&piece);
        }
    }

    /// Returns what stands on the full screen.
    pub(crate) fn picture(&self) -> String {
        self.picture.screen().contents()
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys");
    }

    /// Makes it larger or smaller.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.keys, size).expect("a size");
    }

    /// Says how keys are read and lines are written now.
    pub(crate) fn modes(&self) -> String {
        let modes = tcgetattr(&self.keys).expect("modes");
        format!("{:?} {:?} {:?}", modes.input_modes, modes.output_modes, modes.local_modes)
    }

    /// Waits until keys are read one by one, or no longer.
    pub(crate) fn wait_for_keys(&self, one_by_one: bool) {
        until("keys are read as they should be", || self.modes().contains("ICANON") != one_by_one);
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a signal");
    }

    /// Waits for the end, and returns how it was and what was drawn since.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let since = Instant::now();
        let code = loop {
            if let Some(ended) = self.child.try_wait().expect("an end") {
                break ended.code();
            }
            if since.elapsed() > Duration::from_secs(60) {
                self.child.kill().expect("a kill");
                let seen = self.pieces.try_iter().flatten().collect::<Vec<_>>();
                panic!("it goes on: {}{}", self.seen, String::from_utf8_lossy(&seen));
            }
            thread::sleep(Duration::from_millis(10));
        };
        while let Ok(piece) = self.pieces.recv_timeout(Duration::from_millis(500)) {
            self.seen.push_str(&String::from_utf8_lossy(&piece));
        }
        (code, self.seen)
    }
}
