//! What can be a project, and the one clear error for what cannot.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use chock_workspace::{Notice, Project, ProjectFault, ProjectGit};

use crate::yard::{Yard, changes, put, rows, top};

#[test]
fn odd_paths_work() {
    for name in
        [&b"with space"[..], b"quo\"te'", b"new\nline", b"back\\slash", b"not\xffutf8", b"-dash"]
    {
        let yard = Yard::named(OsStr::from_bytes(name));
        yard.fill();
        let project = yard.find().unwrap();
        assert_eq!(project.root(), yard.project.canonicalize().unwrap());
        let workspace = yard.workspace();
        put(&top(&workspace), "new", "x");
        assert_eq!(rows(&changes(&workspace)), ["added new"], "{name:?}");
        assert_eq!(workspace.uncommitted(&project).count().unwrap(), 0, "{name:?}");
    }
}

#[test]
fn a_project_is_found_from_below_and_through_a_link() {
    let yard = Yard::filled();
    let link = yard.path("link");
    std::os::unix::fs::symlink(yard.project.join("src"), &link).unwrap();
    let around = yard.surroundings();
    let real = yard.project.canonicalize().unwrap();
    for (start, below) in [(yard.project.join("src/deep"), "src/deep"), (link, "src")] {
        let project = Project::find(&start, &around).unwrap();
        assert_eq!((project.root(), project.start()), (&*real, Path::new(below)));
    }
}

#[test]
fn a_directory_without_git_is_a_project() {
    let yard = Yard::filled();
    let plain = yard.path("plain");
    fs::create_dir_all(plain.join("sub")).unwrap();
    for start in [plain.clone(), plain.join("sub")] {
        let project = Project::find(&start, &yard.surroundings()).unwrap();
        assert_eq!(project.root(), start.canonicalize().unwrap());
        assert!(!project.is_git() && project.start() == Path::new(""));
    }
    assert!(yard.find().unwrap().is_git());
}

#[test]
fn what_is_no_project_is_refused_by_name() {
    let yard = Yard::filled();
    let around = yard.surroundings();
    let find = |path: &Path| Project::find(path, &around).unwrap_err();
    let says = |path: &Path, words: &str| {
        let fault = find(path);
        assert!(fault.to_string().contains(words), "{fault}");
    };
    assert!(matches!(find(&yard.path("nothing")), ProjectFault::Unusable { .. }));
    assert!(matches!(find(&yard.project.join("README")), ProjectFault::Unusable { .. }));
    assert!(matches!(find(Path::new("/")), ProjectFault::Forbidden { .. }));
    says(&yard.path("home"), "it is your home");
    says(&yard.path(""), "it holds your home");
    let plain = yard.path("plain");
    fs::create_dir(&plain).unwrap();
    fs::create_dir(plain.join(".git")).unwrap();
    says(&plain, "though a `.git` is there");
    fs::remove_dir(plain.join(".git")).unwrap();
    says(&yard.project.join(".git"), "git directory");
    yard.git_in(&plain, &["init", "--quiet", "--bare", "bare.git"]);
    says(&plain.join("bare.git"), "bare repository");
}

#[test]
fn a_home_that_is_a_repository_is_refused_from_below() {
    let yard = Yard::filled();
    let mut around = yard.surroundings();
    around.home = Some(yard.project.clone());
    let fault = Project::find(&yard.project.join("src"), &around).unwrap_err();
    assert!(fault.to_string().contains("it is your home"), "{fault}");
}

#[test]
fn a_project_and_the_own_directories_keep_apart() {
    let yard = Yard::filled();
    let mut around = yard.surroundings();
    around.own_directories = vec![yard.project.join("not/yet/there")];
    let fault = Project::find(&yard.project, &around).unwrap_err();
    assert!(matches!(fault, ProjectFault::Own { .. }), "{fault}");
    around.own_directories = vec![yard.path("")];
    let fault = Project::find(&yard.project, &around).unwrap_err();
    assert!(matches!(fault, ProjectFault::Own { .. }), "{fault}");
}

#[test]
fn without_git_the_error_says_so() {
    let yard = Yard::filled();
    let mut around = yard.surroundings();
    around.search_path = yard.path("home").into();
    let fault = Project::find(&yard.project, &around).unwrap_err();
    assert!(matches!(fault, ProjectFault::NoGit { .. }), "{fault}");
    assert!(fault.to_string().contains("install git"));
}

