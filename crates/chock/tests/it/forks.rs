//! A session goes on from an earlier turn of another one, and the two do not meet.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::input::scripted;
use crate::kill::until;
use crate::yard::{Ran, Yard};

fn shell(command: &str) -> Value {
    json!({ "tools": [{ "name": "run_command", "input": { "command": command } }] })
}

/// A yard in which a session of five turns was played to its end.
fn five_turns() -> Yard {
    let yard = Yard::new();
    scripted(
        &yard,
        &json!({ "turns": [
            shell("echo 1 > turn.txt; chmod 755 a.txt; mkdir __pycache__; touch __pycache__/x"),
            shell("git add -A && git commit -qm 'in the cage' && git switch -qc side"),
            shell("echo 3 > turn.txt; echo staged > staged.txt; git add staged.txt; rm b.txt"),
            shell("git reset -q --hard && git switch -q main && git reset -q --hard HEAD~1 && \
                   git branch -qD side && git reflog expire --expire=now --all && \
                   git gc -q --prune=now && git clean -qfd"),
            { "text": "done" },
        ] }),
    );
    yard.chock(&["run", "work"]).expect(0);
    yard
}

/// Plays these turns behind the first `before`.
fn then(yard: &Yard, before: usize, turns: &[Value]) {
    let all: Vec<_> = std::iter::repeat_n(json!({ "text": "not asked for" }), before)
        .chain(turns.iter().cloned())
        .collect();
    scripted(yard, &json!({ "turns": all }));
}

fn id_of(log: &Path) -> String {
    log.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// Makes a fork and returns its id.
fn fork(yard: &Yard, words: &[&str]) -> String {
    let ran = yard.chock(&[&["fork"], words].concat()).expect(0);
    ran.out.trim().to_owned()
}

/// What a command prints in the copy of a session.
fn inside(yard: &Yard, id: &str, command: &str) -> String {
    yard.chock(&["exec", "--session", id, "--", "sh", "-c", command]).expect(0).out
}

fn records(yard: &Yard, id: &str) -> Vec<Value> {
    let all = yard.logs();
    let log = all.iter().find(|log| id_of(log) == id).expect("a log");
    let text = fs::read_to_string(log).expect("a log");
    text.lines().skip(1).map(|line| serde_json::from_str(line).expect("a record")).collect()
}

fn kinds(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["kind"].as_str().expect("a kind")).collect()
}

#[track_caller]
fn refused(ran: Ran, words: &[&str]) {
    let ran = ran.expect(1);
    assert_eq!(ran.err.lines().filter(|line| line.starts_with("error:")).count(), 1, "{}", ran.err);
    for word in words {
        assert!(ran.err.contains(word), "{word:?} is not in: {}", ran.err);
    }
}

#[test]
fn a_fork_has_the_conversation_the_files_and_the_git_of_its_turn() {
    let yard = five_turns();
    let parent = yard.logs().remove(0);
    let (before, project) = (fs::read(&parent).expect("a log"), yard.fingerprint());
    let id = fork(&yard, &[&id_of(&parent), "--at", "3"]);
    assert_ne!(id, id_of(&parent));

    let seen = inside(
        &yard,
        &id,
        "pwd; cat turn.txt staged.txt; stat -c %a a.txt; ls b.txt __pycache__; git status --short; \
         git log --format=%s side; git rev-parse --abbrev-ref HEAD; git fsck 2>&1",
    );
    let there = yard.project().display().to_string();
    let expected = format!(
        "{there}\n3\nstaged\n755\n D b.txt\nA  staged.txt\n M turn.txt\nin the cage\nstart\nside\n"
    );
    assert_eq!(seen, expected);

    let records = records(&yard, &id);
    assert_eq!(records[0]["kind"], "fork.opened");
    let body = &records[0]["body"];
    assert_eq!((&body["parent"], &body["turn"]), (&json!(id_of(&parent)), &json!(3)));
    assert_eq!(records[1]["body"]["session"], id.as_str());
    let replies = kinds(&records).iter().filter(|kind| **kind == "message.model").count();
    assert_eq!(replies, 3);
    for kind in ["approval.answered", "tool.started", "session.ended"] {
        assert!(!kinds(&records).contains(&kind), "{kind}");
    }

    // Both go on, and do not mix.
    then(&yard, 3, &[shell("echo fork > mine.txt; cat turn.txt"), json!({ "text": "forked" })]);
    let ran = yard.chock(&["run", "--session", &id, "another way"]).expect(0);
    assert!(ran.out.contains("forked") && !ran.out.contains("not asked for"), "{}", ran.out);
    assert_eq!(fs::read(&parent).expect("a log"), before);
    assert_eq!(yard.fingerprint(), project);
    then(&yard, 5, &[shell("echo parent > theirs.txt"), json!({ "text": "went on" })]);
    yard.chock(&["run", "--session", &id_of(&parent), "more"]).expect(0);
    let names = |id: &str| {
        let diff = yard.chock(&["diff", id, "--stat"]).expect(0).out;
        ["mine.txt", "theirs.txt", "turn.txt"].map(|name| diff.contains(name))
    };
    assert_eq!(names(&id), [true, false, true]);
    assert_eq!(names(&id_of(&parent)), [false, true, false]);
    yard.chock(&["sessions", "verify"]).expect(0);
    // The work of a fork comes back as any other.
    yard.chock(&["review", &id, "--accept", "mine.txt"]).expect(0);
    assert_eq!(fs::read_to_string(yard.project().join("mine.txt")).expect("a file"), "fork\n");
    yard.chock(&["undo"]).expect(0);
    assert_eq!(yard.fingerprint(), project);
}

