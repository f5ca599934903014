//! A conversation never breaks, whatever happens to it and whichever wire it goes over.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use chock_log::{
    CompactionBody, Ended, Event, FinishedBody, NoticeBody, Opened, Outcome, Pen, Pictures, Stop,
    ToolCall, ToolSchema, UsageBody, UserBody,
};
use chock_provider::{
    Anthropic, Cancel, Credentials, CredentialsFault, Endpoint, Model, OpenaiCompat, Pass,
    Patience, ProviderFault, Quirks, Reply, Responses,
};
use chock_testkit::TestLog;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::context;
use crate::gallery::Gallery;
use crate::next::{Next, next};
use crate::room::{before_turns, fold_point, nothing};

/// The strict provider of the repository, which plays one conversation after the other.
struct Fake {
    child: Child,
    port: u16,
    directory: TempDir,
}

impl Fake {
    fn start(options: &[&str]) -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fakes/provider.py");
        let directory = TempDir::new().expect("a directory");
        let scenario = directory.path().join("scenario.json");
        fs::write(&scenario, r#"{"turns": []}"#).expect("a file");
        let mut child = Command::new("python3")
            .arg(program)
            .args(["--port", "0", "--key", KEY, "--scenario"])
            .arg(scenario)
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3 for the provider");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("the port's line");
        Self { child, port: line.trim().parse().expect("a port"), directory }
    }

    /// Begins anew with these turns.
    fn play(&self, turns: &[Value]) {
        let text = json!({ "turns": turns }).to_string();
        fs::write(self.directory.path().join("scenario.json"), text).expect("a file");
        self.ask("POST /_fake/reset");
    }

    fn ask(&self, what: &str) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the provider");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        write!(stream, "{what} HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}")
            .expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        serde_json::from_str(answer.split_once("\r\n\r\n").expect("a body").1).expect("JSON")
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const KEY: &str = "correct-horse-battery";

struct Key;

impl Credentials for Key {
    fn pass(&self) -> Result<Option<Pass>, CredentialsFault> {
        let account = Some("acct-fake-0001".to_owned());
        Ok(Some(Pass { secret: SecretString::from(KEY), account }))
    }
}

/// How many models a conversation changes between.
const MODELS: usize = 7;

/// Makes one of the models, each of a wire, a version or a name of its own. Says whether it takes
/// pictures.
fn model(port: u16, number: usize) -> (Box<dyn Model>, bool) {
    let base = format!("http://127.0.0.1:{port}");
    let usual = Endpoint {
        provider: format!("row-{}", number % 6),
        base_url: format!("{base}/v1"),
        model: format!("fake-{number}"),
        context_tokens: None,
        api_version: None,
        max_output_tokens: None,
        effort: number.is_multiple_of(2).then(|| "high".to_owned()),
        price: None,
        originator: None,
        quirks: Quirks::default(),
        // Each fault is told at once.
        patience: Patience { tries: 1, ..Patience::default() },
    };
    let newer = Some("2026-10-21".to_owned());
    let account = Endpoint {
        base_url: format!("{base}/backend-api/codex"),
        originator: Some("chock".to_owned()),
        ..usual.clone()
    };
    let made: Result<Box<dyn Model>, ProviderFault> = match number {
        0 | 6 => Anthropic::new(usual, Box::new(Key)).map(|it| Box::new(it) as _),
        1 => {
            let newer = Endpoint { api_version: newer, ..usual };
            Anthropic::new(newer, Box::new(Key)).map(|it| Box::new(it) as _)
        }
        2 | 5 => Responses::new(usual, Box::new(Key)).map(|it| Box::new(it) as _),
        3 => Responses::new(account, Box::new(Key)).map(|it| Box::new(it) as _),
        _ => OpenaiCompat::new(usual, Box::new(Key)).map(|it| Box::new(it) as _),
    };
    (made.expect("a model"), number != 1)
}

/// What a reply holds.
#[derive(Debug, Clone)]
struct Said {
    thinks: u8,
    speaks: bool,
    calls: Vec<Called>,
    end: End,
}

