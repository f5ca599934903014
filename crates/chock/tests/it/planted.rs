//! What touches a project by itself finds nothing that a session planted, even after a full accept.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::input::scripted;
use crate::yard::Yard;

/// Plants a mark behind everything that a shell, git, direnv and an editor run on touch.
const PLANT: &str = r#"
run() { echo "touch \"\$MARKS/$1\""; }
hook() { printf '#!/bin/sh\n%s\n' "$(run "$2")" > "$1"; chmod +x "$1"; }
run envrc > .envrc
run dotenv > .env
mkdir -p .vscode .husky .idea
printf '{"tasks": [{"command": "%s", "runOptions": {"runOn": "folderOpen"}}]}\n' 'touch $MARKS/editor' > .vscode/tasks.json
hook .husky/pre-commit husky
hook .git/hooks/pre-commit hook 2>/dev/null
git config core.fsmonitor "$PWD/.husky/monitor" 2>/dev/null; hook .husky/monitor monitor
mkdir -p lookalike/objects lookalike/refs
echo 'ref: refs/heads/main' > lookalike/HEAD
printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "%s; false"\n' 'touch $MARKS/lookalike' > lookalike/config
mkdir -p nested && (cd nested && git init -q . 2>/dev/null; git config core.fsmonitor 'touch $MARKS/nested; false')
ln -s .git/hooks hooks
mkdir -p .GIT 2>/dev/null && cp .git/config .GIT/config 2>/dev/null
printf '[submodule "x"]\n\tpath = x\n\turl = ./x\n\tupdate = !touch $MARKS/submodule\n' > .gitmodules
printf '*.txt filter=planted\n' > .gitattributes
echo honest > work.txt
"#;

/// What a person's machine does by itself in a project that they work in.
const TOUCH: &str = r#"
export GIT_CONFIG_COUNT=5
export GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=Ada GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=ada@localhost
export GIT_CONFIG_KEY_2=core.hooksPath GIT_CONFIG_VALUE_2=.husky GIT_CONFIG_KEY_3=safe.directory GIT_CONFIG_VALUE_3='*'
export GIT_CONFIG_KEY_4=filter.planted.clean GIT_CONFIG_VALUE_4='touch $MARKS/filter; cat'
# A prompt, in whichever directory the person is.
for directory in . $(find . -path ./.git -prune -o -type d -print); do
    (cd "$directory" && git status --short; git branch; git log -1 --oneline; git diff --stat)
done
# direnv, told to trust what lies beneath the person's projects.
mkdir -p "$XDG_CONFIG_HOME/direnv"
printf '[whitelist]\nprefix = ["%s"]\n' "$PWD" > "$XDG_CONFIG_HOME/direnv/direnv.toml"
eval "$(direnv export bash)"
# A shell that reads what some tools read, and an editor that runs a folder's tasks.
[ -f .env ] && . ./.env
[ -f .vscode/tasks.json ] && sh -c "$(sed -n 's/.*"command": "\([^"]*\)".*/\1/p' .vscode/tasks.json)"
git submodule update --init
git add -A
git commit -qm 'what came'
git switch -q -c other
true
"#;

/// Touches a project, and names the marks that were left.
fn marks(yard: &Yard, project: &Path) -> Vec<String> {
    let marks = yard.path("marks");
    let _ = fs::remove_dir_all(&marks);
    fs::create_dir(&marks).expect("a directory");
    let mut command = Command::new("bash");
    command.args(["-c", TOUCH]).current_dir(project).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("MARKS", &marks);
    for (name, place) in [("HOME", "touch-home"), ("XDG_CONFIG_HOME", "touch-home/config")] {
        fs::create_dir_all(yard.path(place)).expect("a directory");
        command.env(name, yard.path(place));
    }
    let output = command.env("XDG_DATA_HOME", yard.path("touch-home")).output().expect("bash");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let entries = fs::read_dir(&marks).expect("a directory");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<_> =
        entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn nothing_that_was_planted_runs_after_a_full_accept() {
    let yard = Yard::new();
    yard.commit();
    // The control: the same files in a project are run by what touches it.
    let control = yard.path("control");
    let project = yard.project().into_os_string().into_string().expect("a text");
    yard.git(&["clone", "-q", &project, control.to_str().expect("a text")]);
    let planted = Command::new("bash").args(["-c", PLANT]).current_dir(&control).output();
    assert!(planted.expect("bash").status.success());
    let expected =
        ["dotenv", "editor", "envrc", "filter", "husky", "lookalike", "monitor", "nested"];
    assert_eq!(marks(&yard, &control), expected);

    let call = json!({ "name": "run_command", "input": { "command": PLANT } });
    scripted(&yard, &json!({ "turns": [{ "tools": [call] }, { "text": "done" }] }));
    yard.chock(&["run", "work"]).expect(0);
    let ran = yard.chock(&["review", "--all"]).expect(0);
    assert_eq!(fs::read_to_string(yard.project().join("work.txt")).expect("it"), "honest\n");
    for name in [".envrc", ".env", ".vscode/tasks.json", ".husky/pre-commit", ".gitmodules"] {
        assert!(!yard.project().join(name).exists(), "{name}");
        assert!(ran.err.contains(name), "{name} is left out without a word: {}", ran.err);
    }
    assert_eq!(marks(&yard, &yard.project()), [""; 0], "{}", ran.err);
}
