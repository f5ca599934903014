//! What the agent left uncommitted comes as a commit where a person says so, and stays in review elsewhere.

use std::fs;

use serde_json::{Value, json};

use crate::apply::{COMMIT, apply, bodies, clean, head, session, worked};
use crate::input::scripted;
use crate::landing::signs;
use crate::landing_again::more;
use crate::review::json_of;
use crate::screen::Screen;
use crate::yard::Yard;

fn read(yard: &Yard, name: &str) -> String {
    fs::read_to_string(yard.project().join(name)).unwrap_or_else(|fault| fault.to_string())
}

/// What git says inside.
fn inside(yard: &Yard, command: &str) -> String {
    yard.chock(&["exec", "--session", &session(yard), "--", "sh", "-c", command]).expect(0).out
}

#[test]
fn what_is_not_committed_comes_as_a_commit_and_goes_out_and_in_again() {
    let yard = worked(&format!(
        "echo one > c.txt; {COMMIT} one; echo rest > d.txt; rm b.txt; chmod +x a.txt; echo more >> c.txt"
    ));
    let before = head(&yard);
    let report = apply(&yard, &["--commit=The rest"], 0);
    assert_eq!((&report["commits"]["count"], &report["left"]), (&json!(2), &json!([])), "{report}");
    let after = head(&yard);
    assert_eq!(
        yard.git(&["log", "--format=%s|%an <%ae>|%cn"]),
        "The rest|Ada <ada@localhost>|Ada\none|Ada <ada@localhost>|Ada\nstart|Ada <ada@localhost>|Ada\n"
    );
    let names = yard.git(&["show", "--format=", "--name-status", "--no-renames"]);
    assert_eq!(names, "M\ta.txt\nD\tb.txt\nM\tc.txt\nA\td.txt\n");
    assert_eq!(read(&yard, "c.txt"), "one\nmore\n");
    clean(&yard);
    // Both are approved by their names, and the session goes on from there.
    let mut acts = bodies(&yard, "approval.answered").into_iter().rev();
    let act = acts.find(|body| body["act"]["kind"] == "hand_back").expect("an approval");
    assert_eq!(act["actions"], json!(["workspace.apply", "workspace.commit"]));
    assert_eq!(inside(&yard, "git rev-parse HEAD; git status --porcelain").trim(), after);
    inside(&yard, "git fsck --strict --no-dangling");
    let left = json_of(&yard.chock(&["review", "--json"]).expect(0));
    assert_eq!(left["left"], json!([]), "{left}");

    yard.chock(&["undo"]).expect(0);
    assert_eq!(head(&yard), before);
    clean(&yard);
    let now = ["gc.reflogExpire=now", "gc.reflogExpireUnreachable=now"];
    yard.git(&["-c", now[0], "-c", now[1], "gc", "-q", "--prune=now"]);
    assert_eq!(inside(&yard, "git fsck --strict --no-dangling && git status --porcelain"), "");
    yard.chock(&["redo"]).expect(0);
    assert_eq!(head(&yard), after);
    clean(&yard);
    more(&yard, &format!("echo again >> c.txt; {COMMIT} again; echo and >> c.txt"));
    apply(&yard, &["--commit=And", "--mode", "squash"], 0);
    let log = yard.git(&["log", "-1", "--format=%B"]);
    assert!(log.starts_with("And\n") && log.contains("* again\n* And\n"), "{log}");
    assert_eq!(read(&yard, "c.txt"), "one\nmore\nagain\nand\n");
    clean(&yard);
}

#[test]
fn it_lands_by_each_mode_with_commits_of_the_agent_and_without() {
    for mode in ["merge", "rebase", "squash"] {
        for commits in ["true".to_owned(), format!("echo one > c.txt; {COMMIT} one")] {
            let yard = worked(&format!("{commits}; echo rest >> a.txt"));
            yard.write("mine", "mine\n");
            yard.commit();
            let ours = head(&yard);
            let report = apply(&yard, &["--commit", "--mode", mode], 0);
            assert_eq!(report["commits"]["branch"], "refs/heads/main", "{mode}: {report}");
            assert_eq!(read(&yard, "a.txt"), "alpha\nrest\n");
            // There is no title yet, so that the session's name stands for it.
            let log = yard.git(&["log", "--format=%B", &format!("{ours}..")]);
            assert!(log.contains(&format!("Work of session {}", session(&yard))), "{log}");
            clean(&yard);
            // The same again has nothing to carry.
            let again = apply(&yard, &["--commit", "--mode", mode], 0);
            assert_eq!(again["commits"], Value::Null, "{again}");
            yard.chock(&["undo"]).expect(0);
            assert_eq!(head(&yard), ours);
            clean(&yard);
        }
    }
}

