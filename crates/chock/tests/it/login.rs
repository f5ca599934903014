//! Keys: asked for unseen, tried, stored for their person alone, used, and forgotten.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;

use crate::fake::Fake;
use crate::screen::Screen;
use crate::yard::{Ran, Yard};

/// The one key that the provider takes.
const KEY: &str = "correct-horse-battery";

/// A yard whose provider takes one key, which nothing names.
fn guarded(kind: &str) -> (Yard, Fake) {
    let yard = Yard::new();
    let scenario = yard.path("scenario.json");
    fs::write(&scenario, json!({ "turns": [{ "text": "hello" }] }).to_string()).expect("a file");
    let fake = Fake::start(&scenario, &yard.path(""), &["--key", KEY]);
    configure(&yard, kind, fake.port, "");
    (yard, fake)
}

fn configure(yard: &Yard, kind: &str, port: u16, more: &str) {
    yard.config(&format!(
        ".{{ .providers = .{{ .{{ .name = \"guarded\", .kind = \"{kind}\", .base_url = \"http://127.0.0.1:{port}/v1\", .model = \"fake-1\"{more} }} }} }}"
    ));
}

fn stored(yard: &Yard) -> PathBuf {
    yard.path("home/.local/share/chock/credentials/guarded.json")
}

/// Runs the program with something on its standard input.
fn with_input(yard: &Yard, words: &[&str], input: &str) -> Ran {
    let mut command = yard.command(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("input");
    child.wait_with_output().expect("an end").into()
}

/// Names the files below `directory` that hold `text`.
fn holders(directory: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
        if kind.is_dir() {
            found.extend(holders(&path, text));
        } else if kind.is_file() {
            let bytes = fs::read(&path).expect("a file");
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn a_key_is_asked_for_unseen_tried_and_used() {
    for kind in ["openai-compat", "anthropic"] {
        let (yard, fake) = guarded(kind);
        let mut screen = Screen::start(&yard, &["login"]);
        screen.wait_for("Key for guarded (it is not shown): ");
        screen.press("wrong-horse\r");
        let (code, seen) = screen.end();
        assert_eq!(code, Some(1), "{seen}");
        assert!(seen.contains("nothing was stored") && seen.contains("refuses"), "{seen}");
        assert!(!seen.contains("wrong-horse") && !stored(&yard).exists(), "{seen}");

        let mut screen = Screen::start(&yard, &["login", "guarded"]);
        let before = screen.modes();
        screen.wait_for("(it is not shown): ");
        screen.wait_for_keys(true);
        screen.press(&format!("{KEY}x\x7f\r"));
        screen.wait_for("the key for `guarded` works (2 models) and is stored");
        let after = screen.modes();
        let (code, seen) = screen.end();
        assert_eq!((code, before), (Some(0), after), "{seen}");
        assert!(!seen.contains(KEY), "{seen}");
        let mode = fs::metadata(stored(&yard)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        let ran = yard.chock(&["run", "hi"]).expect(0);
        assert_eq!(ran.out, "hello\n");
        let everything = format!("{}{}", ran.out, ran.err);
        assert!(!everything.contains(KEY), "{everything}");
        assert_eq!(holders(&yard.path("home"), KEY), [stored(&yard)]);
        fake.expect_tried_and_finished();

        let err = yard.chock(&["logout"]).expect(0).err;
        assert!(err.contains("it is forgotten") && !stored(&yard).exists(), "{err}");
        yard.chock(&["run", "hi"]).expect(2);
    }
}

impl Fake {
    /// Asserts that every turn was used, and that what was refused was a wrong key.
    fn expect_tried_and_finished(&self) {
        let state = self.state();
        assert_eq!(state["finished"], true, "{state}");
        let problems = state["problems"].as_array().expect("a list");
        assert!(problems.iter().all(|problem| problem["status"] == 401), "{state}");
    }
}

#[test]
fn ctrl_c_at_the_question_stores_nothing_and_gives_the_terminal_back() {
    let (yard, _fake) = guarded("openai-compat");
    let mut screen = Screen::start(&yard, &["login"]);
    let before = screen.modes();
    screen.wait_for("(it is not shown): ");
    screen.wait_for_keys(true);
    screen.press("half\x03");
    screen.wait_for("nothing was stored");
    assert_eq!(screen.modes(), before);
    assert_eq!(screen.end().0, Some(3));
    assert!(!stored(&yard).exists());
}

#[test]
fn a_key_comes_from_input_or_from_a_private_file() {
    let (yard, _fake) = guarded("openai-compat");
    let ran = with_input(&yard, &["login", "--password-method", "stdin"], &format!("{KEY}\n"));
    ran.expect(0);
    assert!(stored(&yard).exists());
    yard.chock(&["logout", "guarded"]).expect(0);

    let file = yard.path("key");
    fs::write(&file, format!("{KEY}\n")).expect("a file");
    let method = format!("--password-method=file={}", file.display());
    fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("a mode");
    let err = yard.chock(&["login", &method]).expect(1).err;
    assert!(err.contains("chmod 600") && !stored(&yard).exists(), "{err}");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("a mode");
    yard.chock(&["login", &method]).expect(0);
    assert!(stored(&yard).exists());

    for input in ["", "two words\n", "wrong-horse\n"] {
        let err = with_input(&yard, &["login", "--password-method=stdin"], input).expect(1).err;
        assert!(!err.contains("words") && !err.contains("horse"), "{err}");
    }
    let err = yard.chock(&["login"]).expect(1).err;
    assert!(err.contains("--password-method stdin"), "{err}");
}

#[test]
fn a_key_is_no_argument_and_is_not_repeated() {
    let (yard, fake) = guarded("openai-compat");
    let given = format!("--token={KEY}");
    let cases: [&[&str]; 8] = [
        &["login", "guarded", KEY],
        &["login", KEY],
        &["login", &given],
        &["login", "guarded", "--api-key", KEY],
        &["login", "-p", KEY],
        &["login", "--password-method", KEY],
        &["login", "--unheard-of", KEY],
        &["--verbose", "login", "guarded", KEY],
    ];
    for words in cases {
        let ran = yard.chock(words).expect(1);
        assert!(!ran.err.contains("horse") && ran.out.is_empty(), "{words:?}: {}", ran.err);
    }
    assert!(!stored(&yard).exists() && fake.requests().is_empty());
    assert!(holders(&yard.path("home"), KEY).is_empty());
}

#[test]
fn a_token_of_the_row_comes_before_what_is_stored() {
    let (yard, fake) = guarded("openai-compat");
    with_input(&yard, &["login", "--password-method=stdin"], KEY).expect(0);
    configure(&yard, "openai-compat", fake.port, ", .token = \"another-horse\"");
    let ran = with_input(&yard, &["login", "--password-method=stdin"], KEY).expect(0);
    assert!(ran.err.contains("another token for `guarded` comes first"), "{}", ran.err);
    let ran = yard.chock(&["run", "hi"]).expect(2);
    assert!(ran.err.contains("refuses the credential"), "{}", ran.err);
}

#[test]
fn a_stored_key_that_others_may_read_is_refused() {
    let (yard, _fake) = guarded("openai-compat");
    with_input(&yard, &["login", "--password-method=stdin"], KEY).expect(0);
    fs::set_permissions(stored(&yard), Permissions::from_mode(0o644)).expect("a mode");
    let err = yard.chock(&["run", "hi"]).expect(1).err;
    assert!(err.contains("chmod 600") && !err.contains(KEY), "{err}");
}

#[test]
fn two_logins_at_once_leave_one_whole_key() {
    let (yard, _fake) = guarded("openai-compat");
    let start = || {
        let mut command = yard.command(&["login", "--password-method=stdin"]);
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program");
        child.stdin.take().expect("a pipe").write_all(KEY.as_bytes()).expect("input");
        child
    };
    for child in [start(), start(), start()] {
        Ran::from(child.wait_with_output().expect("an end")).expect(0);
    }
    yard.chock(&["run", "hi"]).expect(0);
    let names = fs::read_dir(stored(&yard).parent().expect("a directory")).expect("a listing");
    let mut names: Vec<_> = names.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    assert_eq!(names, ["guarded.json", "guarded.lock"]);
}

#[test]
fn who_has_no_credential_is_told_how_to_sign_in() {
    let yard = Yard::new();
    yard.config(
        ".{ .providers = .{ .{ .name = \"far\", .kind = \"anthropic\", .model = \"m\" } } }",
    );
    let err = yard.chock(&["run", "hi"]).expect(1).err;
    assert!(err.contains("chock login far"), "{err}");
    assert!(yard.logs().is_empty());
}
