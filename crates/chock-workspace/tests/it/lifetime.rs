//! Opening again, locks, leftovers and removal.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use chock_workspace::{Project, Store, Workspace, WorkspaceFault};

use crate::yard::{Yard, changes, put, rows, top};

#[test]
fn a_workspace_is_opened_again_as_it_was_left() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    put(&top(&workspace), "new", "x\n");
    let snapshot = workspace.snapshot().unwrap();
    let (layout, start) = (workspace.layout().clone(), workspace.start_tree());
    drop(workspace);
    yard.write("README", "committed meanwhile\n");
    yard.commit("second");
    fs::remove_dir_all(yard.path("cache")).unwrap();
    let session = yard.path("state/one.work");
    let workspace = Workspace::open(&yard.find().unwrap(), &session, &[], &[]).unwrap();
    assert_eq!(*workspace.layout(), layout);
    assert_eq!(workspace.start_tree(), start);
    assert_eq!(workspace.snapshot().unwrap(), snapshot);
    assert_eq!(rows(&changes(&workspace)), ["added new"]);
    let chock_workspace::Halves::Overlay { base, .. } = &workspace.layout().halves else {
        panic!("an overlay is expected");
    };
    assert_eq!(fs::read(base.join("README")).unwrap(), b"one\ntwo\nthree\n");
}

/// Tries again while it is in use: a program that another test starts holds a copy of the lock
/// from its fork to its exec.
fn calm(
    mut attempt: impl FnMut() -> Result<Workspace, WorkspaceFault>,
) -> Result<Workspace, WorkspaceFault> {
    let mut tried = attempt();
    for _ in 0..500 {
        if !matches!(tried, Err(WorkspaceFault::InUse { .. })) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
        tried = attempt();
    }
    tried
}

#[test]
fn one_workspace_has_one_owner() {
    let yard = Yard::filled();
    let project = yard.find().unwrap();
    let session = yard.path("state/one.work");
    let missing = Workspace::open(&project, &session, &[], &[]).unwrap_err();
    assert!(matches!(missing, WorkspaceFault::Missing { .. }), "{missing}");
    let workspace = yard.workspace();
    let busy = Workspace::open(&project, &session, &[], &[]).unwrap_err();
    assert!(matches!(busy, WorkspaceFault::InUse { .. }), "{busy}");
    // Whoever inherited the descriptor keeps the workspace.
    let inherited = rustix::io::fcntl_dupfd_cloexec(workspace.lock(), 0).unwrap();
    drop(workspace);
    let busy = Workspace::open(&project, &session, &[], &[]).unwrap_err();
    assert!(matches!(busy, WorkspaceFault::InUse { .. }), "{busy}");
    drop(inherited);
    let open = |project: &Project| calm(|| Workspace::open(project, &session, &[], &[]));
    drop(open(&project).expect("the lock is let go"));
    let exists = calm(|| Workspace::create(&project, &yard.opening("one.work"))).unwrap_err();
    assert!(matches!(exists, WorkspaceFault::Exists { .. }), "{exists}");
    let other = Yard::filled();
    let wrong = open(&other.find().unwrap()).unwrap_err();
    assert!(matches!(wrong, WorkspaceFault::OtherProject { .. }), "{wrong}");
    fs::write(session.join("workspace.json"), "{").unwrap();
    let damaged = open(&project).unwrap_err();
    assert!(matches!(damaged, WorkspaceFault::Damaged { .. }), "{damaged}");
}

#[test]
fn what_a_killed_start_left_is_made_anew() {
    let yard = Yard::filled();
    let session = yard.path("state/one.work");
    fs::create_dir(&session).unwrap();
    put(&session, "halves/upper/stray", "x\n");
    put(&session, "git/config", "x\n");
    put(&session, "store/objects/tmp_object_git2_x", "x\n");
    let workspace = yard.workspace();
    assert_eq!(rows(&changes(&workspace)), [""; 0]);
}

#[test]
fn rests_of_a_killed_snapshot_are_swept() {
    let yard = Yard::filled();
    drop(yard.workspace());
    let session = yard.path("state/one.work");
    put(&session, "store/objects/tmp_object_git2_x", "x\n");
    let workspace = Workspace::open(&yard.find().unwrap(), &session, &[], &[]).unwrap();
    assert!(!session.join("store/objects/tmp_object_git2_x").exists());
    assert!(workspace.snapshot().is_ok());
}

/// Not a test of its own: it takes snapshots until the one below kills it.
#[test]
#[ignore = "started by snapshots_killed_at_any_moment_leave_a_store_that_works"]
fn takes_snapshots_until_killed() {
    let project = std::env::var_os("PROJECT").unwrap();
    let around = chock_workspace::Surroundings {
        search_path: std::env::var_os("PATH").unwrap(),
        home: None,
        config_home: None,
        own_directories: Vec::new(),
    };
    let project = Project::find(project.as_ref(), &around).unwrap();
    let session = std::path::PathBuf::from(std::env::var_os("SESSION").unwrap());
    let workspace = Workspace::open(&project, &session, &[], &[]).unwrap();
    println!("ready");
    for turn in 0.. {
        for number in 0..20 {
            put(
                &top(&workspace),
                &format!("new/{number}"),
                format!("{turn} {number}\n").repeat(2_000),
            );
        }
        workspace.snapshot().unwrap();
    }
}

