//! The base: what is in it, and that it is made once.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use chock_workspace::{Halves, Method, Notice, Owner, Start, Workspace};

use crate::yard::{Yard, assert_same, everything};

fn base(workspace: &Workspace) -> PathBuf {
    match &workspace.layout().halves {
        Halves::Overlay { base, .. } => base.clone(),
        Halves::Copy { .. } => panic!("an overlay is expected"),
    }
}

#[test]
fn the_base_is_the_committed_tree_whatever_the_project_says_about_bytes() {
    let yard = Yard::filled();
    yard.write(
        ".gitattributes",
        "*.bat eol=crlf\n*.id ident\n*.big filter=lfs\n*.u16 working-tree-encoding=UTF-16\n",
    );
    yard.write("a.bat", "echo\n");
    yard.write("a.id", "$Id$\n");
    yard.commit("attributes");
    let marker = yard.path("marker");
    let smudge = format!("touch {}; cat", marker.display());
    yard.write("a.big", "content\n");
    yard.commit("big");
    yard.git(&["config", "filter.lfs.smudge", &smudge]);
    yard.git(&["config", "filter.lfs.clean", &smudge]);
    yard.git(&["config", "core.fsmonitor", &smudge]);
    yard.git(&["config", "core.autocrlf", "true"]);
    yard.write("README", "changed, and not committed\n");
    fs::create_dir_all(yard.project.join(".git/hooks")).unwrap();
    yard.write(".git/hooks/post-checkout", format!("#!/bin/sh\ntouch {}\n", marker.display()));
    let workspace = yard.workspace();
    workspace.uncommitted(&yard.find().unwrap()).count().unwrap();
    let base = base(&workspace);
    assert_eq!(fs::read(base.join("a.bat")).unwrap(), b"echo\n");
    assert_eq!(fs::read(base.join("a.id")).unwrap(), b"$Id$\n");
    assert_eq!(fs::read(base.join("README")).unwrap(), b"one\ntwo\nthree\n");
    assert_eq!(fs::read_link(base.join("link")).unwrap(), PathBuf::from("README"));
    assert_eq!(base.join("run.sh").metadata().unwrap().mode() & 0o111, 0o111);
    assert!(!marker.exists(), "a program of the project ran");
}

#[test]
fn pointers_of_git_lfs_are_counted() {
    let yard = Yard::filled();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";
    yard.write("a.bin", pointer);
    yard.write("b.bin", pointer);
    yard.commit("pointers");
    assert_eq!(yard.workspace().notices(), [Notice::LfsPointers { count: 2 }]);
}

#[test]
fn sessions_share_one_base_and_each_tree_has_its_own() {
    let yard = Yard::filled();
    let one = yard.workspace();
    let before = everything(&base(&one));
    let two = yard.workspace_with(yard.opening("two.work"));
    assert_eq!(base(&one), base(&two));
    assert_same(&everything(&base(&two)), &before);
    yard.write("README", "other\n");
    yard.commit("second");
    let three = yard.workspace_with(yard.opening("three.work"));
    assert_ne!(base(&three), base(&one));
    assert_eq!(base(&one).join("README").metadata().unwrap().nlink(), 1);
}

#[test]
fn what_a_killed_maker_left_is_removed() {
    let yard = Yard::filled();
    let bases = yard.path("cache/bases");
    fs::create_dir_all(bases.join("other.making/tree")).unwrap();
    let tree = yard.git(&["rev-parse", "HEAD^{tree}"]);
    fs::create_dir_all(bases.join(format!("{tree}-v2.making/tree"))).unwrap();
    fs::create_dir_all(bases.join(format!("{tree}-v2/tree"))).unwrap();
    let workspace = yard.workspace();
    assert!(base(&workspace).join("README").is_file());
    let left: Vec<_> = bases.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_str().unwrap().ends_with(".making")), "{left:?}");
}

#[test]
fn many_makers_at_once_make_one_base() {
    let yard = Yard::filled();
    std::thread::scope(|scope| {
        let makers: Vec<_> = (0..4)
            .map(|number| {
                let yard = &yard;
                scope.spawn(move || {
                    base(&yard.workspace_with(yard.opening(&format!("{number}.work"))))
                })
            })
            .collect();
        for maker in makers {
            assert!(maker.join().unwrap().join("README").is_file());
        }
    });
}

#[test]
fn the_files_belong_to_the_session_s_user() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    let yard = Yard::filled();
    let mut opening = yard.opening("one.work");
    opening.owner = Some(Owner { uid: 1000, gid: 1000 });
    let workspace = yard.workspace_with(opening.clone());
    opening.session = yard.path("state/two.work");
    opening.method = Method::Copy;
    opening.start = Start::Committed;
    let copy = yard.workspace_with(opening);
    for directory in [base(&workspace), workspace.layout().git_dir.clone(), crate::yard::top(&copy)]
    {
        for (path, ..) in everything(&directory) {
            let found = fs::symlink_metadata(&path).unwrap();
            assert_eq!((found.uid(), found.gid()), (1000, 1000), "{path:?}");
        }
    }
    let store = yard.path("state/one.work/store").metadata().unwrap();
    assert_eq!((store.uid(), store.mode() & 0o777), (0, 0o700));
}
