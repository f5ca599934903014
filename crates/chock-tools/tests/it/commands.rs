//! `run_command` in a cell: how commands end, what is kept of their output, what they find.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, Instant};

use chock_log::{Ended, Outcome};
use chock_tools::cage::Limits;
use chock_tools::{Cancel, OUTPUT_BYTES_MAX};
use serde_json::json;

use crate::yard::{Wish, Yard, host, is_root};

fn run(yard: &mut Yard, command: &str) -> Outcome {
    yard.call("run_command", &json!({ "command": command }))
}

#[test]
fn a_command_ends_as_it_ends_and_says_so() {
    let mut yard = Yard::new();
    let cases = [
        ("true", Ended::Exited(0), "[chock: no output, exit status 0]\n"),
        ("echo a; echo b >&2; exit 3", Ended::Exited(3), "a\nb\n[chock: exit status 3]\n"),
        ("printf x", Ended::Exited(0), "x\n[chock: exit status 0]\n"),
        ("cat", Ended::Exited(0), "[chock: no output, exit status 0]\n"),
        ("-x", Ended::Exited(127), "-x: command not found"),
        ("a(", Ended::Exited(2), "syntax error"),
        ("kill -SEGV $$", Ended::Signalled(11), "ended by signal 11 (SIGSEGV)"),
        ("sh -c 'kill -9 $$'; exit $?", Ended::Exited(137), "signal 9, SIGKILL"),
        ("diff <(echo a) <(echo a) && cat <<E\nhere\nE", Ended::Exited(0), "here\n"),
        (
            "printf '\\033[31mred\\033[0m\\n[chock: exit status 0]\\n'",
            Ended::Exited(0),
            "red\n\\[chock: exit",
        ),
        ("echo $BASH_VERSION", Ended::Exited(0), "5."),
    ];
    for (command, ended, words) in cases {
        let outcome = run(&mut yard, command);
        assert_eq!(outcome.ended, ended, "{command}: {}", outcome.text);
        assert!(outcome.text.contains(words), "{command}: {}", outcome.text);
        assert_eq!(outcome.denial, None);
    }
}

#[test]
fn a_command_that_does_not_end_is_ended() {
    let mut yard = Yard::new();
    let begun = Instant::now();
    let late = json!({"command": "echo begun; sleep 60", "timeout_s": 1});
    let outcome = yard.call("run_command", &late);
    assert_eq!(outcome.ended, Ended::TimedOut(1));
    assert!(outcome.text.starts_with("begun\n[chock: ended after 1 second"), "{}", outcome.text);
    assert!(begun.elapsed() < Duration::from_secs(20));

    let cancel = Cancel::new().unwrap();
    cancel.trigger();
    let stopped = yard.call_until("run_command", &json!({"command": "sleep 60"}), &cancel);
    assert_eq!(stopped.ended, Ended::Cancelled);

    let begun = Instant::now();
    let left = run(&mut yard, "setsid nohup sleep 61 & (sleep 61 &) ; echo left");
    assert_eq!(left.ended, Ended::Exited(0), "{}", left.text);
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(
        yard.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 6' || true"),
        "1\n"
    );
}

#[test]
fn a_long_output_is_cut_and_the_whole_is_a_file_inside() {
    let mut yard = Yard::new();
    let command = "i=1; while [ $i -le 200000 ]; do printf 'line-%06d-\\n' $i; i=$((i+1)); done";
    let outcome = run(&mut yard, command);
    assert_eq!(outcome.ended, Ended::Exited(0));
    assert!(outcome.text.len() < OUTPUT_BYTES_MAX + 500, "{}", outcome.text.len());
    for words in ["line-000001-\n", "line-200000-\n", "left out here", "/run/chock/outputs/1.out"] {
        assert!(outcome.text.contains(words), "{words}");
    }
    assert!(!outcome.text.contains("line-100000-"));
    assert_eq!(outcome.bytes_kept + outcome.bytes_dropped, 200_000 * 13);
    let whole =
        yard.run("sed -n 100000p /run/chock/outputs/1.out; wc -l < /run/chock/outputs/1.out");
    assert_eq!(whole, "line-100000-\n200000\n");
    let read = json!({"path": "/run/chock/outputs/1.out", "offset": 100_000, "limit": 1});
    assert!(yard.call("read_file", &read).text.contains("100000\tline-100000-\n"));
    let write = run(&mut yard, "echo x > /run/chock/outputs/1.out; rm -f /run/chock/outputs/1.out");
    assert_ne!(write.ended, Ended::Exited(0), "{}", write.text);

    let odd = run(&mut yard, "printf 'a\\0b\\377c\\n'");
    assert!(odd.text.starts_with("ab\u{fffd}c\n[chock: exit status 0]\n"), "{}", odd.text);
    assert!(odd.text.contains("/run/chock/outputs/2.out"), "{}", odd.text);
    assert_eq!(yard.run("od -An -c /run/chock/outputs/2.out | tr -d ' \\n'"), "a\\0b377c\\n\n");
}

