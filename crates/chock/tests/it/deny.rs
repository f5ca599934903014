//! `deny_read` holds for every tool alike, and gets in the way of nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::input::scripted;
use crate::yard::Yard;

const RULES: &str = r#".{
    .deny_read = .{
        ".env",
        "secret.env",
        "**/*.pem",
        "vault/",
        "later.env",
        "not/yet/x.env",
    },
}
"#;

/// A project with secrets in tracked, ignored and linked files, and rules that deny them.
pub(crate) fn secrets() -> Yard {
    let yard = Yard::new();
    yard.write("secret.env", "hunter2 tracked\n");
    yard.write("keys/server.pem", "hunter2 key\n");
    yard.write("keys/readme.txt", "plain\n");
    yard.write("src/deep/client.pem", "hunter2 deep\n");
    yard.write("src/deep/code.py", "x = 1\n");
    yard.write("vault/inner", "hunter2 vault\n");
    yard.write(".gitignore", "__pycache__/\n.env\n*.local.pem\n");
    symlink("secret.env", yard.project().join("alias")).expect("a link");
    yard.write("chock.zon", RULES);
    yard.commit();
    yard.write(".env", "hunter2 ignored\n");
    yard.write("src/mine.local.pem", "hunter2 ignored\n");
    yard
}

fn both() -> [Yard; 2] {
    [secrets(), secrets().as_plain_user()]
}

pub(crate) fn command(script: &str) -> Value {
    json!({ "name": "run_command", "input": { "command": script } })
}

/// Has the agent make these calls, one a turn, and returns their outcomes.
pub(crate) fn outcomes(yard: &Yard, calls: &[Value]) -> Vec<Value> {
    let mut turns: Vec<_> = calls.iter().map(|call| json!({ "tools": [call] })).collect();
    turns.push(json!({ "text": "done" }));
    scripted(yard, &json!({ "turns": turns }));
    yard.chock(&["run", "do it"]).expect(0);
    let outcomes = yard.outcomes();
    assert_eq!(outcomes.len(), calls.len());
    outcomes
}

/// Ways to a denied file's content from a shell. Each prints it when nothing is in the way.
pub(crate) const ATTEMPTS: [&str; 30] = [
    "cat secret.env",
    "true && cat secret.env",
    "cd src && cat ../secret.env",
    "cat $PWD/secret.env",
    "cat ./src/../secret.env",
    "cat keys/server.pem",
    "cat src/deep/client.pem",
    "cat vault/inner",
    "cat alias",
    "python3 -c \"print(open('secret.env').read())\"",
    "perl -pe1 < keys/server.pem",
    "dd if=secret.env status=none",
    "ln -s secret.env pointed && cat pointed",
    "ln secret.env linked && cat linked",
    "cp secret.env copied && cat copied",
    "mv secret.env moved && cat moved",
    "cp -r keys k && cat k/server.pem",
    "mv keys k && cat k/server.pem",
    "mv src/deep src/d && cat src/d/client.pem",
    "mv src s && cat s/deep/client.pem",
    "mv vault v && cat v/inner",
    "chmod -R u+rwX vault secret.env; cat vault/* secret.env",
    "cat /proc/self/cwd/secret.env",
    "cd vault; cat inner",
    "exec 3< secret.env; cat /proc/self/fd/3",
    "python3 -c \"import os; fd = os.open('secret.env', os.O_PATH); print(open(f'/proc/self/fd/{fd}').read())\"",
    "python3 -c \"import os; fd = os.open('vault', os.O_PATH); print(open(f'/proc/self/fd/{fd}/inner').read())\"",
    "find . -name '*.pem' -exec cat {} +",
    "tar c keys vault | tar xO",
    "grep -r hunter2 . --include=secret.env",
];

