//! Limits hold, and are named when they end a call.

use serde_json::json;

use crate::calls::check_in;
use crate::yard::{Who, Yard, calls};

fn shell(script: &str) -> serde_json::Value {
    json!({ "argv": ["bash", "-c", script] })
}

#[test]
fn a_fork_bomb_is_held_and_gone() {
    let session = json!({ "limits": { "processes": 50 } });
    let bomb = json!({ "argv": ["/opt/probe/cage-probe", "try", "multiply", "2000"] });
    check_in(&session, &bomb, |seen| {
        let line = seen.output.trim();
        let count = line.strip_prefix("refused: after ").and_then(|rest| rest.parse().ok());
        assert!((40..=50).contains(&count.unwrap_or(0)), "{seen:?}");
    });
}

#[test]
fn a_file_stays_under_its_limit_and_the_limit_is_named() {
    let session = json!({ "limits": { "file_bytes": 1 << 20 } });
    let head = json!({ "argv": ["dd", "if=/dev/zero", "of=large", "bs=64k", "count=100"] });
    check_in(&session, &head, |seen| {
        assert_eq!(seen.ended, "Limit(FileSize)", "{seen:?}");
        assert_eq!(seen.said["limits"], json!(["file_size"]));
    });
    // Through a shell the limit is a code; it is named all the same.
    let script = "dd if=/dev/zero of=large bs=64k count=100 2>/dev/null; c=$?; \
                  test $(stat -c %s large) -le 1048576 || echo large; exit $c";
    check_in(&session, &shell(script), |seen| {
        assert_eq!(seen.said["limits"], json!(["file_size"]), "{seen:?}");
        assert!(!seen.output.contains("large\n"), "{seen:?}");
    });
}

#[test]
fn open_files_memory_and_scratch_are_bounded() {
    let session = json!({ "limits": {
        "open_files": 64, "data_bytes": 200 << 20, "scratch_bytes": 4 << 20,
        "shared_memory_bytes": 2 << 20,
    } });
    check_in(&session, &shell("ulimit -n; ulimit -Hn; ulimit -d; ulimit -c"), |seen| {
        assert_eq!(seen.output, "64\n64\n204800\n0\n");
    });
    for place in ["/tmp/large", "/dev/shm/large"] {
        let script = format!("dd if=/dev/zero of={place} bs=64k count=500 2>&1");
        check_in(&session, &shell(&script), |seen| {
            assert!(seen.output.contains("No space left"), "{place}: {seen:?}");
        });
    }
    let script = "for n in $(seq 1 3000); do : > /tmp/$n || exit 5; done 2>/dev/null";
    check_in(&session, &shell(script), |seen| assert_eq!(seen.ended, "Exited(5)", "{seen:?}"));
    let eater = json!({ "argv": ["/opt/probe/cage-probe", "try", "allocate", "400"] });
    check_in(&session, &eater, |seen| {
        assert!(seen.output.contains("refused"), "{seen:?}");
    });
}

#[test]
fn memory_is_limited_by_a_control_group_where_there_is_one() {
    let session = json!({ "limits": { "memory_bytes": 64 << 20 } });
    let eater = json!({ "argv": ["/opt/probe/cage-probe", "try", "allocate", "400"] });
    check_in(&session, &eater, |seen| {
        let layers = seen.said["layers"].as_array().expect("layers");
        if !layers.iter().any(|layer| layer["layer"] == "control_group") {
            println!("not tried: no control group can be had");
            return;
        }
        assert_eq!(seen.ended, "Limit(Memory)", "{seen:?}");
        assert_eq!(seen.said["limits"], json!(["memory"]));
    });
}

#[test]
fn the_call_that_ran_out_of_memory_is_named_and_not_the_one_beside_it() {
    // The other one ends between the kill and the end of the call that it happened to.
    let script = "mkdir /tmp/first 2>/dev/null || { sleep 1; exit 0; }; sleep 0.3; \
                  /opt/probe/cage-probe try allocate 400; c=$?; sleep 2; exit $c";
    let pair = json!({ "argv": ["bash", "-c", script], "threads": 2 });
    let later = shell("exit 3");
    for who in Who::all() {
        let yard = Yard::new(*who);
        let limits = json!({ "memory_bytes": 64 << 20 });
        let said = yard.caged(json!({ "limits": limits, "warm": 1, "calls": [pair, later] }));
        let seen = calls(&said);
        assert_eq!(seen.len(), 3, "{said:?}");
        let proof = |layer: &serde_json::Value| {
            (layer["layer"] == "control_group").then(|| layer["proof"].as_str().map(str::to_owned))
        };
        let layers = seen[0].said["layers"].as_array();
        let layers = layers.unwrap_or_else(|| panic!("{who:?}: {said:?}"));
        let Some(proof) = layers.iter().find_map(proof).flatten() else {
            println!("{who:?}: not tried: no control group can be had");
            continue;
        };
        println!("{who:?}: {proof}");
        let ends: Vec<_> = seen.iter().map(|call| call.ended.as_str()).collect();
        assert_eq!(ends, ["Exited(0)", "Exited(137)", "Exited(3)"], "{seen:?}");
        let limits: Vec<_> = seen.iter().map(|call| call.said["limits"].clone()).collect();
        assert_eq!(limits, [json!([]), json!(["memory"]), json!([])], "{seen:?}");
    }
}

#[test]
fn a_session_leaves_the_user_something_to_watch_files_with() {
    let whole = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_instances");
    let whole: u64 = whole.expect("a number").trim().parse().expect("a number");
    let limits = json!({ "limits": { "open_files": whole * 2 + 32 } });
    let taker = json!({ "argv": ["/opt/probe/cage-probe", "try", "take-watchers"] });
    check_in(&limits, &taker, |seen| {
        let line = seen.output.trim();
        let taken = line.strip_prefix("refused: after ").and_then(|rest| rest.parse().ok());
        assert!(taken.is_some_and(|taken: u64| taken <= whole / 2), "of {whole}: {seen:?}");
    });
}
