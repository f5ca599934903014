//! An organisation's bundle binds whatever a project, a person or an agent says.

use std::process::Command;

use serde_json::json;

use crate::input::scripted;
use crate::yard::{Ran, Yard};

const RULES: &str = ".rules = .{ .{ .action = \"call.run_command\", .decision = .deny } }";

/// A project whose agent runs a command and reads a file.
fn yard() -> Yard {
    let yard = Yard::new();
    let calls = json!([
        { "name": "run_command", "input": { "command": "echo one" } },
        { "name": "read_file", "input": { "path": "b.txt" } },
    ]);
    let turns = json!([{ "tools": calls }, { "text": "done" }, { "tools": calls }, { "text": "x" }, { "text": "y" }]);
    scripted(&yard, &json!({ "turns": turns }));
    yard
}

fn bundle(yard: &Yard, fields: &str) -> String {
    let path = yard.path("home/.local/share/chock/org-policy.zon");
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(&path, format!(".{{ .version = 1, {fields} }}")).expect("a bundle");
    path.to_str().expect("a path").to_owned()
}

fn ended(yard: &Yard) -> Vec<serde_json::Value> {
    yard.outcomes().into_iter().map(|outcome| outcome["ended"].clone()).collect()
}

#[track_caller]
fn stopped(ran: Ran, words: &str) {
    let ran = ran.expect(1);
    assert!(ran.err.contains(words), "{words:?} is not in: {}", ran.err);
}

#[test]
fn its_rows_bind_run_exec_and_a_resumed_session_and_a_refusal_names_it() {
    let yard = yard();
    let path = bundle(&yard, &format!("{RULES}, .deny_read = .{{ \"b.txt\" }}"));
    // Neither an accepted project nor a lasting answer is above it.
    yard.write(
        "chock.zon",
        ".{ .policy = .{ .rules = .{ .{ .action = \"call.run_command\", .decision = .allow } } } }",
    );
    let ran = yard.chock(&["run", "x"]).expect(0);
    assert_eq!(ended(&yard), ["denied", "denied"]);
    let row = "    `call.run_command` is refused by the organisation's bundle, org-policy.zon: \
               .{ .action = \"call.run_command\", .decision = .deny }\n";
    assert!(ran.err.contains(row), "the person is told the row: {}", ran.err);
    let words = yard.outcomes()[0].to_string();
    assert!(words.contains("the organisation's bundle, org-policy.zon: .{ .action"), "{words}");
    assert!(yard.outcomes()[0]["denial"]["allowed_by"].is_null(), "{words}");
    assert_eq!(yard.outcomes()[0]["denial"]["layer"], "organisation");
    let words = yard.outcomes()[1].to_string();
    assert!(words.contains("org-policy.zon:1:"), "{words}");

    yard.chock(&["run", "--continue", "again"]).expect(0);
    assert_eq!(ended(&yard)[2..], ["denied", "denied"]);
    let refused = yard.chock(&["exec", "--", "true"]).expect(125);
    assert!(refused.err.contains("the organisation's bundle"), "{}", refused.err);

    let explained = yard.chock(&["policy", "explain", "call.run_command"]).expect(0).out;
    assert!(explained.contains("because of organisation: "), "{explained}");
    let config = yard.chock(&["config"]).expect(0).out;
    assert!(
        config.contains("organisation.rules") && config.contains("org-policy.zon:1:"),
        "{config}"
    );
    let doctor = yard.chock(&["doctor"]).out;
    assert!(doctor.contains("bound by a bundle of 1 rule\n"), "{doctor}");

    // A session does not slip out of it by being taken up without it.
    std::fs::rename(&path, yard.path("elsewhere.zon")).expect("moved");
    stopped(yard.chock(&["run", "--continue", "again"]), "--org-bundle");
    stopped(yard.chock(&["review", "--all"]), "--org-bundle");
    let id = yard.records()[0]["body"]["session"].as_str().expect("an id").to_owned();
    let refused = yard.chock(&["exec", "--session", &id, "--", "true"]).expect(125);
    assert!(refused.err.contains("--org-bundle"), "{}", refused.err);
    let named = yard.path("elsewhere.zon");
    let named = named.to_str().expect("a path");
    yard.chock(&["run", "--continue", "again", "--org-bundle", named]).expect(0);
}

