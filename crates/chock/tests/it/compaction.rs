//! A conversation that grows too long is made shorter, and keeps its rules, its goal and its plan.

use serde_json::{Value, json};

use crate::fake::{Fake, fakes};
use crate::wires::{KEY, Wire};
use crate::yard::Yard;

fn command(script: &str) -> Value {
    json!({ "name": "run_command", "input": { "command": script } })
}

/// A row of configuration for the fake on a wire, with this many tokens at most.
fn configure(yard: &Yard, fake: &Fake, kind: &str, tokens: Option<u64>) {
    let limit = tokens.map_or(String::new(), |tokens| format!(", .context_tokens = {tokens}"));
    yard.config(&format!(
        ".{{ .providers = .{{ .{{ .name = \"fake\", .kind = \"{kind}\", .base_url = \"http://127.0.0.1:{}/v1\", .token = \"test-token-123456\", .model = \"fake-1\"{limit} }} }} }}",
        fake.port
    ));
}

fn compactions(yard: &Yard) -> Vec<Value> {
    let records = yard.records().into_iter().filter(|record| record["kind"] == "compaction");
    records.map(|record| record["body"].clone()).collect()
}

/// The requests that were answered with a turn of the main lane: all but those for a summary.
fn asked(fake: &Fake) -> Vec<Value> {
    let body = |request: &Value| request.get("body").unwrap_or(request).clone();
    let all = fake.requests().iter().map(body).collect::<Vec<_>>();
    all.into_iter()
        .filter(|body| body["tools"].as_array().is_some_and(|it| !it.is_empty()))
        .collect()
}

#[test]
fn scenario_06_an_overflow_is_summed_up_and_the_work_goes_on() {
    for wire in Wire::ALL {
        let yard = Yard::new();
        let scenario = fakes("scenarios/06-overflow-compaction.json");
        let fake = Fake::start(&scenario, &yard.path("."), &["--key", KEY]);
        wire.configure(&yard, fake.port);
        let ran = yard.chock(&["run", "do what the scenario says"]).expect(0);
        let state = fake.state();
        assert_eq!(state["finished"], true, "{state}");
        assert_eq!(state["problems"].as_array().map(Vec::len), Some(1), "{state}");
        assert!(ran.out.contains("SUMMARY-7 was in the history"), "{}", ran.out);
        assert!(!ran.out.contains("step one printed"), "the summary was shown: {}", ran.out);
        let compactions = compactions(&yard);
        assert_eq!(compactions.len(), 1, "{compactions:?}");
        assert!(compactions[0]["summary"].as_str().expect("text").contains("SUMMARY-7"));
        assert_eq!(compactions[0]["written_by"], "fake-1");
        yard.chock(&["sessions", "verify"]).expect(0);
    }
}

