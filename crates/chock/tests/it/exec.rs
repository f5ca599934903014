//! `chock exec`: a command of the person's, in the cage of a tool call.

use std::io::{Read, Write};
use std::process::Stdio;
use std::thread;

use rustix::process::Signal;
use serde_json::json;

use crate::screen::Screen;
use crate::yard::Yard;

/// Runs a line of `sh` on a terminal, and returns how it ended and what was drawn.
fn drawn(yard: &Yard, line: &str) -> (Option<i32>, String) {
    Screen::start(yard, &["exec", "--", "sh", "-c", line]).end()
}

fn yards() -> [Yard; 2] {
    [Yard::new(), Yard::new().as_plain_user()]
}

#[test]
fn the_status_is_the_command_s_own_with_a_terminal_and_without() {
    let cases: [(&[&str], i32); 8] = [
        (&["true"], 0),
        (&["sh", "-c", "exit 7"], 7),
        (&["sh", "-c", "exit 255"], 255),
        (&["sh", "-c", "kill -9 $$"], 137),
        (&["no-such-program"], 127),
        (&["./no-such-program"], 127),
        (&["/etc/passwd"], 126),
        (&["--session", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "true"], 125),
    ];
    let yard = Yard::new();
    for (words, code) in cases {
        let words = [&["exec"], words].concat();
        yard.chock(&words).expect(code);
        let (seen, drawn) = Screen::start(&yard, &words).end();
        assert_eq!(seen, Some(code), "{words:?}: {drawn}");
    }
}

#[test]
fn bytes_pass_both_ways_unchanged_without_a_terminal() {
    let bytes: Vec<u8> = (0..1_u32 << 20).map(|number| (number * 7 % 256) as u8).collect();
    for yard in yards() {
        let mut command = yard.command(&["exec", "sh", "-c", "cat; printf '\\033]0;x\\007' >&2"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program");
        let mut input = child.stdin.take().expect("a pipe");
        let sent = bytes.clone();
        let writer = thread::spawn(move || input.write_all(&sent).expect("input"));
        let output = child.wait_with_output().expect("an end");
        writer.join().expect("the writer");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(output.stdout, bytes);
        assert!(output.stderr.ends_with(b"\x1b]0;x\x07"), "{output:?}");
    }
}

#[test]
fn streams_that_are_pipes_are_opened_anew_by_name() {
    let yard = Yard::new();
    let line = "echo out > /dev/stdout; echo err > /dev/stderr";
    let ran = yard.chock(&["exec", "sh", "-c", line]).expect(0);
    assert!(ran.out == "out\n" && ran.err.ends_with("err\n"), "{} {}", ran.out, ran.err);
}

#[test]
fn a_path_in_an_error_or_an_explanation_draws_nothing() {
    let yard = Yard::new();
    let odd = "gone\x1b]0;title\x07";
    let ran = yard.chock(&["exec", "--project", odd, "--", "true"]).expect(125);
    assert!(ran.err.contains("gone\\x1b]0;title\\x07"), "{}", ran.err);
    assert!(!ran.err.contains('\x1b'), "{}", ran.err);
    let place = yard.path(odd);
    std::fs::rename(yard.project(), &place).expect("a project of that name");
    let place = place.to_str().expect("text");
    let mut command = yard.command(&["exec", "--explain", "--project", place]);
    let explained = command.current_dir("/").output().expect("an end");
    let out = String::from_utf8_lossy(&explained.stdout);
    assert!(out.contains("gone\\x1b]0;title") && !out.contains('\x1b'), "{explained:?}");
}

/// A program that connects its input anew, and says what it got.
const CONNECTS: &str = "import socket, struct, sys, os, ctypes
libc = ctypes.CDLL(None)
port = int(sys.argv[1])
libc.connect(0, struct.pack('HH12x', 0, 0), 16)
libc.connect(0, struct.pack('=H', 2) + struct.pack('!HI8x', port, 0x7f000001), 16)
try:
    print(socket.socket(fileno=0).recv(9))
except OSError as refused:
    print(refused)
";

#[test]
fn a_socket_stays_outside_and_its_bytes_pass() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    let place = listener.local_addr().expect("its place");
    let serve = thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut first = [0; 1];
            // The test's own connection speaks first, another one is told the secret.
            let _ = stream.set_read_timeout(Some(std::time::Duration::from_millis(500)));
            match stream.read(&mut first) {
                Ok(1) => return stream,
                _ => drop(stream.write_all(b"reached!!")),
            }
        }
        unreachable!("it listens")
    });
    for yard in yards() {
        yard.write("connects.py", CONNECTS);
        yard.commit();
        let input = std::net::TcpStream::connect(place).expect("a connection");
        let port = place.port().to_string();
        let mut command = yard.command(&["exec", "python3", "connects.py", &port]);
        command.stdin(std::os::fd::OwnedFd::from(input)).stdout(Stdio::piped());
        let child = command.stderr(Stdio::piped()).spawn().expect("the program");
        let output = child.wait_with_output().expect("an end");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("Socket operation on non-socket"), "{said} {output:?}");
    }
    let mut one = std::net::TcpStream::connect(place).expect("a connection");
    one.write_all(b"x").expect("a byte");
    let other = serve.join().expect("the other end");
    one.write_all(b"through").expect("bytes");
    one.shutdown(std::net::Shutdown::Write).expect("their end");
    let yard = Yard::new();
    let mut command = yard.command(&["exec", "sh", "-c", "cat; echo late"]);
    command.stdin(std::os::fd::OwnedFd::from(other.try_clone().expect("a copy")));
    command.stdout(std::os::fd::OwnedFd::from(other)).stderr(Stdio::null());
    assert_eq!(command.status().expect("an end").code(), Some(0));
    drop(command);
    let mut answer = String::new();
    one.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("a limit");
    one.read_to_string(&mut answer).expect("the answer");
    assert_eq!(answer, "throughlate\n");
}

