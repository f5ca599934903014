//! The provider's scenarios, each played to its end by `chock run`.

use serde_json::json;

use crate::fake::Fake;
use crate::yard::{Ran, Yard};

fn play(yard: &Yard, scenario: &str) -> (Fake, Ran) {
    let fake = Fake::play(scenario, &yard.path("."));
    yard.configure(fake.port);
    let ran = yard.chock(&["run", "do what the scenario says"]);
    (fake, ran)
}

/// Plays a scenario that ends well, for root and for a plain user, and asserts that the project was
/// not touched. `wires.rs` plays them on every wire.
fn check(scenario: &str, outcomes: &[serde_json::Value]) {
    for yard in [Yard::new(), Yard::new().as_plain_user()] {
        let before = yard.fingerprint();
        let (fake, ran) = play(&yard, scenario);
        ran.expect(0);
        fake.expect_finished();
        let ended: Vec<_> =
            yard.outcomes().into_iter().map(|outcome| outcome["ended"].clone()).collect();
        assert_eq!(ended, outcomes, "{scenario}");
        assert_eq!(yard.fingerprint(), before, "{scenario}: the project was touched");
        yard.chock(&["sessions", "verify"]).expect(0);
    }
}

#[test]
fn scenario_01_edits_and_tests() {
    check("01-edit-and-test.json", &[json!("done"), json!("done"), json!({"exited": 0})]);
    let yard = Yard::new();
    let (_fake, ran) = play(&yard, "01-edit-and-test.json");
    let ran = ran.expect(0);
    assert!(ran.out.contains("日本語"), "{}", ran.out);
    let diff = yard.chock(&["diff"]).expect(0).out;
    assert!(diff.contains("-    return int(text)\n+    return int(text.strip())\n"), "{diff}");
    let stat = yard.chock(&["diff", "--stat"]).expect(0).out;
    assert!(stat.contains("1 file changed, +1 -1"), "{stat}");
    let diff: serde_json::Value =
        serde_json::from_str(&yard.chock(&["diff", "--json"]).expect(0).out).expect("JSON");
    assert_eq!(diff["files"][0]["path"], "parser.py");
    assert_eq!(diff["files"][0]["kind"], "modified");
    assert_eq!(diff["files"].as_array().map(Vec::len), Some(1), "{diff}");
    assert!(yard.outcomes()[2]["text"].as_str().expect("text").contains("OK"));
}

#[test]
fn scenario_02_answers_parallel_calls_in_order() {
    let exited = |code| json!({ "exited": code });
    check(
        "02-parallel-tools.json",
        &[json!("done"), json!("done"), exited(0), exited(0), exited(1)],
    );
}

#[test]
fn scenario_03_cuts_long_output() {
    check("03-long-output.json", &[json!({"exited": 0})]);
}

#[test]
fn scenario_05_waits_as_told() {
    let yard = Yard::new();
    let (fake, ran) = play(&yard, "05-retry-429.json");
    let ran = ran.expect(0);
    fake.expect_finished();
    assert!(ran.err.contains("waiting"), "{}", ran.err);
    let requests = fake.requests();
    assert_eq!(requests.len(), 4);
    assert!(requests.windows(2).all(|pair| pair[0]["body"] == pair[1]["body"]));
    let retries = yard.records().into_iter().filter(|record| record["kind"] == "retry").count();
    assert_eq!(retries, 3, "each wait is a record");
}

#[test]
fn scenario_07_a_refusal_ends_with_11() {
    let yard = Yard::new();
    let (fake, ran) = play(&yard, "07-refusal.json");
    let ran = ran.expect(11);
    assert!(ran.err.contains("refused"), "{}", ran.err);
    assert_eq!(fake.requests().len(), 1, "it is not asked again");
}

#[test]
fn scenario_08_an_empty_answer_ends_with_10() {
    let yard = Yard::new();
    let (fake, ran) = play(&yard, "08-empty-answer.json");
    ran.expect(10);
    // The session goes on; a reply cut for length is gone on with, and no empty one is sent back.
    yard.chock(&["run", "--continue", "please answer"]).expect(0);
    fake.expect_finished();
}

#[test]
fn scenario_09_a_cut_stream_is_a_fault_that_continue_mends() {
    let yard = Yard::new();
    let (fake, ran) = play(&yard, "09-cut.json");
    let mut code = ran.code;
    assert_eq!(code, Some(2), "{}", ran.err);
    for _ in 0..4 {
        if code == Some(0) {
            break;
        }
        assert_eq!(code, Some(2));
        code = yard.chock(&["run", "--continue"]).code;
    }
    assert_eq!(code, Some(0));
    fake.expect_finished();
    assert_eq!(yard.outcomes(), Vec::<serde_json::Value>::new(), "half a call never runs");
}

#[test]
fn scenario_12_malformed_calls_are_answered_as_errors() {
    check("12-malformed-arguments.json", &vec![json!("fault"); 5]);
}

#[test]
fn fifty_calls_are_fifty_records() {
    check("50-calls.json", &vec![json!({"exited": 0}); 50]);
}
