//! A choice of files and hunks leads to the tree that git makes of the same patch.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use chock_workspace::{ChangeSet, Choice, Method, PickFault, Store, TreeId, Workspace};
use proptest::prelude::*;

use crate::yard::{Yard, changes, run, text, top};

/// What one name is.
#[derive(Debug, Clone, PartialEq)]
enum Thing {
    Text { lines: Vec<u8>, crlf: bool, ended: bool, program: bool },
    Binary(u8),
    Empty,
    Link(&'static str),
}

const NAMES: [&[u8]; 8] =
    [b"a", b"a/b", b"dir/one.txt", b"dir/two", b"odd \xff name", b"q\"\\uote\n", b"dir", b"last"];

fn thing() -> impl Strategy<Value = Thing> {
    let text = (prop::collection::vec(0_u8..6, 1..40), any::<bool>(), any::<bool>(), any::<bool>());
    prop_oneof![
        6 => text.prop_map(|(lines, crlf, ended, program)| Thing::Text {
            lines, crlf, ended, program
        }),
        1 => any::<u8>().prop_map(Thing::Binary),
        1 => Just(Thing::Empty),
        1 => prop::sample::select(vec!["a", "dir/two", "nowhere"]).prop_map(Thing::Link),
    ]
}

/// An edit of what a name was, or something else in its place.
#[derive(Debug, Clone)]
enum Step {
    Keep,
    Remove,
    Become(Thing),
    Edit(Vec<(usize, Option<u8>)>),
    Mode,
    Ending,
    Move(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Keep),
        1 => Just(Step::Remove),
        1 => thing().prop_map(Step::Become),
        6 => prop::collection::vec((0_usize..40, prop::option::of(6_u8..12)), 1..6)
            .prop_map(Step::Edit),
        1 => Just(Step::Mode),
        1 => Just(Step::Ending),
        1 => (0..NAMES.len()).prop_map(Step::Move),
    ]
}

fn bytes(thing: &Thing) -> Vec<u8> {
    match thing {
        Thing::Text { lines, crlf, ended, .. } => {
            let end = if *crlf { "\r\n" } else { "\n" };
            let lines: Vec<_> = lines.iter().map(|line| format!("line {line}")).collect();
            let mut text = lines.join(end);
            if *ended {
                text.push_str(end);
            }
            text.into_bytes()
        }
        Thing::Binary(byte) => vec![0, *byte, 0, 1, 2, *byte],
        Thing::Empty => Vec::new(),
        Thing::Link(target) => target.as_bytes().to_vec(),
    }
}

fn path(top: &Path, name: &[u8]) -> PathBuf {
    top.join(OsStr::from_bytes(name))
}

/// Makes `name` the thing, or nothing, in place of whatever is in the way.
fn place(top: &Path, name: &[u8], thing: Option<&Thing>) {
    let path = path(top, name);
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&path).unwrap(),
        Ok(_) => fs::remove_file(&path).unwrap(),
        Err(_) => {}
    }
    let Some(thing) = thing else { return };
    let parent = path.parent().unwrap();
    if parent != top {
        if parent.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
            fs::remove_file(parent).unwrap();
        }
        fs::create_dir_all(parent).unwrap();
    }
    if let Thing::Link(target) = thing {
        return symlink(target, path).unwrap();
    }
    fs::write(&path, bytes(thing)).unwrap();
    let program = matches!(thing, Thing::Text { program: true, .. });
    let mode = if program { 0o755 } else { 0o644 };
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

fn edited(old: &Thing, edits: &[(usize, Option<u8>)]) -> Thing {
    let Thing::Text { lines, crlf, ended, program } = old else { return old.clone() };
    let mut lines = lines.clone();
    for (at, line) in edits {
        let at = at % (lines.len() + 1);
        match line {
            Some(line) => lines.insert(at, *line),
            None if at < lines.len() => drop(lines.remove(at)),
            None => {}
        }
    }
    Thing::Text { lines, crlf: *crlf, ended: *ended, program: *program }
}