#[test]
fn with_words_a_fork_goes_on_at_once_and_without_a_turn_it_starts_at_the_last() {
    let yard = five_turns();
    let parent = id_of(&yard.logs()[0]);
    then(&yard, 5, &[shell("ls"), json!({ "text": "on it" })]);
    let ran = yard.chock(&["fork", &parent[16..], "and", "now?"]).expect(0);
    assert!(ran.out.contains("on it") && ran.err.contains("at turn 5"), "{}{}", ran.out, ran.err);
    let all = yard.records();
    let words = all.iter().filter(|record| record["kind"] == "message.user");
    let words: Vec<_> = words.map(|record| record["body"]["text"].clone()).collect();
    assert_eq!(words, ["work", "and now?"]);

    let ran = yard.chock(&["fork", &parent, "--at", "1", "--json"]).expect(0);
    let told: Value = serde_json::from_str(&ran.out).expect("an object");
    assert_eq!((&told["parent"], &told["turn"]), (&json!(parent), &json!(1)));
    let id = told["session"].as_str().expect("an id");
    assert_eq!(inside(&yard, id, "cat turn.txt; git log --format=%s"), "1\nstart\n");
}

#[test]
fn forks_of_forks_are_drawn_as_a_tree_and_outlive_their_parents() {
    let yard = five_turns();
    let parent = id_of(&yard.logs()[0]);
    let child = fork(&yard, &[&parent, "--at", "3"]);
    then(&yard, 3, &[shell("echo 4 > turn.txt"), json!({ "text": "done" })]);
    yard.chock(&["run", "--session", &child, "go on"]).expect(0);
    // At a turn that the child took over, and at one of its own.
    let (early, late) = (fork(&yard, &[&child, "--at", "1"]), fork(&yard, &[&child, "--at", "4"]));
    assert_eq!(inside(&yard, &early, "cat turn.txt"), "1\n");
    assert_eq!(inside(&yard, &late, "cat turn.txt; git log -1 --format=%s"), "4\nin the cage\n");

    let drawn = yard.chock(&["sessions"]).expect(0).out;
    let line = |id: &str| drawn.lines().find(|line| line.contains(id)).expect("a line");
    assert!(line(&parent).starts_with(&parent), "{drawn}");
    assert!(line(&child).starts_with(&format!("└ {child}")), "{drawn}");
    for id in [&early, &late] {
        assert!(
            line(id).starts_with(&format!("  └ {id}")) && line(id).contains("forked"),
            "{drawn}"
        );
    }
    let row = |id: &str| -> Value {
        let out = yard.chock(&["sessions", "--json"]).expect(0).out;
        let line = out.lines().find(|line| line.contains(&format!("\"id\":\"{id}\"")));
        serde_json::from_str(line.expect("a row")).expect("an object")
    };
    assert_eq!((&row(&child)["parent"], &row(&child)["parent_turn"]), (&json!(parent), &json!(3)));
    assert_eq!(row(&parent)["parent"], Value::Null);
    let shown = yard.chock(&["sessions", "show", &child]).expect(0).out;
    for words in ["── turn 1", "── turn 5", &format!("fork of {parent} at turn 3")] {
        assert!(shown.contains(words), "{words:?} is not in: {shown}");
    }

    let told = yard.chock(&["sessions", "remove", &parent, "--yes"]).expect(0).err;
    assert!(told.contains(&child) && told.contains("keeps all it needs"), "{told}");
    yard.chock(&["sessions", "remove", &child, "--yes"]).expect(0);
    for id in [&early, &late] {
        yard.chock(&["diff", id, "--stat"]).expect(0);
    }
    assert_eq!(
        inside(&yard, &late, "git fsck 2>&1; git status --short"),
        " D b.txt\nA  staged.txt\n M turn.txt\n"
    );
    let verified = yard.chock(&["sessions", "verify"]).expect(0).out;
    assert!(verified.contains("the parent is not here"), "{verified}");
    assert!(yard.chock(&["sessions"]).expect(0).out.contains(&format!("of {child}")));
}

