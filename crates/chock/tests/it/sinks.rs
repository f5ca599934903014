//! Audit sinks: real directories and sockets that come, go, fill and lie.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::kill::until;
use crate::yard::{Ran, Yard};

/// Configures a scripted model, and one sink.
fn with_sink(turns: &Value, kind: &str, required: bool) -> (Yard, PathBuf) {
    let yard = Yard::new();
    let script = yard.path("home/.config/chock/script.json");
    fs::write(&script, turns.to_string()).expect("a script");
    let place = yard.path("sink");
    if kind == "directory" {
        fs::create_dir(&place).expect("a directory");
    }
    configure(&yard, kind, required);
    (yard, place)
}

fn configure(yard: &Yard, kind: &str, required: bool) {
    let place = yard.path("sink");
    yard.config(&format!(
        ".{{ .providers = .{{ .{{ .name = \"script\", .kind = .scripted, .script = \"script.json\" }} }}, .audit = .{{ .sinks = .{{ .{{ .kind = .{kind}, .path = \"{}\", .required = {required} }} }} }} }}",
        place.display()
    ));
}

fn words(count: usize) -> Value {
    let turns: Vec<_> = (0..count).map(|turn| json!({ "text": format!("done {turn}") })).collect();
    json!({ "turns": turns })
}

/// A first call that takes a while, and a second that leaves a trace.
fn two_calls() -> Value {
    let call = |command| json!({ "name": "run_command", "input": { "command": command } });
    json!({ "turns": [{ "tools": [call("sleep 3"), call("echo x > trace")] }, { "text": "done" }] })
}

fn copy_of(place: &Path, log: &Path) -> PathBuf {
    place.join(log.file_name().expect("a name"))
}

fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).expect("a file")
}

fn start(yard: &Yard, words: &[&str]) -> Child {
    let mut command = yard.command(words);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("the program")
}

/// Waits until the first call runs, and returns the log.
fn in_the_first_call(yard: &Yard) -> PathBuf {
    let holds = |what: &str| {
        let log = yard.logs().pop()?;
        fs::read_to_string(&log).ok()?.contains(what).then_some(log)
    };
    until("the call runs", || holds("\"tool.started\"").is_some());
    holds("\"tool.started\"").expect("a log")
}

#[test]
fn a_directory_gets_every_log_byte_for_byte() {
    let (yard, place) = with_sink(&words(2), "directory", true);
    yard.chock(&["run", "hello"]).expect(0);
    let log = yard.logs().pop().expect("a session");
    let copy = copy_of(&place, &log);
    assert_eq!(bytes(&copy), bytes(&log));
    let ran = yard.chock(&["run", "--continue", "more"]).expect(0);
    assert_eq!(bytes(&copy), bytes(&log));
    assert!(!ran.err.contains("lacked"), "nothing was missing: {}", ran.err);
    assert_eq!(fs::metadata(&copy).expect("a file").permissions().mode() & 0o777, 0o600);
    yard.chock(&["exec", "true"]).expect(0);
    assert_eq!(fs::read_dir(&place).expect("a directory").count(), 2, "exec has a log of its own");
    yard.chock(&["sessions", "verify", copy.to_str().expect("a path")]).expect(0);
    let listed = yard.chock(&["config"]).expect(0).out;
    assert!(listed.contains("audit.sinks"), "{listed}");
}

#[test]
fn a_required_sink_that_is_not_there_starts_nothing() {
    for kind in ["directory", "syslog"] {
        let (yard, place) = with_sink(&words(1), kind, true);
        let _ = fs::remove_dir(&place);
        let ran = yard.chock(&["run", "hello"]).expect(9);
        assert!(ran.err.contains("required audit sink"), "{}", ran.err);
        assert_eq!(yard.logs(), Vec::<PathBuf>::new(), "nothing is left of it");
        let ran = yard.chock(&["exec", "echo", "ran"]).expect(125);
        assert!(!ran.out.contains("ran") && ran.err.contains("required audit sink"), "{}", ran.err);
    }
}

