//! Anthropic's Messages against the strict fake, which refuses what the real server would.

use chock_log::{Part, Stop};
use chock_provider::{Anthropic, Endpoint, Message, ProviderFault};
use serde_json::{Value, json};

use crate::bench::{KEY, Key, answer, ask, context, endpoint, play, shown, user, waits};
use crate::fake::Fake;

fn model(endpoint: Endpoint) -> Anthropic {
    Anthropic::new(endpoint, Box::new(Key)).unwrap()
}

fn thinking(fake: &Fake) -> Endpoint {
    Endpoint { effort: Some("high".to_owned()), ..endpoint(&fake.base_url()) }
}

#[test]
fn the_plain_scenarios_are_played_on_both_versions() {
    for version in [None, Some("2026-10-21")] {
        for (scenario, replies) in
            [("01", 4), ("02", 3), ("03", 2), ("11", 4), ("12", 5), ("50", 51)]
        {
            let fake = Fake::start(scenario, &["--key", KEY]);
            let api_version = version.map(str::to_owned);
            let mut model = model(Endpoint { api_version, ..endpoint(&fake.base_url()) });
            let said = play(&mut model, &mut context("go"));
            assert_eq!(said.len(), replies, "{scenario}");
            fake.assert_finished();
            if scenario != "12" {
                // Arguments that were no JSON cannot go back as they were.
                assert_eq!(fake.state()["warnings"], json!([]), "{scenario}");
            }
        }
    }
}

#[test]
fn the_key_is_in_the_header_of_the_version_and_nowhere_else() {
    for (version, header, value) in [
        ("2023-06-01", "x-api-key", KEY.to_owned()),
        ("2026-10-21", "authorization", format!("Bearer {KEY}")),
    ] {
        let fake = Fake::start("01", &["--key", KEY]);
        let api_version = Some(version.to_owned());
        play(
            &mut model(Endpoint { api_version, ..endpoint(&fake.base_url()) }),
            &mut context("go"),
        );
        for request in fake.requests() {
            assert_eq!(request["headers"][header], value);
            assert_eq!(request["headers"]["anthropic-version"], version);
            let mut rest = request.clone();
            rest["headers"][header] = Value::Null;
            assert!(!rest.to_string().contains(KEY), "{rest}");
        }
    }
}

