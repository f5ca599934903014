//! Accounts: signed in with a browser or a device, used, renewed, refused and forgotten.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fake::Fake;
use crate::kill::until;
use crate::screen::Screen;
use crate::yard::{Ran, Yard};

/// Two ports that nobody listened at a moment ago.
fn free_ports() -> [u16; 2] {
    let listen = || TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let both = [listen(), listen()];
    both.map(|listener| listener.local_addr().expect("an address").port())
}

/// A yard with the issuer of accounts, and its back end with `replies` to give.
fn yard(options: &[&str], replies: usize) -> (Yard, Fake) {
    let yard = Yard::new();
    let scenario = yard.path("scenario.json");
    let turns = vec![json!({ "text": "hello" }); replies];
    fs::write(&scenario, json!({ "turns": turns }).to_string()).expect("a file");
    let options = [&["--any-redirect-port"], options].concat();
    let fake = Fake::start(&scenario, &yard.path(""), &options);
    configure(&yard, fake.port, free_ports());
    (yard, fake)
}

fn configure(yard: &Yard, port: u16, callback: [u16; 2]) {
    let [first, second] = callback;
    yard.config(&format!(
        ".{{ .providers = .{{ .{{ .name = \"chatgpt\", .kind = \"openai\", .model = \"fake-model\", .base_url = \"http://127.0.0.1:{port}/backend-api/codex\", .account = .{{ .issuer = \"http://127.0.0.1:{port}\", .redirect_ports = .{{ {first}, {second} }} }} }} }} }}"
    ));
}

fn file(yard: &Yard) -> PathBuf {
    yard.path("home/.local/share/chock/credentials/chatgpt.json")
}

fn stored(yard: &Yard) -> Value {
    serde_json::from_slice(&fs::read(file(yard)).expect("a file")).expect("JSON")
}

/// Changes what is stored, as time or another machine would.
fn change(yard: &Yard, field: &str, value: Value) {
    let mut row = stored(yard);
    row[field] = value;
    fs::write(file(yard), row.to_string()).expect("a file");
}

/// How many requests of a path had a text in their body.
fn count(fake: &Fake, path: &str, text: &str) -> usize {
    let requests = fake.requests().into_iter();
    requests
        .filter(|request| request["path"] == path && request["body"].to_string().contains(text))
        .count()
}

/// Plays the browser: fetches an address, and says the status and where it leads.
fn get(url: &str) -> (u16, Option<String>) {
    let rest = url.strip_prefix("http://").expect("plain HTTP");
    let (host, path) = rest.split_at(rest.find('/').expect("a path"));
    let mut stream = TcpStream::connect(host.replace("localhost", "127.0.0.1")).expect("a server");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
        .expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let place = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location").then(|| value.to_owned())
    });
    (status, place)
}

/// A sign-in that waits, with the address that it printed.
struct Waiting {
    child: Child,
    url: String,
    said: BufReader<std::process::ChildStderr>,
}

