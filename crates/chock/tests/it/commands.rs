//! Command lines, judged by the programs that they start.

use serde_json::{Value, json};

use crate::input::scripted;
use crate::yard::Yard;

/// Runs command lines in one session with nobody at a terminal, so that each question is a refusal.
fn run(zon: &str, calls: &[Value]) -> Yard {
    let yard = Yard::new();
    yard.write("chock.zon", zon);
    let calls: Vec<_> =
        calls.iter().map(|input| json!({ "name": "run_command", "input": input })).collect();
    scripted(&yard, &json!({ "turns": [{ "tools": calls }, { "text": "done" }] }));
    yard.chock(&["run", "x"]).expect(0);
    yard
}

fn lines(commands: &[&str]) -> Vec<Value> {
    commands.iter().map(|command| json!({ "command": command })).collect()
}

fn asked(yard: &Yard) -> Vec<Value> {
    let records = yard.records().into_iter();
    records
        .filter(|record| record["kind"] == "approval.asked")
        .map(|record| record["body"]["action"].clone())
        .collect()
}

const RULES: &str = ".{ .policy = .{ .rules = .{
    .{ .action = \"git.diff\", .decision = .allow },
    .{ .action = \"exec.path.grep\", .decision = .allow },
    .{ .action = \"git.push\", .decision = .ask },
    .{ .action = \"exec.path.curl\", .decision = .deny },
} }, .deny_read = .{ \".env\" } }";

#[test]
fn an_ordinary_session_is_asked_nothing() {
    let commands = [
        "git diff | grep x",
        "mkdir -p s && cd s && git status --short",
        "for f in *; do echo \"$f\"; done | sort | head -3",
        "cat > n.txt <<'EOF'\ngit push\nit's $(git push)\nEOF\nwc -l < n.txt",
        "find . -name '*.txt' -print0 | xargs -0 grep -c . || true",
        "if [ -f n.txt ]; then git add -A && git commit -qm 'git push; x'; fi",
        "x=$(git log --oneline | wc -l); test \"$x\" -gt 0 && timeout 5 sh -c 'echo done'",
        "printf '#!/bin/sh\\necho hi\\n' > r.sh && chmod +x r.sh && ./r.sh && bash r.sh",
    ];
    let yard = run(RULES, &lines(&commands));
    // What was committed is offered at the end; before that nothing is asked.
    assert_eq!(asked(&yard), [json!("workspace.apply")]);
    for (command, outcome) in commands.iter().zip(yard.outcomes()) {
        assert!(outcome["ended"]["exited"].is_number(), "{command}: {outcome}");
    }
}

#[test]
fn a_command_that_asks_asks_wherever_it_stands_in_a_line() {
    let commands = [
        "cd . && git push",
        "env git push",
        "echo $(git push)",
        "echo origin | xargs git push",
        "true\ngit push",
        "git status; (cd . && git -C . push)",
        "sh -c 'nice timeout 5 g\"it\" push'",
        "f() { git push; }; f",
        "bash <<'EOF'\ngit push\nEOF",
        "find . -maxdepth 0 -exec git push \\;",
    ];
    let yard = run(RULES, &lines(&commands));
    assert_eq!(asked(&yard), vec![json!("git.push"); commands.len()]);
    for (command, outcome) in commands.iter().zip(yard.outcomes()) {
        assert_eq!(outcome["ended"], "denied", "{command}");
        assert_eq!(outcome["denial"]["action"], "git.push", "{command}");
    }
}

#[test]
fn what_is_not_understood_asks_and_what_is_denied_is_denied_in_the_background_too() {
    let mut calls = lines(&["x=git; $x push", "eval \"$(cat r.sh)\"", "git status | curl x"]);
    calls.push(json!({ "command": "sleep 1; env curl x", "background": true }));
    let yard = run(RULES, &calls);
    assert_eq!(asked(&yard), [json!("exec.unparsed"), json!("exec.unparsed")]);
    let actions: Vec<_> =
        yard.outcomes().into_iter().map(|outcome| outcome["denial"]["action"].clone()).collect();
    let expected = ["exec.unparsed", "exec.unparsed", "exec.path.curl", "exec.path.curl"];
    assert_eq!(actions, expected.map(Value::from));
    // The person's own command goes by the same names, and only a denial binds.
    let refused = yard.chock(&["exec", "--", "env", "curl", "x"]).expect(125);
    assert!(refused.err.contains("exec.path.curl"), "{}", refused.err);
    yard.chock(&["exec", "--", "sh", "-c", "x=true; $x"]).expect(0);
}

#[test]
fn a_redirection_of_a_denied_path_is_refused_before_anything_runs() {
    let commands = ["touch made; cat < .env", "touch made; echo x > ./s/../.env", "ls made"];
    let yard = run(RULES, &lines(&commands));
    let outcomes = yard.outcomes();
    for outcome in &outcomes[..2] {
        assert_eq!(outcome["ended"], "denied", "{outcome}");
        let allowed_by = outcome["denial"]["allowed_by"].as_str().expect("a cure");
        assert!(allowed_by.contains("deny_read") && allowed_by.contains(".env"), "{outcome}");
    }
    assert_eq!(outcomes[2]["ended"], json!({ "exited": 2 }), "{}", outcomes[2]);
}