#[test]
fn formats_that_are_not_read_are_named_with_a_cure() {
    let yard = Yard::filled();
    yard.git(&["config", "extensions.partialClone", "origin"]);
    yard.git(&["config", "core.repositoryFormatVersion", "1"]);
    let fault = yard.find().unwrap_err().to_string();
    assert!(fault.contains("partial clone") && fault.contains("--refetch"), "{fault}");

    let sha256 = yard.path("sha256");
    fs::create_dir(&sha256).unwrap();
    yard.git_in(&sha256, &["init", "--quiet", "--object-format=sha256", "."]);
    let fault = Project::find(&sha256, &yard.surroundings()).unwrap_err().to_string();
    assert!(fault.contains("SHA-256"), "{fault}");
}

#[test]
fn reftable_and_sparse_projects_work() {
    let yard = Yard::filled();
    let reftable = yard.path("reftable");
    fs::create_dir(&reftable).unwrap();
    yard.git_in(&reftable, &["init", "--quiet", "--ref-format=reftable", "-b", "main", "."]);
    fs::write(reftable.join("a"), "a\n").unwrap();
    yard.git_in(&reftable, &["add", "a"]);
    yard.git_in(&reftable, &["commit", "--quiet", "-m", "a"]);
    let yard = yard.at("reftable");
    let workspace = yard.workspace();
    assert_eq!(workspace.start_commit().unwrap(), yard.git(&["rev-parse", "HEAD"]));

    let yard = Yard::filled();
    yard.git(&["sparse-checkout", "set", "docs"]);
    let workspace = yard.workspace();
    assert_eq!(workspace.notices(), [Notice::SparseCheckout]);
    assert_eq!(workspace.base_tree().to_string(), yard.git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!(workspace.uncommitted(&yard.find().unwrap()).count().unwrap(), 0);
}

#[test]
fn a_repository_of_another_owner_is_trusted_where_git_trusts_it() {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: only root can give a repository away");
        return;
    }
    let yard = Yard::filled();
    for path in [yard.project.clone(), yard.project.join(".git")] {
        std::os::unix::fs::chown(path, Some(1000), Some(1000)).unwrap();
    }
    let fault = yard.find().unwrap_err();
    assert!(matches!(fault, ProjectFault::NotOwned { .. }), "{fault}");
    let path = yard.project.to_str().unwrap();
    yard.git_in(&yard.path("home"), &["config", "--global", "--add", "safe.directory", path]);
    assert!(yard.find().is_ok());
    assert_eq!(rows(&changes(&yard.workspace())), [""; 0]);
}

#[test]
fn linked_worktrees_and_submodules_are_projects() {
    let yard = Yard::filled();
    yard.git(&["worktree", "add", "--quiet", "-b", "side", "../linked"]);
    let linked = yard.at("linked");
    let project = linked.find().unwrap();
    assert_eq!(project.project_git(), ProjectGit::File);
    let workspace = linked.workspace();
    let head = fs::read_to_string(workspace.layout().git_dir.join("HEAD")).unwrap();
    assert_eq!(head, "ref: refs/heads/side\n");
    let objects: Vec<PathBuf> =
        workspace.layout().objects.iter().map(|borrowed| borrowed.host.clone()).collect();
    let common = linked.path("project").canonicalize().unwrap().join(".git/objects");
    assert_eq!(objects, std::slice::from_ref(&common));
    assert_eq!(workspace.notices(), [Notice::ObjectsElsewhere { paths: vec![common] }]);

    let outer = Yard::filled();
    let inner = Yard::filled();
    let inner_path = inner.project.to_str().unwrap();
    outer.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        inner_path,
        "sub",
    ]);
    outer.commit("with a submodule");
    let workspace = outer.workspace();
    assert_eq!(workspace.notices(), [Notice::Submodules { count: 1 }]);
    let sub = outer.at("project/sub");
    assert_eq!(sub.find().unwrap().root(), sub.project.canonicalize().unwrap());
    let workspace = sub.workspace_with(sub.opening("two.work"));
    assert_eq!(workspace.start_commit().unwrap(), inner.git(&["rev-parse", "HEAD"]));
}