#[test]
fn what_is_flagged_declined_or_never_carried_stays_out_and_is_named() {
    let yard = worked(&format!(
        "echo one > c.txt; {COMMIT} one; echo x > plain; echo x > .envrc; ln -s /etc out; echo bad > d.txt; echo bad >> a.txt"
    ));
    yard.chock(&["review", "--reject", "d.txt", "--reject", "a.txt", "--because", "bad"]).expect(0);
    let report = apply(&yard, &["--commit"], 0);
    assert_eq!(report["left"], json!([".envrc", "a.txt", "d.txt", "out"]), "{report}");
    for words in [
        "left out: .envrc (",
        "left out: d.txt (you declined it in a review; --accept it by its name)",
        "left out: out (",
    ] {
        let notes = report["notes"].to_string();
        assert!(notes.contains(words), "{words}: {notes}");
    }
    assert_eq!(report["written"], json!(["c.txt", "plain"]));
    clean(&yard);
    let left = json_of(&yard.chock(&["review", "--json"]).expect(0));
    assert_eq!(left["left"], json!([".envrc", "a.txt", "d.txt", "out"]), "{left}");
    // A later accept by name counts, and what is never carried still is not.
    let words = ["--commit", "--accept", ".envrc", "--accept", "d.txt", "--accept", "out"];
    let report = apply(&yard, &words, 0);
    assert_eq!(report["written"], json!([".envrc", "d.txt"]), "{report}");
    assert_eq!(report["left"], json!(["a.txt", "out"]), "{report}");
    assert_eq!(read(&yard, "a.txt"), "alpha\n");
    clean(&yard);
    // With nothing new to carry they are named all the same.
    let report = apply(&yard, &["--commit"], 0);
    assert_eq!(report["left"], json!(["a.txt", "out"]), "{report}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("left out: a.txt (you declined it"), "{notes}");
    assert!(notes.contains("there is no commit that the project does not have"), "{notes}");
}

#[test]
fn what_git_inside_ignores_or_reads_otherwise_is_not_taken_for_a_change() {
    let yard = Yard::new();
    fs::write(yard.path("home/.gitconfig"), "[user]\n\tname = Ada\n\temail = ada@localhost\n")
        .expect("a file");
    yard.write(".gitattributes", "*.bat text eol=crlf\n");
    yard.commit();
    crate::review::work(
        &yard,
        &format!(
            "mkdir __pycache__; echo x > __pycache__/x; git add -f __pycache__; printf 'a\\r\\nb\\r\\n' > r.bat; {COMMIT} one
             echo y > __pycache__/x; echo z > __pycache__/z; echo rest > d.txt; mv b.txt e.txt"
        ),
    );
    let report = apply(&yard, &["--commit=Rest"], 0);
    assert_eq!(report["commits"]["count"], 2, "{report}");
    let names = yard.git(&["show", "--format=", "--name-status", "--no-renames"]);
    assert_eq!(names, "D\tb.txt\nA\td.txt\nA\te.txt\n");
    assert_eq!(yard.git(&["ls-files", "__pycache__"]), "__pycache__/x\n");
    clean(&yard);
}

#[test]
fn the_commit_has_the_session_s_title_and_a_plain_word_where_git_knows_no_name() {
    let yard = Yard::new();
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [
                { "name": "set_title", "input": { "title": "Add gamma" } },
                { "name": "run_command", "input": { "command": "echo gamma > c.txt" } } ] },
            { "text": "done" } ] }),
    );
    yard.chock(&["run", "work"]).expect(0);
    let report = apply(&yard, &["--commit"], 0);
    let notes = report["notes"].to_string();
    assert!(notes.contains("git knows no name"), "{notes}");
    assert_eq!(yard.git(&["log", "-1", "--format=%s|%an"]), "Add gamma|Chock\n");
    clean(&yard);
}

