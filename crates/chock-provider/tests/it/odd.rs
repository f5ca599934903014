//! Servers that answer oddly.

use std::io::Write;
use std::net::TcpStream;

use chock_log::{Cost, Price, Stop, Tokens};
use chock_provider::{ProviderFault, Reply};

use crate::bench::{KEY, ask, context, endpoint, model, waits};
use crate::raw::{Answering, DONE, FINISH, Raw, WORDS, bytes, events};

fn reply(answers: Vec<Answering>) -> Result<Reply, ProviderFault> {
    let raw = Raw::start(answers);
    ask(&mut model(endpoint(&raw.base_url())), &context("go")).0
}

fn said(answers: Vec<Answering>) -> String {
    reply(answers).unwrap().message.text()
}

fn json(status: &str, body: &str) -> Answering {
    bytes(status, &["content-type: application/json"], body)
}

#[test]
fn a_page_is_not_a_model() {
    for headers in [&["content-type: text/html"][..], &[][..]] {
        let page = bytes("200 OK", headers, "\n<!doctype html><title>Welcome</title>");
        let fault = reply(vec![page]).unwrap_err();
        let words = fault.to_string();
        assert!(matches!(fault, ProviderFault::NotAnApi { status: 200, .. }), "{fault:?}");
        assert!(words.contains("an HTML page (status 200)"), "{words}");
    }
    let fault = reply(vec![bytes("404 Not Found", &[], "404 page not found")]).unwrap_err();
    assert!(matches!(fault, ProviderFault::NotAnApi { status: 404, .. }), "{fault:?}");
}

#[test]
fn a_redirect_is_not_followed() {
    let raw = Raw::start(vec![
        bytes("307 Temporary Redirect", &["location: http://127.0.0.1:1/v1"], ""),
        events(FINISH),
    ]);
    let fault = ask(&mut model(endpoint(&raw.base_url())), &context("go")).0.unwrap_err();
    let ProviderFault::Redirect { to, .. } = &fault else { panic!("{fault:?}") };
    assert_eq!(to, "http://127.0.0.1:1/v1");
    assert_eq!(raw.requests().len(), 1);
}

#[test]
fn a_huge_error_is_cut_short() {
    let body = format!(r#"{{"error":{{"message":"{}"}}}}"#, "x".repeat(10 << 20));
    let fault = reply(vec![json("400 Bad Request", &body)]).unwrap_err();
    assert!(matches!(fault, ProviderFault::Rejected { status: 400, .. }), "{fault:?}");
    assert!(fault.to_string().len() < 600);
}

#[test]
fn a_quoted_credential_is_hidden() {
    let quoted = |status| json(status, &format!(r#"{{"error":{{"message":"bad key {KEY}!"}}}}"#));
    let error = format!("data: {{\"error\":{{\"message\":\"bad key {KEY}!\"}}}}\n\n");
    for answer in [quoted("401 Unauthorized"), quoted("400 Bad Request"), events(&error)] {
        let fault = reply(vec![answer]).unwrap_err();
        assert!(fault.to_string().contains("bad key (the credential)!"), "{fault}");
    }
}

#[test]
fn one_byte_at_a_time() {
    let body = format!("\u{feff}: hi\r\n\r\n{WORDS}{FINISH}{DONE}");
    let mut answer = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                      transfer-encoding: chunked\r\n\r\n"
        .to_owned()
        .into_bytes();
    for byte in body.bytes() {
        answer.extend([b"1\r\n".as_slice(), &[byte], b"\r\n"].concat());
    }
    answer.extend(b"0\r\n\r\n");
    let drip = move |mut stream: TcpStream| {
        stream.set_nodelay(true).unwrap();
        answer.iter().for_each(|byte| stream.write_all(&[*byte]).unwrap());
    };
    assert_eq!(said(vec![Box::new(drip)]), "hé");
}

#[test]
fn the_end_of_a_reply_is_recognised() {
    let call = |arguments: &str| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"id\":\"a\",\"function\":\
             {{\"name\":\"run_command\",\"arguments\":\"{arguments}\"}}}}]}}}}]}}\n\n"
        )
    };
    // (the stream, whether it is whole)
    let cases = [
        (format!("{WORDS}{FINISH}{DONE}"), true),
        (format!("{WORDS}{FINISH}"), true),
        (format!("{WORDS}{DONE}"), true),
        (format!("{WORDS}{}", FINISH.trim_end()), true),
        (format!("{WORDS}{}", DONE.trim_end()), true),
        (format!("{WORDS}{FINISH}data: {{broken\n\n"), true),
        (format!("{}{DONE}", call("{}")), true),
        (format!("{}{FINISH}", call("")), true),
        (WORDS.to_owned(), false),
        (format!("{WORDS}{}", &FINISH[..FINISH.len() - 8]), false),
        (String::new(), false),
        (call("{}"), false),
        (format!("{}{DONE}", call("")), false),
        (format!("{}{DONE}", call("{\\\"x\\\":")), false),
    ];
    for (body, whole) in cases {
        let reply = reply(vec![events(&body), events(&body)]);
        assert_eq!(reply.is_ok(), whole, "{body} {reply:?}");
        if let Err(fault) = reply {
            assert!(matches!(fault, ProviderFault::Cut { .. }), "{body} {fault:?}");
        }
    }
}

#[test]
fn a_call_broken_off_by_the_length_never_passes_for_a_whole_one() {
    let body = |arguments: &str| {
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"id\":\"a\",\"function\":\
             {{\"name\":\"run_command\",\"arguments\":\"{arguments}\"}}}}]}},\
             \"finish_reason\":\"length\"}}]}}\n\n"
        )
    };
    let message = reply(vec![events(&body(""))]).unwrap().message;
    assert_eq!((message.calls().count(), message.stop), (0, Stop::Length));
    let message = reply(vec![events(&body("{\\\"x\\\":"))]).unwrap().message;
    assert_eq!(
        (message.calls().next().unwrap().arguments.as_str(), message.stop.clone()),
        ("{\"x\":", Stop::Calls)
    );
}

