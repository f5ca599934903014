//! Ignored paths of the project that a session gets.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use chock_workspace::{
    Bind, BindMode, BindPath, CoverRow, Forking, Kind, Method, Sharing, Start, Workspace,
    WorkspaceFault,
};

use crate::yard::{Yard, changes, put, rows, top};

fn name(path: &str, mode: BindMode) -> Bind {
    Bind { path: BindPath::Name(path.into()), mode, required: true }
}

fn pattern(text: &str, mode: BindMode) -> Bind {
    let glob = globset::GlobBuilder::new(text).literal_separator(true).build().unwrap();
    let path = BindPath::Pattern { glob, directories_only: false };
    Bind { path, mode, required: false }
}

fn create(yard: &Yard, binds: Vec<Bind>) -> Result<Workspace, WorkspaceFault> {
    let mut opening = yard.opening("one.work");
    opening.binds = binds;
    Workspace::create(&yard.find().unwrap(), &opening)
}

/// A project with ignored files and directories.
fn ignoring() -> Yard {
    let yard = Yard::filled();
    yard.write(".gitignore", "*.log\n/data/\nnode_modules/\n/alias\n/.env\n/storage/\n");
    yard.write("packages/a/index.js", "a\n");
    yard.write("packages/b/index.js", "b\n");
    yard.commit("ignoring");
    yard.write("data/deep/x.bin", "x\n");
    yard.write("data/run", "#!/bin/sh\n");
    fs::set_permissions(yard.project.join("data/run"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("deep/x.bin", yard.project.join("data/inner")).unwrap();
    symlink("/usr/bin/env", yard.project.join("data/outer")).unwrap();
    yard.write("packages/a/node_modules/m/index.js", "m\n");
    yard.write("packages/b/node_modules/m/index.js", "m\n");
    yard.write(".env", "KEY=1\n");
    yard.write("storage/real/y", "y\n");
    yard
}

#[track_caller]
fn refused(yard: &Yard, binds: Vec<Bind>, words: &str) {
    let fault = create(yard, binds.clone()).unwrap_err();
    assert!(matches!(fault, WorkspaceFault::Bind { .. }), "{fault}");
    assert!(fault.to_string().contains(words), "{words}: {fault}");
    assert!(!yard.path("state/one.work/workspace.json").exists());
}

#[test]
fn what_is_shared_is_in_the_layout_and_what_is_copied_in_the_files() {
    let yard = ignoring();
    let binds = vec![
        name("data", BindMode::ReadOnly),
        name("storage", BindMode::Write),
        name(".env", BindMode::TempCopy),
        pattern("packages/*/node_modules", BindMode::Copy),
    ];
    let workspace = create(&yard, binds).unwrap();
    let shared: Vec<_> = workspace
        .layout()
        .shared
        .iter()
        .map(|shared| (shared.name.to_str().unwrap(), shared.kind, shared.sharing))
        .collect();
    assert_eq!(
        shared,
        [
            ("data", Kind::Directory, Sharing::ReadOnly),
            ("storage", Kind::Directory, Sharing::Write),
        ]
    );
    let root = yard.find().unwrap().root().to_owned();
    assert_eq!(workspace.layout().shared[0].host, root.join("data"));
    let top = top(&workspace);
    assert_eq!(fs::read_to_string(top.join(".env")).unwrap(), "KEY=1\n");
    for package in ["a", "b"] {
        assert!(top.join(format!("packages/{package}/node_modules/m/index.js")).exists());
    }
    assert!(!top.join("data").exists() && !top.join("storage").exists());
    let notices: Vec<_> = workspace.notices().iter().map(ToString::to_string).collect();
    assert_eq!(notices.len(), 5, "{notices:?}");
    assert!(notices[0].contains("`data`") && notices[0].contains("read only"), "{notices:?}");
    assert!(notices[1].contains("the real one"), "{notices:?}");
    assert_eq!(rows(&changes(&workspace)), [""; 0]);
}

#[test]
fn a_copy_keeps_modes_times_and_links_and_is_the_sessions_own() {
    let yard = ignoring();
    let workspace = create(&yard, vec![name("data", BindMode::TempCopy)]).unwrap();
    let (from, to) = (yard.project.join("data"), top(&workspace).join("data"));
    for file in ["run", "deep/x.bin"] {
        let (a, b) = (from.join(file).metadata().unwrap(), to.join(file).metadata().unwrap());
        assert_eq!((a.mode(), a.mtime(), a.mtime_nsec()), (b.mode(), b.mtime(), b.mtime_nsec()));
        assert_ne!(a.ino(), b.ino());
    }
    assert_eq!(fs::read_link(to.join("inner")).unwrap(), Path::new("deep/x.bin"));
    assert_eq!(fs::read_link(to.join("outer")).unwrap(), Path::new("/usr/bin/env"));
    // What the session makes of it is nobody's change.
    put(&to, "new", "x");
    fs::remove_file(to.join("run")).unwrap();
    assert_eq!(rows(&changes(&workspace)), [""; 0]);
    assert!(from.join("run").exists());
}

#[test]
fn what_a_session_makes_of_a_copy_is_its_change_where_review_can_carry_it_back() {
    for method in [Method::Overlay, Method::Copy] {
        let yard = ignoring();
        yard.write("data/.gitignore", "*\n");
        let mut opening = yard.opening("one.work");
        opening.method = method;
        opening.binds = vec![
            name("data", BindMode::Copy),
            name(".env", BindMode::Copy),
            pattern("packages/*/node_modules", BindMode::TempCopy),
        ];
        let workspace = yard.workspace_with(opening);
        assert_eq!(rows(&changes(&workspace)), [""; 0], "{method:?}");
        assert_ne!(workspace.start_tree(), workspace.base_tree());
        let top = top(&workspace);
        fs::write(top.join(".env"), "KEY=2\n").unwrap();
        put(&top, "data/new/deep", "x");
        put(&top, "packages/a/node_modules/m/index.js", "x");
        put(&top, "data2/ignored.o", "x");
        fs::remove_file(top.join("data/run")).unwrap();
        let expected = ["modified .env", "added data/new/deep", "deleted data/run"];
        let seen = |workspace: &Workspace| {
            let all = rows(&changes(workspace));
            all.into_iter().filter(|row| !row.contains("data2")).collect::<Vec<_>>()
        };
        assert_eq!(seen(&workspace), expected, "{method:?}");
        drop(workspace);
        // The rows may be gone when the session goes on: what it has is its own.
        let session = yard.path("state/one.work");
        let workspace = Workspace::open(&yard.find().unwrap(), &session, &[], &[]).unwrap();
        assert_eq!(seen(&workspace), expected, "{method:?}");
    }
}

#[test]
fn a_fork_has_what_review_can_carry_back_as_the_turn_had_it() {
    let yard = ignoring();
    let binds = vec![name("data", BindMode::Copy), name(".env", BindMode::TempCopy)];
    let workspace = create(&yard, binds.clone()).unwrap();
    put(&top(&workspace), "data/new", "of the turn");
    fs::remove_file(top(&workspace).join("data/run")).unwrap();
    let kept = workspace.snapshot().unwrap();
    put(&top(&workspace), "data/new", "later");
    yard.write("data/run", "of the person, later");
    let forking = Forking {
        session: yard.path("state/two.work"),
        parent: yard.path("state/one.work"),
        tree: kept.tree,
        git: kept.git,
        covered: Vec::new(),
        binds,
    };
    let fork = Workspace::fork(&yard.find().unwrap(), &forking).unwrap();
    assert_eq!(fs::read_to_string(top(&fork).join("data/new")).unwrap(), "of the turn");
    assert_eq!(fs::read_to_string(top(&fork).join(".env")).unwrap(), "KEY=1\n");
    assert!(!top(&fork).join("data/run").exists());
    assert_eq!(rows(&changes(&fork)), ["added data/new", "deleted data/run"]);
    put(&top(&fork), "data/more", "x");
    assert_eq!(rows(&changes(&fork)).len(), 3);
}

#[test]
fn what_review_can_carry_back_is_bounded() {
    let yard = ignoring();
    let large = fs::File::create(yard.project.join("data/large")).unwrap();
    large.set_len((1 << 30) + 1).unwrap();
    refused(&yard, vec![name("data", BindMode::Copy)], "bind it `.temp_copy` or `.read_only`");
    create(&yard, vec![name("data", BindMode::ReadOnly)]).unwrap();
}

#[test]
fn a_session_that_goes_on_keeps_its_copies_and_looks_at_what_is_shared_again() {
    let yard = ignoring();
    let binds = [name(".env", BindMode::TempCopy), name("data", BindMode::ReadOnly)];
    let workspace = create(&yard, binds.to_vec()).unwrap();
    let env = top(&workspace).join(".env");
    fs::write(&env, "KEY=mine\n").unwrap();
    drop(workspace);
    let session = yard.path("state/one.work");
    let open = |binds: &[Bind]| Workspace::open(&yard.find().unwrap(), &session, &[], binds);
    let workspace = open(&binds).unwrap();
    assert_eq!(fs::read_to_string(&env).unwrap(), "KEY=mine\n");
    assert_eq!(workspace.layout().shared.len(), 1);
    assert_eq!(rows(&changes(&workspace)), [""; 0]);
    drop(workspace);
    assert_eq!(open(&[]).unwrap().layout().shared, []);
    fs::remove_dir_all(yard.project.join("data")).unwrap();
    assert!(matches!(open(&binds).unwrap_err(), WorkspaceFault::Bind { .. }));
}

#[test]
fn without_an_overlay_a_directory_is_shown_as_a_copy() {
    let yard = ignoring();
    let mut opening = yard.opening("one.work");
    opening.method = Method::Copy;
    opening.binds = vec![name("data", BindMode::ReadOnly), name(".env", BindMode::ReadOnly)];
    let workspace = yard.workspace_with(opening);
    let sharing: Vec<_> = workspace.layout().shared.iter().map(|shared| shared.sharing).collect();
    assert_eq!(sharing, [Sharing::ReadOnlyCopy, Sharing::ReadOnly]);
    assert!(top(&workspace).join("data/run").exists());
    assert_eq!(rows(&changes(&workspace)), [""; 0]);
}

#[test]
fn what_cannot_be_bound_is_refused_by_name() {
    let yard = ignoring();
    let all = [BindMode::ReadOnly, BindMode::Copy, BindMode::TempCopy, BindMode::Write];
    symlink("/etc", yard.project.join("etc.log")).unwrap();
    symlink(yard.path("home"), yard.project.join("home.log")).unwrap();
    symlink("..", yard.project.join("up.log")).unwrap();
    symlink(".", yard.project.join("self.log")).unwrap();
    symlink(".git", yard.project.join("git.log")).unwrap();
    symlink("storage/real", yard.project.join("alias")).unwrap();
    symlink("chock.zon", yard.project.join("rules.log")).unwrap();
    symlink("README", yard.project.join("readme.log")).unwrap();
    yard.write("chock.zon", ".{}\n");
    let _listener = UnixListener::bind(yard.project.join("s.log")).unwrap();
    // (name, what is said)
    let cases = [
        ("etc.log", "leads out of the project"),
        ("home.log", "leads out of the project"),
        ("up.log", "leads out of the project"),
        ("self.log", "a directory that it lies in"),
        ("git.log", "only chock and you read"),
        ("rules.log", "only chock and you read"),
        ("readme.log", "git tracks `README`"),
        ("s.log", "a socket"),
        ("nothing", "nothing of that name"),
        ("data/nothing", "nothing of that name"),
        ("alias/y", "a directory above it is a link"),
        ("README", "git tracks `README`"),
        ("src", "git tracks `src"),
        ("packages", "git tracks `packages/a/index.js`"),
    ];
    for (path, words) in cases {
        for mode in all {
            refused(&yard, vec![name(path, mode)], words);
        }
    }
    let absent = Bind { required: false, ..name("nothing", BindMode::Write) };
    let workspace = create(&yard, vec![absent, name("alias", BindMode::ReadOnly)]).unwrap();
    let shared = &workspace.layout().shared;
    assert_eq!(shared.len(), 1);
    assert!(shared[0].host.ends_with("storage/real") && shared[0].name == Path::new("alias"));
}

#[test]
fn binds_do_not_overlap() {
    let yard = ignoring();
    let binds = vec![name("data", BindMode::ReadOnly), name("data/deep", BindMode::TempCopy)];
    refused(&yard, binds, "overlap");
    let binds = vec![name("data", BindMode::ReadOnly), pattern("**/deep", BindMode::TempCopy)];
    assert_eq!(create(&yard, binds).unwrap().layout().shared.len(), 1);
}

#[test]
fn deny_rows_beat_binds() {
    let yard = ignoring();
    let with = |covered: Vec<CoverRow>, binds: Vec<Bind>| {
        let mut opening = yard.opening("one.work");
        (opening.covered, opening.binds) = (covered, binds);
        Workspace::create(&yard.find().unwrap(), &opening)
    };
    let file = |path: &str| CoverRow::name(path, Kind::File);
    let says = |covered, bind, words: &str| {
        let fault = with(vec![covered], vec![bind]).unwrap_err().to_string();
        assert!(fault.contains(words), "{fault}");
    };
    says(file(".env"), name(".env", BindMode::ReadOnly), "`deny_read` keeps it");
    says(file("data"), name("data/deep", BindMode::TempCopy), "`deny_read` keeps it");
    says(file("data/run"), name("data", BindMode::Write), "`deny_read` covers `data/run` in it");
    says(file("data/new"), name("data", BindMode::Write), "`deny_read` covers `data/new` in it");
    says(file("data/new"), name("data", BindMode::ReadOnly), "it could appear");
    // What is there is covered in what is shared, and left out of what is copied.
    let workspace = with(vec![file("data/inner")], vec![name("data", BindMode::ReadOnly)]).unwrap();
    assert_eq!(workspace.covered()[0].path, Path::new("data/deep/x.bin"));
    workspace.remove().unwrap();
    let workspace = with(vec![file("data/run")], vec![name("data", BindMode::Copy)]).unwrap();
    assert_eq!(workspace.covered()[0].path, Path::new("data/run"));
    let data = top(&workspace).join("data");
    assert!(!data.join("run").exists() && data.join("deep/x.bin").exists());
}

#[test]
fn what_patterns_deny_is_covered_or_left_out() {
    let yard = ignoring();
    for mode in [BindMode::ReadOnly, BindMode::TempCopy] {
        let mut opening = yard.opening("one.work");
        let glob = globset::Glob::new("**/*.bin").unwrap();
        opening.covered = vec![CoverRow {
            path: chock_workspace::CoverPath::Pattern { glob, directories_only: false },
            tracked: chock_workspace::WhenTracked::Announce,
        }];
        opening.binds = vec![name("data", mode)];
        let workspace = yard.workspace_with(opening);
        let covered: Vec<_> = workspace.covered().iter().map(|cover| cover.path.clone()).collect();
        assert_eq!(covered, [Path::new("data/deep/x.bin")], "{mode:?}");
        assert!(!top(&workspace).join("data/deep/x.bin").exists());
        workspace.remove().unwrap();
    }
}

#[test]
fn nothing_that_the_person_listens_on_enters() {
    let yard = ignoring();
    let _listener = UnixListener::bind(yard.project.join("data/deep/s")).unwrap();
    refused(&yard, vec![name("data", BindMode::Write)], "`data/deep/s` in it is a socket");
    let workspace = create(&yard, vec![name("data", BindMode::TempCopy)]).unwrap();
    assert!(top(&workspace).join("data/deep").symlink_metadata().unwrap().is_dir());
    assert!(top(&workspace).join("data/deep/s").symlink_metadata().is_err());
    let notices: Vec<_> = workspace.notices().iter().map(ToString::to_string).collect();
    assert!(notices.iter().any(|notice| notice.starts_with("1 socket")), "{notices:?}");
}

#[test]
fn a_repository_of_the_persons_is_not_written_in_place() {
    let yard = ignoring();
    yard.git_in(&yard.project.join("data"), &["init", "--quiet", "nested"]);
    refused(
        &yard,
        vec![name("data", BindMode::Write)],
        "a git directory, which your git would trust",
    );
    assert!(create(&yard, vec![name("data", BindMode::ReadOnly)]).is_ok());
}

#[test]
fn uncommitted_files_do_not_come_twice() {
    let yard = ignoring();
    yard.write("notes/a.txt", "untracked, and not ignored\n");
    let mut opening = yard.opening("one.work");
    opening.start = Start::Uncommitted;
    opening.binds = vec![name("notes", BindMode::ReadOnly)];
    let workspace = yard.workspace_with(opening);
    assert!(!top(&workspace).join("notes").exists());
    assert_eq!(rows(&changes(&workspace)), [""; 0]);
}
