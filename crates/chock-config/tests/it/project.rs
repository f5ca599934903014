//! `chock.zon`: what is read and what is refused.

use chock_config::{Amount, ApplyMode, Beneath, Limit, LimitsBlock, Machine, Project};
use chock_policy::Decision;

use crate::{Cases, check_faults};

#[track_caller]
fn check(text: &str, expected: &[(usize, &str, &str)]) {
    let faults = Project::read("chock.zon", text).unwrap_err();
    check_faults(text, &faults, expected);
}

#[test]
fn every_block_is_read() {
    let project = Project::read(
        "chock.zon",
        r#".{
            .policy = .{ .rules = .{
                .{ .action = "git.push", .decision = .deny },
                .{ .agent_kind = "scout", .model = "big.*", .tool = "run_command", .decision = .ask },
            } },
            .budget = .{ .max_cost = 2.5, .currency = "usd", .max_tokens = 1_000_000 },
            .deny_read = .{ ".env", "./keys//server.pem" },
            .environment = .{ "CARGO_TERM_COLOR", "_X1" },
            .limits = .{ .time_s = 30, .memory = "25%", .file_size = "512 MiB", .processes = 64 },
        }"#,
    )
    .unwrap();
    assert_eq!(project.rules()[0].value.decision, Decision::Deny);
    assert_eq!(project.rules()[1].value.model.as_ref().unwrap().as_str(), "big.*");
    assert_eq!(project.rules()[1].place.line, 4);
    let budget = project.budget.as_ref().unwrap();
    assert_eq!(budget.to_string(), "2.5 USD, 1000000 tokens");
    let denied: Vec<_> = project.deny_read.iter().map(|row| row.value.path.as_str()).collect();
    assert_eq!(denied, [".env", "keys/server.pem"]);
    let names: Vec<_> = project.environment.iter().map(|name| name.value.as_str()).collect();
    assert_eq!(names, ["CARGO_TERM_COLOR", "_X1"]);
    let amounts = [
        (Limit::Time, Some(Amount::Number(30))),
        (Limit::Memory, Some(Amount::Percent(25))),
        (Limit::FileSize, Some(Amount::Bytes(512 << 20))),
        (Limit::Processes, Some(Amount::Number(64))),
        (Limit::Scratch, None),
    ];
    for (limit, amount) in amounts {
        assert_eq!(project.limits.get(limit).map(|limit| limit.value), amount, "{limit:?}");
    }
}

#[test]
fn an_empty_struct_says_nothing() {
    assert_eq!(Project::read("chock.zon", ".{}"), Ok(Project::default()));
    assert_eq!(Project::read("chock.zon", ".{ .policy = .{} }"), Ok(Project::default()));
    assert_eq!(
        Project::read("chock.zon", ".{ .policy = .{ .rules = .{} } }"),
        Ok(Project::default())
    );
}

#[test]
fn how_commits_land_is_a_word_and_never_widens() {
    for (word, mode) in [
        ("merge", ApplyMode::Merge),
        ("rebase", ApplyMode::Rebase),
        ("squash", ApplyMode::Squash),
        ("ask", ApplyMode::Ask),
    ] {
        let text = format!(".{{ .apply = .{{ .mode = .{word} }} }}");
        let project = Project::read("chock.zon", &text).expect("a project");
        assert_eq!(project.apply.as_ref().expect("a mode").value, mode);
        let machine = Machine { processors: 8, memory_bytes: 16 << 30 };
        let limits = LimitsBlock::default();
        let beneath = Beneath { rows: &chock_policy::shipped(), limits: &limits, machine };
        assert_eq!(project.widening(&beneath), None);
        assert_eq!(project.without_widening(&beneath).apply.expect("a mode").value, mode);
    }
    assert_eq!(Project::read("chock.zon", ".{ .apply = .{} }"), Ok(Project::default()));
    let faults = Project::read("chock.zon", ".{ .apply = .{ .mode = .push } }");
    assert!(faults.expect_err("no mode").to_string().contains("push"));
}

