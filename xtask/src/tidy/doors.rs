//! Where starting programs, reading the environment, printing, exiting, opening a log and
//! `unsafe` may stand.

use super::fault::Fault;
use super::rust::Word;
use super::tree::Tree;

/// Something that may be written in a few places only.
struct Door {
    /// How it is spelled.
    spelling: Spelling,
    /// Path beginnings, or whole paths, of the files where it may stand.
    stands_in: &'static [&'static str],
    /// Why it may stand nowhere else.
    reason: &'static str,
}

/// How a door looks in the words of a file.
enum Spelling {
    /// `module::name`, in a path or in a `use`.
    Path(&'static str, &'static [&'static str]),
    /// `name!`
    Macro(&'static [&'static str]),
    /// One word by itself.
    Keyword(&'static str),
}

use Spelling::{Keyword, Macro, Path};

/// The doors of the house. Tests, examples and `xtask` may use all but `unsafe`.
const DOORS: &[Door] = &[
    Door {
        spelling: Path("process", &["Command"]),
        stands_in: &[
            "crates/chock-sandbox/src/",
            "crates/chock-workspace/src/git.rs",
            "crates/chock/src/outside.rs",
        ],
        reason: "programs start in the keeper, in git and in chock::outside",
    },
    Door {
        spelling: Path(
            "env",
            &[
                "current_dir",
                "home_dir",
                "remove_var",
                "set_current_dir",
                "set_var",
                "temp_dir",
                "var",
                "var_os",
                "vars",
                "vars_os",
            ],
        ),
        stands_in: &["crates/chock/src/", "crates/chock-testkit/src/"],
        reason: "a library takes the environment and the current directory as arguments",
    },
    Door {
        spelling: Path("SystemTime", &["now"]),
        stands_in: &["crates/chock/src/", "crates/chock-testkit/src/"],
        reason: "a library takes the time as an argument",
    },
    Door {
        spelling: Path("Timestamp", &["now"]),
        stands_in: &["crates/chock/src/", "crates/chock-testkit/src/"],
        reason: "a library takes the time as an argument",
    },
    Door {
        spelling: Path("Zoned", &["now"]),
        stands_in: &["crates/chock/src/", "crates/chock-testkit/src/"],
        reason: "a library takes the time as an argument",
    },
    Door {
        spelling: Path("process", &["exit", "abort"]),
        stands_in: &["crates/chock/src/", "crates/chock-sandbox/src/linux/"],
        reason: "a library never exits",
    },
    Door {
        spelling: Macro(&["print", "println", "eprint", "eprintln", "dbg"]),
        stands_in: &["crates/chock/src/", "crates/chock/build.rs", "crates/chock-sandbox/build.rs"],
        reason: "a library never prints",
    },
    Door {
        spelling: Path("Log", &["open", "open_on"]),
        stands_in: &["crates/chock/src/", "crates/chock-log/src/", "crates/chock-testkit/src/"],
        reason: "the granter comes with an open log, so one place opens it",
    },
    Door {
        spelling: Path("fs", &["hard_link"]),
        // A fork shares what its parent's store keeps, which no agent sees.
        stands_in: &["crates/chock/src/", "crates/chock-workspace/src/fork.rs"],
        reason: "a hard link shares bytes between the project and the workspace",
    },
];

/// `unsafe` stands where [`is_sys`] and [`is_probe`] say, and tests are not exempt.
const UNSAFE: Door = Door {
    spelling: Keyword("unsafe"),
    stands_in: &[],
    reason: "the kernel is called from `sys.rs` and nowhere else",
};

/// Names every word that stands where it may not.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, code) in tree.rust() {
        let all: Vec<&Word> = code.words.iter().collect();
        if !is_sys(path) && !is_probe(path) {
            faults.extend(door(path, &all, &UNSAFE));
        }
        if path.starts_with("xtask/") {
            continue;
        }
        let shipped = code.shipped();
        faults.extend(DOORS.iter().flat_map(|one| door(path, &shipped, one)));
    }
    faults
}

/// Says whether a file is one of the kernel's callers: `crates/chock-sandbox/src/*/sys.rs`.
fn is_sys(path: &str) -> bool {
    let inner = path.strip_prefix("crates/chock-sandbox/src/");
    inner.and_then(|rest| rest.strip_suffix("/sys.rs")).is_some_and(|name| !name.contains('/'))
}

/// Says whether a file belongs to the program that the escape tests run inside a cage.
fn is_probe(path: &str) -> bool {
    path.starts_with("crates/chock-sandbox/tests/probe/")
}

fn door(path: &str, words: &[&Word], door: &Door) -> Vec<Fault> {
    if door.stands_in.iter().any(|place| path.starts_with(place)) {
        return Vec::new();
    }
    (0..words.len())
        .filter_map(|start| Some((words[start].line, spelled(&words[start..], &door.spelling)?)))
        .map(|(line, what)| Fault::at(path, line, format!("`{what}` here: {}", door.reason)))
        .collect()
}

