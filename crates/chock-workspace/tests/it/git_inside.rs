//! The session's own git directory, as it is made.

use std::fs;

use crate::yard::Yard;

#[test]
fn refs_remotes_and_patterns_come_along_and_secrets_do_not() {
    let yard = Yard::filled();
    yard.git(&["branch", "topic"]);
    yard.git(&["remote", "add", "origin", "https://ann:token@host.invalid/a.git"]);
    yard.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    yard.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    yard.git(&["config", "branch.main.remote", "origin"]);
    yard.git(&["config", "http.extraHeader", "Authorization: secret"]);
    yard.git(&["config", "alias.x", "!echo"]);
    yard.write("README", "stashed\n");
    yard.git(&["stash", "--quiet"]);
    yard.git(&["update-ref", "refs/replace/0123456789012345678901234567890123456789", "HEAD"]);
    yard.write(".git/info/exclude", "*.swp\n");
    let workspace = yard.workspace();
    let git_dir = &workspace.layout().git_dir;
    let read = |name: &str| fs::read_to_string(git_dir.join(name)).unwrap();
    assert_eq!(read("HEAD"), "ref: refs/heads/main\n");
    let packed = read("packed-refs");
    assert!(packed.contains(" refs/heads/topic\n"), "{packed}");
    assert!(!packed.contains("stash") && !packed.contains("replace"), "{packed}");
    assert_eq!(read("refs/remotes/origin/HEAD"), "ref: refs/remotes/origin/main\n");
    assert_eq!(read("info/exclude"), "*.swp\n.chock-rename-*-*/\n");
    let config = read("config");
    assert!(config.contains("url = \"https://host.invalid/a.git\""), "{config}");
    assert!(config.contains("checkStat = \"minimal\""), "{config}");
    for word in ["token", "secret", "alias", "Authorization"] {
        assert!(!config.contains(word), "{config}");
    }
    assert_eq!(read("objects/info/alternates"), "/run/chock/objects/0\n");
}

#[test]
fn a_detached_head_stays_detached() {
    let yard = Yard::filled();
    yard.git(&["checkout", "--quiet", "--detach"]);
    let workspace = yard.workspace();
    let head = fs::read_to_string(workspace.layout().git_dir.join("HEAD")).unwrap();
    assert_eq!(head.trim_end(), yard.git(&["rev-parse", "HEAD"]));
    assert_eq!(workspace.start_commit(), Some(head.trim_end()));
}

#[test]
fn borrowed_objects_of_borrowed_objects_are_listed_and_covered() {
    let yard = Yard::filled();
    yard.git(&["clone", "--quiet", "--shared", ".", "../clone"]);
    yard.git_in(&yard.path("clone"), &["clone", "--quiet", "--shared", ".", "../third"]);
    let first = yard.project.canonicalize().unwrap();
    let yard = yard.at("third");
    let workspace = yard.workspace();
    let hosts: Vec<_> = workspace.layout().objects.iter().map(|one| one.host.clone()).collect();
    assert_eq!(hosts[0], yard.project.canonicalize().unwrap().join(".git/objects"));
    assert!(hosts.contains(&first.join(".git/objects")), "{hosts:?}");
    let hidden = &workspace.layout().hidden;
    assert_eq!(hidden[0].to_str(), Some("/run/chock/objects/0/info/alternates"));
}