#[test]
fn where_the_person_signs_it_is_signed() {
    let yard = worked(&format!("echo one > c.txt; {COMMIT} one; echo rest > d.txt"));
    let option = format!("gpg.ssh.allowedSignersFile={}", signs(&yard).display());
    apply(&yard, &["--commit=Rest"], 0);
    let log = yard.git(&["-c", &option, "log", "-n", "2", "--format=%G? %s %an"]);
    assert_eq!(log, "G Rest Ada\nG one Ada\n");
    clean(&yard);
}

fn runs(yard: &Yard, command: &str) {
    scripted(
        yard,
        &json!({ "turns": [
            { "tools": [{ "name": "run_command", "input": { "command": command } }] },
            { "text": "done" }, { "text": "done" } ] }),
    );
}

#[test]
fn a_person_who_is_asked_at_the_end_may_have_the_rest_too_and_sees_it_first() {
    let yard = Yard::new();
    runs(&yard, &format!("echo gamma > c.txt; {COMMIT} one; echo delta > d.txt; echo x > .envrc"));
    let before = head(&yard);
    let mut screen = Screen::start(&yard, &["run", "work"]);
    screen.wait_for("carry 1 commit of session");
    screen.wait_for("commit: commit the 1 file that the agent did not, and ask again");
    screen.wait_for("a always here, commit, n no (or n and why): ");
    screen.press("c\n");
    screen.wait_for("workspace.commit: it commits what the agent left uncommitted");
    screen.wait_for("carry 2 commits of session");
    screen.wait_for("left out: .envrc");
    screen.wait_for("+delta");
    screen.wait_for("Allow it?");
    assert_eq!(head(&yard), before);
    screen.press("y\n");
    let (code, rest) = screen.end();
    assert_eq!(code, Some(0), "{rest}");
    assert_eq!((read(&yard, "c.txt"), read(&yard, "d.txt")), ("gamma\n".into(), "delta\n".into()));
    clean(&yard);
    yard.chock(&["undo"]).expect(0);
    assert_eq!(head(&yard), before);
    yard.chock(&["sessions", "verify"]).expect(0);
}

#[test]
fn only_a_row_has_it_committed_without_a_person_and_a_row_can_forbid_it() {
    let row = |action: &str, decision: &str| {
        format!(".{{ .action = \"{action}\", .decision = .{decision} }}")
    };
    let with = |rows: &[String]| {
        let yard = Yard::new();
        let text = format!(".{{ .policy = .{{ .rules = .{{ {} }} }} }}", rows.join(", "));
        yard.write("chock.zon", &text);
        yard.commit();
        runs(&yard, "echo delta > d.txt");
        let ran = yard.chock(&["run", "work"]);
        match ran.err.split("--accept-project ").nth(1) {
            Some(digest) => {
                let digest = digest.split_whitespace().next().expect("a digest").to_owned();
                yard.chock(&["run", "--accept-project", &digest, "work"]).expect(0);
            }
            None => drop(ran.expect(0)),
        }
        yard
    };
    let allowed = [row("workspace.apply", "allow"), row("workspace.commit", "allow")];
    let yard = with(&allowed);
    assert_eq!(read(&yard, "d.txt"), "delta\n");
    clean(&yard);
    // One of them alone does nothing by itself.
    for alone in allowed {
        let yard = with(&[alone]);
        assert!(!yard.project().join("d.txt").exists());
    }
    let yard = with(&[row("workspace.commit", "deny")]);
    let ran = yard.chock(&["apply", "--commit"]).expect(3);
    assert!(ran.err.contains("workspace.commit"), "{}", ran.err);
    assert!(!yard.project().join("d.txt").exists());
}

#[test]
fn a_merge_that_is_under_way_in_the_session_is_not_committed_half_done() {
    let yard = worked(&format!(
        "git checkout -q -b side; echo side > a.txt; {COMMIT} side
         git checkout -q main; echo main > a.txt; {COMMIT} main; git merge -q side; true"
    ));
    let before = head(&yard);
    let refused = yard.chock(&["apply", "--commit"]).expect(3);
    assert!(refused.err.contains("is under way in the session"), "{}", refused.err);
    assert_eq!(head(&yard), before);
    inside(&yard, "test -e .git/MERGE_HEAD");
    // What the agent did commit comes, and once the merge has ended the rest does too.
    assert_eq!(apply(&yard, &[], 0)["commits"]["count"], 1);
    assert_eq!(read(&yard, "a.txt"), "main\n");
    inside(&yard, "git merge --abort && echo rest > d.txt");
    assert_eq!(apply(&yard, &["--commit"], 0)["written"], json!(["d.txt"]));
}