impl Waiting {
    fn start(yard: &Yard, words: &[&str]) -> Self {
        let mut command = yard.command(words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut url = String::new();
        while !url.trim().starts_with("http") {
            url.clear();
            assert_ne!(said.read_line(&mut url).expect("a line"), 0, "no address came");
        }
        Self { child, url: url.trim().to_owned(), said }
    }

    /// Goes where the issuer sends the browser.
    fn follow(&self) -> u16 {
        let (status, place) = get(&self.url);
        assert_eq!(status, 302);
        get(&place.expect("a place")).0
    }

    fn end(mut self) -> Ran {
        let mut err = String::new();
        self.said.read_to_string(&mut err).expect("text");
        let output = self.child.wait_with_output().expect("an end");
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        Ran { code: output.status.code(), out, err }
    }
}

/// Signs in with a device that need not wait.
fn signed_in(options: &[&str], replies: usize) -> (Yard, Fake) {
    let (yard, fake) = yard(&[&["--device-polls", "0"], options].concat(), replies);
    yard.chock(&["login", "--device"]).expect(0);
    (yard, fake)
}

/// Asserts that no token is anywhere but in the store and on the wire.
fn expect_hidden(yard: &Yard, ran: &Ran) {
    let row = stored(yard);
    let logs: String =
        yard.logs().iter().map(|log| fs::read_to_string(log).expect("a log")).collect();
    for name in ["access", "refresh"] {
        let token = row[name].as_str().expect("a token");
        let shown = [&ran.out, &ran.err, &logs].into_iter().any(|text| text.contains(token));
        assert!(!shown, "{name} was shown: {}{}", ran.out, ran.err);
    }
}

#[test]
fn an_account_signs_in_with_a_browser_and_is_used() {
    let (yard, fake) = yard(&[], 1);
    let waiting = Waiting::start(&yard, &["login"]);
    assert_eq!(waiting.follow(), 200);
    let ran = waiting.end().expect(0);
    assert!(ran.err.contains("signed in as fake@example.com (plus)"), "{}", ran.err);
    expect_hidden(&yard, &ran);
    let mode = fs::metadata(file(&yard)).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let ran = yard.chock(&["run", "hi"]).expect(0);
    assert_eq!(ran.out, "hello\n");
    expect_hidden(&yard, &ran);
    let requests = fake.requests();
    let request = requests.iter().find(|one| one["path"] == "/backend-api/codex/responses");
    let headers = &request.expect("a request")["headers"];
    assert_eq!(headers["chatgpt-account-id"], stored(&yard)["id"], "{headers}");
    assert_eq!(headers["originator"], "chock", "{headers}");
    fake.expect_finished();
}

#[test]
fn the_browser_is_opened_where_there_is_a_display() {
    let (yard, fake) = yard(&[], 0);
    let script =
        "#!/usr/bin/env python3\nimport sys, urllib.request\nurllib.request.urlopen(sys.argv[1])\n";
    let ran = Ran::from(with_opener(&yard, script).output().expect("an end"));
    let ran = ran.expect(0);
    assert!(ran.err.contains("a browser opens; if it does not, open:\n  http://"), "{}", ran.err);
    fake.expect_finished();
}

#[test]
fn an_account_signs_in_with_a_code_typed_elsewhere() {
    let (yard, fake) = yard(&["--device-polls", "1"], 1);
    let ran = yard.chock(&["login", "chatgpt", "--device"]).expect(0);
    assert!(ran.err.contains("/codex/device anywhere, and type:"), "{}", ran.err);
    assert!(ran.err.contains("signed in as fake@example.com (plus)"), "{}", ran.err);
    expect_hidden(&yard, &ran);
    assert_eq!(yard.chock(&["run", "hi"]).expect(0).out, "hello\n");
    // The one refusal is the poll that came before the person had typed the code.
    let problems = fake.state()["problems"].as_array().expect("a list").len();
    assert_eq!(problems, 1, "{}", fake.state());
}

#[test]
fn an_address_that_could_not_come_back_is_pasted() {
    let (yard, _fake) = yard(&[], 0);
    let kept = yard.path("url");
    let opener = format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", kept.display());
    let command = with_opener(&yard, &opener);
    let mut screen = Screen::start_command(&yard, &command, None);
    screen.wait_for("paste the address");
    screen.press("http://localhost:1/auth/callback?code=c&state=s\r");
    screen.wait_for("belongs to another sign-in");
    let url = || fs::read_to_string(&kept).unwrap_or_default();
    until("the browser is asked", || url().contains("originator="));
    let place = get(&url()).1.expect("a place");
    screen.press(&format!("{place}\r"));
    screen.wait_for("signed in as fake@example.com (plus)");
    assert_eq!(screen.end().0, Some(0));
    assert!(file(&yard).exists());
}

/// Prepares `chock login` where a display is, and a program that opens addresses.
fn with_opener(yard: &Yard, script: &str) -> Command {
    let programs = yard.path("bin");
    fs::create_dir_all(&programs).expect("a directory");
    let opener = programs.join("xdg-open");
    fs::write(&opener, script).expect("a program");
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).expect("a mode");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").expect("a path"));
    let mut command = yard.command(&["login"]);
    command.env("PATH", path).env("DISPLAY", ":9");
    command
}

#[test]
fn a_sign_in_that_is_refused_or_late_stores_nothing() {
    let (refusing, _fake) = yard(&["--deny", "--device-polls", "0"], 0);
    let waiting = Waiting::start(&refusing, &["login"]);
    assert_eq!(waiting.follow(), 200);
    let ran = waiting.end().expect(3);
    assert!(
        ran.err.contains("the sign-in was refused: The user denied the request"),
        "{}",
        ran.err
    );
    let ran = refusing.chock(&["login", "--device"]).expect(3);
    assert!(ran.err.contains("the sign-in was refused"), "{}", ran.err);
    let (late, _fake) = yard(&["--device-ttl", "0"], 0);
    let ran = late.chock(&["login", "--device"]).expect(3);
    assert!(ran.err.contains("nobody signed in within 15 minutes"), "{}", ran.err);
    assert!(!file(&refusing).exists() && !file(&late).exists());
    let ran = late.chock(&["run", "hi"]).expect(1);
    assert!(ran.err.contains("chock login chatgpt"), "{}", ran.err);
}