#[test]
fn a_sink_of_an_organisation_is_required_whatever_the_person_says() {
    let (yard, place) = with_sink(&words(2), "directory", false);
    let bundle = yard.path("home/.local/share/chock/org-policy.zon");
    fs::create_dir_all(bundle.parent().expect("a parent")).expect("a directory");
    let sink = format!(".{{ .kind = .directory, .path = \"{}\" }}", place.display());
    fs::write(&bundle, format!(".{{ .version = 1, .sinks = .{{ {sink} }} }}")).expect("a bundle");
    yard.chock(&["run", "hello"]).expect(0);
    let log = yard.logs().pop().expect("a session");
    assert_eq!(bytes(&copy_of(&place, &log)), bytes(&log));
    fs::remove_dir_all(&place).expect("a directory");
    yard.chock(&["run", "--continue", "more"]).expect(9);
    yard.chock(&["run", "another"]).expect(9);
}

#[test]
fn a_required_directory_that_goes_stops_the_session_before_the_next_act() {
    let (yard, place) = with_sink(&two_calls(), "directory", true);
    let child = start(&yard, &["run", "hello"]);
    let log = in_the_first_call(&yard);
    fs::remove_dir_all(&place).expect("a directory");
    let ran = Ran::from(child.wait_with_output().expect("an end")).expect(9);
    assert!(ran.err.contains("audit gap"), "{}", ran.err);
    let outcomes = yard.outcomes();
    assert_eq!(outcomes[0]["ended"], json!({ "exited": 0 }), "what ran is told");
    assert_eq!(outcomes[1]["ended"], "cancelled", "the next act was not begun: {outcomes:?}");
    let ended = yard.records().pop().expect("a record");
    assert_eq!(ended["body"]["reason"], "audit_gap", "{ended}");
    // Still gone: the session does not go on either.
    yard.chock(&["run", "--continue"]).expect(9);
    fs::create_dir(&place).expect("a directory");
    let ran = yard.chock(&["run", "--continue"]).expect(0);
    assert!(ran.err.contains("bytes of the log, and has them now"), "{}", ran.err);
    assert_eq!(bytes(&copy_of(&place, &log)), bytes(&log));
    let diff = yard.chock(&["diff"]).expect(0).out;
    assert!(!diff.contains("trace"), "the second call never ran: {diff}");
}

#[test]
fn a_sink_that_is_not_required_holds_nothing_up() {
    let (yard, place) = with_sink(&words(2), "directory", false);
    fs::remove_dir(&place).expect("a directory");
    let ran = yard.chock(&["run", "hello"]).expect(0);
    assert_eq!(ran.err.matches("lacks lines of the log").count(), 1, "told once: {}", ran.err);
    fs::create_dir(&place).expect("a directory");
    let ran = yard.chock(&["run", "--continue", "more"]).expect(0);
    assert!(ran.err.contains("and has them now"), "{}", ran.err);
    let log = yard.logs().pop().expect("a session");
    assert_eq!(bytes(&copy_of(&place, &log)), bytes(&log));
}

#[test]
fn what_a_killed_session_did_not_send_is_sent_by_the_next_run() {
    let (yard, place) = with_sink(&two_calls(), "directory", true);
    let mut child = start(&yard, &["run", "hello"]);
    let log = in_the_first_call(&yard);
    child.kill().expect("a kill");
    child.wait().expect("an end");
    let copy = copy_of(&place, &log);
    let (had, whole) = (bytes(&copy), bytes(&log));
    assert!(had.len() < whole.len(), "the call's beginning is not sent yet");
    assert!(whole.starts_with(&had));
    let ran = yard.chock(&["run", "--continue"]).expect(0);
    assert!(ran.err.contains("bytes of the log, and has them now"), "{}", ran.err);
    assert_eq!(bytes(&copy), bytes(&log));
    yard.chock(&["sessions", "verify"]).expect(0);
}

