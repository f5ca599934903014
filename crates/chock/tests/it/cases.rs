//! What users of such tools reported, each as a test of Chock.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::fake::Fake;
use crate::input::scripted;
use crate::yard::Yard;

/// Has the agent run one command line, and returns its outcome.
fn run_inside(yard: &Yard, command: &str) -> Value {
    let call = json!({ "name": "run_command", "input": { "command": command } });
    scripted(yard, &json!({ "turns": [{ "tools": [call] }, { "text": "done" }] }));
    yard.chock(&["run", "do it"]).expect(0);
    yard.outcomes().pop().expect("an outcome")
}

/// Asserts that a command line works inside, as root's session and as a plain user's.
fn works(command: &str) {
    for yard in [Yard::new(), Yard::new().as_plain_user()] {
        let outcome = run_inside(&yard, command);
        assert_eq!(outcome["ended"], json!({ "exited": 0 }), "{command}\n{outcome}");
    }
}

const COMMIT: &str = "echo more >> a.txt && git add -A && git commit -q -m x && git switch -q -c b \
                      && echo again >> a.txt && git stash && git stash pop && git rebase -q main \
                      2>/dev/null; git log --oneline | wc -l | grep -qx 2";

#[test]
fn the_agent_commits_and_the_real_repository_is_unchanged() {
    for yard in [Yard::new(), Yard::new().as_plain_user()] {
        let before = yard.fingerprint();
        let config = std::fs::read(yard.project().join(".git/config")).expect("a config");
        let outcome = run_inside(&yard, COMMIT);
        assert_eq!(outcome["ended"], json!({ "exited": 0 }), "{outcome}");
        assert_eq!(yard.fingerprint(), before);
        assert_eq!(std::fs::read(yard.project().join(".git/config")).expect("a config"), config);
    }
}

#[test]
fn the_agent_commits_in_a_linked_worktree() {
    let yard = Yard::new();
    let linked = yard.path("linked");
    yard.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().expect("text")]);
    let before = yard.fingerprint();
    let command = COMMIT.replace("rebase -q main", "rebase -q side");
    let call = json!({ "name": "run_command", "input": { "command": command } });
    scripted(&yard, &json!({ "turns": [{ "tools": [call] }, { "text": "done" }] }));
    let mut run = yard.command(&["run", "do it"]);
    run.current_dir(&linked);
    crate::yard::Ran::from(run.output().expect("the program")).expect(0);
    let outcome = yard.outcomes().pop().expect("an outcome");
    assert_eq!(outcome["ended"], json!({ "exited": 0 }), "{outcome}");
    assert_eq!(yard.fingerprint(), before);
    let status = Command::new("git")
        .args(["-c", "safe.directory=*", "status", "--porcelain", "--ignored"])
        .current_dir(&linked)
        .output()
        .expect("git");
    assert!(status.stdout.is_empty(), "{status:?}");
}

#[test]
fn programs_talk_over_unix_sockets_and_fork() {
    works(
        "python3 - <<'EOF'\nimport socket, multiprocessing, os\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\na.send(b'x')\nassert b.recvfrom(1)[0] == b'x'\ndef double(n):\n    return 2 * n\nif __name__ == '__main__':\n    for way in ('fork', 'forkserver', 'spawn'):\n        pass\n    with multiprocessing.get_context('fork').Pool(2) as pool:\n        assert pool.map(double, [1, 2, 3]) == [2, 4, 6]\nEOF",
    );
    let yard = Yard::new();
    let dial = "python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80), 2)\"";
    let outcome = run_inside(&yard, dial);
    assert_ne!(outcome["ended"], json!({ "exited": 0 }), "{outcome}");
    assert!(outcome["text"].as_str().expect("text").contains("unreachable"), "{outcome}");
}

#[test]
fn servers_on_loopback_work_without_a_grant() {
    works(
        "python3 - <<'EOF'\nimport socket\nassert socket.getaddrinfo('localhost', 80)\nfor family, address, dial in [(socket.AF_INET, '127.0.0.1', '127.0.0.1'), (socket.AF_INET6, '::1', '::1'), (socket.AF_INET, '0.0.0.0', '127.0.0.1')]:\n    for port in (0, 8787):\n        server = socket.socket(family)\n        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n        server.bind((address, port))\n        server.listen()\n        client = socket.create_connection((dial, server.getsockname()[1]))\n        client.close()\n        server.close()\nEOF\ntest -n \"$CHOCK_SANDBOX\"",
    );
}

