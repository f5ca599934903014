//! Bad input: each has one clear error, and nothing is lost or left.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use serde_json::json;

use crate::fake::Fake;
use crate::yard::{Ran, Yard};

/// Configures a scripted model that says one word.
pub(crate) fn scripted(yard: &Yard, turns: &serde_json::Value) {
    let script = yard.path("home/.config/chock/script.json");
    fs::write(&script, turns.to_string()).expect("a script");
    yard.config(
        ".{ .providers = .{ .{ .name = \"script\", .kind = .scripted, .script = \"script.json\" } } }",
    );
}

pub(crate) fn simple(yard: &Yard) {
    scripted(yard, &json!({ "turns": [{ "text": "done" }, { "text": "done again" }] }));
}

/// Asserts an error of one line with these words, the code of "could not start", and no session.
#[track_caller]
fn check(yard: &Yard, ran: Ran, words: &[&str]) {
    let ran = ran.expect(1);
    let errors = ran.err.lines().filter(|line| line.starts_with("error:")).count();
    assert_eq!(errors, 1, "{}", ran.err);
    for word in words {
        assert!(ran.err.contains(word), "{word:?} is not in: {}", ran.err);
    }
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    assert_eq!(yard.logs(), Vec::<std::path::PathBuf>::new(), "a session was left");
}

#[test]
fn a_mistyped_command_names_the_nearest_and_spends_nothing() {
    let yard = Yard::new();
    let fake = Fake::play("01-edit-and-test.json", &yard.path("."));
    yard.configure(fake.port);
    check(&yard, yard.chock(&["rnu", "fix it"]), &["`rnu`", "chock run"]);
    check(&yard, yard.chock(&["run", "--modle", "x", "y"]), &["--modle"]);
    assert_eq!(fake.requests().len(), 0);
}

#[test]
fn a_message_must_be_there_and_be_text() {
    let yard = Yard::new();
    simple(&yard);
    check(&yard, yard.chock(&["run", ""]), &["message", "empty"]);
    check(&yard, yard.chock(&["run", "  \n "]), &["message", "empty"]);
    let mut command = yard.command(&["run"]);
    command.arg(OsStr::from_bytes(b"fix \xff this"));
    check(&yard, command.output().expect("the program").into(), &["UTF-8"]);
    check(&yard, yard.chock(&["run", "--continue", "x"]), &["no session"]);
    check(
        &yard,
        yard.chock(&["run", "--session", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "x"]),
        &["no session"],
    );
}

