//! Change sets against git's own diff of the same trees.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use chock_workspace::{ChangeKind, ChangeSet, LineTag};

use crate::yard::{Yard, changes, put, rows, run, top, whiteout};

/// A project whose session then makes every kind of change.
fn changed() -> (Yard, chock_workspace::Workspace) {
    let yard = Yard::filled();
    let lines: String = (1..60).map(|number| format!("line {number}\n")).collect();
    yard.write("long", &lines);
    yard.write("moved", lines.replace("line", "row"));
    yard.write("crlf", "a\r\nb\r\nc\r\n");
    yard.write("no-end", "a\nb");
    yard.write("binary", b"\0\x01\x02old");
    yard.write("bytes", b"\xff\xfe\n");
    yard.write("empty", "");
    yard.write("becomes-link", "text\n");
    yard.commit("second");
    let workspace = yard.workspace();
    let upper = top(&workspace);
    put(&upper, "long", lines.replace("line 5\n", "line five\n").replace("line 50\n", ""));
    whiteout(&upper, "moved");
    put(&upper, "new place/moved", lines.replace("line", "row").replace("row 7\n", "row seven\n"));
    put(&upper, "crlf", "a\r\nB\r\nc\r\n");
    put(&upper, "no-end", "a\nB");
    put(&upper, "no-end-new", "x");
    put(&upper, "binary", b"\0\x01\x02new");
    put(&upper, "binary-new", b"\0\0\0");
    put(&upper, "bytes", b"\xff\xfd\n");
    put(&upper, "empty", "filled\n");
    put(&upper, "empty-new", "");
    whiteout(&upper, "README");
    symlink("long", upper.join("becomes-link")).unwrap();
    symlink("docs", upper.join("link")).unwrap();
    put(&upper, "run.sh", "#!/bin/sh\n");
    fs::write(upper.join(std::ffi::OsStr::from_bytes(b"na\xffme\n\"")), "odd\n").unwrap();
    put(&upper, "with space", "x\n");
    (yard, workspace)
}

fn find<'a>(changes: &'a ChangeSet, path: &str) -> &'a chock_workspace::FileChange {
    changes.files.iter().find(|file| file.path == path.as_bytes()).unwrap()
}

#[test]
fn every_kind_of_change_is_told() {
    let (_yard, workspace) = changed();
    let changes = changes(&workspace);
    let expected = [
        "deleted README",
        "symlink becomes-link",
        "modified binary",
        "added binary-new",
        "modified bytes",
        "modified crlf",
        "modified empty",
        "added empty-new",
        "symlink link",
        "modified long",
        "added na\u{fffd}me\n\"",
        "renamed new place/moved",
        "modified no-end",
        "added no-end-new",
        "mode run.sh",
        "added with space",
    ];
    assert_eq!(rows(&changes), expected);
    assert!(find(&changes, "binary").binary && find(&changes, "binary").hunks.is_empty());
    assert_eq!(find(&changes, "new place/moved").old_path.as_deref(), Some(&b"moved"[..]));
    let long = find(&changes, "long");
    assert_eq!(long.hunks.len(), 2);
    assert_eq!((long.added_lines(), long.removed_lines()), (1, 2));
    assert_eq!((long.hunks[1].old_start, long.hunks[1].new_lines), (47, 6));
    let end = &find(&changes, "no-end").hunks[0].lines;
    assert_eq!((end[2].tag, &end[2].bytes[..]), (LineTag::Added, &b"B"[..]));
    assert_eq!(find(&changes, "run.sh").kind, ChangeKind::Mode);
}

#[test]
fn the_numbers_are_git_s() {
    let (yard, workspace) = changed();
    let changes = changes(&workspace);
    let store = yard.path("state/one.work/store");
    let (base, snapshot) = (changes.base.to_string(), changes.snapshot.to_string());
    let git = |args: &[&str]| {
        let mut all = vec!["diff", "--no-ext-diff"];
        all.extend(args);
        all.extend([base.as_str(), snapshot.as_str()]);
        yard.git_in(&store, &all)
    };
    let stat = changes.stat();
    let short = git(&["--shortstat"]);
    let numbers: Vec<u64> =
        short.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
    // Git counts a file that became a link once, and its lines on both sides; so do we.
    assert_eq!(numbers, [stat.files, stat.added, stat.removed], "{short}");
    let heads = |patch: &str| -> Vec<String> {
        let lines = patch.lines().filter(|line| line.starts_with("@@"));
        lines.map(|line| line.split(" @@").next().unwrap().to_owned()).collect()
    };
    let mut ours = Vec::new();
    workspace.store().write_patch(&changes, &mut ours).unwrap();
    let (mut ours, mut theirs) =
        (heads(&String::from_utf8_lossy(&ours)), heads(&git(&["--no-color"])));
    ours.sort();
    theirs.sort();
    assert_eq!(ours, theirs);
}

#[test]
fn git_applies_the_patch_to_the_same_tree() {
    let (yard, workspace) = changed();
    let changes = changes(&workspace);
    let patch = yard.path("patch");
    workspace.store().write_patch(&changes, &mut fs::File::create(&patch).unwrap()).unwrap();
    let empty = yard.path("empty-repository");
    // A clone has only what is committed: the patch holds all that is new.
    yard.git(&["clone", "--quiet", "--no-local", ".", empty.to_str().unwrap()]);
    apply(&yard, &empty, &patch);
    assert_eq!(yard.git_in(&empty, &["write-tree"]), changes.snapshot.to_string());
}

fn apply(yard: &Yard, repository: &Path, patch: &Path) {
    let mut command = yard.command(repository);
    run(command.args(["apply", "--index", "--whitespace=nowarn"]).arg(patch));
}

#[test]
fn hunk_ids_stay_while_other_hunks_come_and_go() {
    let (_yard, workspace) = changed();
    let before = find(&changes(&workspace), "long").hunks[1].id.clone();
    let lines: String = (1..60).map(|number| format!("line {number}\n")).collect();
    let upper = top(&workspace);
    put(&upper, "long", format!("first\nsecond\n{}", lines.replace("line 50\n", "")));
    let after = find(&changes(&workspace), "long").hunks.last().unwrap().id.clone();
    assert_eq!(before, after);
    put(&upper, "long", lines.replace("line 50\n", "other\n"));
    assert_ne!(before, find(&changes(&workspace), "long").hunks[0].id);
}

#[test]
fn machine_output_has_its_shape() {
    let (_yard, workspace) = changed();
    let changes = changes(&workspace);
    let value = serde_json::to_value(&changes).unwrap();
    assert_eq!(value["base"], workspace.base_tree().to_string());
    let files = value["files"].as_array().unwrap();
    let file = |name: &str| files.iter().find(|file| file["path"] == name).unwrap();
    assert_eq!(file("no-end")["hunks"][0]["lines"][2], "\\ No newline at end of file");
    assert_eq!(file("no-end")["hunks"][0]["lines"][3], "+B");
    assert_eq!(file("new place/moved")["old_path"], "moved");
    assert_eq!(file("run.sh")["new_mode"], "100644");
    assert!(file("with space")["old_mode"].is_null());
    assert!(files.iter().any(|file| file["path"]["bytes"].is_string()));
    assert_eq!(file("bytes")["hunks"][0]["lines"][1]["bytes"], "K//9");
}

#[test]
fn a_patch_of_nothing_is_empty() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    let changes = changes(&workspace);
    let mut patch = Vec::new();
    workspace.store().write_patch(&changes, &mut patch).unwrap();
    assert!(changes.files.is_empty() && patch.is_empty());
}