#[test]
fn its_rows_bind_whoever_removes_sessions() {
    let yard = yard();
    yard.chock(&["run", "x"]).expect(0);
    yard.chock(&["run", "y"]).expect(0);
    let id = |place: usize| {
        let log = yard.logs().remove(place);
        log.file_stem().expect("an id").to_str().expect("text").to_owned()
    };
    let row = |action: &str, decision: &str| {
        format!(".rules = .{{ .{{ .action = \"{action}\", .decision = .{decision} }} }}")
    };
    let prune = &["sessions", "prune", "--keep", "0", "--yes"][..];
    // A row about the one says nothing of the other, and one above both binds both.
    for (action, remove_stays, prune_stays) in
        [("session.remove", true, false), ("session.prune", false, true), ("session.*", true, true)]
    {
        bundle(&yard, &row(action, "deny"));
        for (words, stays) in
            [(&["sessions", "remove", &id(0), "--yes"][..], remove_stays), (prune, prune_stays)]
        {
            if stays {
                let ran = yard.chock(words).expect(3);
                let named =
                    format!("org-policy.zon: .{{ .action = \"{action}\", .decision = .deny");
                assert!(ran.err.contains(&named), "{}", ran.err);
                assert!(yard.logs().len() == 2, "{action}");
            }
        }
    }
    // A question is for a person: words that say yes before do not answer it.
    bundle(&yard, &row("session.*", "ask"));
    let ran = yard.chock(&["sessions", "remove", &id(0), "--yes"]).expect(3);
    assert!(ran.err.contains("nobody is there to ask"), "{}", ran.err);
    let path = bundle(&yard, &row("git.push", "deny"));
    yard.chock(&["sessions", "remove", &id(0), "--yes"]).expect(0);
    assert_eq!(yard.logs().len(), 1);

    // What was started under a bundle is not removed without one.
    yard.chock(&["run", "z"]).expect(0);
    std::fs::remove_file(&path).expect("removed");
    stopped(yard.chock(&["sessions", "remove", &id(1), "--yes"]), "--org-bundle");
    let ran = yard.chock(prune).expect(0);
    assert!(ran.err.contains("under an organisation's bundle and stays"), "{}", ran.err);
    assert_eq!(yard.logs().len(), 1);
}

#[test]
fn a_bundle_that_is_older_than_one_seen_before_stops_the_start() {
    let yard = yard();
    let issued = |issuer: &str, issued: &str| {
        bundle(&yard, &format!(".issuer = \"{issuer}\", {issued}.rules = .{{}}"))
    };
    issued("Example Ltd", ".issued_ms = 2000, ");
    let config = yard.chock(&["config"]).expect(0).out;
    let row = config.lines().find(|line| line.starts_with("organisation.issued_ms"));
    assert!(row.is_some_and(|row| row.contains("2000")), "{config}");
    for older in [".issued_ms = 1999, ", ""] {
        issued("Example Ltd", older);
        stopped(yard.chock(&["run", "x"]), "older than one that was in force here");
        let ran = yard.chock(&["exec", "--", "true"]).expect(125);
        assert!(ran.err.contains("and 2000 was seen"), "{}", ran.err);
    }
    issued("Another Ltd", ".issued_ms = 1, ");
    yard.chock(&["run", "x"]).expect(0);
    issued("Example Ltd", ".issued_ms = 2000, ");
    yard.chock(&["config"]).expect(0);
}

#[test]
fn doctor_and_config_show_the_bundle_and_the_sinks_anywhere() {
    let yard = yard();
    std::fs::create_dir(yard.path("sink")).expect("a directory");
    let (there, gone) = (yard.path("sink"), yard.path("gone"));
    bundle(
        &yard,
        &format!(
            ".issuer = \"Example Ltd\", .subject = \"all\", .sinks = .{{ .{{ .kind = .directory, .path = \"{}\" }}, .{{ .kind = .syslog, .path = \"{}\" }} }}",
            there.display(),
            gone.display()
        ),
    );
    let config = yard.chock(&["config"]).expect(0).out;
    for name in ["organisation.issuer", "organisation.subject", "organisation.sinks"] {
        assert!(config.contains(name), "{name}: {config}");
    }
    // Where no project is, too.
    for place in [yard.project(), yard.path("home")] {
        let mut command = yard.command(&["doctor"]);
        let doctor: Ran = command.current_dir(&place).output().expect("the program").into();
        let doctor = doctor.out;
        assert!(doctor.contains("bound by a bundle of 0 rules Example Ltd"), "{doctor}");
        let sink = format!("there     directory {}, required", there.display());
        assert!(doctor.contains(&sink), "{doctor}");
        let sink = format!("missing   syslog {}, required: No such file", gone.display());
        assert!(doctor.contains(&sink), "{doctor}");
    }
}