#[test]
fn no_way_of_a_shell_leads_to_what_is_denied() {
    for attempt in ATTEMPTS {
        // Control: where nothing denies it the same words print the secret.
        let yard = secrets();
        let output =
            Command::new("bash").args(["-c", attempt]).current_dir(yard.project()).output();
        let output = output.expect("bash");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("hunter2"), "{attempt}: {output:?}");
    }
    for yard in both() {
        let before = yard.fingerprint();
        let calls: Vec<_> = ATTEMPTS.iter().map(|attempt| command(attempt)).collect();
        for (attempt, outcome) in ATTEMPTS.iter().zip(outcomes(&yard, &calls)) {
            let said = outcome["text"].as_str().expect("words");
            assert!(!said.contains("hunter2"), "{attempt}: {said}");
        }
        assert_eq!(yard.fingerprint(), before);
    }
}

#[test]
fn what_is_denied_reads_as_no_permission_in_a_shell() {
    for yard in both() {
        let all = "cat .env secret.env keys/server.pem src/mine.local.pem vault/inner later.env \
                   not/yet/x.env alias 2>&1 | grep -c 'Permission denied'";
        let writes = "for f in .env secret.env keys/server.pem vault/new later.env not/yet/x.env; do \
                      echo x 2>&1 > $f && echo through $f; rm -f $f 2>&1 && echo removed $f; done; true";
        let rest = "cat keys/readme.txt src/deep/code.py && echo new > keys/new && cat keys/new";
        let outcomes = outcomes(&yard, &[command(all), command(writes), command(rest)]);
        assert!(outcomes[0]["text"].as_str().expect("words").starts_with("8\n"), "{outcomes:#?}");
        let said = outcomes[1]["text"].as_str().expect("words");
        assert!(!said.contains("through") && !said.contains("removed"), "{said}");
        assert_eq!(outcomes[2]["ended"], json!({ "exited": 0 }), "{outcomes:#?}");
    }
}

/// Looks at every name that the secret could have while another thread moves its parents.
const RACE: &str = r#"
import os, threading, time
end = time.time() + 2
seen = set()
def move():
    while time.time() < end:
        for a, b in (('keys', 'k'), ('src/deep', 'src/d'), ('vault', 'v'), ('secret.env', 's')):
            for one, other in ((a, b), (b, a)):
                try: os.rename(one, other)
                except OSError: pass
            try: os.symlink(a, b + '.link')
            except OSError: pass
            try: os.unlink(b + '.link')
            except OSError: pass
def read():
    names = [d + '/server.pem' for d in ('keys', 'k', 'k.link')]
    names += [d + '/client.pem' for d in ('src/deep', 'src/d', 'src/d.link')]
    names += ['vault/inner', 'v/inner', 'v.link/inner', 'secret.env', 's', 's.link']
    while time.time() < end:
        for name in names:
            try: seen.add(open(name).read())
            except OSError: pass
