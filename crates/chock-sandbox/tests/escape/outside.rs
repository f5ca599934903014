//! What an observer on the machine sees of a call while it runs, and after it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::yard::{Who, Yard, calls};

/// The longest wait for processes that were killed.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// A running session with one call that says `ready` and then sleeps for `marker` seconds.
fn start(yard: &Yard, marker: &str, warm: u32) -> Child {
    let script = format!("echo ready; exec sleep {marker}");
    yard.start(json!({ "warm": warm, "calls": [{ "argv": ["sh", "-c", script] }] }))
}

fn wait_until_ready(session: &mut Child) {
    let lines = BufReader::new(session.stdout.take().expect("its output")).lines();
    for line in lines {
        let line: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        if line["output"].as_str().is_some_and(|text| text.contains("ready")) {
            return;
        }
        assert!(line["fault"].is_null(), "{line}");
    }
    panic!("it was never ready");
}

/// Every process of the machine with its command line.
fn processes() -> BTreeMap<u32, String> {
    let entries = std::fs::read_dir("/proc").expect("processes").flatten();
    let number = |name: &std::ffi::OsStr| name.to_str()?.parse::<u32>().ok();
    entries
        .filter_map(|entry| {
            let pid = number(&entry.file_name())?;
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let words = String::from_utf8_lossy(&line).replace('\0', " ");
            (!words.is_empty()).then(|| (pid, words.trim_end().to_owned()))
        })
        .collect()
}

fn find(line: &str) -> Option<u32> {
    processes().into_iter().find(|(_, words)| words == line).map(|(pid, _)| pid)
}

fn status(pid: u32) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
    let pairs = text.lines().filter_map(|line| line.split_once(":\t"));
    pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

/// Keepers and cells whose Chock is gone: the stub's parent is then the machine's first process.
fn orphans() -> Vec<u32> {
    let ours = processes().into_iter().filter(|(_, words)| words.starts_with("chock-keeper"));
    ours.map(|(pid, _)| pid)
        .filter(|pid| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            text.contains("\nPPid:\t1\n")
        })
        .collect()
}

fn wait_until(what: &str, gone: impl Fn() -> bool) {
    let begun = Instant::now();
    while !gone() {
        assert!(begun.elapsed() < GONE_WITHIN, "{what} after {GONE_WITHIN:?}");
        std::thread::yield_now();
    }
}

fn kill(mut session: Child) {
    session.kill().expect("SIGKILL");
    session.wait().expect("its end");
}

#[test]
fn an_observer_sees_every_layer_of_a_running_call() {
    for (index, who) in Who::all().iter().enumerate() {
        for warm in [0, 1] {
            let yard = Yard::new(*who);
            let marker = format!("271.8{index}{warm}");
            let mut session = start(&yard, &marker, warm);
            wait_until_ready(&mut session);
            let line = format!("sleep {marker}");
            wait_until("no sleeper", || find(&line).is_some());
            let pid = find(&line).expect("the call's process");
            let seen = status(pid);
            for (name, value) in [
                ("Seccomp", "2"),
                ("NoNewPrivs", "1"),
                ("CapInh", "0000000000000000"),
                ("CapPrm", "0000000000000000"),
                ("CapEff", "0000000000000000"),
                ("CapBnd", "0000000000000000"),
                ("CapAmb", "0000000000000000"),
            ] {
                assert_eq!(seen[name], value, "{name} of {who:?}, warm {warm}");
            }
            let uids: Vec<_> = seen["Uid"].split_ascii_whitespace().collect();
            assert!(!uids.contains(&"0"), "kernel uid 0 in a call: {uids:?}");
            assert_eq!(seen["NSpid"].split_ascii_whitespace().count(), 3, "pid namespaces");
            for name in ["user", "mnt", "pid", "ipc", "uts", "cgroup", "net"] {
                let of = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/{name}"));
                if let Ok(theirs) = of(&pid.to_string()) {
                    assert_ne!(theirs, of("self").expect("its own"), "{name} namespace");
                }
            }
            kill(session);
            wait_until("the call's process", || find(&line).is_none());
        }
    }
}