#[test]
fn verify_tells_a_fork_that_does_not_hang_where_it_says() {
    let yard = five_turns();
    let parent = yard.logs().remove(0);
    let child = fork(&yard, &[&id_of(&parent), "--at", "2"]);
    let verify = |code: i32| yard.chock(&["sessions", "verify", &child, "--json"]).expect(code).out;
    let row: Value = serde_json::from_str(&verify(0)).expect("an object");
    assert_eq!(row["fork"]["state"], "holds");
    // Another log in the place of the parent's, whole and well chained.
    scripted(&yard, &json!({ "turns": [{ "text": "done" }] }));
    yard.chock(&["run", "something else"]).expect(0);
    let other = yard.logs().pop().expect("a log");
    fs::copy(other, &parent).expect("a copy");
    let row: Value = serde_json::from_str(&verify(2)).expect("an object");
    assert_eq!((&row["verdict"], &row["fork"]["state"]), (&json!("intact"), &json!("another")));
}

#[test]
fn a_session_at_work_is_forked_at_its_last_complete_turn_and_stays_as_it_is() {
    let yard = Yard::new();
    scripted(
        &yard,
        &json!({ "turns": [
            shell("echo 1 > turn.txt"),
            shell("echo 2 > turn.txt; sleep 300"),
            { "text": "done" },
        ] }),
    );
    let mut command = yard.command(&["run", "work"]);
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a run");
    let started = || {
        let text = yard.logs().pop().and_then(|log| fs::read_to_string(log).ok());
        text.is_some_and(|text| text.matches("\"tool.started\"").count() == 2)
    };
    until("the second call starts", started);
    let log = yard.logs().remove(0);
    let parent = id_of(&log);
    let before = fs::read(&log).expect("a log");
    refused(yard.chock(&["fork", &parent, "--at", "2"]), &["turn 2", "these were kept: 1"]);
    let child = fork(&yard, &[&parent]);
    let length = before.len();
    assert_eq!(fs::read(&log).expect("a log")[..length], before);
    assert_eq!(inside(&yard, &child, "cat turn.txt"), "1\n");
    then(&yard, 1, &[shell("echo fork > turn.txt"), json!({ "text": "forked" })]);
    yard.chock(&["run", "--session", &child, "go on"]).expect(0);
    // The parent is where it was, and ends when it is told to.
    assert!(running.try_wait().expect("a status").is_none());
    let process = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(process, rustix::process::Signal::INT).expect("a signal");
    assert_eq!(running.wait().expect("a status").code(), Some(3));
    assert_eq!(inside(&yard, &parent, "cat turn.txt"), "2\n");
    assert_eq!(inside(&yard, &child, "cat turn.txt"), "fork\n");
    yard.chock(&["sessions", "verify"]).expect(0);
}

#[test]
fn a_fork_stands_on_its_parent_s_commit_whatever_head_is_by_now() {
    let yard = five_turns();
    let parent = id_of(&yard.logs()[0]);
    yard.write("a.txt", "another alpha\n");
    yard.write("later.txt", "x\n");
    yard.commit();
    fs::remove_dir_all(yard.path("home/.cache")).expect("the cache");
    let child = fork(&yard, &[&parent, "--at", "3"]);
    let seen = inside(
        &yard,
        &child,
        "cat a.txt; ls later.txt 2>/dev/null || echo none; git log --format=%s",
    );
    assert_eq!(seen, "alpha\nnone\nin the cage\nstart\n");
}

