//! `chock policy`: what it says is what is done.

use serde_json::{Value, json};

use crate::input::scripted;
use crate::yard::Yard;

fn with_rules(rules: &str) -> Yard {
    let yard = Yard::new();
    yard.write("chock.zon", &format!(".{{ .policy = .{{ .rules = .{{ {rules} }} }} }}"));
    yard
}

#[test]
fn explain_shows_every_row_that_matches_and_why_one_won() {
    let yard = with_rules(
        ".{ .action = \"git.*\", .decision = .ask }, .{ .action = \"git.push\", .decision = .deny }",
    );
    let told = yard.chock(&["policy", "explain", "git.push"]).expect(0).out;
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines[0], "git.push: deny");
    assert_eq!(lines[1], "  because of project: .{ .action = \"git.push\", .decision = .deny }");
    assert_eq!(lines[2], "  not project: .{ .action = \"git.*\", .decision = .ask }");
    assert!(lines[3].contains("more specific"), "{told}");

    let told = yard.chock(&["policy", "explain", "git.commit", "--json"]).expect(0).out;
    let object: Value = serde_json::from_str(&told).expect("an object");
    assert_eq!(object["decision"], "ask");
    assert_eq!(object["because"]["origin"], "project");
    let candidates = object["candidates"].as_array().expect("rows");
    let won: Vec<_> = candidates.iter().filter(|row| row["won"] == true).collect();
    assert_eq!((candidates.len(), won.len()), (2, 1), "{object}");
    assert!(
        object["candidates"][1]["why"].as_str().expect("words").contains("beats every shipped")
    );

    let told = yard.chock(&["policy", "explain", "web.other"]).expect(0).out;
    assert!(told.contains("because no row matches"), "{told}");
    let wrong = yard.chock(&["policy", "explain", "git.*"]).expect(1);
    assert!(wrong.err.contains("`git.*` stands for many actions; name one"), "{}", wrong.err);
    let wrong = yard.chock(&["policy", "explain", "call.wirte_file"]).expect(1);
    assert!(wrong.err.contains("did you mean `write_file`?"), "{}", wrong.err);
    let wrong = yard.chock(&["policy", "explain", "git push"]).expect(1);
    assert!(wrong.err.contains("words with dots between"), "{}", wrong.err);
    let wrong = yard.chock(&["policy", "explain", "g*t.push"]).expect(1);
    assert!(wrong.err.contains("in the wrong place"), "{}", wrong.err);
}

#[test]
fn a_row_about_no_action_there_is_is_a_fault_and_not_silence() {
    for (action, words) in [
        ("run_command", "no action is called `run_command`: a tool is `call.`"),
        ("gti.push", "`git`"),
        ("call.wirte_file", "`write_file`"),
        ("call.no_such_tool_at_all", "no tool is called `no_such_tool_at_all`"),
    ] {
        let rules = format!(".{{ .action = \"{action}\", .decision = .deny }}");
        let told = with_rules(&rules).chock(&["policy"]).expect(1).err;
        assert!(told.contains(words), "{told}");
    }
    let by_tool = |tool: &str| {
        with_rules(&format!(".{{ .tool = \"{tool}\", .action = \"git.push\", .decision = .deny }}"))
    };
    let told = by_tool("run_comand").chock(&["policy"]).expect(1).err;
    assert!(told.contains("`run_command`"), "{told}");
    for fine in ["call.fetch_url", "call.*", "git.push"] {
        let rules = format!(".{{ .action = \"{fine}\", .decision = .deny }}");
        with_rules(&rules).chock(&["policy"]).expect(0);
    }
    by_tool("frobnicate").chock(&["policy"]).expect(0);
}

#[test]
fn every_tool_that_a_model_is_given_may_stand_in_a_row() {
    let yard = Yard::new();
    let fake =
        crate::fake::Fake::script(&json!({ "turns": [{ "text": "done" }] }), &yard.path("."));
    yard.configure(fake.port);
    yard.chock(&["run", "x"]).expect(0);
    let tools = fake.requests()[0]["body"]["tools"].as_array().expect("tools").clone();
    let names = tools.iter().map(|tool| tool["function"]["name"].as_str().expect("a name"));
    let rows: String = names
        .map(|name| {
            format!(".{{ .tool = \"{name}\", .action = \"call.{name}\", .decision = .deny }}, ")
        })
        .collect();
    assert!(tools.len() > 10, "{rows}");
    with_rules(&rows).chock(&["policy"]).expect(0);
}

