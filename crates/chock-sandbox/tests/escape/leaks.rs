//! Nothing of Chock's own is left where a call can reach it.

use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;

use serde_json::json;

use crate::harness::Control::{Anyone, AnyoneIf};
use crate::harness::{attempt, check};
use crate::yard::{Who, Yard, calls};

#[test]
fn keys_in_the_environment_stay_outside() {
    check(&[
        attempt(Anyone, &["environment", "hunter2-in-the-environment"]),
        attempt(Anyone, &["environment-of-others", "hunter2-in-the-environment"]),
    ]);
}

#[test]
fn descriptors_of_a_careless_parent_do_not_come_along() {
    for who in Who::all() {
        for warm in [0, 1] {
            let yard = Yard::new(*who);
            let directory = std::fs::File::open(yard.at("outside")).expect("a directory");
            let leak = |command: &mut std::process::Command| {
                let from = rustix::fd::AsFd::as_fd(&directory).try_clone_to_owned().expect("it");
                let low = from.as_raw_fd();
                // Descriptors made by a library without the flag that closes them.
                rustix::io::fcntl_setfd(&from, rustix::io::FdFlags::empty()).expect("its flags");
                std::mem::forget(from);
                command.arg0(format!("with descriptor {low}"));
            };
            for attempt in [&["leaked-descriptor"][..], &["open-through-descriptors", "canary"]] {
                let words = [&["try"], attempt].concat();
                let mut control = yard.command(crate::harness::words(&yard, &words));
                leak(&mut control);
                let output = control.output().expect("the probe");
                assert_eq!(output.status.code(), Some(0), "control {attempt:?}: {output:?}");

                let program = [&["/opt/probe/cage-probe"][..], &words].concat();
                let hand = json!({ "hand": "try", "request": attempt });
                let orders = json!([{ "argv": program }, hand]);
                let mut session = yard.session(json!({ "warm": warm, "calls": orders }));
                leak(&mut session);
                let output = session.output().expect("the probe");
                let said: Vec<_> = String::from_utf8_lossy(&output.stdout)
                    .lines()
                    .map(|line| serde_json::from_str(line).expect("JSON"))
                    .collect();
                for seen in calls(&said) {
                    assert_eq!(seen.ended, "Exited(3)", "{attempt:?}: {seen:?}");
                }
            }
        }
    }
}

#[test]
fn no_terminal_comes_along() {
    check(&[attempt(AnyoneIf("the tests have no terminal"), &["terminal-of-others"])]);
}