#[test]
fn ports_that_are_all_in_use_are_named() {
    let (yard, fake) = yard(&[], 0);
    let taken = [0, 0].map(|_| TcpListener::bind(("127.0.0.1", 0)).expect("a port"));
    let [first, second] = [&taken[0], &taken[1]].map(|one| one.local_addr().expect("one").port());
    configure(&yard, fake.port, [first, second]);
    let err = yard.chock(&["login"]).expect(1).err;
    let words = format!("the ports {first} and {second} are in use");
    assert!(err.contains(&words) && err.contains("--device"), "{err}");
}

#[test]
fn tokens_that_ended_are_renewed_once_for_five_runs_at_once() {
    let (yard, fake) = signed_in(&[], 5);
    let before = stored(&yard);
    change(&yard, "expires", json!(0));
    thread::scope(|scope| {
        let runs: Vec<_> = (0..5).map(|_| scope.spawn(|| yard.chock(&["run", "hi"]))).collect();
        for run in runs {
            let ran = run.join().expect("a run").expect(0);
            assert_eq!(ran.out, "hello\n");
            expect_hidden(&yard, &ran);
        }
    });
    assert_ne!(stored(&yard)["access"], before["access"]);
    assert_eq!(count(&fake, "/oauth/token", "refresh_token"), 1);
    fake.expect_finished();
}

#[test]
fn tokens_that_the_server_refuses_are_renewed_and_the_request_is_sent_again() {
    let (yard, fake) = signed_in(&[], 1);
    // Where the row leaves something out, the list of models would have them renewed.
    let path = yard.path("home/.config/chock/config.zon");
    let text = fs::read_to_string(&path).expect("a file");
    let price = ".price = .{ .currency = \"USD\", .input = 0, .output = 0 }";
    let whole = format!(".kind = \"openai\", .context_tokens = 272_000, {price},");
    yard.config(&text.replace(".kind = \"openai\",", &whole));
    let before = stored(&yard);
    // Somebody ended it elsewhere; here it lasts.
    fake.revoke(before["access"].as_str().expect("a token"));
    let ran = yard.chock(&["run", "hi"]).expect(0);
    assert_eq!(ran.out, "hello\n");
    expect_hidden(&yard, &ran);
    assert_eq!(count(&fake, "/oauth/token", "refresh_token"), 1);
    assert_eq!(count(&fake, "/backend-api/codex/responses", "hi"), 2);
    assert_ne!(stored(&yard)["access"], before["access"]);
}

#[test]
fn a_sign_in_that_has_ended_is_told_before_anything_starts() {
    let (yard, _fake) = signed_in(&[], 1);
    let first = stored(&yard)["refresh"].clone();
    change(&yard, "expires", json!(0));
    yard.chock(&["run", "hi"]).expect(0);
    // A copy of the store on another machine has spent it.
    change(&yard, "refresh", first);
    change(&yard, "expires", json!(0));
    let logs = yard.logs().len();
    let ran = yard.chock(&["run", "hi"]).expect(1);
    assert!(ran.err.contains("already been used"), "{}", ran.err);
    assert!(ran.err.contains("run `chock login chatgpt`"), "{}", ran.err);
    assert_eq!(yard.logs().len(), logs);
    expect_hidden(&yard, &ran);
}

#[test]
fn logging_out_revokes_and_forgets() {
    let (yard, fake) = signed_in(&[], 0);
    let row = fs::read(file(&yard)).expect("a file");
    let ran = yard.chock(&["logout"]).expect(0);
    assert!(ran.err.contains("it is forgotten") && !file(&yard).exists(), "{}", ran.err);
    assert_eq!(count(&fake, "/oauth/revoke", "refresh_token"), 1);
    let ran = yard.chock(&["run", "hi"]).expect(1);
    assert!(ran.err.contains("chock login chatgpt"), "{}", ran.err);
    // A copy that was kept is worth nothing.
    fs::write(file(&yard), row).expect("a file");
    fs::set_permissions(file(&yard), fs::Permissions::from_mode(0o600)).expect("a mode");
    change(&yard, "expires", json!(0));
    let ran = yard.chock(&["run", "hi"]).expect(1);
    assert!(ran.err.contains("the sign-in has ended"), "{}", ran.err);
    let ran = yard.chock(&["logout"]).expect(0);
    assert!(!file(&yard).exists(), "{}", ran.err);
    drop(fake);
    let ran = yard.chock(&["logout"]).expect(0);
    assert!(ran.err.contains("nothing is stored"), "{}", ran.err);
}

#[test]
fn an_issuer_that_is_gone_does_not_keep_an_account() {
    let (yard, fake) = signed_in(&[], 0);
    drop(fake);
    let ran = yard.chock(&["logout", "chatgpt"]).expect(0);
    assert!(ran.err.contains("it could not be revoked"), "{}", ran.err);
    assert!(!file(&yard).exists());
}