#[test]
fn before_a_conversation_is_full_the_agent_is_told_and_then_room_is_made() {
    let yard = Yard::new();
    yard.write("AGENTS.md", "rule: never touch b.txt\n");
    yard.commit();
    let plan = json!({ "name": "update_plan", "input": { "steps": [
        { "step": "read  everything", "status": "done" },
        { "step": "mend the ümlaut", "status": "in_progress" } ] } });
    let turns = json!({
        "turns": [
            { "tools": [plan], "usage": { "input": 5_000 } },
            { "tools": [command("echo MARK-ONE")], "usage": { "input": 13_000 } },
            { "tools": [command("echo MARK-TWO")], "usage": { "input": 13_500 } },
            { "tools": [command("echo MARK-THREE")], "usage": { "input": 16_000 } },
            { "text": "done" } ],
        "lanes": [{ "name": "compact", "match": "summar", "where": "either",
            "turns": [{ "text": "SUMMARY-9 of what was done" }] }] });
    let fake = Fake::script(&turns, &yard.path("."));
    configure(&yard, &fake, "openai-compat", Some(20_000));
    let ran = yard.chock(&["run", "the goal, word for word"]).expect(0);
    assert!(ran.err.contains("earlier turns are told as a summary"), "{}", ran.err);
    fake.expect_finished();
    let requests = asked(&fake);
    let text = |at: usize| requests[at]["messages"].to_string();
    let notice = "The conversation fills 65 % of what you can be told.";
    assert!(!text(1).contains("conversation fills") && text(2).contains(notice), "{}", text(2));
    assert_eq!(text(3).matches("conversation fills").count(), 1, "it is told once: {}", text(3));
    let last = text(4);
    for kept in [
        "rule: never touch b.txt",
        "the goal, word for word",
        "SUMMARY-9 of what was done",
        "[x] read  everything\\n| [>] mend the ümlaut",
        "MARK-THREE",
    ] {
        assert!(last.contains(kept), "{kept}: {last}");
    }
    assert!(!last.contains("MARK-ONE"), "{last}");
    assert_eq!(compactions(&yard).len(), 1);

    let parts = yard.chock(&["context"]).expect(0).out;
    assert!(parts.contains("summary of earlier turns") && parts.contains("20000  what"), "{parts}");
    let json: Value =
        serde_json::from_str(&yard.chock(&["context", "--json"]).expect(0).out).expect("an object");
    assert!(json["parts"]["results of run_command"].as_u64().is_some_and(|it| it > 0), "{json}");
    assert_eq!(json["limit"], 20_000);

    // The log has it all, and a later run tells the model the same.
    let shown = yard.chock(&["sessions", "show"]).expect(0).out;
    assert!(shown.contains("MARK-ONE"), "{shown}");
    let fake = Fake::script(&json!({ "turns": [{ "text": "again" }] }), &yard.path("."));
    configure(&yard, &fake, "openai-compat", Some(20_000));
    yard.chock(&["run", "--continue", "and now this"]).expect(0);
    let all = asked(&fake);
    let again = all.last().expect("a request")["messages"].to_string();
    assert!(again.contains("SUMMARY-9") && !again.contains("MARK-ONE"), "{again}");
}

#[test]
fn old_results_are_shortened_before_turns_are_left_out() {
    let yard = Yard::new();
    let long = |number| command(&format!("seq {number} 3000; echo MARK-OF-THE-END"));
    let turns = json!({ "turns": [
        { "tools": [long(1)], "usage": { "input": 5_000 } },
        { "tools": [long(2)], "usage": { "input": 9_000 } },
        { "tools": [long(3)], "usage": { "input": 14_000 } },
        { "text": "done" } ] });
    let fake = Fake::script(&turns, &yard.path("."));
    configure(&yard, &fake, "openai-compat", Some(20_000));
    yard.chock(&["run", "count"]).expect(0);
    fake.expect_finished();
    let compactions = compactions(&yard);
    assert_eq!(compactions.len(), 1, "{compactions:?}");
    assert_eq!((&compactions[0]["through"], &compactions[0]["summary"]), (&json!(0), &json!("")));
    let last = asked(&fake).last().expect("a request")["messages"].to_string();
    assert_eq!(last.matches("bytes are left out here").count(), 1, "{last}");
    assert_eq!(last.matches("MARK-OF-THE-END").count(), 6, "{last}");
}

#[test]
fn a_person_can_ask_for_room_and_a_model_that_cannot_sum_up_costs_no_work() {
    let yard = Yard::new();
    let work = json!({ "turns": [
        { "tools": [command("echo MARK-ONE; seq 1 3000")] },
        { "tools": [command("echo MARK-TWO")] },
        { "text": "said" } ] });
    let fake = Fake::script(&work, &yard.path("."));
    configure(&yard, &fake, "openai-compat", None);
    yard.chock(&["run", "first words"]).expect(0);
    drop(fake);
    let later = json!({
        "turns": [{ "text": "gone on" }],
        "lanes": [{ "name": "compact", "match": "summar", "where": "either",
            "turns": [{ "text": "" }] }] });
    let fake = Fake::script(&later, &yard.path("."));
    configure(&yard, &fake, "openai-compat", None);
    yard.chock(&["run", "--continue", "--compact", "last words"]).expect(0);
    let compactions = compactions(&yard);
    assert_eq!(compactions[0]["written_by"], "", "{compactions:?}");
    let last = asked(&fake).last().expect("a request")["messages"].to_string();
    for kept in ["first words", "last words", "CALL run_command", "RESULT of run_command"] {
        assert!(last.contains(kept), "{kept}: {last}");
    }
}