/// Says how the door is written when `words` begin with it.
fn spelled(words: &[&Word], spelling: &Spelling) -> Option<String> {
    let text = |index: usize| words.get(index).map_or("", |word| word.text.as_str());
    match spelling {
        Keyword(word) => (text(0) == *word).then(|| (*word).to_owned()),
        Macro(names) => {
            let is_call = names.contains(&text(0)) && text(1) == "!" && text(2) != "=";
            is_call.then(|| format!("{}!", text(0)))
        }
        Path(module, names) => {
            if text(0) != *module || text(1) != ":" || text(2) != ":" {
                return None;
            }
            let name = if text(3) == "{" { in_group(&words[4..], names)? } else { text(3) };
            let is_one = names.contains(&name) || name == "*";
            is_one.then(|| format!("{module}::{name}"))
        }
    }
}

/// Finds one of the names in the group of a `use`.
fn in_group<'a>(words: &[&'a Word], names: &[&str]) -> Option<&'a str> {
    let mut depth = 1;
    for word in words {
        match word.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            name if names.contains(&name) || name == "*" => return Some(name),
            _ => {}
        }
        if depth == 0 {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str) -> usize {
        check(&Tree::from_texts(&[(path, text)])).len()
    }

    #[test]
    fn each_door_is_found_where_it_may_not_stand() {
        let cases = [
            "use std::process::Command;",
            "use std::process::{self, Command as Start};",
            "use std::{io, process::{Command, Stdio}};",
            "fn a() { let b = process::Command::new(\"c\"); }",
            "fn a() { std::env::var(\"B\"); }",
            "use std::env::{args, var_os};",
            "fn a() { std::env::current_dir(); }",
            "fn a() { SystemTime::now(); }",
            "fn a() { jiff::Timestamp::now(); }",
            "fn a() { std::process::exit(1); }",
            "fn a() { println!(\"b\"); }",
            "fn a() { vec![eprintln!(\"b\")]; }",
            "fn a() { Log::open(b); }",
            "fn a() { std::fs::hard_link(b, c); }",
            "fn a() { unsafe { b() } }",
            "macro_rules! a { () => { unsafe { b() } } }",
        ];
        for text in cases {
            assert_eq!(check_text("crates/chock-tools/src/a.rs", text), 1, "{text}");
        }
    }

    #[test]
    fn a_glob_opens_every_door_of_its_module() {
        assert!(check_text("crates/chock-tools/src/a.rs", "use std::process::*;") > 0);
        assert!(check_text("crates/chock-tools/src/a.rs", "use std::{env::*, io};") > 0);
    }

    #[test]
    fn what_only_looks_alike_is_left_alone() {
        let cases = [
            "use std::process::{Output, Stdio};",
            "use clap::Command;",
            "fn a() { env!(\"B\"); std::env::args(); }",
            "fn a() { let print = 1; if print != 2 {} }",
            "fn a() { Log::read(b); }",
            "/// `std::process::Command` and unsafe in words.\nfn a() {}",
            "#[cfg(test)]\nmod tests { fn a() { println!(\"b\"); std::env::var(\"C\"); } }",
        ];
        for text in cases {
            assert_eq!(check_text("crates/chock-tools/src/a.rs", text), 0, "{text}");
        }
    }

    #[test]
    fn a_door_is_open_in_its_own_place() {
        let cases = [
            ("crates/chock-workspace/src/git.rs", "use std::process::Command;", 0),
            ("crates/chock-workspace/src/scan.rs", "use std::process::Command;", 1),
            ("crates/chock/src/outside.rs", "use std::process::Command;", 0),
            ("crates/chock/src/main.rs", "use std::process::Command;", 1),
            ("crates/chock/src/main.rs", "fn a() { std::env::var(\"B\"); }", 0),
            ("crates/chock-sandbox/src/linux/sys.rs", "fn a() { unsafe { b() } }", 0),
            ("crates/chock-sandbox/src/linux/deep/sys.rs", "fn a() { unsafe { b() } }", 1),
            ("crates/chock-sandbox/src/sys.rs", "fn a() { unsafe { b() } }", 1),
            ("crates/chock-sandbox/tests/probe/main.rs", "fn a() { unsafe { b() } }", 0),
            ("crates/chock-sandbox/tests/it/main.rs", "fn a() { unsafe { b() } }", 1),
            ("crates/chock-log/tests/it/main.rs", "fn a() { Log::open(b); }", 0),
        ];
        for (path, text, expected) in cases {
            assert_eq!(check_text(path, text), expected, "{path}: {text}");
        }
    }
}
