//! What the wall refused is told as a denial, and what simply failed is not.

use serde_json::{Value, json};

use crate::input::scripted;
use crate::yard::Yard;

/// Has the agent make calls, and returns their outcomes and what the person saw.
fn told(yard: &Yard, calls: &[Value]) -> (Vec<Value>, String) {
    scripted(yard, &json!({ "turns": [{ "tools": calls }, { "text": "done" }] }));
    let ran = yard.chock(&["run", "x"]).expect(0);
    (yard.outcomes(), ran.err)
}

fn command(line: &str) -> Value {
    json!({ "name": "run_command", "input": { "command": line } })
}

/// What cargo says of a crate that is not there, without cargo: not everybody here has it.
const FETCH: &str = "echo \"As a reminder, you're using offline mode (--offline)\" >&2; exit 101";

#[test]
fn a_command_that_the_wall_stopped_has_an_inferred_denial() {
    let dial = "python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80), 2)\"";
    let look_up = "python3 -c \"import urllib.request as r; r.urlopen('http://host.test.org/')\"";
    // (the command line, operation, target, layer)
    let cases = [
        (dial, "connect", None, "network"),
        (look_up, "connect", None, "network"),
        (FETCH, "connect", Some("index.crates.io"), "network"),
        ("touch /usr/bin/x", "write", Some("/usr/bin/x"), "mount"),
        ("echo x > chock.zon", "write", Some("chock.zon"), "mount"),
        ("cat /root/.ssh/id_ed25519", "read", Some("/root/.ssh/id_ed25519"), "mount"),
        ("cp /bin/true tool && chmod u+s tool", "chmod", Some("tool"), "seccomp"),
        ("unshare --user true", "make namespaces", None, "seccomp"),
    ];
    for yard in [Yard::new(), Yard::new().as_plain_user()] {
        yard.write("chock.zon", ".{}");
        yard.commit();
        yard.own_everything();
        let calls: Vec<_> = cases.iter().map(|case| command(case.0)).collect();
        let (outcomes, seen) = told(&yard, &calls);
        for (outcome, (line, operation, target, layer)) in outcomes.iter().zip(cases) {
            let denial = &outcome["denial"];
            assert_eq!(denial["operation"], operation, "{line}: {outcome}");
            assert_eq!(denial["target"].as_str(), target, "{line}: {outcome}");
            assert_eq!(denial["layer"], layer, "{line}: {outcome}");
            assert_eq!(denial["inferred"], true, "{line}: {outcome}");
            assert!(outcome["ended"]["exited"].as_i64().is_some_and(|code| code != 0), "{outcome}");
            assert!(
                outcome["text"].as_str().expect("text").contains("[chock: denied"),
                "{outcome}"
            );
        }
        assert!(seen.contains("refused by network (inferred)"), "{seen}");
        assert!(seen.contains("refused by mount (inferred): /usr/bin/x"), "{seen}");
    }
}

#[test]
fn a_command_that_simply_failed_has_none() {
    let yard = Yard::new();
    let lines = [
        "cat missing.txt",
        "ls /usr/nothing",
        "cat /tmp/nothing",
        "exit 3",
        "chmod u+z a.txt",
        "python3 -c 'raise SystemExit(1)'",
        // What went well was refused nothing, whatever it says.
        "echo 'touch: cannot touch /usr/x: Read-only file system'",
    ];
    let calls: Vec<_> = lines.iter().map(|line| command(line)).collect();
    let (outcomes, seen) = told(&yard, &calls);
    for (outcome, line) in outcomes.iter().zip(lines) {
        assert_eq!(outcome["denial"], Value::Null, "{line}: {outcome}");
    }
    assert!(!seen.contains("refused"), "{seen}");
}

#[test]
fn a_file_tool_knows_what_refused_it() {
    let yard = Yard::new();
    let read = |path: &str| json!({ "name": "read_file", "input": { "path": path } });
    let write = json!({ "name": "write_file", "input": { "path": "/usr/x", "content": "x" } });
    let calls = [read("/root/.ssh/id_ed25519"), write, read("missing.txt")];
    let (outcomes, seen) = told(&yard, &calls);
    for (outcome, operation) in outcomes.iter().zip(["read", "write"]) {
        assert_eq!(outcome["ended"], "denied", "{outcome}");
        assert_eq!(outcome["denial"]["operation"], operation, "{outcome}");
        assert_eq!(outcome["denial"]["inferred"], Value::Null, "it is known: {outcome}");
    }
    assert_eq!(outcomes[2]["denial"], Value::Null, "{}", outcomes[2]);
    assert!(seen.contains("refused by mount: /usr/x"), "{seen}");
}