#[test]
fn a_copy_and_a_log_that_disagree_stop_the_session() {
    let (yard, place) = with_sink(&words(3), "directory", true);
    yard.chock(&["run", "hello"]).expect(0);
    let log = yard.logs().pop().expect("a session");
    let (copy, whole) = (copy_of(&place, &log), bytes(&log));
    let refused = |words: &str| {
        let ran = yard.chock(&["run", "--continue", "more"]).expect(9);
        assert!(ran.err.contains(words), "{}", ran.err);
    };
    // The last record cut off as a whole: the chain alone holds.
    let end = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("lines") + 1;
    fs::write(&log, &whole[..end]).expect("a write");
    yard.chock(&["sessions", "verify"]).expect(0);
    refused("lost records");
    fs::write(&log, &whole).expect("a write");
    let mut changed = whole.clone();
    changed[end + 20] ^= 1;
    fs::write(&copy, &changed).expect("a write");
    refused("one of them was changed");
    // A piece of a line that a full disk left is completed.
    fs::write(&copy, &whole[..end + 7]).expect("a write");
    yard.chock(&["run", "--continue", "more"]).expect(0);
    assert_eq!(bytes(&copy), bytes(&log));
    // A link is not followed.
    let elsewhere = yard.path("elsewhere");
    fs::write(&elsewhere, "").expect("a file");
    fs::remove_file(&copy).expect("a file");
    std::os::unix::fs::symlink(&elsewhere, &copy).expect("a link");
    refused("required audit sink");
    assert_eq!(bytes(&elsewhere), b"");
}

#[test]
fn a_full_directory_is_an_audit_gap() {
    let (yard, place) = with_sink(&words(2), "directory", true);
    let target = place.to_str().expect("a path");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=4k", "none", target])
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("skipped: a directory of one page can be mounted by root only");
        return;
    }
    let ran = yard.chock(&["run", &"word ".repeat(2_000)]);
    let log = yard.logs().pop().expect("a session");
    let grown = Command::new("mount").args(["-o", "remount,size=1m", target]).status();
    assert!(grown.expect("mount").success());
    let again = yard.chock(&["run", "--continue", "more"]);
    let (copied, written) = (fs::read(copy_of(&place, &log)), bytes(&log));
    assert!(Command::new("umount").arg(target).status().expect("umount").success());
    ran.expect(9);
    again.expect(0);
    assert_eq!(copied.expect("a copy"), written);
}

/// A syslog daemon that keeps what it is sent.
struct Daemon {
    messages: mpsc::Receiver<Vec<u8>>,
}

