//! What a session keeps on the disk is limited, for calls and background tasks.

use serde_json::json;

use crate::input::scripted;
use crate::yard::Yard;

#[test]
fn a_full_workspace_ends_calls_and_tasks_and_names_the_limit() {
    let yard = Yard::new();
    yard.write("chock.zon", ".{ .limits = .{ .workspace_bytes = \"8 MiB\", .time_s = 20 } }\n");
    yard.commit();
    let write = "exec 5> gone; rm gone; while :; do head -c 1M /dev/zero >&5; done";
    let call = |words: &str| json!({ "name": "run_command", "input": { "command": words } });
    let task = json!({ "name": "run_command", "input": { "command": write, "background": true } });
    let wait = json!({ "name": "task_output", "input": { "task": "task-01", "wait_s": 20 } });
    let calls = [call(write), call("head -c 4M /dev/zero > kept; sleep 0.4"), task, wait];
    scripted(&yard, &json!({ "turns": [{ "tools": calls }, { "text": "x" }] }));
    let ran = yard.chock(&["run", "go"]).expect(0);

    let outcomes = yard.outcomes();
    let limit = json!({ "limit": "workspace_bytes" });
    assert_eq!(outcomes[0]["ended"], limit, "{}", outcomes[0]);
    let told = outcomes[0]["text"].as_str().expect("words");
    assert!(told.contains("[chock: no output, ended by the limit `workspace_bytes`"), "{told}");
    assert!(told.contains("remove what is not needed"), "{told}");
    assert_eq!(outcomes[1]["ended"], json!({ "exited": 0 }), "{}", outcomes[1]);
    let told = outcomes[3]["text"].as_str().expect("words");
    assert!(told.contains("ended by the limit `workspace_bytes`"), "{told}");
    let finished = yard.records().into_iter().find(|record| record["kind"] == "task.finished");
    let finished = finished.expect("its end");
    assert_eq!(finished["body"]["outcome"]["ended"], limit, "{finished}");
    let shown = format!("{}{}", ran.out, ran.err);
    assert!(shown.contains("ended by the limit on workspace_bytes"), "{shown}");
}
