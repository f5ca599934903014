//! Questions at a real terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;

use crate::input::scripted;
use crate::yard::Yard;

/// A program on a pseudo terminal of its own.
struct Screen {
    keys: File,
    pieces: mpsc::Receiver<Vec<u8>>,
    seen: String,
    child: std::process::Child,
}

impl Screen {
    fn start(yard: &Yard, words: &[&str]) -> Self {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&main).and_then(|()| unlockpt(&main)).expect("a terminal");
        let name = ptsname(&main, Vec::new()).expect("a name");
        let open = || -> OwnedFd {
            rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("its end")
        };
        let inner = yard.command(words);
        // setsid makes the terminal the program's own, as a login does.
        let mut command = Command::new("setsid");
        command.arg("-c").arg("-w").arg(inner.get_program()).args(inner.get_args());
        command.current_dir(inner.get_current_dir().expect("a directory")).env_clear();
        for (name, value) in inner.get_envs() {
            command.env(name, value.expect("a value"));
        }
        command.stdin(Stdio::from(open())).stdout(Stdio::from(open())).stderr(Stdio::from(open()));
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
        Self { keys, pieces, seen: String::new(), child }
    }

    #[track_caller]
    fn wait_for(&mut self, words: &str) {
        while !self.seen.contains(words) {
            let piece = self.pieces.recv_timeout(Duration::from_secs(20));
            let piece = piece.unwrap_or_else(|_| panic!("{words:?} never came:\n{}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&piece));
        }
        let end = self.seen.find(words).expect("the words") + words.len();
        self.seen.drain(..end);
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys");
    }

    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("an end").code();
        while let Ok(piece) = self.pieces.recv_timeout(Duration::from_millis(500)) {
            self.seen.push_str(&String::from_utf8_lossy(&piece));
        }
        (code, self.seen)
    }
}

fn asking(commands: &[&str]) -> Yard {
    let yard = Yard::new();
    yard.write(
        "chock.zon",
        ".{ .policy = .{ .rules = .{ .{ .action = \"call.run_command\", .decision = .ask } } } }",
    );
    let calls: Vec<_> = commands
        .iter()
        .map(|command| json!({ "name": "run_command", "input": { "command": command } }))
        .collect();
    scripted(&yard, &json!({ "turns": [{ "tools": calls }, { "text": "done" }] }));
    yard
}

const PROMPT: &str = "anything else = no: ";

#[test]
fn a_person_answers_once_for_the_session_or_no() {
    let yard = asking(&["echo one", "echo two"]);
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for("| echo one");
    screen.wait_for(PROMPT);
    screen.press("n\n");
    screen.wait_for("| echo two");
    screen.wait_for(PROMPT);
    screen.press("y\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    let ended: Vec<_> =
        yard.outcomes().into_iter().map(|outcome| outcome["ended"].clone()).collect();
    assert_eq!(ended, [json!("denied"), json!({ "exited": 0 })]);

    let yard = asking(&["echo one", "echo two"]);
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for(PROMPT);
    screen.press("a\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains(PROMPT), "asked twice:\n{seen}");
}

#[test]
fn nobody_at_the_terminal_is_a_refusal_at_once() {
    let yard = asking(&["echo one"]);
    yard.chock(&["run", "x"]).expect(0);
    let outcome = &yard.outcomes()[0];
    assert_eq!(outcome["ended"], "denied");
    assert_eq!(outcome["denial"]["action"], "call.run_command", "{outcome}");
    assert!(
        outcome["denial"]["allowed_by"].as_str().expect("a row").contains(".allow"),
        "{outcome}"
    );
}

#[test]
fn what_the_agent_wrote_cannot_draw() {
    let yard = asking(&["echo \u{1b}[2J\u{1b}]0;title\u{7}\u{202e}hidden"]);
    let mut screen = Screen::start(&yard, &["run", "--color", "never", "x"]);
    screen.wait_for("\\x1b[2J\\x1b]0;title\\x07\\u{202e}hidden");
    screen.wait_for(PROMPT);
    screen.press("y\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains('\u{1b}') && !seen.contains('\u{7}'), "{seen:?}");
}

#[test]
fn ctrl_c_at_a_question_stops_the_turn() {
    let yard = asking(&["echo one", "echo two"]);
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for(PROMPT);
    screen.press("\u{3}");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(3), "{seen}");
    assert_eq!(yard.outcomes().len(), 2, "both calls are answered");
    yard.chock(&["sessions", "verify"]).expect(0);
}

#[test]
fn ctrl_c_during_a_command_ends_it_and_the_session_goes_on() {
    let yard = Yard::new();
    let call = json!({ "name": "run_command", "input": { "command": "sleep 982.5" } });
    scripted(&yard, &json!({ "turns": [{ "tools": [call] }, { "text": "went on" }] }));
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for("$ sleep 982.5");
    thread::sleep(Duration::from_millis(300));
    screen.press("\u{3}");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(3), "{seen}");
    assert_eq!(yard.outcomes()[0]["ended"], "cancelled", "the keeper outlived the interrupt");
    let ran = yard.chock(&["run", "--continue"]).expect(0);
    assert!(ran.out.contains("went on"), "{}", ran.out);
}
