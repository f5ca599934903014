//! Random edits give the same tree as `git add -A && git write-tree`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use chock_workspace::{Method, Workspace};
use proptest::prelude::*;

use crate::yard::{Yard, list, put, run, text, top, whiteout};

/// One edit of a working tree.
#[derive(Debug, Clone)]
enum Edit {
    Write(String, Vec<u8>),
    Mode(String, bool),
    Link(String, String),
    Remove(String),
}

fn name() -> impl Strategy<Value = String> {
    let names = [
        "README",
        "src",
        "src/main.rs",
        "src/deep",
        "src/deep/er/leaf.txt",
        "docs",
        "docs/a.md",
        "docs/b.md",
        "run.sh",
        "link",
        ".gitignore",
        "src/.gitignore",
        "new",
        "new/a",
        "new/a/b",
        "x.log",
        "src/x.log",
        "target",
        "target/x",
        "src/target/x",
        "src/keep.log",
        "docs/a.md.x",
        "docs.x",
        "build/x",
    ];
    prop::sample::select(names.to_vec()).prop_map(str::to_owned)
}

fn edit() -> impl Strategy<Value = Edit> {
    let content = prop::sample::select(vec![
        "",
        "a\n",
        "one\ntwo\nthree\n",
        "*.log\n!keep.log\n",
        "/target\nbuild/\n",
        "*\n!*.rs\n",
        "docs\n",
        "**/x\n",
        "a*\n\\#x\n!a/\n",
    ]);
    prop_oneof![
        4 => (name(), content).prop_map(|(name, text)| Edit::Write(name, text.into())),
        1 => (name(), any::<bool>()).prop_map(|(name, on)| Edit::Mode(name, on)),
        1 => (name(), name()).prop_map(|(name, to)| Edit::Link(name, to)),
        2 => name().prop_map(Edit::Remove),
    ]
}

/// Does `edit` in a plain working tree, as far as it can be done.
fn plain(top: &Path, edit: &Edit) {
    let clear = |name: &str| {
        let path = top.join(name);
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&path).unwrap(),
            Ok(_) => fs::remove_file(&path).unwrap(),
            Err(_) => {}
        }
        let mut parent = top.to_owned();
        for part in Path::new(name).parent().unwrap() {
            parent.push(part);
            if parent.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                fs::remove_file(&parent).unwrap();
            }
        }
        fs::create_dir_all(parent).unwrap();
        path
    };
    match edit {
        Edit::Write(name, text) => fs::write(clear(name), text).unwrap(),
        Edit::Link(name, to) => symlink(to, clear(name)).unwrap(),
        Edit::Remove(name) => drop(clear(name)),
        Edit::Mode(name, on) => {
            let path = top.join(name);
            if path.symlink_metadata().is_ok_and(|found| found.is_file()) {
                let mode = if *on { 0o755 } else { 0o644 };
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
    }
}

/// Writes the upper layer that an overlay has when the merged tree is `merged`.
fn layer(base: &Path, merged: &Path, upper: &Path) {
    let names = |path: &Path| -> Vec<std::ffi::OsString> {
        path.read_dir().map_or_else(
            |_| Vec::new(),
            |entries| entries.map(|entry| entry.unwrap().file_name()).collect(),
        )
    };
    let base_is_dir = base.symlink_metadata().is_ok_and(|found| found.is_dir());
    if base_is_dir {
        for gone in names(base) {
            if gone != ".git" && merged.join(&gone).symlink_metadata().is_err() {
                whiteout(upper, gone.to_str().unwrap());
            }
        }
    }
    for name in names(merged) {
        let (from, to) = (merged.join(&name), upper.join(&name));
        if name == ".git" {
            continue;
        }
        let found = from.symlink_metadata().unwrap();
        if found.is_dir() {
            fs::create_dir_all(&to).unwrap();
            let below = if base_is_dir { base.join(&name) } else { merged.join("no base") };
            layer(&below, &from, &to);
        } else if found.is_symlink() {
            symlink(fs::read_link(&from).unwrap(), &to).unwrap();
        } else {
            put(upper, name.to_str().unwrap(), fs::read(&from).unwrap());
            fs::set_permissions(&to, found.permissions()).unwrap();
        }
    }
}

fn git_s_tree(yard: &Yard, copy: &Path) -> String {
    run(yard.command(copy).args(["add", "-A"]));
    text(run(yard.command(copy).args(["write-tree"])))
}

fn base_of(workspace: &Workspace) -> std::path::PathBuf {
    match &workspace.layout().halves {
        chock_workspace::Halves::Overlay { base, .. } => base.clone(),
        chock_workspace::Halves::Copy { root } => root.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_edits_give_git_s_tree(edits in prop::collection::vec(edit(), 1..12)) {
        let yard = Yard::filled();
        yard.write("src/keep.log", "tracked\n");
        yard.git(&["add", "-f", "src/keep.log"]);
        yard.commit("second");
        let copy = yard.path("copy");
        yard.git(&["clone", "--quiet", ".", copy.to_str().unwrap()]);
        for edit in &edits {
            plain(&copy, edit);
        }
        let overlay = yard.workspace();
        layer(&base_of(&overlay), &copy, &top(&overlay));
        let mut opening = yard.opening("two.work");
        opening.method = Method::Copy;
        let full = yard.workspace_with(opening);
        for edit in &edits {
            plain(&top(&full), edit);
        }
        let expected = git_s_tree(&yard, &copy);
        for (workspace, session) in [(&overlay, "one.work"), (&full, "two.work")] {
            let tree = workspace.snapshot().unwrap().tree;
            prop_assert_eq!(
                tree.to_string(), expected.clone(), "{} not\n{}", list(&yard, session, tree),
                yard.git_in(&copy, &["ls-files", "-s"])
            );
        }
    }
}
