//! Seals, against the real `ssh-keygen` and a real ssh agent.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::input::simple;
use crate::yard::{Ran, Yard};

/// An ssh agent in the foreground. It ends with the value.
struct Agent {
    child: Child,
    socket: PathBuf,
}

impl Agent {
    /// Starts an agent that holds one new key of a kind.
    fn with_key(yard: &Yard, kind: &[&str]) -> Self {
        let socket = yard.path("agent.sock");
        let mut child = Command::new("ssh-agent")
            .args(["-D", "-a"])
            .arg(&socket)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("ssh-agent: install openssh-client");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let agent = Self { child, socket };
        let key = yard.path("agent-key");
        let key = key.to_str().expect("a path");
        let made = tool("ssh-keygen")
            .args(["-q", "-N", "", "-C", "me at work", "-f", key])
            .args(kind)
            .status();
        assert!(made.expect("ssh-keygen: install openssh-client").success());
        let added = tool("ssh-add").args(["-q", key]).env("SSH_AUTH_SOCK", &agent.socket).status();
        assert!(added.expect("ssh-add").success());
        // The private half is the agent's alone.
        fs::remove_file(key).expect("a file");
        agent
    }

    fn chock(&self, yard: &Yard, words: &[&str]) -> Ran {
        let mut command = yard.command(words);
        command.env("SSH_AUTH_SOCK", &self.socket).output().expect("the program").into()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tool(name: &str) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Makes a session with a word said in it.
fn session() -> (Yard, PathBuf, String) {
    let yard = Yard::new();
    simple(&yard);
    yard.chock(&["run", "hello"]).expect(0);
    let log = yard.logs().pop().expect("a session");
    let id = log.file_stem().expect("a name").to_string_lossy().into_owned();
    (yard, log, id)
}

fn seal_of(log: &Path) -> PathBuf {
    PathBuf::from(format!("{}.seal", log.display()))
}

fn own_signers(yard: &Yard) -> PathBuf {
    yard.path("home/.local/share/chock/allowed_signers")
}

/// Has OpenSSH say whether a statement is what was sealed.
fn openssh_accepts(yard: &Yard, seal: &Path, statement: &str) -> bool {
    let file = yard.path("statement");
    fs::write(&file, statement).expect("a file");
    let mut command = tool("ssh-keygen");
    command.args(["-Y", "verify", "-I", "chock", "-n", "chock-seal-v1", "-f"]);
    command.arg(own_signers(yard)).arg("-s").arg(seal);
    let ended = command.stdin(fs::File::open(&file).expect("a file")).status();
    ended.expect("ssh-keygen").success()
}

fn statement(seal: &Path) -> String {
    let text = fs::read_to_string(seal).expect("a seal");
    text.split_once("-----END SSH SIGNATURE-----\n").expect("an armour").1.to_owned()
}

fn verified(yard: &Yard, code: i32) -> Value {
    let ran = yard.chock(&["sessions", "verify", "--json"]).expect(code);
    serde_json::from_str(ran.out.trim()).expect("one object")
}

/// Seals with whatever is there, and has OpenSSH and Chock agree on the result.
#[track_caller]
fn check(yard: &Yard, log: &Path, kind: &str) {
    let seal = seal_of(log);
    let said = statement(&seal);
    assert!(said.contains(&format!("\nkey {kind}\n")), "{said}");
    let text = fs::read(log).expect("a log");
    let last = text.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().expect("a line");
    let head: String = Sha256::digest(last).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(said.contains(&format!("\nhead {head}\n")), "{said}");
    assert!(openssh_accepts(yard, &seal, &said), "ssh-keygen refuses the seal");
    let other = said.replace(&head, &"0".repeat(64));
    assert!(!openssh_accepts(yard, &seal, &other), "ssh-keygen accepts another head");
    let row = verified(yard, 0);
    assert_eq!(row["seal"]["state"], "good", "{row}");
    assert_eq!(row["seal"]["by"], "chock", "{row}");
    assert_eq!(row["seal"]["kind"], kind, "{row}");
}

#[test]
fn openssh_accepts_a_seal_of_the_installation_s_key_and_the_key_is_private() {
    let (yard, log, id) = session();
    let ran = yard.chock(&["sessions", "seal", &id]).expect(0);
    assert!(ran.out.contains("the installation's key"), "{}", ran.out);
    check(&yard, &log, "installation");
    let key = yard.path("home/.local/share/chock/seal.key");
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(&key), 0o600);
    assert_eq!(mode(key.parent().expect("a directory")), 0o700);
    assert_eq!(mode(&seal_of(&log)), 0o600);
    let again = fs::read(&key).expect("a key");
    yard.chock(&["sessions", "seal", &id]).expect(0);
    assert_eq!(fs::read(&key).expect("a key"), again, "the key is made once");
}

#[test]
fn openssh_accepts_a_seal_of_every_kind_of_key_that_an_agent_holds() {
    let kinds: [&[&str]; 4] = [
        &["-t", "ed25519"],
        &["-t", "ecdsa", "-b", "256"],
        &["-t", "ecdsa", "-b", "384"],
        &["-t", "rsa", "-b", "2048"],
    ];
    let (yard, log, id) = session();
    for kind in kinds {
        let agent = Agent::with_key(&yard, kind);
        let ran = agent.chock(&yard, &["sessions", "seal", &id]).expect(0);
        assert!(ran.out.contains("me at work"), "{kind:?}: {}", ran.out);
        check(&yard, &log, "ssh-agent");
        drop(agent);
        fs::remove_file(yard.path("agent.sock")).expect("a socket");
    }
    assert!(!yard.path("home/.local/share/chock/seal.key").exists(), "no key was needed");
}

#[test]
fn a_key_is_chosen_by_name_and_a_dead_agent_is_like_none() {
    let (yard, log, id) = session();
    let agent = Agent::with_key(&yard, &["-t", "ed25519"]);
    agent.chock(&yard, &["sessions", "seal", &id, "--key", "installation"]).expect(0);
    check(&yard, &log, "installation");
    agent.chock(&yard, &["sessions", "seal", &id, "--key", "me at work"]).expect(0);
    check(&yard, &log, "ssh-agent");
    let before = fs::read(seal_of(&log)).expect("a seal");
    let ran = agent.chock(&yard, &["sessions", "seal", &id, "--key", "nobody's"]).expect(1);
    assert!(ran.err.contains("no such key"), "{}", ran.err);
    assert!(yard.chock(&["sessions", "seal", &id, "--key", "agent"]).err.contains("SSH_AUTH_SOCK"));
    assert_eq!(fs::read(seal_of(&log)).expect("a seal"), before, "a failure changes nothing");
    let socket = agent.socket.clone();
    drop(agent);
    let mut command = yard.command(&["sessions", "seal", &id]);
    let ran = Ran::from(command.env("SSH_AUTH_SOCK", &socket).output().expect("the program"));
    ran.expect(0);
    check(&yard, &log, "installation");
}

/// Writes the records anew, with a chain that holds.
fn rechained(text: &str, mut change: impl FnMut(usize, &str) -> String) -> String {
    let mut lines = text.lines();
    let mut written = vec![lines.next().expect("a header").to_owned()];
    for (place, line) in lines.enumerate() {
        let line = change(place + 1, line);
        let prev: String = Sha256::digest(written.last().expect("a line"))
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let (front, _) = line.rsplit_once(",\"prev\":\"").expect("a record");
        written.push(format!("{front},\"prev\":\"{prev}\"}}"));
    }
    written.join("\n") + "\n"
}

#[test]
fn each_kind_of_change_to_a_sealed_log_is_told_apart() {
    let (yard, log, id) = session();
    let key = ["sessions", "seal", &id];
    yard.chock(&key).expect(0);
    let text = fs::read_to_string(&log).expect("a log");
    let records = text.lines().count() - 1;
    let whole = verified(&yard, 0);
    assert_eq!((&whole["verdict"], &whole["records"]), (&json!("intact"), &json!(records)));

    // A flipped byte.
    fs::write(&log, text.replace("hello", "hellp")).expect("a write");
    let row = verified(&yard, 2);
    assert_eq!(row["verdict"], "broken", "{row}");
    assert_eq!(row["at"].as_u64().expect("a record") - 1, row["after"].as_u64().expect("a record"));
    assert_eq!(row["seal"]["state"], "bad", "{row}");

    // A removed line.
    let without: Vec<_> = text.lines().enumerate().filter(|(place, _)| *place != 2).collect();
    let without: Vec<_> = without.into_iter().map(|(_, line)| line).collect();
    fs::write(&log, without.join("\n") + "\n").expect("a write");
    let row = verified(&yard, 2);
    assert_eq!((&row["verdict"], &row["at"]), (&json!("broken"), &json!(2)), "{row}");

    // A torn tail: what is missing was sealed.
    fs::write(&log, &text[..text.len() - 5]).expect("a write");
    let row = verified(&yard, 2);
    assert_eq!((&row["verdict"], &row["at"]), (&json!("torn"), &json!(records)), "{row}");
    assert_eq!(row["seal"]["state"], "bad", "{row}");

    // Written anew, so that only the seal can tell.
    fs::write(&log, rechained(&text, |_, line| line.replace("hello", "other"))).expect("a write");
    let row = verified(&yard, 2);
    assert_eq!(row["verdict"], "intact", "the chain itself holds: {row}");
    assert_eq!(row["seal"]["state"], "bad", "{row}");
    assert!(row["seal"]["detail"].as_str().expect("words").contains("not the one"), "{row}");

    // The last records cut off as a whole.
    let cut = text.trim_end().rfind('\n').expect("lines") + 1;
    fs::write(&log, &text[..cut]).expect("a write");
    let row = verified(&yard, 2);
    assert_eq!(
        (&row["verdict"], &row["seal"]["state"]),
        (&json!("intact"), &json!("bad")),
        "{row}"
    );

    // The control: rechaining what was there gives the same bytes.
    assert_eq!(rechained(&text, |_, line| line.to_owned()), text);
    fs::write(&log, &text).expect("a write");
    assert_eq!(verified(&yard, 0)["seal"]["state"], "good");

    // A session that goes on leaves its seal behind.
    yard.chock(&["run", "--continue", "more"]).expect(0);
    let row = verified(&yard, 0);
    assert_eq!(
        (&row["seal"]["state"], &row["seal"]["records"]),
        (&json!("earlier"), &json!(records))
    );
    let ran = yard.chock(&["sessions", "verify", &id]).expect(0);
    assert!(ran.out.contains(&format!("the first {records} records")), "{}", ran.out);
}

#[test]
fn a_log_rewritten_and_sealed_anew_has_the_seal_of_a_stranger() {
    let (yard, log, id) = session();
    yard.chock(&["sessions", "seal", &id]).expect(0);
    // The forger's own installation, which has a key too.
    let (forger, forged, other) = session();
    fs::write(forger.path("copy"), "").expect("a file");
    forger.chock(&["sessions", "seal", &other]).expect(0);
    fs::copy(&forged, &log).expect("a copy");
    fs::copy(seal_of(&forged), seal_of(&log)).expect("a copy");
    let row = verified(&yard, 2);
    assert_eq!(row["seal"]["state"], "bad", "another session's: {row}");
    // Under its own name the seal holds, and the key is nobody's.
    let there = log.with_file_name(forged.file_name().expect("a name"));
    fs::rename(&log, &there).expect("a rename");
    fs::rename(seal_of(&log), seal_of(&there)).expect("a rename");
    let row = verified(&yard, 2);
    assert_eq!(row["seal"]["state"], "unknown_key", "{row}");
    let signers = own_signers(&forger);
    let signers = signers.to_str().expect("a path");
    yard.chock(&["sessions", "verify", "--signers", signers]).expect(0);
}

#[test]
fn a_damaged_or_running_log_is_not_sealed() {
    let (yard, log, id) = session();
    let text = fs::read_to_string(&log).expect("a log");
    fs::write(&log, &text[..text.len() - 5]).expect("a write");
    let ran = yard.chock(&["sessions", "seal", &id]).expect(2);
    assert!(ran.err.contains("only an intact log"), "{}", ran.err);
    fs::write(&log, &text).expect("a write");
    let file = fs::File::open(&log).expect("a log");
    file.lock().expect("a lock");
    let ran = yard.chock(&["sessions", "seal", &id]).expect(3);
    assert!(ran.err.contains("is running"), "{}", ran.err);
    assert!(!seal_of(&log).exists());
}
