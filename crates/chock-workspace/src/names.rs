//! Names that mean something to a file system, to git, or to what touches a project.

use icu_normalizer::DecomposingNormalizerBorrowed;

use crate::Flag;

/// How the directory begins in which a hand-back keeps files for a moment.
pub(crate) const STAGE_PREFIX: &str = ".chock-handback-";

/// Directories, and what their content is for.
const DIRECTORIES: [(&str, Flag); 24] = [
    (".vscode", Flag::Editor),
    (".idea", Flag::Editor),
    (".fleet", Flag::Editor),
    (".zed", Flag::Editor),
    (".vs", Flag::Editor),
    (".vim", Flag::Editor),
    (".nvim", Flag::Editor),
    (".helix", Flag::Editor),
    (".devcontainer", Flag::Editor),
    (".claude", Flag::Instructions),
    (".cursor", Flag::Instructions),
    (".codex", Flag::Instructions),
    (".gemini", Flag::Instructions),
    (".windsurf", Flag::Instructions),
    (".continue", Flag::Instructions),
    (".opencode", Flag::Instructions),
    (".clinerules", Flag::Instructions),
    (".agents", Flag::Instructions),
    (".chock", Flag::Rules),
    (".direnv", Flag::Environment),
    (".mise", Flag::Environment),
    (".husky", Flag::Hooks),
    (".githooks", Flag::Hooks),
    (".git-hooks", Flag::Hooks),
];

/// Files, and what they are for.
const FILES: [(&str, Flag); 42] = [
    ("chock.zon", Flag::Rules),
    ("agents.md", Flag::Instructions),
    ("agents.override.md", Flag::Instructions),
    ("agent.md", Flag::Instructions),
    ("claude.md", Flag::Instructions),
    ("claude.local.md", Flag::Instructions),
    ("gemini.md", Flag::Instructions),
    (".cursorrules", Flag::Instructions),
    (".windsurfrules", Flag::Instructions),
    (".clinerules", Flag::Instructions),
    (".goosehints", Flag::Instructions),
    ("copilot-instructions.md", Flag::Instructions),
    (".aider.conf.yml", Flag::Instructions),
    (".envrc", Flag::Environment),
    (".env", Flag::Environment),
    (".autoenv.zsh", Flag::Environment),
    ("mise.toml", Flag::Environment),
    (".mise.toml", Flag::Environment),
    ("mise.local.toml", Flag::Environment),
    (".mise.local.toml", Flag::Environment),
    (".tool-versions", Flag::Environment),
    (".exrc", Flag::Editor),
    (".nvimrc", Flag::Editor),
    (".nvim.lua", Flag::Editor),
    (".vimrc", Flag::Editor),
    (".gvimrc", Flag::Editor),
    (".lvimrc", Flag::Editor),
    (".local.vimrc", Flag::Editor),
    (".dir-locals.el", Flag::Editor),
    (".dir-locals-2.el", Flag::Editor),
    (".mcp.json", Flag::Tools),
    ("mcp.json", Flag::Tools),
    ("opencode.json", Flag::Tools),
    ("opencode.jsonc", Flag::Tools),
    (".gitmodules", Flag::GitSettings),
    (".lfsconfig", Flag::GitSettings),
    (".gitconfig", Flag::GitSettings),
    (".pre-commit-config.yaml", Flag::Hooks),
    ("lefthook.yml", Flag::Hooks),
    (".lefthook.yml", Flag::Hooks),
    (".huskyrc", Flag::Hooks),
    (".overcommit.yml", Flag::Hooks),
];

/// Endings of files, and what they are for.
const ENDINGS: [(&str, Flag); 2] =
    [(".code-workspace", Flag::Editor), (".sublime-project", Flag::Editor)];

/// The short names that NTFS gives to files of git's.
const SHORT_NAMES: [(&str, Flag); 2] =
    [("gitmod~", Flag::GitSettings), ("lfscon~", Flag::GitSettings)];

/// What the names of `path` say by themselves.
pub(crate) fn flags(path: &[u8]) -> Vec<Flag> {
    let mut flags = Vec::new();
    let components: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    for (number, component) in components.iter().enumerate() {
        let is_last = number + 1 == components.len();
        if is_odd(component, number == 0) {
            flags.push(Flag::OddName);
        }
        if is_git(component) {
            flags.push(Flag::GitName);
        }
        let name = plain(component);
        let meant = |rows: &[(&str, Flag)]| {
            rows.iter().filter(|row| row.0 == name).map(|row| row.1).collect::<Vec<_>>()
        };
        flags.extend(meant(&DIRECTORIES));
        if is_last {
            flags.extend(meant(&FILES));
            flags.extend(ENDINGS.iter().filter(|row| name.ends_with(row.0)).map(|row| row.1));
            flags.extend(SHORT_NAMES.iter().filter(|row| is_short(&name, row.0)).map(|row| row.1));
        }
    }
    flags
}