threads = [threading.Thread(target=work) for work in (move, read, read)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(''.join(sorted(seen)))
"#;

#[test]
fn no_race_leads_to_what_is_denied() {
    let yard = secrets();
    let output = Command::new("python3").args(["-c", RACE]).current_dir(yard.project()).output();
    let said = String::from_utf8(output.expect("python3").stdout).expect("text");
    for secret in ["tracked", "key", "deep", "vault"] {
        assert!(said.contains(&format!("hunter2 {secret}")), "control: {said}");
    }
    for yard in both() {
        yard.write("race.py", RACE);
        yard.git(&["add", "race.py"]);
        yard.git(&["commit", "-q", "-m", "race"]);
        let outcomes =
            outcomes(&yard, &[command("python3 race.py"), command("ls -R; cat secret.env")]);
        assert_eq!(outcomes[0]["ended"], json!({ "exited": 0 }), "{outcomes:#?}");
        for outcome in outcomes {
            let said = outcome["text"].as_str().expect("words");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}

#[test]
fn file_tools_are_refused_in_so_many_words() {
    // (tool, input, operation, target, row)
    let read = |path: &str| json!({ "path": path });
    let write = |path: &str| json!({ "path": path, "content": "x" });
    let edit = |path: &str| json!({ "path": path, "old_string": "a", "new_string": "b" });
    let cases = [
        ("read_file", read("secret.env"), "read", "secret.env", "\"secret.env\""),
        ("read_file", read(".env"), "read", ".env", "\".env\""),
        ("read_file", read("./src/../keys/server.pem"), "read", "keys/server.pem", "\"**/*.pem\""),
        ("read_file", read("src/mine.local.pem"), "read", "src/mine.local.pem", "\"**/*.pem\""),
        ("read_file", read("vault/inner"), "read", "vault/inner", "\"vault/\""),
        ("read_file", read("alias"), "read", "alias", "\"secret.env\""),
        ("read_file", read("later.env"), "read", "later.env", "\"later.env\""),
        ("read_file", read("not/yet/x.env"), "read", "not/yet/x.env", "\"not/yet/x.env\""),
        ("list_directory", read("vault"), "read", "vault", "\"vault/\""),
        ("grep", json!({ "pattern": "x", "path": "vault" }), "read", "vault", "\"vault/\""),
        (
            "grep",
            json!({ "pattern": "x", "path": "secret.env" }),
            "read",
            "secret.env",
            "\"secret.env\"",
        ),
        ("glob", json!({ "pattern": "*", "path": "vault" }), "read", "vault", "\"vault/\""),
        ("write_file", write("secret.env"), "write", "secret.env", "\"secret.env\""),
        ("write_file", write("later.env"), "write", "later.env", "\"later.env\""),
        ("write_file", write("vault/new"), "write", "vault/new", "\"vault/\""),
        ("edit_file", edit("alias"), "write", "alias", "\"secret.env\""),
        ("edit_file", edit("keys/server.pem"), "write", "keys/server.pem", "\"**/*.pem\""),
    ];
    for yard in both() {
        let calls: Vec<_> =
            cases.iter().map(|(tool, input, ..)| json!({ "name": tool, "input": input })).collect();
        for ((tool, input, operation, target, row), outcome) in
            cases.iter().zip(outcomes(&yard, &calls))
        {
            let said = format!("{tool} {input}: {outcome:#}");
            assert_eq!(outcome["ended"], "denied", "{said}");
            let denial = &outcome["denial"];
            assert_eq!(denial["operation"], *operation, "{said}");
            assert_eq!(denial["target"], *target, "{said}");
            assert_eq!(denial["layer"], "mount", "{said}");
            let allowed_by = denial["allowed_by"].as_str().expect("a row");
            assert!(allowed_by.contains(row) && allowed_by.contains("deny_read"), "{said}");
            assert!(!outcome.to_string().contains("hunter2"), "{said}");
        }
    }
}

#[test]
fn searches_pass_by_what_is_denied() {
    for yard in both() {
        let grep = json!({ "name": "grep", "input": { "pattern": "hunter2|plain|x = 1" } });
        let glob = json!({ "name": "glob", "input": { "pattern": "**/*" } });
        let missing = json!({ "name": "read_file", "input": { "path": "keys/none.txt" } });
        let outcomes = outcomes(&yard, &[grep, glob, missing]);
        let said = outcomes[0]["text"].as_str().expect("words");
        assert!(!said.contains("hunter2 ") && said.contains("keys/readme.txt:1:plain"), "{said}");
        assert_eq!(outcomes[1]["ended"], "done", "{outcomes:#?}");
        // What is not there is not there, and no wall is blamed.
        assert_eq!(
            (&outcomes[2]["ended"], &outcomes[2]["denial"]),
            (&json!("fault"), &Value::Null)
        );
    }
}

/// Work with git beside denied files, each step to its end. The second line is what is left.
const GIT: &str = "set -e
test -z \"$(git status --porcelain)\"
echo more >> a.txt; echo new > keys/new.txt
git add -A; git commit -q -m one
echo again >> a.txt; git commit -q -a -m two
echo third >> b.txt; git stash -q; git stash pop -q; git checkout -q b.txt
git switch -q -c side HEAD~1; echo s > side.txt; git add -A; git commit -q -m side
git switch -q main; git merge -q -m merged side; git rebase -q HEAD~1
git mv keys/readme.txt keys/r.txt; git commit -q -m moved
git reset -q --hard HEAD~1; git clean -fdq 2>/dev/null; git gc -q; git fsck 2>&1 | grep -v dangling || true
test -z \"$(git status --porcelain)\"
git ls-files | grep -c -e pem -e env -e vault";

#[test]
fn git_works_beside_what_is_denied() {
    for yard in both() {
        let outcomes = outcomes(&yard, &[command(GIT)]);
        assert_eq!(
            outcomes[0]["ended"],
            json!({ "exited": 0 }),
            "{outcomes:#}",
            outcomes = json!(outcomes)
        );
        assert!(outcomes[0]["text"].as_str().expect("words").starts_with("4\n"), "{outcomes:#?}");
        // A denied file is in the commits as it was, and in no change.
        let diff = yard.chock(&["diff", "--json"]).expect(0).out;
        let diff: Value = serde_json::from_str(&diff).expect("JSON");
        let paths: Vec<_> =
            diff["files"].as_array().expect("files").iter().map(|file| &file["path"]).collect();
        assert_eq!(paths, ["a.txt", "keys/new.txt", "side.txt"], "{diff:#}");
    }
}

#[test]
fn names_under_the_cages_own_mounts_are_in_no_change() {
    for yard in both() {
        let outcomes = outcomes(
            &yard,
            &[
                command("git status --porcelain --ignored; ls -A not/yet"),
                command("mkdir -p later.d && echo x > later.d/y; rm -rf keys vault not src; ls"),
            ],
        );
        let said = outcomes[0]["text"].as_str().expect("words");
        assert!(said.contains("x.env") && !said.contains("??"), "{said}");
        let diff = yard.chock(&["diff", "--stat"]).expect(0).out;
        for name in [".env", "x.env", "pem", "vault", "not"] {
            assert!(!diff.contains(name), "{name}: {diff}");
        }
        assert!(diff.contains("later.d/y") && diff.contains("keys/readme.txt"), "{diff}");
    }
}

#[test]
fn a_directory_above_a_denied_file_can_be_moved_only_without_it() {
    // A name that was not there: its cover stands in directories of the session's own.
    for yard in both() {
        let first = [
            command(
                "mv not n && ls -A n/yet; cat n/yet/x.env not/yet/x.env; mkdir -p not/yet; echo mine > not/yet/x.env; true",
            ),
            command(
                "cat n/yet/x.env not/yet/x.env keys/server.pem k/server.pem; mv keys k; ls keys; ls k; cat k/server.pem keys/server.pem",
            ),
        ];
        for outcome in outcomes(&yard, &first) {
            assert!(!outcome["text"].as_str().expect("words").contains("hunter2"), "{outcome:#}");
        }
        // The next run of the same session covers what is there then.
        let again = "cat k/server.pem keys/server.pem src/deep/client.pem secret.env; \
                     find . -name '*.pem' | xargs cat";
        let mut turns: Vec<_> = first.iter().map(|call| json!({ "tools": [call] })).collect();
        turns.push(json!({ "text": "done" }));
        turns.push(json!({ "tools": [command(again)] }));
        turns.push(json!({ "text": "done" }));
        scripted(&yard, &json!({ "turns": turns }));
        yard.chock(&["run", "--continue", "again"]).expect(0);
        let outcome = yard.outcomes().pop().expect("an outcome");
        assert!(!outcome["text"].as_str().expect("words").contains("hunter2"), "{outcome:#}");
    }
}

#[test]
fn a_session_goes_on_whatever_it_put_in_the_way_of_a_cover() {
    for yard in both() {
        let first = "mv not n; ln -s /etc not; mv src s; echo file > src; ls";
        let again = "cat not/yet/x.env src/deep/client.pem s/deep/client.pem; rm not src; mkdir -p src/deep not/yet; \
                     cat src/deep/client.pem not/yet/x.env; git checkout -f . ; cat src/deep/client.pem";
        let turns = [json!({ "tools": [command(first)] }), json!({ "text": "done" })];
        let more = [json!({ "tools": [command(again)] }), json!({ "text": "done" })];
        let turns = [turns, more].concat();
        scripted(&yard, &json!({ "turns": turns }));
        yard.chock(&["run", "do it"]).expect(0);
        yard.chock(&["run", "--continue", "again"]).expect(0);
        for outcome in yard.outcomes() {
            assert!(!outcome["text"].as_str().expect("words").contains("hunter2"), "{outcome:#}");
        }
    }
}

#[test]
fn what_git_tracks_is_announced_since_its_objects_show_it() {
    for yard in both() {
        let calls = json!({ "turns": [{ "tools": [command("git show HEAD:secret.env")] }, { "text": "done" }] });
        scripted(&yard, &calls);
        let ran = yard.chock(&["run", "do it"]).expect(0);
        for name in ["`secret.env`", "`keys/server.pem`", "`vault/inner`", "git's objects"] {
            assert!(ran.err.contains(name), "{name}: {}", ran.err);
        }
        assert!(!ran.err.contains("`.env`") && !ran.err.contains("`later.env`"), "{}", ran.err);
        // This is what no mount can hide; the page about the sandbox says so.
        assert!(yard.outcomes()[0]["text"].as_str().expect("words").contains("hunter2 tracked"));
    }
}

#[test]
fn a_strict_row_refuses_a_session_and_leaves_nothing() {
    // (rows, the tracked path that is named)
    let cases = [
        (".{ .path = \"secret.env\", .tracked = .refuse }", Some("`secret.env`")),
        (".{ .path = \"**/*.pem\", .tracked = .refuse }", Some("`keys/server.pem`")),
        ("\"vault\", .{ .path = \"vault/inner\", .tracked = .refuse }", Some("`vault/inner`")),
        (".{ .path = \".env\", .tracked = .refuse }", None),
    ];
    for yard in both() {
        for (rows, named) in cases {
            yard.write("chock.zon", &format!(".{{ .deny_read = .{{ {rows} }} }}"));
            scripted(&yard, &json!({ "turns": [{ "text": "done" }] }));
            let Some(named) = named else {
                yard.chock(&["run", "do it"]).expect(0);
                continue;
            };
            let ran = yard.chock(&["run", "do it"]).expect(1);
            assert!(ran.err.contains(named) && ran.err.contains("git rm --cached"), "{}", ran.err);
            assert_eq!(yard.logs().len(), 0);
            let exec = yard.chock(&["exec", "true"]).expect(125);
            assert!(exec.err.contains(named), "{}", exec.err);
            assert_eq!(left(&yard), [""; 0], "{rows}");
        }
    }
}

#[test]
fn no_name_of_the_project_draws_where_a_notice_tells_it() {
    let yard = Yard::new();
    yard.write("keys/\u{1b}]0;mine\u{7}.pem", "a key\n");
    yard.write("chock.zon", ".{ .deny_read = .{\"**/*.pem\"} }\n");
    yard.commit();
    let ran = yard.chock(&["exec", "--", "true"]).expect(0);
    assert!(ran.err.contains("note: `deny_read` covers"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}') && !ran.err.contains('\u{7}'), "{:?}", ran.err);
}

/// Lists what of a session or an execution is left on disk.
fn left(yard: &Yard) -> Vec<String> {
    let state = yard.path("home/.local/state/chock");
    let mut left = Vec::new();
    for kind in ["sessions", "exec"] {
        for project in fs::read_dir(state.join(kind)).into_iter().flatten().flatten() {
            let files = fs::read_dir(project.path()).into_iter().flatten().flatten();
            left.extend(files.map(|file| file.path().display().to_string()));
        }
    }
    left
}

#[test]
fn uncommitted_secrets_stay_outside_too() {
    for yard in both() {
        yard.write("notes/new.pem", "hunter2 untracked\n");
        yard.write("notes/plain.txt", "taken along\n");
        yard.write("secret.env", "hunter2 changed\n");
        let script = "cat notes/plain.txt; cat notes/new.pem secret.env; grep -rs hunter2 .; true";
        scripted(&yard, &json!({ "turns": [{ "tools": [command(script)] }, { "text": "done" }] }));
        yard.chock(&["run", "--allow-dirty", "do it"]).expect(0);
        let outcome = yard.outcomes().pop().expect("an outcome");
        let said = outcome["text"].as_str().expect("words");
        assert!(said.contains("taken along") && !said.contains("hunter2"), "{said}");
        assert_eq!(yard.chock(&["diff"]).expect(0).out, "");
    }
}
