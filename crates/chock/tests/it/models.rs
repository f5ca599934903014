//! What servers tell of their models: listed, learned at a start, and named when a name is wrong.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fake::Fake;
use crate::yard::Yard;

/// A provider with `replies` to give, which knows two models.
fn server(yard: &Yard, name: &str, replies: usize, options: &[&str]) -> Fake {
    let scenario = yard.path(&format!("{name}.json"));
    let turns = vec![json!({ "text": "hello" }); replies];
    let text = json!({ "turns": turns, "models": ["fake-large", "fake-small"] });
    fs::write(&scenario, text.to_string()).expect("a file");
    let directory = yard.path(name);
    fs::create_dir_all(&directory).expect("a directory");
    Fake::start(&scenario, &directory, options)
}

fn row(name: &str, kind: &str, port: u16, more: &str) -> String {
    format!(
        ".{{ .name = \"{name}\", .kind = \"{kind}\", .base_url = \"http://127.0.0.1:{port}/v1\", .token = \"test-token-123456\"{more} }}"
    )
}

fn configure(yard: &Yard, rows: &[String]) {
    yard.config(&format!(".{{ .providers = .{{ {} }} }}", rows.join(", ")));
}

/// The records of a kind of the newest session.
fn records(yard: &Yard, kind: &str) -> Vec<Value> {
    let records = yard.records().into_iter().filter(|record| record["kind"] == kind);
    records.map(|record| record["body"].clone()).collect()
}

/// A server that takes requests for lists without a word, and answers everything else with one
/// reply. It ends with the test.
fn secretive() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let mut request = [0; 16];
            if stream.read(&mut request).is_err() || request.starts_with(b"GET") {
                held.push(stream);
                continue;
            }
            let chunk = json!({"id": "x", "object": "chat.completion.chunk", "created": 1,
                "model": "m", "choices": [{"index": 0, "delta": {"content": "hi"},
                "finish_reason": "stop"}], "usage": {"prompt_tokens": 1_000_000,
                "completion_tokens": 0, "total_tokens": 1_000_000}});
            let body = format!("data: {chunk}\n\ndata: [DONE]\n\n");
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close";
            let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            // It is read to its end, so that the answer is not lost.
            let _ = stream.set_read_timeout(Some(Duration::from_millis(500)));
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    port
}

#[test]
fn models_are_listed_and_a_provider_that_is_down_hides_nothing() {
    let yard = Yard::new();
    let one = server(&yard, "one", 0, &["--dialect", "compat"]);
    let two = server(&yard, "two", 0, &[]);
    let none = yard.path("none.json");
    fs::write(&none, json!({ "turns": [], "models": [] }).to_string()).expect("a file");
    let none = Fake::start(&none, &yard.path("."), &[]);
    let gone = {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        listener.local_addr().expect("an address").port()
    };
    configure(
        &yard,
        &[
            row("gone", "openai-compat", gone, ", .model = \"x\""),
            row("priced", "aiand", one.port, ", .model = \"fake-small\", .context_tokens = 65_536"),
            row("plain", "openai", two.port, ", .models = .{ \"fake-large\" }"),
            row("claude", "anthropic", two.port, ""),
            row("silent", "openai-compat", none.port, ""),
        ],
    );
    let ran = yard.chock(&["models"]).expect(0);
    let names: Vec<_> = ran.out.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(names, ["priced", "plain", "claude"], "{}", ran.out);
    assert!(ran.err.contains("gone cannot be asked: cannot reach"), "{}", ran.err);
    assert!(ran.err.contains("silent: its server lists no models"), "{}", ran.err);
    assert!(
        ran.out.contains("65.5k tokens · efforts low, high · 0.5 in, 2 out, USD a million tokens"),
        "what the row says counts more: {}",
        ran.out
    );

    let ran = yard.chock(&["models", "--json"]).expect(0);
    let lines: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |provider: &str| {
        let lines = lines.iter().filter(|line| line["provider"] == provider);
        lines.cloned().collect::<Vec<_>>()
    };
    assert!(of("gone")[0]["error"].as_str().expect("words").contains("cannot reach"));
    let small = of("priced").into_iter().find(|line| line["name"] == "fake-small");
    let price = json!({"currency": "USD", "input_micros": 500_000, "output_micros": 2_000_000,
        "cache_read_micros": 50_000, "cache_write_micros": 500_000});
    let expected = json!({"provider": "priced", "name": "fake-small", "context_tokens": 65_536,
        "efforts": ["low", "high"], "price": price, "price_day": null, "default": true});
    assert_eq!(small, Some(expected));
    assert_eq!(of("plain").len(), 1, "only what may be chosen");
    assert_eq!(of("plain")[0]["price"], Value::Null);
    assert_eq!(of("claude")[1]["context_tokens"], 200_000);

    yard.chock(&["models", "--provider", "gone"]).expect(2);
    assert!(yard.chock(&["models", "--provider", "clode"]).expect(1).err.contains("claude"));
    assert_eq!(yard.logs(), Vec::<std::path::PathBuf>::new(), "no session is made");
}