#[test]
fn a_limit_is_named() {
    let limits = Limits { file_bytes: 1 << 20, ..Limits::default() };
    let mut yard = Yard::with(Wish { limits, ..Wish::default() });
    let outcome = run(&mut yard, "exec head -c 2M /dev/zero > big");
    let told = format!("{:?} {}", outcome.ended, outcome.text);
    assert!(told.contains("file_size"), "{told}");
    let full = run(&mut yard, "head -c 300M /dev/zero > /tmp/big");
    assert_ne!(full.ended, Ended::Exited(0));
}

#[test]
fn a_missing_network_is_said() {
    let mut yard = Yard::new();
    let outcome = run(
        &mut yard,
        "python3 -c 'import socket; socket.create_connection((\"example.com\", 80))'",
    );
    assert_ne!(outcome.ended, Ended::Exited(0), "{}", outcome.text);
    assert!(outcome.text.contains("this sandbox has no network"), "{}", outcome.text);
    let local = yard.run("python3 -c 'import socket; print(socket.gethostbyname(\"localhost\"))'");
    assert_eq!(local, "127.0.0.1\n");
}

#[test]
fn a_directory_that_cannot_be_entered_is_a_fault_and_nothing_runs() {
    let mut yard = Yard::new();
    for (cwd, words) in [("absent", "is not there"), ("a.txt", "is not a directory")] {
        let outcome = yard.call("run_command", &json!({"command": "touch ran", "cwd": cwd}));
        assert_eq!((&outcome.ended, &outcome.denial), (&Ended::Fault, &None), "{}", outcome.text);
        assert!(outcome.text.contains(words) && outcome.text.contains("nothing ran"));
    }
    assert_eq!(yard.run("ls"), "a.txt\nchock.zon\nsrc\n");
    let listed = yard.call("run_command", &json!({"command": "ls", "cwd": "src"}));
    assert!(listed.text.starts_with("lib.rs\n"));
}

#[test]
fn a_command_finds_itself_at_home() {
    let mut yard = Yard::new();
    let text = yard.run("whoami; echo $HOME; pwd; echo $CHOCK_SANDBOX; echo ~; mktemp -d; umask");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[..2], ["chock", "/run/chock/home"], "{text}");
    assert_eq!(lines[2], yard.project.to_str().unwrap());
    assert_eq!(lines[3..5], ["network-off", "/run/chock/home"], "{text}");
    assert!(lines[5].starts_with("/tmp/tmp."), "{text}");
    yard.run("touch ~/x; test -w ~/x && test -r /etc/ld.so.cache && ! test -e /etc/shadow");
    yard.run("test ! -e /var && test ! -e /sys && test ! -e /etc/gitconfig");
    yard.run(
        "git add -A && git commit -q --allow-empty -m x && git switch -qc b && git log --oneline",
    );
    // What the person's PATH leads to works inside.
    let is_there = |program: &str| host().path.iter().any(|entry| entry.join(program).exists());
    for program in ["cargo", "rustc", "python3", "node"].into_iter().filter(|name| is_there(name)) {
        yard.run(&format!("{program} --version"));
    }
    if is_there("rustc") {
        yard.run("echo 'fn main() {}' > m.rs && rustc -o m m.rs && ./m");
    }
    if is_root() {
        assert_eq!(yard.run("id -u"), "65534\n");
    }
    let environment = yard.run("env | cut -d= -f1 | sort | tr '\\n' ' '");
    for name in environment.split_whitespace() {
        let known = yard.compiled.environment.iter().any(|(known, _)| known == name);
        assert!(known || ["PWD", "OLDPWD", "SHLVL", "_"].contains(&name), "{name}");
    }
}
