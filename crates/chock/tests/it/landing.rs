//! Whatever a session does to its own git, the project gets the commits that are looked at, or none.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::apply::{COMMIT, apply, bodies, clean, head, worked};
use crate::input::scripted;
use crate::kill::until;
use crate::review::work;
use crate::screen::Screen;
use crate::yard::Yard;

#[test]
fn what_is_planted_in_the_session_s_git_has_no_say() {
    let yard = worked(&format!(
        "echo real > real.txt; {COMMIT} one; one=$(git rev-parse HEAD)
         mkdir -p .git/hooks /tmp/evil; printf '#!/bin/sh\\ntouch /tmp/pwned\\n' > /tmp/evil/x; chmod +x /tmp/evil/x
         for hook in post-commit reference-transaction post-checkout post-index-change; do cp /tmp/evil/x .git/hooks/$hook; done
         git config core.fsmonitor /tmp/evil/x; git config core.hooksPath .git/hooks
         git config filter.evil.clean /tmp/evil/x; git config filter.evil.smudge /tmp/evil/x; git config merge.evil.driver /tmp/evil/x
         git config gpg.program /tmp/evil/x; git config commit.gpgsign false; git config diff.external /tmp/evil/x
         echo '* filter=evil merge=evil' > .git/info/attributes
         git update-index --assume-unchanged a.txt; echo hidden > a.txt
         blob=$(echo fake | git hash-object -w --stdin); git replace $(git rev-parse HEAD:real.txt) $blob
         git replace $(git rev-parse HEAD:b.txt) $blob
         echo /etc >> .git/objects/info/alternates
         git update-ref refs/heads/--upload-pack=x $one; git symbolic-ref refs/remotes/origin/HEAD refs/heads/main"
    ));
    let report = apply(&yard, &[], 0);
    assert_eq!(report["written"], json!(["real.txt"]), "{report}");
    assert_eq!(fs::read_to_string(yard.project().join("real.txt")).expect("a file"), "real\n");
    assert_eq!(fs::read_to_string(yard.project().join("a.txt")).expect("a file"), "alpha\n");
    assert_eq!(yard.git(&["for-each-ref", "refs/replace", "refs/remotes"]), "");
    assert!(!std::path::Path::new("/tmp/pwned").exists());
    clean(&yard);
}

#[test]
fn a_graft_that_hides_a_commit_and_a_reset_to_nothing_carry_nothing_that_is_not_whole() {
    let yard = worked(&format!(
        "echo 1 > 1; {COMMIT} one; echo 2 > 2; {COMMIT} two; echo 3 > 3; {COMMIT} three
         echo \"$(git rev-parse HEAD) $(git rev-parse HEAD~3)\" > .git/info/grafts"
    ));
    let before = yard.fingerprint();
    let ran = yard.chock(&["apply"]).expect(3);
    assert!(ran.err.contains("refused"), "{}", ran.err);
    assert_eq!(yard.fingerprint(), before);
    for command in
        ["rm -rf .git/refs .git/packed-refs", "echo junk > .git/HEAD", "rm -rf .git/objects"]
    {
        let yard = worked(&format!("echo 1 > 1; {COMMIT} one; {command}"));
        let before = yard.fingerprint();
        let report = apply(&yard, &[], 0);
        assert_eq!(
            (&report["written"], &report["commits"]),
            (&json!([]), &Value::Null),
            "{command}"
        );
        assert_eq!(yard.fingerprint(), before);
    }
}

#[test]
fn a_pack_that_unpacks_to_a_gigabyte_is_refused() {
    let yard = worked(&format!("truncate -s 1025M big; {COMMIT} big"));
    let before = yard.fingerprint();
    let ran = yard.chock(&["apply"]).expect(3);
    assert!(ran.err.contains("unpacked they are 107"), "{}", ran.err);
    assert_eq!(yard.fingerprint(), before);
}

/// Makes a commit whose tree has one entry more, byte for byte.
fn with_entry(mode: &str, name: &str, content: &str) -> String {
    format!(
        "cat > /tmp/make.py <<'END'
import subprocess, sys
run = lambda *words, **more: subprocess.run(['git', *words], check=True, capture_output=True, **more).stdout.strip()
blob = run('hash-object', '-w', '--stdin', input=b'{content}')
tree = subprocess.run(['git', 'cat-file', 'tree', 'HEAD^{{tree}}'], check=True, capture_output=True).stdout
entry = b'{mode} ' + '{name}'.encode() + b'\\0' + bytes.fromhex(blob.decode())
tree = run('hash-object', '-t', 'tree', '-w', '--stdin', '--literally', input=entry + tree if '{name}' < 'a' else tree + entry)
commit = run('commit-tree', tree, '-p', 'HEAD', '-m', 'odd')
run('update-ref', 'HEAD', commit)
END
python3 /tmp/make.py"
    )
}

