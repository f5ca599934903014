//! Uncommitted files: counted when they stay behind, carried in when asked.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use chock_workspace::{CoverRow, Kind, Method, Start};

use crate::yard::{Yard, assert_same, changes, everything, list, put, rows, text, top};

/// A project with every kind of uncommitted change.
fn dirty() -> Yard {
    let yard = Yard::filled();
    yard.write("README", "one\ntwo changed\nthree\n");
    yard.write("staged.txt", "staged\n");
    yard.write("forced.log", "staged although ignored\n");
    yard.git(&["add", "staged.txt"]);
    yard.git(&["add", "-f", "forced.log"]);
    yard.write("untracked dir/new\nline", "untracked\n");
    yard.write("ignored.log", "ignored\n");
    fs::remove_file(yard.project.join("docs/a.md")).unwrap();
    fs::remove_dir_all(yard.project.join("src/deep")).unwrap();
    yard.write("src/deep", "now a file\n");
    fs::remove_file(yard.project.join("link")).unwrap();
    yard.write("link/inside", "now a directory\n");
    fs::set_permissions(yard.project.join("run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    symlink("docs", yard.project.join("newlink")).unwrap();
    yard
}

#[test]
fn uncommitted_files_stay_behind_and_are_counted() {
    let yard = dirty();
    let before = everything(&yard.project);
    let workspace = yard.workspace();
    assert_eq!(rows(&changes(&workspace)), [""; 0]);
    let lines = yard.git(&["status", "--porcelain", "-uall", "--no-renames"]).lines().count();
    let project = yard.find().unwrap();
    assert_eq!(workspace.uncommitted(&project).count().unwrap(), lines as u64);
    assert_same(&everything(&yard.project), &before);
}

#[test]
fn what_the_person_ignores_everywhere_is_not_counted() {
    let yard = Yard::filled();
    yard.write("notes.swp", "x");
    let workspace = yard.workspace();
    let project = yard.find().unwrap();
    assert_eq!(workspace.uncommitted(&project).count().unwrap(), 1);
    put(&yard.path("home"), ".config/git/ignore", "*.swp\n");
    assert_eq!(workspace.uncommitted(&project).count().unwrap(), 0);
}

#[test]
fn a_session_starts_from_uncommitted_files_when_asked() {
    let yard = dirty();
    let expected = {
        let mut command = yard.command(&yard.project);
        command.env("GIT_INDEX_FILE", yard.path("scratch-index"));
        command.args(["read-tree", "HEAD"]);
        crate::yard::run(&mut command);
        let git = |args: &[&str]| {
            let mut command = yard.command(&yard.project);
            command.env("GIT_INDEX_FILE", yard.path("scratch-index")).args(args);
            text(crate::yard::run(&mut command))
        };
        git(&["add", "-A"]);
        git(&["add", "-f", "forced.log"]);
        git(&["write-tree"])
    };
    let before = everything(&yard.project.join("docs"));
    for method in [Method::Overlay, Method::Copy] {
        let name = format!("{method:?}.work");
        let mut opening = yard.opening(&name);
        opening.start = Start::Uncommitted;
        opening.method = method;
        let workspace = yard.workspace_with(opening);
        let start = workspace.start_tree();
        assert_eq!(start.to_string(), expected, "{}", list(&yard, &name, start));
        assert_ne!(start, workspace.base_tree());
        assert_eq!(rows(&changes(&workspace)), [""; 0], "{method:?}");
        put(&top(&workspace), "README", "changed by the session\n");
        put(&top(&workspace), "forced.log", "tracked from the start\n");
        assert_eq!(rows(&changes(&workspace)), ["modified README", "modified forced.log"]);
    }
    assert_same(&everything(&yard.project.join("docs")), &before);
}

#[test]
fn covered_files_are_not_carried_in() {
    let yard = Yard::filled();
    yard.write("secret.env", "key\n");
    yard.write("private/key", "key\n");
    let mut opening = yard.opening("one.work");
    opening.start = Start::Uncommitted;
    opening.covered =
        vec![CoverRow::name("secret.env", Kind::File), CoverRow::name("private", Kind::Directory)];
    let workspace = yard.workspace_with(opening);
    assert_eq!(workspace.start_tree(), workspace.base_tree());
    assert_eq!(top(&workspace).read_dir().unwrap().count(), 0);
}
