//! What Chock tells the agent of its own: facts, at the end of the conversation, once each.

use serde_json::{Value, json};

use crate::fake::Fake;
use crate::yard::Yard;

fn command(script: &str) -> Value {
    json!({ "name": "run_command", "input": { "command": script } })
}

fn configure(yard: &Yard, fake: &Fake, kind: &str, more: &str) {
    yard.config(&format!(
        ".{{ .providers = .{{ .{{ .name = \"fake\", .kind = \"{kind}\", .base_url = \"http://127.0.0.1:{}/v1\", .token = \"test-token-123456\", .model = \"fake-1\"{more} }} }} }}",
        fake.port
    ));
}

fn bodies(fake: &Fake) -> Vec<Value> {
    let body = |request: &Value| request.get("body").unwrap_or(request).clone();
    fake.requests().iter().map(body).collect()
}

/// The facts of each notice of the newest session.
fn facts(yard: &Yard) -> Vec<Vec<String>> {
    let notices = yard.records().into_iter().filter(|record| record["kind"] == "notice");
    let facts = notices.map(|record| record["body"]["facts"].clone());
    facts.filter_map(|facts| serde_json::from_value(facts).ok()).collect()
}

#[test]
fn facts_stand_at_the_end_in_one_message_and_nothing_before_them_changes() {
    for kind in ["openai-compat", "anthropic"] {
        let yard = Yard::new();
        yard.write("left behind.txt", "not committed\n");
        yard.write("chock.zon", ".{ .budget = .{ .max_tokens = 100_000 } }\n");
        let look = json!({ "name": "read_file", "input": { "path": "a.txt" } });
        let both = json!({ "tools": [look, command("true")], "usage": { "input": 30_000 } });
        let turns = json!({ "turns": [
            { "tools": [look, command("echo one")], "usage": { "input": 1_000 } },
            both, { "text": "done" } ] });
        let fake = Fake::script(&turns, &yard.path("."));
        configure(&yard, &fake, kind, "");
        yard.chock(&["run", "the goal"]).expect(0);
        fake.expect_finished();

        assert_eq!(facts(&yard), [vec!["time", "uncommitted"], vec!["read-again", "budget-25"]]);
        let bodies = bodies(&fake);
        let last = |at: usize| {
            let messages = bodies[at]["messages"].as_array().expect("messages");
            messages.last().expect("a message").to_string()
        };
        assert!(last(0).contains("the goal"), "{}", last(0));
        assert!(last(0).contains("[chock] It is 20") && last(0).contains(" UTC"), "{}", last(0));
        let left = "2 files of the person's project are changed or untracked there";
        assert!(last(0).contains(left), "{}", last(0));
        assert!(!last(1).contains("[chock] "), "nothing was to tell: {}", last(1));
        assert!(last(2).contains("Read before, and unchanged since: "), "{}", last(2));
        assert!(last(2).contains("% of this session's budget is used"), "{}", last(2));
        // Each request begins with the one before it, byte for byte.
        let plain = |body: &Value| {
            let mut body = body.clone();
            unmark(&mut body);
            body
        };
        for pair in bodies.windows(2) {
            let (one, two) = (plain(&pair[0]), plain(&pair[1]));
            assert_eq!(one["system"], two["system"]);
            let (one, two) = (&one["messages"], &two["messages"]);
            let (one, two) = (one.as_array().expect("a list"), two.as_array().expect("a list"));
            assert_eq!(one[..], two[..one.len()], "{kind}");
        }
    }
}

/// Takes the marks for the cache out, which move on.
fn unmark(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(unmark);
        }
        Value::Array(items) => items.iter_mut().for_each(unmark),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn without_notices_nothing_is_told_and_a_standstill_ends_all_the_same() {
    let yard = Yard::new();
    yard.write("left behind.txt", "not committed\n");
    let turns: Vec<_> = (0..3).map(|_| json!({ "tools": [command("exit 3")] })).collect();
    let fake = Fake::script(&json!({ "turns": turns }), &yard.path("."));
    configure(&yard, &fake, "openai-compat", "");
    let ran = yard.chock(&["run", "--no-notices", "go"]).expect(6);
    fake.expect_finished();
    assert!(!bodies(&fake)[2].to_string().contains("[chock] It is"), "a fact was told");
    assert_eq!(facts(&yard), [[""; 0]; 0]);
    let words = "The same call came 3 times with the same answer: run_command";
    assert!(ran.err.contains(words), "{}", ran.err);
    let config = yard.records().into_iter().find(|record| record["kind"] == "session.config");
    assert_eq!(config.expect("it")["body"]["options"], json!(["--no-notices"]));
}

