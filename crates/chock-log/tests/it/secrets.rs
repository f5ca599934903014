//! No secret reaches the file, and the run itself is not disturbed.

use std::fs;

use chock_log::{
    Act, Ended, Event, FinishedBody, Grounds, Log, ModelMessage, Outcome, Part, Redactor, Stop,
    ToolCall, Verdict, holds_marker, verify,
};
use chock_testkit::{LOG_KEY, TestLog, options};
use serde_json::{Value, json};

const LENT: &str = "lent-value-0123";

struct Shown(String);

impl Act for Shown {
    fn record(&self) -> Value {
        json!({ "argv": [self.0] })
    }
}

fn open(log: &TestLog) -> chock_log::Opened {
    let redactor = Redactor::new([LENT.to_owned()], LOG_KEY);
    Log::open(&log.path, chock_log::Options { redactor, ..options() }).expect("a log")
}

fn aws_key() -> String {
    format!("{}{}", "AKIA", "IOSFODNN7EXAMPLE")
}

#[test]
fn output_and_arguments_are_masked_in_the_file_and_the_chain_holds() {
    let log = TestLog::new();
    let opened = open(&log);
    let pem = format!("-----BEGIN {} KEY-----\nMIIabc\n-----END {0} KEY-----", "PRIVATE");
    let output = format!("{LENT} {} {pem} https://u:passw0rd@h/", aws_key());
    let arguments = json!({ "command": format!("echo {LENT} {}", aws_key()) }).to_string();
    let call = ToolCall {
        id: "c".to_owned(),
        name: "run_command".to_owned(),
        arguments: arguments.clone(),
    };
    opened
        .pen
        .write(Event::Model(ModelMessage {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            parts: vec![Part::Call(call)],
            stop: Stop::Calls,
        }))
        .expect("a write");
    let pending = opened.pen.session(|session| session.pending[0].arguments.clone());
    assert_eq!(pending, arguments, "the run does what the model said");
    opened
        .pen
        .write(Event::ToolFinished(FinishedBody {
            call: "c".to_owned(),
            tool: "run_command".to_owned(),
            outcome: Outcome::new(Ended::Exited(0), output),
        }))
        .expect("a write");
    drop(opened);
    let text = fs::read_to_string(&log.path).expect("a file");
    for secret in [LENT, &aws_key(), "MIIabc", "passw0rd"] {
        assert!(!text.contains(secret), "{secret} stands in the file");
    }
    assert!(holds_marker(&text));
    assert!(matches!(verify(&log.path), Verdict::Intact { records: 2 }));
}

#[test]
fn an_approval_shows_all_but_lent_values() {
    let log = TestLog::new();
    let mut opened = open(&log);
    let act = Shown(format!("curl {LENT} {}", aws_key()));
    let permit = opened.granter.grant("c", act, Vec::new(), Grounds::Person).expect("a permit");
    assert!(permit.act().0.contains(LENT), "the act itself is whole");
    let _ = permit.spend();
    drop(opened);
    let text = fs::read_to_string(&log.path).expect("a file");
    assert!(text.contains(&aws_key()) && !text.contains(LENT));
}
