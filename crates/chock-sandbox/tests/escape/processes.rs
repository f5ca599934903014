//! Processes outside the call, its own first process, and terminals.

use std::process::{Child, Command};

use crate::harness::Control::{Anyone, AnyoneIf, Root, RootIf};
use crate::harness::{attempt, check, check_prepared, check_with_debug, with_control};
use crate::yard::{PLAIN, Yard, is_root};

/// A process outside that everybody may signal.
struct Sleeper(Child);

impl Sleeper {
    fn start(_: &Yard) -> Self {
        let mut command = Command::new("sleep");
        command.arg("3141.59");
        if is_root() {
            std::os::unix::process::CommandExt::uid(&mut command, PLAIN);
        }
        Self(command.spawn().expect("a sleeper"))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.kill().expect("its end");
        self.0.wait().expect("its end");
    }
}

#[test]
fn processes_outside_are_neither_seen_nor_signalled() {
    check_prepared(&[attempt(Anyone, &["see-process", "3141.59"])], Sleeper::start);
    // Pid 1 inside is the cell's own first process, kept apart by the Landlock scope.
    check(&[attempt(Root, &["signal", "1"])]);
    // Pids of this machine mean nothing inside.
    let parent: &'static str = Box::leak(std::process::id().to_string().into_boxed_str());
    let words: &'static [&'static str] = Box::leak(Box::new(["signal", parent]));
    let pidfd: &'static [&'static str] = Box::leak(Box::new(["pidfd", parent]));
    check(&[attempt(Root, words), attempt(Anyone, pidfd)]);
}

#[test]
fn the_first_process_keeps_its_limits_and_its_turns() {
    check(&[
        with_control(Anyone, &["limit-process", "1"], &["limit-process", "@sibling"]),
        with_control(
            Anyone,
            &["schedule-process", "policy", "1"],
            &["schedule-process", "policy", "@sibling"],
        ),
        with_control(
            Anyone,
            &["schedule-process", "parameters", "1"],
            &["schedule-process", "parameters", "@sibling"],
        ),
        with_control(
            Anyone,
            &["schedule-process", "attributes", "1"],
            &["schedule-process", "attributes", "@sibling"],
        ),
        with_control(
            Anyone,
            &["schedule-process", "processors", "1"],
            &["schedule-process", "processors", "@sibling"],
        ),
        with_control(
            Anyone,
            &["schedule-process", "nice", "1"],
            &["schedule-process", "nice", "@sibling"],
        ),
        with_control(
            Anyone,
            &["schedule-process", "disk", "1"],
            &["schedule-process", "disk", "@sibling"],
        ),
    ]);
}

#[test]
fn nothing_can_be_traced() {
    check(&[
        attempt(Anyone, &["call", "ptrace-traceme"]),
        attempt(Anyone, &["call", "process_vm_readv"]),
        attempt(Anyone, &["call", "process_vm_writev"]),
        attempt(Anyone, &["pidfd-getfd"]),
        attempt(AnyoneIf("built without it"), &["call", "kcmp"]),
    ]);
}

#[test]
fn nobody_is_anybody_else() {
    check(&[
        attempt(Root, &["call", "set-user-0"]),
        attempt(Root, &["call", "capset"]),
        attempt(Root, &["call", "nice"]),
        attempt(RootIf("root without the right to it"), &["raise-limit"]),
        attempt(RootIf("no right to real time here"), &["real-time"]),
        with_control(Root, &["set-id-program", "/usr/bin/su"], &["call", "set-user-0"]),
    ]);
}

#[test]
fn terminals_take_no_words_from_programs() {
    check(&[
        attempt(AnyoneIf("a kernel without TIOCSTI"), &["type-into-terminal"]),
        attempt(Anyone, &["console-selection"]),
        attempt(Anyone, &["line-discipline"]),
    ]);
}

#[test]
fn a_debugger_reaches_the_calls_own_processes_only() {
    check_with_debug(&[
        with_control(Anyone, &["trace", "1"], &["trace", "@sibling"]),
        with_control(Anyone, &["read-memory", "1"], &["read-memory", "@sibling"]),
        with_control(Anyone, &["read", "/proc/1/environ"], &["read", "/proc/@sibling/environ"]),
        with_control(
            Anyone,
            &["open-for-writing", "/proc/1/mem"],
            &["open-for-writing", "/proc/@sibling/mem"],
        ),
        with_control(Anyone, &["list", "/proc/1/fd"], &["list", "/proc/@sibling/fd"]),
        with_control(Anyone, &["read", "/proc/1/maps"], &["read", "/proc/@sibling/maps"]),
        attempt(Anyone, &["call", "personality"]),
        attempt(Anyone, &["call", "unshare-user"]),
    ]);
}
