//! A project without git: the same commands, the same walls, and a base that stays what it was.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::deny::{ATTEMPTS, command, outcomes, secrets};
use crate::input::scripted;
use crate::kill::until;
use crate::yard::Yard;

/// A directory with a few files of different kinds.
fn directory() -> Yard {
    let yard = Yard::bare();
    yard.write("a.txt", "alpha\n");
    yard.write("b.txt", "beta\n");
    yard.write("sub/deep/c.txt", "gamma\n");
    yard.write("tool.sh", "#!/bin/sh\necho tool\n");
    yard.write("naïve dir/ünïcödé", "x\n");
    let mode = |name: &str, mode| {
        let path = yard.project().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    mode("tool.sh", 0o750);
    mode("b.txt", 0o600);
    symlink("a.txt", yard.project().join("link")).expect("a link");
    yard
}

fn both() -> [Yard; 2] {
    [directory(), directory().as_plain_user()]
}

/// Every path with its mode and content.
fn state(top: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let (mut rows, mut left) = (Vec::new(), vec![top.to_owned()]);
    while let Some(path) = left.pop() {
        let found = fs::symlink_metadata(&path).expect("a file");
        let content = if found.is_dir() {
            left.extend(
                fs::read_dir(&path).expect("names").map(|entry| entry.expect("a name").path()),
            );
            Vec::new()
        } else if found.is_file() {
            fs::read(&path).expect("a file")
        } else {
            fs::read_link(&path)
                .map(|to| to.into_os_string().into_encoded_bytes())
                .unwrap_or_default()
        };
        rows.push((path, found.mode(), content));
    }
    rows.sort();
    rows
}

fn shell(command: &str) -> Value {
    json!({ "tools": [{ "name": "run_command", "input": { "command": command } }] })
}

fn play(yard: &Yard, turns: &[Value]) {
    scripted(yard, &json!({ "turns": turns }));
}

fn id(yard: &Yard, at: usize) -> String {
    yard.logs()[at].file_stem().expect("a name").to_string_lossy().into_owned()
}

fn json_of(out: &str) -> Value {
    serde_json::from_str(out).unwrap_or_else(|fault| panic!("{fault}: {out}"))
}

#[test]
fn every_command_works_without_git() {
    for yard in both() {
        let before = state(&yard.project());
        let change = "./tool.sh && cat link sub/deep/c.txt && sed -i s/alpha/ALPHA/ a.txt && \
                      rm -r sub && echo new > new.txt && chmod +x new.txt && mv b.txt renamed.txt";
        play(&yard, &[shell(change), shell("echo later > later.txt"), json!({ "text": "done" })]);
        let ran = yard.chock(&["run", "work"]).expect(0);
        assert!(ran.err.contains("no git repository"), "{}", ran.err);
        let text = yard.outcomes()[0]["text"].as_str().expect("words").to_owned();
        assert!(text.starts_with("tool\nalpha\ngamma\n"), "{text}");
        assert_eq!(state(&yard.project()), before);

        let diff = yard.chock(&["diff", "--stat"]).expect(0).out;
        for words in ["a.txt", "deleted    +0 -1        sub/deep/c.txt", "new.txt", "renamed.txt"] {
            assert!(diff.contains(words), "{words:?} is not in: {diff}");
        }
        // One file, and then everything; what the person has is merged or kept.
        yard.write("mine.txt", "mine\n");
        yard.own_everything();
        let report = json_of(&yard.chock(&["review", "--accept", "a.txt", "--json"]).expect(0).out);
        assert_eq!(report["written"], json!(["a.txt"]));
        yard.chock(&["review", "--all"]).expect(0);
        let here = |name: &str| yard.project().join(name).exists();
        assert!(
            here("mine.txt") && here("new.txt") && here("later.txt") && !here("sub/deep/c.txt")
        );
        assert!(here("renamed.txt") && !here("b.txt"));
        yard.chock(&["undo", "--steps", "2"]).expect(0);
        fs::remove_file(yard.project().join("mine.txt")).expect("a file");
        assert_eq!(state(&yard.project()), before);
        yard.chock(&["redo", "--steps", "2"]).expect(0);
        assert!(here("renamed.txt") && here("later.txt"));
        yard.chock(&["undo", "--steps", "2"]).expect(0);
        assert_eq!(state(&yard.project()), before);

        // A fork has the files of its turn, and a session that ended goes on with its own.
        let fork = yard.chock(&["fork", &id(&yard, 0), "--at", "1"]).expect(0).out;
        let inside = |id: &str, words: &str| {
            let words = ["exec", "--session", id, "--", "sh", "-c", words];
            yard.chock(&words).expect(0).out
        };
        let look = "cat a.txt; ls later.txt sub 2>/dev/null; ls -A | head -n 1";
        assert_eq!(inside(fork.trim(), look), "ALPHA\na.txt\n");
        assert_eq!(inside(&id(&yard, 0), look), "ALPHA\nlater.txt\na.txt\n");
        let exec = yard.chock(&["exec", "--", "sh", "-c", "cat a.txt; echo x > a.txt"]).expect(0);
        assert_eq!(exec.out, "alpha\n");
        assert_eq!(state(&yard.project()), before);
        yard.chock(&["sessions", "verify"]).expect(0);
    }
}

#[test]
fn a_session_stands_on_what_was_there_when_it_started() {
    let yard = directory();
    let wait = "sed -i s/alpha/agent/ a.txt; sleep 300";
    play(&yard, &[shell(wait), shell("cat b.txt; ls"), json!({ "text": "done" })]);
    let mut running = yard
        .command(&["run", "work"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a run");
    let started = || {
        let text = yard.logs().pop().and_then(|log| fs::read_to_string(log).ok());
        text.is_some_and(|text| text.contains("\"tool.started\""))
    };
    until("the call starts", started);
    let upper = yard.logs()[0].with_extension("work").join("halves/upper/a.txt");
    until("the call writes", || fs::read(&upper).is_ok_and(|text| text == b"agent\n"));
    // The person goes on working in the directory.
    yard.write("a.txt", "person\n");
    yard.write("b.txt", "changed by the person\n");
    yard.write("person.txt", "x\n");
    let process = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(process, rustix::process::Signal::INT).expect("a signal");
    assert_eq!(running.wait().expect("a status").code(), Some(3));
    fs::remove_dir_all(yard.path("home/.cache")).expect("the cache");
    yard.chock(&["run", "--continue"]).expect(0);
    let text = yard.outcomes()[1]["text"].as_str().expect("words").to_owned();
    assert!(text.starts_with("beta\n") && !text.contains("person.txt"), "{text}");
    // What both changed is a conflict, and nothing of the person's is written over.
    let before = state(&yard.project());
    let ran = yard.chock(&["review", "--all"]).expect(3);
    assert!(ran.err.contains("you changed the same lines"), "{}{}", ran.out, ran.err);
    assert_eq!(state(&yard.project()), before);
    // The next session has what is there now.
    assert_eq!(yard.chock(&["exec", "--", "cat", "a.txt"]).expect(0).out, "person\n");
}

#[test]
fn what_is_denied_is_neither_in_the_copy_nor_kept() {
    for yard in [secrets(), secrets().as_plain_user()] {
        fs::remove_dir_all(yard.project().join(".git")).expect("no repository");
        let before = state(&yard.project());
        let calls: Vec<_> = ATTEMPTS.iter().map(|attempt| command(attempt)).collect();
        for (attempt, outcome) in ATTEMPTS.iter().zip(outcomes(&yard, &calls)) {
            let said = outcome["text"].as_str().expect("words");
            assert!(!said.contains("hunter2"), "{attempt}: {said}");
        }
        assert_eq!(state(&yard.project()), before);
        let bases = yard.path("home/.cache/chock/bases");
        assert!(
            state(&bases).iter().any(|(_, _, text)| text == b"plain\n"),
            "no base was looked at"
        );
        for (path, _, text) in state(&bases) {
            let text = String::from_utf8_lossy(&text);
            assert!(!text.contains("hunter2"), "{}: {text}", path.display());
        }
    }
}

#[test]
fn sockets_pipes_and_repositories_stay_outside() {
    let yard = directory();
    let _listener = UnixListener::bind(yard.project().join("socket")).expect("a socket");
    let kind = rustix::fs::FileType::Fifo;
    let pipe = yard.project().join("sub/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, pipe, kind, rustix::fs::Mode::RWXU, 0).expect("a pipe");
    fs::create_dir_all(yard.project().join("nested/.git/hooks")).expect("a directory");
    yard.write("nested/.git/config", "[core]\n");
    yard.write("nested/code.py", "x = 1\n");
    let make = "find . -name .git -o -type s -o -type p; cat nested/code.py; \
                git init -q . && git -c user.name=A -c user.email=a@b commit -q --allow-empty -m x";
    play(&yard, &[shell(make), json!({ "text": "done" })]);
    let ran = yard.chock(&["run", "work"]).expect(0);
    assert!(ran.err.contains("without 2 files that are special"), "{}", ran.err);
    let text = yard.outcomes()[0]["text"].as_str().expect("words").to_owned();
    assert!(text.starts_with("x = 1\n"), "{text}");
    let diff = json_of(&yard.chock(&["diff", "--json"]).expect(0).out);
    assert_eq!(diff["files"], json!([]), "a repository of the agent's is not carried");
}

#[test]
fn a_repository_made_meanwhile_changes_nothing_for_the_session() {
    let yard = directory();
    play(&yard, &[shell("echo 1 > one.txt"), json!({ "text": "done" })]);
    yard.chock(&["run", "work"]).expect(0);
    yard.commit();
    let before = yard.fingerprint();
    play(
        &yard,
        &[
            json!({ "text": "" }),
            json!({ "text": "" }),
            shell("ls -A; git status; echo 2 > two.txt"),
            json!({ "text": "done" }),
        ],
    );
    yard.chock(&["run", "--continue", "more"]).expect(0);
    let text = yard.outcomes()[1]["text"].as_str().expect("words").to_owned();
    assert!(text.contains("not a git repository") && !text.contains(".git\n"), "{text}");
    let fork = yard.chock(&["fork", &id(&yard, 0), "--at", "1"]).expect(0).out;
    let words = ["exec", "--session", fork.trim(), "--", "sh", "-c", "ls -A; cat one.txt"];
    let seen = yard.chock(&words).expect(0).out;
    assert!(seen.ends_with("1\n") && !seen.contains(".git"), "{seen}");
    yard.chock(&["review", &id(&yard, 0), "--all"]).expect(0);
    yard.chock(&["undo"]).expect(0);
    assert_eq!(yard.fingerprint(), before);
}

#[test]
fn what_is_kept_of_a_directory_is_listed_and_goes_with_its_last_session() {
    let yard = directory();
    play(&yard, &[shell("echo 1 > one.txt"), json!({ "text": "done" })]);
    yard.chock(&["run", "work"]).expect(0);
    yard.chock(&["run", "work"]).expect(0);
    let kept = || {
        let out = yard.chock(&["workspace", "--json"]).expect(0).out;
        let rows: Vec<Value> = out.lines().map(json_of).collect();
        let row = rows.iter().find(|row| row["kind"] == "directory");
        row.and_then(|row| row["bytes"].as_u64()).unwrap_or(0)
    };
    let size = kept();
    assert!(size > 0);
    yard.chock(&["sessions", "remove", &id(&yard, 0), "--yes"]).expect(0);
    assert_eq!(kept(), size);
    yard.chock(&["diff"]).expect(0);
    yard.chock(&["sessions", "remove", &id(&yard, 0), "--yes"]).expect(0);
    assert!(kept() < size / 2, "{} of {size} bytes are left", kept());
    yard.chock(&["run", "work"]).expect(0);
    assert_eq!(kept(), size);
}
