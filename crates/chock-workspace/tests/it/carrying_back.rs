//! Work goes into the project whole or not at all, and comes out again.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use chock_log::{Granter, Grounds, Log, Options, Redactor};
use chock_workspace::{
    Carried, ChangeSet, Choice, HandBack, HandBackFault, Method, Named, Planned, Project,
    Recovered, Refused, Shelf, Workspace, apply,
};

use crate::yard::{State, Yard, assert_same, changes, everything, put, text, top};

/// A project, a session's copy of it, and a log that approvals go to.
pub(crate) struct Field {
    pub(crate) yard: Yard,
    pub(crate) workspace: Workspace,
    pub(crate) project: Project,
    granter: RefCell<Granter>,
}

impl Field {
    pub(crate) fn new() -> Self {
        Self::of(Yard::filled())
    }

    pub(crate) fn of(yard: Yard) -> Self {
        let mut opening = yard.opening("one.work");
        opening.method = Method::Copy;
        let workspace = yard.workspace_with(opening);
        Self::with(yard, workspace)
    }

    pub(crate) fn with(yard: Yard, workspace: Workspace) -> Self {
        let granter = RefCell::new(granter(&yard.path("state/log.jsonl")));
        Self { project: yard.find().unwrap(), yard, workspace, granter }
    }

    pub(crate) fn top(&self) -> PathBuf {
        top(&self.workspace)
    }

    pub(crate) fn shelf(&self) -> Shelf {
        let (shelf, recovered) = self.open();
        assert_eq!(recovered, None);
        shelf
    }

    pub(crate) fn open(&self) -> (Shelf, Option<Recovered>) {
        let directory = self.yard.path("state/handback");
        // Another test's program may hold a copy of the lock between its fork and its exec.
        let opened = (0..500).find_map(|_| match Shelf::open(&directory, &self.project) {
            Err(HandBackFault::InUse) => {
                std::thread::sleep(std::time::Duration::from_millis(10));
                None
            }
            opened => Some(opened.unwrap()),
        });
        let (shelf, recovered) = opened.unwrap();
        shelf.settle().unwrap();
        (shelf, recovered)
    }

    pub(crate) fn plan(&self, shelf: &mut Shelf, changes: &ChangeSet, choice: &Choice) -> Planned {
        let named: Named = choice.paths().map(<[u8]>::to_vec).collect();
        self.plan_with(shelf, changes, choice, &named)
    }

    fn plan_with(
        &self,
        shelf: &mut Shelf,
        changes: &ChangeSet,
        choice: &Choice,
        named: &Named,
    ) -> Planned {
        let store = self.workspace.store();
        let picked = store.pick(changes, choice).unwrap();
        shelf.plan(&self.project, (store, "one"), &picked, named).unwrap()
    }

    pub(crate) fn everything(&self, shelf: &mut Shelf) -> Planned {
        let changes = self.changes(shelf);
        self.plan(shelf, &changes, &Choice::everything(&changes))
    }

    /// What there is to review.
    pub(crate) fn changes(&self, shelf: &Shelf) -> ChangeSet {
        let snapshot = self.workspace.snapshot().unwrap();
        let accepted = shelf.accepted("one").unwrap();
        let base = accepted.unwrap_or(self.workspace.start_tree());
        self.workspace.store().changes(base, snapshot.tree).unwrap()
    }

    pub(crate) fn carry(&self, shelf: &mut Shelf, act: HandBack) -> Carried {
        let permit = self.granter.borrow_mut().grant("", act, vec![], Grounds::PersonDirectly);
        let project = &self.project;
        let (_spent, carried) = apply(permit.unwrap(), shelf, project);
        shelf.settle().unwrap();
        carried.unwrap()
    }

    pub(crate) fn accept_all(&self) {
        let mut shelf = self.shelf();
        let act = ready(self.everything(&mut shelf));
        whole(self.carry(&mut shelf, act));
    }

    pub(crate) fn undo(&self) {
        let mut shelf = self.shelf();
        let planned = shelf.plan_undo(&self.project).unwrap();
        let act = ready(planned.unwrap());
        whole(self.carry(&mut shelf, act));
    }

