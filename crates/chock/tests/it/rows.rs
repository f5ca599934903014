//! The two rows that change the filter of system calls: what they do, and where they are said.
#![expect(clippy::print_stderr, reason = "what was not tried is said")]

use std::process::Command;

use serde_json::{Value, json};

use crate::input::scripted;
use crate::yard::{Ran, Yard};

fn with(rules: &str) -> Yard {
    let yard = Yard::new();
    if !rules.is_empty() {
        yard.write("chock.zon", &format!(".{{ .policy = .{{ .rules = .{{ {rules} }} }} }}"));
    }
    yard.write("traced.c", TRACED);
    yard
}

const NO_JIT: &str = ".{ .action = \"sandbox.jit\", .decision = .deny }";
const DEBUG: &str = ".{ .action = \"sandbox.debug\", .decision = .allow }";

/// Traces a child of its own, as a debugger does.
const TRACED: &str = r#"
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0)) { perror("ptrace"); return 3; }
        execl("/bin/true", "true", (char *) 0);
        return 4;
    }
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) return 5;
    ptrace(PTRACE_CONT, child, 0, 0);
    waitpid(child, &status, 0);
    puts("traced");
    return 0;
}
"#;

/// Maps a page that is writable and executable, as Node and Java do.
const JIT: &str = "python3 -c 'import mmap; mmap.mmap(-1, 4096, prot=7); print(\"mapped\")'";

fn play(yard: &Yard, scripts: &[&str], options: &[&str]) -> (Ran, Vec<String>) {
    let calls = scripts.iter().map(
        |script| json!({ "tools": [{ "name": "run_command", "input": { "command": script } }] }),
    );
    let mut turns: Vec<_> = calls.collect();
    turns.push(json!({ "text": "done" }));
    scripted(yard, &json!({ "turns": turns }));
    yard.commit();
    let words = [&["run"], options, &["x"]].concat();
    let ran = yard.chock(&words).expect(0);
    let outcomes = yard.outcomes();
    let said = outcomes.iter().map(|outcome| outcome["text"].as_str().expect("words").to_owned());
    (ran, said.collect())
}

fn layers(yard: &Yard) -> String {
    let records = yard.records();
    let config = records.iter().find(|record| record["kind"] == "session.config").expect("it");
    config["body"]["layers"].to_string()
}

fn digest(yard: &Yard) -> String {
    let said = yard.chock(&["config"]).expect(0).err;
    let digest = said.split("--accept-project ").nth(1).expect("a digest");
    digest.split_whitespace().next().expect("a digest").to_owned()
}

fn has(tool: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("not tried: this machine has no {tool}");
    }
    found
}

#[test]
fn pages_that_are_writable_and_executable_can_be_refused() {
    let node = "node -e 'console.log(`the answer is ${6 * 7}`)'";
    for plain in [false, true] {
        let yard = |rules: &str| if plain { with(rules).as_plain_user() } else { with(rules) };
        let (ran, said) = play(&yard(""), &[JIT, node], &[]);
        assert!(said[0].contains("mapped"), "{said:?}");
        assert!(!has("node") || said[1].contains("the answer is 42"), "{said:?}");
        assert!(!ran.err.contains("sandbox."), "{}", ran.err);

        // What narrows needs nobody's word.
        let yard = yard(NO_JIT);
        let (ran, said) = play(&yard, &[JIT, node, "true && echo fine"], &[]);
        assert!(!said[0].contains("mapped") && said[2].contains("fine"), "{said:?}");
        assert!(!said[1].contains("the answer is 42"), "{said:?}");
        assert!(ran.err.contains("sandbox.jit is deny"), "{}", ran.err);
        let layers = layers(&yard);
        assert!(
            layers.contains("sandbox.jit: deny") && layers.contains("sandbox.debug: deny"),
            "{layers}"
        );
    }
}

#[test]
fn a_debugger_works_where_the_person_allowed_it() {
    if !has("gcc") {
        return;
    }
    let build = "gcc -o /tmp/traced traced.c && /tmp/traced";
    let gdb = "gcc -g -o /tmp/t traced.c && gdb -q -batch -ex 'break main' -ex run -ex 'print status' /tmp/t";
    let strace = "strace -f -e trace=execve /bin/true 2>&1 | grep -c execve";
    for plain in [false, true] {
        let yard = |rules: &str| if plain { with(rules).as_plain_user() } else { with(rules) };
        let (_, said) = play(&yard(""), &[build, gdb, strace], &[]);
        assert!(!said[0].contains("traced\n"), "{said:?}");
        assert!(!said[1].contains("$1 = "), "{said:?}");

        // It widens, and so it counts only when it was accepted.
        let yard = yard(DEBUG);
        let (ran, said) = play(&yard, &[build], &[]);
        assert!(!said[0].contains("traced\n"), "{said:?}");
        assert!(!ran.err.contains("sandbox.debug is allow"), "{}", ran.err);
        let digest = digest(&yard);
        let outside = "cat /proc/1/environ; gdb -q -batch -p 1 2>&1; strace -p 1 2>&1";
        let scripts = [build, gdb, strace, outside];
        let (ran, said) = play(&yard, &scripts, &["--accept-project", &digest]);
        assert!(said[0].contains("traced\n"), "{said:?}");
        assert!(!has("gdb") || said[1].contains("$1 = "), "{said:?}");
        assert!(!has("strace") || said[2].starts_with('1'), "{said:?}");
        assert!(!said[3].contains("attached"), "{said:?}");
        assert!(ran.err.contains("sandbox.debug is allow"), "{}", ran.err);
        assert!(layers(&yard).contains("sandbox.debug: allow"));
    }
}

#[test]
fn config_doctor_and_explain_say_what_is_in_force() {
    let lines = |yard: &Yard, words: &[&str]| yard.chock(words).expect(0).out;
    for (rules, jit, origin) in
        [("", "allow", "shipped default"), (NO_JIT, "deny", "chock.zon:1:30")]
    {
        let yard = with(rules);
        yard.commit();
        let config = lines(&yard, &["config", "--json"]);
        let rows: Vec<Value> =
            config.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let row = rows.iter().find(|row| row["name"] == "sandbox.jit").expect("a row");
        assert_eq!((&row["value"], &row["origin"]), (&json!(jit), &json!(origin)), "{config}");
        let doctor: Value =
            serde_json::from_str(&lines(&yard, &["doctor", "--json"])).expect("JSON");
        let expected = json!([
            { "name": "sandbox.jit", "value": jit, "origin": origin },
            { "name": "sandbox.debug", "value": "deny", "origin": "shipped default" },
        ]);
        assert_eq!(doctor["policy"], expected, "{doctor:#}");
        let table = lines(&yard, &["doctor"]);
        let row = table.lines().find(|line| line.starts_with("sandbox.jit")).expect("a row");
        assert!(row.contains(jit) && row.contains(origin), "{table}");
        let explained = lines(&yard, &["exec", "--explain", "true"]);
        let row = explained.lines().find(|line| line.contains("sandbox.jit")).expect("a row");
        assert!(row.contains(jit), "{explained}");
    }
}