/// Whether some file system takes `component` for `.git`.
pub(crate) fn is_git(component: &[u8]) -> bool {
    // What is a name here is a path on Windows.
    component.split(|byte| *byte == b'\\').any(|part| {
        let name = plain(part);
        name == ".git" || is_short(&name, "git~")
    })
}

/// Whether `path` is a `.gitattributes`, to some file system.
pub(crate) fn is_attributes(path: &[u8]) -> bool {
    let name = plain(path.rsplit(|byte| *byte == b'/').next().unwrap_or_default());
    name == ".gitattributes" || is_short(&name, "gitatt~")
}

/// Whether attributes name a program that git then runs.
pub(crate) fn names_program(attributes: &[u8]) -> bool {
    let rows = attributes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_start);
    let rows = rows.filter(|row| !row.starts_with(b"#"));
    let words = rows.flat_map(|row| row.split(u8::is_ascii_whitespace).skip(1));
    let mut words = words;
    words.any(|word| {
        [&b"filter"[..], b"diff=", b"merge=", b"[attr]"].iter().any(|name| word.starts_with(name))
    })
}

/// Names that are equal here are one name to some file system.
///
/// Letters are folded and taken apart, and what HFS+ ignores is dropped.
pub(crate) fn folded(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let kept: String = text.chars().filter(|letter| !is_ignored(*letter)).collect();
    // Both ways, since some letters have a partner in one direction only.
    let folded = kept.to_uppercase().to_lowercase();
    DecomposingNormalizerBorrowed::new_nfd().normalize(&folded).into_owned()
}

/// A folded name without what NTFS drops: a stream, and dots and spaces at the end.
fn plain(component: &[u8]) -> String {
    let component = component.split(|byte| *byte == b':').next().unwrap_or_default();
    let folded = folded(component);
    folded.trim_end_matches(['.', ' ']).to_owned()
}

