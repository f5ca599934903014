//! Live keys in what a tool prints: nowhere in Chock's state, on the terminal, in an export or in
//! a request.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::fake::Fake;
use crate::yard::Yard;

/// The token that the yard's configuration lends to the provider.
const LENT: &str = "test-token-123456";

/// Secrets of every known shape, put together here so that no line of this file looks like one.
fn secrets() -> Vec<(&'static str, String)> {
    let body = "abcdefghij0123456789";
    vec![
        ("lent", LENT.to_owned()),
        ("provider_key", format!("sk-{}{body}{body}", "ant-api03-")),
        ("aws_key_id", format!("{}{}", "AKIA", "IOSFODNN7EXAMPLE")),
        ("aws_secret", format!("{}{}", "wJalrXUtnFEMI/K7MDENG", "/bPxRfiCYEXAMPLEKEY")),
        ("github_token", format!("{}_{body}{body}", "ghp")),
        ("private_key", format!("MIIEowIBAAKCAQEA{body}")),
        ("url_password", format!("s3cret{body}")),
    ]
}

/// What holds the secrets as a configuration dump would.
fn dump() -> String {
    let secret: Vec<_> = secrets().into_iter().map(|(_, secret)| secret).collect();
    let [lent, provider, id, aws, github, pem, password] = &secret[..] else {
        unreachable!("invariant: there are seven")
    };
    format!(
        "TOKEN={lent}\nKEY={provider}\nid {id}\naws_secret_access_key = {aws}\nuse {github}.\n\
         -----BEGIN RSA {kind} KEY-----\n{pem}\n-----END RSA {kind} KEY-----\n\
         git clone https://me:{password}@example.com/x\n",
        kind = "PRIVATE"
    )
}

/// A command line that prints the dump and does not have it: each byte in octal.
fn printing() -> String {
    let octal: String = dump().bytes().map(|byte| format!("\\{byte:03o}")).collect();
    format!("printf '{octal}'")
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let data = entry.metadata().expect("a file");
        if data.is_dir() {
            all.extend(files(&entry.path()));
        } else if data.is_file() {
            all.push(entry.path());
        }
    }
    all
}

#[track_caller]
fn has_none(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for (kind, secret) in secrets() {
        assert!(!text.contains(&secret), "{kind} stands in {what}:\n{text}");
    }
}

#[test]
fn live_keys_in_tool_output_reach_no_state_terminal_export_or_request() {
    let yard = Yard::new();
    let run = |command: String| json!({ "name": "run_command", "input": { "command": command } });
    let long = format!("seq 1 20000; {}; seq 1 20000", printing());
    let fake = Fake::script(
        &json!({ "turns": [
            { "tools": [run(printing())] },
            { "tools": [run(long)] },
            { "text": format!("I found this:\n{}", dump()), "tools": [run("true".to_owned())] },
            { "text": "done" } ] }),
        &yard.path("."),
    );
    yard.configure(fake.port);
    let ran = yard.chock(&["run", &format!("what is {}", dump())]).expect(0);
    fake.expect_finished();

    // The control: the tool did print it, and a marker of each kind stands in its place.
    let log = fs::read_to_string(yard.logs().pop().expect("a session")).expect("a log");
    let printed = yard.outcomes()[0]["text"].as_str().expect("text").to_owned();
    for (kind, _) in secrets() {
        for (what, text) in [("output", &printed), ("log", &log), ("terminal", &ran.out)] {
            assert!(text.contains(&format!("[secret removed: {kind} ")), "{kind}, {what}: {text}");
        }
    }
    has_none("the terminal", format!("{}{}", ran.out, ran.err).as_bytes());
    let requests = fake.requests();
    assert!(requests[1]["body"].to_string().contains("[secret removed: aws_key_id "));
    for request in requests {
        has_none("a request", request["body"].to_string().as_bytes());
    }
    let state = yard.path("home/.local");
    let mut outputs = 0;
    for path in files(&state) {
        has_none(&path.display().to_string(), &fs::read(&path).expect("a file"));
        outputs += usize::from(path.extension().is_some_and(|end| end == "out"));
        if path.extension().is_some_and(|end| end == "jsonl") {
            let mode = fs::metadata(&path).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        }
    }
    assert_eq!(outputs, 1, "the long output is kept, masked");
    yard.chock(&["sessions", "verify"]).expect(0);

    let shown = yard.chock(&["sessions", "show"]).expect(0);
    has_none("sessions show", shown.out.as_bytes());
    for format in ["jsonl", "markdown", "json"] {
        let file = yard.path(format);
        let to = file.to_str().expect("a path");
        yard.chock(&["sessions", "export", "--format", format, "--to", to]).expect(0);
        has_none(format, &fs::read(&file).expect("an export"));
    }
}

