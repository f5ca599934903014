//! A workspace made out of a turn of another one.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use chock_workspace::{BindMode, Forking, Method, Snapshot, Workspace, WorkspaceFault};

use crate::yard::{Yard, changes, list, put, rows, top, whiteout};

fn forking(yard: &Yard, parent: &str, session: &str, snapshot: &Snapshot) -> Forking {
    Forking {
        session: yard.path("state").join(session),
        parent: yard.path("state").join(parent),
        tree: snapshot.tree,
        git: snapshot.git,
        covered: Vec::new(),
        binds: Vec::new(),
    }
}

fn fork(yard: &Yard, parent: &str, session: &str, snapshot: &Snapshot) -> Workspace {
    let forking = forking(yard, parent, session, snapshot);
    Workspace::fork(&yard.find().unwrap(), &forking).unwrap()
}

/// Removes a name as the method of the workspace does.
fn remove(workspace: &Workspace, method: Method, name: &str) {
    let path = top(workspace).join(name);
    match method {
        Method::Overlay => whiteout(&top(workspace), name),
        Method::Copy if path.is_dir() => fs::remove_dir_all(path).unwrap(),
        Method::Copy => fs::remove_file(path).unwrap(),
    }
}

/// Writes over a name, whatever it is.
fn replace(workspace: &Workspace, name: &str, text: &str) {
    let path = top(workspace).join(name);
    if path.is_dir() {
        fs::remove_dir_all(&path).unwrap();
    } else if path.symlink_metadata().is_ok() {
        fs::remove_file(&path).unwrap();
    }
    put(&top(workspace), name, text);
}

fn work(workspace: &Workspace, method: Method) {
    replace(workspace, "README", "one\nTWO\nthree\n");
    replace(workspace, "new/deep/er.txt", "new\n");
    replace(workspace, "empty", "");
    replace(workspace, "ignored.log", "not in a snapshot\n");
    remove(workspace, method, "run.sh");
    remove(workspace, method, "src/deep");
    // A directory in the place of a file, and a file in the place of a directory.
    remove_link(workspace);
    replace(workspace, "link/inside", "x\n");
    replace(workspace, "docs", "a file now\n");
    let program = top(workspace).join("tool");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../outside", top(workspace).join("pointer")).unwrap();
}

fn remove_link(workspace: &Workspace) {
    let link = top(workspace).join("link");
    if link.symlink_metadata().is_ok() {
        fs::remove_file(link).unwrap();
    }
}

fn check(method: Method) {
    let yard = Yard::filled();
    let opening = chock_workspace::Opening { method, ..yard.opening("one.work") };
    let parent = yard.workspace_with(opening);
    work(&parent, method);
    let kept = parent.snapshot().unwrap();
    // The parent goes on, and stays open.
    replace(&parent, "README", "later\n");
    replace(&parent, "later", "x\n");
    let later = parent.snapshot().unwrap();
    assert_ne!(later.tree, kept.tree);
    let before = rows(&changes(&parent));

    let child = fork(&yard, "one.work", "two.work", &kept);
    assert_eq!(child.snapshot().unwrap().tree, kept.tree, "{method:?}");
    assert_eq!(child.start_tree(), parent.start_tree());
    let tool = top(&child).join("tool").metadata().unwrap().permissions().mode();
    assert_eq!(tool & 0o777, 0o755);
    assert!(!top(&child).join("ignored.log").exists());
    replace(&child, "mine", "the fork's\n");
    assert!(rows(&changes(&child)).contains(&"added mine".to_owned()));
    assert_eq!(rows(&changes(&parent)), before);

    // Nothing of the parent is needed: a fork of the fork, at the turn of the parent.
    parent.remove().unwrap();
    let grandchild = fork(&yard, "two.work", "three.work", &kept);
    assert_eq!(grandchild.snapshot().unwrap().tree, kept.tree);
    assert!(list(&yard, "three.work", later.tree).contains("later"), "later turns are there too");
}

#[test]
fn a_fork_has_every_kind_of_change_of_its_turn() {
    check(Method::Overlay);
    check(Method::Copy);
}