#[test]
fn thinking_goes_back_byte_for_byte_and_only_to_its_own_model() {
    for options in [vec![], vec!["--adaptive-only"]] {
        let fake = Fake::start("04", &options);
        let mut talk = context("go");
        let said = play(&mut model(thinking(&fake)), &mut talk);
        let Some(Part::Thinking(first)) = said[0].message.parts.first() else { panic!("{said:?}") };
        assert!(first.text.ends_with("carefully, 慎重に.") && first.signature.is_some());
        let redacted = said[2].message.parts.iter().any(|part| {
            matches!(part, Part::Thinking(thought) if thought.redacted && thought.text.is_empty())
        });
        assert!(redacted, "{:?}", said[2]);
        fake.assert_finished();

        let other = Fake::start(r#"{"turns": [{"text": "hello"}]}"#, &[]);
        let endpoint = Endpoint { model: "another".to_owned(), ..endpoint(&other.base_url()) };
        talk.messages.push(user("and now?"));
        ask(&mut model(endpoint), &talk).0.unwrap();
        other.assert_finished();
        assert!(!other.requests()[0]["body"].to_string().contains("signature"));
    }
}

#[test]
fn a_model_that_takes_over_inside_a_turn_is_asked_to_think_from_its_own_reply_on() {
    let call = json!([{"name": "run_command", "input": {"command": "true"}}]);
    let turn = json!({"thinking": "hm", "tools": call});
    let turns = json!({"turns": [turn, turn, turn, {"text": "done"}]});
    let fake = Fake::start(&turns.to_string(), &[]);
    let mut talk = context("go");
    let another = Endpoint { model: "another".to_owned(), ..thinking(&fake) };
    for endpoint in [thinking(&fake), another.clone(), another.clone(), another] {
        let reply = ask(&mut model(endpoint), &talk).0.unwrap();
        answer(&mut talk, &reply);
    }
    fake.assert_finished();
    let asked = fake.requests();
    let asked: Vec<_> = asked.iter().map(|it| !it["body"]["thinking"].is_null()).collect();
    assert_eq!(asked, [true, false, true, true]);
    assert!(fake.requests().iter().all(|it| it["body"]["output_config"]["effort"] == "high"));
}

#[test]
fn the_cache_is_used_and_counted() {
    let fake = Fake::start("01", &[]);
    let mut talk = context("go");
    talk.system = "You are a test. ".repeat(600);
    let said = play(&mut model(endpoint(&fake.base_url())), &mut talk);
    assert!(said[0].tokens.unwrap().cache_write > 1000, "{:?}", said[0].tokens);
    for reply in &said[1..] {
        let tokens = reply.tokens.unwrap();
        assert!(tokens.cache_read > 1000 && tokens.input < 1000, "{tokens:?}");
        assert!(tokens.output > 0, "{tokens:?}");
    }
    let marks = |request: &Value| request["body"].to_string().matches("cache_control").count();
    assert!(fake.requests().iter().all(|request| (3..=4).contains(&marks(request))));
}

#[test]
fn a_busy_server_is_waited_for_and_a_refusal_is_a_reply() {
    let fake = Fake::start("05", &[]);
    let (reply, deltas) = ask(&mut model(endpoint(&fake.base_url())), &context("go"));
    assert_eq!(reply.unwrap().message.text(), "The fourth try worked.");
    assert_eq!(waits(&deltas), [(2, 2), (1, 3), (1, 4)]);
    fake.assert_finished();

    let fake = Fake::start("07", &[]);
    let (reply, _) = ask(&mut model(endpoint(&fake.base_url())), &context("go"));
    let Stop::Refused { category, explanation } = reply.unwrap().message.stop else { panic!() };
    assert!(category.is_some() || explanation.is_some());
    fake.assert_finished();
}

#[test]
fn empty_and_short_replies_leave_a_conversation_that_is_taken() {
    let fake = Fake::start("08", &[]);
    let mut model = model(endpoint(&fake.base_url()));
    let mut talk = context("go");
    let mut stops = Vec::new();
    for _ in 0..3 {
        let reply = ask(&mut model, &talk).0.unwrap();
        answer(&mut talk, &reply);
        talk.messages.push(user("go on"));
        stops.push(reply.message.stop);
    }
    assert_eq!(stops, [Stop::Finished, Stop::Length, Stop::Finished]);
    fake.assert_finished();
}

#[test]
fn a_cut_reply_is_tried_once_more_and_then_reported() {
    let fake = Fake::start("09", &[]);
    let mut model = model(endpoint(&fake.base_url()));
    let (reply, deltas) = ask(&mut model, &context("go"));
    match reply {
        Ok(reply) => assert_eq!(shown(&deltas), reply.message.text()),
        Err(fault) => assert!(matches!(fault, ProviderFault::Cut { .. }), "{fault}"),
    }
    assert_eq!(fake.requests().len(), 2, "one try more, and not two");
}

#[test]
fn faults_inside_a_stream_are_told_and_nothing_hangs() {
    let fake = Fake::start("13", &[]);
    let mut model = model(endpoint(&fake.base_url()));
    let mut words = Vec::new();
    for _ in 0..12 {
        match ask(&mut model, &context("go")).0 {
            Ok(reply) => words.push(reply.message.text()),
            Err(fault) => words.push(fault.to_string()),
        }
        if words.last().is_some_and(|last| last == "The end.") {
            break;
        }
    }
    assert_eq!(words.last().map(String::as_str), Some("The end."), "{words:?}");
    assert!(words.iter().any(|word| word == "Slow but whole."), "{words:?}");
    assert_eq!(fake.state()["finished"], true, "{words:?}");
}

#[test]
fn whatever_stands_in_a_session_is_written_as_the_server_wants_it() {
    let fake = Fake::start(r#"{"turns": [{"text": "a"}, {"text": "b"}, {"text": "c"}]}"#, &[]);
    let mut model = model(endpoint(&fake.base_url()));
    let call = |id: &str, name: &str, arguments: &str| {
        let (id, name) = (id.to_owned(), name.to_owned());
        Part::Call(chock_log::ToolCall { id, name, arguments: arguments.to_owned() })
    };
    let reply = |parts: Vec<Part>| {
        Message::Model(chock_log::ModelMessage {
            provider: "elsewhere".to_owned(),
            model: "m".to_owned(),
            parts,
            stop: Stop::Calls,
        })
    };
    let result = |call: &str, text: &str| Message::Result {
        call: call.to_owned(),
        tool: "read_file".to_owned(),
        text: text.to_owned(),
        is_error: true,
    };
    // It begins with a reply; ids, names and arguments that another wire took; a result is missing
    // and one is empty; two replies stand together; and the last word is the model's.
    let mut talk = context("");
    talk.messages = vec![
        reply(vec![Part::Text(" ".to_owned()), call("call:1/x", "read file!", "not json")]),
        result("call:1/x", ""),
        user("words between"),
        reply(vec![call("b", "read_file", "[1]"), call("c", "read_file", "")]),
        result("c", "found"),
        reply(vec![Part::Text("one".to_owned())]),
        reply(vec![Part::Text("two".to_owned())]),
    ];
    for _ in 0..3 {
        let said = ask(&mut model, &talk).0.unwrap();
        talk.messages.push(Message::Model(said.message));
    }
    fake.assert_finished();
}

#[test]
fn a_wrong_key_a_wrong_model_and_a_long_context_are_told_apart() {
    let wrong = Fake::start("01", &["--key", "another-key-0123456789"]);
    let fault = ask(&mut model(endpoint(&wrong.base_url())), &context("go")).0.unwrap_err();
    assert!(matches!(fault, ProviderFault::Key { .. }), "{fault}");
    for (fault, expected) in [
        (r#"{"kind": "model_not_found"}"#, "NoSuchModel"),
        (r#"{"kind": "context_too_long"}"#, "ContextTooLong"),
        (r#"{"kind": "quota"}"#, "OutOfCredit"),
    ] {
        let fake = Fake::start(&format!(r#"{{"turns": [{{"fault": {fault}}}]}}"#), &[]);
        let told = ask(&mut model(endpoint(&fake.base_url())), &context("go")).0.unwrap_err();
        assert!(format!("{told:?}").starts_with(expected), "{told:?}");
    }
}
