//! Machines that lack something: a layer, or room on the disk.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]

use std::process::Command;

use serde_json::json;

use crate::fake::Fake;
use crate::input::scripted;
use crate::yard::{Ran, Yard};

/// Runs the program below another one that changes its surroundings first.
fn below(yard: &Yard, tool: &[&str], words: &[&str]) -> Ran {
    let inner = yard.command(words);
    let mut outer = Command::new(tool[0]);
    outer.args(&tool[1..]).arg(inner.get_program()).args(inner.get_args());
    outer.current_dir(inner.get_current_dir().expect("a directory")).env_clear();
    for (name, value) in inner.get_envs() {
        outer.env(name, value.expect("a value"));
    }
    outer.output().expect("the program").into()
}

#[test]
fn without_namespaces_no_request_is_made() {
    let yard = Yard::new().as_plain_user();
    let fake = Fake::play("01-edit-and-test.json", &yard.path("."));
    yard.configure(fake.port);
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$0\" \"$@\"";
    let leave_root = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let is_root = rustix::process::geteuid().is_root();
    let mut tool = if is_root { leave_root.to_vec() } else { Vec::new() };
    tool.extend(["unshare", "-Ur", "sh", "-c", forbid]);
    let ran = below(&yard, &tool, &["run", "x"]).expect(1);
    assert!(ran.err.contains("doctor"), "{}", ran.err);
    assert_eq!(fake.requests().len(), 0);
    assert!(yard.logs().is_empty(), "a session was left");
    let doctor = below(&yard, &tool, &["doctor", "--json"]).expect(2);
    let survey: serde_json::Value = serde_json::from_str(&doctor.out).expect("JSON");
    assert_eq!(survey["can_contain"], false);
    let row = survey["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .find(|row| row["layer"] == "user namespace");
    let row = row.expect("a row");
    assert_eq!(row["state"], "off");
    assert!(row["cure"].as_str().expect("text").contains("max_user_namespaces"), "{row}");
}

#[test]
fn root_without_another_user_to_be_is_refused() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root's own namespaces lead to root");
        return;
    }
    let yard = Yard::new();
    scripted(&yard, &json!({ "turns": [{ "text": "done" }] }));
    let ran = below(&yard, &["unshare", "-Ur"], &["run", "x"]).expect(1);
    assert!(ran.err.contains("plain user"), "{}", ran.err);
    assert!(yard.logs().is_empty(), "a session was left");
}

#[test]
fn a_full_disk_stops_the_session_and_the_log_stays_whole() {
    if !rustix::process::geteuid().is_root() {
        println!(
            "skipped: only root makes a small file system; the log's own tests cover the rest"
        );
        return;
    }
    let yard = Yard::new();
    let fill = "head -c 64M /dev/zero > fill; true";
    let calls: Vec<_> =
        (0..40).map(|_| json!({ "name": "run_command", "input": { "command": fill } })).collect();
    scripted(&yard, &json!({ "turns": [{ "tools": calls }, { "text": "done" }] }));
    let state = yard.path("home/.local/state");
    std::fs::create_dir_all(&state).expect("a directory");
    let script = format!(
        "mount -t tmpfs -o size=6m,mode=755 none '{state}' && \"$0\" \"$@\"; code=$?; cp -r '{state}/chock' '{kept}'; exit $code",
        state = state.display(),
        kept = yard.path("kept").display()
    );
    let ran = below(&yard, &["unshare", "-m", "sh", "-c", &script], &["run", "x"]);
    assert_ne!(ran.code, Some(101), "{}", ran.err);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    let find =
        Command::new("find").arg(yard.path("kept/sessions")).args(["-name", "*.jsonl"]).output();
    let found = String::from_utf8(find.expect("find").stdout).expect("text");
    let log = found.lines().next().expect("a log was started");
    let verdict = chock_log::verify(std::path::Path::new(log));
    assert!(matches!(verdict, chock_log::Verdict::Intact { .. }), "{verdict:?}");
}
