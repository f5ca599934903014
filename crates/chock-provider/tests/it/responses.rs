//! `OpenAI`'s Responses against the strict fake, with a key and with a ChatGPT account.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use chock_log::{Delta, ModelMessage, Part, Stop, Thinking, ToolCall};
use chock_provider::{
    Cancel, Credentials, CredentialsFault, Endpoint, Message, Model, Pass, ProviderFault, Responses,
};
use serde_json::{Value, json};

use crate::bench::{KEY, Key, answer, ask, context, endpoint, play, shown, user, waits};
use crate::fake::Fake;
use crate::raw::{Raw, bytes, events};

/// The account that the fake knows.
const ACCOUNT: &str = "acct-fake-0001";

/// A token of an account, and the tokens that renewing it brings.
#[derive(Clone, Default)]
struct Account {
    tokens: Arc<Mutex<Vec<&'static str>>>,
    refused: Arc<Mutex<Vec<String>>>,
}

impl Account {
    fn new(tokens: &[&'static str]) -> Self {
        Self { tokens: Arc::new(Mutex::new(tokens.to_vec())), ..Self::default() }
    }
}

impl Credentials for Account {
    fn pass(&self) -> Result<Option<Pass>, CredentialsFault> {
        let tokens = self.tokens.lock().unwrap();
        let account = Some(ACCOUNT.to_owned());
        Ok(tokens.first().map(|token| Pass { secret: (*token).to_owned().into(), account }))
    }

