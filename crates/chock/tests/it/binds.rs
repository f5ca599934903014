//! `workspace.binds`: what a session gets of the project's ignored paths, and what it can do.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

use serde_json::{Value, json};

use crate::input::scripted;
use crate::yard::{Ran, Yard};

const BINDS: &str = r#".{
    .deny_read = .{ "**/*.key" },
    .workspace = .{
        .binds = .{
            .{ .name = "data", .mode = .read_only },
            .{ .name = "one.env", .mode = .read_only },
            .{ .name = "packages/*/node_modules", .mode = .temp_copy },
            .{ .name = "notes", .mode = .copy },
            .{ .name = "out", .mode = .write },
            .{ .name = "absent", .mode = .write, .required = false },
        },
    },
}
"#;

/// A project with ignored directories, and rules that carry them in.
fn ignoring() -> Yard {
    let yard = Yard::new();
    yard.write(".gitignore", "__pycache__/\n/data/\n*.env\nnode_modules/\n/notes/\n/out/\n");
    yard.write("packages/a/index.js", "a\n");
    yard.write("chock.zon", BINDS);
    yard.commit();
    yard.write("data/deep/x.bin", "data of mine\n");
    yard.write("data/deep/private.key", "hunter2\n");
    yard.write("one.env", "KEY=1\n");
    yard.write("two.env", "hunter2\n");
    yard.write("packages/a/node_modules/m/index.js", "module\n");
    yard.write("notes/a.txt", "a note\n");
    yard.write("out/old.txt", "old\n");
    for (name, mode) in [("one.env", 0o600), ("data/deep", 0o700), ("data/deep/x.bin", 0o600)] {
        let path = yard.project().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    }
    yard
}

fn both() -> [Yard; 2] {
    [ignoring(), ignoring().as_plain_user()]
}

fn command(script: &str) -> Value {
    json!({ "name": "run_command", "input": { "command": script } })
}

/// Plays these calls and accepts what the project asks for.
fn accepted(yard: &Yard, calls: &[Value]) -> (Ran, Vec<Value>) {
    let mut turns: Vec<_> = calls.iter().map(|call| json!({ "tools": [call] })).collect();
    turns.push(json!({ "text": "done" }));
    scripted(yard, &json!({ "turns": turns }));
    let digest = digest(yard);
    let ran = yard.chock(&["run", "--accept-project", &digest, "do it"]).expect(0);
    (ran, yard.outcomes())
}

/// Reads the digest of what the project asks for off `chock config`.
fn digest(yard: &Yard) -> String {
    let said = yard.chock(&["config"]).expect(0).err;
    let digest = said.split("--accept-project ").nth(1).expect("a digest");
    digest.split_whitespace().next().expect("a digest").to_owned()
}

fn said(outcome: &Value) -> &str {
    outcome["text"].as_str().expect("words")
}

#[test]
fn nothing_is_bound_before_the_person_accepted_it() {
    for yard in both() {
        scripted(
            &yard,
            &json!({ "turns": [{ "tools": [command("ls -A; cat one.env data/deep/x.bin")] }, { "text": "done" }] }),
        );
        let ran = yard.chock(&["run", "do it"]).expect(0);
        for words in
            ["data\\", ".mode = .write", "WRITE THE REAL ONE", "do not count until you accept them"]
        {
            assert!(ran.err.replace("\"data\"", "data\\").contains(words), "{words}: {}", ran.err);
        }
        assert!(!ran.err.contains("bound:"), "{}", ran.err);
        let outcome = &yard.outcomes()[0];
        assert!(
            !said(outcome).contains("KEY=1") && !said(outcome).contains("data of mine"),
            "{outcome:#}"
        );
    }
}

