//! One call: its program, its streams, its end.

use serde_json::{Value, json};

use crate::yard::{Seen, Who, Yard, calls};

/// Runs one call for everyone, cold and warm, and checks what was seen.
pub(crate) fn check(call: &Value, expect: impl Fn(&Seen)) {
    check_in(&json!({}), call, expect);
}

/// As [`check`], in a session of its own kind.
pub(crate) fn check_in(session: &Value, call: &Value, expect: impl Fn(&Seen)) {
    for who in Who::all() {
        for warm in [0, 1] {
            let yard = Yard::new(*who);
            let mut spec = session.clone();
            spec["warm"] = json!(warm);
            spec["calls"] = json!([call]);
            let seen = calls(&yard.caged(spec));
            assert_eq!(seen.len(), 1, "{seen:?}");
            expect(&seen[0]);
        }
    }
}

fn shell(script: &str) -> Value {
    json!({ "argv": ["sh", "-c", script] })
}

#[test]
fn ends_are_told_apart() {
    check(&shell("exit 0"), |seen| assert_eq!(seen.ended, "Exited(0)"));
    check(&shell("exit 7"), |seen| assert_eq!(seen.ended, "Exited(7)"));
    check(&shell("kill -TERM $$"), |seen| assert_eq!(seen.ended, "Signalled(15)"));
    check(&json!({ "argv": ["no-such-program"] }), |seen| {
        assert_eq!(seen.ended, "NotStarted { step: Execute, errno: 2 }");
    });
    check(&json!({ "argv": ["/etc/passwd"] }), |seen| {
        assert_eq!(seen.ended, "NotStarted { step: Execute, errno: 13 }");
    });
    check(&json!({ "argv": ["true"], "directory": "/nowhere" }), |seen| {
        assert_eq!(seen.ended, "NotStarted { step: Directory, errno: 2 }");
    });
    check(&json!({ "hand": "nobody", "request": [] }), |seen| {
        assert_eq!(seen.ended, "NotStarted { step: Hand, errno: 2 }");
    });
}

#[test]
fn output_and_errors_come_in_the_order_of_writing() {
    check(&shell("echo a; echo b >&2; echo c; echo d > /dev/stderr"), |seen| {
        assert_eq!(seen.output, "a\nb\nc\nd\n");
    });
}

#[test]
fn much_output_is_whole() {
    let script = "i=0; while [ $i -lt 200 ]; do head -c 20000 /dev/zero | tr '\\0' x; \
                  i=$((i+1)); done";
    check(&shell(script), |seen| assert_eq!(seen.output.len(), 4_000_000));
}

#[test]
fn a_program_that_left_does_not_hold_the_output() {
    check(&shell("sleep 60 & echo done"), |seen| {
        assert_eq!((seen.output.as_str(), seen.ended.as_str()), ("done\n", "Exited(0)"));
    });
}

#[test]
fn time_and_cancel_end_a_call_with_everything_in_it() {
    let mut call = shell("echo begun; setsid sleep 60 & sleep 60");
    call["wall_ms"] = json!(300);
    check(&call, |seen| {
        assert_eq!((seen.output.as_str(), seen.ended.as_str()), ("begun\n", "TimedOut"));
    });
    let mut call = shell("yes");
    call["wall_ms"] = json!(300);
    check(&call, |seen| assert_eq!(seen.ended, "TimedOut"));
    let mut call = shell("trap '' INT TERM HUP; echo begun; sleep 60");
    call["cancel_ms"] = json!(300);
    check(&call, |seen| {
        assert_eq!((seen.output.as_str(), seen.ended.as_str()), ("begun\n", "Cancelled"));
    });
}

#[test]
fn the_environment_is_what_was_given() {
    let call = json!({ "argv": ["env"], "environment": ["ONLY=this"] });
    check(&call, |seen| {
        let mut names: Vec<_> =
            seen.output.lines().filter_map(|line| line.split('=').next()).collect();
        names.sort_unstable();
        assert_eq!(names, ["HOME", "LANG", "ONLY", "PATH"]);
    });
}