#[test]
fn a_block_of_a_later_version_is_refused_by_name() {
    let blocks = ["subagents", "nix", "plugins", "mcp", "lsp", "network", "secrets", "devices"];
    for block in blocks {
        let message =
            format!("this version of chock does not read the block `{block}` yet; remove it");
        check(&format!(".{{ .{block} = .{{}} }}"), &[(1, block, message.as_str())]);
    }
    let message = "does not read the field of `policy` `agents` yet";
    check(".{ .policy = .{ .agents = .{}, .rules = .{} } }", &[(1, "agents", message)]);
}

#[test]
fn every_fault_has_its_place_and_advice() {
    // (text, faults)
    let cases: Cases<'_> = &[
        ("", &[(1, "", "expected a value")]),
        ("42", &[(1, "42", "the file is one struct")]),
        (".{ 1 }", &[(1, "{ 1 }", "the file is one struct")]),
        (".{\n  .polcy = .{},\n}", &[(2, "polcy", "did you mean `policy`?")]),
        (".{\n  .Budget = .{},\n}", &[(2, "Budget", "did you mean `budget`?")]),
        (
            ".{ .zebra = 1 }",
            &[(
                1,
                "zebra",
                "the names are policy, budget, deny_read, environment, instructions, skills, limits, workspace",
            )],
        ),
        (
            ".{ .instructions = .{ \"docs/*.md\", \"../up.md\" } }",
            &[(1, "\"../up.md\"", "the path has a `..` in it")],
        ),
        (
            ".{ .instructions = .{ \"docs/*.md\" } }",
            &[(1, "{ \"docs", "`docs/*.md` is a pattern; name each file")],
        ),
        (
            ".{ .skills = .{ \"skills/*\" } }",
            &[(1, "{ \"skills", "`skills/*` is a pattern; name each directory")],
        ),
        (
            ".{ .skills = .{ \"a\", \"b\", \"c\", \"d\", \"e\" } }",
            &[(1, "{ \"a", "5 directories of skills are over the limit of 4")],
        ),
        (".{ .policy = 1 }", &[(1, "1", "expected a struct, found 1")]),
        (".{ .policy = .{ .rule = .{} } }", &[(1, "rule", "did you mean `rules`?")]),
        (
            ".{ .policy = .{ .rules = .{\n .{ .action = \"git.push\", .decision = .alow },\n} } }",
            &[(2, "alow", "did you mean `allow`?")],
        ),
        (
            ".{ .policy = .{ .rules = .{ .{ .actoin = \"a.b\", .decision = .ask }, .{ .action = \"a\" } } } }",
            &[
                (1, "actoin", "did you mean `action`?"),
                (1, "{ .action =", "the field `decision` is missing"),
            ],
        ),
        (
            ".{ .policy = .{ .rules = .{ .{ .action = \"*\", .decision = .ask } } } }",
            &[(1, "\"*\"", "a bare `*` matches everything")],
        ),
        (".{ .budget = .{} }", &[(1, "{} }", "a budget has `.max_cost`")]),
        (".{ .budget = .{ .currency = \"USD\" } }", &[(1, "\"USD\"", "a budget has `.max_cost`")]),
        (".{ .budget = .{ .max_cost = 1 } }", &[(1, "1", "a cost needs its `.currency`")]),
        (
            ".{ .budget = .{ .max_cost = -1, .currency = \"EURO\" } }",
            &[(1, "-", "a cost is a number above zero"), (1, "\"EURO\"", "three letters")],
        ),
        (".{ .budget = .{ .max_cost = inf, .currency = \"EUR\" } }", &[(1, "inf", "above zero")]),
        (".{ .budget = .{ .max_tokens = 0 } }", &[(1, "0", "no tokens")]),
        (".{ .budget = .{ .max_token = 5 } }", &[(1, "max_token", "did you mean `max_tokens`?")]),
        (
            ".{ .environment = .{ \"PATH\", \"A-B\", \"LC_*\", \"CHOCK_X\", \"1A\", .A } }",
            &[
                (1, "\"PATH\"", "chock sets `PATH` itself"),
                (1, "\"A-B\"", "is exact"),
                (1, "\"LC_*\"", "is exact"),
                (1, "\"CHOCK_X\"", "chock sets `CHOCK_X` itself"),
                (1, "\"1A\"", "is exact"),
                (1, "A", "expected a string, found the name `.A`"),
            ],
        ),
        (
            ".{ .limits = .{ .time_s = \"5 MiB\", .processes = 1, .file_size = \"10%\" } }",
            &[
                (1, "\"5 MiB\"", "`time_s` is a number and not a size"),
                (1, "1", "`processes` is at least 8 and at most 1048576"),
                (1, "\"10%\"", "`file_size` is not a part of what the machine has"),
            ],
        ),
        (
            ".{ .limits = .{ .memory = \"5 GB\", .scratch = 1.5, .open_files = -1, .memmory = 1 } }",
            &[
                (1, "\"5 GB\"", "the units are B, KiB, MiB, GiB and TiB"),
                (1, "1", "expected a whole number"),
                (1, "-", "expected a whole number"),
                (1, "memmory", "did you mean `memory`?"),
            ],
        ),
        (
            ".{ .limits = .{ .memory = \"200%\" } }",
            &[(1, "\"200%\"", "a percentage is from 1 to 100")],
        ),
        (".{ .limits = .{ .memory = \"99999999999999999999 B\" } }", &[(1, "\"", "too large")]),
        (
            ".{ .budget = .{ .max_tokens = 1 }, .budget = .{ .max_tokens = 2 } }",
            &[(1, "budget", "stands more than once")],
        ),
    ];
    for (text, faults) in cases {
        check(text, faults);
    }
}

