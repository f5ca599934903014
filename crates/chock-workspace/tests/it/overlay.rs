//! A session's files through a real overlay, with a real git inside.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use chock_workspace::{CoverRow, Halves, Kind, Workspace};

use crate::yard::{State, Yard, assert_same, changes, everything, rows, text};

/// Mounts a workspace as a cage does and runs `$SCRIPT` in it.
const PRELUDE: &str = r#"
set -e
mount -t tmpfs tmpfs /run
number=0
for objects in $OBJECTS; do
    mkdir -p /run/chock/objects/$number
    mount -o bind,ro "$objects" /run/chock/objects/$number
    number=$((number + 1))
done
mount -t overlay overlay -o "userxattr,lowerdir=$BASE,upperdir=$UPPER,workdir=$WORK" "$PROJECT"
mount --bind "$GIT_DIR" "$PROJECT/.git"
unset GIT_DIR
cd "$PROJECT"
exec sh -c "set -e; $SCRIPT"
"#;

/// Runs `script` in the mounted workspace. `None` when the machine mounts no overlay.
pub(crate) fn inside(workspace: &Workspace, script: &str) -> Option<Output> {
    if !can_mount() {
        eprintln!("skipped: this machine mounts no overlay in a user namespace");
        return None;
    }
    let layout = workspace.layout();
    let Halves::Overlay { base, upper, work } = &layout.halves else {
        panic!("an overlay is expected");
    };
    let hosts: Vec<_> = layout.objects.iter().map(|one| one.host.to_str().unwrap()).collect();
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", PRELUDE]).env("SCRIPT", script);
    command.env("BASE", base).env("UPPER", upper).env("WORK", work);
    command.env("GIT_DIR", &layout.git_dir).env("PROJECT", &layout.project);
    command.env("OBJECTS", hosts.join(" "));
    command.env("HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stdout));
    Some(output)
}

fn can_mount() -> bool {
    let yard = tempfile::tempdir().unwrap();
    for part in ["lower", "upper", "work", "merged"] {
        fs::create_dir(yard.path().join(part)).unwrap();
    }
    let options = "userxattr,lowerdir=lower,upperdir=upper,workdir=work";
    let mut command = Command::new("unshare");
    command.args(["-Urm", "mount", "-t", "overlay", "overlay", "-o", options, "merged"]);
    command.current_dir(yard.path()).output().is_ok_and(|output| output.status.success())
}

fn git_state(yard: &Yard) -> State {
    everything(&yard.project.join(".git"))
}

#[test]
fn git_works_inside_and_the_project_does_not_change() {
    let yard = Yard::filled();
    yard.git(&["tag", "-a", "-m", "tag", "v1"]);
    let before = git_state(&yard);
    let workspace = yard.workspace();
    let script = r#"
        test -z "$(git status --porcelain)"
        echo changed >> README; echo new > new.txt; echo x > x.log
        git add -A && git commit -q -m inside
        git switch -q -c other && echo more >> README && git stash -q && git stash pop -q
        git checkout -q README && git rebase -q main && git describe && git gc -q && git fsck
        git log --format='%an %ae %s' -1
    "#;
    let Some(output) = inside(&workspace, script) else { return };
    let said = text(output);
    assert!(said.ends_with("Ann Example ann@example.invalid inside"), "{said}");
    assert_eq!(rows(&changes(&workspace)), ["modified README", "added new.txt"]);
    assert_same(&git_state(&yard), &before);
    assert_eq!(yard.git(&["status", "--porcelain"]), "");
}

#[test]
fn git_inside_reads_no_content_for_status() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    // Were content read, a base with other bytes of the same length would show.
    let Halves::Overlay { base, .. } = &workspace.layout().halves else {
        panic!("an overlay is expected");
    };
    let file = base.join("README");
    let time = file.metadata().unwrap().modified().unwrap();
    fs::write(&file, "ONE\ntwo\nthree\n").unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    let script = "git status --porcelain; touch README; git status --porcelain";
    let Some(output) = inside(&workspace, script) else { return };
    assert_eq!(text(output), " M README");
}

#[test]
fn marks_of_the_overlay_are_understood() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    let script = "rm README; rm -r docs; mkdir docs; echo c > docs/c.md; \
                  rm -r src/deep; echo file > src/deep; chmod 644 run.sh; \
                  ln -sf docs link; mv .gitignore kept; mkdir empty; touch empty.txt; mkfifo fifo";
    let Some(_) = inside(&workspace, script) else { return };
    let changes = changes(&workspace);
    assert_eq!(
        rows(&changes),
        [
            "deleted README",
            "deleted docs/a.md",
            "deleted docs/b.md",
            "added docs/c.md",
            "added empty.txt",
            "renamed kept",
            "symlink link",
            "mode run.sh",
            "added src/deep",
            "deleted src/deep/er/leaf.txt",
        ]
    );
    assert_eq!(changes.skipped.len(), 1, "{:?}", changes.skipped);
}

#[test]
fn a_linked_worktree_commits_inside() {
    let yard = Yard::filled();
    yard.git(&["worktree", "add", "--quiet", "-b", "side", "../linked"]);
    let before = git_state(&yard);
    let yard = yard.at("linked");
    let workspace = yard.workspace();
    let script = "echo x > new; git add -A; git commit -q -m x; git switch -q -c b; \
                  git branch --show-current";
    let Some(output) = inside(&workspace, script) else { return };
    assert_eq!(text(output), "b");
    assert_same(&everything(&yard.path("project/.git")), &before);
    assert_eq!(rows(&changes(&workspace)), ["added new"]);
}

#[test]
fn a_repository_without_a_commit_gets_its_first_inside() {
    let yard = Yard::empty();
    let workspace = yard.workspace();
    assert_eq!(workspace.start_commit(), None);
    let script = "echo x > new; git add -A; git commit -q -m x; git log --format=%s";
    let Some(output) = inside(&workspace, script) else { return };
    assert_eq!(text(output), "x");
    assert_eq!(rows(&changes(&workspace)), ["added new"]);
    assert_eq!(yard.git(&["status", "--porcelain"]), "");
}

#[test]
fn nothing_appears_in_an_untouched_session() {
    let yard = Yard::filled();
    let workspace = yard.workspace();
    let script = "true; git status --porcelain --ignored";
    let Some(output) = inside(&workspace, script) else { return };
    assert_eq!(text(output), "");
    assert_eq!(rows(&changes(&workspace)), [""; 0]);
    assert_eq!(yard.git(&["status", "--porcelain", "--ignored"]), "");
}

#[test]
fn covered_files_do_not_break_git_inside() {
    let yard = Yard::filled();
    yard.write("secret.env", "key\n");
    yard.write("chock.zon", ".{}\n");
    yard.commit("with a secret");
    let mut opening = yard.opening("one.work");
    opening.covered = vec![CoverRow::name("secret.env", Kind::File)];
    let workspace = yard.workspace_with(opening);
    assert_eq!(workspace.layout().read_only[0].name, Path::new("chock.zon"));
    let script = r#"
        mount -t tmpfs tmpfs /mnt; touch /mnt/empty; chmod 000 /mnt/empty
        mount --bind /mnt/empty secret.env
        mount --bind chock.zon chock.zon && mount -o remount,bind,ro chock.zon
        echo more >> README; git add -A; git commit -q -a -m x; echo more >> README; git stash -q
        git switch -q -c b; git reset -q --hard HEAD~1; git show HEAD:secret.env
    "#;
    let Some(output) = inside(&workspace, script) else { return };
    assert_eq!(text(output), "key");
    assert_eq!(rows(&changes(&workspace)), [""; 0]);
}
