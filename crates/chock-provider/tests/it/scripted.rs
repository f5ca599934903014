//! Scripts.

use std::thread;
use std::time::{Duration, Instant};

use chock_log::{Cost, Part, Stop};
use chock_provider::{Cancel, Model, ProviderFault, Scripted};

use crate::bench::{answer, ask, context, play};

const SCRIPT: &str = r#"{"about": "a test", "turns": [
    {"thinking": "hm", "text": "one\ntwo", "tools": [
        {"name": "read_file", "input": {"a": "x", "b": 1}},
        {"name": "run_command", "raw_arguments": "{broken"}],
     "usage": {"input": 10, "output": 3, "cache_read": 4}},
    {"tools": [{"name": "run_command"}]},
    {"text": "half", "stop": "length"},
    {"refusal": {"text": "no", "category": "c", "explanation": "why"}},
    {"refusal": "no"}
]}"#;

fn scripted() -> Scripted {
    Scripted::new("script", "demo", SCRIPT).unwrap()
}

#[test]
fn turns_are_played_in_order() {
    let (mut model, mut context) = (scripted(), context("go"));
    let said = play(&mut model, &mut context);
    assert_eq!(said.len(), 3);
    assert_eq!(said[0].tokens.unwrap().input, 6);
    assert_eq!(said[0].cost, Cost::Free);
    assert_eq!(said[0].message.text(), "one\ntwo");
    assert!(matches!(&said[0].message.parts[0], Part::Thinking(thinking) if thinking.text == "hm"));
    let calls: Vec<_> = said.iter().flat_map(|reply| reply.message.calls()).collect();
    let arguments: Vec<_> = calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, [r#"{"a":"x","b":1}"#, "{broken", "{}"]);
    assert_eq!(said[2].message.stop, Stop::Length);

    let refused = ask(&mut model, &context).0.unwrap();
    let (category, explanation) = (Some("c".to_owned()), Some("why".to_owned()));
    assert_eq!(refused.message.stop, Stop::Refused { category, explanation });
    answer(&mut context, &refused);
    assert!(matches!(ask(&mut model, &context).0.unwrap().message.stop, Stop::Refused { .. }));
    let fault = ask(&mut model, &context).0.unwrap_err();
    assert_eq!(fault.to_string(), "the script of `script` has 5 turns, and all were played");
}

#[test]
fn a_session_goes_on_where_it_was_left() {
    let mut context = context("go");
    for _ in 0..2 {
        let reply = ask(&mut scripted(), &context).0.unwrap();
        answer(&mut context, &reply);
    }
    assert_eq!(ask(&mut scripted(), &context).0.unwrap().message.text(), "half");
}

#[test]
fn a_context_that_was_shortened_does_not_play_a_turn_twice() {
    let (mut model, mut context) = (scripted(), context("go"));
    play(&mut model, &mut context);
    context.messages.truncate(1);
    let next = ask(&mut model, &context).0.unwrap();
    assert!(matches!(next.message.stop, Stop::Refused { .. }), "{next:?}");
}

#[test]
fn a_wrong_script_is_refused_with_its_place() {
    for script in [
        "",
        "{",
        "{\"turns\": 1}",
        r#"{"turns": [{"txet": "x"}]}"#,
        r#"{"turns": [{"tools": [{"name": "x", "input": []}]}]}"#,
    ] {
        let fault = Scripted::new("script", "demo", script).unwrap_err();
        let source = std::error::Error::source(&fault).unwrap().to_string();
        assert!(source.contains("line"), "{script}: {source}");
    }
}

#[test]
fn a_pause_is_interrupted() {
    let script = r#"{"turns": [{"text": "late", "delay_ms": 60000}]}"#;
    let mut model = Scripted::new("script", "demo", script).unwrap();
    let cancel = Cancel::new();
    let begun = Instant::now();
    thread::spawn({
        let cancel = cancel.clone();
        move || cancel.trigger()
    });
    let reply = model.reply(&context("go"), &mut |_| {}, &cancel);
    assert!(matches!(reply, Err(ProviderFault::Cancelled)), "{reply:?}");
    assert!(begun.elapsed() < Duration::from_secs(10));
}
