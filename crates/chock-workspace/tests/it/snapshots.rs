//! What a snapshot takes, and what it leaves out.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use chock_workspace::{Flag, Method, SNAPSHOT_FILE_BYTES_MAX, SkipReason};

use crate::yard::{Yard, assert_same, changes, everything, list, put, rows, top, whiteout};

#[test]
fn nothing_changed_is_the_base_s_own_tree() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    let upper = top(&workspace);
    assert_eq!(workspace.snapshot().unwrap().tree, workspace.base_tree());
    put(&upper, "src/deep/er/leaf.txt", "leaf\n");
    let snapshot = workspace.snapshot().unwrap();
    assert_eq!((snapshot.tree, snapshot.files_read), (workspace.base_tree(), 1));
    assert_eq!(workspace.base_tree().to_string(), yard.git(&["rev-parse", "HEAD^{tree}"]));
}

#[test]
fn untracked_files_are_in_and_ignored_ones_are_not() {
    let yard = Yard::filled();
    yard.write("tracked.log", "tracked\n");
    yard.git(&["add", "-f", "tracked.log"]);
    yard.write("target/kept.txt", "kept\n");
    yard.git(&["add", "-f", "target/kept.txt"]);
    yard.commit("tracked although ignored");
    yard.write(".git/info/exclude", "*.swp\n");
    let workspace = yard.workspace();
    let upper = top(&workspace);
    for name in ["a.log", "a.swp", "target/debug/x", "src/.gitignore", "src/own", "src/seen"] {
        put(&upper, name, "own\n!a.log\n");
    }
    put(&upper, "src/a.log", "back again\n");
    put(&upper, "tracked.log", "changed\n");
    put(&upper, "target/kept.txt", "changed\n");
    let expected = [
        "added src/.gitignore",
        "added src/a.log",
        "added src/seen",
        "modified target/kept.txt",
        "modified tracked.log",
    ];
    assert_eq!(rows(&changes(&workspace)), expected);
}

#[test]
fn special_files_are_named_and_never_entered() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    let upper = top(&workspace);
    let fifo = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, upper.join("fifo"), fifo, mode, 0).unwrap();
    let _listener = UnixListener::bind(upper.join("socket")).unwrap();
    symlink("/etc", upper.join("etc")).unwrap();
    symlink("fifo", upper.join("gone")).unwrap();
    let changes = changes(&workspace);
    assert_eq!(rows(&changes), ["added etc", "added gone"]);
    assert_eq!(changes.files[0].flags, [Flag::LeavesTree]);
    let skipped: Vec<_> = changes.skipped.iter().map(|row| (&row.path[..], row.reason)).collect();
    assert_eq!(skipped, [(&b"fifo"[..], SkipReason::Special), (b"socket", SkipReason::Special)]);
}

#[test]
fn repositories_inside_and_setuid_bits_are_flagged() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    let upper = top(&workspace);
    put(&upper, "nested/.git/config", "[core]\n\tfsmonitor = touch /tmp/x\n");
    put(&upper, "nested/file", "x\n");
    put(&upper, "x/.GIT/config", "x\n");
    put(&upper, ".git/config", "x\n");
    put(&upper, "setuid", "x\n");
    fs::set_permissions(upper.join("setuid"), fs::Permissions::from_mode(0o4755)).unwrap();
    let changes = changes(&workspace);
    assert_eq!(rows(&changes), ["added nested/file", "added setuid"]);
    assert_eq!(changes.files[0].flags, [Flag::NestedRepository]);
    assert_eq!(changes.files[1].flags, [Flag::Setuid]);
    assert_eq!(changes.files[1].new_mode, 0o100_755);
    let skipped: Vec<_> = changes.skipped.iter().map(|row| row.path.as_slice()).collect();
    assert_eq!(skipped, [&b"nested/.git"[..], b"x/.GIT"]);
}

#[test]
fn a_file_over_the_limit_keeps_its_old_content_and_is_named() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    let huge = fs::File::create(top(&workspace).join("README")).unwrap();
    huge.set_len(SNAPSHOT_FILE_BYTES_MAX + 1).unwrap();
    let snapshot = workspace.snapshot().unwrap();
    assert_eq!(snapshot.tree, workspace.base_tree());
    assert_eq!(snapshot.skipped[0].reason, SkipReason::TooLarge);
}

