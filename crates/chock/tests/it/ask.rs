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

const PROMPT: &str = "n no (or n and why): ";

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
    screen.press("s\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains(PROMPT), "asked twice:\n{seen}");
}

#[test]
fn what_is_neither_is_asked_again_and_a_no_carries_its_reason_to_the_model() {
    let yard = asking(&["echo one"]);
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen
        .wait_for("call.run_command: it calls a tool (project: .{ .action = \"call.run_command\"");
    screen.wait_for(PROMPT);
    screen.press("yes please\n");
    screen.wait_for("neither a yes nor a no");
    screen.wait_for(PROMPT);
    screen.press("n use make instead\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    let text = yard.outcomes()[0]["text"].as_str().expect("words").to_owned();
    assert!(text.contains("A person refused `call.run_command`: use make instead"), "{text}");
    let answered = bodies(&yard, "approval.answered");
    assert_eq!(answered[0]["words"], "use make instead");
}

fn bodies(yard: &Yard, kind: &str) -> Vec<serde_json::Value> {
    let records = yard.records().into_iter().filter(|record| record["kind"] == kind);
    records.map(|record| record["body"].clone()).collect()
}

#[test]
fn always_is_kept_for_this_directory_listed_and_taken_back() {
    let yard = asking(&["echo one"]);
    let row = ".{ .agent_kind = \"main\", .tool = \"run_command\", .action = \"call.run_command\", .decision = .allow }";
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for(&format!("a would add, for this project: {row}"));
    screen.wait_for("a always here");
    screen.press("a\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(bodies(&yard, "approval.answered")[0]["grounds"], "person_always");

    // Not asked again, with nobody there; and no file of the project says so.
    yard.chock(&["run", "x"]).expect(0);
    assert_eq!(yard.outcomes()[0]["ended"], json!({ "exited": 0 }));
    assert_eq!(yard.git(&["status", "--porcelain"]), "?? chock.zon\n");
    let listed = yard.chock(&["policy"]).expect(0).out;
    assert!(listed.contains(&format!("remembered    {row}")), "{listed}");
    let told = yard.chock(&["policy", "explain", "call.run_command"]).expect(0).out;
    assert!(told.starts_with("call.run_command: allow\n  because of remembered: "), "{told}");

    // Another directory in its place is asked again.
    let (project, away) = (yard.project(), yard.path("away"));
    std::fs::rename(&project, &away).expect("moved");
    let copied = std::process::Command::new("cp").arg("-a").args([&away, &project]).status();
    assert!(copied.expect("cp").success());
    yard.chock(&["run", "x"]).expect(0);
    assert_eq!(yard.outcomes()[0]["ended"], "denied");
    std::fs::remove_dir_all(&project).expect("removed");
    std::fs::rename(&away, &project).expect("back");

    yard.chock(&["policy", "revoke", "git.push"]).expect(1);
    let revoked = yard.chock(&["policy", "revoke", "call.run_command"]).expect(0).err;
    assert!(revoked.contains("1 lasting answer was taken back"), "{revoked}");
    yard.chock(&["run", "x"]).expect(0);
    assert_eq!(yard.outcomes()[0]["ended"], "denied");
}

#[test]
fn a_question_is_answered_from_another_terminal() {
    let yard = asking(&["echo one", "echo two"]);
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for(PROMPT);
    // While a question is open everything else works.
    yard.chock(&["sessions"]).expect(0);
    yard.chock(&["diff"]).expect(0);
    let shown = yard.chock(&["approve", "--json"]).expect(0).out;
    let sheet: serde_json::Value = serde_json::from_str(&shown).expect("a question");
    assert_eq!((&sheet["question"], &sheet["effect"]), (&json!(1), &json!("echo one")), "{sheet}");
    yard.chock(&["approve", "--question", "2", "--answer", "once"]).expect(1);
    let unclear = yard.chock(&["approve"]).expect(1);
    assert!(unclear.err.contains("--question 1 --answer"), "{}", unclear.err);
    yard.chock(&["approve", "--question", "1", "--answer", "once"]).expect(0);
    // The prompt is gone from the line, since nobody is to answer it any more.
    screen.wait_for("\r\u{1b}[2K");
    screen.wait_for("answered from another terminal");
    screen.wait_for(PROMPT);
    let mut other = Screen::start(&yard, &["approve"]);
    other.wait_for("| echo two");
    other.wait_for(PROMPT);
    other.press("n not two\n");
    assert_eq!(other.end().0, Some(0));
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    let ended: Vec<_> = yard.outcomes().into_iter().map(|found| found["ended"].clone()).collect();
    assert_eq!(ended, [json!({ "exited": 0 }), json!("denied")]);
    yard.chock(&["approve"]).expect(1);
}

#[test]
fn a_session_without_a_terminal_asks_whoever_waits_for_its_questions() {
    let yard = asking(&["echo one"]);
    let call = json!({ "name": "run_command", "input": { "command": "echo one" } });
    scripted(
        &yard,
        &json!({ "turns": [{ "tools": [call], "delay_ms": 2500 }, { "text": "done" }] }),
    );
    let mut session = yard.command(&["run", "x"]).spawn().expect("a session");
    crate::kill::until("the session runs", || yard.chock(&["approve"]).code == Some(0));
    let mut waiting = Screen::start(&yard, &["approve", "--wait"]);
    waiting.wait_for("| echo one");
    waiting.wait_for(PROMPT);
    waiting.press("y\n");
    assert_eq!(waiting.end().0, Some(0));
    assert!(session.wait().expect("an end").success());
    assert_eq!(yard.outcomes()[0]["ended"], json!({ "exited": 0 }));
}

#[test]
fn who_waits_for_questions_may_come_first_and_is_not_left_with_one_that_was_answered() {
    let yard = asking(&["echo one"]);
    let unknown = yard.chock(&["approve", "--wait", "01ABCDEF"]).expect(1);
    assert!(unknown.err.contains("there is no session"), "{}", unknown.err);
    let mut waiting = Screen::start(&yard, &["approve", "--wait"]);
    waiting.wait_for("no session of this project runs; waiting for one");
    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for(PROMPT);
    waiting.wait_for("| echo one");
    waiting.wait_for(PROMPT);
    screen.press("y\n");
    waiting.wait_for("\r\u{1b}[2K");
    waiting.wait_for("answered at another terminal");
    let (code, seen) = waiting.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("is over"), "{seen}");
    assert_eq!(screen.end().0, Some(0));
    assert_eq!(yard.outcomes()[0]["ended"], json!({ "exited": 0 }));
}

/// A session in which `call.run_command` is reviewed, and a reviewer that answers so.
fn reviewed(decision: &str, answer: &str) -> Yard {
    let yard = asking(&["echo one"]);
    yard.write(
        "chock.zon",
        &format!(".{{ .policy = .{{ .rules = .{{ .{{ .action = \"call.run_command\", .decision = .{decision} }} }} }} }}"),
    );
    let script = yard.path("home/.config/chock/reviewer.json");
    let turns = json!({ "turns": [{ "text": answer, "usage": { "input": 7, "output": 3 } }] });
    std::fs::write(script, turns.to_string()).expect("a script");
    yard.config(
        ".{ .providers = .{ .{ .name = \"script\", .kind = .scripted, .script = \"script.json\" }, .{ .name = \"second\", .kind = .scripted, .script = \"reviewer.json\" } }, .defaults = .{ .provider = \"script\", .reviewer = \"second\" } }",
    );
    yard
}

#[test]
fn a_reviewing_agent_answers_and_what_is_unreadable_refuses() {
    let approve = r#"{"verdict": "approve", "why": "it only prints"}"#;
    for (answer, ended, review) in [
        (approve, json!({ "exited": 0 }), "approved"),
        (r#"{"verdict": "refuse", "why": "secret words"}"#, json!("denied"), "refused"),
        ("sure, go on", json!("denied"), "refused"),
    ] {
        let yard = reviewed("agent_review", answer);
        yard.chock(&["run", "x"]).expect(0);
        let outcome = &yard.outcomes()[0];
        assert_eq!(outcome["ended"], ended, "{answer}");
        assert!(!outcome.to_string().contains("secret words"), "{outcome}");
        let reviews = bodies(&yard, "approval.reviewed");
        assert_eq!(reviews[0]["review"], review, "{answer}");
        assert!(bodies(&yard, "usage").iter().any(|usage| usage["tokens"]["input"] == 7));
    }
    // Nobody could be asked afterwards, so the review is not paid for.
    let yard = reviewed("agent_then_human", approve);
    yard.chock(&["run", "x"]).expect(0);
    assert_eq!(yard.outcomes()[0]["ended"], "denied");
    assert_eq!(bodies(&yard, "approval.reviewed").len(), 0);

    let mut screen = Screen::start(&yard, &["run", "x"]);
    screen.wait_for("a reviewing agent approved it: it only prints");
    screen.wait_for(PROMPT);
    screen.press("y\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(yard.outcomes()[0]["ended"], json!({ "exited": 0 }));
}

#[test]
fn a_promise_holds_across_runs_and_only_the_person_lifts_it() {
    let yard = Yard::new();
    let promise = |ceiling: &str| {
        let input =
            json!({ "action": "call.run_command", "ceiling": ceiling, "reason": "to be safe" });
        json!({ "name": "restrict_self", "input": input })
    };
    let command = json!({ "name": "run_command", "input": { "command": "echo one" } });
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [command, promise("deny"), command, promise("allow"), command] },
            { "text": "done" },
            { "tools": [command, promise("allow"), command] },
            { "text": "done" },
        ] }),
    );
    yard.chock(&["run", "x"]).expect(0);
    let ended = |yard: &Yard| -> Vec<_> {
        yard.outcomes().into_iter().map(|found| found["ended"].clone()).collect()
    };
    let ran = json!({ "exited": 0 });
    let denied = json!("denied");
    let done = json!("done");
    let first = [ran.clone(), done.clone(), denied.clone(), denied.clone(), denied.clone()];
    assert_eq!(ended(&yard), first);

    let mut screen = Screen::start(&yard, &["run", "--continue", "go on"]);
    screen.wait_for("lift the agent's own promise that call.run_command is at most deny");
    screen.wait_for("Allow it? y once, s this session, n no");
    screen.press("y\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(ended(&yard)[5..], [denied, done, ran]);
    assert_eq!(bodies(&yard, "policy.widened").len(), 1);
}

#[test]
fn nobody_at_the_terminal_is_a_refusal_at_once() {
    let yard = asking(&["echo one"]);
    let ran = yard.chock(&["run", "x"]).expect(0);
    // What was refused is named, though it never began.
    assert!(
        ran.err.contains("● $ echo one\n  refused, nobody said yes: call.run_command"),
        "{}",
        ran.err
    );
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
