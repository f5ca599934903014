//! Machine output: a format, so its fields are asserted one by one.

use std::fs;

use serde_json::{Value, json};

use crate::input::scripted;
use crate::yard::Yard;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("one JSON object a line")).collect()
}

/// A yard with one session that changed a file.
fn worked() -> Yard {
    let yard = Yard::new();
    let call = json!({ "name": "run_command", "input": { "command": "echo more >> a.txt" } });
    scripted(&yard, &json!({ "turns": [{ "tools": [call] }, { "text": "done" }] }));
    yard
}

#[test]
fn run_streams_the_records_of_the_log() {
    let yard = worked();
    let ran = yard.chock(&["run", "--json", "x"]).expect(0);
    let log = fs::read_to_string(yard.logs().pop().expect("a log")).expect("text");
    let records = log.split_once('\n').expect("a header").1;
    assert_eq!(ran.out, records, "standard output is the log without its header");
    assert_eq!(lines(&ran.out)[0]["kind"], "session.start");
}

#[test]
fn a_listing_and_a_verdict_have_their_fields() {
    let yard = worked();
    yard.chock(&["run", "x"]).expect(0);
    let rows = lines(&yard.chock(&["sessions", "--json"]).expect(0).out);
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    for name in [
        "id",
        "project",
        "started",
        "state",
        "turns",
        "model",
        "cost",
        "title",
        "parent",
        "workspace_bytes",
    ] {
        assert!(row.get(name).is_some(), "{name}: {row}");
    }
    assert_eq!(
        (&row["state"], &row["turns"], &row["title"]),
        (&json!("finished"), &json!(2), &json!("x"))
    );
    let verdicts = lines(&yard.chock(&["sessions", "verify", "--json"]).expect(0).out);
    assert_eq!(verdicts[0]["verdict"], "intact");
    for name in ["id", "records", "at", "seal"] {
        assert!(verdicts[0].get(name).is_some(), "{name}");
    }
    // A changed byte is named, and the exit code is not a pass.
    let path = yard.logs().pop().expect("a log");
    let text = fs::read_to_string(&path).expect("text").replacen("\"x\"", "\"y\"", 1);
    fs::write(&path, text).expect("a write");
    let verdicts = lines(&yard.chock(&["sessions", "verify", "--json"]).expect(2).out);
    assert_eq!(verdicts[0]["verdict"], "broken");
    assert!(verdicts[0]["at"].is_u64(), "{}", verdicts[0]);
    yard.chock(&["run", "--continue", "more"]).expect(1);
}

#[test]
fn a_diff_and_the_settings_have_their_fields() {
    let yard = worked();
    yard.chock(&["run", "x"]).expect(0);
    let diff = &lines(&yard.chock(&["diff", "--json"]).expect(0).out)[0];
    assert_eq!(diff["session"], rows_id(&yard));
    let file = &diff["files"][0];
    for name in ["path", "old_path", "kind", "old_mode", "new_mode", "binary", "flags", "hunks"] {
        assert!(file.get(name).is_some(), "{name}: {file}");
    }
    let hunk = &file["hunks"][0];
    for name in ["id", "old_start", "old_lines", "new_start", "new_lines"] {
        assert!(hunk.get(name).is_some(), "{name}: {hunk}");
    }
    assert_eq!(hunk["lines"], json!([" alpha", "+more"]));
    let settings = lines(&yard.chock(&["config", "--json"]).expect(0).out);
    assert!(settings.iter().any(|row| row["name"] == "limits.processes"), "{settings:?}");
    assert!(settings.iter().all(|row| row["origin"].is_string() && row["value"].is_string()));
}

fn rows_id(yard: &Yard) -> Value {
    lines(&yard.chock(&["sessions", "--json"]).expect(0).out)[0]["id"].clone()
}

#[test]
fn secrets_that_a_tool_prints_are_nowhere_in_the_state() {
    let yard = Yard::new();
    // Pieces are joined by the shell, so that no file of the test looks like a secret.
    let command = "a=AKIA; b=IOSFODNN7EXAMPLE; echo $a$b; p=PRIVATE; echo \"-----BEGIN $p KEY-----\"; \
                   echo MIIsecretbody; echo \"-----END $p KEY-----\"; w=word-1; echo https://me:pass-$w@example.com/";
    let call = json!({ "name": "run_command", "input": { "command": command } });
    scripted(&yard, &json!({ "turns": [{ "tools": [call] }, { "text": "done" }] }));
    yard.chock(&["run", "x"]).expect(0);
    let log = fs::read_to_string(yard.logs().pop().expect("a log")).expect("text");
    for secret in ["IOSFODNN7EXAMPLE\\n", "pass-word-1@"] {
        assert!(!log.contains(secret), "{secret}");
    }
    let outcome = yard.outcomes().remove(0);
    let text = outcome["text"].as_str().expect("text");
    assert!(
        !text.contains("MIIsecretbody") && text.contains("[secret removed: private_key"),
        "{text}"
    );
    yard.chock(&["sessions", "verify"]).expect(0);
}