#[test]
fn refs_index_and_objects_come_back_as_they_were_at_the_turn() {
    let yard = Yard::filled();
    let parent = yard.workspace();
    let git = parent.layout().git_dir.clone();
    let write = |name: &str, text: &str| put(&git, name, text);
    write("refs/heads/side", "1111111111111111111111111111111111111111\n");
    write("HEAD", "ref: refs/heads/side\n");
    write("objects/12/34", "an object, for all that anybody knows");
    write("index.lock", "of a program that runs");
    write("objects/pack/tmp_pack_x", "half a pack");
    let index = fs::read(git.join("index")).unwrap();
    let kept = parent.snapshot().unwrap();
    // The next turn throws all of it away.
    write("HEAD", "ref: refs/heads/main\n");
    write("index", "another");
    fs::remove_dir_all(git.join("objects/12")).unwrap();
    fs::remove_file(git.join("refs/heads/side")).unwrap();
    let later = parent.snapshot().unwrap();
    assert_eq!(later.tree, kept.tree);
    assert_ne!(later.git, kept.git);
    assert_eq!(parent.snapshot().unwrap().git, later.git, "nothing changed in between");

    let child = fork(&yard, "one.work", "two.work", &kept);
    let git = child.layout().git_dir.clone();
    let read = |name: &str| fs::read_to_string(git.join(name)).unwrap();
    assert_eq!(read("HEAD"), "ref: refs/heads/side\n");
    assert_eq!(read("refs/heads/side"), "1111111111111111111111111111111111111111\n");
    assert_eq!(read("objects/12/34"), "an object, for all that anybody knows");
    assert_eq!(fs::read(git.join("index")).unwrap(), index);
    for passing in ["index.lock", "objects/pack/tmp_pack_x"] {
        assert!(!git.join(passing).exists(), "{passing}");
    }
    assert!(git.join("refs/tags").is_dir(), "git knows its own by it");
    assert_eq!(child.snapshot().unwrap().git, kept.git);
}

#[test]
fn a_branch_with_the_name_of_a_half_written_object_is_a_branch() {
    let yard = Yard::filled();
    let parent = yard.workspace();
    let git = parent.layout().git_dir.clone();
    put(&git, "refs/heads/tmp_work", "1111111111111111111111111111111111111111\n");
    put(&git, "refs/heads/tmp_dir/one", "1111111111111111111111111111111111111111\n");
    put(&git, "HEAD", "ref: refs/heads/tmp_work\n");
    put(&git, "objects/12/tmp_obj_x", "half an object");
    let kept = parent.snapshot().unwrap();
    let child = fork(&yard, "one.work", "two.work", &kept);
    let git = child.layout().git_dir.clone();
    for name in ["refs/heads/tmp_work", "refs/heads/tmp_dir/one"] {
        let value = fs::read_to_string(git.join(name)).unwrap();
        assert_eq!(value, "1111111111111111111111111111111111111111\n", "{name}");
    }
    assert!(!git.join("objects/12/tmp_obj_x").exists());
}

