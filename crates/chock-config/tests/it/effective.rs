//! The settings in force and their list.

use chock_config::{Effective, Flags, Limit, Machine, Person, Project};

const GIB: u64 = 1 << 30;

fn machine(processors: u32, gibibytes: u64) -> Machine {
    Machine { processors, memory_bytes: gibibytes * GIB }
}

fn fold(person: &str, project: &str, flags: Flags, machine: Machine) -> Effective {
    let person = Person::read("config.zon", person).unwrap();
    let project = Project::read("chock.zon", project).unwrap();
    Effective::fold(person, project, flags, machine)
}

#[test]
fn the_machines_size_gives_the_defaults() {
    // (machine, processes, memory in MiB, scratch in MiB)
    let cases = [
        (machine(8, 16), 256, 2048, 1024),
        (machine(128, 512), 1024, 65536, 1024),
        (machine(2, 4), 256, 2048, 1024),
        (machine(1, 1), 256, 512, 256),
        (machine(32, 64), 512, 8192, 1024),
    ];
    for (machine, processes, memory, scratch) in cases {
        let limits = fold(".{}", ".{}", Flags::default(), machine).limits;
        assert_eq!(limits.get(Limit::Processes).value, processes, "{machine:?}");
        assert_eq!(limits.get(Limit::Memory).value >> 20, memory, "{machine:?}");
        assert_eq!(limits.get(Limit::Scratch).value >> 20, scratch, "{machine:?}");
    }
}

#[test]
fn the_project_beats_the_person_and_the_person_the_machine() {
    let person = ".{ .limits = .{ .memory = \"50%\", .processes = \"50%\", .time_s = 60 } }";
    let project = ".{ .limits = .{ .time_s = 30, .file_size = \"1 MiB\", .memory = 1073741824 } }";
    let effective = fold(person, project, Flags::default(), machine(8, 16));
    // (limit, value, origin)
    let cases = [
        (Limit::Time, 30, "chock.zon:1:27"),
        (Limit::Processes, 128, "config.zon:1:47"),
        (Limit::Memory, GIB, "chock.zon:1:63"),
        (Limit::FileSize, 1 << 20, "chock.zon:1:44"),
        (Limit::OpenFiles, 4096, "size of this machine"),
    ];
    for (limit, value, origin) in cases {
        let found = effective.limits.get(limit);
        assert_eq!((found.value, found.origin.to_string().as_str()), (value, origin), "{limit:?}");
    }
    assert_eq!(effective.limits.wall_time().as_secs(), 30);
    let halves = fold(person, ".{}", Flags::default(), machine(8, 16));
    assert_eq!(halves.limits.get(Limit::Memory).value, 8 * GIB);
}

#[test]
fn every_limit_is_found_under_its_own_name() {
    for limit in Limit::ALL {
        let project = format!(".{{ .limits = .{{ .{} = 80_000_000 }} }}", limit.name());
        let value = match Project::read("chock.zon", &project) {
            Ok(_) => 80_000_000,
            // Counts and seconds have lower bounds.
            Err(_) => 80,
        };
        let project = format!(".{{ .limits = .{{ .{} = {value} }} }}", limit.name());
        let limits = fold(".{}", &project, Flags::default(), machine(8, 16)).limits;
        for other in Limit::ALL {
            let is_written = limits.get(other).origin.to_string().starts_with("chock.zon");
            assert_eq!(is_written, other == limit, "{limit:?} {other:?}");
        }
        assert_eq!(limits.get(limit).value, value);
    }
}

