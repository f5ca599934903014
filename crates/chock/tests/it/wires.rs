//! Every scenario of the provider on every wire, in one session of each.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};

use serde_json::{Value, json};

use crate::fake::{Fake, fakes};
use crate::yard::Yard;

/// The one key that the provider takes; on the wire of an account it is its token.
pub(crate) const KEY: &str = "test-token-123456";

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Chat,
    Messages,
    NewerMessages,
    Responses,
    Account,
}

impl Wire {
    pub(crate) const ALL: [Self; 5] =
        [Self::Chat, Self::Messages, Self::NewerMessages, Self::Responses, Self::Account];

    /// Points Chock at a server on loopback that is started with [`KEY`].
    pub(crate) fn configure(self, yard: &Yard, port: u16) {
        let row = |kind: &str, path: &str, more: &str| {
            format!(
                ".kind = \"{kind}\", .base_url = \"http://127.0.0.1:{port}{path}\", .effort = \"high\"{more}"
            )
        };
        let token = format!(", .token = \"{KEY}\"");
        let newer = format!("{token}, .api_version = \"2026-10-21\"");
        let row = match self {
            Self::Chat => row("openai-compat", "/v1", &token),
            Self::Messages => row("anthropic", "/v1", &token),
            Self::NewerMessages => row("anthropic", "/v1", &newer),
            Self::Responses => row("openai", "/v1", &token),
            Self::Account => row("openai", "/backend-api/codex", ""),
        };
        if self == Self::Account {
            sign_in(yard);
        }
        yard.config(&format!(
            ".{{ .providers = .{{ .{{ .name = \"fake\", .model = \"fake-1\", {row} }} }} }}"
        ));
    }
}

/// Stores an account that lasts, as signing in does.
fn sign_in(yard: &Yard) {
    let directory = yard.path("home/.local/share/chock/credentials");
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&directory);
    made.expect("a directory");
    let account = json!({"kind": "account", "issuer": "https://auth.openai.com",
        "client_id": "app_EMoamEEZ73f0CkXaXp7hrann",
        "access": KEY, "refresh": null, "expires": 9_999_999_999_u64, "renewed": 9_999_999_000_u64,
        "id": "acct-fake-0001", "plan": null});
    let path = directory.join("fake.json");
    fs::write(&path, account.to_string()).expect("a file");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("a mode");
}

/// A scenario, how the runs that play it end, and what its calls come to. 06 is played by itself,
/// since its server counts; 10 hands work out, which no tool does yet.
type Played = (&'static str, &'static [i32], &'static [&'static str]);

const SCENARIOS: [Played; 11] = [
    // It expects to be the first.
    ("05-retry-429", &[0], &[]),
    ("01-edit-and-test", &[0], &["done", "done", "exited 0"]),
    ("02-parallel-tools", &[0], &["done", "done", "exited 0", "exited 0", "exited 1"]),
    ("03-long-output", &[0], &["exited 0"]),
    ("04-thinking", &[0], &["done", "exited 0", "exited 0"]),
    ("07-refusal", &[11], &[]),
    ("08-empty-answer", &[10, 0], &[]),
    ("09-cut", &[2, 0], &[]),
    ("11-approval", &[0], &["fault", "done", "fault or denied"]),
    ("12-malformed-arguments", &[0], &["fault", "fault", "fault", "fault", "fault"]),
    ("13-stream-faults", &[2, 0, 0, 2, 2, 0], &[]),
];

/// The turns of a scenario, with its names filled in. A tool that Chock does not have is called
/// as one that was not offered.
fn turns(scenario: &str) -> Vec<Value> {
    let path = fakes(&format!("scenarios/{scenario}.json"));
    let mut text = fs::read_to_string(path).expect("a scenario");
    let whole: Value = serde_json::from_str(&text).expect("JSON");
    for (name, value) in whole["vars"].as_object().into_iter().flatten() {
        text = text.replace(&format!("${{{name}}}"), value.as_str().expect("text"));
    }
    let mut whole: Value = serde_json::from_str(&text).expect("JSON");
    let turns = whole["turns"].as_array_mut().expect("turns");
    for tool in turns.iter_mut().filter_map(|turn| turn.get_mut("tools")?.as_array_mut()).flatten()
    {
        if tool["name"] == "fetch_url" {
            tool["unoffered"] = json!(true);
        }
    }
    turns.clone()
}

fn word(ended: &Value) -> String {
    match ended["exited"].as_i64() {
        Some(status) => format!("exited {status}"),
        None => ended.as_str().unwrap_or("something else").to_owned(),
    }
}

/// Plays all scenarios in one session, and asserts that the server refused nothing.
fn check(wire: Wire) {
    let yard = Yard::new();
    let before = yard.fingerprint();
    let all: Vec<_> = SCENARIOS.iter().flat_map(|(scenario, ..)| turns(scenario)).collect();
    let path = yard.path("scenario.json");
    fs::write(&path, json!({ "turns": all, "quirks": ["interleave"] }).to_string())
        .expect("a file");
    let fake = Fake::start(&path, &yard.path("."), &["--key", KEY]);
    wire.configure(&yard, fake.port);
    let (mut played, mut outcomes) = (0, 0);
    for (at, (scenario, codes, ended)) in SCENARIOS.iter().enumerate() {
        for (run, code) in codes.iter().enumerate() {
            let words = format!("{scenario}, run {run}");
            let go_on = if at + run == 0 { vec!["run"] } else { vec!["run", "--continue"] };
            let ran = yard.chock(&[go_on, vec![&words]].concat());
            assert_eq!(ran.code, Some(*code), "{wire:?} {words}\n{}\n{}", ran.err, fake.state());
        }
        played += turns(scenario).len();
        let state = fake.state();
        assert_eq!(state["lanes"][0]["used"], played, "{wire:?} {scenario}: {state}");
        let new: Vec<_> =
            yard.outcomes()[outcomes..].iter().map(|outcome| word(&outcome["ended"])).collect();
        let fits = |(word, ended): (&String, &&str)| ended.split(" or ").any(|it| it == word);
        let fit = new.len() == ended.len() && new.iter().zip(*ended).all(fits);
        assert!(fit, "{wire:?} {scenario}: {new:?}, not {ended:?}");
        outcomes += new.len();
    }
    let state = fake.state();
    let problems = state["problems"].as_array().expect("a list");
    // The wire of Messages tells of an empty account with the status of a request that is wrong.
    let wrong = problems.iter().filter(|problem| {
        !problem["message"].as_str().expect("words").starts_with("Your credit balance")
    });
    assert_eq!(wrong.count(), 0, "{wire:?}: {state}");
    let log = fs::read_to_string(yard.logs().pop().expect("a log")).expect("text");
    assert!(!log.contains(KEY), "{wire:?}: the key is in the log");
    assert!(!log.contains("MUST-NOT-EXIST a-long"), "{wire:?}: half a call is in the log");
    yard.chock(&["sessions", "verify"]).expect(0);
    assert_eq!(yard.fingerprint(), before, "{wire:?}: the project was touched");
}

#[test]
fn every_scenario_is_played_on_chat_completions() {
    check(Wire::Chat);
}

#[test]
fn every_scenario_is_played_on_messages() {
    check(Wire::Messages);
}

#[test]
fn every_scenario_is_played_on_the_newer_messages() {
    check(Wire::NewerMessages);
}

#[test]
fn every_scenario_is_played_on_responses_with_a_key() {
    check(Wire::Responses);
}

#[test]
fn every_scenario_is_played_on_responses_with_an_account() {
    check(Wire::Account);
}