#[test]
fn a_directory_is_no_stream() {
    let yard = Yard::new();
    let mut command = yard.command(&["exec", "true"]);
    command.stdin(std::fs::File::open("/usr").expect("a directory"));
    let ran = command.output().expect("an end");
    assert_eq!(ran.status.code(), Some(125), "{ran:?}");
    assert!(String::from_utf8_lossy(&ran.stderr).contains("is a directory"), "{ran:?}");
}

#[test]
fn keys_and_lines_go_through_a_terminal() {
    for yard in yards() {
        let mut screen = Screen::start(&yard, &["exec", "cat"]);
        screen.wait_for_keys(true);
        screen.press("hello\r");
        screen.wait_for("hello\r\nhello\r\n");
        screen.press("\u{4}");
        let (code, rest) = screen.end();
        assert_eq!(code, Some(0), "{rest}");

        let mut screen = Screen::start(&yard, &["exec", "--", "sh", "-c", "echo ready; exec cat"]);
        screen.wait_for("ready\r\n");
        screen.press("\u{3}");
        let (code, rest) = screen.end();
        assert_eq!(code, Some(130), "the key ended it inside: {rest}");
    }
}

#[test]
fn a_shell_has_jobs_and_survives_an_interrupt() {
    let yard = Yard::new();
    let mut screen = Screen::start(&yard, &["exec", "bash", "--norc", "-i"]);
    screen.wait_for("$ ");
    screen.press("echo $((6 * 7))\r");
    screen.wait_for("\r\n");
    screen.wait_for("42");
    screen.wait_for("$ ");
    // What is typed is drawn as well: only the program in front says that it is there.
    screen.press("sh -c 'printf s%sed\\\\n tart; exec sleep 981.5'\r");
    screen.wait_for("started\r\n");
    screen.press("\u{3}");
    screen.wait_for("^C");
    screen.wait_for("$ ");
    screen.press("exit 5\r");
    let (code, rest) = screen.end();
    assert_eq!(code, Some(5), "{rest}");
}