#[test]
fn the_list_has_every_value_and_its_origin() {
    let person = r#".{
        .providers = .{ .{
            .name = .local, .kind = .openai_compat, .base_url = "http://127.0.0.1:1/v1",
            .token = "SECRET-SECRET", .model = "m", .context_tokens = 4096,
            .price = .{ .currency = "USD", .input = 0.25, .output = 10 },
        } },
        .toolchains = .{ .add = .{ "/opt/go" } },
    }"#;
    let project = r#".{
        .policy = .{ .rules = .{ .{ .action = "git.push", .decision = .deny } } },
        .budget = .{ .max_tokens = 9 },
        .deny_read = .{ ".env" },
        .environment = .{ "A" },
    }"#;
    let flags = Flags { max_turns: Some(7), ..Flags::default() };
    let rows = fold(person, project, flags, machine(8, 16)).rows();
    let list: Vec<_> =
        rows.iter().map(|row| format!("{} = {} ({})", row.name, row.value, row.origin)).collect();
    let expected = [
        "provider = local (config.zon:2:26)",
        "model = m (config.zon:4:48)",
        "max_turns = 7 (--max-turns)",
        "providers.local.kind = openai-compat (config.zon:2:26)",
        "providers.local.base_url = http://127.0.0.1:1/v1 (config.zon:2:26)",
        "providers.local.price = 0.25 in, 10 out, USD a million tokens (config.zon:2:26)",
        "providers.local.token = (set, not shown) (config.zon:2:26)",
        "providers.local.model = m (config.zon:2:26)",
        "providers.local.context_tokens = 4096 (config.zon:2:26)",
        "limits.time_s = 600 s (size of this machine)",
        "limits.processes = 256 (size of this machine)",
        "limits.memory = 2 GiB (size of this machine)",
        "limits.process_memory = 16 GiB (size of this machine)",
        "limits.file_size = 4 GiB (size of this machine)",
        "limits.open_files = 4096 (size of this machine)",
        "limits.scratch = 1 GiB (size of this machine)",
        "limits.shared_memory = 256 MiB (size of this machine)",
        "limits.workspace_bytes = 32 GiB (size of this machine)",
        "limits.workspace_files = 1000000 (size of this machine)",
        "limits.free_space = 512 MiB (size of this machine)",
        "toolchains.add = /opt/go (config.zon:7:36)",
        "budget = 9 tokens (chock.zon:3:20)",
        "deny_read = .env (chock.zon:4:25)",
        "environment = A (chock.zon:5:27)",
        "apply.mode = merge (shipped default)",
        "policy.rules = .{ .action = \"git.push\", .decision = .deny } (chock.zon:2:35)",
        "sandbox.jit = allow (shipped default)",
        "sandbox.debug = deny (shipped default)",
    ];
    assert_eq!(list, expected);
    let defaults = fold(".{}", ".{}", Flags::default(), machine(8, 16)).rows();
    assert_eq!((defaults[0].name.as_str(), defaults[0].value.as_str()), ("max_turns", "200"));
}

#[test]
fn the_rows_that_change_the_filter_are_shown_as_they_count() {
    // (rows, jit, debug)
    let cases = [
        ("", "allow (shipped default)", "deny (shipped default)"),
        (
            ".{ .action = \"sandbox.jit\", .decision = .deny }",
            "deny (chock.zon:1:30)",
            "deny (shipped default)",
        ),
        (
            ".{ .action = \"sandbox.*\", .decision = .ask }",
            "deny (chock.zon:1:30)",
            "deny (chock.zon:1:30)",
        ),
        (
            ".{ .action = \"sandbox.debug\", .decision = .allow }",
            "allow (shipped default)",
            "allow (chock.zon:1:30)",
        ),
    ];
    for (rules, jit, debug) in cases {
        let project = format!(".{{ .policy = .{{ .rules = .{{ {rules} }} }} }}");
        let rows = fold(".{}", &project, Flags::default(), machine(8, 16)).rows();
        for (name, expected) in [("sandbox.jit", jit), ("sandbox.debug", debug)] {
            let row = rows.iter().find(|row| row.name == name).unwrap();
            assert_eq!(format!("{} ({})", row.value, row.origin), expected, "{rules}");
        }
    }
}

#[test]
fn binds_and_denied_paths_are_listed() {
    let project = ".{ .deny_read = .{ .{ .path = \"a/\", .tracked = .refuse } },
        .workspace = .{ .binds = .{ .{ .name = \"d\", .mode = .copy } } } }";
    let rows = fold(".{}", project, Flags::default(), machine(8, 16)).rows();
    let value = |name: &str| rows.iter().find(|row| row.name == name).unwrap().value.clone();
    assert_eq!(value("deny_read"), "a/ (refused when git tracks it)");
    assert_eq!(value("workspace.binds"), ".{ .name = \"d\", .mode = .copy, .required = true }");
}
