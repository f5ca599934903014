//! What an observer outside reads from the kernel while a call runs.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use serde_json::json;

use crate::input::scripted;
use crate::kill::until;
use crate::yard::Yard;

/// Finds the process whose arguments are exactly `words`.
fn process(words: &[&str]) -> Option<u32> {
    let wanted = words.join("\0") + "\0";
    fs::read_dir("/proc").expect("proc").flatten().find_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let found = fs::read(entry.path().join("cmdline")).ok()?;
        (found == wanted.as_bytes()).then_some(id)
    })
}

fn status(id: u32) -> BTreeMap<String, String> {
    let text = fs::read_to_string(format!("/proc/{id}/status")).expect("a status");
    let rows = text.lines().filter_map(|line| line.split_once(':'));
    rows.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

#[test]
fn the_kernel_confirms_the_layers_of_a_running_call() {
    for (yard, time) in [(Yard::new(), "983.25"), (Yard::new().as_plain_user(), "983.75")] {
        let command = format!("sleep {time}; true");
        let call = json!({ "name": "run_command", "input": { "command": command } });
        scripted(&yard, &json!({ "turns": [{ "tools": [call] }, { "text": "done" }] }));
        let mut run = yard.command(&["run", "sleep"]);
        let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("chock");
        until("the call runs", || process(&["sleep", time]).is_some());
        let id = process(&["sleep", time]).expect("the process");

        let status = status(id);
        assert_eq!(status["Seccomp"], "2");
        assert_eq!(status["NoNewPrivs"], "1");
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(status[set], "0000000000000000", "{set}");
        }
        let ids: Vec<_> =
            status["Uid"].split_whitespace().chain(status["Gid"].split_whitespace()).collect();
        assert!(ids.iter().all(|id| *id != "0"), "{ids:?}");
        assert!(status["NSpid"].split_whitespace().count() >= 3, "{}", status["NSpid"]);
        for name in ["user", "mnt", "pid", "ipc", "uts", "net", "cgroup"] {
            let of = |process: &str| fs::read_link(format!("/proc/{process}/ns/{name}"));
            let (inside, outside) = (of(&id.to_string()), of("self"));
            assert_ne!(inside.expect("a namespace"), outside.expect("a namespace"), "{name}");
        }
        let root = fs::read_dir(format!("/proc/{id}/root")).expect("the root");
        let names: Vec<_> = root.flatten().map(|entry| entry.file_name()).collect();
        assert!(
            !names.iter().any(|name| name == "sys" || name == "boot" || name == "mnt"),
            "{names:?}"
        );

        let child_id = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(child_id, rustix::process::Signal::INT).expect("a signal");
        child.wait().expect("an end");
        // The same layers are in the record.
        let config = yard.records().into_iter().find(|record| record["kind"] == "session.config");
        let layers = config.expect("a record")["body"]["layers"].to_string();
        for layer in ["user namespace", "network namespace", "tree"] {
            assert!(layers.contains(layer), "{layers}");
        }
    }
}

/// Lists the processes below one, with those below them.
fn below(id: u32) -> Vec<u32> {
    let children = |id: u32| -> Vec<u32> {
        let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
        let lists =
            threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        let lists: Vec<_> = lists.collect();
        lists.iter().flat_map(|list| list.split_whitespace()).flat_map(str::parse).collect()
    };
    let mut all = children(id);
    let mut next = 0;
    while next < all.len() {
        all.extend(children(all[next]));
        next += 1;
    }
    all
}

#[test]
fn whatever_the_model_asks_for_only_chock_itself_runs_outside_of_the_namespaces() {
    let yard = Yard::new();
    let command = |input: serde_json::Value| json!({ "name": "run_command", "input": input });
    let calls = [
        command(json!({ "command": "sleep 981.5", "sandbox": false })),
        command(json!({ "command": "sleep 981.5", "dangerouslyDisableSandbox": true })),
        command(json!({ "command": "sleep 981.5", "background": true })),
        command(json!({ "command": "(setsid sleep 981.5 &); sleep 981.25" })),
    ];
    scripted(&yard, &json!({ "turns": [{ "tools": calls }, { "text": "done" }] }));
    let mut run = yard.command(&["run", "x"]);
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("chock");
    until("the last call runs", || process(&["sleep", "981.25"]).is_some());
    let program = fs::read_link(format!("/proc/{}/exe", child.id())).expect("the program");
    let (mut inside, mut own) = (0, 0);
    for id in below(child.id()) {
        let Ok(exe) = fs::read_link(format!("/proc/{id}/exe")) else { continue };
        let of =
            |process: &str, name: &str| fs::read_link(format!("/proc/{process}/ns/{name}")).ok();
        if exe == program {
            own += 1;
            continue;
        }
        for name in ["user", "mnt", "pid", "net"] {
            assert_ne!(of(&id.to_string(), name), of("self", name), "{name} of {}", exe.display());
        }
        inside += 1;
    }
    assert!(inside >= 3 && own > 0, "{inside} inside, {own} of Chock");
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("a signal");
    child.wait().expect("an end");
    until("nothing is left", || process(&["sleep", "981.5"]).is_none());
}