#[test]
fn the_usual_places_are_there() {
    works(
        "set -e; git --version; cat <<EOF | grep -qx here\nhere\nEOF\nf=$(mktemp); test -f \"$f\"; echo x > /dev/null; head -c 4 /dev/urandom | wc -c | grep -qx 4; python3 -c \"from multiprocessing import shared_memory as s; m = s.SharedMemory(create=True, size=64); m.close(); m.unlink()\"; exec 3</dev/null; cat /dev/fd/3; sh -c 'cat <<E\nx\nE'",
    );
    // TMPDIR is the same in each call of a session, and not the machine's.
    let marker = "/tmp/chock-host-marker";
    std::fs::write(marker, "x").expect("a file");
    let yard = Yard::new();
    let call = |command: &str| json!({ "name": "run_command", "input": { "command": command } });
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [call("echo kept > \"$TMPDIR/kept\""), call("cat \"$TMPDIR/kept\"; ls -a /tmp")] },
            { "text": "done" } ] }),
    );
    yard.chock(&["run", "x"]).expect(0);
    let text = yard.outcomes()[1]["text"].as_str().expect("text").to_owned();
    assert!(text.contains("kept") && !text.contains("chock-host-marker"), "{text}");
    let outcome = run_inside(&yard, "ls \"$TMPDIR\"");
    assert!(!outcome["text"].as_str().expect("text").contains("kept"), "{outcome}");
    std::fs::remove_file(marker).expect("a removal");
}

#[test]
fn a_daemon_of_a_plain_call_is_gone_when_the_call_returns() {
    let yard = Yard::new();
    let outcome = run_inside(&yard, "setsid nohup sleep 984.5 > /dev/null 2>&1 & echo started");
    assert_eq!(outcome["ended"], json!({ "exited": 0 }), "{outcome}");
    let alive = std::fs::read_dir("/proc").expect("proc").flatten().any(|entry| {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("sleep\x00984.5")
    });
    assert!(!alive);
}

#[test]
fn no_argument_leads_out_of_the_cage() {
    let yard = Yard::new();
    let arguments = [
        json!({ "command": "true", "dangerouslyDisableSandbox": true }),
        json!({ "command": "true", "sandbox": false }),
        json!({ "command": "true", "escalate": true }),
        json!({ "command": "true", "with_escalated_permissions": true, "justification": "x" }),
        json!({ "command": "true", "unsafe": 1 }),
        json!({ "command": "true", "env": { "CHOCK_SANDBOX": "off" } }),
    ];
    let calls: Vec<_> =
        arguments.iter().map(|input| json!({ "name": "run_command", "input": input })).collect();
    scripted(&yard, &json!({ "turns": [{ "tools": calls }, { "text": "done" }] }));
    // A project cannot bring a switch along either.
    yard.chock(&["run", "x"]).expect(0);
    for (outcome, input) in yard.outcomes().iter().zip(&arguments) {
        assert_eq!(outcome["ended"], "fault", "{input}");
    }
    let answered =
        yard.records().iter().filter(|record| record["kind"] == "approval.answered").count();
    assert_eq!(answered, 0, "nothing was even judged");
    yard.write("chock.zon", ".{ .sandbox = .{ .enabled = false } }");
    let ran = yard.chock(&["run", "x"]).expect(1);
    assert!(ran.err.contains("sandbox"), "{}", ran.err);
}

#[test]
fn uncommitted_work_survives_whatever_the_agent_does() {
    let yard = Yard::new();
    yard.write("a.txt", "staged\n");
    yard.git(&["add", "a.txt"]);
    yard.write("a.txt", "unstaged\n");
    yard.write("new.txt", "untracked\n");
    let before = yard.fingerprint();
    let reflog = yard.git(&["reflog"]);
    for words in [&["run", "x"][..], &["run", "--allow-dirty", "x"]] {
        let call = json!({ "name": "run_command", "input": {
            "command": "git reset --hard; git clean -fdx; git checkout -f main; git stash; git gc -q --prune=now; rm -rf .git/* ./* .[!.]*; true" } });
        scripted(&yard, &json!({ "turns": [{ "tools": [call] }, { "text": "done" }] }));
        yard.chock(words).expect(0);
        assert_eq!(yard.fingerprint(), before, "{words:?}");
        assert_eq!(yard.git(&["reflog"]), reflog);
    }
}

