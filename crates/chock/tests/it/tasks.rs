//! Background tasks and the control socket, with the whole program.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fake::Fake;
use crate::input::scripted;
use crate::kill::until;
use crate::yard::{Ran, Yard};

/// Counts the machine's processes that have exactly these words as arguments.
fn processes(words: &[&str]) -> usize {
    let wanted = words.join("\0") + "\0";
    let all = fs::read_dir("/proc").expect("proc").flatten();
    let found = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    found.filter(|words| words == wanted.as_bytes()).count()
}

/// Counts the machine's processes that have these words among their arguments.
fn mentioning(words: &str) -> usize {
    let all = fs::read_dir("/proc").expect("proc").flatten();
    let found = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    found.filter(|found| String::from_utf8_lossy(found).contains(words)).count()
}

fn task(command: &str) -> Value {
    json!({ "name": "run_command", "input": { "command": command, "background": true } })
}

fn call(command: &str) -> Value {
    json!({ "name": "run_command", "input": { "command": command } })
}

/// A session in another process. It does not outlive a test that fails.
pub(crate) struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Run {
    fn of(mut command: Command) -> Self {
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program"))
    }

    /// Waits for its end and returns its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.0.wait().expect("an end").code()
    }

    /// Asks it to end, and returns its exit code.
    fn interrupt(&mut self) -> Option<i32> {
        let id = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(id, rustix::process::Signal::INT).expect("a signal");
        self.wait()
    }
}

/// Starts a session in another process.
pub(crate) fn start(yard: &Yard) -> Run {
    Run::of(yard.command(&["run", "go"]))
}

fn kinds(yard: &Yard) -> Vec<String> {
    let kinds = yard.records().into_iter().map(|record| record["kind"].as_str().map(str::to_owned));
    kinds.map(|kind| kind.expect("a kind")).collect()
}

/// Returns the bodies of the records of a kind.
fn bodies(yard: &Yard, kind: &str) -> Vec<Value> {
    let records = yard.records().into_iter().filter(|record| record["kind"] == kind);
    records.map(|record| record["body"].clone()).collect()
}

/// Names the directory of the newest session's control socket.
fn control(yard: &Yard) -> PathBuf {
    yard.logs().pop().expect("a session").with_extension("ctl")
}

#[test]
fn a_dev_server_answers_across_later_calls_and_is_gone_with_the_session() {
    for (yard, port) in [(Yard::new(), "8461"), (Yard::new().as_plain_user(), "8462")] {
        let server = ["python3", "-m", "http.server", port, "--bind", "127.0.0.1"];
        let get = format!(
            "for i in $(seq 200); do curl -sf http://127.0.0.1:{port}/a.txt && exit; sleep 0.05; done; exit 9"
        );
        let one = |call: Value| json!({ "tools": [call] });
        scripted(
            &yard,
            &json!({ "turns": [
                one(task(&format!("exec {}", server.join(" ")))),
                one(call(&get)), one(call(&get)), one(call(&get)),
                { "text": "it serves" } ] }),
        );
        let ran = yard.chock(&["run", "serve"]).expect(0);
        let ended = Instant::now();
        until("the server is dead", || mentioning(&server[1..].join("\0")) == 0);
        assert!(ended.elapsed() < Duration::from_secs(1), "{:?}", ended.elapsed());
        for outcome in &yard.outcomes()[1..] {
            assert_eq!(outcome["text"], "alpha\n[chock: exit status 0]\n", "{outcome}");
        }
        assert!(ran.err.contains("task-01 runs in the background"), "{}", ran.err);
        assert!(ran.err.contains("task-01 stopped · "), "{}", ran.err);
        let started = bodies(&yard, "task.started").remove(0);
        assert_eq!((&started["task"], &started["call"]), (&json!("task-01"), &started["call"]));
        let kinds = kinds(&yard);
        let at = |kind: &str| kinds.iter().position(|other| other == kind).expect(kind);
        assert!(at("approval.answered") < at("task.started"), "{kinds:?}");
        assert!(at("task.finished") < at("session.ended"), "{kinds:?}");
        let finished = bodies(&yard, "task.finished").remove(0);
        assert_eq!(finished["outcome"]["ended"], "cancelled", "{finished}");
        assert!(!control(&yard).exists());
        yard.chock(&["sessions", "verify"]).expect(0);
    }
}