#[test]
fn names_and_modes_that_no_project_has_are_refused() {
    let rows = [
        ("100644", ".git", "x"),
        ("100644", ".GIT", "x"),
        ("100644", "git~1", "x"),
        ("100644", ".g\\u200cit", "x"),
        ("100644", "..", "x"),
        ("100644", ".", "x"),
        ("100644", "zz/zz", "x"),
        ("100644", "", "x"),
        ("100600", "zz", "x"),
        ("100777", "zz", "x"),
        ("0100644", "zz", "x"),
        ("160000", "zz", "x"),
        ("40000", "zz", "x"),
        ("120000", "zz", "../../etc/passwd"),
        ("120000", "zz", ".git/config"),
    ];
    for (mode, name, content) in rows {
        let yard = worked(&with_entry(mode, name, content));
        let before = yard.fingerprint();
        let ran = yard.chock(&["apply", "--accept", name]).expect(3);
        let stopped = ran.err.contains("refused") || ran.err.contains("cannot be packed");
        assert!(stopped, "{mode} {name}: {}", ran.err);
        assert_eq!(yard.fingerprint(), before, "{mode} {name}");
    }
    // The control: an entry as git writes it.
    let yard = worked(&with_entry("100644", "zz", "x"));
    apply(&yard, &[], 0);
    clean(&yard);
}

#[test]
fn many_commits_with_packs_and_garbage_collection_inside_land() {
    let yard = worked(
        "for i in $(seq 100); do echo $i > f$((i % 7)).txt; git add -A; git commit -q -m $i; done; git gc -q --prune=now
         for i in $(seq 20); do echo $i > g.txt; git add -A; git commit -q -m g$i; done; git repack -q -a -d; git pack-refs --all",
    );
    yard.write("mine", "mine\n");
    yard.commit();
    let report = apply(&yard, &["--mode", "rebase"], 0);
    assert_eq!(report["commits"]["count"], 120, "{report}");
    assert_eq!(yard.git(&["rev-list", "--count", "HEAD"]), "122\n");
    clean(&yard);
    yard.chock(&["undo"]).expect(0);
    clean(&yard);
}

#[test]
fn hooks_and_filters_of_the_project_do_not_run() {
    let yard = worked(&format!("echo gamma > c.txt; {COMMIT} one"));
    let evil = yard.path("evil");
    let trace = yard.path("ran");
    fs::write(&evil, format!("#!/bin/sh\ntouch {}\ncat\n", trace.display())).expect("a file");
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).expect("a mode");
    let hooks = yard.project().join(".git/hooks");
    for hook in
        ["post-merge", "reference-transaction", "post-checkout", "post-index-change", "pre-commit"]
    {
        fs::copy(&evil, hooks.join(hook)).expect("a hook");
    }
    let evil = evil.display().to_string();
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.smudge", "merge.x.driver"] {
        yard.git(&["config", key, &evil]);
    }
    fs::write(yard.project().join(".git/info/attributes"), "* filter=x merge=x\n").expect("a file");
    // Every file is younger than the index: git would look at each.
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let index = fs::File::options().write(true).open(yard.project().join(".git/index"));
    index.and_then(|index| index.set_modified(old)).expect("a time");
    let _ran_by_the_setup = fs::remove_file(&trace);
    apply(&yard, &[], 0);
    yard.chock(&["undo"]).expect(0);
    yard.chock(&["redo"]).expect(0);
    assert!(!trace.exists());
    // The control: the person's own git runs them.
    yard.git(&["commit", "-q", "--allow-empty", "-m", "mine"]);
    assert!(trace.exists());
}

#[test]
fn a_link_at_the_session_s_ref_moves_no_branch() {
    let yard = worked(&format!("echo gamma > c.txt; {COMMIT} one"));
    let log = yard.logs().pop().expect("a session");
    let id = log.file_stem().expect("a name").to_string_lossy().into_owned();
    yard.git(&["symbolic-ref", &format!("refs/chock/{id}"), "refs/heads/main"]);
    let before = head(&yard);
    apply(&yard, &["--mode", "park"], 0);
    assert_eq!(head(&yard), before);
    clean(&yard);
}

#[test]
fn a_linked_worktree_gets_the_commits_on_its_branch() {
    let yard = worked("true");
    let other = yard.path("other");
    yard.git(&["worktree", "add", "-q", "-b", "side", other.to_str().expect("text")]);
    let main = head(&yard);
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [{ "name": "run_command", "input": { "command": format!("echo gamma > c.txt; {COMMIT} one") } }] },
            { "text": "done" } ] }),
    );
    let there = other.to_str().expect("text");
    yard.chock(&["run", "--project", there, "work"]).expect(0);
    yard.chock(&["apply", "--project", there]).expect(0);
    assert_eq!(head(&yard), main);
    assert_eq!(yard.git(&["log", "-1", "--format=%s", "side"]), "one\n");
    assert_eq!(yard.git(&["-C", there, "status", "--porcelain"]), "");
    yard.chock(&["undo", "--project", there]).expect(0);
    assert_eq!(yard.git(&["rev-parse", "side"]).trim(), main);
    clean(&yard);
}

