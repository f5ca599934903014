//! Background tasks: they live across calls, are bounded, and end with their session.

use std::fs;
use std::time::{Duration, Instant};

use chock_log::Ended;
use chock_tools::{Cancel, Proposed, Stopper, TASKS_MAX};
use serde_json::json;

use crate::yard::Yard;

/// Counts the machine's processes that have `marker` among their arguments.
fn processes(marker: &str) -> usize {
    let all = fs::read_dir("/proc").expect("proc").flatten();
    let words = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    words.filter(|words| String::from_utf8_lossy(words).contains(marker)).count()
}

/// Waits until a condition holds.
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
fn show(yard: &mut Yard, task: &str, wait: u64) -> String {
    let outcome = yard.call("task_output", &json!({ "task": task, "wait_s": wait }));
    assert_eq!(outcome.ended, Ended::Done, "{}", outcome.text);
    outcome.text
}

#[test]
fn a_task_serves_later_calls_and_ends_with_the_session() {
    let mut yard = Yard::new();
    let task = yard.start("exec python3 -m http.server 8123 --bind 127.0.0.1");
    assert_eq!(task, "task-01");
    let get =
        "for i in $(seq 100); do curl -sf http://127.0.0.1:8123/a.txt && break; sleep 0.1; done";
    for _ in 0..3 {
        assert_eq!(yard.run(get), "one\ntwo\nthree\n");
    }
    // A call's own processes cannot see it, and what a call starts still ends with the call.
    assert_eq!(yard.run("cat /proc/[0-9]*/comm | grep -c python || true"), "0\n");
    assert!(show(&mut yard, &task, 0).contains("task-01 has been running for"));
    let running = processes("http.server\08123");
    assert!(running > 0);
    let since = Instant::now();
    let ends = yard.tools.end_tasks();
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
    assert_eq!(processes("http.server\08123"), 0);
    assert_eq!(ends.len(), 1);
    let outcome = &ends[0].outcome;
    assert_eq!(outcome.ended, Ended::Cancelled);
    let words = "task-01 (`exec python3 -m http.server 8123 --bind 127.0.0.1`) was stopped with";
    assert!(outcome.text.starts_with(words), "{}", outcome.text);
    assert!(yard.tools.end_tasks().is_empty(), "each end is handed over once");
}

#[test]
fn dropping_the_tools_ends_their_tasks() {
    let mut yard = Yard::new();
    yard.start("sleep 971.25");
    until("it runs", || processes("971.25") > 0);
    let since = Instant::now();
    drop(yard);
    assert_eq!(processes("971.25"), 0);
    assert!(since.elapsed() < Duration::from_secs(5));
}

#[test]
fn output_is_shown_once_and_the_whole_is_a_file_inside() {
    let mut yard = Yard::new();
    let task = yard.start("echo first; until test -e go; do sleep 0.05; done; echo second; exit 3");
    until("the first line", || yard.tools.tasks().list()[0].bytes == 6);
    let text = show(&mut yard, &task, 0);
    assert!(text.starts_with("first\n[chock: task-01 has been running for"), "{text}");
    let text = show(&mut yard, &task, 0);
    assert!(text.starts_with("[chock: no new output; task-01 has been running"), "{text}");
    assert!(yard.tools.ended_tasks().is_empty());
    yard.run("touch go");
    let text = show(&mut yard, &task, 60);
    assert!(text.starts_with("second\n[chock: task-01 (`echo first;"), "{text}");
    assert!(text.contains("has ended: exit status 3, after 0 seconds") || text.contains("second"));
    assert!(text.contains("the 13 bytes it printed are in /run/chock/outputs/task-01.out"));
    assert!(yard.tools.ended_tasks().is_empty(), "the call told of it");
    assert_eq!(yard.run("cat /run/chock/outputs/task-01.out"), "first\nsecond\n");
    yard.run("! (echo x > /run/chock/outputs/task-01.out) 2> /dev/null");
}

#[test]
fn a_flood_is_counted_and_bounded_on_disk() {
    let mut yard = Yard::new();
    let task =
        yard.start("i=0; yes flood | head -c 20000000; echo; echo the end; exec sleep 972.5");
    until("the flood is over", || yard.tools.tasks().list()[0].bytes == 20_000_009);
    let file = yard.at("outputs/task-01.out");
    assert_eq!(fs::metadata(&file).expect("a file").len(), 8 << 20);
    let outcome = yard.call("task_output", &json!({ "task": task }));
    assert!(outcome.text.len() < 70_000, "{}", outcome.text.len());
    assert!(outcome.text.starts_with("flood\n") && outcome.text.contains("\nthe end\n[chock:"));
    assert!(outcome.text.contains("bytes left out here]\n"));
    assert!(outcome.text.contains("the first 8388608 of the 20000009 bytes it printed are in"));
    assert_eq!(outcome.bytes_kept + outcome.bytes_dropped, 20_000_009);
    let stopped = yard.call("task_stop", &json!({ "task": task }));
    assert!(stopped.text.contains("was stopped by task_stop"), "{}", stopped.text);
    assert_eq!(processes("972.5"), 0);
    let row = yard.tools.tasks().list().remove(0);
    assert_eq!((row.bytes, row.bytes_kept), (20_000_009, 8 << 20));
    assert_eq!(row.ended, Some(Ended::Cancelled));
}

