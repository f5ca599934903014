//! The agent's commits come into the project as commits, or stay by a reason that has a name.

use std::fs;

use serde_json::{Value, json};

use crate::input::scripted;
use crate::review::{json_of, work};
use crate::yard::Yard;

pub(crate) const COMMIT: &str = "git add -A && git commit -q -m";

/// A yard in which nothing is asked and everything lands, and a session that did this.
pub(crate) fn worked(command: &str) -> Yard {
    let yard = Yard::new();
    fs::write(yard.path("home/.gitconfig"), "[user]\n\tname = Ada\n\temail = ada@localhost\n")
        .expect("a file");
    work(&yard, command);
    yard
}

pub(crate) fn apply(yard: &Yard, words: &[&str], code: i32) -> Value {
    json_of(&yard.chock(&[&["apply", "--json"], words].concat()).expect(code))
}

/// Asserts that git finds nothing wrong and nothing changed.
#[track_caller]
pub(crate) fn clean(yard: &Yard) {
    yard.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(yard.git(&["status", "--porcelain"]), "");
}

pub(crate) fn head(yard: &Yard) -> String {
    yard.git(&["rev-parse", "HEAD"]).trim().to_owned()
}

pub(crate) fn session(yard: &Yard) -> String {
    let log = yard.logs().pop().expect("a session");
    log.file_stem().expect("a name").to_string_lossy().into_owned()
}

pub(crate) fn bodies(yard: &Yard, kind: &str) -> Vec<Value> {
    let records = yard.records().into_iter().filter(|record| record["kind"] == kind);
    records.map(|record| record["body"].clone()).collect()
}

#[test]
fn commits_land_as_a_fast_forward_and_go_out_and_in_again() {
    let command =
        format!("echo gamma > c.txt; {COMMIT} one; rm b.txt; chmod +x a.txt; {COMMIT} two");
    let yard = worked(&command);
    let before = (head(&yard), yard.git(&["status", "--porcelain"]));
    // Nobody was there to ask: nothing is in the project, and it is said how it gets there.
    assert_eq!(yard.git(&["for-each-ref", "refs/chock"]), "");
    let report = apply(&yard, &[], 0);
    let commits = &report["commits"];
    assert_eq!((&commits["count"], &commits["mode"]), (&json!(2), &json!("merge")), "{report}");
    assert_eq!(commits["branch"], "refs/heads/main");
    assert_eq!(commits["to"], head(&yard).as_str());
    assert_eq!(report["written"], json!(["a.txt", "b.txt", "c.txt"]));
    let after = head(&yard);
    assert_eq!(yard.git(&["log", "--format=%s"]), "two\none\nstart\n");
    assert_eq!(yard.git(&["rev-parse", &format!("refs/chock/{}", session(&yard))]).trim(), after);
    assert_eq!(fs::read_to_string(yard.project().join("c.txt")).expect("a file"), "gamma\n");
    assert!(!yard.project().join("b.txt").exists());
    clean(&yard);
    // The approval stands in front of what was done.
    let kinds: Vec<_> = yard.records().iter().map(|record| record["kind"].clone()).collect();
    assert_eq!(kinds[kinds.len() - 2..], ["approval.answered", "apply.done"]);
    assert_eq!(bodies(&yard, "apply.done")[0]["commits"], *commits);
    let act = &bodies(&yard, "approval.answered").pop().expect("an approval")["act"];
    assert_eq!(act["git"]["branch"]["new"], after.as_str());

    assert_eq!(json_of(&yard.chock(&["apply", "--json"]).expect(0))["commits"], Value::Null);
    yard.chock(&["undo"]).expect(0);
    assert_eq!((head(&yard), yard.git(&["status", "--porcelain"])), before);
    assert_eq!(yard.git(&["for-each-ref", "refs/chock"]), "");
    clean(&yard);
    yard.git(&[
        "-c",
        "gc.reflogExpire=now",
        "-c",
        "gc.reflogExpireUnreachable=now",
        "gc",
        "-q",
        "--prune=now",
    ]);
    yard.chock(&["redo"]).expect(0);
    assert_eq!(head(&yard), after);
    clean(&yard);
}

#[test]
fn a_branch_that_moved_is_merged_rebased_or_squashed() {
    let check = |mode: &str, parents: usize, log: &str| {
        let command = format!("echo gamma > c.txt; {COMMIT} one; echo delta > d.txt; {COMMIT} two");
        let yard = worked(&command);
        yard.write("e.txt", "mine\n");
        yard.commit();
        let ours = head(&yard);
        let report = apply(&yard, &["--mode", mode], 0);
        assert_eq!(report["commits"]["mode"], mode, "{report}");
        clean(&yard);
        assert_eq!(yard.git(&["log", "--first-parent", "--format=%s"]), log);
        let line = yard.git(&["log", "-1", "--format=%P|%an"]);
        let (found, author) = line.trim().split_once('|').expect("two");
        assert_eq!((found.split(' ').count(), author), (parents, "Ada"), "{mode}");
        for (name, text) in [("c.txt", "gamma\n"), ("d.txt", "delta\n"), ("e.txt", "mine\n")] {
            assert_eq!(fs::read_to_string(yard.project().join(name)).expect("a file"), text);
        }
        yard.chock(&["undo"]).expect(0);
        assert_eq!(head(&yard), ours);
        clean(&yard);
    };
    check("rebase", 1, "two\none\nstart\nstart\n");
    check("squash", 1, "one\nstart\nstart\n");
    let yard = worked(&format!("echo gamma > c.txt; {COMMIT} one"));
    yard.write("e.txt", "mine\n");
    yard.commit();
    apply(&yard, &[], 0);
    let id = session(&yard);
    assert_eq!(yard.git(&["log", "-1", "--format=%s"]), format!("Merge session {id}\n"));
    clean(&yard);
}