impl Daemon {
    fn at(path: &Path) -> Self {
        let socket = UnixDatagram::bind(path).expect("a socket");
        socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
        let (send, messages) = mpsc::channel();
        thread::spawn(move || {
            let mut message = vec![0; 1 << 16];
            while let Ok(count) = socket.recv(&mut message) {
                if send.send(message[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { messages }
    }

    /// Puts the messages so far together again: the session of each line, and the line.
    fn lines(&self) -> Vec<(String, Vec<u8>)> {
        let mut lines: Vec<(String, Vec<u8>)> = Vec::new();
        while let Ok(message) = self.messages.recv_timeout(Duration::from_millis(300)) {
            assert!(message.len() <= 8192, "{} bytes", message.len());
            let mut parts = message.splitn(8, |byte| *byte == b' ');
            let mut word = || String::from_utf8_lossy(parts.next().expect("a part")).into_owned();
            let head = [word(), word(), word(), word()];
            assert_eq!(head, ["<85>1", "-", "-", "chock"]);
            let (part, session, data) = (word(), word(), word());
            assert_eq!(data, "-");
            let text = parts.next().expect("a line").to_vec();
            let is_more = part.split_once(':').is_some_and(|(_, place)| !place.starts_with("1/"));
            match lines.last_mut() {
                Some((_, line)) if is_more => line.extend_from_slice(&text),
                _ => lines.push((session, text)),
            }
        }
        lines
    }
}

#[test]
fn a_syslog_daemon_gets_every_line_in_bounded_messages() {
    let call = json!({ "name": "run_command", "input": { "command": "seq 1 20000" } });
    let turns = json!({ "turns": [{ "tools": [call] }, { "text": "done" }, { "text": "more" }] });
    let (yard, place) = with_sink(&turns, "syslog", true);
    let daemon = Daemon::at(&place);
    yard.chock(&["run", "hello"]).expect(0);
    let log = yard.logs().pop().expect("a session");
    let id = log.file_stem().expect("a name").to_string_lossy().into_owned();
    let expected = || {
        let text = fs::read_to_string(&log).expect("a log");
        text.lines().map(|line| (id.clone(), line.as_bytes().to_vec())).collect::<Vec<_>>()
    };
    let longest = expected().iter().map(|(_, line)| line.len()).max();
    assert!(longest > Some(20_000), "a line that no message holds: {longest:?}");
    assert_eq!(daemon.lines(), expected());
    // It cannot say what it has: it gets everything again, and the person is told.
    let ran = yard.chock(&["run", "--continue", "more"]).expect(0);
    assert!(ran.err.contains("was sent the whole log again"), "{}", ran.err);
    assert_eq!(daemon.lines(), expected());
}

#[test]
fn a_daemon_that_goes_or_stops_reading_is_an_audit_gap_in_bounded_time() {
    let (yard, place) = with_sink(&two_calls(), "syslog", true);
    let daemon = UnixDatagram::bind(&place).expect("a socket");
    let child = start(&yard, &["run", "hello"]);
    let log = in_the_first_call(&yard);
    drop(daemon);
    fs::remove_file(&place).expect("a socket");
    let ran = Ran::from(child.wait_with_output().expect("an end")).expect(9);
    assert!(ran.err.contains("audit gap"), "{}", ran.err);
    // One that is there and never reads: its queue fills.
    let daemon = UnixDatagram::bind(&place).expect("a socket");
    let filler = UnixDatagram::unbound().expect("a socket");
    filler.connect(&place).expect("a connection");
    filler.set_nonblocking(true).expect("a mode");
    while filler.send(&[0; 100]).is_ok() {}
    let since = Instant::now();
    yard.chock(&["run", "--continue"]).expect(9);
    assert!(since.elapsed() < Duration::from_secs(30), "{:?}", since.elapsed());
    drop(daemon);
    fs::remove_file(&place).expect("a socket");
    // One that reads closes the gap.
    let daemon = Daemon::at(&place);
    yard.chock(&["run", "--continue"]).expect(0);
    let lines = fs::read_to_string(&log).expect("a log").lines().count();
    assert_eq!(daemon.lines().len(), lines);
}

#[test]
fn a_log_that_a_required_sink_lacks_is_not_removed() {
    for required in [true, false] {
        let (yard, place) = with_sink(&words(2), "directory", required);
        yard.chock(&["run", "hello"]).expect(0);
        let log = yard.logs().pop().expect("a session");
        let id = log.file_stem().expect("an id").to_str().expect("text").to_owned();
        let copy = copy_of(&place, &log);
        let whole = bytes(&copy);
        let away = yard.path("away");
        fs::rename(&place, &away).expect("moved");
        if required {
            for words in [
                &["sessions", "remove", &id, "--yes"][..],
                &["sessions", "prune", "--keep", "0", "--yes"],
            ] {
                let ran = yard.chock(words).expect(9);
                let named = format!("the required audit sink directory {}", place.display());
                assert!(ran.err.contains(&named), "{}", ran.err);
                assert!(log.exists() && log.with_extension("work").exists());
            }
            // When it is back it gets what it lacks first.
            fs::rename(&away, &place).expect("moved");
            fs::write(&copy, &whole[..whole.len() / 2]).expect("a piece");
            yard.chock(&["sessions", "remove", &id, "--yes"]).expect(0);
            assert_eq!(bytes(&copy), whole);
        } else {
            yard.chock(&["sessions", "remove", &id, "--yes"]).expect(0);
        }
        assert!(!log.exists());
    }
}
