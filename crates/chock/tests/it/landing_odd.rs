//! Commits land in projects of every kind, and a kill in the middle leaves before or after.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::apply::{COMMIT, apply, clean, head, session, worked};
use crate::input::scripted;
use crate::landing_again::more;
use crate::review::work;
use crate::yard::Yard;

fn read(yard: &Yard, name: &str) -> String {
    fs::read_to_string(yard.project().join(name)).unwrap_or_else(|fault| fault.to_string())
}

/// Writes who the person is.
fn ada(yard: &Yard) {
    fs::write(yard.path("home/.gitconfig"), "[user]\n\tname = Ada\n\temail = ada@localhost\n")
        .expect("a file");
}

#[test]
fn the_rarer_reasons_to_park_have_their_names() {
    // A branch without a commit.
    let yard = worked(&format!("echo gamma > c.txt; {COMMIT} one"));
    yard.git(&["switch", "-q", "--orphan", "empty"]);
    let report = apply(&yard, &[], 3);
    assert_eq!(report["commits"]["parked"], "branch_has_no_commit", "{report}");
    assert_eq!(yard.git(&["branch", "--format=%(refname:short)"]), "main\n");
    assert_ne!(yard.git(&["for-each-ref", "refs/chock"]), "");
    // A sparse checkout.
    let yard = worked(&format!("echo gamma > c.txt; {COMMIT} one"));
    yard.git(&["config", "core.sparseCheckout", "true"]);
    let before = head(&yard);
    let report = apply(&yard, &[], 3);
    assert_eq!(report["commits"]["parked"], "git_refused", "{report}");
    assert_eq!(head(&yard), before);
    // The same change was made on the branch meanwhile.
    for mode in ["squash", "rebase"] {
        let yard = worked(&format!("echo same > a.txt; {COMMIT} one"));
        yard.write("a.txt", "same\n");
        yard.commit();
        let before = head(&yard);
        let report = apply(&yard, &["--mode", mode], 0);
        assert_eq!(report["commits"]["parked"], "already_there", "{mode}: {report}");
        assert_eq!(head(&yard), before);
        clean(&yard);
    }
}

#[test]
fn a_project_without_a_commit_keeps_the_first_ones_at_the_session_s_ref() {
    let yard = Yard::bare();
    ada(&yard);
    yard.git(&["init", "-q", "-b", "main"]);
    work(&yard, &format!("echo gamma > c.txt; {COMMIT} one; echo rest > d.txt"));
    let report = apply(&yard, &["--commit=Rest"], 3);
    assert_eq!(report["commits"]["parked"], "branch_has_no_commit", "{report}");
    let kept = format!("refs/chock/{}", session(&yard));
    assert_eq!(yard.git(&["log", "--format=%s", &kept]), "Rest\none\n");
    yard.git(&["reset", "-q", "--hard", &kept]);
    assert_eq!(read(&yard, "d.txt"), "rest\n");
    clean(&yard);
}

#[test]
fn a_shallow_clone_gets_the_commits_and_stays_shallow() {
    let yard = worked("true");
    for number in 0..3 {
        yard.write("mine", &format!("{number}\n"));
        yard.commit();
    }
    let shallow = yard.path("shallow");
    let there = shallow.to_str().expect("text");
    let from = format!("file://{}", yard.project().display());
    yard.git(&["clone", "-q", "--depth", "1", &from, there]);
    let git = |words: &[&str]| yard.git(&[&["-C", there][..], words].concat());
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [{ "name": "run_command", "input": { "command": format!("echo one > c.txt; {COMMIT} one; echo rest > d.txt") } }] },
            { "text": "done" } ] }),
    );
    yard.chock(&["run", "--project", there, "work"]).expect(0);
    let before = git(&["rev-parse", "HEAD"]);
    for mode in ["merge", "rebase", "squash"] {
        yard.chock(&["apply", "--project", there, "--commit=Rest", "--mode", mode]).expect(0);
        assert_eq!(git(&["show", "HEAD:c.txt", "HEAD:d.txt"]), "one\nrest\n");
        assert_eq!(git(&["status", "--porcelain"]), "");
        git(&["fsck", "--strict", "--no-dangling"]);
        assert_eq!(git(&["rev-parse", "--is-shallow-repository"]), "true\n");
        yard.chock(&["undo", "--project", there]).expect(0);
        assert_eq!(git(&["rev-parse", "HEAD"]), before);
    }
}