#[test]
fn killing_chock_ends_its_tasks_and_the_next_run_says_so() {
    for (yard, time) in [(Yard::new(), "961.25"), (Yard::new().as_plain_user(), "961.75")] {
        let (sleeping, waiting) = (format!("exec sleep {time}"), "sleep 962.5");
        scripted(
            &yard,
            &json!({ "turns": [
                { "tools": [task(&sleeping), call(waiting)] },
                { "tools": [task("echo again")] },
                { "tools": [
                    { "name": "task_output", "input": { "task": "task-01" } },
                    { "name": "task_output", "input": { "task": "task-02", "wait_s": 30 } } ] },
                { "text": "went on" } ] }),
        );
        let mut child = start(&yard);
        until("both run", || processes(&["sleep", time]) + processes(&["sleep", "962.5"]) == 2);
        child.0.kill().expect("a kill");
        child.wait();
        let killed = Instant::now();
        until("the task is dead", || processes(&["sleep", time]) == 0);
        assert!(killed.elapsed() < Duration::from_secs(1), "{:?}", killed.elapsed());

        // The dead owner's socket is in the way of nobody.
        assert!(control(&yard).join("s").exists());
        let ran = yard.chock(&["tasks"]).expect(1);
        assert!(ran.err.contains("no session of this project runs"), "{}", ran.err);

        let ran = yard.chock(&["run", "--continue"]).expect(0);
        assert!(ran.out.contains("went on"), "{}", ran.out);
        let finished = bodies(&yard, "task.finished");
        assert_eq!(finished[0]["task"], "task-01");
        assert_eq!(finished[0]["outcome"]["ended"], "unknown");
        let notices = bodies(&yard, "notice");
        assert!(notices.iter().any(|notice| notice["tasks"] == json!(["task-01"])), "{notices:?}");
        let outcomes = yard.outcomes();
        let earlier = outcomes[3]["text"].as_str().expect("words");
        assert!(earlier.contains("ended with an earlier run"), "{earlier}");
        let again = outcomes[4]["text"].as_str().expect("words");
        assert!(again.starts_with("again\n[chock: task-02 (`echo again`) has ended"), "{again}");
        assert!(!control(&yard).exists());
    }
}

#[test]
fn the_model_is_told_of_an_end_at_the_top_of_the_next_turn() {
    let yard = Yard::new();
    let wait = "until grep -q x /run/chock/outputs/task-01.out; do sleep 0.02; done; sleep 0.3";
    let fake = Fake::script(
        &json!({ "turns": [
            { "tools": [task("echo x; exit 7"), call(wait), call("echo between")] },
            { "expect": { "last_contains": "[chock] task-01 (`echo x; exit 7`) has ended: exit status 7" },
              "text": "I see" } ] }),
        &yard.path("."),
    );
    yard.configure(fake.port);
    let ran = yard.chock(&["run", "go"]).expect(0);
    fake.expect_finished();
    assert!(ran.err.contains("task-01 exit 7 · "), "{}", ran.err);
    let kinds = kinds(&yard);
    let at = |kind: &str| kinds.iter().position(|other| other == kind).expect(kind);
    let last_call = kinds.iter().rposition(|kind| kind == "tool.finished").expect("a call");
    let told = kinds.iter().rposition(|kind| kind == "notice").expect("a notice");
    assert!(last_call < at("task.finished") && at("task.finished") < told, "{kinds:?}");
    let tells = |notice: &&Value| notice["tasks"].is_array();
    assert_eq!(bodies(&yard, "notice").iter().filter(tells).count(), 1);
}

