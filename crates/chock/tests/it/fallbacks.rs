//! Going on with another model where a server is overloaded, and with none where it is not.

use std::fs;

use serde_json::{Value, json};

use crate::fake::Fake;
use crate::pictures::png;
use crate::yard::{Ran, Yard};

const FIRST_KEY: &str = "first-token-123456";
const SECOND_KEY: &str = "second-token-654321";

/// An answer with this status, and headers of its own.
fn answer(status: u16, headers: &Value, kind: &str) -> Value {
    let body = json!({"type": "error", "error": {"type": kind, "message": "no"}}).to_string();
    json!({"fault": {"kind": "http", "status": status, "type": "application/json",
        "headers": headers, "body": body}})
}

/// An overload that no try of the same server outlasts.
fn overload() -> Value {
    answer(529, &json!({"x-should-retry": "false"}), "overloaded_error")
}

fn server(yard: &Yard, name: &str, turns: &[Value]) -> Fake {
    let directory = yard.path(name);
    fs::create_dir_all(&directory).expect("a directory");
    Fake::script(&json!({ "turns": turns }), &directory)
}

fn row(name: &str, kind: &str, fake: &Fake, more: &str) -> String {
    let key = if name == "first" { FIRST_KEY } else { SECOND_KEY };
    format!(
        ".{{ .name = \"{name}\", .kind = \"{kind}\", .base_url = \"http://127.0.0.1:{}/v1\", .token = \"{key}\", .model = \"of-{name}\"{more} }}",
        fake.port
    )
}

fn configure(yard: &Yard, rows: &[String], fallbacks: &str) {
    yard.config(&format!(
        ".{{ .providers = .{{ {} }}, .defaults = .{{ .provider = \"first\", .fallbacks = .{{ {fallbacks} }} }} }}",
        rows.join(", ")
    ));
}

const SECOND: &str = ".{ .provider = \"second\" }";

/// Two servers of chat completions, the second one the fallback of the first.
fn pair(yard: &Yard, first: &[Value], second: &[Value]) -> [Fake; 2] {
    let fakes = [server(yard, "first", first), server(yard, "second", second)];
    let rows = [
        row("first", "openai-compat", &fakes[0], ""),
        row("second", "openai-compat", &fakes[1], ""),
    ];
    configure(yard, &rows, SECOND);
    fakes
}

fn switches(yard: &Yard) -> Vec<Value> {
    let all = yard.records().into_iter().filter(|record| record["kind"] == "model.switched");
    all.map(|record| record["body"].clone()).collect()
}

fn run(yard: &Yard, code: i32) -> Ran {
    yard.chock(&["run", "go"]).expect(code)
}

#[test]
fn an_overload_goes_on_with_the_next_model_once_the_switch_is_on_record() {
    // Every wire to every other: the reasoning of one is nothing to another.
    let kinds = ["openai-compat", "anthropic", "openai"];
    for (at, kind) in kinds.iter().enumerate() {
        let other = kinds[(at + 1) % kinds.len()];
        let yard = Yard::new();
        let shell = |command: &str| json!([{"name": "run_command", "input": {"command": command}}]);
        let first = [
            json!({"thinking": "a secret thought", "text": "looking", "tools": shell("true")}),
            overload(),
        ];
        let tell = format!("echo {}; echo {}", &SECOND_KEY[..9], &SECOND_KEY[9..]);
        let second = [
            json!({"text": "on it", "tools": shell(&format!("{tell} | tr -d '\\n'; echo {SECOND_KEY}")),
                "expect": {"lacks": ["a secret thought"], "contains": ["looking"]}}),
            json!({"text": "done"}),
        ];
        let fakes = [server(&yard, "first", &first), server(&yard, "second", &second)];
        let rows = [
            row("first", kind, &fakes[0], ", .effort = \"high\""),
            row("second", other, &fakes[1], ", .effort = \"high\""),
        ];
        configure(&yard, &rows, ".{ .provider = \"second\", .model = \"another\" }");
        let ran = run(&yard, 0);
        assert!(ran.err.contains("is overloaded"), "{}", ran.err);
        assert!(ran.err.contains("going on with second · another"), "{}", ran.err);
        let switch = &switches(&yard)[0];
        assert_eq!(
            (&switch["from_provider"], &switch["from_model"]),
            (&json!("first"), &json!("of-first"))
        );
        assert_eq!((&switch["provider"], &switch["model"]), (&json!("second"), &json!("another")));
        let records = yard.records();
        let kinds: Vec<_> = records.iter().map(|record| record["kind"].as_str()).collect();
        let place = |kind| kinds.iter().position(|it| *it == Some(kind));
        let models = records.iter().filter(|record| record["kind"] == "message.model");
        let models: Vec<_> = models.map(|record| record["body"]["model"].clone()).collect();
        assert_eq!(models, ["of-first", "another", "another"], "{kind}");
        assert!(place("model.switched") > place("message.model"));
        for fake in &fakes {
            fake.expect_finished();
        }
        let log = fs::read_to_string(yard.logs().pop().expect("a log")).expect("text");
        assert!(!log.contains(SECOND_KEY), "{kind}: the fallback's secret is in the log");
        yard.chock(&["sessions", "verify"]).expect(0);
    }
}

#[test]
fn patience_comes_before_a_switch() {
    let yard = Yard::new();
    let busy = answer(529, &json!({"retry-after": "0"}), "overloaded_error");
    let fakes = pair(&yard, &vec![busy; 6], &[json!({"text": "hello"})]);
    assert_eq!(run(&yard, 0).out, "hello\n");
    let retries = yard.records().into_iter().filter(|record| record["kind"] == "retry").count();
    assert_eq!((retries, switches(&yard).len()), (5, 1));
    fakes[0].expect_finished();
    fakes[1].expect_finished();
}

