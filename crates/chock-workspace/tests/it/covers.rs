//! What rules keep from every tool: which paths they come to.

use std::os::unix::fs::symlink;
use std::path::Path;

use chock_workspace::{
    COVERED_MAX, CoverPath, CoverRow, Covered, Kind, Method, Notice, Start, WhenTracked, Workspace,
    WorkspaceFault,
};

use crate::yard::{Yard, changes, rows, top};

fn pattern(text: &str) -> CoverRow {
    let (text, directories_only) = match text.strip_suffix('/') {
        Some(text) => (text, true),
        None => (text, false),
    };
    let glob = globset::GlobBuilder::new(text).literal_separator(true).build().unwrap();
    CoverRow { path: CoverPath::Pattern { glob, directories_only }, tracked: WhenTracked::Announce }
}

fn file(path: &str) -> CoverRow {
    CoverRow::name(path, Kind::File)
}

fn strict(row: CoverRow) -> CoverRow {
    CoverRow { tracked: WhenTracked::Refuse, ..row }
}

fn create(yard: &Yard, covered: Vec<CoverRow>) -> Result<Workspace, WorkspaceFault> {
    let mut opening = yard.opening("one.work");
    opening.covered = covered;
    Workspace::create(&yard.find().unwrap(), &opening)
}

fn list(covered: &[Covered]) -> Vec<String> {
    let mut list: Vec<_> = covered
        .iter()
        .map(|cover| {
            let slash = if cover.kind == Kind::Directory { "/" } else { "" };
            format!("{}{slash} {}", cover.path.display(), cover.row)
        })
        .collect();
    list.sort();
    list
}

#[track_caller]
fn check(yard: &Yard, covered: Vec<CoverRow>, expected: &[&str]) {
    let workspace = create(yard, covered).unwrap();
    assert_eq!(list(workspace.covered()), expected);
    workspace.remove().unwrap();
}

/// A project with secrets that are tracked, ignored, linked and absent.
fn secrets() -> Yard {
    let yard = Yard::filled();
    yard.write(".gitignore", "*.log\n/target/\n.env\n/private/\n");
    yard.write("src/deep/server.pem", "tracked\n");
    yard.write("keys/a.pem", "tracked\n");
    yard.write("keys/b.txt", "tracked\n");
    symlink("../keys/b.txt", yard.project.join("docs/shortcut")).unwrap();
    symlink("keys", yard.project.join("linked")).unwrap();
    symlink("/etc/shadow", yard.project.join("out")).unwrap();
    yard.commit("secrets");
    yard.write(".env", "ignored\n");
    yard.write("src/.env", "ignored\n");
    yard.write("private/x.pem", "ignored\n");
    yard.write("target/deep/y.pem", "ignored\n");
    yard
}

#[test]
fn names_are_covered_whether_they_are_there_or_not() {
    let yard = secrets();
    let covered = vec![
        file(".env"),
        file("keys/a.pem"),
        file("keys"),
        file("later.env"),
        file("not/there/yet"),
        CoverRow::name("nor/this", Kind::Directory),
        file("private"),
    ];
    let expected =
        [".env 0", "keys/ 2", "later.env 3", "nor/this/ 5", "not/there/yet 4", "private/ 6"];
    check(&yard, covered, &expected);
}

#[test]
fn patterns_cover_what_is_tracked_and_what_lies_beside_it() {
    let yard = secrets();
    check(&yard, vec![pattern("**/*.pem")], &["keys/a.pem 0", "src/deep/server.pem 0"]);
    check(&yard, vec![pattern("**/.env")], &[".env 0", "src/.env 0"]);
    check(&yard, vec![pattern("**/pri*/")], &["private/ 0"]);
    check(&yard, vec![pattern("**/a.pem/")], &[]);
    check(&yard, vec![pattern("keys/**")], &["keys/a.pem 0", "keys/b.txt 0"]);
    check(
        &yard,
        vec![pattern("{ke,pr}*"), pattern("**/*.pem")],
        &["keys/ 0", "private/ 0", "src/deep/server.pem 1"],
    );
}

#[test]
fn neither_git_nor_the_rules_are_covered() {
    let yard = secrets();
    yard.write("chock.zon", ".{}\n");
    let workspace = create(&yard, vec![pattern("*"), file("linked/../chock.zon")]).unwrap();
    let covered = list(workspace.covered());
    assert!(covered.iter().any(|path| path == "README 0"), "{covered:?}");
    let own = |path: &String| path.starts_with(".git/") || path.starts_with("chock.zon");
    assert!(!covered.iter().any(own), "{covered:?}");
}

#[test]
fn links_of_the_project_are_followed_to_what_they_name() {
    let yard = secrets();
    check(&yard, vec![file("docs/shortcut")], &["keys/b.txt 0"]);
    check(&yard, vec![file("linked/a.pem")], &["keys/a.pem 0"]);
    check(&yard, vec![file("linked/new")], &["keys/new 0"]);
    check(&yard, vec![pattern("**/short*")], &["keys/b.txt 0"]);
    // What leads out of the project leads nowhere inside.
    check(&yard, vec![file("out")], &[]);
    symlink("loop", yard.project.join("loop")).unwrap();
    yard.commit("a loop");
    check(&yard, vec![file("loop"), file("loop/x")], &[]);
}

#[test]
fn a_name_beneath_a_file_is_told_and_not_covered() {
    let yard = secrets();
    let workspace = create(&yard, vec![file("README/x")]).unwrap();
    assert_eq!(workspace.covered(), []);
    let notices: Vec<_> = workspace.notices().iter().map(ToString::to_string).collect();
    assert!(notices[0].contains("`README` is a file"), "{notices:?}");
}