#[test]
fn each_mode_gives_what_it_says() {
    for yard in both() {
        let see = "cat data/deep/x.bin one.env packages/a/node_modules/m/index.js notes/a.txt out/old.txt";
        let write = "for f in data/new data/deep/x.bin one.env; do echo x 2>/dev/null >> $f && echo through $f; done
                     rm -rf data one.env 2>/dev/null; mv data d 2>/dev/null; ls data/deep
                     echo changed > packages/a/node_modules/m/index.js; rm -rf packages/a/node_modules
                     echo changed > notes/a.txt; echo new > notes/b.txt
                     echo changed > out/old.txt; mkdir out/d && echo new > out/d/new.txt; ls -ln out | tail -n +2";
        let git = "git add -A; git commit -q -m x; git stash; git clean -fd 2>/dev/null; git status --porcelain; cat out/d/new.txt";
        let (ran, outcomes) = accepted(&yard, &[command(see), command(write), command(git)]);
        for (path, how) in [
            ("`data`", "read only"),
            ("`one.env`", "read only"),
            ("`packages/a/node_modules`", "goes with the session"),
            ("`notes`", "review can carry back"),
            ("`out`", "TO BE WRITTEN"),
        ] {
            let line = ran.err.lines().find(|line| line.contains("bound:") && line.contains(path));
            assert!(line.is_some_and(|line| line.contains(how)), "{path}: {}", ran.err);
        }
        assert!(!ran.err.contains("`absent`"), "{}", ran.err);
        let everything = "data of mine\nKEY=1\nmodule\na note\nold\n";
        assert!(said(&outcomes[0]).starts_with(everything), "{outcomes:#?}");
        assert!(!said(&outcomes[1]).contains("through"), "{outcomes:#?}");
        assert!(said(&outcomes[1]).contains("x.bin"), "{outcomes:#?}");
        // What is shared is the person's, and inside it belongs to the session.
        let owners: Vec<_> = said(&outcomes[1])
            .lines()
            .filter(|line| line.contains("txt") || line.contains(" d"))
            .collect();
        assert!(
            !owners.is_empty() && owners.iter().all(|line| !line.contains(" 0 ")),
            "{outcomes:#?}"
        );
        assert_eq!(outcomes[2]["ended"], json!({ "exited": 0 }), "{outcomes:#?}");
        let read = |name: &str| fs::read_to_string(yard.project().join(name)).expect(name);
        assert_eq!(read("data/deep/x.bin"), "data of mine\n");
        assert_eq!(read("one.env"), "KEY=1\n");
        assert_eq!(read("packages/a/node_modules/m/index.js"), "module\n");
        assert_eq!(read("notes/a.txt"), "a note\n");
        assert!(!yard.project().join("notes/b.txt").exists());
        assert_eq!(read("out/old.txt"), "changed\n");
        assert_eq!(read("out/d/new.txt"), "new\n");
        let (mine, made) = (
            yard.project().metadata().expect("it"),
            yard.project().join("out/d/new.txt").metadata().expect("it"),
        );
        assert_eq!((mine.uid(), mine.gid()), (made.uid(), made.gid()));
        // Of the copies only those of mode `.copy` are a change, and go in and out by review.
        let stat = yard.chock(&["diff", "--stat"]).expect(0).out;
        assert!(stat.contains("notes/a.txt") && stat.contains("notes/b.txt"), "{stat}");
        assert_eq!(stat.matches(".txt").count(), 2, "{stat}");
        yard.chock(&["review", "--accept", "notes"]).expect(0);
        assert_eq!(
            (read("notes/a.txt"), read("notes/b.txt")),
            ("changed\n".into(), "new\n".into())
        );
        yard.chock(&["undo"]).expect(0);
        assert_eq!(read("notes/a.txt"), "a note\n");
        assert!(!yard.project().join("notes/b.txt").exists());
        assert!(!yard.project().join("absent").exists());
    }
}

#[test]
fn what_is_denied_is_denied_in_what_is_bound() {
    for yard in both() {
        yard.write("notes/deep/own.key", "hunter2\n");
        fs::set_permissions(
            yard.project().join("notes/deep/own.key"),
            fs::Permissions::from_mode(0o644),
        )
        .expect("a mode");
        let read = |path: &str| json!({ "name": "read_file", "input": { "path": path } });
        let shell = "cat data/deep/private.key notes/deep/own.key two.env; grep -rs hunter2 .; \
                     mv notes/deep notes/d; cat notes/d/own.key; true";
        let calls = [read("data/deep/private.key"), read("notes/deep/own.key"), command(shell)];
        let (_, outcomes) = accepted(&yard, &calls);
        for outcome in &outcomes[..2] {
            assert_eq!(outcome["ended"], "denied", "{outcome:#}");
            let allowed_by = outcome["denial"]["allowed_by"].as_str().expect("a row");
            assert!(allowed_by.contains("\"**/*.key\""), "{outcome:#}");
        }
        assert!(!said(&outcomes[2]).contains("hunter2"), "{}", outcomes[2]);
    }
}

