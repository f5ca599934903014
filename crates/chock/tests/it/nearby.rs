//! A person with nothing configured is told how to sign in, and offered a server that runs here.

#![expect(clippy::print_stdout, reason = "a skipped test says why")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::json;

use crate::fake::fakes;
use crate::screen::Screen;
use crate::yard::{Ran, Yard};

/// Runs the program where nobody listens but a server of models at Ollama's port. Only root
/// makes a network without user namespaces around it.
fn apart(yard: &Yard, words: &[&str]) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root makes a network of its own for the usual ports");
        return None;
    }
    let scenario = yard.path("scenario.json");
    let turns = json!({ "turns": [{ "text": "hello" }], "models": ["small:1b", "large:30b"] });
    fs::write(&scenario, turns.to_string()).expect("a file");
    let script = format!(
        "ip link set lo up; python3 '{}' --port 11434 --no-auth --scenario '{}' > '{ready}' & \
         while ! [ -s '{ready}' ]; do sleep 0.05; done; \"$0\" \"$@\"; code=$?; kill $!; exit $code",
        fakes("provider.py").display(),
        scenario.display(),
        ready = yard.path("ready").display()
    );
    let inner = yard.command(words);
    let mut outer = Command::new("unshare");
    outer.args(["-n", "sh", "-c", &script]).arg(inner.get_program()).args(inner.get_args());
    outer.current_dir(inner.get_current_dir().expect("a directory")).env_clear();
    for (name, value) in inner.get_envs() {
        outer.env(name, value.expect("a value"));
    }
    Some(outer)
}

const ROW: &str =
    ".{ .name = \"ollama\", .kind = \"openai-compat\", .base_url = \"http://127.0.0.1:11434/v1\"";

#[test]
fn a_server_that_runs_here_is_offered_and_nothing_is_written_unasked() {
    let yard = Yard::new();
    let Some(mut command) = apart(&yard, &["run", "hi"]) else { return };
    let ran = Ran::from(command.output().expect("the program")).expect(1);
    for words in ["chock login anthropic", "chock login openai", "chock login aiand"] {
        assert!(ran.err.contains(words), "{}", ran.err);
    }
    assert!(
        ran.err.contains("Where Ollama usually is, port 11434, a server answers"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains(ROW), "{}", ran.err);
    assert!(!ran.err.contains("vLLM"), "{}", ran.err);
    assert!(!yard.path("home/.config/chock/config.zon").exists() && yard.logs().is_empty());
}

#[test]
fn a_row_that_a_person_takes_is_written_and_used() {
    let yard = Yard::new();
    let Some(command) = apart(&yard, &["run", "hi"]) else { return };
    let mut screen = Screen::start_command(&yard, &command, None);
    screen.wait_for("Write it? y = yes, anything else = no: ");
    screen.press("y\r");
    screen.wait_for("it is written");
    screen.wait_for("hello");
    assert_eq!(screen.end().0, Some(0));
    let config = yard.path("home/.config/chock/config.zon");
    assert!(fs::read_to_string(&config).expect("a file").contains(ROW));
    assert_eq!(fs::metadata(&config).expect("a file").permissions().mode() & 0o777, 0o600);
    // The next run has it already.
    let Some(mut command) = apart(&yard, &["run", "hi"]) else { return };
    assert_eq!(Ran::from(command.output().expect("the program")).expect(0).out, "hello\n");
}

#[test]
fn who_has_nothing_and_no_server_is_told_how_to_sign_in() {
    let yard = Yard::new();
    let ran = yard.chock(&["run", "hi"]).expect(1);
    assert!(ran.err.contains("chock login anthropic"), "{}", ran.err);
    assert!(ran.err.contains("no provider is configured"), "{}", ran.err);
}