#[test]
fn what_is_no_overload_is_answered_by_nobody_else() {
    let no_more = json!({"x-should-retry": "false"});
    let cases = [
        (answer(429, &json!({"retry-after": "100000"}), "rate_limit_error"), 12),
        (answer(402, &no_more, "billing_error"), 2),
        (answer(401, &no_more, "authentication_error"), 2),
        (answer(500, &no_more, "api_error"), 2),
        (answer(400, &no_more, "invalid_request_error"), 2),
        (json!({"refusal": {"text": "no", "category": null, "explanation": null}}), 11),
    ];
    for (first, code) in cases {
        let yard = Yard::new();
        let fakes = pair(&yard, &[first], &[json!({"text": "hello"})]);
        run(&yard, code);
        assert_eq!(switches(&yard), Vec::<Value>::new(), "{code}");
        assert_eq!(fakes[1].requests().len(), 0, "{code}");
    }
}

#[test]
fn an_exhausted_list_ends_with_12_and_a_later_run_begins_with_the_first() {
    let yard = Yard::new();
    let fakes = pair(&yard, &[overload(), json!({"text": "hello"})], &[overload()]);
    let ran = run(&yard, 12);
    assert!(ran.err.contains("`second` is overloaded"), "{}", ran.err);
    assert_eq!(switches(&yard).len(), 1);
    assert_eq!(yard.chock(&["run", "--continue"]).expect(0).out, "hello\n");
    fakes[0].expect_finished();
    fakes[1].expect_finished();
}

#[test]
fn no_picture_goes_to_a_fallback_that_takes_none() {
    let images = ", .capabilities = .{ .images = true }";
    for shows in [true, false] {
        let yard = Yard::new();
        let shown = yard.path("shown.png");
        fs::write(&shown, png(60)).expect("a file");
        let overloaded = server(&yard, "first", &[overload()]);
        let blind = server(&yard, "blind", &[json!({"text": "blind"})]);
        let seeing = server(&yard, "seeing", &[json!({"text": "seeing"})]);
        let rows = [
            row("first", "openai-compat", &overloaded, images),
            row("blind", "openai-compat", &blind, ""),
            row("seeing", "openai-compat", &seeing, images),
        ];
        configure(&yard, &rows, ".{ .provider = \"blind\" }, .{ .provider = \"seeing\" }");
        let mut words = vec!["run", "go"];
        if shows {
            words.extend(["--image", shown.to_str().expect("text")]);
        }
        let ran = yard.chock(&words).expect(0);
        let offers =
            |fake: &Fake| fake.requests()[0]["body"]["tools"].to_string().contains("read_image");
        if shows {
            assert_eq!(ran.out, "seeing\n");
            assert!(offers(&seeing) && blind.requests().is_empty());
        } else {
            assert_eq!(ran.out, "blind\n");
            assert!(offers(&overloaded) && !offers(&blind), "it is offered no pictures");
        }
    }
}

#[test]
fn rows_and_the_budget_hold_for_a_fallback() {
    // A row that does not allow it leaves it out, and the run starts.
    let yard = Yard::new();
    let fakes = pair(&yard, &[overload()], &[json!({"text": "hello"})]);
    let rule = |row: &str| {
        format!(".{{ .policy = .{{ .rules = .{{ .{{ {row}, .decision = .deny }} }} }} }}")
    };
    yard.write("chock.zon", &rule(".action = \"provider.second\""));
    let ran = run(&yard, 12);
    assert!(ran.err.contains("second is no fallback: chock.zon does not allow"), "{}", ran.err);
    assert_eq!(fakes[1].requests().len(), 0);

    // Its acts are judged as its own, and no longer as those of the first.
    let yard = Yard::new();
    let act = |text: &str| {
        json!({"text": text, "tools": [{"name": "run_command", "input": {"command": "true"}}],
            "usage": {"input": 300, "output": 100}})
    };
    let fakes = pair(&yard, &[act("a"), overload()], &[act("b"), act("c")]);
    let narrow =
        rule(".model = \"of-second\", .tool = \"run_command\", .action = \"call.run_command\"");
    let text = narrow.replacen(".{ .policy", ".{ .budget = .{ .max_tokens = 1000 }, .policy", 1);
    yard.write("chock.zon", &text);
    let ran = run(&yard, 7);
    assert!(ran.err.contains("1200 of 1000 tokens are used"), "{}", ran.err);
    let ended: Vec<_> =
        yard.outcomes().into_iter().map(|outcome| outcome["ended"].clone()).collect();
    assert_eq!(ended, [json!({"exited": 0}), json!("denied"), json!("denied")]);
    fakes[1].expect_finished();
}

#[test]
fn a_fallback_that_lets_nobody_in_is_named_and_left_out() {
    let yard = Yard::new();
    let fake = server(&yard, "first", &[json!({"text": "hello"})]);
    let rows = [
        row("first", "openai-compat", &fake, ""),
        ".{ .name = \"hosted\", .kind = \"anthropic\", .model = \"x\" }".to_owned(),
        ".{ .name = \"bare\", .kind = \"openai-compat\", .base_url = \"http://127.0.0.1:1/v1\" }"
            .to_owned(),
    ];
    configure(&yard, &rows, ".{ .provider = \"hosted\" }, .{ .provider = \"bare\" }");
    let ran = run(&yard, 0);
    assert!(ran.err.contains("hosted is no fallback: nothing lets you in"), "{}", ran.err);
    assert!(ran.err.contains("bare is no fallback: no model is named"), "{}", ran.err);
    let listed = yard.chock(&["config"]).expect(0).out;
    assert_eq!(listed.matches("defaults.fallbacks").count(), 2, "{listed}");
}
