//! What sessions used is added up, and what is not known is said.

use serde_json::{Value, json};

use crate::fake::Fake;
use crate::yard::Yard;

fn priced(yard: &Yard, fake: &Fake, price: &str) {
    yard.config(&format!(
        ".{{ .providers = .{{ .{{ .name = \"fake\", .kind = \"openai-compat\", .base_url = \"http://127.0.0.1:{}/v1\", .token = \"test-token-123456\", .model = \"fake-1\"{price} }} }} }}",
        fake.port
    ));
}

fn run(yard: &Yard, price: &str, words: &[&str]) {
    let turns = json!({ "turns": [{ "text": "done", "usage": { "input": 1000, "output": 10 } }] });
    let fake = Fake::script(&turns, &yard.path("."));
    priced(yard, &fake, price);
    yard.chock(words).expect(0);
}

fn usage(yard: &Yard, words: &[&str]) -> Value {
    let mut all = vec!["usage", "--json"];
    all.extend(words);
    serde_json::from_str(&yard.chock(&all).expect(0).out).expect("an object")
}

#[test]
fn usage_is_added_up_by_model_day_and_session_and_a_fork_counts_once() {
    let yard = Yard::new();
    let price = ", .price = .{ .input = 1.0, .output = 10.0, .currency = \"USD\" }";
    run(&yard, price, &["run", "one"]);
    run(&yard, price, &["run", "two"]);
    run(&yard, price, &["fork", &session(&yard), "three"]);
    let all = usage(&yard, &[]);
    assert_eq!(all["total"]["requests"], 3, "{all}");
    assert_eq!(all["parts"]["fake-1"]["tokens"]["output"], 30, "{all}");
    assert_eq!(all["total"]["spent_micros"], json!({ "USD": 3 * (1000 + 100) }), "{all}");
    assert_eq!(usage(&yard, &["--by", "session"])["parts"].as_object().map(|it| it.len()), Some(3));
    assert_eq!(usage(&yard, &["--by", "day"])["parts"].as_object().map(|it| it.len()), Some(1));
    assert_eq!(usage(&yard, &[&session(&yard)])["total"]["requests"], 1);
    let words = yard.chock(&["usage"]).expect(0).out;
    assert!(words.contains("3 requests") && words.contains("0.0033 USD"), "{words}");
}

#[test]
fn a_price_that_is_not_known_is_not_nothing() {
    let yard = Yard::new();
    assert!(yard.chock(&["usage"]).expect(0).out.contains("0 requests"));
    // A server that says nothing of tokens leaves the price open.
    let turns = json!({ "quirks": ["no_usage"], "turns": [{ "text": "done" }] });
    let fake = Fake::script(&turns, &yard.path("."));
    priced(&yard, &fake, ", .price = .{ .input = 1.0, .output = 10.0, .currency = \"USD\" }");
    yard.chock(&["run", "one"]).expect(0);
    let words = yard.chock(&["usage"]).expect(0).out;
    let all = usage(&yard, &[]);
    assert_eq!((&all["total"]["unpriced"], &all["total"]["uncounted"]), (&json!(1), &json!(1)));
    assert!(words.contains("cost of 1 unknown") && !words.contains("free"), "{words}");
}

/// The newest session's id.
fn session(yard: &Yard) -> String {
    let log = yard.logs().pop().expect("a log");
    log.file_stem().and_then(|name| name.to_str()).expect("an id").to_owned()
}