    fn renew(&self, refused: &Pass) -> Result<bool, CredentialsFault> {
        use secrecy::ExposeSecret;
        self.refused.lock().unwrap().push(refused.secret.expose_secret().to_owned());
        let mut tokens = self.tokens.lock().unwrap();
        if tokens.len() > 1 {
            tokens.remove(0);
            return Ok(true);
        }
        Ok(false)
    }
}

pub(crate) fn with_key(fake: &Fake) -> Responses {
    Responses::new(endpoint(&fake.base_url()), Box::new(Key)).unwrap()
}

/// The back end of an account, at the fake.
fn account(fake: &Fake) -> Endpoint {
    let base_url = fake.base_url().replace("/v1", "/backend-api/codex");
    Endpoint { originator: Some("chock".to_owned()), ..endpoint(&base_url) }
}

pub(crate) fn with_account(fake: &Fake) -> Responses {
    Responses::new(account(fake), Box::new(Account::new(&[KEY]))).unwrap()
}

/// Starts a scenario, and both models that can play it.
fn both(check: impl Fn(&mut Responses, &Fake), scenario: &str) {
    for make in [with_key, with_account] {
        let fake = Fake::start(scenario, &["--key", KEY]);
        check(&mut make(&fake), &fake);
    }
}

#[test]
fn the_plain_scenarios_are_played_with_a_key_and_with_an_account() {
    for (scenario, replies) in
        [("01", 4), ("02", 3), ("03", 2), ("04", 4), ("11", 4), ("12", 5), ("50", 51)]
    {
        let check = |model: &mut Responses, fake: &Fake| {
            let said = play(model, &mut context("go"));
            assert_eq!(said.len(), replies, "{scenario}");
            fake.assert_finished();
            if scenario != "12" {
                // Arguments that were no JSON cannot go back as they were.
                assert_eq!(fake.state()["warnings"], json!([]), "{scenario}");
            }
        };
        both(check, scenario);
    }
}

#[test]
fn reasoning_goes_back_as_it_came_and_only_to_its_own_model() {
    let check = |model: &mut Responses, fake: &Fake| {
        let mut talk = context("go");
        let said = play(model, &mut talk);
        let Some(Part::Thinking(first)) = said[0].message.parts.first() else { panic!("{said:?}") };
        let sealed: Value = serde_json::from_str(first.signature.as_ref().unwrap()).unwrap();
        assert_eq!(sealed["type"], "reasoning");
        fake.assert_finished();
        let requests = fake.requests();
        let input = requests.last().unwrap()["body"]["input"].as_array().unwrap().clone();
        assert!(input.contains(&sealed), "{input:?}");

        let other = Fake::start(r#"{"turns": [{"text": "hello"}]}"#, &["--key", KEY]);
        let endpoint = Endpoint { model: "another".to_owned(), ..endpoint(&other.base_url()) };
        talk.messages.push(user("and now?"));
        ask(&mut Responses::new(endpoint, Box::new(Key)).unwrap(), &talk).0.unwrap();
        other.assert_finished();
        assert!(!other.requests()[0]["body"]["input"].to_string().contains("encrypted_content"));
    };
    both(check, "04");
}

#[test]
fn a_key_and_an_account_are_told_apart_by_what_is_sent() {
    let mut talk = context("go");
    talk.max_output_tokens = Some(9);
    let fake = Fake::start(r#"{"turns": [{"text": "a"}]}"#, &["--key", KEY]);
    ask(&mut with_key(&fake), &talk).0.unwrap();
    let request = &fake.requests()[0];
    assert_eq!(request["body"]["max_output_tokens"], 16, "the least that the wire takes");
    assert_eq!(request["headers"]["originator"], Value::Null);

    let fake = Fake::start(r#"{"turns": [{"text": "a"}]}"#, &["--key", KEY]);
    ask(&mut with_account(&fake), &talk).0.unwrap();
    fake.assert_finished();
    let request = &fake.requests()[0];
    assert_eq!(request["body"]["max_output_tokens"], Value::Null);
    assert_eq!(request["body"]["prompt_cache_key"], "a-conversation");
    assert_eq!(request["body"]["store"], false);
    let headers = &request["headers"];
    assert_eq!(headers["chatgpt-account-id"], ACCOUNT);
    assert_eq!(headers["originator"], "chock");
    assert_eq!(headers["session_id"], "a-conversation");
    assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
    let agent = headers["user-agent"].as_str().unwrap();
    assert!(agent.starts_with("chock/") && agent.ends_with(')'), "{agent}");
    let mut rest = request.clone();
    rest["headers"]["authorization"] = Value::Null;
    assert!(!rest.to_string().contains(KEY), "{rest}");
}

#[test]
fn a_refused_token_is_renewed_once() {
    let (old, older) = ("an-old-token-0123456789", "an-older-token-0123456789");
    let fake = Fake::start(r#"{"turns": [{"text": "a"}]}"#, &["--key", KEY]);
    let tokens = Account::new(&[old, KEY]);
    let mut model = Responses::new(account(&fake), Box::new(tokens.clone())).unwrap();
    assert_eq!(ask(&mut model, &context("go")).0.unwrap().message.text(), "a");
    assert_eq!(*tokens.refused.lock().unwrap(), [old]);
    fake.assert_finished();

    // The second refusal is reported, and so is one that nothing can be done about.
    for (given, requests) in [(&[old, older, KEY][..], 2), (&[old], 1)] {
        let fake = Fake::start(r#"{"turns": [{"text": "a"}]}"#, &["--key", KEY]);
        let tokens = Account::new(given);
        let mut model = Responses::new(account(&fake), Box::new(tokens.clone())).unwrap();
        let fault = ask(&mut model, &context("go")).0.unwrap_err();
        assert!(matches!(fault, ProviderFault::Key { status: 401, .. }), "{fault:?}");
        assert_eq!(fake.requests().len(), requests);
        assert_eq!(tokens.refused.lock().unwrap().len(), 1);
    }
    let fake = Fake::start("01", &["--key", KEY]);
    let model = Responses::new(account(&fake), Box::new(Account::new(&[old, KEY]))).unwrap();
    let listed = model.models(&Cancel::new()).unwrap();
    assert_eq!((listed[0].name.as_str(), listed[0].context_tokens), ("fake-model", Some(272_000)));
}

#[test]
fn a_busy_server_is_waited_for_and_a_refusal_is_a_reply() {
    both(
        |model, fake| {
            let (reply, deltas) = ask(model, &context("go"));
            assert_eq!(reply.unwrap().message.text(), "The fourth try worked.");
            assert_eq!(waits(&deltas), [(2, 2), (1, 3), (1, 4)]);
            fake.assert_finished();
        },
        "05",
    );
    both(
        |model, fake| {
            let (reply, _) = ask(model, &context("go"));
            let explanation = Some("I can't help with that.".to_owned());
            let refused = Stop::Refused { category: None, explanation };
            assert_eq!(reply.unwrap().message.stop, refused);
            fake.assert_finished();
        },
        "07",
    );
}

#[test]
fn empty_and_short_replies_leave_a_conversation_that_is_taken() {
    both(
        |model, fake| {
            let mut talk = context("go");
            let mut stops = Vec::new();
            for _ in 0..3 {
                let reply = ask(model, &talk).0.unwrap();
                answer(&mut talk, &reply);
                talk.messages.push(user("go on"));
                stops.push(reply.message.stop);
            }
            assert_eq!(stops, [Stop::Finished, Stop::Length, Stop::Finished]);
            fake.assert_finished();
        },
        "08",
    );
}

#[test]
fn a_cut_reply_is_tried_once_more_and_then_reported() {
    both(
        |model, fake| {
            let (reply, deltas) = ask(model, &context("go"));
            assert!(matches!(reply, Err(ProviderFault::Cut { .. })), "{reply:?}");
            assert_eq!(deltas.iter().filter(|delta| **delta == Delta::Restart).count(), 1);
            assert_eq!(fake.requests().len(), 2, "one try more, and not two");
            let (reply, _) = ask(model, &context("go"));
            assert_eq!(reply.unwrap().message.text(), "The reply that got through.");
            fake.assert_finished();
        },
        "09",
    );
}

#[test]
fn faults_inside_a_stream_are_told_and_nothing_hangs() {
    both(
        |model, fake| {
            let words = RefCell::new(Vec::new());
            for _ in 0..12 {
                words.borrow_mut().push(match ask(model, &context("go")).0 {
                    Ok(reply) => reply.message.text(),
                    Err(fault) => fault.to_string(),
                });
                if words.borrow().last().is_some_and(|last| last == "The end.") {
                    break;
                }
            }
            let words = words.into_inner();
            assert_eq!(words.last().map(String::as_str), Some("The end."), "{words:?}");
            assert!(words.iter().any(|word| word == "Slow but whole."), "{words:?}");
            assert_eq!(fake.state()["finished"], true, "{words:?}");
        },
        "13",
    );
}

#[test]
fn whatever_stands_in_a_session_is_written_as_the_server_wants_it() {
    let call = |id: &str, name: &str, arguments: &str| {
        let (id, name) = (id.to_owned(), name.to_owned());
        Part::Call(ToolCall { id, name, arguments: arguments.to_owned() })
    };
    let thought = |signature: &str| {
        let (text, signature) = ("hm".to_owned(), Some(signature.to_owned()));
        Part::Thinking(Thinking { text, signature, redacted: false })
    };
    let reply = |parts: Vec<Part>| {
        let (provider, model) = ("test".to_owned(), "fake-model".to_owned());
        Message::Model(ModelMessage { provider, model, parts, stop: Stop::Calls })
    };
    let result = |call: &str, text: &str| Message::Result {
        call: call.to_owned(),
        tool: "read_file".to_owned(),
        text: text.to_owned(),
        is_error: true,
    };
    // It begins with a reply, with the thinking of another wire; ids, names and arguments are odd;
    // results are missing and empty; reasoning stands alone; the last word is the model's.
    let messages = vec![
        reply(vec![thought("EqQBCgIYAhIM"), call("call:1/x", "read file!", "not json")]),
        result("call:1/x", ""),
        user("words between"),
        reply(vec![call("b", "read_file", "[1]"), call("c", "read_file", "")]),
        result("c", "found"),
        reply(vec![Part::Text("one".to_owned()), thought(r#"{"type":"reasoning","summary":[]}"#)]),
        reply(vec![thought(r#"{"type":"reasoning"}"#)]),
        reply(vec![thought(r#"{"phase":"final_answer"}"#), Part::Text("two".to_owned())]),
    ];
    both(
        |model, fake| {
            let mut talk = context("");
            talk.messages = messages.clone();
            for _ in 0..3 {
                let said = ask(model, &talk).0.unwrap();
                talk.messages.push(Message::Model(said.message));
            }
            fake.assert_finished();
            let input = fake.requests()[0]["body"]["input"].clone();
            let input = input.as_array().unwrap();
            let last = &input[input.len() - 2];
            assert_eq!(
                (&last["phase"], &last["role"]),
                (&json!("final_answer"), &json!("assistant"))
            );
        },
        r#"{"turns": [{"text": "a"}, {"text": "b"}, {"text": "c"}]}"#,
    );
}

#[test]
fn a_wrong_model_a_long_context_and_an_empty_account_are_told_apart() {
    for (fault, expected) in [
        (r#"{"kind": "model_not_found"}"#, "NoSuchModel"),
        (r#"{"kind": "context_too_long"}"#, "ContextTooLong"),
        (r#"{"kind": "quota"}"#, "OutOfCredit"),
    ] {
        both(
            |model, fake| {
                let told = ask(model, &context("go")).0.unwrap_err();
                assert!(format!("{told:?}").starts_with(expected), "{told:?}");
                let asked = fake.requests().into_iter().filter(|it| it["method"] == "POST");
                assert_eq!(asked.count(), 1, "{expected}");
            },
            &format!(r#"{{"turns": [{{"fault": {fault}}}]}}"#),
        );
    }
}

#[test]
fn a_limit_of_the_plan_stops_at_once_and_says_when_it_resets() {
    let scenario = r#"{"turns": [{"fault": {"kind": "rate_limit", "usage_limit": true, "resets_in": 11100}}]}"#;
    let fake = Fake::start(scenario, &["--key", KEY]);
    let (reply, deltas) = ask(&mut with_account(&fake), &context("go"));
    let fault = reply.unwrap_err();
    let ProviderFault::OutOfCredit { resets: Some(resets), .. } = &fault else {
        panic!("{fault:?}")
    };
    assert!((11_095..=11_100).contains(&resets.as_secs()), "{resets:?}");
    assert!(fault.to_string().contains("again in 3 h 5 min"), "{fault}");
    assert_eq!((waits(&deltas).len(), fake.requests().len()), (0, 1));

    let body = r#"{"error":{"type":"usage_not_included","message":"To use it, upgrade to Plus."}}"#;
    let raw =
        Raw::start(vec![bytes("429 Too Many Requests", &["content-type: application/json"], body)]);
    let mut model = Responses::new(endpoint(&raw.base_url()), Box::new(Key)).unwrap();
    let fault = ask(&mut model, &context("go")).0.unwrap_err();
    assert!(matches!(fault, ProviderFault::OutOfCredit { resets: None, .. }), "{fault:?}");
}

fn reply_of(body: &str) -> Result<chock_provider::Reply, ProviderFault> {
    let raw = Raw::start(vec![events(body), events(body)]);
    let mut model = Responses::new(endpoint(&raw.base_url()), Box::new(Key)).unwrap();
    ask(&mut model, &context("go")).0
}

fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
}

#[test]
fn a_thinner_stream_is_a_whole_reply() {
    // No sequence number, no place of an item, and no end of the arguments.
    let call = json!({"type": "function_call", "status": "completed", "id": "fc_1",
        "call_id": "call_1", "name": "read_file", "arguments": "{\"path\":\"a\"}"});
    let said = json!({"type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Looking."}]});
    let usage = json!({"input_tokens": 30, "output_tokens": 5, "total_tokens": 35});
    let whole = json!({"status": "completed", "output": [said, call], "usage": usage});
    let body = [
        json!({"type": "response.created", "response": {"id": "r", "object": "response", "status": "in_progress"}}),
        json!({"type": "response.output_text.delta", "delta": "Looking."}),
        json!({"type": "response.output_item.done", "item": said}),
        json!({"type": "response.output_item.added", "item": {"type": "function_call", "name": "read_file"}}),
        json!({"type": "response.function_call_arguments.delta", "delta": "{\"path\""}),
        json!({"type": "response.output_item.done", "item": call}),
        json!({"type": "response.completed", "response": whole}),
    ];
    let body: String = body.iter().map(event).collect();
    for body in [body, event(&json!({"type": "response.completed", "response": whole}))] {
        let reply = reply_of(&body).unwrap();
        assert_eq!(reply.message.text(), "Looking.");
        assert_eq!(reply.message.stop, Stop::Calls);
        assert_eq!(reply.message.calls().next().unwrap().arguments, r#"{"path":"a"}"#);
        assert_eq!(reply.tokens.unwrap().input, 30);
    }
    // One document in the place of a stream.
    let json = &["content-type: application/json"];
    let raw = Raw::start(vec![bytes("200 OK", json, whole.to_string())]);
    let mut model = Responses::new(endpoint(&raw.base_url()), Box::new(Key)).unwrap();
    let (reply, deltas) = ask(&mut model, &context("go"));
    assert_eq!((reply.unwrap().message.stop, shown(&deltas)), (Stop::Calls, "Looking.".to_owned()));
}

#[test]
fn the_end_of_a_reply_is_recognised_and_failures_are_told_apart() {
    let said = json!({"type": "message", "content": [{"type": "output_text", "text": "x"}]});
    let done = event(&json!({"type": "response.output_item.done", "item": said}));
    let failed = |code: &str, message: &str| {
        let error = json!({"code": code, "message": message});
        event(&json!({"type": "response.failed", "response": {"status": "failed", "error": error}}))
    };
    assert!(matches!(reply_of(&done), Err(ProviderFault::Cut { .. })));
    let tail = r#"data: {"type":"response.completed","#;
    assert!(matches!(reply_of(&format!("{done}{tail}")), Err(ProviderFault::Cut { .. })));
    for (code, message, expected) in [
        ("context_length_exceeded", "too long", "ContextTooLong"),
        ("insufficient_quota", "nothing left", "OutOfCredit"),
        ("usage_not_included", "not in your plan", "OutOfCredit"),
        ("invalid_prompt", "no", "Interrupted"),
        ("rate_limit_exceeded", "Please try again in 3600s.", "RateLimited"),
    ] {
        let fault = reply_of(&format!("{done}{}", failed(code, message))).unwrap_err();
        assert!(format!("{fault:?}").starts_with(expected), "{code}: {fault:?}");
    }
    let reply = reply_of(&failed("cyber_policy", "not this")).unwrap();
    assert!(matches!(reply.message.stop, Stop::Refused { .. }), "{reply:?}");
    let error = json!({"type": "error", "code": "context_length_exceeded", "message": "long"});
    assert!(matches!(reply_of(&event(&error)), Err(ProviderFault::ContextTooLong { .. })));

    let short = |reason: &str| {
        let call = json!({"type": "function_call", "status": "incomplete", "call_id": "c",
            "name": "read_file", "arguments": "{\"pa"});
        let item = event(&json!({"type": "response.output_item.done", "item": call}));
        let details = json!({"reason": reason});
        let response = json!({"status": "incomplete", "incomplete_details": details});
        format!(
            "{done}{item}{}",
            event(&json!({"type": "response.incomplete", "response": response}))
        )
    };
    let reply = reply_of(&short("max_output_tokens")).unwrap();
    assert_eq!((reply.message.stop.clone(), reply.message.calls().count()), (Stop::Length, 0));
    let reply = reply_of(&short("content_filter")).unwrap();
    assert!(
        matches!(&reply.message.stop, Stop::Refused { category: Some(it), .. } if it == "content_filter")
    );
}