fn act(top: &Path, number: usize, old: Option<&Thing>, step: &Step) {
    let name = NAMES[number];
    match (step, old) {
        (Step::Keep, _) => {}
        (Step::Remove, _) => place(top, name, None),
        (Step::Become(thing), _) => place(top, name, Some(thing)),
        (_, None) => {}
        (Step::Edit(edits), Some(old)) => place(top, name, Some(&edited(old, edits))),
        (Step::Mode | Step::Ending, Some(old)) => {
            let mut new = old.clone();
            if let Thing::Text { program, ended, .. } = &mut new {
                if matches!(step, Step::Mode) { *program = !*program } else { *ended = !*ended }
            }
            place(top, name, Some(&new));
        }
        (Step::Move(to), Some(old)) => {
            place(top, name, None);
            place(top, NAMES[*to], Some(&edited(old, &[(3, Some(9))])));
        }
    }
}

/// Chooses by `bits`, one for each file, mode and hunk in order.
pub(crate) fn choose(changes: &ChangeSet, bits: &[bool]) -> Choice {
    let mut choice = Choice::default();
    let mut bits = bits.iter().copied().cycle();
    let mut wanted = move || bits.next().unwrap_or(false);
    for file in &changes.files {
        if !file.has_parts() {
            if wanted() {
                choice.take_file(&file.path);
            }
            continue;
        }
        if wanted() && file.old_mode != file.new_mode {
            choice.take_mode(&file.path);
        }
        for hunk in &file.hunks {
            if wanted() {
                choice.take_hunk(&file.path, &hunk.id);
            }
        }
    }
    choice
}

/// The tree that `git apply --cached` makes of `patch` on `base`.
fn git_s_tree(yard: &Yard, base: TreeId, patch: &[u8], options: &[&str]) -> String {
    let store = yard.path("state").join("one.work/store");
    let index = yard.path("index");
    let git = || {
        let mut command = yard.command(&store);
        command.env("GIT_DIR", &store).env("GIT_INDEX_FILE", &index);
        command
    };
    run(git().args(["read-tree", &base.to_string()]));
    if !patch.is_empty() {
        let mut apply = git();
        apply.args(["apply", "--cached", "--whitespace=nowarn", "--allow-empty"]).args(options);
        let mut child =
            apply.arg("-").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(patch).unwrap();
        let output = child.wait_with_output().unwrap();
        let shown = String::from_utf8_lossy(patch);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}\n{shown}");
    }
    text(run(git().arg("write-tree")))
}

fn patch(store: &Store, changes: &ChangeSet) -> Vec<u8> {
    let mut out = Vec::new();
    store.write_patch(changes, &mut out).unwrap();
    out
}

fn begin(yard: &Yard) -> Workspace {
    let mut opening = yard.opening("one.work");
    opening.method = Method::Copy;
    yard.workspace_with(opening)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_choice_is_what_git_makes_of_its_patch(
        things in prop::collection::vec(prop::option::weighted(0.7, thing()), NAMES.len()),
        steps in prop::collection::vec(step(), NAMES.len()),
        bits in prop::collection::vec(any::<bool>(), 1..40),
        split in any::<bool>(),
    ) {
        let yard = Yard::empty();
        for (name, thing) in NAMES.iter().zip(&things) {
            if thing.is_some() {
                place(&yard.project, name, thing.as_ref());
            }
        }
        yard.commit("first");
        let workspace = begin(&yard);
        let top = top(&workspace);
        for (number, (step, thing)) in steps.iter().zip(&things).enumerate() {
            let there = path(&top, NAMES[number]).symlink_metadata().is_ok();
            act(&top, number, thing.as_ref().filter(|_| there), step);
        }
        let mut changes = changes(&workspace);
        if split {
            for file in changes.files.iter_mut().filter(|file| file.has_parts()) {
                let ids: Vec<_> = file.hunks.iter().map(|hunk| hunk.id.clone()).collect();
                for id in ids {
                    file.split(&id);
                }
            }
        }
        let store = workspace.store();
        let nothing = store.pick(&changes, &Choice::default()).unwrap();
        prop_assert_eq!(nothing.tree, changes.base);
        let everything = store.pick(&changes, &Choice::everything(&changes)).unwrap();
        prop_assert_eq!(everything.tree, changes.snapshot);
        let every_part = store.pick(&changes, &choose(&changes, &[true])).unwrap();
        prop_assert_eq!(every_part.tree, changes.snapshot);

        match store.pick(&changes, &choose(&changes, &bits)) {
            Ok(picked) => {
                let options: &[&str] = if split { &["--unidiff-zero"] } else { &[] };
                let patch = patch(store, &picked.changes);
                let tree = git_s_tree(&yard, changes.base, &patch, options);
                prop_assert_eq!(picked.tree.to_string(), tree, "{}", String::from_utf8_lossy(&patch));
            }
            Err(PickFault::Clash { .. }) => {}
            Err(fault) => prop_assert!(false, "{}", fault),
        }
    }
}