/// Says whether somebody listens at each of these sockets.
fn connect(paths: &[&str]) -> String {
    let calls = paths.iter().map(|path| {
        format!("python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{path}')\" 2>/dev/null && echo met {path}")
    });
    format!("{}; true", calls.collect::<Vec<_>>().join("; "))
}

#[test]
fn nobody_who_listens_outside_is_met_through_a_bind() {
    for yard in both() {
        let open = |name: &str| {
            let path = yard.project().join(name);
            let listener = UnixListener::bind(&path).expect("a socket");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("a mode");
            listener
        };
        let _listeners = (open("data/socket"), open("notes/socket"));
        let script = connect(&["data/socket", "notes/socket"]);
        let control = Command::new("sh").args(["-c", &script]).current_dir(yard.project()).output();
        let control = String::from_utf8(control.expect("sh").stdout).expect("text");
        assert_eq!(control, "met data/socket\nmet notes/socket\n");
        let (ran, outcomes) = accepted(&yard, &[command(&script), command("ls data")]);
        assert!(!said(&outcomes[0]).contains("met"), "{outcomes:#?}");
        assert!(ran.err.contains("1 sockets, FIFOs or devices were left out"), "{}", ran.err);
        // What is written in place has no such wall, so it must not hold one.
        let _listener = open("out/socket");
        let ran = yard.chock(&["run", "again"]).expect(1);
        assert!(ran.err.contains("`out/socket` in it is a socket"), "{}", ran.err);
        assert_eq!(yard.logs().len(), 1);
    }
}

#[test]
fn a_socket_that_comes_later_is_not_met_either() {
    let yard = ignoring();
    let script =
        format!("until test -e data/later; do sleep 0.1; done; {}", connect(&["data/later"]));
    let path = yard.project().join("data/later");
    let listener = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let listener = UnixListener::bind(&path).expect("a socket");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("a mode");
        listener
    });
    let (_, outcomes) = accepted(
        &yard,
        &[command(&format!("timeout 20 sh -c '{}'", script.replace('\'', "'\\''")))],
    );
    drop(listener.join().expect("a listener"));
    assert!(!said(&outcomes[0]).contains("met"), "{outcomes:#?}");
}

#[test]
fn what_leads_elsewhere_is_refused_by_name() {
    // (what stands at `data`, what is said)
    for yard in both() {
        let data = yard.project().join("data");
        fs::remove_dir_all(&data).expect("the directory");
        let cases = [
            ("/etc", "leads out of the project"),
            ("..", "leads out of the project"),
            (".", "a directory that it lies in"),
            (".git", "only chock and you read"),
            ("chock.zon", "only chock and you read"),
            ("a.txt", "git tracks `a.txt`"),
        ];
        scripted(&yard, &json!({ "turns": [{ "text": "done" }] }));
        let digest = digest(&yard);
        for (target, words) in cases {
            symlink(target, &data).expect("a link");
            let ran = yard.chock(&["run", "--accept-project", &digest, "x"]).expect(1);
            assert!(ran.err.contains("`data`") && ran.err.contains(words), "{target}: {}", ran.err);
            fs::remove_file(&data).expect("the link");
        }
        let ran = yard.chock(&["run", "x"]).expect(1);
        assert!(ran.err.contains("`data`: there is nothing of that name"), "{}", ran.err);
        assert_eq!(yard.logs().len(), 0);
    }
}

#[test]
fn another_mode_is_another_question() {
    let yard = ignoring();
    accepted(&yard, &[command("true")]);
    yard.write(
        "chock.zon",
        &BINDS.replace("\"data\", .mode = .read_only", "\"data\", .mode = .write"),
    );
    let mut file =
        fs::File::options().append(true).open(yard.project().join("data/deep/x.bin")).expect("it");
    file.write_all(b"").expect("nothing");
    let ran = yard.chock(&["run", "x"]);
    assert!(
        ran.err.contains("do not count until you accept them") && !ran.err.contains("bound:"),
        "{}",
        ran.err
    );
}