    pub(crate) fn redo(&self) {
        let mut shelf = self.shelf();
        let planned = shelf.plan_redo(&self.project).unwrap();
        let act = ready(planned.unwrap());
        whole(self.carry(&mut shelf, act));
    }

    /// The project without its `.git` and without times.
    pub(crate) fn files(&self) -> Files {
        files(&self.yard.project)
    }
}

pub(crate) fn granter(log: &Path) -> Granter {
    let clock = Box::new(|| "2026-01-01T00:00:00Z".parse().unwrap());
    let redactor = Redactor::new([], [0; 32]);
    let options = Options { clock, redactor, observer: None, courier: None };
    Log::open(log, options).unwrap().granter
}

type Files = Vec<(String, u32, Vec<u8>)>;

pub(crate) fn files(top: &Path) -> Files {
    let git = top.join(".git");
    let rows = everything(top).into_iter();
    let rows =
        rows.filter(|row| *Path::new(&row.0) != *top && !Path::new(&row.0).starts_with(&git));
    rows.map(|row| (row.0.to_string_lossy().into_owned(), row.1, row.4)).collect()
}

#[track_caller]
pub(crate) fn ready(planned: Planned) -> HandBack {
    match planned {
        Planned::Ready(act) => *act,
        Planned::Refused(refused) => panic!("{refused:?}"),
    }
}

#[track_caller]
pub(crate) fn refused(planned: Planned) -> Vec<Refused> {
    match planned {
        Planned::Ready(act) => panic!("{act:?}"),
        Planned::Refused(refused) => refused,
    }
}

#[track_caller]
pub(crate) fn whole(carried: Carried) {
    assert!(matches!(&carried, Carried::Whole { kept, .. } if kept.is_empty()), "{carried:?}");
}