#[test]
fn a_message_comes_from_a_pipe_too() {
    use std::io::Write;
    let yard = Yard::new();
    simple(&yard);
    let mut command = yard.command(&["run"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().expect("the program");
    child.stdin.take().expect("a pipe").write_all("fix — it\n".as_bytes()).expect("a write");
    let ran = Ran::from(child.wait_with_output().expect("an end")).expect(0);
    assert_eq!(ran.out.trim(), "done");
    assert_eq!(yard.records()[3]["body"]["text"], "fix — it");
}

#[test]
fn what_is_no_project_is_refused_by_name() {
    let yard = Yard::bare();
    simple(&yard);
    check(&yard, yard.chock(&["run", "--project", "/", "x"]), &["/"]);
    check(&yard, yard.chock(&["run", "--project", "/no/such/place", "x"]), &["/no/such/place"]);
    for place in ["/etc", "/usr", "/proc/self", "/dev", "/sys"] {
        check(&yard, yard.chock(&["run", "--project", place, "x"]), &["cannot be a project"]);
    }
    for place in ["home", "home/.config/chock", "."] {
        let ran = yard.chock(&["run", "--project", yard.path(place).to_str().expect("text"), "x"]);
        check(&yard, ran, &["cannot be a project", "home"]);
    }
    for place in ["home", "home/.config/chock"] {
        let path = yard.path(place);
        let init = Command::new("git").args(["init", "-q"]).arg(&path).status().expect("git");
        assert!(init.success());
        let ran = yard.chock(&["run", "--project", path.to_str().expect("text"), "x"]);
        check(&yard, ran, &["home"]);
    }
}

#[test]
fn without_git_or_a_home_the_cure_is_named() {
    let yard = Yard::new();
    simple(&yard);
    let mut command = yard.command(&["run", "x"]);
    command.env("PATH", "/nonexistent");
    check(&yard, command.output().expect("the program").into(), &["git"]);
    let mut command = yard.command(&["run", "x"]);
    command.env_remove("HOME");
    check(&yard, command.output().expect("the program").into(), &["HOME"]);
    let mut command = yard.command(&["run", "x"]);
    command.env("XDG_STATE_HOME", "/dev/null/state");
    check(&yard, command.output().expect("the program").into(), &["/dev/null/state"]);
}

#[test]
fn odd_project_paths_work() {
    let names: [&[u8]; 5] =
        [b"with space", b"it's \"quoted\"", b"new\nline", b"\xff\xfe", b"-dash"];
    for name in names {
        let yard = Yard::new();
        simple(&yard);
        let place = yard.path(".").join(OsStr::from_bytes(name));
        fs::rename(yard.project(), &place).expect("a rename");
        let mut command = yard.command(&["run", "x"]);
        command.current_dir(&place);
        Ran::from(command.output().expect("the program")).expect(0);
        let link = yard.path("link");
        std::os::unix::fs::symlink(&place, &link).expect("a link");
        let mut command = yard.command(&["run", "--continue", "x"]);
        command.current_dir(&link);
        Ran::from(command.output().expect("the program")).expect(0);
    }
}

#[test]
fn a_wrong_chock_zon_is_shown_with_its_line() {
    let yard = Yard::new();
    simple(&yard);
    let cases: [(&[u8], &[&str]); 5] = [
        (b".{\n    .polcy = .{},\n}\n", &["chock.zon:2:6", ".polcy = .{}", "policy"]),
        (b".{ .policy = ", &["chock.zon:1"]),
        (b".{ .mcp = .{} }", &["mcp"]),
        (b"\xff", &["chock.zon", "UTF-8"]),
        (
            b".{ .policy = .{ .rules = .{ .{ .action = \"*\", .decision = .deny } } } }",
            &["chock.zon:1"],
        ),
    ];
    for (text, words) in cases {
        fs::write(yard.project().join("chock.zon"), text).expect("a file");
        check(&yard, yard.chock(&["run", "x"]), words);
    }
    fs::remove_file(yard.project().join("chock.zon")).expect("a removal");
    fs::create_dir(yard.project().join("chock.zon")).expect("a directory");
    check(&yard, yard.chock(&["run", "x"]), &["chock.zon"]);
}

#[test]
fn what_widens_does_not_count_until_it_is_accepted() {
    let yard = Yard::new();
    simple(&yard);
    yard.write(
        "chock.zon",
        ".{ .policy = .{ .rules = .{ .{ .action = \"git.push\", .decision = .allow } } } }",
    );
    let ran = yard.chock(&["run", "x"]).expect(0);
    assert!(ran.err.contains("git.push") && ran.err.contains("--accept-project"), "{}", ran.err);
    let digest = ran.err.split("--accept-project ").nth(1).expect("a digest");
    let digest = digest.split_whitespace().next().expect("a digest").to_owned();
    let wrong = yard.chock(&["run", "--accept-project", &"0".repeat(64), "x"]).expect(1);
    assert!(wrong.err.contains("digest"), "{}", wrong.err);
    yard.chock(&["run", "--accept-project", &digest, "x"]).expect(0);
    // It is kept for this digest and this directory.
    let ran = yard.chock(&["run", "x"]).expect(0);
    assert!(!ran.err.contains("--accept-project"), "{}", ran.err);
    yard.write(
        "chock.zon",
        ".{ .policy = .{ .rules = .{ .{ .action = \"git.fetch\", .decision = .allow } } } }",
    );
    let ran = yard.chock(&["run", "x"]).expect(0);
    assert!(ran.err.contains("git.fetch") && ran.err.contains("--accept-project"), "{}", ran.err);
}

#[test]
fn unknown_names_are_answered_with_the_nearest() {
    let yard = Yard::new();
    simple(&yard);
    check(&yard, yard.chock(&["run", "--provider", "scrpt", "x"]), &["scrpt", "script"]);
    yard.config(".{}");
    check(&yard, yard.chock(&["run", "x"]), &["provider", "config.zon"]);
    yard.config(".{ .provders = .{} }");
    check(&yard, yard.chock(&["run", "x"]), &["config.zon:1:5", "providers"]);
}

#[test]
fn a_repository_that_cannot_be_read_is_refused_by_name_and_the_others_work() {
    for (option, word) in
        [("--object-format=sha256", Some("SHA-256")), ("--ref-format=reftable", None)]
    {
        let yard = Yard::bare();
        simple(&yard);
        yard.write("a.txt", "a\n");
        yard.git(&["init", "-q", option]);
        yard.git(&["add", "-A"]);
        yard.git(&["commit", "-q", "-m", "start"]);
        match word {
            Some(word) => check(&yard, yard.chock(&["run", "x"]), &[word]),
            None => {
                yard.chock(&["run", "x"]).expect(0);
            }
        }
    }
}

#[test]
fn an_empty_repository_works() {
    let yard = Yard::bare();
    simple(&yard);
    yard.git(&["init", "-q"]);
    yard.chock(&["run", "x"]).expect(0);
    let ran = yard.chock(&["diff"]).expect(0);
    assert!(ran.out.is_empty(), "{}", ran.out);
}

#[test]
fn an_endpoint_that_is_wrong_is_named_and_the_session_can_go_on() {
    let yard = Yard::new();
    let down = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = down.local_addr().expect("an address").port();
    drop(down);
    yard.config(&format!(
        ".{{ .providers = .{{ .{{ .name = \"down\", .kind = .@\"openai-compat\", .base_url = \"http://127.0.0.1:{port}/v1\", .model = \"m\" }} }} }}"
    ));
    let turns = json!({ "turns": [{ "text": "fine" }] });
    let fake = Fake::script(&turns, &yard.path("."));
    let ran = yard.chock(&["run", "hello"]).expect(2);
    assert!(ran.err.contains(&port.to_string()), "{}", ran.err);
    yard.configure(fake.port);
    let ran = yard.chock(&["run", "--continue"]).expect(0);
    assert_eq!(ran.out.trim(), "fine");
    fake.expect_finished();
}

#[test]
fn a_wrong_key_and_a_wrong_model_are_named() {
    for (kind, words) in [("auth", ["key", "fake"]), ("model_not_found", ["model", "fake-1"])] {
        let yard = Yard::new();
        let turns = json!({ "turns": [{ "fault": { "kind": kind } }] });
        let fake = Fake::script(&turns, &yard.path("."));
        yard.configure(fake.port);
        let ran = yard.chock(&["run", "hello"]).expect(2);
        for word in words {
            assert!(ran.err.to_lowercase().contains(word), "{word}: {}", ran.err);
        }
    }
}