/// Gives the person a key to sign with, and names the file of who may sign.
pub(crate) fn signs(yard: &Yard) -> PathBuf {
    let key = yard.path("home/key");
    let made =
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status();
    assert!(made.expect("ssh-keygen").success());
    let public = fs::read_to_string(key.with_extension("pub")).expect("a key");
    let signers = yard.path("home/signers");
    fs::write(&signers, format!("ada@localhost {public}")).expect("a file");
    let text = format!(
        "[user]\n\tname = Ada\n\temail = ada@localhost\n\tsigningkey = {}\n[commit]\n\tgpgsign = true\n[gpg]\n\tformat = ssh\n",
        key.display()
    );
    fs::write(yard.path("home/.gitconfig"), text).expect("a file");
    signers
}

#[test]
fn commits_are_signed_where_the_person_signs() {
    let yard = worked(&format!("echo 1 > c.txt; {COMMIT} one; echo 2 > c.txt; {COMMIT} two"));
    let signers = signs(&yard);
    let verify = |yard: &Yard, count: &str| {
        let option = format!("gpg.ssh.allowedSignersFile={}", signers.display());
        let log = yard.git(&["-c", &option, "log", "-n", count, "--format=%G? %s %an"]);
        assert!(log.lines().all(|line| line.starts_with("G ")), "{log}");
        log
    };
    apply(&yard, &[], 0);
    assert_eq!(verify(&yard, "2"), "G two Ada\nG one Ada\n");
    clean(&yard);
    yard.chock(&["undo"]).expect(0);
    yard.write("mine", "mine\n");
    yard.commit();
    apply(&yard, &[], 0);
    verify(&yard, "1");
    clean(&yard);
}

#[test]
fn no_program_that_the_project_s_own_configuration_names_signs() {
    let yard = worked(&format!("echo 1 > c.txt; {COMMIT} one"));
    let (program, ran) = (yard.path("signs"), yard.path("ran"));
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", ran.display())).expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).expect("a mode");
    let program = program.to_str().expect("text");
    let before = head(&yard);
    yard.git(&["config", "commit.gpgsign", "true"]);
    for key in ["gpg.program", "gpg.openpgp.program", "gpg.ssh.defaultKeyCommand"] {
        yard.git(&["config", key, program]);
        if key.starts_with("gpg.ssh") {
            yard.git(&["config", "gpg.format", "ssh"]);
        }
        let refused = yard.chock(&["apply"]);
        assert!(!ran.exists(), "{key} was started");
        assert!(refused.err.contains(&key.to_lowercase()), "{}", refused.err);
        assert_eq!(head(&yard), before);
        yard.git(&["config", "--unset", key]);
    }
}

#[test]
fn a_person_is_asked_with_branch_landing_and_result_and_may_refuse() {
    let command = format!("echo gamma > c.txt; {COMMIT} 'Add gamma'");
    let yard = Yard::new();
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [{ "name": "run_command", "input": { "command": command } }] },
            { "tools": [{ "name": "request_action", "input": { "action": "workspace.apply", "reason": "it is whole\n9 files changed, +0 -0" } }] },
            { "text": "done" } ] }),
    );
    let before = head(&yard);
    let mut screen = Screen::start(&yard, &["run", "work"]);
    for words in [
        "workspace.apply",
        "carry 1 commit of session",
        "land them on refs/heads/main by merge",
        &before[..10],
        "because, it says: it is whole\\n9 files changed",
        "Add gamma",
        "+gamma",
        "Allow it?",
    ] {
        screen.wait_for(words);
    }
    screen.press("n not yet\n");
    // At the end it is asked again.
    screen.wait_for("Allow it?");
    assert_eq!(head(&yard), before);
    screen.press("y\n");
    let (code, rest) = screen.end();
    assert_eq!(code, Some(0), "{rest}");
    assert!(rest.contains("chock undo takes it out again"), "{rest}");
    assert_ne!(head(&yard), before);
    clean(&yard);
    let outcome = &yard.outcomes()[1];
    assert!(outcome["text"].as_str().expect("words").contains("not yet"), "{outcome}");
    assert_eq!(bodies(&yard, "apply.done").len(), 1);
    yard.chock(&["sessions", "verify"]).expect(0);
}

#[test]
fn the_owner_of_a_running_session_carries_its_commits() {
    let yard = Yard::new();
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [{ "name": "run_command", "input": { "command": format!("echo gamma > c.txt; {COMMIT} one") } }] },
            { "tools": [{ "name": "run_command", "input": { "command": "until [ -e go ]; do sleep 0.05; done", "timeout_s": 60 } }] },
            { "text": "done" } ] }),
    );
    let mut child = yard
        .command(&["run", "work"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("a run");
    until("a committed turn", || {
        !yard.logs().is_empty()
            && yard.records().iter().filter(|record| record["kind"] == "tool.started").count() == 2
    });
    // What it has not committed may be half written.
    let ran = yard.chock(&["apply", "--commit"]).expect(1);
    assert!(ran.err.contains("the session runs"), "{}", ran.err);
    let report = apply(&yard, &[], 0);
    assert_eq!(report["written"], json!(["c.txt"]), "{report}");
    clean(&yard);
    yard.chock(&["undo"]).expect(0);
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::INT,
    )
    .expect("a signal");
    child.wait().expect("an end");
    clean(&yard);
    work(&yard, "true");
}
