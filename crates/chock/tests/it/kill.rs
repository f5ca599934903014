//! SIGKILL at any moment: the project untouched, nothing left, a session that resumes.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::input::scripted;
use crate::yard::Yard;

/// Lists the live processes whose executable or arguments name the yard's program, by id.
fn processes_of(yard: &Yard, marker: &str) -> Vec<String> {
    let _ = yard;
    let all = fs::read_dir("/proc").expect("proc").flatten();
    let alive = all.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.parse::<u32>().ok()?;
        let words = fs::read(entry.path().join("cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        words.contains(marker).then_some(format!("{name}: {words}"))
    });
    alive.collect()
}

fn mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").expect("mounts")
}

/// Waits until a condition holds; the kernel takes a moment to end a namespace.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_secs(10), "never: {what}");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn killing_chock_leaves_nothing_and_the_session_resumes() {
    // Moments from before the keeper to the middle of the call.
    for milliseconds in [3, 10, 20, 40, 80, 160, 320, 640] {
        let yard = Yard::new();
        let marker = format!("987{milliseconds}.5");
        let sleeping = format!("echo once >> count; sleep {marker}");
        scripted(
            &yard,
            &json!({ "turns": [
                { "tools": [{ "name": "run_command", "input": { "command": sleeping } }] },
                { "text": "went on" }, { "text": "went on" } ] }),
        );
        let before = yard.fingerprint();
        let mounted = mounts();
        let mut command = yard.command(&["run", "sleep"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program");
        sleep(Duration::from_millis(milliseconds));
        child.kill().expect("a kill");
        child.wait().expect("an end");
        until("no process is left", || processes_of(&yard, &marker).is_empty());
        assert_eq!(mounts(), mounted);
        assert_eq!(yard.fingerprint(), before, "after {milliseconds} ms");
        assert_eq!(yard.git(&["status", "--porcelain", "--ignored"]), "");

        let Some(log) = yard.logs().pop() else { continue };
        let records = fs::read_to_string(&log).expect("a log");
        if !records.contains("message.user") {
            continue;
        }
        let in_the_call = records.contains("\"approval.answered\"");
        let mut command = yard.command(&["run", "--continue"]);
        if !in_the_call {
            // The call is still to come; this time it must not sleep for ever.
            continue;
        }
        let ran = crate::yard::Ran::from(command.output().expect("the program")).expect(0);
        assert!(ran.out.contains("went on"), "{}", ran.out);
        let outcome = yard.outcomes().remove(0);
        assert_eq!(outcome["ended"], "unknown", "{outcome}");
        yard.chock(&["sessions", "verify"]).expect(0);
    }
}

#[test]
fn an_interrupt_stops_cleanly_and_the_session_goes_on() {
    let yard = Yard::new();
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [
                { "name": "run_command", "input": { "command": "sleep 986.5" } },
                { "name": "run_command", "input": { "command": "true" } } ] },
            { "text": "went on" } ] }),
    );
    let mut command = yard.command(&["run", "sleep"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program");
    until("the call runs", || !processes_of(&yard, "sleep 986.5").is_empty());
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("a signal");
    let status = child.wait().expect("an end");
    assert_eq!(status.code(), Some(3));
    assert!(processes_of(&yard, "sleep 986.5").is_empty());
    let ended: Vec<_> =
        yard.outcomes().into_iter().map(|outcome| outcome["ended"].clone()).collect();
    assert_eq!(ended, [json!("cancelled"), json!("cancelled")]);
    let ran = yard.chock(&["run", "--continue"]).expect(0);
    assert!(ran.out.contains("went on"), "{}", ran.out);
}

#[test]
fn a_second_process_on_a_session_is_refused_and_two_sessions_are_fine() {
    let yard = Yard::new();
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [{ "name": "run_command", "input": { "command": "sleep 985.5" } }] },
            { "text": "done" } ] }),
    );
    let start = || {
        let mut command = yard.command(&["run", "sleep"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the program")
    };
    let mut first = start();
    until("the call runs", || !processes_of(&yard, "sleep 985.5").is_empty());
    let ran = yard.chock(&["run", "--continue", "x"]).expect(1);
    assert!(ran.err.contains("in use"), "{}", ran.err);
    let mut second = start();
    until("both run", || {
        let sleeping = processes_of(&yard, "sleep 985.5");
        sleeping.iter().filter(|words| words.contains(": sleep")).count() >= 2
    });
    let listed = yard.chock(&["sessions", "--json"]).expect(0).out;
    assert_eq!(listed.matches("\"running\"").count(), 2, "{listed}");
    for child in [&mut first, &mut second] {
        let id = rustix::process::Pid::from_child(child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("a signal");
        assert_eq!(child.wait().expect("an end").code(), Some(3));
    }
}