#[test]
fn whoever_has_enough_of_an_answer_sees_no_error() {
    use std::io::Read;
    use std::process::Stdio;
    let yard = Yard::new();
    for words in [&["policy"][..], &["config"], &["policy", "--json"]] {
        let mut command = yard.command(words);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
        drop(child.stdout.take());
        let mut told = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut told).expect("text");
        assert_eq!(child.wait().expect("an end").code(), Some(0), "{words:?}: {told}");
        assert_eq!(told, "", "{words:?}");
    }
}

#[test]
fn what_nobody_accepted_is_shown_as_that() {
    let yard = with_rules(".{ .action = \"git.push\", .decision = .allow }");
    let told = yard.chock(&["policy", "explain", "git.push"]).expect(0).out;
    assert!(told.starts_with("git.push: ask\n"), "{told}");
    assert!(told.contains("nobody accepted it"), "{told}");
}

#[test]
fn a_file_of_cases_is_checked_and_every_difference_is_named() {
    let yard = with_rules(".{ .action = \"git.push\", .decision = .deny }");
    let cases = yard.path("expect.zon");
    let file = cases.to_str().expect("a path");
    let good = ".{ .cases = .{ .{ .action = \"git.push\", .decision = .deny }, .{ .action = \"git.fetch\", .decision = .ask } } }";
    std::fs::write(&cases, good).expect("a file");
    let told = yard.chock(&["policy", "test", file]).expect(0);
    assert!(told.err.contains("2 cases are decided as expected"), "{}", told.err);
    std::fs::write(&cases, good.replace(".deny", ".ask")).expect("a file");
    let told = yard.chock(&["policy", "test", file]).expect(2);
    assert!(told.out.contains("expect.zon:1: git.push is deny and should be ask"), "{}", told.out);
    std::fs::write(&cases, ".{ .cases = .{} }").expect("a file");
    yard.chock(&["policy", "test", file]).expect(1);
    yard.chock(&["policy", "test", "/nowhere.zon"]).expect(1);
}

#[test]
fn learn_prints_the_rows_that_would_have_spared_the_refusals_and_they_do() {
    let rules = ".{ .action = \"call.run_command\", .decision = .ask }, .{ .action = \"call.glob\", .decision = .deny }";
    let yard = with_rules(rules);
    let calls = json!([
        { "name": "run_command", "input": { "command": "echo one" } },
        { "name": "run_command", "input": { "command": "echo two" } },
        { "name": "glob", "input": { "pattern": "*" } },
        { "name": "read_file", "input": { "path": "a.txt" } },
    ]);
    scripted(&yard, &json!({ "turns": [{ "tools": calls }, { "text": "done" }] }));
    yard.chock(&["run", "x"]).expect(0);
    let told = yard.chock(&["policy", "learn"]).expect(0).out;
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].starts_with("// .{ .tool = \"glob\", .action = \"call.glob\""), "{told}");
    assert!(lines[0].ends_with("a rule denies it on purpose"), "{told}");
    assert!(lines[1].ends_with("// 2 not answered"), "{told}");
    // The row as it was printed, in the place of the one that asks.
    let row = lines[1].split(" // ").next().expect("a row");
    yard.write("chock.zon", &format!(".{{ .policy = .{{ .rules = .{{ {row} }} }} }}"));
    yard.chock(&["run", "x"]).expect(0);
    let ended: Vec<_> = yard.outcomes().into_iter().map(|found| found["ended"].clone()).collect();
    assert_eq!(
        ended,
        [json!({ "exited": 0 }), json!({ "exited": 0 }), json!("done"), json!("done")]
    );
    let told = yard.chock(&["policy", "learn"]).expect(0);
    assert!(told.out.is_empty() && told.err.contains("asked nothing"), "{}{}", told.out, told.err);
}

/// A stream of numbers that is the same in every run.
struct Numbers(u64);

