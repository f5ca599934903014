//! What holds for every project.

use std::fmt::Write;

use chock_config::{Beneath, Limit, Limits, LimitsBlock, Machine, Person, Project};
use chock_policy::{Action, Decision, Request, Table, shipped};
use proptest::prelude::*;

const ACTIONS: &[&str] = &[
    "git.push",
    "git.commit",
    "git.branch.delete",
    "exec.path.cargo",
    "exec.unparsed",
    "sandbox.debug",
    "sandbox.jit",
    "net.connect.com.example.443",
    "call.read_file",
    "no.such",
    "secret.use.x",
];

const PATTERNS: &[&str] = &[
    "git.*",
    "git.push",
    "git.commit",
    "git.branch.*",
    "exec.*",
    "exec.path.*",
    "exec.unparsed",
    "sandbox.*",
    "sandbox.debug",
    "net.*",
    "net.connect.*",
    "call.*",
    "secret.*",
    "secret.use.*",
];

#[derive(Debug, Clone)]
struct RuleText {
    kind: Option<&'static str>,
    tool: Option<&'static str>,
    action: Option<&'static str>,
    decision: Decision,
}

fn rules() -> impl Strategy<Value = Vec<RuleText>> {
    let rule = (
        prop::option::of(prop::sample::select(vec!["main", "scout"])),
        prop::option::of(prop::sample::select(vec!["run_command", "other"])),
        prop::option::weighted(0.9, prop::sample::select(PATTERNS)),
        prop::sample::select(Decision::ALL.to_vec()),
    );
    let rule =
        rule.prop_map(|(kind, tool, action, decision)| RuleText { kind, tool, action, decision });
    prop::collection::vec(rule, 0..8)
}

fn project(rules: &[RuleText], names: &[&str]) -> Project {
    let mut text = String::from(".{ .policy = .{ .rules = .{ ");
    for rule in rules {
        text.push_str(".{ ");
        for (field, value) in
            [("agent_kind", rule.kind), ("tool", rule.tool), ("action", rule.action)]
        {
            if let Some(value) = value {
                write!(text, ".{field} = \"{value}\", ").unwrap();
            }
        }
        write!(text, ".decision = .{} }}, ", rule.decision).unwrap();
    }
    text.push_str("} }, .environment = .{ ");
    for name in names {
        write!(text, "\"{name}\", ").unwrap();
    }
    text.push_str("} }");
    Project::read("chock.zon", &text).unwrap()
}

fn decisions(table: &Table) -> Vec<Decision> {
    let mut found = Vec::new();
    for action in ACTIONS {
        let action = Action::from_static(action);
        for kind in ["main", "scout"] {
            for tool in ["run_command", "other"] {
                found.push(table.rule(kind, &Request { action: &action, tool, model: "m" }));
            }
        }
    }
    found
}

/// Asks with what holds where a project says nothing.
fn beneath<T>(ask: impl FnOnce(&Beneath<'_>) -> T) -> T {
    let machine = Machine { processors: 8, memory_bytes: 16 << 30 };
    ask(&Beneath { rows: &shipped(), limits: &LimitsBlock::default(), machine })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn without_its_widening_no_project_is_above_the_defaults(
        rules in rules(),
        names in prop::collection::vec(prop::sample::select(vec!["A", "B"]), 0..2),
    ) {
        let project = project(&rules, &names);
        let held = beneath(|beneath| project.without_widening(beneath));
        let defaults = decisions(&Table::defaults());
        let as_written = decisions(&project.table());
        let not_accepted = decisions(&held.table());
        prop_assert!(held.environment.is_empty());
        for ((default, written), held) in defaults.iter().zip(&as_written).zip(&not_accepted) {
            prop_assert!(held <= default);
            // What narrows counts in full.
            prop_assert!(written > default || held == written);
        }
        let widening = beneath(|beneath| project.widening(beneath));
        if widening.is_none() {
            prop_assert_eq!(&not_accepted, &as_written);
            prop_assert!(names.is_empty());
        }
        if as_written.iter().zip(&defaults).any(|(written, default)| written > default) {
            prop_assert!(widening.is_some());
        }
    }

    #[test]
    fn each_row_that_widens_is_named(rules in rules()) {
        for rule in &rules {
            let alone = project(std::slice::from_ref(rule), &[]);
            let above = decisions(&alone.table()).into_iter().zip(decisions(&Table::defaults()));
            let widens = above.into_iter().any(|(written, default)| written > default);
            // The generated requests are not all there are, so only one side follows.
            prop_assert!(!widens || beneath(|beneath| alone.widening(beneath)).is_some(), "{rule:?}");
        }
        let all = beneath(|beneath| project(&rules, &[]).widening(beneath)).map_or(0, |widening| widening.items.len());
        let single = rules.iter().filter(|rule| {
            beneath(|beneath| project(std::slice::from_ref(rule), &[]).widening(beneath)).is_some()
        });
        prop_assert_eq!(all, single.count());
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}", name in ".{0,5}") {
        let _ = Project::read(&name, &text);
        let _ = Person::read(&name, &text);
    }

    #[test]
    fn no_broken_file_panics_or_prints_a_control_character(
        cut in 0_usize..2000,
        piece in prop::sample::select(vec!["", "}", ".{", "\"", "\u{1b}", "\u{202e}", "\\", "\t", "é", "1", ".x"]),
        length in 0_usize..20,
    ) {
        for text in [PROJECT, PERSON] {
            let start = cut % text.len();
            let end = (start + length).min(text.len());
            let text = format!("{}{piece}{}", &text[..start], &text[end..]);
            let person = Person::read("f", &text).err();
            let shown = person.as_ref().map_or(String::new(), ToString::to_string);
            prop_assert!(!shown.contains("s3cr3t-s3cr3t-s3cr3t"), "{shown}");
            let faults = [Project::read("f", &text).err(), person];
            for fault in faults.iter().flatten().flat_map(|faults| faults.as_slice()) {
                let shown = fault.to_string();
                prop_assert!(!shown.contains(['\u{1b}', '\u{202e}', '\t']), "{shown:?}");
                prop_assert!(fault.source.get(fault.underline.clone()).is_some(), "{fault:?}");
            }
        }
    }

    #[test]
    fn limits_fit_every_machine(processors in 1_u32..4096, memory in (1_u64 << 26)..(1 << 44)) {
        let machine = Machine { processors, memory_bytes: memory };
        let none = LimitsBlock::default();
        let limits = Limits::fold(&none, &none, machine);
        let memory_limit = limits.get(Limit::Memory).value;
        prop_assert!(memory_limit <= memory.max(64 << 20));
        prop_assert!(limits.get(Limit::Scratch).value <= memory_limit);
        prop_assert!((256..=4096).contains(&limits.get(Limit::Processes).value));
    }
}

const PROJECT: &str = r#".{ .policy = .{ .rules = .{ .{ .action = "git.push", .decision = .allow } } },
  .budget = .{ .max_cost = 1.5, .currency = "USD" }, .deny_read = .{ ".env" },
  .limits = .{ .memory = "1 GiB" } }"#;

const PERSON: &str = r#".{ .providers = .{ .{ .name = .a, .kind = .openai_compat, .base_url = "http://x/v1",
  .token = "s3cr3t-s3cr3t-s3cr3t", .models = .{ "m" }, .quirks = .{ .reasoning = .drop } } },
  .defaults = .{ .provider = .a }, .toolchains = .{ .add = .{ "/opt/x" } } }"#;