#[test]
fn another_process_lists_reads_and_stops_the_tasks() {
    for yard in [Yard::new(), Yard::new().as_plain_user()] {
        scripted(
            &yard,
            &json!({ "turns": [
                { "tools": [
                    task("printf 'hello\\n\\033[2J\\377\\n'; exec sleep 963.25"),
                    task("exec sleep 963.5"),
                    { "name": "task_output", "input": { "task": "task-02", "wait_s": 300 } } ] },
                { "text": "went on" } ] }),
        );
        let mut child = start(&yard);
        until("both run", || processes(&["sleep", "963.25"]) + processes(&["sleep", "963.5"]) == 2);

        let listed = yard.chock(&["tasks", "--json"]).expect(0).out;
        let rows: Vec<Value> =
            listed.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
        assert_eq!(rows.len(), 2, "{listed}");
        assert_eq!((&rows[0]["task"], &rows[0]["state"]), (&json!("task-01"), &json!("running")));
        assert_eq!(
            (&rows[0]["bytes"], &rows[1]["command"]),
            (&json!(12), &json!("exec sleep 963.5"))
        );
        let listed = yard.chock(&["tasks", "list"]).expect(0).out;
        assert!(listed.contains("task-02  running"), "{listed}");

        let output = yard.command(&["tasks", "output", "task-01"]).output().expect("the program");
        assert_eq!(output.stdout, b"hello\n\x1b[2J\xff\n");
        let object = yard.chock(&["tasks", "output", "task-01", "--json"]).expect(0).out;
        let object: Value = serde_json::from_str(&object).expect("an object");
        assert_eq!(object["text"], "hello\n\u{1b}[2J\u{fffd}\n");
        let unknown = yard.chock(&["tasks", "stop", "task-2"]).expect(1);
        assert!(unknown.err.contains("did you mean `task-02`?"), "{}", unknown.err);

        let id = yard.logs().pop().expect("a log").file_stem().expect("an id").to_owned();
        let end = &id.to_str().expect("text")[16..];
        let stopped = yard.chock(&["tasks", "stop", "task-02", "--session", end]).expect(0);
        assert!(stopped.err.contains("task-02 stopped"), "{}", stopped.err);
        assert_eq!(child.wait(), Some(0));
        assert_eq!(processes(&["sleep", "963.25"]) + processes(&["sleep", "963.5"]), 0);
        let words: Vec<_> = bodies(&yard, "task.finished")
            .iter()
            .map(|body| body["outcome"]["text"].as_str().expect("words").to_owned())
            .collect();
        assert!(
            words[0].contains("task-02 (`exec sleep 963.5`) was stopped by the person"),
            "{words:?}"
        );
        assert!(words[1].contains("was stopped with the session"), "{words:?}");

        let over = yard.chock(&["tasks"]).expect(1);
        assert!(over.err.contains("no session of this project runs"), "{}", over.err);
        let over = yard.chock(&["tasks", "--session", end]).expect(1);
        assert!(over.err.contains("does not run"), "{}", over.err);
    }
}

#[test]
fn a_session_without_tasks_says_so() {
    let yard = Yard::new();
    scripted(&yard, &json!({ "turns": [{ "tools": [call("sleep 964.5")] }, { "text": "x" }] }));
    let mut child = start(&yard);
    until("the call runs", || processes(&["sleep", "964.5"]) == 1);
    let listed = yard.chock(&["tasks"]).expect(0);
    assert!(
        listed.err.contains("has no background tasks") && listed.out.is_empty(),
        "{}",
        listed.err
    );
    let output = yard.chock(&["tasks", "output", "task-01"]).expect(1);
    assert!(output.err.contains("has no background tasks"), "{}", output.err);
    let mistyped = yard.chock(&["tasks", "stpo", "task-01"]).expect(1);
    assert!(mistyped.err.contains("stop"), "{}", mistyped.err);
    assert_eq!(child.interrupt(), Some(3));
}

#[test]
fn a_stop_of_the_run_ends_its_tasks_too() {
    let yard = Yard::new();
    scripted(
        &yard,
        &json!({ "turns": [{ "tools": [task("exec sleep 965.25"), call("sleep 965.5")] }, { "text": "x" }] }),
    );
    let mut child = start(&yard);
    until("both run", || processes(&["sleep", "965.25"]) + processes(&["sleep", "965.5"]) == 2);
    assert_eq!(child.interrupt(), Some(3));
    assert_eq!(processes(&["sleep", "965.25"]), 0);
    assert_eq!(bodies(&yard, "task.finished")[0]["outcome"]["ended"], "cancelled");
}

#[test]
fn a_flood_is_bounded_on_disk_and_read_from_outside() {
    let yard = Yard::new();
    let flood = "head -c 12000000 /dev/zero | tr '\\0' x; echo; echo the end; exec sleep 966.5";
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [task(flood), { "name": "task_output", "input": { "task": "task-01", "wait_s": 300 } }] },
            { "text": "x" } ] }),
    );
    let mut child = start(&yard);
    until("the flood is over", || processes(&["sleep", "966.5"]) == 1);
    let outputs = yard.logs().pop().expect("a log").with_extension("outputs");
    assert_eq!(fs::metadata(outputs.join("task-01.out")).expect("a file").len(), 8 << 20);
    let read = yard.chock(&["tasks", "output", "task-01"]).expect(0);
    assert!(read.out.starts_with("xxxx") && read.out.ends_with("x\nthe end\n"));
    assert!(read.out.len() >= 8 << 20 && read.out.len() < 9 << 20, "{}", read.out.len());
    assert!(read.err.contains("bytes in the middle are not kept"), "{}", read.err);
    yard.chock(&["tasks", "stop", "task-01"]).expect(0);
    assert_eq!(child.wait(), Some(0));
    let finished = bodies(&yard, "task.finished").remove(0);
    assert_eq!(finished["outcome"]["bytes_kept"], 8 << 20, "{finished}");
    assert_eq!(finished["outcome"]["bytes_dropped"], 12_000_009 - (8 << 20), "{finished}");
}

