//! Logs that cannot be written, and logs that were cut.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::input::scripted;
use crate::yard::{Ran, Yard};

/// A session that has answered once, and whose next turn runs a command that leaves a trace.
fn session() -> Yard {
    let yard = Yard::new();
    let call = json!({ "name": "run_command", "input": { "command": "echo x > trace" } });
    scripted(
        &yard,
        &json!({ "turns": [{ "text": "hello" }, { "tools": [call] }, { "text": "done" }] }),
    );
    yard.chock(&["run", "a\u{2028}b 🦀"]).expect(0);
    yard
}

fn log(yard: &Yard) -> Vec<u8> {
    fs::read(yard.logs().pop().expect("a session")).expect("a log")
}

/// Goes on with the session while no file can get more than this many bytes.
fn go_on_within(yard: &Yard, bytes: usize) -> Ran {
    let inner = yard.command(&["run", "--continue", "more"]);
    let mut outer = Command::new("prlimit");
    // Ignored, the signal becomes an error of the write.
    let script = "trap '' XFSZ; exec \"$0\" \"$@\"";
    outer.arg(format!("--fsize={bytes}:unlimited")).args(["sh", "-c", script]);
    outer.arg(inner.get_program()).args(inner.get_args());
    outer.current_dir(inner.get_current_dir().expect("a directory")).env_clear();
    for (name, value) in inner.get_envs() {
        outer.env(name, value.expect("a value"));
    }
    outer.output().expect("prlimit").into()
}

fn has_trace(directory: &Path) -> bool {
    fs::read_dir(directory).into_iter().flatten().flatten().any(|entry| {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        entry.file_name() == "trace" || (is_directory && has_trace(&entry.path()))
    })
}

#[test]
fn an_approval_that_was_not_written_starts_nothing_whatever_write_fails() {
    let yard = session();
    let state = |yard: &Yard| yard.path("home/.local/state");
    let before = log(&yard).len();
    // The control: with room for everything, the trace is left.
    go_on_within(&yard, 1 << 30).expect(0);
    assert!(has_trace(&state(&yard)));
    let whole = String::from_utf8(log(&yard)).expect("text");
    let (mut starts, mut place, mut approved) = (Vec::new(), 0, None);
    for line in whole.split_inclusive('\n') {
        if place >= before {
            starts.push(place);
            if approved.is_none() && line.contains("\"approval.answered\"") {
                approved = Some(starts.len());
            }
        }
        place += line.len();
    }
    let approved = approved.expect("an approval");
    assert!(approved >= 5, "the settings, the words, the reply and the approval: {approved}");
    for start in &starts[..approved] {
        for into in [0, 40] {
            let yard = session();
            let ran = go_on_within(&yard, start + into);
            assert_ne!(ran.code, Some(0), "{start}+{into}: {}", ran.err);
            assert!(!has_trace(&state(&yard)), "{start}+{into}: it ran without its approval");
            let left = log(&yard);
            assert!(left.len() <= start + into && left.ends_with(b"\n"), "{start}+{into}");
            assert!(!String::from_utf8_lossy(&left).contains("approval.answered"));
            // When there is room again, the session goes on as if nothing had been.
            yard.chock(&["run", "--continue", "again"]).expect(0);
            yard.chock(&["sessions", "verify"]).expect(0);
        }
    }
}

#[test]
fn a_session_whose_log_was_cut_anywhere_in_its_last_record_goes_on() {
    let yard = Yard::new();
    let odd = "a\u{2028}b\u{7f}\u{feff}日本語🦀";
    scripted(&yard, &json!({ "turns": [{ "text": odd }, { "text": "more" }] }));
    yard.chock(&["run", odd]).expect(0);
    let path = yard.logs().pop().expect("a session");
    let whole = fs::read(&path).expect("a log");
    // The reply is made the last record, so that cuts go through its letters too.
    let text = String::from_utf8(whole).expect("text");
    let reply = text.find("\"message.model\"").expect("a reply");
    let start = text[..reply].rfind('\n').expect("lines") + 1;
    let end = reply + text[reply..].find('\n').expect("an end");
    let cut_to = |cut: usize| fs::write(&path, &text.as_bytes()[..cut]).expect("a write");
    let records = text[..start].lines().count() - 1;
    for cut in (start + 1..end).step_by(7).chain([end - 1]) {
        cut_to(cut);
        let ran = yard.chock(&["sessions", "verify", "--json"]).expect(0);
        let row: Value = serde_json::from_str(&ran.out).expect("JSON");
        assert_eq!((&row["verdict"], &row["records"]), (&json!("torn"), &json!(records)), "{row}");
    }
    let ran = yard.chock(&["run", "--continue", "again"]).expect(0);
    assert!(ran.err.contains("record cut short"), "{}", ran.err);
    let shown = yard.chock(&["sessions", "show"]).expect(0).out;
    assert!(shown.contains("日本語🦀"), "the words before the cut are there: {shown}");
    let row: Value =
        serde_json::from_str(&yard.chock(&["sessions", "verify", "--json"]).expect(0).out)
            .expect("JSON");
    assert_eq!(row["verdict"], "intact", "{row}");
}
