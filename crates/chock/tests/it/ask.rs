//! Questions at a real terminal.

use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::input::scripted;
use crate::screen::Screen;
use crate::yard::Yard;

fn asking(commands: &[&str]) -> Yard {
    let yard = Yard::new();
    yard.write(
        "chock.zon",
        ".{ .policy = .{ .rules = .{ .{ .action = \"call.run_command\", .decision = .ask } } } }",
    );
    let calls: Vec<_> = commands
        .iter()
        .map(|command| json!({ "name": "run_command", "input": { "command": command } }))
        .collect();
    scripted(&yard, &json!({ "turns": [{ "tools": calls }, { "text": "done" }] }));
    yard
}

const PROMPT: &str = "anything else = no: ";

#[test]
fn a_person_answers_once_for_the_session_or_no() {
    let yard = asking(&["echo one", "echo two"]);
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for("| echo one");
    screen.wait_for(PROMPT);
    screen.press("n\n");
    screen.wait_for("| echo two");
    screen.wait_for(PROMPT);
    screen.press("y\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    let ended: Vec<_> =
        yard.outcomes().into_iter().map(|outcome| outcome["ended"].clone()).collect();
    assert_eq!(ended, [json!("denied"), json!({ "exited": 0 })]);

    let yard = asking(&["echo one", "echo two"]);
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for(PROMPT);
    screen.press("a\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains(PROMPT), "asked twice:\n{seen}");
}

#[test]
fn nobody_at_the_terminal_is_a_refusal_at_once() {
    let yard = asking(&["echo one"]);
    yard.chock(&["run", "x"]).expect(0);
    let outcome = &yard.outcomes()[0];
    assert_eq!(outcome["ended"], "denied");
    assert_eq!(outcome["denial"]["action"], "call.run_command", "{outcome}");
    assert!(
        outcome["denial"]["allowed_by"].as_str().expect("a row").contains(".allow"),
        "{outcome}"
    );
}

#[test]
fn what_the_agent_wrote_cannot_draw() {
    let yard = asking(&["echo \u{1b}[2J\u{1b}]0;title\u{7}\u{202e}hidden"]);
    let mut screen = Screen::start(&yard, &["run", "--color", "never", "x"]);
    screen.wait_for("\\x1b[2J\\x1b]0;title\\x07\\u{202e}hidden");
    screen.wait_for(PROMPT);
    screen.press("y\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains('\u{1b}') && !seen.contains('\u{7}'), "{seen:?}");
}

#[test]
fn ctrl_c_at_a_question_stops_the_turn() {
    let yard = asking(&["echo one", "echo two"]);
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for(PROMPT);
    screen.press("\u{3}");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(3), "{seen}");
    assert_eq!(yard.outcomes().len(), 2, "both calls are answered");
    yard.chock(&["sessions", "verify"]).expect(0);
}

#[test]
fn ctrl_c_during_a_command_ends_it_and_the_session_goes_on() {
    let yard = Yard::new();
    let call = json!({ "name": "run_command", "input": { "command": "sleep 982.5" } });
    scripted(&yard, &json!({ "turns": [{ "tools": [call] }, { "text": "went on" }] }));
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for("$ sleep 982.5");
    thread::sleep(Duration::from_millis(300));
    screen.press("\u{3}");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(3), "{seen}");
    assert_eq!(yard.outcomes()[0]["ended"], "cancelled", "the keeper outlived the interrupt");
    let ran = yard.chock(&["run", "--continue"]).expect(0);
    assert!(ran.out.contains("went on"), "{}", ran.out);
}
