//! Where the project's mode is to ask, a person chooses how commits land, and nobody else does.

use std::fs;

use serde_json::{Value, json};

use crate::apply::{COMMIT, apply, bodies, clean, head, worked};
use crate::input::scripted;
use crate::screen::Screen;
use crate::yard::Yard;

const MODE: &str = ".{ .apply = .{ .mode = .ask } }";

fn asks(command: &str) -> Yard {
    let yard = Yard::new();
    yard.write("chock.zon", MODE);
    yard.commit();
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [{ "name": "run_command", "input": { "command": command } }] },
            { "text": "done" }, { "text": "done" } ] }),
    );
    yard
}

fn read(yard: &Yard, name: &str) -> String {
    fs::read_to_string(yard.project().join(name)).unwrap_or_else(|fault| fault.to_string())
}

#[test]
fn at_the_end_of_a_run_one_of_the_ways_is_chosen_with_its_result_named() {
    let yard = asks(&format!("echo 1 > c.txt; {COMMIT} one; echo 2 > c.txt; {COMMIT} two"));
    let before = head(&yard);
    let mut screen = Screen::start(&yard, &["run", "work"]);
    for words in [
        "Choose how the commits land:",
        "carry 2 commits of session",
        "and land them on refs/heads/main, in one of these ways",
        "+2",
        &format!("merge: {} -> ", &before[..10]),
        "the commits themselves",
        &format!("squash: {} -> ", &before[..10]),
        "leave: keep them at refs/chock/",
        "Which? merge, rebase, squash, leave, n no (or n and why): ",
    ] {
        screen.wait_for(words);
    }
    // A yes is none of them.
    screen.press("y\n");
    screen.wait_for("that is none of them");
    assert_eq!(head(&yard), before);
    screen.press("s\n");
    let (code, rest) = screen.end();
    assert_eq!(code, Some(0), "{rest}");
    assert_eq!(yard.git(&["log", "--format=%s"]).lines().count(), 3);
    assert_eq!(read(&yard, "c.txt"), "2\n");
    clean(&yard);
    assert_eq!(bodies(&yard, "approval.asked").len(), 1);
    let approval = bodies(&yard, "approval.answered").pop().expect("an approval");
    assert_eq!(approval["grounds"], "person_directly", "{approval}");
    assert_eq!(approval["act"]["git"]["mode"], "squash");
    yard.chock(&["undo"]).expect(0);
    assert_eq!(head(&yard), before);
    yard.chock(&["sessions", "verify"]).expect(0);
}

#[test]
fn the_rest_may_be_committed_too_before_the_choice() {
    let yard = asks(&format!("echo 1 > c.txt; {COMMIT} one; echo rest > d.txt"));
    let mut screen = Screen::start(&yard, &["run", "work"]);
    screen.wait_for("commit: commit the 1 file that the agent did not");
    screen.wait_for("Which?");
    screen.press("c\n");
    screen.wait_for("carry 2 commits of session");
    screen.wait_for("+rest");
    screen.wait_for("Which?");
    screen.press("merge\n");
    let (code, rest) = screen.end();
    assert_eq!(code, Some(0), "{rest}");
    assert_eq!(read(&yard, "d.txt"), "rest\n");
    clean(&yard);
}

#[test]
fn chock_apply_asks_at_a_terminal_and_parks_without_one() {
    let command = format!("echo 1 > c.txt; {COMMIT} one; echo 2 > d.txt; {COMMIT} two");
    let begin = || {
        let yard = asks(&command);
        yard.chock(&["run", "work"]).expect(0);
        yard.write("mine", "mine\n");
        yard.commit();
        yard
    };
    let answered = |keys: &str, code: i32| {
        let yard = begin();
        let ours = head(&yard);
        let mut screen = Screen::start(&yard, &["apply"]);
        screen.wait_for(&format!("rebase: {} -> ", &ours[..10]));
        screen.wait_for("Which?");
        screen.press(keys);
        let (found, rest) = screen.end();
        assert_eq!(found, Some(code), "{rest}");
        clean(&yard);
        (yard, ours)
    };
    let (yard, ours) = answered("r\n", 0);
    assert_eq!(yard.git(&["log", "--format=%s", &format!("{ours}..")]), "two\none\n");
    let (yard, ours) = answered("l\n", 0);
    assert_eq!(head(&yard), ours);
    assert_ne!(yard.git(&["for-each-ref", "refs/chock"]), "");
    let (yard, ours) = answered("n not today\n", 3);
    assert_eq!((head(&yard), yard.git(&["for-each-ref", "refs/chock"])), (ours, String::new()));

    // Nobody is there: they are kept, and it is said why and how they land.
    let yard = begin();
    let ours = head(&yard);
    let report = apply(&yard, &[], 0);
    assert_eq!(report["commits"]["parked"], "not_asked_for", "{report}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("the project's mode is `ask`, and nobody is here"), "{notes}");
    assert!(notes.contains("chock apply --mode merge"), "{notes}");
    assert_eq!(head(&yard), ours);
    apply(&yard, &["--mode", "squash"], 0);
    assert_eq!(read(&yard, "d.txt"), "2\n");
}

#[test]
fn where_nothing_can_land_nobody_is_asked_to_choose() {
    let yard = asks(&format!("echo theirs > a.txt; {COMMIT} one"));
    yard.chock(&["run", "work"]).expect(0);
    yard.write("a.txt", "ours\n");
    yard.commit();
    let (code, rest) = Screen::start(&yard, &["apply"]).end();
    assert_eq!(code, Some(3), "{rest}");
    assert!(rest.contains("would_conflict") && !rest.contains("Which?"), "{rest}");
    let yard = worked(&format!("echo theirs > a.txt; {COMMIT} one"));
    let report = apply(&yard, &[], 0);
    assert_ne!(report["commits"], Value::Null, "{report}");
}