#[test]
fn what_a_task_wrote_after_the_last_turn_is_kept_for_review() {
    let yard = Yard::new();
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [task("sleep 0.5; echo late > late.txt; exec sleep 967.5")] },
            { "text": "done", "delay_ms": 2000 } ] }),
    );
    yard.chock(&["run", "go"]).expect(0);
    let diff = yard.chock(&["diff"]).expect(0).out;
    assert!(diff.contains("late.txt") && diff.contains("+late"), "{diff}");
}

#[test]
fn the_limit_on_tasks_and_a_rule_against_stopping_hold() {
    let yard = Yard::new();
    yard.write(
        "chock.zon",
        ".{ .policy = .{ .rules = .{ .{ .action = \"call.task_stop\", .decision = .deny } } } }\n",
    );
    yard.commit();
    let many = vec![task("true"); 33];
    let stop = json!({ "name": "task_stop", "input": { "task": "task-01" } });
    scripted(&yard, &json!({ "turns": [{ "tools": many }, { "tools": [stop] }, { "text": "x" }] }));
    yard.chock(&["run", "go"]).expect(0);
    let outcomes = yard.outcomes();
    assert_eq!(outcomes[31]["ended"], "done", "{}", outcomes[31]);
    let refused = &outcomes[32];
    assert_eq!(refused["ended"], "fault");
    assert!(refused["text"].as_str().expect("words").contains("32 background tasks"), "{refused}");
    assert_eq!(outcomes[33]["ended"], "denied", "{}", outcomes[33]);
    let started = bodies(&yard, "task.started");
    assert_eq!(started.last().expect("a task")["task"], "task-32");
    assert_eq!(bodies(&yard, "task.finished").len(), 32);
}

#[test]
fn a_time_that_somebody_wrote_binds_calls_and_tasks() {
    let yard = Yard::new();
    yard.write("chock.zon", ".{ .limits = .{ .time_s = 1 } }\n");
    yard.commit();
    let long = json!({ "name": "run_command", "input": {
        "command": "exec sleep 960.5", "background": true, "timeout_s": 3600 } });
    let wait = json!({ "name": "task_output", "input": { "task": "task-01", "wait_s": 60 } });
    let calls = [task("exec sleep 960.5"), wait, long, call("sleep 960.75")];
    scripted(&yard, &json!({ "turns": [{ "tools": calls }, { "text": "x", "delay_ms": 1500 }] }));
    yard.chock(&["run", "go"]).expect(0);
    for body in bodies(&yard, "task.finished") {
        assert_eq!(body["outcome"]["ended"], json!({ "timed_out": 1 }), "{body}");
    }
    assert_eq!(bodies(&yard, "task.finished").len(), 2);
    assert_eq!(yard.outcomes()[3]["ended"], json!({ "timed_out": 1 }));
}

/// Talks to a socket as another user would, and returns what Python says of it.
fn talk_as(words: &[&str], socket: &PathBuf) -> Ran {
    let script = "import os, socket, sys\n\
         s = socket.socket(socket.AF_UNIX)\n\
         d = os.open(os.path.dirname(sys.argv[1]), os.O_PATH)\n\
         s.connect(f'/proc/self/fd/{d}/s')\n\
         try: s.sendall(b'{\"verb\":\"tasks\"}\\n')\n\
         except BrokenPipeError: pass\n\
         print(s.recv(9999).decode())";
    // Of the system: another user may not run what a person installed.
    let words = [words, &["/usr/bin/python3", "-c", script]].concat();
    Command::new(words[0]).args(&words[1..]).arg(socket).output().expect("a program").into()
}