#[test]
fn streams_are_all_that_is_open() {
    check(&shell("ls /proc/self/fd | tr '\\n' ' '; cat; echo end"), |seen| {
        // 3 is the directory that `ls` reads. Input is empty.
        assert_eq!(seen.output, "0 1 2 3 end\n");
    });
}

#[test]
fn signals_are_as_a_program_expects_them() {
    check(&shell("grep -E '^Sig(Blk|Ign)' /proc/self/status"), |seen| {
        let zero = "0000000000000000";
        assert_eq!(seen.output, format!("SigBlk:\t{zero}\nSigIgn:\t{zero}\n"));
    });
}

#[test]
fn large_orders_pass_and_larger_ones_are_refused() {
    let long = "x".repeat(100_000);
    let call = json!({ "argv": ["sh", "-c", "echo ${#1}", "sh", long] });
    check(&call, |seen| assert_eq!(seen.output, "100000\n"));
    let parts: Vec<_> = (0..30).map(|_| "y".repeat(100_000)).collect();
    let argv = [&["true".to_owned()][..], &parts].concat();
    let call = json!({ "argv": argv });
    check(&call, |seen| assert!(seen.fault.contains("the limit is"), "{seen:?}"));
}

#[test]
fn hands_work_without_a_program() {
    check(&json!({ "hand": "echo", "request": ["a", "b"] }), |seen| {
        assert_eq!((seen.output.as_str(), seen.ended.as_str()), ("a\nb", "Exited(0)"));
    });
    let large = "z".repeat(90_000);
    check(&json!({ "hand": "echo", "request": [large] }), |seen| {
        assert_eq!(seen.output.len(), 90_000);
    });
    check(&json!({ "hand": "read", "request": ["file"] }), |seen| {
        assert_eq!(seen.output, "plain\n");
    });
    check(&json!({ "hand": "panic", "request": [] }), |seen| {
        assert_eq!(seen.ended, "Exited(101)");
        assert!(seen.output.contains("a hand that breaks"), "{seen:?}");
    });
}

#[test]
fn own_streams_are_the_callers() {
    let mut call = shell("echo to the null device");
    call["own"] = json!(true);
    check(&call, |seen| {
        assert_eq!((seen.output.as_str(), seen.ended.as_str()), ("", "Exited(0)"));
    });
}

#[test]
fn every_layer_is_reported_with_its_proof() {
    check(&shell("true"), |seen| {
        let layers = seen.said["layers"].as_array().expect("layers");
        let names: Vec<_> = layers.iter().filter_map(|layer| layer["layer"].as_str()).collect();
        for layer in chock_sandbox::Layer::ALL {
            let name = serde_json::to_value(layer).expect("a name");
            let optional = matches!(
                layer,
                chock_sandbox::Layer::ControlGroup | chock_sandbox::Layer::IdMappedMount
            );
            let count = names.iter().filter(|other| Some(**other) == name.as_str()).count();
            assert!(count == 1 || (optional && count == 0), "{layer}: {count} in {names:?}");
        }
        assert!(
            layers.iter().all(|layer| layer["proof"].as_str().is_some_and(|it| !it.is_empty()))
        );
    });
}

#[test]
fn two_rows_of_the_policy_open_and_shut_the_filter() {
    let code = json!({ "argv": ["/opt/probe/cage-probe", "try", "writable-code"] });
    let traced = json!({ "argv": ["/opt/probe/cage-probe", "try", "trace", "@sibling"] });
    let memory = json!({ "argv": ["/opt/probe/cage-probe", "try", "read-memory", "@sibling"] });
    for (session, call, ended) in [
        (json!({ "jit": true }), &code, "Exited(0)"),
        (json!({ "jit": false }), &code, "Exited(3)"),
        (json!({ "debug": true }), &traced, "Exited(0)"),
        (json!({ "debug": false }), &traced, "Exited(3)"),
        (json!({ "debug": true }), &memory, "Exited(0)"),
        (json!({ "debug": false }), &memory, "Exited(3)"),
    ] {
        check_in(&session, call, |seen| assert_eq!(seen.ended, ended, "{session} {seen:?}"));
    }
}