#[test]
fn every_reason_to_park_has_its_name_and_moves_no_branch() {
    let check = |reason: &str, mode: &str, command: &str, prepare: &dyn Fn(&Yard)| {
        let yard = worked(command);
        prepare(&yard);
        let before = (head(&yard), yard.git(&["status", "--porcelain"]), yard.git(&["branch"]));
        let code = if reason == "not_asked_for" { 0 } else { 3 };
        let report = apply(&yard, &["--mode", mode], code);
        assert_eq!(report["commits"]["parked"], reason, "{report}");
        assert_eq!(report["written"], json!([]));
        let kept = yard.git(&["for-each-ref", "--format=%(objectname)", "refs/chock"]);
        assert_eq!(kept.trim(), report["commits"]["head"].as_str().expect("an id"));
        let after = (head(&yard), yard.git(&["status", "--porcelain"]), yard.git(&["branch"]));
        assert_eq!(before, after, "{reason}");
        yard.git(&["fsck", "--strict", "--no-dangling"]);
    };
    let one = format!("echo gamma > c.txt; {COMMIT} one");
    check("not_asked_for", "park", &one, &|_| {});
    check("dirty_tree", "merge", &one, &|yard| yard.write("a.txt", "mine\n"));
    check("dirty_tree", "merge", &one, &|yard| yard.write("untracked", "mine\n"));
    check("dirty_tree", "squash", &one, &|yard| {
        yard.write("a.txt", "staged\n");
        yard.git(&["add", "a.txt"]);
        yard.write("a.txt", "alpha\n");
    });
    // An ignored file in the way is the person's as well.
    check(
        "dirty_tree",
        "merge",
        &format!("mkdir __pycache__; echo x > __pycache__/x; git add -f __pycache__; {COMMIT} one"),
        &|yard| {
            yard.write("__pycache__/x", "mine\n");
        },
    );
    check("detached_head", "merge", &one, &|yard| {
        yard.git(&["checkout", "-q", "--detach"]);
    });
    check("unfinished_operation", "merge", &one, &|yard| {
        fs::write(yard.project().join(".git/MERGE_HEAD"), head(yard)).expect("a file");
    });
    check("would_conflict", "merge", &format!("echo theirs > a.txt; {COMMIT} one"), &|yard| {
        yard.write("a.txt", "ours\n");
        yard.commit();
    });
    check("would_conflict", "rebase", &format!("echo theirs > a.txt; {COMMIT} one"), &|yard| {
        yard.write("a.txt", "ours\n");
        yard.commit();
    });
    let merge = format!(
        "git switch -q -c x; {one}; git switch -q main; echo d > d.txt; {COMMIT} two; git merge -q -m m x"
    );
    check("history_not_linear", "rebase", &merge, &|yard| {
        yard.write("e.txt", "mine\n");
        yard.commit();
    });
}

#[test]
fn what_is_flagged_needs_its_accept_and_what_is_refused_is_never_carried() {
    let yard = worked(&format!(
        "echo 'touch pwned' > .envrc; echo x > plain; {COMMIT} one; git rm -q .envrc; git commit -q -m two"
    ));
    let before = yard.fingerprint();
    let report = apply(&yard, &[], 3);
    assert_eq!(report["refused"][0]["path"], ".envrc", "{report}");
    assert_eq!(yard.fingerprint(), before);
    let report = apply(&yard, &["--accept", ".envrc"], 0);
    assert_eq!(report["written"], json!(["plain"]));
    clean(&yard);
    let yard = worked(&format!("ln -s /etc out; {COMMIT} one"));
    let report = apply(&yard, &["--accept", "out"], 3);
    assert!(report["refused"][0]["reason"].as_str().expect("words").contains("leads out"));
    assert_eq!(yard.git(&["for-each-ref", "refs/chock"]), "");
}

#[test]
fn at_the_end_of_a_run_a_row_lets_commits_land_by_themselves() {
    let yard = Yard::new();
    yard.write("chock.zon", ".{ .policy = .{ .rules = .{ .{ .action = \"workspace.apply\", .decision = .allow } } }, .apply = .{ .mode = .squash } }");
    yard.commit();
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [
                { "name": "request_action", "input": { "action": "workspace.apply", "reason": "early" } },
                { "name": "request_action", "input": { "action": "git.push", "reason": "out" } } ] },
            { "tools": [{ "name": "run_command", "input": { "command": format!("echo gamma > c.txt; {COMMIT} one; echo u > d.txt") } }] },
            { "text": "done" } ] }),
    );
    // Until the row is accepted it does not count, and nobody is there to ask.
    let before = head(&yard);
    let ran = yard.chock(&["run", "work"]).expect(0);
    assert_eq!(head(&yard), before);
    let digest = ran.err.split("--accept-project ").nth(1).expect("a digest");
    let digest = digest.split_whitespace().next().expect("a digest");
    let ran = yard.chock(&["run", "--accept-project", digest, "work"]).expect(0);
    assert!(ran.err.contains("(squash, 1 commit)"), "{}", ran.err);
    assert_ne!(head(&yard), before);
    // What was not committed stays in review.
    assert_eq!(yard.git(&["show", "--format=%s", "--name-only"]), "one\n\nc.txt\n");
    let left = json_of(&yard.chock(&["review", "--json"]).expect(0));
    assert_eq!(left["left"], json!(["d.txt"]), "{left}");
    clean(&yard);
    let outcomes = yard.outcomes();
    let text = outcomes[0]["text"].as_str().expect("words");
    assert!(text.contains("no commit to carry"), "{text}");
    let text = outcomes[1]["text"].as_str().expect("words");
    assert!(text.contains("nothing here can do `git.push`"), "{text}");
}