#[test]
fn a_filtered_reply_runs_nothing() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"so\",\"tool_calls\":[{\"id\":\"a\",\
                \"function\":{\"name\":\"run_command\",\"arguments\":\"{}\"}}]},\
                \"finish_reason\":\"content_filter\"}]}\n\n";
    let message = reply(vec![events(body)]).unwrap().message;
    assert_eq!(message.calls().count(), 0);
    assert!(matches!(message.stop, Stop::Refused { .. }), "{message:?}");

    let refused = r#"{"error":{"message":"filtered","code":"content_filter"}}"#;
    let message = reply(vec![json("400 Bad Request", refused)]).unwrap().message;
    assert!(matches!(message.stop, Stop::Refused { .. }), "{message:?}");
}

#[test]
fn a_whole_document_is_read_where_a_stream_was_asked_for() {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"whole",
        "tool_calls":[{"id":"a","type":"function","function":{"name":"run_command","arguments":"{}"}}]},
        "finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#;
    for headers in [&["content-type: application/json"][..], &[][..]] {
        let reply = reply(vec![bytes("200 OK", headers, body)]).unwrap();
        assert_eq!((reply.message.text().as_str(), &reply.message.stop), ("whole", &Stop::Calls));
        assert_eq!(reply.tokens.unwrap().total(), 10);
    }
    let error = r#"{"error":{"message":"no","type":"x"}}"#;
    let fault = reply(vec![json("200 OK", error)]).unwrap_err();
    assert!(matches!(fault, ProviderFault::Interrupted { .. }), "{fault:?}");
}

#[test]
fn events_are_known_without_their_type() {
    for headers in [&["content-type: text/plain"][..], &[][..]] {
        let body = format!("\n: hi\n\n{WORDS}{FINISH}");
        assert_eq!(said(vec![bytes("200 OK", headers, body)]), "hé");
    }
}

#[test]
fn counts_may_come_anywhere() {
    let usage = |input, output| {
        format!(
            "\"usage\":{{\"prompt_tokens\":{input},\"completion_tokens\":{output},\
                 \"prompt_tokens_details\":{{\"cached_tokens\":4}},\
                 \"completion_tokens_details\":{{\"reasoning_tokens\":2}}}}"
        )
    };
    let chunk = |rest: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{}}{rest}}}],{}}}\n\n", usage(10, 1))
    };
    let last = format!("data: {{\"choices\":[],{}}}\n\n", usage(10, 6));
    let tokens = Tokens { input: 6, cache_read: 4, cache_write: 0, output: 6, reasoning: 2 };
    for body in [
        format!("{}{FINISH}{last}{DONE}", chunk("")),
        format!("{}{last}", chunk(",\"finish_reason\":\"stop\"")),
        format!("{last}{WORDS}{FINISH}"),
    ] {
        assert_eq!(reply(vec![events(&body)]).unwrap().tokens, Some(tokens), "{body}");
    }
    let odd = format!("data: {{\"choices\":[],\"usage\":\"many\"}}\n\n{FINISH}");
    assert_eq!(reply(vec![events(&odd)]).unwrap().tokens, None);
}

