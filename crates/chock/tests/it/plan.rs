//! The plan is shown by a command of its own, and lives on in later runs, in forks, and when room
//! is made.

use std::fs;

use serde_json::{Value, json};

use crate::fake::Fake;
use crate::yard::Yard;

fn plan(steps: &[(&str, &str)]) -> Value {
    let steps = steps.iter().map(|(step, status)| json!({ "step": step, "status": status }));
    json!({ "tools": [{ "name": "update_plan", "input": { "steps": steps.collect::<Vec<_>>() } }] })
}

fn done() -> Value {
    json!({ "text": "done" })
}

/// Runs a session of these turns, and returns the requests.
fn ran(yard: &Yard, words: &[&str], turns: &Value) -> Vec<Value> {
    let _ = fs::remove_file(yard.path("requests.jsonl"));
    let fake = Fake::script(turns, &yard.path("."));
    yard.configure(fake.port);
    yard.chock(words).expect(0);
    fake.expect_finished();
    fake.requests().iter().map(|one| one.get("body").unwrap_or(one).clone()).collect()
}

fn id(yard: &Yard) -> String {
    let log = yard.logs().pop().expect("a session");
    log.file_stem().and_then(|stem| stem.to_str()).expect("an id").to_owned()
}

#[test]
fn the_plan_is_shown_with_how_far_each_step_is_and_draws_nothing() {
    let yard = Yard::new();
    yard.chock(&["plan"]).expect(1);
    ran(&yard, &["run", "one"], &json!({ "turns": [done()] }));
    let none = yard.chock(&["plan"]).expect(0);
    assert!(none.out.is_empty() && none.err.contains("no plan"), "{}{}", none.out, none.err);
    let steps = [
        ("read it", "done"),
        ("mend\u{202e} it", "in_progress"),
        ("test it", "pending"),
        ("rewrite it", "abandoned"),
    ];
    ran(&yard, &["run", "two"], &json!({ "turns": [plan(&steps), done()] }));
    let shown = yard.chock(&["plan"]).expect(0).out;
    let expected = "[x] read it\n[>] mend\\u{202e} it\n[ ] test it\n[-] rewrite it\n";
    assert_eq!(shown, expected);
    let told = yard.chock(&["plan", &id(&yard), "--json"]).expect(0).out;
    let told: Value = serde_json::from_str(&told).expect("an object");
    assert_eq!(told["session"], id(&yard).as_str());
    assert_eq!(told["steps"][3], json!({ "step": "rewrite it", "status": "abandoned" }));
}

#[test]
fn the_plan_lives_on_in_later_runs_in_forks_and_when_room_is_made() {
    let yard = Yard::new();
    let first = [("read it", "done"), ("mend it", "pending")];
    ran(&yard, &["run", "one"], &json!({ "turns": [plan(&first), done()] }));
    let parent = id(&yard);
    let before = "[x] read it\n[ ] mend it\n";
    // A later run, which is not told of it by any call of its own, and in which room is made.
    let turns = json!({
        "turns": [done()],
        "lanes": [{ "name": "compact", "match": "summar", "where": "either",
            "turns": [{ "text": "SUMMARY-9" }] }] });
    let requests = ran(&yard, &["run", "--continue", "--compact", "go on"], &turns);
    let last = requests.last().expect("a request")["messages"].to_string();
    assert!(last.contains("SUMMARY-9") && !last.contains("tool_calls"), "{last}");
    assert!(last.contains("| [x] read it\\n| [ ] mend it"), "{last}");
    assert_eq!(yard.chock(&["plan"]).expect(0).out, before);
    // A plan of a later turn is not that of a fork at an earlier one.
    let second = [("read it", "done"), ("mend it", "done"), ("tell it", "pending")];
    let turns = json!({ "turns": [plan(&second), done()] });
    ran(&yard, &["run", "--continue", "again"], &turns);
    let after = "[x] read it\n[x] mend it\n[ ] tell it\n";
    assert_eq!(yard.chock(&["plan"]).expect(0).out, after);
    yard.chock(&["fork", &parent, "--at", "1"]).expect(0);
    assert_eq!(yard.chock(&["plan"]).expect(0).out, before);
    yard.chock(&["fork", &parent]).expect(0);
    assert_eq!(yard.chock(&["plan"]).expect(0).out, after);
    assert_eq!(yard.chock(&["plan", &parent]).expect(0).out, after);
}