#[test]
fn promises_the_plan_the_title_and_what_was_spent_go_over_and_answers_do_not() {
    let yard = Yard::new();
    yard.write("chock.zon", ".{ .budget = .{ .max_tokens = 1_000 } }");
    let call = |name: &str, input: Value| json!({ "name": name, "input": input });
    scripted(
        &yard,
        &json!({ "turns": [
            { "usage": { "input": 300, "output": 100 }, "tools": [
                call("restrict_self", json!({ "action": "exec.*", "ceiling": "deny", "reason": "safe" })),
                call("set_title", json!({ "title": "A careful session" })),
                call("update_plan", json!({ "steps": [{ "step": "look", "status": "done" }] })),
            ] },
            { "usage": { "input": 300, "output": 100 }, "text": "done" },
            { "usage": { "input": 300, "output": 100 }, "tools": [
                call("run_command", json!({ "command": "cat a.txt" })) ] },
            { "text": "not reached" },
        ] }),
    );
    yard.chock(&["run", "work"]).expect(0);
    let parent = id_of(&yard.logs()[0]);
    let ran = yard.chock(&["fork", &parent, "--at", "2", "go on"]).expect(7);
    assert!(ran.err.contains("budget"), "{}", ran.err);
    let outcome = &yard.outcomes()[3];
    assert_eq!(outcome["ended"], "denied", "{outcome}");
    assert_eq!(outcome["denial"]["action"], "exec.path.cat", "{outcome}");
    let listed = yard.chock(&["sessions"]).expect(0).out;
    assert_eq!(listed.matches("A careful session").count(), 2, "{listed}");
    let kinds_of = yard.records();
    assert!(kinds(&kinds_of).contains(&"plan.updated"));
    let carried = kinds_of[0]["body"]["carried"].as_u64().expect("a number");
    let carried = &kinds_of[2..][..usize::try_from(carried).expect("a few")];
    assert!(!kinds(carried).iter().any(|kind| kind.starts_with("approval.")), "{carried:?}");
}

#[test]
fn what_cannot_be_forked_has_one_clear_error_and_leaves_nothing() {
    let yard = five_turns();
    let parent = id_of(&yard.logs()[0]);
    let (logs, work) = (yard.logs(), yard.logs()[0].with_extension("work"));
    for (words, told) in [
        (&["zzz"][..], &["no session `zzz`"][..]),
        (&[&parent, "--at", "0"], &["no turn 0", "counted from 1"]),
        (&[&parent, "--at", "6"], &["no turn 6", "has 5"]),
        (&[&parent, "--at", "18446744073709551615"], &["has 5"]),
        (&[&parent, "--at", "-1"], &["'-1'"]),
        (&[&parent, "--at", "three"], &["three"]),
        (&[&parent, ""], &["message is empty"]),
        (&[], &["SESSION"]),
    ] {
        refused(yard.chock(&[&["fork"], words].concat()), told);
    }
    let bytes = fs::read(&logs[0]).expect("a log");
    let text = String::from_utf8(bytes.clone()).expect("text");
    fs::write(&logs[0], text.replace("\"work\"", "\"word\"")).expect("a write");
    refused(yard.chock(&["fork", &parent]), &["not intact", "sessions verify"]);
    fs::write(&logs[0], bytes).expect("a write");
    yard.chock(&["workspace", "clear", &parent, "--yes"]).expect(0);
    refused(yard.chock(&["fork", &parent]), &["was cleared"]);
    fs::create_dir(&work).expect("a directory");
    refused(yard.chock(&["fork", &parent]), &["not whole"]);
    scripted(&yard, &json!({ "turns": [] }));
    yard.chock(&["run", "nobody answers"]).expect(2);
    let silent = id_of(yard.logs().last().expect("a log"));
    refused(yard.chock(&["fork", &silent]), &["no turn of this session is complete"]);
    assert_eq!(yard.logs().len(), logs.len() + 1, "a session was left");
    let directory = logs[0].parent().expect("a directory");
    let left = fs::read_dir(directory).expect("the sessions").count();
    // Two logs, the two copies, and the two directories of outputs.
    assert!(left <= 6, "something was left: {:?}", fs::read_dir(directory));
}