#[test]
fn a_large_file_is_streamed_into_the_same_object_as_git_s() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    let bytes: Vec<u8> = (0..20_000_000_u32).map(|number| (number / 7) as u8).collect();
    put(&top(&workspace), "large", &bytes);
    yard.write("large", &bytes);
    let snapshot = workspace.snapshot().unwrap();
    let id = yard.git(&["hash-object", "large"]);
    assert!(list(&yard, "one.work", snapshot.tree).contains(&id));
    assert_eq!(workspace.snapshot().unwrap().tree, snapshot.tree);
}

#[test]
fn closed_directories_and_deep_ones_are_named_and_the_rest_is_kept() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    let upper = top(&workspace);
    let mut deep = upper.clone();
    for _ in 0..300 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("x"), "x").unwrap();
    put(&upper, "new", "x\n");
    put(&upper, "docs/c.md", "x\n");
    fs::set_permissions(upper.join("docs"), fs::Permissions::from_mode(0o000)).unwrap();
    let changes = changes(&workspace);
    let reasons: Vec<_> = changes.skipped.iter().map(|row| row.reason).collect();
    if rustix::process::geteuid().is_root() {
        assert_eq!(reasons, [SkipReason::TooDeep]);
        assert_eq!(rows(&changes), ["added docs/c.md", "added new"]);
    } else {
        assert_eq!(reasons, [SkipReason::TooDeep, SkipReason::Unreadable]);
        assert_eq!(rows(&changes), ["added new"]);
    }
    workspace.remove().unwrap();
    assert!(!yard.path("state/one.work").exists());
}

#[test]
fn a_submodule_keeps_its_pointer() {
    let yard = Yard::filled();
    let inner = Yard::filled();
    let path = inner.project.to_str().unwrap();
    yard.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", path, "sub"]);
    yard.commit("with a submodule");
    let workspace = yard.workspace();
    let upper = top(&workspace);
    put(&upper, "sub/inner.txt", "x\n");
    let snapshot = workspace.snapshot().unwrap();
    assert_eq!(snapshot.tree, workspace.base_tree());
    assert_eq!(snapshot.skipped[0].reason, SkipReason::Submodule);
    fs::remove_dir_all(upper.join("sub")).unwrap();
    whiteout(&upper, "sub");
    let changes = changes(&workspace);
    assert_eq!(rows(&changes), ["deleted sub"]);
    assert_eq!(changes.files[0].old_mode, 0o160_000);
}

#[test]
fn everything_gone_is_the_empty_tree() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    for name in [".gitignore", "README", "docs", "link", "run.sh", "src"] {
        whiteout(&top(&workspace), name);
    }
    let tree = workspace.snapshot().unwrap().tree.to_string();
    assert_eq!(tree, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
}

#[test]
fn many_snapshots_leave_the_project_s_git_as_it_is() {
    let yard = Yard::filled();
    let before = everything(&yard.project.join(".git"));
    let workspace = yard.workspace();
    let upper = top(&workspace);
    for turn in 0..50 {
        put(&upper, "README", format!("turn {}\n", turn % 5));
        put(&upper, &format!("new/{}.txt", turn % 7), "a\n");
        let snapshot = workspace.snapshot().unwrap();
        workspace.store().changes(workspace.start_tree(), snapshot.tree).unwrap();
    }
    // Content and trees that the project has are not written, and not touched either.
    put(&upper, "README", "one\ntwo\nthree\n");
    fs::remove_dir_all(upper.join("new")).unwrap();
    assert_eq!(workspace.snapshot().unwrap().tree, workspace.base_tree());
    assert_same(&everything(&yard.project.join(".git")), &before);
    let store = yard.path("state/one.work/store");
    let count = yard.git_in(&store, &["count-objects"]);
    let count: u32 = count.split(' ').next().unwrap().parse().unwrap();
    assert!(count < 100, "{count}");
}

#[test]
fn a_full_copy_behaves_as_an_overlay_does() {
    let yard = Yard::filled();
    let mut opening = yard.opening("one.work");
    opening.method = Method::Copy;
    let workspace = yard.workspace_with(opening);
    let root = top(&workspace);
    assert_eq!(workspace.snapshot().unwrap().tree, workspace.base_tree());
    fs::remove_file(root.join("README")).unwrap();
    fs::remove_dir_all(root.join("docs")).unwrap();
    put(&root, "new/a.txt", "x\n");
    put(&root, "a.log", "x\n");
    put(&root, "target/x", "x\n");
    let expected = ["deleted README", "deleted docs/a.md", "deleted docs/b.md", "added new/a.txt"];
    assert_eq!(rows(&changes(&workspace)), expected);
    // A device of the overlay's kind means nothing here.
    whiteout(&root, "run.sh.gone");
    assert_eq!(changes(&workspace).skipped.len(), 1);
}