#[test]
fn a_project_with_a_submodule_gets_the_commits_and_its_submodule_is_not_touched() {
    let yard = Yard::new();
    ada(&yard);
    let inner = yard.path("inner");
    let inner = inner.to_str().expect("text");
    yard.git(&["clone", "-q", yard.project().to_str().expect("text"), inner]);
    yard.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "sub"]);
    yard.commit();
    let pointer = yard.git(&["rev-parse", "HEAD:sub"]);
    work(&yard, &format!("echo one > c.txt; {COMMIT} one; echo rest > d.txt"));
    let before = head(&yard);
    let report = apply(&yard, &["--commit=Rest"], 0);
    assert_eq!((&report["written"], &report["left"]), (&json!(["c.txt", "d.txt"]), &json!([])));
    assert_eq!(yard.git(&["rev-parse", "HEAD:sub"]), pointer);
    assert_eq!(read(&yard, "sub/a.txt"), "alpha\n");
    clean(&yard);
    yard.chock(&["undo"]).expect(0);
    assert_eq!(head(&yard), before);
    clean(&yard);
}

#[test]
fn thousands_of_commits_land_and_go_out_again() {
    let stream = "from='from refs/heads/main^0'
        for i in $(seq 3000); do
            printf 'commit refs/heads/main\\ncommitter A <a@b> %d +0000\\ndata 2\\nc\\n%s\\nM 100644 inline f%d.txt\\ndata %d\\n%s\\n' $i \"$from\" $((i % 7)) ${#i} $i
            from=
        done";
    let yard = worked("true");
    more(&yard, &format!("{{ {stream}; }} | git fast-import --quiet && git reset -q --hard"));
    let before = head(&yard);
    let began = Instant::now();
    let report = apply(&yard, &[], 0);
    assert_eq!(report["commits"]["count"], 3000, "{report}");
    assert_eq!(yard.git(&["rev-list", "--count", "HEAD"]), "3001\n");
    clean(&yard);
    yard.chock(&["undo"]).expect(0);
    assert_eq!(head(&yard), before);
    clean(&yard);
    assert!(began.elapsed() < Duration::from_secs(240), "{:?}", began.elapsed());
}

#[test]
fn line_ends_of_the_person_s_checkout_stay_and_nothing_looks_changed() {
    let yard = Yard::new();
    ada(&yard);
    yard.write(".gitattributes", "*.txt text eol=crlf\n");
    yard.write("w.txt", "one\r\ntwo\r\n");
    yard.commit();
    assert_eq!(yard.git(&["status", "--porcelain"]), "");
    work(&yard, &format!("printf 'three\\n' >> w.txt; printf 'new\\n' > n.txt; {COMMIT} one"));
    let before = head(&yard);
    apply(&yard, &[], 0);
    assert_eq!(yard.git(&["show", "HEAD:w.txt", "HEAD:n.txt"]), "one\ntwo\nthree\nnew\n");
    assert_eq!(read(&yard, "w.txt"), "one\r\ntwo\r\nthree\r\n");
    clean(&yard);
    yard.chock(&["undo"]).expect(0);
    assert_eq!((head(&yard), read(&yard, "w.txt")), (before, "one\r\ntwo\r\n".to_owned()));
    clean(&yard);
    // What is staged is the person's, also where the file itself is as it was.
    yard.write("w.txt", "staged\r\n");
    yard.git(&["add", "w.txt"]);
    yard.write("w.txt", "one\r\ntwo\r\n");
    let report = apply(&yard, &[], 3);
    assert_eq!(report["commits"]["parked"], "dirty_tree", "{report}");
}