#[test]
fn a_price_makes_a_cost() {
    let body = format!(
        "{FINISH}data: {{\"usage\":{{\"prompt_tokens\":1000,\"completion_tokens\":100}}}}\n\n"
    );
    let raw = Raw::start(vec![events(&body), events(FINISH)]);
    let mut endpoint = endpoint(&raw.base_url());
    let price = Price {
        currency: "USD".to_owned(),
        input: 2_000_000,
        cache_read: 0,
        cache_write: 0,
        output: 10_000_000,
    };
    endpoint.price = Some(price);
    let mut model = model(endpoint);
    let cost = ask(&mut model, &context("go")).0.unwrap().cost;
    assert_eq!(cost, Cost::Priced { micros: 3000, currency: "USD".to_owned() });
    assert_eq!(ask(&mut model, &context("go")).0.unwrap().cost, Cost::Unknown);
}

#[test]
fn what_a_server_sends_is_bounded() {
    let words = "x".repeat(1 << 20);
    let chunk = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{words}\"}}}}]}}\n\n");
    let calls: Vec<_> = (0..200)
        .map(|n| {
            format!("{{\"index\":{n},\"function\":{{\"name\":\"t\",\"arguments\":\"{{}}\"}}}}")
        })
        .collect();
    let calls = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{}]}}}}]}}\n\n",
        calls.join(",")
    );
    let line = format!("data: {}\n\n", "x".repeat(9 << 20));
    let document = format!("{{\"x\":\"{}\"}}", "x".repeat(9 << 20));
    for answer in [
        events(&format!("{}{FINISH}", chunk.repeat(5))),
        events(&format!("{calls}{FINISH}")),
        events(&line),
        json("200 OK", &document),
    ] {
        let fault = reply(vec![answer]).unwrap_err();
        assert!(matches!(fault, ProviderFault::TooLarge { .. }), "{fault:?}");
    }
}

#[test]
fn a_server_may_say_whether_to_try_again() {
    let busy = |retry| bytes("503 Busy", &[retry], "{}");
    let fault = reply(vec![busy("x-should-retry: false"), events(FINISH)]).unwrap_err();
    assert!(matches!(fault, ProviderFault::Overloaded { tries: 1, .. }), "{fault:?}");
    let odd = bytes("418 Odd", &["x-should-retry: true"], "{}");
    assert_eq!(said(vec![odd, events(&format!("{WORDS}{FINISH}"))]), "hé");
}

#[test]
fn a_date_is_waited_for_by_the_servers_clock() {
    let raw = Raw::start(vec![
        bytes(
            "429 Too Many Requests",
            &["date: Sun, 29 Nov 2026 17:52:01 GMT", "retry-after: Sun, 29 Nov 2026 17:52:02 GMT"],
            "",
        ),
        events(FINISH),
    ]);
    let (reply, deltas) = ask(&mut model(endpoint(&raw.base_url())), &context("go"));
    reply.unwrap();
    assert_eq!(waits(&deltas), [(2, 2)]);
}

#[test]
fn a_connection_closed_between_two_replies_is_no_cut() {
    // The answer ends by its length and promises to stay; then the server hangs up.
    let body = format!("{WORDS}{FINISH}{DONE}");
    let answer = || -> Answering {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let answer = [head.as_bytes(), body.as_bytes()].concat();
        Box::new(move |mut stream| stream.write_all(&answer).unwrap())
    };
    let raw = Raw::start(vec![answer(), answer(), answer()]);
    let mut model = model(endpoint(&raw.base_url()));
    for _ in 0..3 {
        let reply = ask(&mut model, &context("go")).0.unwrap();
        assert_eq!((reply.message.text().as_str(), reply.retries.len()), ("hé", 0));
    }
}

#[test]
fn ids_are_made_unique_in_a_session() {
    let body = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[\
        {\"index\":0,\"id\":\"same\",\"function\":{\"name\":\"run_command\",\"arguments\":\"{}\"}},\
        {\"index\":1,\"id\":\"same\",\"function\":{\"name\":\"run_command\",\"arguments\":\"{}\"}},\
        {\"index\":2,\"function\":{\"name\":\"run_command\",\"arguments\":\"{}\"}}\
        ]},\"finish_reason\":\"tool_calls\"}]}\n\n";
    let raw = Raw::start(vec![events(body), events(body)]);
    let mut model = model(endpoint(&raw.base_url()));
    let mut context = context("go");
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..2 {
        let reply = ask(&mut model, &context).0.unwrap();
        ids.extend(reply.message.calls().map(|call| call.id.clone()));
        crate::bench::answer(&mut context, &reply);
    }
    assert_eq!(ids.len(), 6);
    assert!(ids.contains("same"));
}