#[test]
fn the_size_is_the_person_s_and_follows_it() {
    let yard = Yard::new();
    let line = "stty size; trap 'stty size; exit' WINCH; sleep 981.25 & echo ready; wait";
    let mut screen = Screen::start(&yard, &["exec", "--", "bash", "-c", line]);
    screen.resize(33, 77);
    screen.wait_for("ready");
    screen.resize(34, 78);
    screen.wait_for("34 78");
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn what_asks_or_sets_never_reaches_the_terminal() {
    let yard = Yard::new();
    let line = "printf '\\033]52;c;aGk=\\007\\033]0;title\\033\\\\a\\033[31mred\\033[m\\033[6n\\033[c\\033[?1003h\\033P$qm\\033\\\\\\302\\2336nb\\005'";
    let (code, seen) = drawn(&yard, line);
    assert_eq!(code, Some(0));
    assert!(seen.contains("a\u{1b}[31mred\u{1b}[m6nb"), "{seen:?}");
    for piece in
        ["\u{1b}]", "52;c", "title", "\u{1b}[6n", "\u{1b}[c", "1003", "\u{1b}P", "\u{9b}", "\u{5}"]
    {
        assert!(!seen.contains(piece), "{piece:?} in {seen:?}");
    }
    // Without a terminal it is nobody's business.
    assert!(yard.chock(&["exec", "--", "sh", "-c", line]).expect(0).out.contains("52;c"));
}

#[test]
fn a_large_output_is_drawn_whole() {
    let yard = Yard::new();
    let (code, seen) = drawn(&yard, "head -c 1048576 /dev/zero | tr '\\0' x; echo; echo end");
    assert_eq!(code, Some(0));
    assert_eq!(seen.matches('x').count(), 1 << 20);
    assert!(seen.trim_end().ends_with("end"));
}

#[test]
fn the_terminal_is_put_back_however_it_ends() {
    let yard = Yard::new();
    let line = "printf '\\033[?1049h\\033[?25l'; echo ready; exec sleep 981.75";
    let signals = [
        (Signal::TERM, 130),
        (Signal::INT, 130),
        (Signal::HUP, 130),
        (Signal::QUIT, 131),
        (Signal::USR1, 138),
        (Signal::ALARM, 142),
    ];
    for (signal, code) in signals {
        let mut screen = Screen::start(&yard, &["exec", "--", "sh", "-c", line]);
        let before = screen.modes();
        screen.wait_for("ready");
        assert_ne!(screen.modes(), before, "keys arrive one by one");
        screen.signal(signal);
        screen.wait_for("\u{1b}[?1049l");
        screen.wait_for("\u{1b}[?25h");
        screen.wait_for_keys(false);
        assert_eq!(screen.modes(), before, "{signal:?}");
        assert_eq!(screen.end().0, Some(code), "{signal:?}");
    }
}

#[test]
fn the_terminal_is_put_back_for_the_time_of_a_stop() {
    let yard = Yard::new();
    let mut screen = Screen::start(&yard, &["exec", "cat"]);
    let before = screen.modes();
    screen.wait_for_keys(true);
    screen.signal(Signal::TSTP);
    screen.wait_for_keys(false);
    screen.signal(Signal::CONT);
    screen.wait_for_keys(true);
    screen.press("still\r");
    screen.wait_for("still\r\nstill\r\n");
    // A stop that cannot be seen coming must not be taken for how it was before.
    screen.signal(Signal::STOP);
    screen.signal(Signal::CONT);
    screen.press("here\r");
    screen.wait_for("here\r\nhere\r\n");
    screen.press("\u{4}");
    screen.wait_for_keys(false);
    assert_eq!(screen.modes(), before);
    assert_eq!(screen.end().0, Some(0));
}

#[test]
fn only_what_is_a_terminal_is_replaced_by_one() {
    let yard = Yard::new();
    let (mut read, write) = std::io::pipe().expect("a pipe");
    let words = ["exec", "--", "sh", "-c", "test -t 0 && ! test -t 1 && test -t 2 && cat"];
    let mut screen = Screen::start_with(&yard, &words, Some(write.into()));
    screen.wait_for_keys(true);
    screen.press("typed\r");
    screen.wait_for("typed");
    screen.press("\u{4}");
    assert_eq!(screen.end().0, Some(0));
    let mut text = String::new();
    read.read_to_string(&mut text).expect("text");
    assert_eq!(text, "typed\n");
}

const TERMINAL: &str = "
import fcntl, os, sys, termios
print('device', os.fstat(0).st_rdev)
for call in (termios.TIOCSTI, termios.TIOCSTI | 1 << 32, 0x541c):
    try:
        fcntl.ioctl(0, call & 0xffffffff, b'x')
        sys.exit('the call worked')
    except PermissionError:
        pass
for name in ('/dev/tty', '/dev/stderr'):
    with open(name, 'w') as stream:
        print('through', name, file=stream)
";

#[test]
fn the_person_s_terminal_is_not_inside() {
    for yard in yards() {
        let screen = Screen::start(&yard, &["exec", "--", "python3", "-c", TERMINAL]);
        let person = screen.device;
        let (code, seen) = screen.end();
        assert_eq!(code, Some(0), "{seen}");
        assert!(
            seen.contains("through /dev/tty") && seen.contains("through /dev/stderr"),
            "{seen}"
        );
        let device = seen.split("device ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let device: u64 = device.expect("a number").parse().expect("a number");
        assert_ne!(device, person);
    }
}

#[test]
fn the_cage_is_explained_in_words_and_as_an_object() {
    let yard = Yard::new();
    yard.write("chock.zon", ".{ .deny_read = .{ \"secret.env\" }, .limits = .{ .time_s = 77 } }");
    let words = yard.chock(&["exec", "--explain"]).expect(0).out;
    for line in [
        "  read only  /usr\n",
        "  masked     /proc",
        "  denied ",
        "secret.env\n",
        "what changes stays in the session",
        "loopback",
        "time_s          77 s\n",
        "sandbox.debug   deny\n",
        " HOME ",
        "user namespace ",
    ] {
        assert!(words.contains(line), "{line:?} is not in\n{words}");
    }
    assert!(!words.contains("Bind {") && !words.contains("C.UTF-8"), "{words}");
    assert_eq!(
        yard.chock(&["exec", "--explain", "true"]).expect(0).out.lines().count(),
        words.lines().count()
    );

    let object = yard.chock(&["exec", "--explain", "--json"]).expect(0).out;
    let object: serde_json::Value = serde_json::from_str(&object).expect("an object");
    assert_eq!(object["limits"]["time_s"], 77);
    assert_eq!(object["network"], "loopback");
    let denied = object["tree"].as_array().expect("a list").iter();
    let denied: Vec<_> = denied.filter(|place| place["access"] == "denied").collect();
    assert!(
        denied.len() == 1 && denied[0]["path"].as_str().expect("a path").ends_with("secret.env")
    );
    assert!(object["environment"].as_array().expect("names").contains(&"PATH".into()));
    assert!(object["layers"].as_array().expect("layers").len() > 5);
    // Without a command there is nothing to run.
    let ran = yard.chock(&["exec"]);
    assert_ne!(ran.code, Some(0));
}

#[test]
fn a_shell_opens_in_the_copy_of_a_session() {
    let yard = Yard::new();
    let call =
        json!({ "name": "run_command", "input": { "command": "echo it is here > made.txt" } });
    crate::input::scripted(&yard, &json!({ "turns": [{ "tools": [call] }, { "text": "done" }] }));
    yard.chock(&["run", "x"]).expect(0);
    let mut screen = Screen::start(&yard, &["workspace", "shell"]);
    screen.wait_for("a shell in the copy of session");
    screen.press("cat made.txt; echo $((40 + 2)); exit 7\n");
    screen.wait_for("it is here");
    screen.wait_for("42");
    assert_eq!(screen.end().0, Some(7));
    assert!(!yard.project().join("made.txt").exists());
}

#[test]
fn what_it_leaves_behind_is_listed_and_cleared() {
    let yard = Yard::new();
    yard.chock(&["exec", "--", "true"]).expect(0);
    let kept = yard.chock(&["exec", "--keep", "--", "sh", "-c", "echo x > new"]).expect(0).err;
    let copy = kept.split("kept in ").nth(1).expect("a place").trim().to_owned();
    assert!(std::path::Path::new(&copy).exists());
    let listed = yard.chock(&["workspace"]).expect(0).out;
    assert_eq!(listed.matches("exec copy").count(), 1, "{listed}");
    assert!(listed.contains("2 logs of chock exec"), "{listed}");
    yard.chock(&["workspace", "clear", "--executions"]).expect(3);
    assert!(std::path::Path::new(&copy).exists(), "nobody was there to ask");
    yard.chock(&["workspace", "clear", "--executions", "--yes"]).expect(0);
    let state = yard.path("home/.local/state/chock/exec");
    let project = std::fs::read_dir(state).expect("a directory").next().expect("it").expect("it");
    let left: Vec<_> = std::fs::read_dir(project.path()).expect("a directory").collect();
    assert!(left.is_empty(), "{left:?}");
    let listed = yard.chock(&["workspace"]).expect(0).out;
    assert!(!listed.contains("exec"), "{listed}");
}

#[test]
fn files_that_stay_behind_are_counted_beside_the_session_and_nothing_waits_for_it() {
    let yard = Yard::new();
    yard.write("more/one.txt", "one\n");
    yard.write("more/two.txt", "two\n");
    let ran = yard.chock(&["exec", "sleep", "1"]).expect(0);
    assert!(ran.err.contains("2 files are changed or untracked"), "{}", ran.err);

    // A git that never comes to the end of its count is ended with the session.
    let began = yard.path("began");
    let shim = format!(
        "#!/bin/sh\nfor word in \"$@\"; do\n[ \"$word\" = status ] || continue\n\
         echo $$ >{}; exec sleep 600\ndone\nexec /usr/bin/git \"$@\"\n",
        began.display()
    );
    let bin = yard.path("bin");
    std::fs::create_dir_all(&bin).expect("a directory");
    std::fs::write(bin.join("git"), shim).expect("a program");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bin.join("git"), mode).expect("a mode");
    let mut command = yard.command(&["exec", "sleep", "1"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let start = std::time::Instant::now();
    let output = command.output().expect("an end");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(start.elapsed().as_secs() < 300, "{:?}", start.elapsed());
    let process = std::fs::read_to_string(&began).expect("the count began");
    let place = std::path::Path::new("/proc").join(process.trim());
    assert!(!place.exists(), "{}", place.display());
}

#[test]
fn a_home_a_cache_and_a_state_that_are_links_are_followed() {
    let yard = Yard::new();
    std::fs::rename(yard.path("home"), yard.path("moved")).expect("a rename");
    std::os::unix::fs::symlink("moved", yard.path("home")).expect("a link");
    for (name, below) in [("cache", "home/.cache"), ("local", "home/.local")] {
        std::fs::create_dir(yard.path(name)).expect("a directory");
        std::os::unix::fs::symlink(yard.path(name), yard.path(below)).expect("a link");
    }
    yard.own_everything();
    assert_eq!(yard.chock(&["exec", "cat", "a.txt"]).expect(0).out, "alpha\n");
    yard.chock(&["workspace", "clear", "--bases", "--executions", "--yes"]).expect(0);
}