/// Whether `name` is `stem` and a number, as NTFS writes short names.
fn is_short(name: &str, stem: &str) -> bool {
    let number = name.strip_prefix(stem);
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn is_odd(component: &[u8], is_first: bool) -> bool {
    matches!(component, b"" | b"." | b"..")
        || component.contains(&0)
        || (is_first && component.starts_with(STAGE_PREFIX.as_bytes()))
}

/// What HFS+ takes for nothing, as git's own list has it.
fn is_ignored(letter: char) -> bool {
    matches!(
        letter,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
    )
}

/// Whether a link at `path` points outside of the tree or into a `.git`, judged by its words.
///
/// A `..` behind a name is taken to lead out: the name may be a link itself.
pub(crate) fn leaves_tree(path: &[u8], target: &[u8]) -> bool {
    if target.starts_with(b"/") || target.is_empty() {
        return true;
    }
    let mut depth = path.iter().filter(|byte| **byte == b'/').count();
    let mut is_below = false;
    for name in target.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." if depth == 0 || is_below => return true,
            b".." => depth -= 1,
            name if is_git(name) => return true,
            _ => is_below = true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_judged_by_their_words() {
        let cases = [
            ("a", "b", false),
            ("a", "/etc/passwd", true),
            ("a", "../b", true),
            ("a", "", true),
            ("d/a", "../b", false),
            ("d/a", "../../b", true),
            ("d/e/a", "../../b", false),
            ("d/a", "x/../../b", true),
            ("d/a", "x/../b", true),
            ("d/a", ".//./../..", true),
            ("d/a", "../.git/config", true),
            ("a", ".GIT/hooks", true),
            ("a", "b/git~1/hooks", true),
        ];
        for (path, target, expected) in cases {
            let found = leaves_tree(path.as_bytes(), target.as_bytes());
            assert_eq!(found, expected, "{path} {target}");
        }
    }

    /// Every row is a name, and the one flag that it gets; none for an ordinary name.
    #[test]
    fn names_are_flagged_or_refused_by_the_table() {
        use Flag::{
            Editor, Environment, GitName, GitSettings, Hooks, Instructions, OddName, Rules, Tools,
        };
        let rows: [(&str, Option<Flag>); 94] = [
            (".git", Some(GitName)),
            (".git/config", Some(GitName)),
            ("a/.git/hooks/pre-commit", Some(GitName)),
            (".GIT/config", Some(GitName)),
            (".Git", Some(GitName)),
            ("sub/.gIt", Some(GitName)),
            ("git~1", Some(GitName)),
            ("GIT~1/config", Some(GitName)),
            ("git~2", Some(GitName)),
            ("git~17", Some(GitName)),
            (".git.", Some(GitName)),
            (".git ", Some(GitName)),
            (".git . . ", Some(GitName)),
            (".git::$INDEX_ALLOCATION", Some(GitName)),
            (".git::$INDEX_ALLOCATION/config", Some(GitName)),
            (".git:x", Some(GitName)),
            ("git~1:x", Some(GitName)),
            ("a\\.git", Some(GitName)),
            (".git\\config", Some(GitName)),
            ("..\\.git\\config", Some(GitName)),
            (".g\u{200c}it", Some(GitName)),
            ("\u{feff}.git", Some(GitName)),
            (".git\u{200d}", Some(GitName)),
            (".\u{202e}git/x", Some(GitName)),
            (".gi\u{206f}t", Some(GitName)),
            (".g\u{131}t", Some(GitName)),
            ("../x", Some(OddName)),
            ("a/../x", Some(OddName)),
            ("./x", Some(OddName)),
            ("a//x", Some(OddName)),
            ("/x", Some(OddName)),
            ("a/", Some(OddName)),
            (".chock-handback-1/x", Some(OddName)),
            ("chock.zon", Some(Rules)),
            ("Chock.ZON", Some(Rules)),
            ("sub/chock.zon", Some(Rules)),
            ("chock.zon.", Some(Rules)),
            ("chock.zon:stream", Some(Rules)),
            (".chock/x", Some(Rules)),
            ("AGENTS.md", Some(Instructions)),
            ("agents.md", Some(Instructions)),
            ("a/b/AGENTS.md", Some(Instructions)),
            ("AGENTS.override.md", Some(Instructions)),
            ("CLAUDE.md", Some(Instructions)),
            ("claude.local.md", Some(Instructions)),
            ("GEMINI.md", Some(Instructions)),
            (".cursorrules", Some(Instructions)),
            (".cursor/rules/x.mdc", Some(Instructions)),
            (".claude/settings.json", Some(Instructions)),
            (".codex/config.toml", Some(Instructions)),
            (".windsurfrules", Some(Instructions)),
            (".github/copilot-instructions.md", Some(Instructions)),
            (".aider.conf.yml", Some(Instructions)),
            (".envrc", Some(Environment)),
            ("sub/.envrc", Some(Environment)),
            (".ENVRC", Some(Environment)),
            (".env", Some(Environment)),
            (".direnv/x", Some(Environment)),
            ("mise.toml", Some(Environment)),
            (".mise.toml", Some(Environment)),
            (".tool-versions", Some(Environment)),
            (".vscode/tasks.json", Some(Editor)),
            (".VSCode/settings.json", Some(Editor)),
            (".vscode", Some(Editor)),
            (".idea/workspace.xml", Some(Editor)),
            (".zed/tasks.json", Some(Editor)),
            (".devcontainer/devcontainer.json", Some(Editor)),
            (".exrc", Some(Editor)),
            (".nvim.lua", Some(Editor)),
            (".dir-locals.el", Some(Editor)),
            ("x.code-workspace", Some(Editor)),
            ("x.sublime-project", Some(Editor)),
            (".mcp.json", Some(Tools)),
            (".MCP.json", Some(Tools)),
            ("opencode.json", Some(Tools)),
            (".gitmodules", Some(GitSettings)),
            (".gitmodules ", Some(GitSettings)),
            ("GITMOD~1", Some(GitSettings)),
            (".git\u{200c}modules", Some(GitSettings)),
            (".lfsconfig", Some(GitSettings)),
            (".husky/pre-commit", Some(Hooks)),
            (".githooks/post-checkout", Some(Hooks)),
            (".pre-commit-config.yaml", Some(Hooks)),
            ("lefthook.yml", Some(Hooks)),
            ("src/main.rs", None),
            (".gitignore", None),
            (".github/workflows/ci.yml", None),
            ("git", None),
            ("git~", None),
            ("digit~1", None),
            ("a.git", None),
            ("my.git/x", None),
            ("agents.md.txt", None),
            ("vscode/x", None),
        ];
        for (path, expected) in rows {
            let found = flags(path.as_bytes());
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{path:?}");
        }
        assert_eq!(flags(b".git\xff"), [], "another name");
        assert_eq!(flags(b"a\0b"), [OddName]);
    }

    #[test]
    fn names_that_fold_together_are_one() {
        let same = [
            ("README", "readme"),
            ("\u{e4}", "a\u{308}"),
            ("\u{c4}", "a\u{308}"),
            ("stra\u{df}e", "STRASSE"),
            ("a\u{200d}b", "ab"),
            ("\u{212a}", "k"),
        ];
        for (one, two) in same {
            assert_eq!(folded(one.as_bytes()), folded(two.as_bytes()), "{one} {two}");
        }
        assert_ne!(folded(b"a"), folded(b"b"));
    }

    #[test]
    fn attributes_that_name_a_program_are_told_from_others() {
        let cases = [
            ("*.bin filter=lfs diff=lfs merge=lfs -text\n", true),
            ("*.c diff=cpp\n", true),
            ("[attr]x filter=y\n", true),
            ("*.png merge=ours", true),
            ("# *.bin filter=lfs\n", false),
            ("*.txt text eol=lf\n", false),
            ("filter=x text\n", false),
            ("", false),
        ];
        for (text, expected) in cases {
            assert_eq!(names_program(text.as_bytes()), expected, "{text}");
        }
    }
}
