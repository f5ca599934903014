//! Git: each of its subcommands has a name of its own.

use chock_log::Action;

use super::name::{Namer, Stage};
use super::script::Word;

/// Git's own subcommands, and those of programs that are usually installed beside it. No alias
/// can hide one of git's own.
const KNOWN: [&str; 133] = [
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "backfill",
    "bisect",
    "blame",
    "branch",
    "bugreport",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "checkout",
    "checkout-index",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "column",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "credential",
    "credential-cache",
    "credential-store",
    "daemon",
    "describe",
    "diagnose",
    "diff",
    "diff-files",
    "diff-index",
    "diff-pairs",
    "diff-tree",
    "difftool",
    "fast-export",
    "fast-import",
    "fetch",
    "fetch-pack",
    "filter-branch",
    "fmt-merge-msg",
    "for-each-ref",
    "for-each-repo",
    "format-patch",
    "fsck",
    "fsck-objects",
    "fsmonitor--daemon",
    "gc",
    "get-tar-commit-id",
    "grep",
    "gui",
    "hash-object",
    "help",
    "hook",
    "http-fetch",
    "http-push",
    "imap-send",
    "index-pack",
    "init",
    "init-db",
    "instaweb",
    "interpret-trailers",
    "lfs",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "mailsplit",
    "maintenance",
    "merge",
    "merge-base",
    "merge-file",
    "merge-index",
    "merge-tree",
    "mergetool",
    "mktag",
    "mktree",
    "multi-pack-index",
    "mv",
    "name-rev",
    "notes",
    "p4",
    "pack-objects",
    "pack-redundant",
    "pack-refs",
    "patch-id",
    "prune",
    "prune-packed",
    "pull",
    "push",
    "quiltimport",
    "range-diff",
    "read-tree",
    "rebase",
    "receive-pack",
    "reflog",
    "refs",
    "remote",
    "repack",
    "replace",
    "replay",
    "request-pull",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "send-email",
    "send-pack",
    "shortlog",
    "show",
    "show-branch",
    "show-index",
    "show-ref",
    "sparse-checkout",
    "stage",
    "stash",
    "status",
    "stripspace",
    "submodule",
    "subtree",
    "svn",
    "switch",
    "symbolic-ref",
    "tag",
];

/// More of them.
const KNOWN_TOO: [&str; 18] = [
    "unpack-file",
    "unpack-objects",
    "update-index",
    "update-ref",
    "update-server-info",
    "upload-archive",
    "upload-pack",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "web--browse",
    "whatchanged",
    "worktree",
    "write-tree",
    "citool",
    "gitk",
];

/// Options before the subcommand that take nothing.
const FLAGS: [&str; 13] = [
    "-p",
    "-P",
    "--paginate",
    "--no-pager",
    "--bare",
    "--no-replace-objects",
    "--no-optional-locks",
    "--literal-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
    "--no-lazy-fetch",
    "--no-advice",
];

/// Options before the subcommand that take a value.
const VALUES: [&str; 4] = ["-C", "--git-dir", "--work-tree", "--namespace"];

/// Settings that make git start nothing; a section ends with a dot. Others may name a program.
const HARMLESS: [&str; 45] = [
    "advice.",
    "author.",
    "checkout.",
    "clean.",
    "color.",
    "column.",
    "commit.",
    "committer.",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.longpaths",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.quotepath",
    "core.safecrlf",
    "core.sharedrepository",
    "core.symlinks",
    "core.untrackedcache",
    "core.whitespace",
    "core.commitgraph",
    "diff.algorithm",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renamelimit",
    "diff.renames",
    "diff.colormoved",
    "fetch.",
    "format.",
    "gc.",
    "index.",
    "init.",
    "log.",
    "maintenance.",
    "merge.conflictstyle",
    "merge.ff",
    "pull.",
    "push.",
    "rebase.",
    "safe.",
];

/// More of them.
const HARMLESS_TOO: [&str; 9] = [
    "status.",
    "tag.gpgsign",
    "user.",
    "protocol.",
    "feature.",
    "http.",
    "rerere.",
    "merge.renames",
    "submodule.recurse",
];

/// Names what git does with these words.
pub(crate) fn named(namer: &mut Namer<'_>, words: &[Word], stage: &Stage<'_>) {
    let mut at = 0;
    let mut settings_are_clear = true;
    let subcommand = loop {
        let Some(word) = words.get(at) else { break Some("help".to_owned()) };
        at += 1;
        let Some(text) = word.text() else { break open_option(word) };
        match text.as_str() {
            "--version" | "-v" => break Some("version".to_owned()),
            "--help" | "-h" | "--html-path" | "--man-path" | "--info-path" | "--exec-path" => {
                break Some("help".to_owned());
            }
            "-c" => {
                settings_are_clear &= words.get(at).is_some_and(is_harmless);
                at += 1;
            }
            text if FLAGS.contains(&text) => {}
            text if VALUES.contains(&text) => {
                if !words.get(at).is_some_and(Word::is_one) {
                    break None;
                }
                at += 1;
            }
            text if text.starts_with('-') => match text.split_once('=') {
                Some((name, _)) if VALUES.contains(&name) && name.starts_with("--") => {}
                Some(_) | None => break None,
            },
            _ => break Some(text),
        }
    };
    if !settings_are_clear {
        namer.unparsed();
    }
    // `--git-dir="$x"` is the only option that may be known in part.
    match subcommand.as_deref() {
        Some("") => named(namer, &words[at..], stage),
        Some(name) if KNOWN.contains(&name) || KNOWN_TOO.contains(&name) => {
            subcommands(namer, name, &words[at.min(words.len())..], stage);
        }
        // An alias, or a program: nobody knows which.
        Some(_) | None => {
            namer.act(Action::from_static("git.unknown"));
            namer.unparsed();
        }
    }
}