#[test]
fn links_and_pipes_of_a_git_directory_lead_nowhere() {
    let yard = Yard::filled();
    let parent = yard.workspace();
    let git = parent.layout().git_dir.clone();
    let secret = yard.path("home/secret");
    fs::write(&secret, "not the agent's").unwrap();
    fs::remove_file(git.join("HEAD")).unwrap();
    symlink(&secret, git.join("HEAD")).unwrap();
    fs::remove_dir_all(git.join("refs/tags")).unwrap();
    symlink(yard.path("home"), git.join("refs/tags")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        git.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let kept = parent.snapshot().unwrap();
    let all = list(&yard, "one.work", kept.git.unwrap());
    assert!(all.contains("120000") && !all.contains("pipe"), "{all}");
    let child = fork(&yard, "one.work", "two.work", &kept);
    assert_eq!(fs::read_link(child.layout().git_dir.join("HEAD")).unwrap(), secret);
    let objects = yard.path("state/two.work/store");
    let blobs = yard.git_in(&objects, &["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!blobs.contains("not the agent's"));
}

#[test]
fn a_link_or_file_in_place_of_one_of_git_s_own_directories_comes_back() {
    let yard = Yard::filled();
    let parent = yard.workspace();
    let git = parent.layout().git_dir.clone();
    fs::remove_dir_all(git.join("objects")).unwrap();
    symlink("/tmp/objects", git.join("objects")).unwrap();
    fs::remove_dir_all(git.join("refs")).unwrap();
    fs::write(git.join("refs"), "a file\n").unwrap();
    let kept = parent.snapshot().unwrap();
    let child = fork(&yard, "one.work", "two.work", &kept);
    let git = child.layout().git_dir.clone();
    assert_eq!(fs::read_link(git.join("objects")).unwrap().to_str(), Some("/tmp/objects"));
    assert_eq!(fs::read_to_string(git.join("refs")).unwrap(), "a file\n");
}

#[test]
fn a_git_directory_with_too_large_a_pack_is_not_kept_without_it() {
    let yard = Yard::filled();
    let parent = yard.workspace();
    assert!(parent.snapshot().unwrap().git.is_some());
    put(&parent.layout().git_dir, "objects/pack/pack-1.pack", "");
    let pack = parent.layout().git_dir.join("objects/pack/pack-1.pack");
    fs::File::options().write(true).open(pack).unwrap().set_len((1 << 30) + 1).unwrap();
    assert_eq!(parent.snapshot().unwrap().git, None);
}

#[test]
fn a_fork_stands_on_the_base_of_its_parent_whatever_became_of_the_project() {
    let yard = Yard::filled();
    let parent = yard.workspace();
    put(&top(&parent), "new", "x\n");
    let kept = parent.snapshot().unwrap();
    yard.write("README", "committed meanwhile\n");
    yard.commit("second");
    fs::remove_dir_all(yard.path("cache")).unwrap();
    let child = fork(&yard, "one.work", "two.work", &kept);
    assert_eq!(child.base_tree(), parent.base_tree());
    assert_eq!(child.start_commit(), parent.start_commit());
    assert_eq!(rows(&changes(&child)), ["added new"]);
}

#[test]
fn what_cannot_be_forked_leaves_nothing() {
    let yard = Yard::filled();
    let parent = yard.workspace();
    let kept = parent.snapshot().unwrap();
    let project = yard.find().unwrap();
    let attempt = |forking: &Forking| {
        let fault = Workspace::fork(&project, forking).unwrap_err();
        assert!(!forking.session.exists(), "{fault}");
        fault
    };
    let good = forking(&yard, "one.work", "two.work", &kept);
    let gone = Forking { parent: yard.path("state/none.work"), ..good.clone() };
    assert!(matches!(attempt(&gone), WorkspaceFault::Missing { .. }));
    let lost = "1111111111111111111111111111111111111111".parse().unwrap();
    let unknown = Forking { tree: lost, ..good.clone() };
    assert!(matches!(attempt(&unknown), WorkspaceFault::NotKept { .. }));
    let unknown = Forking { git: Some(lost), ..good.clone() };
    assert!(matches!(attempt(&unknown), WorkspaceFault::Objects { .. }));
    let without = Forking { git: None, ..good.clone() };
    assert!(matches!(attempt(&without), WorkspaceFault::NoGitKept));
    let other = Yard::filled();
    let project = other.find().unwrap();
    let fault = Workspace::fork(&project, &good).unwrap_err();
    assert!(matches!(fault, WorkspaceFault::OtherProject { .. }), "{fault}");
    // And what is there already is not written over.
    let _child: PathBuf = fork(&yard, "one.work", "two.work", &kept).layout().project.clone();
    let fault = Workspace::fork(&yard.find().unwrap(), &good).unwrap_err();
    assert!(matches!(fault, WorkspaceFault::Exists { .. } | WorkspaceFault::InUse { .. }));
    assert!(Path::new(&good.session).join("workspace.json").exists());
}

#[test]
fn copies_that_review_carries_back_are_as_the_turn_left_them() {
    let yard = Yard::filled();
    yard.write("target/notes", "the person's\n");
    yard.write("target/made", "made\n");
    let bind = |name: &str, mode| chock_workspace::Bind {
        path: chock_workspace::BindPath::Name(name.into()),
        mode,
        required: true,
    };
    let binds = vec![bind("target/notes", BindMode::Copy), bind("target/made", BindMode::TempCopy)];
    let parent = yard.workspace_with(chock_workspace::Opening {
        binds: binds.clone(),
        ..yard.opening("one.work")
    });
    put(&top(&parent), "target/notes", "the session's\n");
    put(&top(&parent), "target/made", "the session's\n");
    let kept = parent.snapshot().unwrap();
    put(&top(&parent), "target/notes", "later\n");
    let forking = Forking { binds, ..forking(&yard, "one.work", "two.work", &kept) };
    let child = Workspace::fork(&yard.find().unwrap(), &forking).unwrap();
    let read = |name: &str| fs::read_to_string(top(&child).join(name)).unwrap();
    assert_eq!(read("target/notes"), "the session's\n");
    assert_eq!(read("target/made"), "made\n", "a copy that is no part of the work is made anew");
    assert_eq!(child.snapshot().unwrap().tree, kept.tree);
    assert_eq!(rows(&changes(&child)), ["modified target/notes"]);
}