#[test]
fn a_hunk_is_taken_without_its_neighbour_and_keeps_its_id() {
    let yard = Yard::empty();
    let lines: Vec<String> = (1..=30).map(|number| format!("{number}\r\n")).collect();
    yard.write("f", lines.concat());
    yard.commit("first");
    let workspace = begin(&yard);
    let write = |second: &str, last: &str| {
        let mut new = lines.clone();
        new[1] = second.to_owned();
        new[28] = last.to_owned();
        fs::write(top(&workspace).join("f"), new.concat()).unwrap();
    };
    write("two\r\nand more\r\n", "29\r\n");
    let first = changes(&workspace).files[0].hunks[0].id.clone();
    write("2\r\n", "twenty-nine\r\n");
    let alone = changes(&workspace).files[0].hunks[0].id.clone();
    write("two\r\nand more\r\n", "twenty-nine\r\n");
    let changes = changes(&workspace);
    let ids: Vec<_> = changes.files[0].hunks.iter().map(|hunk| hunk.id.clone()).collect();
    assert_eq!(ids, [first, alone.clone()], "a neighbour that comes or goes changes no id");
    let mut choice = Choice::default();
    choice.take_hunk(b"f", &alone);
    let picked = workspace.store().pick(&changes, &choice).unwrap();
    let store = yard.path("state").join("one.work/store");
    let mut expected = lines.clone();
    expected[28] = "twenty-nine\r\n".to_owned();
    let shown = run(yard.command(&store).args(["show", &format!("{}:f", picked.tree)])).stdout;
    assert_eq!(String::from_utf8_lossy(&shown), expected.concat());
}

#[test]
fn a_file_that_became_a_directory_is_taken_with_what_is_in_it_or_not_at_all() {
    let yard = Yard::empty();
    yard.write("a", "a\n");
    yard.commit("first");
    let workspace = begin(&yard);
    place(&top(&workspace), b"a/b", Some(&Thing::Empty));
    let changes = changes(&workspace);
    let mut choice = Choice::default();
    choice.take_file(b"a/b");
    let fault = workspace.store().pick(&changes, &choice).unwrap_err();
    assert!(matches!(&fault, PickFault::Clash { path } if path == "a"), "{fault}");
    choice.take_file(b"a");
    assert_eq!(workspace.store().pick(&changes, &choice).unwrap().tree, changes.snapshot);
}

#[test]
fn a_link_that_became_a_renamed_file_is_taken_with_its_going_or_not_at_all() {
    let yard = Yard::empty();
    yard.write("odd", "one\ntwo\nthree\nfour\nfive\n");
    symlink("elsewhere", yard.project.join("link")).unwrap();
    yard.commit("first");
    let workspace = begin(&yard);
    let top = top(&workspace);
    fs::remove_file(top.join("odd")).unwrap();
    fs::remove_file(top.join("link")).unwrap();
    fs::write(top.join("link"), "one\ntwo\nthree\nfour\nfive\nsix\n").unwrap();
    let changes = changes(&workspace);
    let renamed = changes.files.iter().find(|file| file.old_path.is_some()).unwrap();
    let mut choice = Choice::default();
    choice.take_hunk(&renamed.path, &renamed.hunks[0].id);
    let fault = workspace.store().pick(&changes, &choice).unwrap_err();
    assert!(matches!(&fault, PickFault::Clash { path } if path == "link"), "{fault}");
    choice.take_file(b"link");
    assert_eq!(workspace.store().pick(&changes, &choice).unwrap().tree, changes.snapshot);
}