/// What a call is, and what becomes of it.
#[derive(Debug, Clone, Copy)]
enum Called {
    Done(usize),
    Failed,
    Interrupted,
    Shown,
    Malformed,
    Unoffered,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Usual,
    Length,
    Refusal,
    Empty,
}

/// What happens to a conversation.
#[derive(Debug, Clone)]
enum Step {
    Reply(Said),
    Fault(&'static str),
    Stopped(Said),
    Says { picture: bool },
    Tells,
    Fold(u64),
    Shorten,
    Switch(usize),
    Resume,
}

const FAULTS: [&str; 7] = ["server", "too_long", "cut", "end", "malformed", "stream_error", "drop"];

fn calls() -> impl Strategy<Value = Vec<Called>> {
    let call = prop_oneof![
        4 => (0usize..4000).prop_map(Called::Done),
        1 => Just(Called::Failed),
        1 => Just(Called::Interrupted),
        1 => Just(Called::Shown),
        1 => Just(Called::Malformed),
        1 => Just(Called::Unoffered),
    ];
    prop::collection::vec(call, 0..4)
}

fn said() -> impl Strategy<Value = Said> {
    let end = prop_oneof![
        8 => Just(End::Usual),
        1 => Just(End::Length),
        1 => Just(End::Refusal),
        1 => Just(End::Empty),
    ];
    (0u8..3, any::<bool>(), calls(), end).prop_map(|(thinks, speaks, calls, end)| Said {
        thinks,
        speaks,
        calls,
        end,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => said().prop_map(Step::Reply),
        2 => (0..FAULTS.len()).prop_map(|at| Step::Fault(FAULTS[at])),
        1 => said().prop_map(Step::Stopped),
        2 => any::<bool>().prop_map(|picture| Step::Says { picture }),
        1 => Just(Step::Tells),
        2 => (0u64..9000).prop_map(Step::Fold),
        1 => Just(Step::Shorten),
        3 => (0..MODELS).prop_map(Step::Switch),
        1 => Just(Step::Resume),
    ]
}

impl Said {
    /// Writes the turn that the provider plays.
    fn turn(&self) -> Value {
        let mut turn = json!({});
        match self.thinks {
            0 => {}
            1 => turn["thinking"] = json!("Let me see — 慎重に."),
            _ => turn["thinking"] = json!({"redacted": true}),
        }
        let calls: Vec<_> = self.calls.iter().map(|call| call.written()).collect();
        match self.end {
            End::Refusal => {
                let refusal = json!({"text": "No.", "category": null, "explanation": null});
                return json!({ "refusal": refusal });
            }
            End::Empty => return json!({"text": ""}),
            End::Length => turn["stop"] = json!("length"),
            End::Usual => {}
        }
        // A reply that says nothing is one of its own.
        if self.speaks || calls.is_empty() {
            turn["text"] = json!("wörds");
        }
        if !calls.is_empty() {
            turn["tools"] = json!(calls);
        }
        turn
    }
}

impl Called {
    fn written(self) -> Value {
        match self {
            Self::Done(_) | Self::Failed | Self::Interrupted => {
                json!({"name": "run_command", "input": {"command": "ls", "ümlaut": [1.5, null]}})
            }
            Self::Shown => json!({"name": "read_image", "input": {"path": "a.png"}}),
            Self::Malformed => json!({"name": "run_command", "raw_arguments": "{\"command\": \"l"}),
            Self::Unoffered => {
                json!({"name": "no_such_tool", "input": {}, "unoffered": true})
            }
        }
    }

    fn outcome(self, pictures: &Pictures) -> Outcome {
        match self {
            Self::Done(size) => Outcome::new(Ended::Done, "x".repeat(size)),
            Self::Failed => Outcome::new(Ended::Exited(1), ""),
            Self::Interrupted => Outcome::new(Ended::Unknown, "nobody knows"),
            Self::Shown => {
                let picture = pictures.keep("image/png", PNG).expect("kept");
                Outcome { pictures: vec![picture], ..Outcome::new(Ended::Done, "a picture") }
            }
            Self::Malformed | Self::Unoffered => Outcome::new(Ended::Fault, "no"),
        }
    }
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and more";

/// Writes the turn of a request that comes to nothing.
fn faulty(fault: &str) -> Value {
    let tools = json!([{"name": "run_command", "input": {"command": "ls"}}]);
    let answer = |status: u16, body: Value| {
        json!({"fault": {"kind": "http", "status": status, "type": "application/json",
            "headers": {"x-should-retry": "false"}, "body": body.to_string()}})
    };
    match fault {
        "server" => answer(500, json!({"error": {"message": "no", "type": "server_error"}})),
        "too_long" => {
            answer(400, json!({"error": {"message": "no", "code": "context_length_exceeded"}}))
        }
        "drop" => json!({"fault": {"kind": "drop"}}),
        kind => json!({"text": "half", "thinking": "hm", "tools": tools,
            "fault": {"kind": kind, "after": 5}}),
    }
}

/// A conversation in a log, and the model that it is held with.
struct Talk<'a> {
    fake: &'a Fake,
    log: TestLog,
    pen: Option<Pen>,
    model: Box<dyn Model>,
    gallery: Gallery,
    /// What becomes of the calls of the last reply.
    calls: Vec<Called>,
}

impl<'a> Talk<'a> {
    fn begin(fake: &'a Fake, first: usize) -> Self {
        let log = TestLog::new();
        let Opened { pen, .. } = log.open();
        let pictures = Pictures::beside(&log.path);
        let (model, is_shown) = model(fake.port, first);
        let gallery = Gallery { pictures, is_shown };
        let talk = Self { fake, log, pen: Some(pen), model, gallery, calls: Vec::new() };
        talk.says(false);
        talk
    }

    fn pen(&self) -> &Pen {
        self.pen.as_ref().expect("an open log")
    }

    fn write(&self, event: Event) {
        self.pen().write(event).expect("a record");
    }

    fn says(&self, picture: bool) {
        let keep = || self.gallery.pictures.keep("image/png", PNG).expect("kept");
        let pictures = if picture { vec![keep()] } else { Vec::new() };
        self.write(Event::User(UserBody { text: "do it".into(), pictures }));
    }

    fn tells(&self, text: &str) {
        self.write(Event::Notice(NoticeBody { text: text.into(), ..NoticeBody::default() }));
    }

    /// Does what the session owes until the model is to be asked, as the agent does.
    fn settle(&mut self) {
        loop {
            match self.pen().session(next) {
                Next::Decide(ToolCall { id: call, name: tool, .. }) => {
                    let is_cut = self.pen().session(crate::next::reply_was_cut);
                    let next =
                        if self.calls.is_empty() { None } else { Some(self.calls.remove(0)) };
                    let outcome = match next.filter(|_| !is_cut) {
                        Some(called) => called.outcome(&self.gallery.pictures),
                        None => Outcome::new(Ended::Fault, "it was not run"),
                    };
                    self.write(Event::ToolFinished(FinishedBody { call, tool, outcome }));
                }
                Next::TellCut => self.tells("Go on where it stopped."),
                Next::Done(_) => self.says(false),
                Next::AskModel => return,
                Next::Interrupted(_) | Next::TellTasks | Next::TellReviews => {
                    panic!("nothing of that kind was written")
                }
            }
        }
    }

    fn request(&mut self, stops: bool) -> Result<Reply, ProviderFault> {
        self.settle();
        let tool = |name: &str| ToolSchema {
            name: name.to_owned(),
            description: "does it".to_owned(),
            parameters: json!({"type": "object", "properties": {}}),
        };
        let tools = [tool("run_command"), tool("read_image")];
        let mut context = self.pen().session(|session| context(session, "Be good.", &tools));
        self.gallery.fill(&mut context, &self.pen().session(crate::unwanted::refused));
        let cancel = Cancel::new();
        let mut seen = |_| {
            if stops {
                cancel.trigger();
            }
        };
        self.model.reply(&context, &mut seen, &cancel)
    }

    fn take(&mut self, said: &Said, reply: Reply) {
        let Reply { message, tokens, cost, .. } = reply;
        let malformed = message.stop == Stop::Length;
        self.calls = if malformed { Vec::new() } else { said.calls.clone() };
        let model = message.model.clone();
        self.write(Event::Usage(UsageBody { model, tokens, cost }));
        self.write(Event::Model(message));
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Reply(said) => {
                let reply = self.request(false);
                let reply = reply.map_err(|fault| TestCaseError::fail(format!("{fault:?}")))?;
                self.take(said, reply);
            }
            Step::Stopped(said) => match self.request(true) {
                // All of it may have been there before anybody could stop it.
                Ok(reply) => self.take(said, reply),
                Err(fault) => prop_assert!(matches!(fault, ProviderFault::Cancelled), "{fault:?}"),
            },
            Step::Fault(kind) => {
                let reply = self.request(false);
                prop_assert!(reply.is_err(), "{kind} was a reply: {reply:?}");
            }
            Step::Says { picture } => {
                // The agent answers what is open before new words stand there.
                while matches!(self.pen().session(next), Next::Decide(_)) {
                    self.settle();
                }
                self.says(*picture);
            }
            Step::Tells => {
                self.settle();
                self.tells("a fact");
            }
            Step::Fold(tail) => self.fold(|session| {
                let through = fold_point(session, *tail)?;
                let old = session.compaction.clone().unwrap_or_else(nothing);
                Some(CompactionBody { summary: "what happened".into(), through, ..old })
            }),
            Step::Shorten => self.fold(|session| {
                let shortened = before_turns(session, 2)?;
                let old = session.compaction.clone().unwrap_or_else(nothing);
                Some(CompactionBody { shortened, ..old })
            }),
            Step::Switch(number) => {
                let (model, is_shown) = model(self.fake.port, *number);
                (self.model, self.gallery.is_shown) = (model, is_shown);
            }
            Step::Resume => {
                // Whoever had it is gone, with what it knew of its calls.
                self.calls.clear();
                self.pen = None;
                self.pen = Some(self.log.open().pen);
            }
        }
        Ok(())
    }

    /// Makes room where the agent does: before the model is asked.
    fn fold(&mut self, fold: impl FnOnce(&chock_log::Session) -> Option<CompactionBody>) {
        self.settle();
        if let Some(body) = self.pen().session(fold) {
            self.write(Event::Compaction(body));
        }
    }
}

/// Plays a conversation; none of its requests is refused.
fn check(fake: &Fake, first: usize, steps: &[Step]) -> Result<(), TestCaseError> {
    let turns: Vec<_> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Reply(said) => Some(said.turn()),
            Step::Stopped(said) => Some(said.turn()),
            Step::Fault(kind) => Some(faulty(kind)),
            Step::Says { .. }
            | Step::Tells
            | Step::Fold(_)
            | Step::Shorten
            | Step::Switch(_)
            | Step::Resume => None,
        })
        .collect();
    fake.play(&turns);
    let mut talk = Talk::begin(fake, first);
    for step in steps {
        talk.step(step)?;
    }
    let state = fake.ask("GET /_fake/state");
    prop_assert_eq!(&state["problems"], &json!([]), "{}", state);
    prop_assert_eq!(&state["finished"], true, "{}", state);
    Ok(())
}

/// Plays conversations of `length` steps. `PROPTEST_CASES` plays more of them.
fn play(options: &[&str], cases: u32) {
    let fake = Fake::start(options);
    let cases = std::cmp::max(cases, Config::default().cases / 8);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let steps = (0..MODELS, prop::collection::vec(step(), 1..30));
    let played = TestRunner::new(config).run(&steps, |(first, steps)| check(&fake, first, &steps));
    if let Err(fault) = played {
        panic!("{fault}");
    }
}

#[test]
fn a_conversation_never_breaks_on_any_wire() {
    play(&[], 32);
}

#[test]
fn a_conversation_never_breaks_where_servers_give_odd_names_to_calls() {
    play(&["--quirk", "odd_ids", "--quirk", "finish_stop", "--quirk", "crlf"], 16);
}