#[test]
fn an_agent_that_stands_still_is_told_and_then_stopped() {
    let yard = Yard::new();
    let turns: Vec<_> = (0..3).map(|_| json!({ "tools": [command("exit 3")] })).collect();
    let fake = Fake::script(&json!({ "turns": turns }), &yard.path("."));
    configure(&yard, &fake, "openai-compat", "");
    yard.chock(&["run", "go"]).expect(6);
    fake.expect_finished();
    assert_eq!(facts(&yard), [["time"], ["repeat"]]);
    let ended = yard.records().pop().expect("a record");
    assert_eq!(ended["body"]["reason"], "no_progress");

    // Three at once are told first, too: the agent had no chance to do otherwise.
    let yard = Yard::new();
    let at_once = json!({ "tools": [command("exit 3"), command("exit 3"), command("exit 3")] });
    let turns = json!({ "turns": [at_once, at_once] });
    let fake = Fake::script(&turns, &yard.path("."));
    configure(&yard, &fake, "openai-compat", "");
    yard.chock(&["run", "go"]).expect(6);
    fake.expect_finished();
    assert_eq!(facts(&yard), [["time"], ["repeat"]]);

    // An agent that does otherwise goes on.
    let yard = Yard::new();
    let turns = json!({ "turns": [at_once, { "text": "I cannot" }] });
    let fake = Fake::script(&turns, &yard.path("."));
    configure(&yard, &fake, "openai-compat", "");
    yard.chock(&["run", "go"]).expect(0);
    fake.expect_finished();
}

#[test]
fn a_resumed_session_is_told_what_is_new_and_its_prompt_is_the_same() {
    let yard = Yard::new();
    let turns = json!({ "turns": [{ "text": "one" }, { "text": "two" }] });
    let fake = Fake::script(&turns, &yard.path("."));
    configure(&yard, &fake, "anthropic", "");
    yard.chock(&["run", "first"]).expect(0);
    yard.chock(&["run", "--continue", "second"]).expect(0);
    fake.expect_finished();
    assert_eq!(facts(&yard), [["time"]], "the time is not told again within a quarter of an hour");
    let bodies = bodies(&fake);
    assert_eq!(bodies[0]["system"], bodies[1]["system"]);
}

#[test]
fn a_budget_is_checked_before_each_request_and_holds_over_several_models() {
    let yard = Yard::new();
    yard.write("chock.zon", ".{ .budget = .{ .max_cost = 0.01, .currency = \"USD\" } }\n");
    let turns = json!({ "turns": [
        { "text": "one", "usage": { "input": 4_000, "output": 100 } },
        { "tools": [command("true")], "usage": { "input": 4_000, "output": 100 } },
        { "text": "never sent" } ] });
    let fake = Fake::script(&turns, &yard.path("."));
    let price = ", .price = .{ .currency = \"USD\", .input = 1.0, .output = 10.0 }";
    configure(&yard, &fake, "openai-compat", price);
    yard.chock(&["run", "go"]).expect(0);
    let ran = yard.chock(&["run", "--continue", "--model", "fake-2", "go on"]).expect(7);
    assert!(ran.err.contains("0.01 USD of 0.01 USD are spent"), "{}", ran.err);
    assert_eq!(bodies(&fake).len(), 2, "the third request was made");
    assert!(bodies(&fake)[1].to_string().contains("50 % of this session's budget is used"));
    // A session that goes on has no budget of its own.
    yard.chock(&["run", "--continue", "please"]).expect(7);
    assert_eq!(bodies(&fake).len(), 2, "a spent budget asked for a reply");
}

#[test]
fn a_cost_that_nobody_knows_ends_a_budget_in_money_and_one_that_is_free_does_not() {
    let unknown = "the cost of 1 request is not known";
    // The fake is on this machine, so what has no price is free; with one, a reply without a
    // count of tokens has an unknown cost.
    let price = ", .price = .{ .currency = \"USD\", .input = 1.0, .output = 10.0 }";
    for (budget, more, options, code) in [
        (".max_cost = 1.0, .currency = \"USD\"", "", None, 0),
        (".max_cost = 1.0, .currency = \"USD\"", price, Some(unknown), 7),
        (".max_tokens = 100_000", "", Some("the server did not count the tokens"), 7),
    ] {
        let yard = Yard::new();
        yard.write("chock.zon", &format!(".{{ .budget = .{{ {budget} }} }}\n"));
        let turns = json!({ "turns": [{ "tools": [command("true")] }, { "text": "done" }] });
        let scenario = yard.path("scenario.json");
        std::fs::write(&scenario, turns.to_string()).expect("a scenario");
        let quirks = if options.is_some() { vec!["--quirk", "no_usage"] } else { Vec::new() };
        let fake = Fake::start(&scenario, &yard.path("."), &quirks);
        configure(&yard, &fake, "openai-compat", more);
        let ran = yard.chock(&["run", "go"]).expect(code);
        let words = options.unwrap_or_default();
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
}
