//! A session lands again and again: what landed once is what the next landing goes out from.

use std::fs;

use serde_json::{Value, json};

use crate::apply::{COMMIT, apply, bodies, clean, head, session, worked};
use crate::input::scripted;
use crate::landing::signs;
use crate::screen::Screen;
use crate::yard::Yard;

/// Does more in the session's copy.
pub(crate) fn more(yard: &Yard, command: &str) {
    yard.chock(&["exec", "--session", &session(yard), "--", "sh", "-c", command]).expect(0);
}

/// Changes the same line once more, and commits.
fn line(text: &str) -> String {
    format!("echo {text} > a.txt; {COMMIT} {text}")
}

fn read(yard: &Yard, name: &str) -> String {
    fs::read_to_string(yard.project().join(name)).unwrap_or_else(|fault| fault.to_string())
}

#[track_caller]
fn lands(yard: &Yard, mode: &str, count: u64, text: &str) -> Value {
    let report = apply(yard, &["--mode", mode], 0);
    let commits = &report["commits"];
    assert_eq!(
        (&commits["count"], &commits["branch"]),
        (&json!(count), &json!("refs/heads/main")),
        "{mode} {text}: {report}"
    );
    assert_eq!(read(yard, "a.txt"), format!("{text}\n"), "{mode}");
    clean(yard);
    report
}

#[test]
fn the_same_lines_land_again_with_each_mode_and_each_after_each() {
    for modes in [
        ["squash", "squash", "squash"],
        ["rebase", "rebase", "rebase"],
        ["merge", "merge", "merge"],
        ["squash", "rebase", "merge"],
        ["squash", "merge", "rebase"],
        ["merge", "squash", "merge"],
    ] {
        let yard = worked(&format!("{}; {}", line("one"), line("two")));
        // The branch moves before each, so that nothing is a fast-forward.
        for (number, mode) in modes.into_iter().enumerate() {
            yard.write(&format!("mine{number}"), "mine\n");
            yard.commit();
            let (count, text) =
                if number == 0 { (2, "two".to_owned()) } else { (1, format!("more{number}")) };
            lands(&yard, mode, count, &text);
            more(&yard, &line(&format!("more{}", number + 1)));
        }
        let log = yard.git(&["log", "--format=%s", "--first-parent"]);
        assert_eq!(
            log.lines().count(),
            if modes[0] == "rebase" { 8 } else { 7 },
            "{modes:?}: {log}"
        );
        // Only what is new is asked about and recorded.
        let act = &bodies(&yard, "approval.answered").pop().expect("an approval")["act"];
        assert_eq!(act["git"]["commits"], 1, "{act}");
    }
}

#[test]
fn a_branch_that_only_has_what_landed_gets_the_new_commits_themselves() {
    let yard = worked(&line("one"));
    lands(&yard, "squash", 1, "one");
    more(&yard, &line("two"));
    lands(&yard, "merge", 1, "two");
    assert_eq!(
        yard.git(&["log", "--format=%s %P"]).lines().map(|row| row.split(' ').count()).max(),
        Some(2)
    );
    // Nothing new: nothing is done, and it is no conflict.
    let report = apply(&yard, &["--mode", "squash"], 0);
    assert_eq!(report["commits"], Value::Null, "{report}");
}

#[test]
fn what_was_undone_lands_from_the_start_and_what_was_redone_does_not() {
    for mode in ["squash", "rebase"] {
        let yard = worked(&line("one"));
        yard.write("mine", "mine\n");
        yard.commit();
        let ours = head(&yard);
        lands(&yard, mode, 1, "one");
        more(&yard, &line("two"));
        lands(&yard, mode, 1, "two");
        let both = head(&yard);
        yard.chock(&["undo", "--steps", "2"]).expect(0);
        assert_eq!((head(&yard), read(&yard, "a.txt")), (ours.clone(), "alpha\n".to_owned()));
        yard.chock(&["redo", "--steps", "2"]).expect(0);
        assert_eq!(head(&yard), both);
        more(&yard, &line("three"));
        lands(&yard, mode, 1, "three");
        yard.chock(&["undo", "--steps", "3"]).expect(0);
        assert_eq!(head(&yard), ours);
        lands(&yard, mode, 3, "three");
        // By hand, behind Chock's back: what is not on the branch did not land.
        yard.git(&["reset", "-q", "--hard", &ours]);
        lands(&yard, mode, 3, "three");
    }
}

#[test]
fn what_landed_can_be_undone_and_redone_when_its_objects_were_collected() {
    let yard = worked(&line("one"));
    lands(&yard, "squash", 1, "one");
    more(&yard, &line("two"));
    lands(&yard, "squash", 1, "two");
    let after = head(&yard);
    yard.chock(&["undo", "--steps", "2"]).expect(0);
    let now = ["gc.reflogExpire=now", "gc.reflogExpireUnreachable=now"];
    yard.git(&["-c", now[0], "-c", now[1], "gc", "-q", "--prune=now"]);
    yard.chock(&["redo", "--steps", "2"]).expect(0);
    assert_eq!(head(&yard), after);
    clean(&yard);
}

#[test]
fn another_branch_of_the_session_brings_its_own_changes_only() {
    let yard = worked(&format!("git switch -q -c one; {}", line("one")));
    lands(&yard, "squash", 1, "one");
    more(
        &yard,
        &format!("git switch -q main; git switch -q -c two; echo gamma > c.txt; {COMMIT} two"),
    );
    lands(&yard, "squash", 1, "one");
    assert_eq!(read(&yard, "c.txt"), "gamma\n");
}

#[test]
fn what_was_declined_at_a_run_s_end_is_not_asked_again_until_something_is_new() {
    let yard = Yard::new();
    let run = |text: &str| json!({ "tools": [{ "name": "run_command", "input": { "command": line(text) } }] });
    let said = json!({ "text": "done" });
    scripted(&yard, &json!({ "turns": [run("one"), said, said, run("two"), said] }));
    let before = head(&yard);
    let mut screen = Screen::start(&yard, &["run", "work"]);
    screen.wait_for("Allow it?");
    screen.press("n not like this\n");
    assert_eq!(screen.end().0, Some(0));

    let id = session(&yard);
    let screen = Screen::start(&yard, &["run", "--session", &id, "well?"]);
    let (code, rest) = screen.end();
    assert_eq!(code, Some(0), "{rest}");
    assert!(!rest.contains("Allow it?"), "{rest}");
    assert!(rest.contains("you declined these commits; they stay in the session"), "{rest}");
    assert_eq!(bodies(&yard, "approval.asked").len(), 1);

    let mut screen = Screen::start(&yard, &["run", "--session", &id, "again"]);
    screen.wait_for("carry 2 commits");
    screen.wait_for("Allow it?");
    screen.press("y\n");
    let (code, rest) = screen.end();
    assert_eq!(code, Some(0), "{rest}");
    assert_ne!(head(&yard), before);
    assert_eq!(read(&yard, "a.txt"), "two\n");
}

#[test]
fn where_the_person_signs_the_next_landing_is_signed_and_follows_the_first() {
    let yard = worked(&line("one"));
    let signers = signs(&yard);
    lands(&yard, "merge", 1, "one");
    more(&yard, &line("two"));
    lands(&yard, "merge", 1, "two");
    let option = format!("gpg.ssh.allowedSignersFile={}", signers.display());
    let log = yard.git(&["-c", &option, "log", "-n", "2", "--format=%G? %s %an"]);
    assert_eq!(log, "G two Ada\nG one Ada\n");
}