#[test]
fn its_limits_and_budget_are_the_most() {
    let yard = yard();
    bundle(
        &yard,
        ".limits = .{ .processes = 40, .time_s = 9000 }, .budget = .{ .max_cost = 2.0, .currency = \"USD\" }",
    );
    let config = yard.chock(&["config"]).expect(0).out;
    let row = |name: &str| {
        let row = config.lines().find(|line| line.starts_with(name)).expect("a row");
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(
        row("limits.processes").starts_with("limits.processes 40 org-policy.zon:1:"),
        "{config}"
    );
    assert!(row("limits.time_s").starts_with("limits.time_s 600 s size"), "{config}");
    assert!(row("budget").starts_with("budget 2 USD org-policy.zon:1:"), "{config}");
    for (budget, words) in [
        (
            ".max_cost = 3.0, .currency = \"USD\"",
            "is 3 USD, and the organisation's bundle allows 2 USD",
        ),
        (".max_cost = 1.0, .currency = \"EUR\"", "allows 2 USD"),
        (".max_tokens = 5", "allows 2 USD"),
    ] {
        yard.write("chock.zon", &format!(".{{ .budget = .{{ {budget} }} }}"));
        stopped(yard.chock(&["run", "x"]), words);
    }
    yard.write("chock.zon", ".{ .budget = .{ .max_cost = 1.0, .currency = \"USD\" } }");
    yard.chock(&["run", "x"]).expect(0);
}

#[test]
fn one_that_cannot_be_kept_to_stops_the_start() {
    let yard = yard();
    for (fields, words) in [
        (".rule = .{}", "there is no field `rule`"),
        (".subagents = .{ .max_depth = 1 }", "does not read the field `subagents` yet"),
        (".rules = .{ .{ .action = \"*\", .decision = .deny } }", "bare `*`"),
        (".issuer = 5", "org-policy.zon:1:"),
    ] {
        bundle(&yard, fields);
        stopped(yard.chock(&["run", "x"]), words);
        stopped(yard.chock(&["config"]), words);
    }
    let path = bundle(&yard, "");
    for (text, words) in
        [(".{ .version = 2 }", "reads bundles of version 1"), (".{}", "`.version = 1`")]
    {
        std::fs::write(&path, text).expect("a bundle");
        stopped(yard.chock(&["run", "x"]), words);
    }
    std::fs::remove_file(&path).expect("removed");
    stopped(yard.chock(&["run", "x", "--org-bundle", "nowhere.zon"]), "is required and not there");
    assert_eq!(yard.logs(), Vec::<std::path::PathBuf>::new());

    // One that expired binds, unless it is named anew.
    let path = bundle(&yard, &format!(".expires_ms = 5, {RULES}"));
    let ran = yard.chock(&["run", "x"]).expect(0);
    assert!(ran.err.contains("has expired, and binds all the same"), "{}", ran.err);
    assert_eq!(ended(&yard)[0], "denied");
    stopped(yard.chock(&["run", "x", "--org-bundle", &path]), "has expired");
}

#[test]
fn a_model_that_its_rows_do_not_allow_is_not_asked() {
    let yard = yard();
    bundle(&yard, ".rules = .{ .{ .action = \"provider.script.*\", .decision = .deny } }");
    stopped(
        yard.chock(&["run", "x"]),
        "org-policy.zon does not allow the model scripted of script",
    );
    bundle(&yard, ".rules = .{ .{ .action = \"provider.other\", .decision = .deny } }");
    yard.chock(&["run", "x"]).expect(0);
}

#[test]
fn a_required_signature_is_one_of_the_text_by_the_key() {
    let yard = yard();
    let path = bundle(&yard, RULES);
    let tool = |words: &[&str]| {
        let output = Command::new("minisign").args(words).current_dir(yard.path("")).output();
        let output = output.expect("minisign, which the tests need");
        assert!(output.status.success(), "{words:?}: {output:?}");
    };
    for name in ["good", "other"] {
        let (public, secret) = (format!("{name}.pub"), format!("{name}.key"));
        tool(&["-G", "-W", "-p", &public, "-s", &secret]);
    }
    let public = std::fs::read_to_string(yard.path("good.pub")).expect("a key");
    let public = public.lines().nth(1).expect("the key's line").to_owned();
    let require = |more: &str| {
        yard.config(&format!(
            ".{{ .providers = .{{ .{{ .name = \"script\", .kind = .scripted, .script = \"script.json\" }} }}, .organisation = .{{ .public_key = \"{public}\", {more} }} }}"
        ));
    };
    require("");
    stopped(yard.chock(&["run", "x"]), "must be signed");
    tool(&["-S", "-s", "other.key", "-m", &path]);
    stopped(yard.chock(&["run", "x"]), "is not one of the organisation's bundle");
    tool(&["-S", "-s", "good.key", "-m", &path]);
    yard.chock(&["run", "x"]).expect(0);
    assert_eq!(ended(&yard)[0], "denied");
    let text = std::fs::read_to_string(&path).expect("a bundle");
    std::fs::write(&path, text.replace(".deny", ".allow")).expect("a bundle");
    stopped(yard.chock(&["run", "x"]), "is not one of the organisation's bundle");

    std::fs::remove_file(&path).expect("removed");
    yard.chock(&["run", "x"]).expect(0);
    require(".required = true");
    stopped(yard.chock(&["run", "x"]), "is required and not there");
}
