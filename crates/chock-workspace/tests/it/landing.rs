//! Commits come into a project, and go out again, whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chock_workspace::{
    Carried, Combination, Combined, Dock, Docked, HandBack, Landing, LandingMode, Named, Parked,
    Planned, Shelf, Stand, Workspace,
};

use crate::carrying_back::{Field, at, kill_in, ready, some_of, whole};
use crate::yard::{Yard, put};

/// What a person sees of a project's git.
fn sight(yard: &Yard) -> (String, String, String) {
    let refs = yard.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    (yard.git(&["rev-parse", "HEAD"]), yard.git(&["status", "--porcelain"]), refs)
}

/// Where the agent works, for these tests: a clone.
fn agent(yard: &Yard) -> PathBuf {
    yard.path("agent")
}

/// Makes a project, a session, and two commits of the agent.
fn committed() -> Field {
    let field = Field::new();
    let yard = &field.yard;
    let source = yard.project.to_str().unwrap().to_owned();
    yard.git_in(&yard.path("."), &["clone", "-q", &source, "agent"]);
    let agent = agent(yard);
    put(&agent, "README", "one\nTWO\nthree\n");
    put(&agent, "new/deep/file", "new\n");
    commit(yard, "one");
    fs::remove_file(agent.join("docs/a.md")).unwrap();
    commit(yard, "two");
    field
}

fn commit(yard: &Yard, message: &str) {
    let agent = agent(yard);
    yard.git_in(&agent, &["add", "-A"]);
    yard.git_in(&agent, &["commit", "-q", "-m", message]);
}