/// Reads an option whose value is not known: an empty name when it may be passed by.
fn open_option(word: &Word) -> Option<String> {
    let known = ["--git-dir=", "--work-tree=", "--namespace="];
    let passes = word.is_one() && known.iter().any(|name| word.beginning().starts_with(name));
    passes.then(String::new)
}

/// Whether a setting given with `-c` starts nothing.
fn is_harmless(word: &Word) -> bool {
    let Some((key, value)) = word.beginning().split_once('=') else {
        return word.text().is_some_and(|key| listed(&key));
    };
    let shows = key.eq_ignore_ascii_case("core.pager") || key.eq_ignore_ascii_case("core.editor");
    let quiet = word.text().is_some() && matches!(value, "" | "cat" | "true" | ":" | "less");
    let hooks = key.eq_ignore_ascii_case("core.hookspath") && value == "/dev/null";
    let watched =
        key.eq_ignore_ascii_case("core.fsmonitor") && matches!(value, "false" | "true" | "");
    word.is_one() && (listed(key) || (shows && quiet) || hooks || watched)
}

fn listed(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    HARMLESS.iter().chain(&HARMLESS_TOO).any(|known| match known.ends_with('.') {
        true => key.starts_with(known),
        false => key == *known,
    })
}

fn subcommands(namer: &mut Namer<'_>, name: &str, rest: &[Word], stage: &Stage<'_>) {
    let texts: Vec<_> = rest.iter().map(Word::text).collect();
    let has = |option: &dyn Fn(&str) -> bool| texts.iter().flatten().any(|text| option(text));
    if name == "branch" {
        let deletes = |text: &str| {
            let short =
                text.starts_with('-') && !text.starts_with("--") && text.contains(['d', 'D']);
            short || (text.len() > 4 && "--delete".starts_with(text))
        };
        let open = rest
            .iter()
            .any(|word| !word.is_one() || (word.text().is_none() && word.beginning().is_empty()));
        if has(&deletes) || open {
            namer.act(Action::from_static("git.branch.delete"));
        }
        if has(&deletes) && !open {
            return;
        }
    }
    namer.act(Action::below("git", &[name]));
    match name {
        "bisect" if texts.first().is_some_and(|text| text.as_deref() == Some("run")) => {
            namer.command_of_its_own(&rest[1..], stage);
        }
        "bisect" if texts.first().is_some_and(Option::is_none) => namer.unparsed(),
        "submodule" => {
            let each = texts.iter().position(|text| text.as_deref() == Some("foreach"));
            if let Some(at) = each {
                let options = rest[at + 1..].iter();
                let skipped = options.take_while(|word| word.beginning().starts_with('-')).count();
                let line = super::launch::join(&rest[at + 1 + skipped..]);
                namer.elsewhere(&line, &stage.scene());
            }
        }
        "rebase" => lines(namer, rest, &["-x", "--exec"], stage),
        "difftool" => lines(namer, rest, &["-x", "--extcmd"], stage),
        "grep" => lines(namer, rest, &["-O", "--open-files-in-pager"], stage),
        "clone" => lines(namer, rest, &["-u", "--upload-pack"], stage),
        "fetch" | "ls-remote" | "pull" => lines(namer, rest, &["--upload-pack"], stage),
        "push" | "send-pack" => lines(namer, rest, &["--receive-pack", "--exec"], stage),
        "filter-branch" => {
            let filters = [
                "--setup",
                "--env-filter",
                "--tree-filter",
                "--index-filter",
                "--parent-filter",
                "--msg-filter",
                "--commit-filter",
                "--tag-name-filter",
            ];
            lines(namer, rest, &filters, stage);
        }
        "for-each-repo" | "hook" | "instaweb" | "daemon" | "web--browse" => {
            namer.unparsed();
        }
        _ => {}
    }
}

/// Names what options start whose values are command lines.
fn lines(namer: &mut Namer<'_>, rest: &[Word], options: &[&str], stage: &Stage<'_>) {
    for (at, word) in rest.iter().enumerate() {
        let beginning = word.beginning();
        for option in options {
            let short = option.len() == 2;
            if word.text().as_deref() == Some(option) {
                if let Some(line) = rest.get(at + 1) {
                    namer.elsewhere(line, &stage.scene());
                }
            } else if let Some(value) = beginning.strip_prefix(option) {
                let value = value.strip_prefix('=').or(short.then_some(value));
                if let Some(value) = value {
                    let line = if word.text().is_some() { Word::of(value) } else { Word::words() };
                    namer.elsewhere(&line, &stage.scene());
                }
            }
        }
    }
}