#[test]
fn what_git_tracks_is_announced_or_refused() {
    let yard = secrets();
    let told = |covered: Vec<CoverRow>| {
        let workspace = create(&yard, covered).unwrap();
        let notices = workspace.notices().to_vec();
        workspace.remove().unwrap();
        notices
    };
    assert_eq!(told(vec![file(".env"), file("later")]), []);
    let announced = told(vec![file("keys"), pattern("**/*.pem")]);
    let paths = vec!["keys/a.pem".into(), "src/deep/server.pem".into()];
    assert_eq!(announced, [Notice::TrackedDenied { paths }]);
    let words = announced[0].to_string();
    assert!(words.contains("`keys/a.pem`, `src/deep/server.pem`"), "{words}");
    // (rows, the path that is named)
    let cases = [
        (vec![strict(file("keys/a.pem"))], "keys/a.pem"),
        (vec![strict(file("keys"))], "keys/a.pem"),
        (vec![strict(pattern("**/*.pem"))], "keys/a.pem"),
        (vec![file("keys"), strict(pattern("**/*.pem"))], "keys/a.pem"),
        (vec![pattern("src/**"), strict(file("src/deep"))], "src/deep/er/leaf.txt"),
    ];
    for (covered, path) in cases {
        let fault = create(&yard, covered.clone()).unwrap_err();
        let WorkspaceFault::Tracked { path: named } = &fault else { panic!("{fault}") };
        assert_eq!(named, Path::new(path), "{covered:?}");
        assert!(fault.to_string().contains("git rm --cached"), "{fault}");
        assert!(!yard.path("state/one.work/workspace.json").exists());
    }
    // What is only in the index is tracked, too.
    yard.write("staged.env", "x\n");
    yard.git(&["add", "staged.env"]);
    assert!(create(&yard, vec![strict(file("staged.env"))]).is_err());
    assert_eq!(told(vec![strict(file(".env"))]), []);
}

#[test]
fn uncommitted_files_that_are_denied_stay_outside() {
    let yard = secrets();
    yard.write("new/deep/z.pem", "untracked\n");
    yard.write("new/ok.txt", "untracked\n");
    yard.write("keys/a.pem", "changed\n");
    let mut opening = yard.opening("one.work");
    opening.covered = vec![pattern("**/*.pem")];
    opening.start = Start::Uncommitted;
    let workspace = yard.workspace_with(opening);
    let top = top(&workspace);
    assert!(top.join("new/ok.txt").exists());
    assert!(!top.join("new/deep/z.pem").exists() && !top.join("keys/a.pem").exists());
    let covered = list(workspace.covered());
    assert_eq!(covered, ["keys/a.pem 0", "new/deep/z.pem 0", "src/deep/server.pem 0"]);
    assert_eq!(rows(&changes(&workspace)), [""; 0]);
}

#[test]
fn rows_that_came_later_count_when_a_session_goes_on() {
    let yard = secrets();
    let workspace = create(&yard, vec![]).unwrap();
    let session = yard.path("state/one.work");
    drop(workspace);
    let rows = [file("later"), pattern("**/*.pem")];
    let workspace = Workspace::open(&yard.find().unwrap(), &session, &rows, &[]).unwrap();
    assert_eq!(list(workspace.covered()), ["keys/a.pem 1", "later 0", "src/deep/server.pem 1"]);
    drop(workspace);
    let workspace = Workspace::open(&yard.find().unwrap(), &session, &[], &[]).unwrap();
    assert_eq!(workspace.covered(), []);
    // What was covered once has left its place in the upper half.
    crate::yard::put(&top(&workspace), "later", "");
    assert_eq!(crate::yard::rows(&changes(&workspace)), [""; 0]);
}

#[test]
fn a_full_copy_does_not_hold_what_is_covered() {
    let yard = secrets();
    let mut opening = yard.opening("one.work");
    opening.method = Method::Copy;
    opening.covered = vec![pattern("**/*.pem"), CoverRow::name("docs", Kind::Directory)];
    let workspace = yard.workspace_with(opening);
    let top = top(&workspace);
    for path in ["keys/a.pem", "src/deep/server.pem", "docs"] {
        assert!(!top.join(path).exists(), "{path}");
    }
    assert!(top.join("keys/b.txt").exists());
    assert_eq!(rows(&changes(&workspace)), [""; 0]);
}

#[test]
fn what_the_session_put_in_the_way_is_not_covered() {
    let yard = secrets();
    let covered = vec![file("keys/a.pem"), file("not/there"), file("src/new")];
    let workspace = create(&yard, covered.clone()).unwrap();
    let top = top(&workspace);
    drop(workspace);
    // A link and a file where directories were, as a session can leave them.
    symlink("/etc", top.join("keys")).unwrap();
    std::fs::write(top.join("not"), "x").unwrap();
    let session = yard.path("state/one.work");
    let workspace = Workspace::open(&yard.find().unwrap(), &session, &covered, &[]).unwrap();
    assert_eq!(list(workspace.covered()), ["src/new 2"]);
}

#[test]
fn too_many_covers_are_refused_with_the_cure() {
    let yard = Yard::filled();
    for number in 0..=COVERED_MAX {
        yard.write(&format!("many/{number}.x"), "x");
    }
    yard.commit("many");
    let fault = create(&yard, vec![pattern("**/*.x")]).unwrap_err().to_string();
    assert!(
        fault.contains("more than 1024 paths") && fault.contains("directories above"),
        "{fault}"
    );
    check(&yard, vec![file("many"), pattern("**/*.x")], &["many/ 0"]);
}