#[test]
fn a_long_output_is_read_in_the_fork_as_well() {
    let yard = Yard::new();
    let read = shell("tail -n 1 /run/chock/outputs/1.out; echo mine >> /run/chock/outputs/1.out");
    scripted(
        &yard,
        &json!({ "turns": [shell("seq 1 200000"), { "text": "done" }, read, { "text": "read" }] }),
    );
    yard.chock(&["run", "work"]).expect(0);
    let parent = id_of(&yard.logs()[0]);
    yard.chock(&["fork", &parent, "and the end of it?"]).expect(0);
    let outcome = &yard.outcomes()[1];
    let text = outcome["text"].as_str().expect("words");
    assert!(text.starts_with("200000\n"), "{text}");
    yard.chock(&["sessions", "remove", &parent, "--yes"]).expect(0);
    let child = id_of(&yard.logs()[0]);
    assert_eq!(inside(&yard, &child, "head -n 1 /run/chock/outputs/1.out"), "1\n");
}

#[test]
fn a_fork_s_review_shows_only_what_the_project_does_not_have_of_its_parent() {
    let yard = Yard::new();
    let lines: String = (1..=20).map(|number| format!("{number}\n")).collect();
    yard.write("lines.txt", &lines);
    yard.commit();
    scripted(
        &yard,
        &json!({ "turns": [
            shell("echo taken > taken.txt; echo left > left.txt; rm b.txt; sed -i 's/^2$/TWO/; s/^10$/TEN/' lines.txt"),
            shell("echo later > later.txt; sed -i 's/^19$/LATER/' lines.txt"),
            { "text": "done" },
        ] }),
    );
    yard.chock(&["run", "work"]).expect(0);
    let parent = id_of(&yard.logs().remove(0));
    let review = |id: &str| -> Value {
        let ran = yard.chock(&["review", id, "--json"]).expect(0);
        serde_json::from_str(&ran.out).expect("JSON")
    };
    let hunks = review(&parent)["files"].clone();
    let file = hunks.as_array().expect("files").iter().find(|file| file["path"] == "lines.txt");
    let hunk = |at: usize| {
        let id = file.expect("a file")["hunks"][at]["id"].as_str().expect("an id").to_owned();
        format!("lines.txt:{id}")
    };
    // The fork has the second turn's work not; of the first, two files and a place of a third are taken.
    let id = fork(&yard, &[&parent, "--at", "1"]);
    let (two, later) = (hunk(0), hunk(2));
    let words = ["--accept", "taken.txt", "--accept", "b.txt", "--accept", "later.txt"];
    let words =
        [&["review", &parent][..], &words, &["--accept", &two, "--accept", &later]].concat();
    yard.chock(&words).expect(0);
    let seen = review(&id);
    assert_eq!(seen["left"], json!(["left.txt", "lines.txt"]), "{seen}");
    let file =
        seen["files"].as_array().expect("files").iter().find(|file| file["path"] == "lines.txt");
    let changed = file.expect("a file")["hunks"][0]["lines"].to_string();
    assert!(changed.contains("+TEN") && !changed.contains("TWO"), "{changed}");
    assert!(!changed.contains("LATER"), "{changed}");
    yard.chock(&["review", &id, "--all"]).expect(0);
    let text = fs::read_to_string(yard.project().join("lines.txt")).expect("a file");
    assert!(text.contains("TWO") && text.contains("TEN") && text.contains("LATER"), "{text}");
    assert!(yard.project().join("later.txt").exists());
    assert_eq!(review(&id)["left"], json!([]));
    // Without its parent's copy it is shown again, and taking it changes nothing.
    yard.chock(&["undo"]).expect(0);
    yard.chock(&["workspace", "clear", &parent, "--yes"]).expect(0);
    let seen = review(&id)["left"].to_string();
    assert!(seen.contains("taken.txt"), "{seen}");
}

#[test]
fn a_fork_of_commits_that_landed_as_others_brings_only_its_own() {
    let yard = Yard::new();
    let commit =
        |text: &str| shell(&format!("echo {text} > a.txt; git add -A; git commit -qm {text}"));
    scripted(&yard, &json!({ "turns": [commit("one"), commit("two"), { "text": "done" }] }));
    yard.chock(&["run", "work"]).expect(0);
    let parent = id_of(&yard.logs().remove(0));
    let id = fork(&yard, &[&parent, "--at", "1"]);
    yard.chock(&["apply", &parent, "--mode", "squash"]).expect(0);
    inside(&yard, &id, "echo c > c.txt; git add -A; git commit -qm c");
    yard.chock(&["apply", &id, "--mode", "squash"]).expect(0);
    assert_eq!(fs::read_to_string(yard.project().join("a.txt")).expect("a file"), "two\n");
    assert_eq!(yard.git(&["log", "-1", "--format=%s"]), "c\n");
}
