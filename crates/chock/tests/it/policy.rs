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

    let wrong = yard.chock(&["policy", "explain", "git.*"]).expect(1);
    assert!(wrong.err.contains("git.*"), "{}", wrong.err);
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
