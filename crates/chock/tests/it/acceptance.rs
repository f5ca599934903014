//! What a project brings along that gives a session more: it counts when a person accepted it.

use std::fs;

use serde_json::json;

use crate::input::scripted;
use crate::yard::{Ran, Yard};

/// Finds the digest in what is said of a project.
fn digest(said: &str) -> String {
    let digest = said.split("--accept-project ").nth(1).expect("a digest");
    digest.split_whitespace().next().expect("a digest").to_owned()
}

/// A project whose agent runs a command.
fn running(command: &str) -> Yard {
    let yard = Yard::new();
    let call = json!({ "name": "run_command", "input": { "command": command } });
    scripted(&yard, &json!({ "turns": [{ "tools": [call] }, { "text": "done" }] }));
    yard
}

#[test]
fn a_limit_that_a_project_raises_counts_when_it_was_accepted() {
    let yard = running("ulimit -n");
    yard.write("chock.zon", ".{ .limits = .{ .open_files = 8000, .time_s = 60 } }");
    let row = |ran: &Ran, name: &str| {
        let row = ran.out.lines().find(|line| line.starts_with(name)).expect("a row").to_owned();
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let config = yard.chock(&["config"]).expect(0);
    assert!(config.err.contains("raises `open_files` from 4096 to 8000"), "{}", config.err);
    assert_eq!(row(&config, "limits.open_files"), "limits.open_files 4096 size of this machine");
    assert!(row(&config, "limits.time_s").starts_with("limits.time_s 60 s chock.zon:1:"));
    yard.chock(&["run", "x"]).expect(0);
    assert!(yard.outcomes()[0]["text"].as_str().expect("words").starts_with("4096\n"));

    let digest = digest(&config.err);
    yard.chock(&["run", "--accept-project", &digest, "x"]).expect(0);
    assert!(yard.outcomes()[0]["text"].as_str().expect("words").starts_with("8000\n"));
    // A word that was given can be taken back.
    yard.chock(&["policy", "revoke", "--accepted"]).expect(0);
    let config = yard.chock(&["config"]).expect(0);
    assert_eq!(row(&config, "limits.open_files"), "limits.open_files 4096 size of this machine");
    yard.chock(&["policy", "revoke", "--accepted"]).expect(1);
    yard.chock(&["run", "--accept-project", &digest, "x"]).expect(0);
    // It is that limit that was accepted, and no higher one.
    yard.write("chock.zon", ".{ .limits = .{ .open_files = 9000, .time_s = 60 } }");
    let config = yard.chock(&["config"]).expect(0);
    assert_eq!(row(&config, "limits.open_files"), "limits.open_files 4096 size of this machine");
}

#[test]
fn objects_of_another_repository_are_had_when_that_was_accepted() {
    // A secret that another repository of the person has committed, and a project that names it.
    let yard = running("git cat-file -p \"$(cat which)\"");
    let private = yard.path("home/private");
    fs::create_dir(&private).expect("a directory");
    fs::write(private.join("secret"), "hunter2\n").expect("a file");
    let place = private.to_str().expect("a path");
    for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "x"]] {
        yard.git(&[&["-C", place], words].concat());
    }
    let blob = yard.git(&["-C", place, "rev-parse", "HEAD:secret"]);
    yard.write("which", &blob);
    yard.commit();
    let alternates = yard.project().join(".git/objects/info/alternates");
    let objects = private.join(".git/objects");
    fs::write(&alternates, format!("{}\n", objects.display())).expect("a file");

    let ran = yard.chock(&["run", "x"]).expect(1);
    assert!(ran.err.contains("so it does not start before you accept that"), "{}", ran.err);
    assert!(ran.err.contains(objects.to_str().expect("a path")), "{}", ran.err);
    assert_eq!(yard.logs().len(), 0);
    yard.chock(&["exec", "--", "true"]).expect(125);
    // What starts nothing works, and says what to accept.
    let config = yard.chock(&["config"]).expect(0).err;
    assert!(config.contains(".git  git objects of \""), "{config}");
    let digest = digest(&config);
    yard.chock(&["run", "--accept-project", &digest, "x"]).expect(0);
    let text = yard.outcomes()[0]["text"].as_str().expect("words").to_owned();
    assert!(text.starts_with("hunter2\n"), "{text}");
    yard.chock(&["run", "x"]).expect(0);

    // Another one is another question.
    fs::write(&alternates, format!("{0}\n{0}/../../../other/.git/objects\n", objects.display()))
        .expect("a file");
    let other = yard.path("home/other");
    fs::create_dir(&other).expect("a directory");
    yard.git(&["-C", other.to_str().expect("a path"), "init", "-q"]);
    yard.chock(&["run", "x"]).expect(1);
}

