//! Git: everyday work, submodules, pointer files, and a project that is unchanged by it.

use crate::job::{Job, everybody};

fn a_repository(name: &'static str) -> Job {
    Job::new(name)
        .needs("git")
        .file("a.txt", "alpha\n")
        .file("dir/b.txt", "beta\n")
        .file(".gitignore", "ignored/\n")
}

#[test]
fn git_adds_commits_switches_stashes_rebases_and_merges() {
    let script = "set -e\necho one >> a.txt\ngit add -A\ngit commit -qm one\ngit switch -qc side main~1\n\
                  echo two > dir/c.txt\ngit add .\ngit commit -qm two\ngit rebase -q main\n\
                  echo three >> a.txt\ngit stash -q\ngit switch -q main\ngit merge -q --no-edit side\ngit stash pop -q\n\
                  git commit -qam three\ngit cherry-pick --allow-empty -x HEAD~1 >/dev/null 2>&1 || git cherry-pick --skip\n\
                  git revert --no-edit HEAD >/dev/null\ngit tag -a -m v v1\ngit reset -q --hard v1~1\ngit clean -qfdx\n\
                  git gc -q\ngit fsck --no-progress\ngit worktree add -q ../w 2>/dev/null || git worktree add -q ignored/w\n\
                  git bisect start -q HEAD main~2 >/dev/null || true\ngit bisect reset -q 2>/dev/null || true\n\
                  git status --porcelain\ngit log --oneline | wc -l\necho worked";
    a_repository("git").runs(script, "worked");
}

#[test]
fn git_adds_and_updates_a_submodule() {
    let script = "set -e\ngit init -q -b main ignored/library\n\
                  git -C ignored/library -c user.name=A -c user.email=a@b commit -q --allow-empty -m start\n\
                  git -c protocol.file.allow=always submodule --quiet add \"$PWD/ignored/library\" library\n\
                  git commit -qm library\ngit submodule status\ngit submodule --quiet deinit -f library\n\
                  git -c protocol.file.allow=always submodule --quiet update --init\ntest -e library/.git\n\
                  git submodule --quiet foreach 'git log --oneline'\necho worked";
    a_repository("git submodule").runs(script, "worked");
}

#[test]
fn a_project_keeps_its_submodules_and_may_be_one() {
    for who in everybody() {
        let Some(workshop) = a_repository("submodules of a project").yard(who) else { continue };
        let yard = &workshop.yard;
        let library = yard.path("library");
        std::fs::create_dir(&library).expect("a directory");
        let library = library.to_str().expect("text");
        yard.git(&["init", "-q", "-b", "main", library]);
        yard.git(&["-C", library, "commit", "-q", "--allow-empty", "-m", "start"]);
        let allow = "protocol.file.allow=always";
        yard.git(&["-c", allow, "submodule", "--quiet", "add", library, "library"]);
        yard.git(&["commit", "-q", "-m", "library"]);
        yard.own_everything();
        let before = yard.fingerprint();
        let script = "set -e\ngit status --porcelain\necho x >> a.txt\ngit add -A\ngit commit -qm x\n\
                      git ls-tree HEAD library | grep -q ^160000\ngit submodule status\ngit switch -qc b\n\
                      git stash list\necho worked";
        let inside = workshop.inside(&["exec", "--", "bash", "-c", script]).expect(0);
        assert!(inside.out.contains("worked"), "{}{}", inside.out, inside.err);
        let member = yard.project().join("library");
        let member = member.to_str().expect("text");
        let script = "set -e\necho x > x\ngit add -A\ngit commit -qm x\ngit switch -qc b\necho y >> x\ngit stash -q\n\
                      git stash pop -q\necho worked";
        let words = ["exec", "--project", member, "--", "bash", "-c", script];
        let inside = workshop.inside(&words).expect(0);
        assert!(inside.out.contains("worked"), "{}{}", inside.out, inside.err);
        assert_eq!(yard.fingerprint(), before);
    }
}

#[test]
fn rules_and_denied_files_that_git_tracks_break_no_git_command() {
    let script = "set -e\necho one >> a.txt\ngit add -A\ngit commit -qam one\ngit switch -qc side\n\
                  echo two >> a.txt\ngit stash -q\ngit stash pop -q\ngit commit -qam two\ngit switch -q main\n\
                  git merge -q --no-edit side\ngit reset -q --hard HEAD~1\ngit rebase -q side\n\
                  git checkout -q other\ngit switch -q main\ngit cherry-pick other >/dev/null\n\
                  git status --porcelain\ntest -z \"$(git status --porcelain)\"\ntest ! -r secret.env\n\
                  git show --stat --oneline HEAD~1 >/dev/null\necho worked";
    let job = a_repository("git with rules")
        .file("chock.zon", ".{ .deny_read = .{ \"secret.env\" } }\n")
        .file("secret.env", "KEY=hunter2\n");
    for who in everybody() {
        let Some(workshop) = job.yard(who) else { continue };
        let yard = &workshop.yard;
        yard.git(&["switch", "-q", "-c", "other"]);
        yard.write("chock.zon", ".{ .deny_read = .{ \"secret.env\", \"more.env\" } }\n");
        yard.write("other.txt", "x\n");
        yard.git(&["add", "-A"]);
        yard.git(&["commit", "-q", "-m", "other"]);
        yard.git(&["switch", "-q", "main"]);
        yard.own_everything();
        let inside = workshop.inside(&["exec", "--", "bash", "-c", script]);
        assert!(
            inside.code == Some(0) && inside.out.contains("worked"),
            "{}{}",
            inside.out,
            inside.err
        );
    }
}

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
                       oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

#[test]
fn pointer_files_stay_pointers_and_break_nothing() {
    let job = a_repository("git lfs")
        .file(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
        .file("big.bin", POINTER);
    let script = "set -e\ngrep -q ^oid big.bin\ngit status --porcelain\ncp big.bin other.bin\ngit add -A\ngit commit -qm other\n\
                  git switch -qc b main~0\nrm big.bin\ngit checkout -q -- big.bin\ngrep -q ^oid big.bin\necho worked";
    job.runs(script, "worked");
    for who in everybody() {
        let Some(workshop) = job.yard(who) else { continue };
        // A filter of the project's own configuration is a program of a stranger's: it is not run.
        for (name, value) in [("filter.lfs.clean", "false"), ("filter.lfs.smudge", "false")] {
            workshop.yard.git(&["config", name, value]);
        }
        workshop.yard.git(&["config", "filter.lfs.required", "true"]);
        let inside = workshop.inside(&["exec", "--", "bash", "-c", script]).expect(0);
        assert!(inside.out.contains("worked"), "{}{}", inside.out, inside.err);
        assert!(inside.err.contains("pointer"), "the start says so: {}", inside.err);
    }
}