#[test]
fn dirty_work_is_where_the_session_starts_when_asked() {
    let yard = Yard::new();
    yard.write("a.txt", "changed\n");
    yard.write("new.txt", "untracked\n");
    let look = "cat a.txt; cat new.txt";
    let outcome = run_inside(&yard, look);
    assert!(outcome["text"].as_str().expect("text").contains("alpha"), "{outcome}");
    let call = json!({ "name": "run_command", "input": { "command": look } });
    scripted(&yard, &json!({ "turns": [{ "tools": [call] }, { "text": "done" }] }));
    yard.chock(&["run", "--allow-dirty", "x"]).expect(0);
    let text = yard.outcomes()[0]["text"].as_str().expect("text").to_owned();
    assert!(text.contains("changed") && text.contains("untracked"), "{text}");
    // What the person changed is not the session's doing.
    assert_eq!(yard.chock(&["diff", "--stat"]).expect(0).out.trim(), "0 files changed, +0 -0");
}

#[test]
fn empty_files_never_appear_in_the_project() {
    let yard = Yard::bare();
    yard.git(&["init", "-q"]);
    run_inside(&yard, "true");
    assert_eq!(yard.git(&["status", "--porcelain", "--ignored"]), "");
    let outcome = run_inside(&yard, "git status --porcelain --ignored");
    let text = outcome["text"].as_str().expect("text");
    assert!(!text.contains("??") && !text.contains("!!"), "{text}");
}

#[test]
fn waits_are_at_least_as_long_as_the_reply_says() {
    let yard = Yard::new();
    let limit = |fault: Value| json!({ "fault": fault });
    let turns = json!({ "turns": [
        limit(json!({ "kind": "rate_limit", "retry_after": 2 })),
        limit(json!({ "kind": "http", "status": 429, "body": "{\"error\": {\"message\": \"Rate limit reached. Please try again in 1.5s.\", \"code\": \"rate_limit_exceeded\"}}" })),
        limit(json!({ "kind": "http", "status": 429, "body": "{\"error\": {\"message\": \"slow down\", \"code\": \"rate_limit_exceeded\"}}" })),
        { "text": "through" } ] });
    let fake = Fake::script(&turns, &yard.path("."));
    yard.configure(fake.port);
    let ran = yard.chock(&["run", "x"]).expect(0);
    fake.expect_finished();
    let times: Vec<f64> =
        fake.requests().iter().map(|request| request["time"].as_f64().expect("a time")).collect();
    assert!(times[1] - times[0] >= 2.0, "{times:?}");
    assert!(times[2] - times[1] >= 1.5, "{times:?}");
    assert_eq!(ran.err.matches("waiting").count(), 3, "{}", ran.err);
}

#[test]
fn out_of_credit_stops_at_once() {
    let yard = Yard::new();
    let fake =
        Fake::script(&json!({ "turns": [{ "fault": { "kind": "quota" } }] }), &yard.path("."));
    yard.configure(fake.port);
    let ran = yard.chock(&["run", "x"]);
    assert_ne!(ran.code, Some(0));
    assert_eq!(fake.requests().len(), 1, "{}", ran.err);
}

#[test]
fn a_cut_after_the_first_of_two_calls_runs_neither_twice() {
    let yard = Yard::new();
    let call = json!({ "name": "run_command", "input": { "command": "echo once >> count.txt" } });
    let turn = |fault: Value| json!({ "tools": [call, call], "fault": fault });
    let turns = json!({ "turns": [
        turn(json!({ "kind": "end", "after": 5 })),
        turn(json!({ "kind": "cut", "after": 5 })),
        { "tools": [{ "name": "run_command", "input": { "command": "echo once >> count.txt; cat count.txt" } }] },
        { "text": "done" } ] });
    let fake = Fake::script(&turns, &yard.path("."));
    yard.configure(fake.port);
    let mut code = yard.chock(&["run", "x"]).code;
    for _ in 0..3 {
        if code == Some(0) {
            break;
        }
        code = yard.chock(&["run", "--continue"]).code;
    }
    assert_eq!(code, Some(0));
    fake.expect_finished();
    let outcome = yard.outcomes().pop().expect("an outcome");
    assert_eq!(outcome["text"].as_str().expect("text").matches("once").count(), 1, "{outcome}");
    assert!(Path::new(&yard.logs()[0]).exists());
}