#[test]
fn every_end_has_its_words() {
    let mut yard = Yard::new();
    let cases = [
        (json!({"command": "true"}), Ended::Exited(0), "has ended: exit status 0, after 0 seconds"),
        (json!({"command": "kill -9 $$"}), Ended::Signalled(9), "has ended: ended by signal 9"),
        (
            json!({"command": "sleep 60", "timeout_s": 1}),
            Ended::TimedOut(1),
            "has ended: ended after 1 second, its time limit",
        ),
        (
            json!({"command": "true", "cwd": "absent"}),
            Ended::Fault,
            "was not started: the directory `absent` is not there",
        ),
    ];
    for (mut call, ended, words) in cases {
        call["background"] = json!(true);
        yard.call("run_command", &call);
        until("it ends", || yard.tools.tasks().list().iter().all(|row| row.ended.is_some()));
        let ends = yard.tools.ended_tasks();
        assert_eq!(ends.len(), 1, "{call}");
        assert_eq!(ends[0].outcome.ended, ended, "{call}");
        assert!(ends[0].outcome.text.contains(words), "{}", ends[0].outcome.text);
        yard.record_ends(ends);
    }
}

#[test]
fn the_thirty_third_task_is_refused_and_so_is_an_unknown_name() {
    let mut yard = Yard::new();
    let none = yard.call("task_output", &json!({"task": "task-01"}));
    assert!(none.text.contains("none was started in this session"), "{}", none.text);
    for _ in 0..TASKS_MAX {
        yard.start("true");
    }
    let one_more = json!({"command": "touch ran", "background": true});
    let refused = yard.call("run_command", &one_more);
    assert_eq!(refused.ended, Ended::Fault);
    assert!(refused.text.contains("has started 32 background tasks"), "{}", refused.text);
    yard.run("test ! -e ran");
    let unknown = yard.call("task_stop", &json!({"task": "task-1"}));
    assert!(unknown.text.contains("there is no task `task-1`: did you mean"), "{}", unknown.text);
    let names = yard.tools.tasks().list();
    assert_eq!(names.last().expect("a task").task, "task-32");
}

#[test]
fn tasks_run_side_by_side_and_one_is_stopped_by_a_person() {
    let mut yard = Yard::new();
    for number in 0..4 {
        yard.start(&format!("sleep 973.{number}"));
    }
    until("all run", || (0..4).all(|number| processes(&format!("sleep\0973.{number}")) > 0));
    let tasks = yard.tools.tasks();
    let row = tasks.stop("task-02", Stopper::Person).expect("a task");
    assert_eq!(row.ended, Some(Ended::Cancelled));
    assert_eq!([processes("sleep\0973.1"), processes("sleep\0973.2")], [0, 1]);
    assert_eq!(tasks.stop("task-02", Stopper::Model).expect("a task").ended, row.ended);
    assert!(tasks.stop("task-09", Stopper::Person).is_none());
    let ends = yard.tools.ended_tasks();
    assert!(ends[0].outcome.text.contains("was stopped by the person"), "{:?}", ends);
    assert_eq!(yard.tools.end_tasks().len(), 3);
}

#[test]
fn a_wait_ends_with_the_turn() {
    let mut yard = Yard::new();
    yard.start("sleep 974.5");
    let cancel = Cancel::new().expect("a pipe");
    cancel.trigger();
    let since = Instant::now();
    let call = json!({"task": "task-01", "wait_s": 600});
    let outcome = yard.call_until("task_output", &call, &cancel);
    assert!(since.elapsed() < Duration::from_secs(10));
    assert!(outcome.text.contains("has been running for"), "{}", outcome.text);
    assert_eq!(yard.tools.tasks().list()[0].ended, None, "the task goes on");
}

#[test]
fn a_person_is_asked_about_the_background_too() {
    let mut yard = Yard::new();
    let call = json!({"command": "sleep 1", "background": true});
    let (_, proposed) = yard.propose("run_command", &call);
    let Proposed::Act { proposal, reading } = proposed else { panic!("an act") };
    assert_eq!(proposal.effect, "sleep 1\n(in the background, for at most 1800 s)");
    let begins = reading.begins("c").expect("a record");
    assert_eq!((begins.task.as_str(), begins.command.as_str()), ("task-01", "sleep 1"));
    let (_, proposed) = yard.propose("run_command", &json!({"command": "sleep 1"}));
    let Proposed::Act { reading, .. } = proposed else { panic!("an act") };
    assert_eq!(reading.begins("c"), None);
}