impl Numbers {
    /// Returns a number below `most`. The constants are Knuth's.
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % most
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

fn random_rules(numbers: &mut Numbers) -> String {
    let actions = [
        "call.run_command",
        "call.read_file",
        "call.glob",
        "call.list_directory",
        "call.*",
        "exec.path.echo",
        "exec.path.*",
        "git.status",
        "git.push",
        "git.*",
    ];
    let tools = ["run_command", "read_file", "glob"];
    let rows = (0..2 + numbers.below(6)).map(|_| {
        let decision = numbers.of(&["deny", "ask", "allow", "allow"]);
        let tool = match numbers.below(3) {
            0 => format!(".tool = \"{}\", ", numbers.of(&tools)),
            _ => String::new(),
        };
        format!(".{{ {tool}.action = \"{}\", .decision = .{decision} }},", numbers.of(&actions))
    });
    rows.collect()
}

fn random_calls(numbers: &mut Numbers) -> Vec<Value> {
    let call = |_| match numbers.below(7) {
        0 => json!({ "name": "read_file", "input": { "path": "a.txt" } }),
        1 => json!({ "name": "glob", "input": { "pattern": "*.py" } }),
        2 => json!({ "name": "list_directory", "input": {} }),
        choice => {
            let commands = ["echo hi", "git status", "true && echo x", "git status | cat"];
            json!({ "name": "run_command", "input": { "command": commands[choice - 3] } })
        }
    };
    (0..10).map(call).collect()
}

#[test]
fn what_explain_says_is_what_was_done_in_two_hundred_calls() {
    let mut numbers = Numbers(7);
    let (mut allowed, mut refused) = (0, 0);
    for table in 0..20 {
        let yard = with_rules(&random_rules(&mut numbers));
        let calls = random_calls(&mut numbers);
        scripted(&yard, &json!({ "turns": [{ "tools": calls }, { "text": "done" }] }));
        if table % 2 == 0 {
            // What widens is accepted in every other project.
            let told = yard.chock(&["config"]).expect(0).err;
            if let Some((_, digest)) = told.split_once("--accept-project ") {
                let digest = digest.split_whitespace().next().expect("a digest");
                yard.chock(&["run", "--accept-project", digest, "x"]);
            }
        }
        // A session in which everything is refused ends for lack of progress.
        let ran = yard.chock(&["run", "x"]);
        assert!(matches!(ran.code, Some(0 | 6)), "{}", ran.err);
        let order = ["deny", "agent_then_human", "ask", "agent_review", "allow"];
        let mut known = std::collections::BTreeMap::new();
        let mut explained = |tool: &str, action: &str| {
            let key = (tool.to_owned(), action.to_owned());
            let decide = || {
                let words = ["policy", "explain", action, "--tool", tool, "--json"];
                let object: Value =
                    serde_json::from_str(&yard.chock(&words).expect(0).out).expect("an object");
                let word = object["decision"].as_str().expect("a word").to_owned();
                order.iter().position(|known| *known == word).expect("a decision")
            };
            *known.entry(key).or_insert_with(decide)
        };
        let records = yard.records();
        let answered = records.iter().filter(|record| record["kind"] == "approval.answered");
        for (call, answer) in calls.iter().zip(answered) {
            let tool = call["name"].as_str().expect("a name");
            let actions = answer["body"]["actions"].as_array().expect("actions");
            let actions = actions.iter().map(|action| action.as_str().expect("a name"));
            let strictest = actions.map(|action| explained(tool, action)).min().expect("an action");
            let done = answer["body"]["allowed"].as_bool().expect("a word");
            assert_eq!(done, order[strictest] == "allow", "table {table}: {call} {answer}");
            if done { allowed += 1 } else { refused += 1 }
        }
        let outcomes = yard.outcomes();
        let denied = outcomes.iter().filter(|outcome| outcome["ended"] == "denied").count();
        let answered = records.iter().filter(|record| record["kind"] == "approval.answered");
        let not_allowed = answered.filter(|answer| answer["body"]["allowed"] == false).count();
        assert_eq!(denied, not_allowed, "table {table}");
    }
    assert_eq!(allowed + refused, 200);
    assert!(allowed > 30 && refused > 30, "{allowed} allowed, {refused} refused");
}
