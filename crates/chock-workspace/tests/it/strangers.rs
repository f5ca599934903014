//! Git directories that a stranger made: they name what is not theirs, and get none of it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use chock_workspace::{Halves, Opening, Start, Workspace, WorkspaceFault};

use crate::yard::{Yard, assert_same, everything};

/// A project, and a secret in the person's home.
fn yard() -> Yard {
    let yard = Yard::filled();
    fs::create_dir(yard.path("home/keys")).unwrap();
    fs::write(yard.path("home/keys/id"), "secret\n").unwrap();
    yard
}

fn refused(yard: &Yard, opening: &Opening) -> WorkspaceFault {
    Workspace::create(&yard.find().unwrap(), opening).unwrap_err()
}

#[test]
fn a_directory_without_objects_is_not_borrowed() {
    let yard = yard();
    let alternates = yard.project.join(".git/objects/info/alternates");
    for named in ["home/keys", "home", "project", "state"] {
        fs::write(&alternates, yard.path(named).to_str().unwrap()).unwrap();
        let fault = refused(&yard, &yard.opening("one.work"));
        assert!(matches!(fault, WorkspaceFault::NoObjects { .. }), "{named}: {fault}");
    }
    // With a name of git's among others it is still none.
    fs::create_dir(yard.path("home/keys/pack")).unwrap();
    fs::write(&alternates, yard.path("home/keys").to_str().unwrap()).unwrap();
    let fault = refused(&yard, &yard.opening("one.work")).to_string();
    assert!(fault.contains("\"id\" in it"), "{fault}");
}

#[test]
fn objects_that_are_a_link_to_something_else_are_refused() {
    let yard = yard();
    yard.git(&["symbolic-ref", "HEAD", "refs/heads/unborn"]);
    yard.git(&["update-ref", "-d", "refs/heads/main"]);
    fs::remove_dir_all(yard.project.join(".git/objects")).unwrap();
    symlink(yard.path("home/keys"), yard.project.join(".git/objects")).unwrap();
    let fault = refused(&yard, &yard.opening("one.work"));
    assert!(matches!(fault, WorkspaceFault::NoObjects { .. }), "{fault}");
}

#[test]
fn lists_that_are_links_out_of_the_git_directory_are_not_read() {
    for name in ["info/exclude", "shallow", "objects/info/alternates"] {
        let yard = yard();
        let list = yard.project.join(".git").join(name);
        let _ = fs::remove_file(&list);
        symlink(yard.path("home/keys/id"), &list).unwrap();
        let fault = refused(&yard, &yard.opening("one.work"));
        let WorkspaceFault::Files { path, source, .. } = fault else { panic!("{name}: {fault}") };
        assert!(path.ends_with(name), "{path:?}");
        assert!(source.to_string().contains("a link that leads elsewhere"), "{source}");
    }
}

#[test]
fn no_project_writes_the_base_of_another() {
    let yard = yard();
    let blob = yard.git(&["rev-parse", "HEAD:README"]);
    let object = yard.project.join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    let kept = fs::read(&object).unwrap();
    // Another file's object under the name of this one.
    let other = yard.git(&["rev-parse", "HEAD:docs/a.md"]);
    let other = yard.project.join(".git/objects").join(&other[..2]).join(&other[2..]);
    fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).unwrap();
    fs::copy(other, &object).unwrap();
    let fault = refused(&yard, &yard.opening("one.work"));
    assert!(matches!(fault, WorkspaceFault::Objects { .. }), "{fault}");
    fs::write(&object, kept).unwrap();
    let workspace = yard.workspace_with(yard.opening("two.work"));
    let Halves::Overlay { base, .. } = &workspace.layout().halves else { panic!("an overlay") };
    assert_eq!(fs::read_to_string(base.join("README")).unwrap(), "one\ntwo\nthree\n");
}

/// An index of one link, named as no git would name it.
fn index(id: &str, name: &[u8]) -> Vec<u8> {
    let mut bytes = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
    let start = bytes.len();
    bytes.extend([0; 24]);
    bytes.extend(0o120_000_u32.to_be_bytes());
    bytes.extend([0; 12]);
    let digits = (0..20).map(|at| u8::from_str_radix(&id[at * 2..at * 2 + 2], 16).unwrap());
    bytes.extend(digits);
    bytes.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
    bytes.extend(name);
    bytes.resize(bytes.len() + 8 - (bytes.len() - start) % 8, 0);
    // No checksum: git takes zeros for one that was left out.
    bytes.extend([0; 20]);
    bytes
}

#[test]
fn no_name_in_an_index_leads_out_of_the_session() {
    // On the side of the project `d` is a link into the depth, so that the path stays inside; on
    // the side of the session it is a directory, and the path leads to the person's home.
    let yard = yard();
    fs::create_dir_all(yard.project.join("deep/1/2/3/4/5")).unwrap();
    symlink("deep/1/2/3/4/5", yard.project.join("d")).unwrap();
    fs::create_dir(yard.project.join("deep/home")).unwrap();
    symlink("evil", yard.project.join("deep/home/.profile")).unwrap();
    fs::write(yard.path("home/.profile"), "mine\n").unwrap();
    let name = "d/../../../../../home/.profile";
    assert!(yard.project.join(name).is_symlink());
    let blob = yard.git(&["rev-parse", "HEAD:README"]);
    let before = everything(&yard.path("home"));
    for name in [name, "../home/.profile", "/tmp/x", "src/.git/hooks/post-checkout"] {
        fs::write(yard.project.join(".git/index"), index(&blob, name.as_bytes())).unwrap();
        let listed = yard.git(&["status", "--porcelain", "-uno"]);
        assert!(listed.contains(name), "git itself lists it: {listed}");
        let opening = Opening { start: Start::Uncommitted, ..yard.opening("one.work") };
        let fault = refused(&yard, &opening).to_string();
        assert!(fault.contains("cannot be a file of a project"), "{name}: {fault}");
        assert_same(&everything(&yard.path("home")), &before);
    }
}