/// Says what a cage would say of the agent's commits.
fn combined(field: &Field) -> Combined {
    let (yard, agent) = (&field.yard, agent(&field.yard));
    let start = field.workspace.start_commit().unwrap().to_owned();
    let ours = yard.git(&["rev-parse", "HEAD"]);
    yard.git_in(&agent, &["fetch", "-q", "origin", "HEAD"]);
    let head = yard.git_in(&agent, &["rev-parse", "HEAD"]);
    let range = format!("{start}..{head}");
    let commits = yard.git_in(&agent, &["rev-list", "--topo-order", "--reverse", &range]);
    let (result, tree) = if ours == start {
        (Combination::FastForward, None)
    } else {
        let tree = yard.git_in(&agent, &["merge-tree", "--write-tree", &ours, &head]);
        (Combination::Merge { tree: tree.clone() }, Some(tree))
    };
    let mut args = vec!["rev-list", "--objects", "--no-object-names", &head];
    args.extend(tree.as_deref());
    let not = format!("^{start}");
    args.push(&not);
    let objects = yard.git_in(&agent, &args);
    let mut packing = yard.command(&agent);
    packing.args(["pack-objects", "-q", "--stdout"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let pack = fed(&mut packing, objects.as_bytes());
    let commits = commits.lines().map(str::to_owned).collect();
    Combined { head, commits, base: None, result, conflicts: Vec::new(), pack }
}

fn fed(command: &mut Command, input: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&[input, b"\n"].concat()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    output.stdout
}

fn docked(field: &Field, dock: &Dock, combined: &Combined) -> Docked {
    let named = Named::new();
    let wish = Landing {
        session: "one",
        title: Some("A title"),
        mode: LandingMode::Merge,
        named: &named,
        seconds: 1_700_000_000,
        zone: -90,
        variables: &[],
    };
    let stand = Stand::of(&field.project).unwrap();
    dock.ready(&field.project, (field.workspace.start_commit(), &stand), combined, &wish).unwrap()
}

fn plan(field: &Field, shelf: &mut Shelf) -> HandBack {
    let dock = Dock::make(&field.yard.path("state/one.work"), &field.project).unwrap();
    let docked = docked(field, &dock, &combined(field));
    assert_eq!(docked.parked(), None);
    ready(shelf.plan_commits(&field.project, (&dock, "one"), &docked).unwrap())
}

fn apply(field: &Field) {
    let mut shelf = field.shelf();
    let act = plan(field, &mut shelf);
    whole(field.carry(&mut shelf, act));
}

/// How many instants an apply has.
fn instants(field: &Field) -> usize {
    let mut shelf = field.shelf();
    let act = plan(field, &mut shelf);
    let count = at(&mut shelf, None, || {});
    whole(field.carry(&mut shelf, act));
    *count.borrow()
}

fn turn(field: &Field, direction: &str) -> Planned {
    let mut shelf = field.shelf();
    planned(field, &mut shelf, direction)
}

fn planned(field: &Field, shelf: &mut Shelf, direction: &str) -> Planned {
    let planned = match direction {
        "undo" => shelf.plan_undo(&field.project),
        _ => shelf.plan_redo(&field.project),
    };
    planned.unwrap().unwrap()
}

fn clean(yard: &Yard) {
    yard.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(yard.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_kill_at_any_instant_of_an_apply_ends_in_before_or_after() {
    for moved in [false, true] {
        let begin = || {
            let field = committed();
            if moved {
                field.yard.write("mine", "mine\n");
                field.yard.commit("mine");
            }
            field
        };
        let count = instants(&begin());
        assert!(count > 10, "{count}");
        for direction in ["apply", "undo", "redo"] {
            for number in some_of(0..count + 1) {
                let field = begin();
                let before = sight(&field.yard);
                let mut after = None;
                if direction != "apply" {
                    apply(&field);
                    after = Some(sight(&field.yard));
                }
                if direction == "redo" {
                    let mut shelf = field.shelf();
                    let act = ready(planned(&field, &mut shelf, "undo"));
                    whole(field.carry(&mut shelf, act));
                    assert_eq!(sight(&field.yard), before);
                }
                let home = field.yard.path("home");
                let act = format!("{direction} {number}");
                let field = kill_in("landing::lands_until_killed", field, &act, &home);
                let (shelf, recovered) = field.open();
                drop(shelf);
                let now = sight(&field.yard);
                clean(&field.yard);
                if after.is_none() {
                    // What came after is what a repeated act gives: times and names are fixed.
                    if now == before {
                        apply(&field);
                    }
                    after = Some(sight(&field.yard));
                }
                let after = after.unwrap();
                assert_ne!(before, after);
                assert!(now == before || now == after, "{act}: {now:?} {recovered:?}");
                if let Some(recovered) = recovered {
                    let is_after = recovered.finished == (direction != "undo");
                    assert_eq!(now == after, is_after, "{act}: {recovered:?}");
                }
            }
        }
    }
}

#[test]
#[ignore = "started by a_kill_at_any_instant_of_an_apply_ends_in_before_or_after"]
fn lands_until_killed() {
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
    let act = match direction {
        "apply" => plan(&field, &mut shelf),
        direction => ready(planned(&field, &mut shelf, direction)),
    };
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
fn what_moved_since_is_named_and_no_commit_of_the_person_s_is_lost() {
    // A commit behind the apply: nothing is undone.
    let field = committed();
    apply(&field);
    field.yard.write("mine", "mine\n");
    field.yard.commit("mine");
    let now = sight(&field.yard);
    let Planned::Refused(refused) = turn(&field, "undo") else { panic!("refused") };
    assert_eq!(
        (&refused[0].path[..], &refused[0].reason[..]),
        (&b"refs/heads/main"[..], "it moved since")
    );
    assert_eq!(sight(&field.yard), now);
    // Another branch.
    let field = committed();
    apply(&field);
    field.yard.git(&["switch", "-q", "-c", "other"]);
    let Planned::Refused(refused) = turn(&field, "undo") else { panic!("refused") };
    assert_eq!(refused[0].reason, "you are not on this branch");
    // A commit between the question and the answer: everything is as that left it.
    let field = committed();
    let mut shelf = field.shelf();
    let act = plan(&field, &mut shelf);
    field.yard.write("mine", "mine\n");
    field.yard.commit("mine");
    let now = sight(&field.yard);
    let Carried::Nothing { path, .. } = field.carry(&mut shelf, act) else { panic!("not carried") };
    assert_eq!(path, b"refs/heads/main");
    assert_eq!(sight(&field.yard), now);
    clean(&field.yard);
}

#[test]
fn a_commit_at_any_instant_of_an_apply_is_never_lost() {
    let count = instants(&committed());
    for number in some_of(0..count) {
        let field = committed();
        let mut shelf = field.shelf();
        let act = plan(&field, &mut shelf);
        let (project, home) = (field.yard.project.clone(), field.yard.path("home"));
        at(&mut shelf, Some(number), move || {
            put(&project, "mine", "mine\n");
            for words in [&["add", "mine"][..], &["commit", "-q", "-m", "mine"]] {
                let mut command = Command::new("git");
                command.current_dir(&project).env("HOME", &home).args(words);
                assert!(command.status().unwrap().success());
            }
        });
        let carried = field.carry(&mut shelf, act);
        let yard = &field.yard;
        assert_eq!(yard.git(&["log", "--all", "--format=%s", "--grep=mine"]), "mine");
        assert_eq!(yard.git(&["show", "main:mine"]), "mine", "at {number}: {carried:?}");
        assert_eq!(fs::read_to_string(yard.project.join("mine")).unwrap(), "mine\n");
        yard.git(&["fsck", "--strict", "--no-dangling"]);
    }
}

#[test]
fn commits_that_chock_makes_are_the_person_s_and_their_text_is_kept() {
    let field = committed();
    field.yard.write("mine", "mine\n");
    field.yard.commit("mine");
    apply(&field);
    let line = field.yard.git(&["log", "-1", "--format=%an <%ae> %ad|%s", "--date=raw"]);
    assert_eq!(
        line,
        "Ann Example <ann@example.invalid> 1700000000 -0130|Merge session one: A title"
    );
    clean(&field.yard);
}

#[test]
fn a_dirty_tree_parks_and_an_undo_of_it_leaves_nothing() {
    let field = committed();
    field.yard.write("untracked", "mine\n");
    let before = sight(&field.yard);
    let dock = Dock::make(&field.yard.path("state/one.work"), &field.project).unwrap();
    let docked = docked(&field, &dock, &combined(&field));
    assert_eq!(docked.parked(), Some(Parked::DirtyTree));
    let mut shelf = field.shelf();
    let act = ready(shelf.plan_commits(&field.project, (&dock, "one"), &docked).unwrap());
    whole(field.carry(&mut shelf, act));
    assert!(field.yard.git(&["for-each-ref"]).contains("refs/chock/one"));
    let act = ready(planned(&field, &mut shelf, "undo"));
    whole(field.carry(&mut shelf, act));
    assert_eq!(sight(&field.yard), before);
}