#[test]
fn only_the_same_user_outside_of_every_cage_is_answered() {
    let yard = Yard::new();
    // `/usr` is the machine's, and a walk over it takes a busy machine longer than the wait below.
    let look = "find / \\( -path /usr -o -path /proc \\) -prune -o \\( -name s -type s -o -name '*.ctl' \\) -print \
                2>/dev/null; sleep 968.5";
    scripted(
        &yard,
        &json!({ "turns": [{ "tools": [task("sleep 968.25"), call(look)] }, { "text": "x" }] }),
    );
    let mut child = start(&yard);
    until("both run", || processes(&["sleep", "968.25"]) + processes(&["sleep", "968.5"]) == 2);
    let directory = control(&yard);
    let socket = directory.join("s");
    let mode = |path: &PathBuf| fs::metadata(path).expect("a mode").permissions().mode() & 0o777;
    assert_eq!((mode(&directory), mode(&socket)), (0o700, 0o600));

    // Control: the person is answered.
    assert!(talk_as(&["env"], &socket).expect(0).out.contains("\"task-01\""));
    let apart = talk_as(&["unshare", "--user", "--map-current-user"], &socket);
    assert!(
        apart.out.contains("not in the user namespace") && !apart.out.contains("task-01"),
        "{}",
        apart.out
    );
    if rustix::process::geteuid().is_root() {
        let other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let refused = talk_as(&other, &socket);
        assert!(refused.err.contains("PermissionError"), "{}", refused.err);
        // Even if the directory stood open, the answer is no.
        for path in directory.ancestors().take_while(|path| path.starts_with(yard.path(""))) {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).expect("a mode");
        let refused = talk_as(&other, &socket);
        assert!(refused.out.contains("belongs to another user"), "{} {}", refused.out, refused.err);
    }
    assert_eq!(child.interrupt(), Some(3));
    let inside = yard.outcomes()[1]["text"].as_str().expect("words").to_owned();
    assert!(!inside.contains(".ctl"), "{inside}");
}

#[test]
fn nonsense_and_silence_at_the_socket_disturb_nothing() {
    let yard = Yard::new();
    scripted(
        &yard,
        &json!({ "turns": [{ "tools": [task("sleep 969.25"), call("sleep 969.5")] }, { "text": "x" }] }),
    );
    let mut child = start(&yard);
    until("both run", || processes(&["sleep", "969.25"]) + processes(&["sleep", "969.5"]) == 2);
    let place = fs::File::open(control(&yard)).expect("the directory");
    let connect = || {
        use std::os::fd::AsRawFd;
        let path = format!("/proc/self/fd/{}/s", place.as_raw_fd());
        UnixStream::connect(path).expect("a connection")
    };
    for bytes in [&b"\0\xff\n"[..], &[b'['; 100_000], b"{\"verb\":\"run\",\"command\":\"id\"}\n"] {
        let mut stream = connect();
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer);
        assert!(text.is_empty() || text.contains("not understood"), "{text}");
    }
    let silent: Vec<_> = (0..4).map(|_| connect()).collect();
    let full = yard.chock(&["tasks"]).expect(1);
    assert!(full.err.contains("4 others are asking"), "{}", full.err);
    drop(silent);
    until("there is room", || yard.chock(&["tasks"]).code == Some(0));
    let _held = [connect(), connect()];
    let since = Instant::now();
    assert_eq!(child.interrupt(), Some(3));
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
}

#[test]
fn a_session_starts_where_a_dead_socket_or_rubbish_stands_and_odd_paths_work() {
    let yard = Yard::bare();
    let project = yard.project().join("an odd  näme \u{1f980} ".to_owned() + &"long-".repeat(40));
    fs::create_dir_all(&project).expect("a directory");
    fs::write(project.join("a.txt"), "alpha\n").expect("a file");
    let place = project.to_str().expect("text");
    for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "start"]] {
        yard.git(&[&["-C", place], words].concat());
    }
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [task("exec sleep 970.25"), { "name": "task_output", "input": { "task": "task-01", "wait_s": 300 } }] },
            { "text": "x" }, { "text": "y" } ] }),
    );
    let mut run = yard.command(&["run", "go"]);
    run.current_dir(&project);
    let mut child = Run::of(run);
    until("it runs", || processes(&["sleep", "970.25"]) == 1);
    assert!(control(&yard).join("s").as_os_str().len() > 107);
    let mut stop = yard.command(&["tasks", "stop", "task-01"]);
    Ran::from(stop.current_dir(&project).output().expect("the program")).expect(0);
    assert_eq!(child.wait(), Some(0));

    // A file where the directory should be costs the socket, not the session.
    fs::write(control(&yard), "rubbish").expect("a file");
    let mut more = yard.command(&["run", "--continue", "more"]);
    let ran = Ran::from(more.current_dir(&project).output().expect("the program")).expect(0);
    assert!(ran.err.contains("no control socket"), "{}", ran.err);
}