/// Everything a session can do to files.
pub(crate) fn work(top: &Path) {
    put(top, "README", "one\n2\nthree\n");
    put(top, "new/deep/file", "new\n");
    fs::remove_file(top.join("docs/a.md")).unwrap();
    fs::rename(top.join("docs/b.md"), top.join("docs/c.md")).unwrap();
    fs::set_permissions(top.join("run.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(top.join("src/main.rs"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(top.join("link")).unwrap();
    symlink("run.sh", top.join("link")).unwrap();
    fs::remove_dir_all(top.join("src/deep")).unwrap();
    put(top, "src/deep", "a file now\n");
    put(top, "empty", "");
    put(top, "binary", [0, 1, 2, 255]);
}

#[test]
fn every_kind_of_change_goes_in_comes_out_and_goes_in_again() {
    let field = Field::new();
    field.yard.write("own.txt", "mine\n");
    field.yard.write("src/own.log", "ignored\n");
    fs::set_permissions(field.yard.project.join("README"), fs::Permissions::from_mode(0o640))
        .unwrap();
    work(&field.top());
    let git = || everything(&field.yard.project.join(".git"));
    let (before, git_before) = (field.files(), git());
    let untouched = |path: &str| fs::metadata(field.yard.project.join(path)).unwrap().mtime_nsec();
    let time = untouched("own.txt");

    field.accept_all();
    let after = field.files();
    assert_eq!(fs::read(field.yard.project.join("README")).unwrap(), b"one\n2\nthree\n");
    let mode = |path: &str| fs::metadata(field.yard.project.join(path)).unwrap().mode() & 0o7777;
    assert_eq!((mode("README"), mode("run.sh"), mode("src/main.rs")), (0o640, 0o644, 0o755));
    let copy = field.yard.path("copy");
    field.yard.git(&["clone", "--quiet", ".", copy.to_str().unwrap()]);
    let status = field.yard.git(&["status", "--porcelain"]);
    assert!(!field.yard.project.join("docs/a.md").exists() && status.contains("D docs/a.md"));

    field.undo();
    assert_eq!(field.files(), before, "undo puts back exactly what was");
    field.redo();
    assert_eq!(field.files(), after, "redo undoes the undo");
    field.undo();
    assert_eq!(field.files(), before);
    assert_same(&git(), &git_before);
    assert_eq!(untouched("own.txt"), time);
    field.yard.git(&["fsck", "--strict"]);
}

#[test]
fn nothing_is_written_when_one_path_stands_in_the_way() {
    // (what the person does, the path that is named, the reason)
    type Edit = fn(&Path);
    let rows: [(Edit, &str, &str); 9] = [
        (|top| put(top, "README", "one\nzwei\nthree\n"), "README", "you changed the same lines"),
        (|top| put(top, "new/deep/file", "mine\n"), "new/deep/file", "you have something"),
        (|top| put(top, "new", "mine\n"), "new/deep/file", "no directory, or a link"),
        (|top| put(top, "docs/a.md", "mine\n"), "docs/a.md", "the session deleted it"),
        (|top| fs::remove_file(top.join("README")).unwrap(), "README", "you deleted it"),
        (|top| put(top, "src/deep/mine.log", "x"), "src/deep", "a directory is there"),
        (|top| put(top, "binary", [0, 7]), "binary", "you have something"),
        (
            |top| {
                fs::remove_file(top.join("link")).unwrap();
                symlink("elsewhere", top.join("link")).unwrap();
            },
            "link",
            "it is or becomes a link",
        ),
        (
            |top| {
                fs::remove_dir_all(top.join("docs")).unwrap();
                symlink("src", top.join("docs")).unwrap();
            },
            "docs/b.md",
            "no directory, or a link",
        ),
    ];
    for (edit, path, reason) in rows {
        let field = Field::new();
        work(&field.top());
        edit(&field.yard.project);
        let before = everything(&field.yard.project);
        let mut shelf = field.shelf();
        let refused = refused(field.everything(&mut shelf));
        let row = refused.iter().find(|row| row.path == path.as_bytes());
        let row = row.unwrap_or_else(|| panic!("{path} is not in {refused:?}"));
        assert!(row.reason.contains(reason), "{path}: {}", row.reason);
        assert_eq!(row.conflict.is_some(), path == "README" && reason.contains("lines"));
        assert_same(&everything(&field.yard.project), &before);
        assert_eq!(shelf.list().unwrap(), []);
    }
}

#[test]
fn both_sides_of_a_file_come_together() {
    let yard = Yard::filled();
    let lines = |first: &str, last: &str| format!("{first}\ntwo\nthree\nfour\nfive\n{last}\n");
    yard.write("both", lines("one", "six"));
    yard.commit("second");
    let field = Field::of(yard);
    put(&field.top(), "both", lines("one", "SESSION"));
    fs::set_permissions(field.top().join("both"), fs::Permissions::from_mode(0o755)).unwrap();
    field.yard.write("both", lines("PERSON", "six"));
    let before = field.files();
    field.accept_all();
    let there = field.yard.project.join("both");
    assert_eq!(fs::read_to_string(&there).unwrap(), lines("PERSON", "SESSION"));
    assert_eq!(fs::metadata(&there).unwrap().mode() & 0o777, 0o755);
    // The same again changes nothing, and undo brings the person's own back.
    let mut shelf = field.shelf();
    assert!(ready(field.everything(&mut shelf)).is_empty());
    drop(shelf);
    field.undo();
    assert_eq!(field.files(), before);
}

#[test]
fn what_is_already_there_is_no_conflict() {
    let field = Field::new();
    work(&field.top());
    field.yard.write("new/deep/file", "new\n");
    field.yard.write("README", "one\n2\nthree\n");
    fs::remove_file(field.yard.project.join("docs/a.md")).unwrap();
    let mut shelf = field.shelf();
    let act = ready(field.everything(&mut shelf));
    let settled: Vec<_> = act.settled().collect();
    assert_eq!(settled, [&b"README"[..], b"docs/a.md", b"new/deep/file"]);
}

#[test]
fn flagged_changes_need_their_own_accept_and_refused_ones_have_none() {
    let field = Field::new();
    put(&field.top(), ".envrc", "touch pwned\n");
    put(&field.top(), "plain", "x\n");
    symlink("/etc", field.top().join("out")).unwrap();
    let changes = changes(&field.workspace);
    let mut shelf = field.shelf();
    let mut check = |choice: &Choice, named: &[&str], expected: &[&str]| {
        let named = named.iter().map(|path| path.as_bytes().to_vec()).collect();
        let found = match field.plan_with(&mut shelf, &changes, choice, &named) {
            Planned::Ready(_) => Vec::new(),
            Planned::Refused(refused) => refused,
        };
        let found: Vec<_> = found.iter().map(|row| String::from_utf8_lossy(&row.path)).collect();
        assert_eq!(found, expected);
    };
    let everything = Choice::everything(&changes);
    check(&everything, &[], &[".envrc", "out"]);
    check(&everything, &[".envrc", "out"], &["out"]);
    let mut choice = everything.clone();
    choice.leave(b"out");
    check(&choice, &[".envrc"], &[]);
    check(&choice, &["plain"], &[".envrc"]);
}

#[test]
fn a_repository_is_not_completed_from_both_sides() {
    let field = Field::new();
    for name in ["x/objects", "x/refs"] {
        fs::create_dir_all(field.yard.project.join(name)).unwrap();
    }
    put(&field.top(), "x/HEAD", "ref: refs/heads/main\n");
    let mut shelf = field.shelf();
    let refused = refused(field.everything(&mut shelf));
    assert_eq!(refused[0].path, b"x/HEAD");
    fs::remove_dir(field.yard.project.join("x/refs")).unwrap();
    ready(field.everything(&mut shelf));
}

#[test]
fn undo_refuses_by_name_what_changed_since_and_leaves_the_rest() {
    let field = Field::new();
    work(&field.top());
    field.accept_all();
    field.yard.write("README", "edited since\n");
    field.yard.write("elsewhere", "mine\n");
    let before = everything(&field.yard.project);
    let mut shelf = field.shelf();
    let project = &field.project;
    let planned = shelf.plan_undo(project).unwrap().unwrap();
    let refused = refused(planned);
    assert_eq!(refused.len(), 1);
    assert_eq!(
        (refused[0].path.as_slice(), refused[0].reason.as_str()),
        (&b"README"[..], "it changed since")
    );
    assert_same(&everything(&field.yard.project), &before);
    // Put back by hand, a path is no longer in the way, and is not written again.
    field.yard.write("README", "one\ntwo\nthree\n");
    let act = ready(shelf.plan_undo(project).unwrap().unwrap());
    assert_eq!(act.settled().collect::<Vec<_>>(), [b"README"]);
    whole(field.carry(&mut shelf, act));
    assert_eq!(fs::read(field.yard.project.join("elsewhere")).unwrap(), b"mine\n");
    assert_eq!(field.yard.git(&["status", "--porcelain"]), "?? elsewhere");
}

#[test]
fn any_number_of_steps_go_back_and_forth_until_a_new_one() {
    let field = Field::new();
    let mut states = vec![field.files()];
    for number in 1..=4 {
        put(&field.top(), "README", format!("{number}\n"));
        put(&field.top(), &format!("file-{number}"), "x\n");
        field.accept_all();
        states.push(field.files());
    }
    for state in states.iter().rev().skip(1) {
        field.undo();
        assert_eq!(field.files(), *state);
    }
    let project = &field.project;
    assert!(field.shelf().plan_undo(project).unwrap().is_none());
    for state in &states[1..3] {
        field.redo();
        assert_eq!(field.files(), *state);
    }
    put(&field.top(), "README", "5\n");
    field.accept_all();
    assert!(field.shelf().plan_redo(project).unwrap().is_none());
    let kept: Vec<_> = field.shelf().list().unwrap().iter().map(|step| step.number).collect();
    assert_eq!(kept, [1, 2, 5]);
    field.shelf().clear().unwrap();
    assert!(field.shelf().plan_undo(project).unwrap().is_none());
}

/// Has `save` called at the instant of this number, or at every one.
pub(crate) fn at(
    shelf: &mut Shelf,
    number: Option<usize>,
    mut save: impl FnMut() + 'static,
) -> Rc<RefCell<usize>> {
    let count = Rc::new(RefCell::new(0));
    let counted = count.clone();
    shelf.at_each_instant(move || {
        let now = *counted.borrow();
        *counted.borrow_mut() += 1;
        if number.is_none_or(|number| number == now) {
            save();
        }
    });
    count
}

/// How many instants a hand-back of [`work`] has.
fn instants() -> usize {
    let field = Field::new();
    work(&field.top());
    let mut shelf = field.shelf();
    let act = ready(field.everything(&mut shelf));
    let count = at(&mut shelf, None, || {});
    whole(field.carry(&mut shelf, act));
    let count = *count.borrow();
    assert!(count > 20, "{count}");
    count
}

/// A few of many, another few each time; all of them when `CHOCK_TEST_LONG` is set.
pub(crate) fn some_of(all: std::ops::Range<usize>) -> Vec<usize> {
    const FEW: usize = 6;
    if std::env::var_os("CHOCK_TEST_LONG").is_some() {
        return all.collect();
    }
    let stride = all.len().div_ceil(FEW);
    let first = std::process::id() as usize % stride;
    all.skip(first).step_by(stride).collect()
}

/// How an editor saves.
#[derive(Debug, Clone, Copy)]
enum Editor {
    /// A new file, renamed over the old one.
    Renames,
    /// Into the file that is there.
    Truncates,
}

fn save(path: &Path, editor: Editor, text: &str) {
    match editor {
        Editor::Renames => {
            let beside = path.with_extension("swap");
            fs::write(&beside, text).unwrap();
            fs::rename(beside, path).unwrap();
        }
        Editor::Truncates => fs::write(path, text).unwrap(),
    }
}

#[test]
fn an_editor_that_saves_at_any_instant_loses_nothing() {
    let count = instants();
    for editor in [Editor::Renames, Editor::Truncates] {
        for number in some_of(0..count) {
            for path in ["README", "docs/a.md", "new/deep/file"] {
                let field = Field::new();
                work(&field.top());
                let before = field.files();
                let mut shelf = field.shelf();
                let act = ready(field.everything(&mut shelf));
                let there = field.yard.project.join(path);
                let saved = there.clone();
                at(&mut shelf, Some(number), move || {
                    fs::create_dir_all(saved.parent().unwrap()).unwrap();
                    save(&saved, editor, "precious\n");
                });
                let carried = field.carry(&mut shelf, act);
                let said = format!("{path} at {number} by {editor:?}: {carried:?}");
                assert_eq!(
                    fs::read_to_string(&there).ok().as_deref(),
                    Some("precious\n"),
                    "{said}"
                );
                let of_others = |files: Files| -> Files {
                    files
                        .into_iter()
                        .filter(|row| !row.0.ends_with(path) && row.1 & 0o040_000 == 0)
                        .collect()
                };
                if let Carried::Nothing { .. } = &carried {
                    assert_eq!(of_others(field.files()), of_others(before), "{said}");
                }
                let names = field.files();
                assert!(!names.iter().any(|row| row.0.contains(".chock-handback")), "{said}");
            }
        }
    }
}

#[test]
fn a_kill_at_any_instant_ends_in_before_or_after() {
    let count = instants();
    for direction in ["apply", "undo", "redo"] {
        for number in some_of(0..count + 1) {
            let yard = Yard::filled();
            let (project, state) = (yard.project.clone(), yard.path("state"));
            let field = Field::of(yard);
            work(&field.top());
            let mut sides = vec![files(&project)];
            if direction != "apply" {
                field.accept_all();
                sides.push(files(&project));
            }
            if direction == "redo" {
                field.undo();
            }
            let home = field.yard.path("home");
            let field = kill_at(field, direction, number, &home);
            let (shelf, recovered) = field.open();
            let now = files(&project);
            if sides.len() == 1 {
                // What came after is what a repeated act gives.
                drop(shelf);
                if now == sides[0] {
                    field.accept_all();
                }
                sides.push(files(&project));
                field.undo();
                assert_eq!(files(&project), sides[0], "{direction} at {number}");
            }
            assert!(sides.contains(&now), "{direction} at {number}: {recovered:?}");
            if let Some(recovered) = recovered {
                assert_eq!(recovered.direction.word(), direction);
                assert_eq!(recovered.kept, Vec::<PathBuf>::new());
                let began = if direction == "undo" { 1 } else { 0 };
                let expected = if recovered.finished { 1 - began } else { began };
                assert_eq!(now, sides[expected], "{direction} at {number}");
            }
            assert!(!state.join("handback/journal.json").exists());
        }
    }
}

/// Lets another process of this test do the act, and die at the instant.
fn kill_at(field: Field, direction: &str, number: usize, home: &Path) -> Field {
    kill_in("carrying_back::carries_until_killed", field, &format!("{direction} {number}"), home)
}

/// Lets a test in another process act and die.
pub(crate) fn kill_in(test: &str, field: Field, act: &str, home: &Path) -> Field {
    let Field { yard, workspace, granter, .. } = field;
    drop((workspace, granter));
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", test, "--nocapture"])
        .env("CHOCK_TEST_PROJECT", &yard.project)
        .env("CHOCK_TEST_STATE", home.parent().unwrap())
        .env("CHOCK_TEST_ACT", act)
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    use std::os::unix::process::ExitStatusExt;
    let ended = (output.status.signal(), output.status.code());
    assert!(matches!(ended, (Some(9), None) | (None, Some(0))), "{ended:?}: {}", text(output));
    assert!(out.contains("begins"), "{out}");
    let session = yard.path("state/one.work");
    let workspace = Workspace::open(&yard.find().unwrap(), &session, &[], &[]).unwrap();
    Field::with(yard, workspace)
}

#[test]
#[ignore = "started by a_kill_at_any_instant_ends_in_before_or_after"]
fn carries_until_killed() {
    let Some(project) = std::env::var_os("CHOCK_TEST_PROJECT") else { return };
    let state = PathBuf::from(std::env::var_os("CHOCK_TEST_STATE").unwrap());
    let act = std::env::var("CHOCK_TEST_ACT").unwrap();
    let (direction, number) = act.split_once(' ').unwrap();
    let number: usize = number.parse().unwrap();
    let yard = Yard::standing(&state, Path::new(&project));
    let session = state.join("state/one.work");
    let workspace = Workspace::open(&yard.find().unwrap(), &session, &[], &[]).unwrap();
    let field = Field::with(yard, workspace);
    let mut shelf = field.shelf();
    let planned = match direction {
        "apply" => field.everything(&mut shelf),
        "undo" => shelf.plan_undo(&field.project).unwrap().unwrap(),
        _ => shelf.plan_redo(&field.project).unwrap().unwrap(),
    };
    let act = ready(planned);
    at(&mut shelf, Some(number), || {
        let this = rustix::process::getpid();
        rustix::process::kill_process(this, rustix::process::Signal::KILL).unwrap();
    });
    println!("begins");
    field.carry(&mut shelf, act);
    // The directory is the other process's to remove.
    std::mem::forget(field);
}

#[test]
fn two_processes_do_not_carry_at_once_and_a_full_stage_is_no_obstacle() {
    let field = Field::new();
    work(&field.top());
    let shelf = field.shelf();
    let second = Shelf::open(&field.yard.path("state/handback"), &field.project);
    assert!(matches!(second, Err(HandBackFault::InUse)));
    drop(shelf);
    // A directory that may not be written stops everything.
    if rustix::process::geteuid().is_root() {
        return;
    }
    fs::set_permissions(field.yard.project.join("docs"), fs::Permissions::from_mode(0o555))
        .unwrap();
    let before: State = everything(&field.yard.project);
    let mut shelf = field.shelf();
    let act = ready(field.everything(&mut shelf));
    let carried = field.carry(&mut shelf, act);
    assert!(matches!(carried, Carried::Nothing { .. }), "{carried:?}");
    assert_eq!(everything(&field.yard.project).len(), before.len());
}
