//! The habits of compatible servers.

use chock_log::Part;
use chock_provider::{OutputLimit, ReasoningReplay, SystemRole, ToolStreaming, UsageRequest};

use crate::bench::{context, endpoint, model, play};
use crate::fake::Fake;

#[test]
fn every_quirk_reads_the_same() {
    check("openai");
}

#[test]
fn every_quirk_reads_the_same_in_the_other_dialect() {
    check("compat");
}

fn check(dialect: &str) {
    let plain = calls(&["--dialect", dialect]);
    assert_eq!(plain.len(), 5);
    for quirk in [
        "no_usage",
        "no_done",
        "empty_choices",
        "finish_stop",
        "no_index",
        "args_object",
        "whole_calls",
        "interleave",
        "null_content",
        "refusal_filter",
        "crlf",
        "no_space",
        "no_comments",
    ] {
        let calls = calls(&["--quirk", quirk, "--dialect", dialect, "--seed", quirk]);
        assert_eq!(calls, plain, "{quirk} {dialect}");
    }
}

/// Plays the scenario of parallel calls and lists them with their arguments' values.
fn calls(options: &[&str]) -> Vec<(String, serde_json::Value)> {
    let fake = Fake::start("02", options);
    let said = play(&mut model(endpoint(&fake.base_url())), &mut context("go"));
    fake.assert_finished();
    let counted = said.iter().all(|reply| reply.tokens.is_some());
    assert_eq!(counted, !options.contains(&"no_usage"), "{options:?}");
    let calls = said.iter().flat_map(|reply| reply.message.calls());
    let value = |text: &str| serde_json::from_str(text).unwrap();
    calls.map(|call| (call.name.clone(), value(&call.arguments))).collect()
}

#[test]
fn all_quirks_at_once() {
    let quirks = ["no_usage", "no_done", "empty_choices", "finish_stop", "no_index", "crlf"];
    let mut options = vec!["--dialect", "compat"];
    options.extend(quirks.iter().flat_map(|quirk| ["--quirk", quirk]));
    for scenario in ["01", "02", "12"] {
        let fake = Fake::start(scenario, &options);
        play(&mut model(endpoint(&fake.base_url())), &mut context("go"));
        fake.assert_finished();
    }
}

#[test]
fn broken_arguments_go_back_as_json() {
    let fake = Fake::start("12", &["--dialect", "compat", "--quirk", "parse_arguments"]);
    let mut context = context("go");
    let said = play(&mut model(endpoint(&fake.base_url())), &mut context);
    fake.assert_finished();
    let raw = &said[0].message.calls().next().unwrap().arguments;
    assert_eq!(raw, "{\"path\": \"parser.py", "what the model wrote is kept for the log");
}

#[test]
fn the_developer_role_is_sent_only_where_configured() {
    let options = ["--dialect", "compat", "--quirk", "no_developer"];
    let fake = Fake::start("01", &options);
    play(&mut model(endpoint(&fake.base_url())), &mut context("go"));
    fake.assert_finished();

    let fake = Fake::start("01", &[]);
    let mut endpoint = endpoint(&fake.base_url());
    endpoint.quirks.system_role = SystemRole::Developer;
    play(&mut model(endpoint), &mut context("go"));
    fake.assert_finished();
    assert_eq!(fake.requests()[0]["body"]["messages"][0]["role"], "developer");
}

#[test]
fn reasoning_goes_back_where_configured() {
    let fake = Fake::start("04", &["--dialect", "compat"]);
    let mut endpoint = endpoint(&fake.base_url());
    endpoint.quirks.reasoning = ReasoningReplay::ReasoningContent;
    play(&mut model(endpoint), &mut context("go"));
    fake.assert_finished();
    // A changed reasoning would be a warning.
    assert_eq!(fake.state()["warnings"], serde_json::json!([]));
    let message = &fake.requests()[1]["body"]["messages"][2];
    assert!(message["reasoning_content"].as_str().unwrap().ends_with("慎重に."), "{message}");
}

#[test]
fn replies_with_tools_can_come_whole() {
    for scenario in ["01", "02", "12"] {
        let fake = Fake::start(scenario, &[]);
        let mut endpoint = endpoint(&fake.base_url());
        endpoint.quirks.tool_streaming = ToolStreaming::Whole;
        let said = play(&mut model(endpoint), &mut context("go"));
        assert!(said.iter().all(|reply| reply.tokens.is_some()));
        fake.assert_finished();
        assert_eq!(fake.requests()[0]["body"]["stream"], false);
    }
}

#[test]
fn limits_and_counts_are_asked_for_as_configured() {
    let fake = Fake::start("01", &[]);
    let mut endpoint = endpoint(&fake.base_url());
    endpoint.model = "gpt-5-fake".to_owned();
    endpoint.effort = Some("high".to_owned());
    endpoint.quirks.output_limit = OutputLimit::MaxCompletionTokens;
    endpoint.quirks.usage = UsageRequest::Silent;
    let mut context = context("go");
    context.max_output_tokens = Some(1000);
    let said = play(&mut model(endpoint), &mut context);
    assert!(said.iter().all(|reply| reply.tokens.is_none()));
    fake.assert_finished();
    let body = &fake.requests()[0]["body"];
    assert_eq!(
        (&body["max_completion_tokens"], &body["reasoning_effort"]),
        (&1000.into(), &"high".into())
    );
}

#[test]
fn the_order_of_a_reply_is_kept() {
    let fake = Fake::start(
        r#"{"turns": [{"thinking": "t", "text": "x", "tools": [{"name": "run_command"}]}]}"#,
        &["--dialect", "compat"],
    );
    let (reply, _) = crate::bench::ask(&mut model(endpoint(&fake.base_url())), &context("go"));
    let parts = reply.unwrap().message.parts;
    let order = [Part::is_thinking, Part::is_text, Part::is_call];
    assert_eq!(parts.len(), 3, "{parts:?}");
    for (part, expected) in parts.iter().zip(order) {
        assert!(expected(part), "{parts:?}");
    }
}

trait Kind {
    fn is_thinking(&self) -> bool;
    fn is_text(&self) -> bool;
    fn is_call(&self) -> bool;
}

impl Kind for Part {
    fn is_thinking(&self) -> bool {
        matches!(self, Self::Thinking(_))
    }
    fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
    fn is_call(&self) -> bool {
        matches!(self, Self::Call(_))
    }
}