#[test]
fn faults_of_all_blocks_come_in_one_run() {
    check(
        ".{\n  .budget = .{},\n  .mcp = .{},\n  .limits = .{ .time_s = 0 },\n  .deny_read = .{ \"/\" },\n}",
        &[(2, "{},", ""), (3, "mcp", ""), (4, "0", ""), (5, "\"/\"", "")],
    );
}

#[test]
fn a_fault_shows_the_line_and_what_is_meant() {
    let text = ".{\n    .policy = .{ .ruels = .{} },\n}\n";
    let faults = Project::read("chock.zon", text).unwrap_err();
    let shown = "\
chock.zon:2:19: there is no field of `policy` `ruels`
 2 |     .policy = .{ .ruels = .{} },
   |                   ^^^^^
   = did you mean `rules`?
   = the names are rules";
    assert_eq!(faults.to_string(), shown);
}

#[test]
fn a_fault_of_a_hostile_file_is_safe_to_print() {
    let long = "x".repeat(5_000);
    let texts = [
        ".{ .a\u{1b}[2J = 1 }".to_owned(),
        ".{ .@\"\\x1b[2J\\n\\u{202e}\" = 1 }".to_owned(),
        ".{ .policy = \u{202e}1 }".to_owned(),
        format!(".{{ .{long} = 1 }}"),
        format!(".{{ .budget = .{{ .{long} = 1 }} }}"),
        format!("{}.{{", " ".repeat(5_000)),
    ];
    for text in texts {
        let faults = Project::read("chock\u{1b}.zon", &text).unwrap_err();
        let shown = faults.to_string();
        assert!(!shown.chars().any(|letter| letter.is_control() && letter != '\n'), "{shown:?}");
        assert!(!shown.contains('\u{202e}'), "{shown:?}");
        assert!(faults.as_slice().iter().all(|fault| fault.source.len() < 2_000), "{shown}");
    }
}

#[test]
fn lists_are_bounded() {
    let rules = ".{ .decision = .deny },".repeat(513);
    check(
        &format!(".{{ .policy = .{{ .rules = .{{ {rules} }} }} }}"),
        &[(1, "{ .{ .decis", "513 rules are over the limit of 512")],
    );
    let paths: String = (0..257).map(|number| format!("\"{number}\",")).collect();
    check(
        &format!(".{{ .deny_read = .{{ {paths} }} }}"),
        &[(1, "{ \"0\",\"1\",\"", "over the limit of 256")],
    );
    let names: String = (0..65).map(|number| format!("\"A{number}\",")).collect();
    check(
        &format!(".{{ .environment = .{{ {names} }} }}"),
        &[(1, "{ \"A0\",\"A1\"", "over the limit of 64")],
    );
}