#[test]
fn live_keys_in_the_output_of_a_background_task_reach_no_file_terminal_result_or_export() {
    let yard = Yard::new();
    // In small pieces, so that keys come cut in two.
    let octal: Vec<_> = dump().bytes().map(|byte| format!("\\{byte:03o}")).collect();
    let pieces: Vec<_> = octal.chunks(13).map(|piece| piece.concat()).collect();
    let words = pieces.join("' '");
    let command = format!(
        "for piece in '{words}'; do printf \"$piece\"; sleep 0.01; done; exec sleep 961.25"
    );
    let look = json!({ "name": "task_output", "input": { "task": "task-01", "wait_s": 300 } });
    let run = json!({ "name": "run_command", "input": { "command": command, "background": true } });
    let fake = Fake::script(
        &json!({ "turns": [{ "tools": [run, look] }, { "text": "done" }] }),
        &yard.path("."),
    );
    yard.configure(fake.port);
    let mut session = crate::tasks::start(&yard);
    let state = yard.path("home/.local");
    let output = || files(&state).into_iter().find(|path| path.ends_with("task-01.out"));
    let printed = || output().map(|path| fs::read_to_string(path).expect("text"));
    crate::kill::until("it printed all", || {
        printed().is_some_and(|text| text.ends_with("@example.com/x\n"))
    });
    for words in [&["tasks", "output", "task-01"][..], &["tasks", "output", "task-01", "--json"]] {
        let shown = yard.chock(words).expect(0).out;
        has_none("tasks output", shown.as_bytes());
        assert!(shown.contains("[secret removed: aws_key_id "), "{shown}");
    }
    yard.chock(&["tasks", "stop", "task-01"]).expect(0);
    assert_eq!(session.wait(), Some(0));

    let result = yard.outcomes()[1]["text"].as_str().expect("text").to_owned();
    for (kind, _) in secrets() {
        let marker = format!("[secret removed: {kind} ");
        assert!(result.contains(&marker), "{kind}: {result}");
        assert!(printed().expect("a file").contains(&marker), "{kind}");
    }
    for request in fake.requests() {
        has_none("a request", request["body"].to_string().as_bytes());
    }
    for path in files(&state) {
        has_none(&path.display().to_string(), &fs::read(&path).expect("a file"));
    }
}

#[test]
fn what_a_question_shows_is_masked_in_views_and_stands_in_the_log() {
    let yard = Yard::new();
    let (_, key) = secrets().remove(2);
    crate::input::scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [{ "name": "run_command", "input": { "command": format!("echo {key}") } }] },
            { "text": "done" } ] }),
    );
    yard.chock(&["run", "x"]).expect(0);
    let log = fs::read_to_string(yard.logs().pop().expect("a session")).expect("a log");
    assert!(log.contains(&key), "an approval says exactly what was approved");
    for format in ["markdown", "json"] {
        let file = yard.path(format);
        let to = file.to_str().expect("a path");
        yard.chock(&["sessions", "export", "--format", format, "--to", to]).expect(0);
        assert!(!fs::read_to_string(&file).expect("a view").contains(&key), "{format}");
    }
}
