//! What a change set says of changes that are not carried as any other.

use std::os::unix::fs::symlink;

use chock_workspace::{Carriage, Flag};

use crate::yard::{Yard, changes, put, top};

/// The flags of one path of what the session wrote.
#[track_caller]
fn check(files: &[(&str, &str)], path: &str, expected: &[Flag]) {
    let yard = Yard::filled();
    yard.write("Makefile", "all:\n");
    yard.write("makefile", "all:\n");
    yard.write(".gitattributes", "*.bin filter=lfs\n");
    yard.commit("second");
    let workspace = yard.workspace();
    for (name, text) in files {
        match text.strip_prefix("-> ") {
            Some(target) => symlink(target, top(&workspace).join(name)).unwrap(),
            None => put(&top(&workspace), name, text),
        }
    }
    let changes = changes(&workspace);
    let file = changes.files.iter().find(|file| file.path == path.as_bytes()).unwrap();
    assert_eq!(file.flags, expected, "{path} of {files:?}");
    let carriage = expected.iter().map(|flag| flag.carriage()).max();
    assert_eq!(file.carriage(), carriage.unwrap_or(Carriage::Plain));
}

#[test]
fn names_content_and_neighbours_flag_a_change() {
    check(&[("src/new.rs", "x")], "src/new.rs", &[]);
    check(&[("src/.envrc", "x")], "src/.envrc", &[Flag::Environment]);
    check(&[("l", "-> ../up")], "l", &[Flag::LeavesTree]);
    check(&[("l", "-> .git/hooks")], "l", &[Flag::LeavesTree]);
    check(&[("l", "-> src/main.rs")], "l", &[]);
    check(&[("a/.gitattributes", "* filter=x\n")], "a/.gitattributes", &[Flag::GitSettings]);
    check(&[("a/.gitattributes", "* text\n")], "a/.gitattributes", &[]);
    // What names a program is flagged when it goes, too.
    check(&[(".gitattributes", "* text\n")], ".gitattributes", &[Flag::GitSettings]);
}

#[test]
fn a_directory_that_git_takes_for_a_repository_is_refused() {
    let bare = [
        ("x/HEAD", "ref: refs/heads/main\n"),
        ("x/objects/a", ""),
        ("x/refs/a", ""),
        ("x/config", "[core]\n\tfsmonitor = touch pwned\n"),
    ];
    check(&bare, "x/config", &[Flag::BareRepository]);
    check(&bare, "x/HEAD", &[Flag::BareRepository]);
    check(&bare, "x/objects/a", &[Flag::BareRepository]);
    check(&bare[..2], "x/HEAD", &[]);
}

#[test]
fn a_new_name_that_folds_into_another_is_refused() {
    check(&[("readme", "x")], "readme", &[Flag::FoldsTogether]);
    check(&[("SRC/x", "x")], "SRC/x", &[Flag::FoldsTogether]);
    let both = [("\u{e4}", "x"), ("a\u{308}", "y")];
    check(&both, "\u{e4}", &[Flag::FoldsTogether]);
    // A project that has both already goes on with them.
    check(&[("Makefile", "changed:\n")], "Makefile", &[]);
}

#[test]
fn hooks_that_the_project_s_configuration_names_are_flagged() {
    for (named, flagged) in [("scripts/hooks", true), ("./scripts//hooks/", true), ("other", false)]
    {
        let yard = Yard::filled();
        yard.git(&["config", "core.hooksPath", named]);
        let workspace = yard.workspace();
        put(&top(&workspace), "scripts/hooks/pre-commit", "#!/bin/sh\n");
        put(&top(&workspace), "scripts/hooks.txt", "x\n");
        let mut changes = changes(&workspace);
        changes.flag_hooks(&yard.find().unwrap());
        let expected: &[Flag] = if flagged { &[Flag::Hooks] } else { &[] };
        let flags: Vec<_> = changes.files.iter().map(|file| file.flags.as_slice()).collect();
        assert_eq!(flags, [&[][..], expected], "{named}");
    }
}