/// Whether a moment has come.
type Moment<'a> = Box<dyn Fn() -> bool + 'a>;

/// Starts a command and kills it as soon as `came` holds, or lets it come to its end.
fn kill_when(yard: &Yard, words: &[&str], came: &dyn Fn() -> bool) {
    let mut command = yard.command(words);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let (mut child, since) = (child.expect("the program"), Instant::now());
    while child.try_wait().expect("a child").is_none() {
        assert!(since.elapsed() < Duration::from_secs(60), "{words:?} does not end");
        if came() {
            child.kill().expect("a signal");
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_kill_of_the_program_in_an_apply_or_its_undo_leaves_before_or_after() {
    let yard = worked(&format!(
        "for i in $(seq 40); do echo $i > n$i.txt; done; rm b.txt; {COMMIT} one; echo rest > d.txt"
    ));
    let before = head(&yard);
    let log = yard.logs().pop().expect("a log");
    let (work, shelf) = (log.with_extension("work"), log.with_file_name("handback"));
    let kept = yard.project().join(format!(".git/refs/chock/{}", session(&yard)));
    let stage = || {
        let entries = fs::read_dir(yard.project()).expect("a directory").flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".chock-")).count()
    };
    let exists = |path: &Path| path.symlink_metadata().is_ok();
    let moments: [(&str, Moment<'_>); 7] = [
        ("a pack is out", Box::new(|| exists(&work.join("incoming.pack")))),
        ("the dock is there", Box::new(|| exists(&work.join("dock")))),
        ("the journal is there", Box::new(|| exists(&shelf.join("journal.json")))),
        ("the ref is there", Box::new(|| exists(&kept) && exists(&shelf.join("journal.json")))),
        ("files wait", Box::new(|| stage() > 0)),
        ("a file is in", Box::new(|| exists(&yard.project().join("n1.txt")))),
        ("a file is out", Box::new(|| !exists(&yard.project().join("b.txt")))),
    ];
    let settled = |what: &str| {
        // What was cut short is settled by the next command, whichever it is.
        let next: &[&str] =
            if what.len().is_multiple_of(2) { &["diff", "--stat"] } else { &["exec", "true"] };
        yard.chock(next).expect(0);
        assert!(!shelf.join("journal.json").exists(), "{what}: {next:?}");
        assert_eq!(stage(), 0, "{what}");
        clean(&yard);
        let is_after = head(&yard) != before;
        assert_eq!(exists(&yard.project().join("n40.txt")), is_after, "{what}");
        assert_eq!(exists(&yard.project().join("b.txt")), !is_after, "{what}");
        is_after
    };
    for (undone, (what, came)) in moments.iter().enumerate() {
        kill_when(&yard, &["apply"], came.as_ref());
        if !settled(what) {
            apply(&yard, &[], 0);
        }
        let moments: [(&str, &dyn Fn() -> bool); 3] = [
            ("undo: the journal is there", &|| exists(&shelf.join("journal.json"))),
            ("undo: files wait", &|| stage() > 0),
            ("undo: a file is back", &|| exists(&yard.project().join("b.txt"))),
        ];
        let (what, came) = moments[undone % moments.len()];
        kill_when(&yard, &["undo"], came);
        if settled(what) {
            yard.chock(&["undo"]).expect(0);
        }
        assert_eq!(head(&yard), before);
    }
    // The work itself is whole.
    apply(&yard, &["--commit=Rest"], 0);
    assert_eq!((read(&yard, "n40.txt"), read(&yard, "d.txt")), ("40\n".into(), "rest\n".into()));
    clean(&yard);
    yard.chock(&["sessions", "verify"]).expect(0);
}