#[test]
fn snapshots_killed_at_any_moment_leave_a_store_that_works() {
    let yard = Yard::filled();
    drop(yard.workspace());
    let session = yard.path("state/one.work");
    let objects = session.join("store/objects");
    for run in 0..20_u64 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "lifetime::takes_snapshots_until_killed"])
            .env("PROJECT", &yard.project)
            .env("SESSION", &session)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("ready") {
            line.clear();
            assert_ne!(std::io::BufRead::read_line(&mut out, &mut line).unwrap(), 0);
        }
        // Different moments of its work, from the first file on.
        let wanted = objects_below(&objects) + run * 3;
        while objects_below(&objects) < wanted {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let workspace = Workspace::open(&yard.find().unwrap(), &session, &[], &[]).unwrap();
        assert!(!has_rest(&objects), "run {run}");
        let snapshot = workspace.snapshot().unwrap();
        workspace.store().changes(workspace.start_tree(), snapshot.tree).unwrap();
        let store = session.join("store");
        yard.git_in(&store, &["fsck", "--no-dangling", "--no-reflogs"]);
    }
}

fn objects_below(objects: &std::path::Path) -> u64 {
    let directories = objects.read_dir().unwrap();
    directories
        .map(|entry| entry.unwrap().path().read_dir().map_or(0, Iterator::count) as u64)
        .sum()
}

fn has_rest(objects: &std::path::Path) -> bool {
    objects.read_dir().unwrap().any(|entry| entry.unwrap().file_type().unwrap().is_file())
}

#[test]
fn a_start_that_fails_leaves_nothing() {
    let yard = Yard::filled();
    fs::write(yard.path("cache/bases"), "in the way").unwrap();
    let failed = Workspace::create(&yard.find().unwrap(), &yard.opening("one.work")).unwrap_err();
    assert!(matches!(failed, WorkspaceFault::Files { .. }), "{failed}");
    assert!(!yard.path("state/one.work").exists());
}

#[test]
fn removal_follows_no_link_and_opens_closed_directories() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    let upper = top(&workspace);
    let outside = yard.path("outside");
    put(&outside, "kept", "kept\n");
    symlink(&outside, upper.join("way-out")).unwrap();
    put(&upper, "closed/below/file", "x\n");
    let closed = |name: &str| {
        fs::set_permissions(upper.join(name), fs::Permissions::from_mode(0o000)).unwrap();
    };
    closed("closed/below");
    closed("closed");
    let mut deep = upper.clone();
    for name in [".deep.1", "d"].iter().cycle().take(600) {
        deep.push(name);
    }
    fs::create_dir_all(deep).unwrap();
    put(&upper, ".deep.1/file", "x\n");
    assert!(workspace.bytes().unwrap() > 0);
    workspace.remove().unwrap();
    assert!(!yard.path("state/one.work").exists());
    assert_eq!(fs::read(outside.join("kept")).unwrap(), b"kept\n");
}

#[test]
fn the_store_is_readable_beside_a_running_session() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    put(&top(&workspace), "new", "x\n");
    let snapshot = workspace.snapshot().unwrap();
    let store = Store::open(&yard.path("state/one.work")).unwrap();
    let changes = store.changes(workspace.start_tree(), snapshot.tree).unwrap();
    assert_eq!(rows(&changes), ["added new"]);
    assert!(Store::open(&yard.path("state/none.work")).is_err());
}

/// A rename that is killed in the middle leaves its copy: never a change, and gone or finished
/// when the session is opened again.
#[test]
fn rests_of_a_killed_rename_are_no_change_and_are_swept() {
    let yard = Yard::filled();
    yard.write("dir/kept", "base\n");
    yard.write("dir/sub/deep", "base\n");
    yard.commit("a directory");
    let workspace = yard.workspace();
    let upper = top(&workspace);
    put(&upper, "new", "x\n");
    // Killed while it copied.
    put(&upper, ".chock-rename-12-0/kept", "half");
    put(&upper, "new-directory/.chock-rename-12-1/kept", "half");
    // Killed while it removed the original: `dir/sub` is already gone, the copy is whole.
    put(&upper, ".chock-rename-13-0/kept", "base\n");
    put(&upper, ".chock-rename-13-0/sub/deep", "changed\n");
    let mark = |name: &str, value: &[u8], at: &str| {
        rustix::fs::setxattr(upper.join(at), name, value, rustix::fs::XattrFlags::empty()).unwrap();
    };
    mark("user.chock.rename", b"dir", ".chock-rename-13-0");
    put(&upper, "dir/sub/gone", "");
    mark("user.overlay.opaque", b"y", "dir/sub");
    fs::remove_file(upper.join("dir/sub/gone")).unwrap();
    // Marked with a name that leads elsewhere.
    fs::create_dir(upper.join(".chock-rename-14-0")).unwrap();
    mark("user.chock.rename", b"../work", ".chock-rename-14-0");
    assert!(rows(&changes(&workspace)).iter().all(|row| !row.contains("chock-rename")));
    drop(workspace);

    let session = yard.path("state/one.work");
    let workspace = Workspace::open(&yard.find().unwrap(), &session, &[], &[]).unwrap();

    assert_eq!(rows(&changes(&workspace)), ["modified dir/sub/deep", "added new"]);
    assert_eq!(fs::read(upper.join("dir/sub/deep")).unwrap(), b"changed\n");
    assert!(upper.parent().unwrap().join("work").is_dir());
    let left = fs::read_dir(&upper).unwrap().flatten().map(|entry| entry.file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().contains("rename")));
    assert!(!upper.join("new-directory/.chock-rename-12-1").exists());
}