#[test]
fn a_git_directory_that_names_another_repository_is_asked_about_and_a_worktree_is_not() {
    let yard = running("true");
    let private = yard.path("home/private");
    let place = private.to_str().expect("a path");
    // Control: a worktree that its repository knows.
    yard.git(&["worktree", "add", "-q", place]);
    let mut known = yard.command(&["run", "x"]);
    let ran: Ran = known.current_dir(&private).output().expect("the program").into();
    ran.expect(0);

    // A copy of its `.git` elsewhere, or a git directory that says it shares another's.
    let copy = yard.path("home/copy");
    fs::create_dir(&copy).expect("a directory");
    fs::copy(private.join(".git"), copy.join(".git")).expect("a file");
    let shares = yard.path("home/shares");
    fs::create_dir_all(shares.join(".git")).expect("a directory");
    fs::write(shares.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    let common = yard.project().join(".git");
    fs::write(shares.join(".git/commondir"), common.as_os_str().as_encoded_bytes())
        .expect("a file");
    for strange in [copy, shares] {
        let mut command = yard.command(&["run", "x"]);
        let ran: Ran = command.current_dir(&strange).output().expect("the program").into();
        let ran = ran.expect(1);
        assert!(ran.err.contains("so it does not start before"), "{strange:?}: {}", ran.err);
    }

    // A repository whose working tree is said to be elsewhere is no way to that.
    let [elsewhere, victim] = ["home/elsewhere", "home/victim"].map(|name| yard.path(name));
    fs::create_dir(&elsewhere).expect("a directory");
    fs::create_dir(&victim).expect("a directory");
    let place = elsewhere.to_str().expect("a path");
    yard.git(&["-C", place, "init", "-q"]);
    yard.git(&["-C", place, "config", "core.worktree", victim.to_str().expect("a path")]);
    let mut command = yard.command(&["run", "x"]);
    let ran: Ran = command.current_dir(&elsewhere).output().expect("the program").into();
    let ran = ran.expect(1);
    assert!(ran.err.contains("says that its working tree is"), "{}", ran.err);
}

#[test]
fn a_change_of_the_rules_made_inside_is_carried_by_no_road_but_its_own_accept() {
    let loose = ".{ .policy = .{ .rules = .{ .{ .decision = .allow } } } }";
    let strict =
        ".{ .policy = .{ .rules = .{ .{ .action = \"git.push\", .decision = .deny } } } }\n";
    let calls = |other: &str| {
        [
            json!({ "name": "write_file", "input": { "path": "chock.zon", "content": loose } }),
            json!({ "name": "run_command", "input": { "command": format!("echo '{loose}' > chock.zon") } }),
            json!({ "name": "run_command", "input": { "command": format!("echo '{loose}' > n; mv -f n chock.zon; ln -sf n chock.zon; cp n chock.zon; rm -f chock.zon; git rm -qf chock.zon; true") } }),
            json!({ "name": "run_command", "input": { "command": format!("id=$(echo '{loose}' | git hash-object -w --stdin) && git update-index --add --cacheinfo 100644,$id,chock.zon && git commit -qm rules && git checkout -f HEAD -- chock.zon; git reset -q --hard; git stash; true") } }),
            json!({ "name": "run_command", "input": { "command": format!("mkdir -p sub && echo '{loose}' > sub/chock.zon && echo '{loose}' > {other}; echo work > work.txt") } }),
        ]
    };
    for with_rules in [true, false] {
        let yard = Yard::new();
        if with_rules {
            yard.write("chock.zon", strict);
            yard.commit();
        }
        // Beside a new `chock.zon` another spelling of it would keep both from being carried.
        let calls = calls(if with_rules { "Chock.zon" } else { "/dev/null" });
        scripted(&yard, &json!({ "turns": [{ "tools": calls }, { "text": "done" }] }));
        yard.chock(&["run", "x"]).expect(0);
        let policy = yard.chock(&["policy"]).expect(0).out;
        let ran = yard.chock(&["review", "--all"]).expect(0);
        assert!(ran.out.contains("wrote work.txt"), "{}{}", ran.out, ran.err);
        let rules = fs::read_to_string(yard.project().join("chock.zon")).ok();
        assert_eq!(rules.as_deref(), with_rules.then_some(strict), "{}{}", ran.out, ran.err);
        for name in ["sub/chock.zon", "Chock.zon"] {
            assert!(!yard.project().join(name).exists(), "{name}: {}{}", ran.out, ran.err);
        }
        assert_eq!(yard.chock(&["policy"]).expect(0).out, policy);
        if !with_rules {
            // Its own accept carries it, and what it widens still has to be accepted.
            yard.chock(&["review", "--accept", "chock.zon"]).expect(0);
            assert!(yard.project().join("chock.zon").exists());
            let told = yard.chock(&["policy", "explain", "git.push"]).expect(0);
            assert!(told.out.starts_with("git.push: ask"), "{}", told.out);
        }
    }
}