#[test]
fn killing_chock_leaves_no_process_and_no_mount() {
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let before = mounts();
    for who in Who::all() {
        let yard = Yard::new(*who);
        for moment in 0..24_u64 {
            let marker = format!("314.{moment:02}");
            let session = start(&yard, &marker, u32::from(moment % 2 == 0));
            // Moments of the start, and later ones of the call: this is not a wait for them.
            std::thread::sleep(Duration::from_millis(moment * 2));
            kill(session);
            let line = format!("sleep {marker}");
            wait_until("the call's process", || find(&line).is_none());
            wait_until("a keeper", || orphans().is_empty());
        }
        let base = std::fs::read_dir(yard.at("project")).expect("the project");
        let mut names: Vec<_> = base.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        assert_eq!(names, [".git", "chock.zon", "file", "secret.env", "vault"]);
    }
    assert_eq!(before, mounts(), "the machine's mounts");
}

#[test]
fn nothing_of_a_call_outlives_its_answer() {
    for (index, who) in Who::all().iter().enumerate() {
        let yard = Yard::new(*who);
        let marker = format!("161.8{index}");
        let daemon = format!(
            "setsid nohup sh -c 'while :; do echo x >> heartbeat; sleep 0.01; done' >/dev/null 2>&1 & \
             (setsid sleep {marker} &) ; sleep {marker} & kill -STOP $! ; \
             until test -s heartbeat; do :; done; echo started"
        );
        let count =
            json!({ "argv": ["sh", "-c", "wc -c < heartbeat; set -- /proc/[0-9]*; echo $#"] });
        let line = format!("sleep {marker}");
        let first = json!({ "argv": ["sh", "-c", daemon], "survivor": line });
        let said = yard.caged(json!({ "calls": [first, count, count] }));
        let survivors = said.iter().find_map(|line| line["survivors"].as_u64());
        assert_eq!(survivors, Some(0), "alive when the answer came: {said:?}");
        let seen = calls(&said);
        assert_eq!(seen[0].output, "started\n", "{seen:?}");
        assert_eq!(seen[0].ended, "Exited(0)");
        assert_eq!(seen[1].output, seen[2].output, "a daemon went on writing");
        assert_eq!(find(&line), None);
    }
}

#[test]
fn the_machine_is_as_it_was() {
    for who in Who::all() {
        let yard = Yard::new(*who);
        let before = snapshot(&yard.at("project"));
        let script = "rm -rf ./* .git/x; echo changed > file; mkdir -p a/b; ln -s /etc/shadow link; \
                      echo '#!/bin/sh' > .git/hook; chmod 4755 file; cp /bin/true a/tool; \
                      chmod u+s a/tool; true";
        let seen = calls(&yard.caged(json!({ "calls": [{ "argv": ["sh", "-c", script] }] })));
        assert_eq!(seen[0].ended, "Exited(0)", "{seen:?}");
        assert_eq!(snapshot(&yard.at("project")), before, "the base of {who:?}");
        assert_eq!(std::fs::read(yard.at("outside/canary")).expect("it"), b"untouched\n");
        let upper = snapshot(&yard.at("layer/upper"));
        assert_eq!(upper[Path::new("file")].1, b"changed\n", "the change is in the upper half");
        assert!(upper.values().all(|(mode, _)| mode & 0o6000 == 0), "set-id bits: {upper:?}");
        assert!(yard.at("git/hook").exists(), "the session's own git directory is its own");
    }
}

fn snapshot(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut stack = vec![root.to_owned()];
    while let Some(directory) = stack.pop() {
        for entry in std::fs::read_dir(&directory).expect("a directory").flatten() {
            let path = entry.path();
            let status = entry.metadata().expect("its status");
            let mode = std::os::unix::fs::MetadataExt::mode(&status);
            let bytes = match status.file_type() {
                kind if kind.is_dir() => {
                    stack.push(path.clone());
                    Vec::new()
                }
                kind if kind.is_file() => std::fs::read(&path).unwrap_or_default(),
                _ => Vec::new(),
            };
            found.insert(path.strip_prefix(root).expect("beneath").to_owned(), (mode, bytes));
        }
    }
    found
}
