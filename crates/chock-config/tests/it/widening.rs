//! What needs a person's word.

use std::path::Path;

use chock_config::{Beneath, Limit, Limits, LimitsBlock, Machine, Person, Project, Widening};
use chock_policy::{Action, Request, Rule, shipped};

fn read(text: &str) -> Project {
    Project::read("chock.zon", text).unwrap()
}

fn rules(rows: &str) -> Project {
    read(&format!(".{{ .policy = .{{ .rules = .{{ {rows} }} }} }}"))
}

/// A machine whose memory for a session is 2 GiB when nobody says anything.
const MACHINE: Machine = Machine { processors: 8, memory_bytes: 16 << 30 };

fn widening(project: &Project) -> Option<Widening> {
    under(project, &LimitsBlock::default(), |project, beneath| project.widening(beneath))
}

fn held(project: &Project) -> Project {
    under(project, &LimitsBlock::default(), Project::without_widening)
}

fn under<T>(
    project: &Project,
    limits: &LimitsBlock,
    ask: impl FnOnce(&Project, &Beneath<'_>) -> T,
) -> T {
    let rows: Vec<Rule> = shipped();
    ask(project, &Beneath { rows: &rows, limits, machine: MACHINE })
}

#[test]
fn a_limit_above_what_it_would_be_counts_only_when_it_was_accepted() {
    let none = LimitsBlock::default();
    let person = Person::read("config.zon", ".{ .limits = .{ .memory = \"8 GiB\" } }").unwrap();
    // (the project's limits, what widens with nothing of the person's, and above 8 GiB of theirs)
    let cases = [
        (".time_s = 600, .memory = \"2 GiB\", .free_space = \"512 MiB\"", vec![], vec![]),
        (".time_s = 30, .memory = \"64 MiB\", .free_space = \"1 GiB\"", vec![], vec![]),
        (".memory = \"4 GiB\"", vec!["raises `memory` from 2 GiB to 4 GiB"], vec![]),
        (
            ".memory = \"100%\"",
            vec!["raises `memory` from 2 GiB to 16 GiB"],
            vec!["raises `memory` from 8 GiB to 16 GiB"],
        ),
        (".time_s = 601, .processes = 9", vec!["raises `time_s` from 600 s to 601 s"], vec![]),
        (".free_space = \"16 MiB\"", vec!["lowers `free_space` from 512 MiB to 16 MiB"], vec![]),
    ];
    for (text, alone, above) in cases {
        let project = read(&format!(".{{ .limits = .{{ {text} }} }}"));
        for (limits, expected) in [(&none, &alone), (&person.limits, &above)] {
            let found = under(&project, limits, |project, beneath| project.widening(beneath));
            let effects: Vec<_> =
                found.into_iter().flat_map(|found| found.items).map(|item| item.effect).collect();
            if limits == &none || !expected.is_empty() {
                assert_eq!(&effects, expected, "{text}");
            }
            let held = under(&project, limits, Project::without_widening);
            let without = Limits::fold(&none, limits, MACHINE);
            let counted = Limits::fold(&held.limits, limits, MACHINE);
            let written = Limits::fold(&project.limits, limits, MACHINE);
            for limit in Limit::ALL {
                let [without, counted, written] =
                    [&without, &counted, &written].map(|limits| limits.get(limit).value);
                let narrows = match limit {
                    Limit::FreeSpace => written >= without,
                    _ => written <= without,
                };
                assert_eq!(counted, if narrows { written } else { without }, "{text} {limit:?}");
            }
        }
    }
}

#[test]
fn stores_of_objects_outside_are_bound_by_the_digest() {
    let project = rules(".{ .action = \"git.push\", .decision = .allow }");
    let digest = |stores: &[&str]| {
        let stores: Vec<_> = stores.iter().map(|store| Path::new(store).to_owned()).collect();
        let found = Widening::with_objects(widening(&project), &stores).unwrap();
        assert_eq!(found.items.len(), 1 + stores.len());
        found.digest
    };
    let digests = [digest(&[]), digest(&["/a"]), digest(&["/b"]), digest(&["/a", "/b"])];
    for (place, digest) in digests.iter().enumerate() {
        assert_eq!(digests.iter().position(|other| other == digest), Some(place));
    }
    assert_eq!(digests[0], widening(&project).unwrap().digest);
    assert_eq!(Widening::with_objects(None, &[]), None);
}

#[test]
fn a_row_widens_when_it_is_above_the_shipped_decision_anywhere() {
    // (row, effect or none)
    let cases = [
        (".{ .action = \"git.push\", .decision = .deny }", None),
        (".{ .action = \"git.push\", .decision = .ask }", None),
        (
            ".{ .action = \"git.push\", .decision = .agent_review }",
            Some("raises `git.push` from ask to agent_review"),
        ),
        (
            ".{ .action = \"git.push\", .decision = .allow }",
            Some("raises `git.push` from ask to allow"),
        ),
        (".{ .action = \"git.commit\", .decision = .allow }", None),
        (".{ .action = \"git.*\", .decision = .ask }", None),
        (".{ .action = \"git.*\", .decision = .allow }", Some("raises `git.*` from ask to allow")),
        (".{ .action = \"exec.path.*\", .decision = .allow }", None),
        (".{ .action = \"exec.path.cargo\", .decision = .allow }", None),
        (
            ".{ .action = \"exec.*\", .decision = .agent_review }",
            Some("raises `exec.*` from ask to agent_review"),
        ),
        (
            ".{ .action = \"sandbox.debug\", .decision = .agent_then_human }",
            Some("raises `sandbox.debug` from deny to agent_then_human"),
        ),
        (
            ".{ .action = \"sandbox.*\", .decision = .ask }",
            Some("raises `sandbox.debug` from deny to ask"),
        ),
        (
            ".{ .action = \"sandbox.*\", .decision = .allow }",
            Some("raises `sandbox.*` from ask to allow, `sandbox.debug` from deny to allow"),
        ),
        (".{ .action = \"sandbox.jit\", .decision = .allow }", None),
        (".{ .decision = .deny }", None),
        (".{ .decision = .ask }", Some("raises `sandbox.debug` from deny to ask")),
        (
            ".{ .decision = .allow }",
            Some("raises every action from ask to allow, `sandbox.debug` from deny to allow"),
        ),
        // Narrow in other fields, and above the defaults where it matches.
        (
            ".{ .tool = \"run_command\", .model = \"m\", .action = \"git.push\", .decision = .allow }",
            Some("raises `git.push` from ask to allow"),
        ),
        (
            ".{ .action = \"net.connect.io.crates.*\", .decision = .allow }",
            Some("raises `net.connect.io.crates.*` from ask to allow"),
        ),
    ];
    for (row, expected) in cases {
        let found = widening(&rules(row));
        let effect = found.as_ref().map(|widening| widening.items[0].effect.as_str());
        assert_eq!(effect, expected, "{row}");
    }
}

#[test]
fn every_variable_widens() {
    let project =
        read(".{\n .budget = .{ .max_tokens = 5 },\n .environment = .{ \"A\",\n \"B\" } }");
    let found = widening(&project).unwrap();
    let items: Vec<_> =
        found.items.iter().map(|item| (item.place.line, item.text.as_str())).collect();
    assert_eq!(items, [(3, ".environment = .{ \"A\" }"), (4, ".environment = .{ \"B\" }")]);
}

#[test]
fn every_bind_widens_and_says_how_far() {
    let project = read(
        ".{ .workspace = .{ .binds = .{
            .{ .name = \"./data/\", .mode = .read_only },
            .{ .name = \"a*\u{202e}\", .mode = .temp_copy },
            .{ .name = \"out\", .mode = .write, .required = false } } } }",
    );
    let found = widening(&project).unwrap();
    let rows: Vec<_> = found.items.iter().map(|item| item.text.as_str()).collect();
    let expected = [
        ".workspace.binds = .{ .{ .name = \"data/\", .mode = .read_only, .required = true } }",
        ".workspace.binds = .{ .{ .name = \"a*\\u{202e}\", .mode = .temp_copy, .required = false } }",
        ".workspace.binds = .{ .{ .name = \"out\", .mode = .write, .required = false } }",
    ];
    assert_eq!(rows, expected);
    assert!(found.items[2].effect.contains("WRITE THE REAL ONE"), "{found:?}");
    assert!(held(&project).binds.is_empty());
    // Another mode is another wish.
    let digest = |mode: &str| {
        let text = format!(
            ".{{ .workspace = .{{ .binds = .{{ .{{ .name = \"a\", .mode = .{mode} }} }} }} }}"
        );
        widening(&read(&text)).unwrap().digest
    };
    let mut digests = ["read_only", "copy", "temp_copy", "write"].map(digest).to_vec();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 4);
}

#[test]
fn what_only_narrows_needs_nobody() {
    let project = read(
        ".{ .budget = .{ .max_tokens = 5 }, .deny_read = .{ \".env\" }, .limits = .{ .processes = 9 },
            .policy = .{ .rules = .{ .{ .action = \"call.*\", .decision = .ask } } } }",
    );
    assert_eq!(widening(&project), None);
}

#[test]
fn the_digest_is_of_exactly_what_widens() {
    let push = ".{ .action = \"git.push\", .decision = .allow },";
    let fetch = ".{ .action = \"git.fetch\", .decision = .allow },";
    let deny = ".{ .action = \"git.pull\", .decision = .deny },";
    let digest = |rows: &str| widening(&rules(rows)).unwrap().digest;
    let one = digest(push);
    assert_eq!(one.len(), 64);
    assert!(one.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)));
    // The same parts, whatever stands beside them and in whatever order.
    assert_eq!(digest(&format!("{deny}{push}")), one);
    assert_eq!(digest(&format!("// a comment\n{push}{push}")), one);
    assert_eq!(digest(".{ .decision = .allow, .action = \"git.\\x70ush\" }"), one);
    assert_eq!(digest(&format!("{push}{fetch}")), digest(&format!("{fetch}{push}")));
    // Any other part is another digest.
    let others = [
        fetch.to_owned(),
        format!("{push}{fetch}"),
        ".{ .action = \"git.push\", .decision = .agent_review }".to_owned(),
        ".{ .action = \"git.push\", .tool = \"run_command\", .decision = .allow }".to_owned(),
        ".{ .action = \"git.push\", .model = \"run_command\", .decision = .allow }".to_owned(),
    ];
    let mut digests: Vec<_> = others.iter().map(|rows| digest(rows)).collect();
    digests.push(widening(&read(".{ .environment = .{ \"A\" } }")).unwrap().digest);
    digests.push(one);
    let count = digests.len();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), count);
}

#[test]
fn without_acceptance_what_narrows_still_counts() {
    let project = read(
        r#".{
            .environment = .{ "A" },
            .deny_read = .{ ".env" },
            .budget = .{ .max_tokens = 5 },
            .policy = .{ .rules = .{
                .{ .decision = .ask },
                .{ .action = "git.*", .decision = .agent_review },
                .{ .action = "net.*", .decision = .deny },
                .{ .action = "net.connect.*", .decision = .allow },
            } },
        }"#,
    );
    let held = held(&project);
    assert!(held.environment.is_empty());
    assert_eq!((&held.deny_read, &held.budget), (&project.deny_read, &project.budget));
    // (action, accepted, not accepted)
    let cases = [
        ("call.read_file", "ask", "ask"),
        ("git.commit", "agent_review", "agent_review"),
        ("git.push", "agent_review", "ask"),
        ("net.connect.a.1", "allow", "deny"),
        ("sandbox.debug", "ask", "deny"),
    ];
    for (action, accepted, not_accepted) in cases {
        let action = Action::from_static(action);
        let request = Request { action: &action, tool: "t", model: "m" };
        assert_eq!(project.table().rule("main", &request).word(), accepted, "{action}");
        assert_eq!(held.table().rule("main", &request).word(), not_accepted, "{action}");
    }
}

#[test]
fn what_is_shown_cannot_hide() {
    let project = rules(".{ .action = \"git.\u{202e}hsup\", .decision = .allow }");
    let found = widening(&project).unwrap();
    assert!(found.items[0].text.is_ascii(), "{found:?}");
}

#[test]
fn shipped_rows_are_about_actions_alone() {
    // The sentences that name what a row raises rest on it.
    for row in shipped() {
        assert!(
            row.action.is_some()
                && row.tool.is_none()
                && row.model.is_none()
                && row.agent_kind.is_none()
        );
    }
}