#[test]
fn a_wrong_name_is_answered_with_the_nearest_on_every_wire() {
    for (kind, more) in [("openai-compat", ""), ("anthropic", ""), ("openai", "")] {
        let yard = Yard::new();
        let fake = server(&yard, "one", 1, &[]);
        configure(&yard, &[row("here", kind, fake.port, more)]);
        let ran = yard.chock(&["run", "--model", "fake-smal", "hi"]).expect(2);
        assert!(ran.err.contains("no model `fake-smal` (nearest: fake-small"), "{}", ran.err);
        // A row that lists its models needs no server for that.
        let more = ", .model = \"fake-large\", .models = .{ \"fake-large\", \"fake-small\" }";
        configure(&yard, &[row("here", kind, fake.port, more)]);
        let ran = yard.chock(&["run", "--model", "fake-smal", "hi"]).expect(1);
        assert!(ran.err.contains("did you mean `fake-small`?"), "{}", ran.err);
        let more = ", .model = \"fake-lage\", .models = .{ \"fake-large\", \"fake-small\" }";
        configure(&yard, &[row("here", kind, fake.port, more)]);
        let ran = yard.chock(&["run", "hi"]).expect(1);
        assert!(ran.err.contains("fake-large"), "{}", ran.err);
    }
}

#[test]
fn what_a_server_tells_is_learned_and_recorded_and_the_row_counts_more() {
    let yard = Yard::new();
    let fake = server(&yard, "one", 4, &["--dialect", "compat"]);
    let model = ", .model = \"fake-large\"";
    let price = json!({"currency": "USD", "input": 500_000, "cache_read": 50_000,
        "cache_write": 500_000, "output": 2_000_000});
    configure(&yard, &[row("here", "aiand", fake.port, model)]);
    yard.chock(&["run", "hi"]).expect(0);
    let told = json!({"provider": "here", "model": "fake-large", "context_tokens": 131_072, "price": price});
    assert_eq!(records(&yard, "model.learned"), [told]);
    assert_eq!(records(&yard, "usage")[0]["cost"]["priced"]["currency"], "USD");
    let fill: Value =
        serde_json::from_str(&yard.chock(&["context", "--json"]).expect(0).out).expect("JSON");
    assert_eq!(fill["limit"], 131_072);
    // What is known already is not told again.
    yard.chock(&["run", "--continue", "more"]).expect(0);
    assert_eq!(records(&yard, "model.learned").len(), 1);

    // A price of the row counts more, and what it leaves out is learned.
    let own = ", .price = .{ .currency = \"EUR\", .input = 1, .output = 1 }";
    configure(&yard, &[row("here", "aiand", fake.port, &format!("{model}{own}"))]);
    yard.chock(&["run", "hi"]).expect(0);
    assert_eq!(records(&yard, "usage")[0]["cost"]["priced"]["currency"], "EUR");
    assert_eq!(records(&yard, "model.learned").len(), 1);
    let lists = |fake: &Fake| fake.all_requests().len() - fake.requests().len();
    let before = lists(&fake);
    let whole = format!("{model}{own}, .context_tokens = 65_536");
    configure(&yard, &[row("here", "aiand", fake.port, &whole)]);
    yard.chock(&["run", "hi"]).expect(0);
    assert_eq!(records(&yard, "model.learned"), Vec::<Value>::new());
    assert_eq!(lists(&fake), before, "nothing is left to ask for");
    fake.expect_finished();
}

#[test]
fn a_server_that_tells_nothing_holds_no_start_up_and_an_earlier_run_s_knowledge_counts() {
    let yard = Yard::new();
    let fake = server(&yard, "one", 1, &["--dialect", "compat"]);
    let model = ", .model = \"fake-large\"";
    configure(&yard, &[row("here", "aiand", fake.port, model)]);
    yard.chock(&["run", "hi"]).expect(0);
    configure(&yard, &[row("here", "aiand", secretive(), model)]);
    let start = Instant::now();
    yard.chock(&["run", "--continue", "more"]).expect(0);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(12), "it took {took:?}");
    assert_eq!(records(&yard, "model.learned").len(), 1);
    let priced = json!({"priced": {"micros": 500_000, "currency": "USD"}});
    assert_eq!(records(&yard, "usage")[1]["cost"], priced);
}
