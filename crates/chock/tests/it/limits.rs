//! Limits of providers: waits that are seen and can be ended, and limits that no wait outlasts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fake::Fake;
use crate::screen::Screen;
use crate::yard::Yard;

fn limited(fault: &Value) -> (Yard, Fake) {
    let yard = Yard::new();
    let turns = json!({ "turns": [{ "fault": fault }, { "text": "through" }] });
    let fake = Fake::script(&turns, &yard.path("."));
    yard.configure(fake.port);
    (yard, fake)
}

fn of_kind(yard: &Yard, kind: &str) -> Vec<Value> {
    let records = yard.records().into_iter();
    records.filter(|record| record["kind"] == kind).map(|record| record["body"].clone()).collect()
}

#[test]
fn a_wait_counts_down_on_the_screen_is_a_record_and_goes_on_by_itself() {
    let (yard, fake) = limited(&json!({ "kind": "rate_limit", "retry_after": 2 }));
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for("s, then try 2: the rate limit is reached");
    screen.wait_for("  2 s left; Ctrl-C ends the wait");
    screen.wait_for("\r\u{1b}[2K  1 s left; Ctrl-C ends the wait");
    screen.wait_for("\r\u{1b}[2Kthrough");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    fake.expect_finished();
    let retries = of_kind(&yard, "retry");
    assert_eq!(retries.len(), 1, "{retries:?}");
    assert!(retries[0]["seconds"].as_u64().is_some_and(|seconds| seconds >= 2), "{retries:?}");
    assert_eq!(retries[0]["attempt"], 2);
}

#[test]
fn ctrl_c_ends_a_wait_at_once_and_the_session_goes_on_later() {
    let (yard, fake) = limited(&json!({ "kind": "rate_limit", "retry_after": 600 }));
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for("10 min 0 s left; Ctrl-C ends the wait");
    screen.wait_for("9 min 59 s left");
    let since = Instant::now();
    screen.press("\x03");
    screen.wait_for("to go on: chock run --continue");
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    assert_eq!(screen.end().0, Some(3));
    assert_eq!(of_kind(&yard, "retry").len(), 1);
    assert_eq!(yard.chock(&["run", "--continue"]).expect(0).out, "through\n");
    fake.expect_finished();
}

#[test]
fn where_nothing_can_be_drawn_a_wait_is_one_line() {
    let (yard, _fake) = limited(&json!({ "kind": "rate_limit", "retry_after": 2 }));
    let err = yard.chock(&["run", "x"]).expect(0).err;
    assert_eq!(err.matches("waiting").count(), 1, "{err}");
    assert!(!err.contains("left;") && !err.contains('\u{1b}'), "{err}");
}

#[test]
fn a_limit_that_outlasts_every_wait_ends_with_12() {
    let (yard, fake) = limited(&json!({ "kind": "rate_limit", "retry_after": 1000 }));
    let since = Instant::now();
    let ran = yard.chock(&["run", "x"]).expect(12);
    assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    assert!(ran.err.contains("Please try again in 1000s"), "{}", ran.err);
    assert!(ran.err.contains("chock run --continue"), "{}", ran.err);
    assert_eq!(fake.requests().len(), 1);
    assert_eq!(of_kind(&yard, "session.ended")[0]["reason"], "rate_limited");
    assert_eq!(yard.chock(&["run", "--continue"]).expect(0).out, "through\n");
}

#[test]
fn a_plans_limit_stops_at_once_and_says_when_it_resets() {
    let yard = Yard::new();
    let fault = json!({ "kind": "rate_limit", "usage_limit": true, "resets_in": 7200 });
    let turns = json!({ "turns": [{ "fault": fault }, { "text": "through" }] });
    let path = yard.path("scenario.json");
    std::fs::write(&path, turns.to_string()).expect("a file");
    let fake = Fake::start(&path, &yard.path(""), &["--device-polls", "0"]);
    let port = fake.port;
    yard.config(&format!(
        ".{{ .providers = .{{ .{{ .name = \"chatgpt\", .kind = \"openai\", .model = \"fake-model\", .base_url = \"http://127.0.0.1:{port}/backend-api/codex\", .account = .{{ .issuer = \"http://127.0.0.1:{port}\" }} }} }} }}"
    ));
    yard.chock(&["login", "--device"]).expect(0);
    let ran = yard.chock(&["run", "x"]).expect(12);
    assert!(ran.err.contains("is used up, again in 2 h 0 min: The usage limit"), "{}", ran.err);
    assert!(!ran.err.contains("waiting"), "{}", ran.err);
    assert_eq!(of_kind(&yard, "retry"), [Value::Null; 0]);
    assert_eq!(yard.chock(&["run", "--continue"]).expect(0).out, "through\n");
}
