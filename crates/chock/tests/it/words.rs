//! The pages say what the program takes, and their examples are read by it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::yard::Yard;

/// A command's words behind `chock`, joined by spaces, and its long options.
type Commands = BTreeMap<String, BTreeSet<String>>;

/// The heading of the options that every command has.
const EVERYWHERE: &str = "Everywhere";

fn page(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
}

/// Reads the page: a heading `chock ...` is a command, a row that starts with an option is one of its own.
fn told(page: &str) -> Commands {
    let mut commands = Commands::new();
    let mut current = None;
    for line in page.lines() {
        if line.starts_with("##") {
            current = heading(line);
            commands.extend(current.clone().map(|name| (name, BTreeSet::new())));
        } else if let (Some(name), Some(option)) = (&current, line.strip_prefix("| `--")) {
            let option = option.split([' ', '`']).next().unwrap_or_default();
            commands.entry(name.clone()).or_default().insert(format!("--{option}"));
        }
    }
    commands
}

fn heading(line: &str) -> Option<String> {
    let title = line.trim_start_matches('#').trim();
    if title == EVERYWHERE {
        return Some(EVERYWHERE.to_owned());
    }
    let words = title.strip_prefix("`chock ")?.trim_end_matches('`').split(' ');
    let is_name = |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase());
    Some(words.take_while(is_name).collect::<Vec<_>>().join(" "))
}

/// Asks the program, command by command, what it takes.
fn taken(yard: &Yard) -> Commands {
    let (below, own) = help(yard, &[]);
    let mut commands = Commands::from([(EVERYWHERE.to_owned(), own)]);
    let mut left: Vec<Vec<String>> = below.into_iter().map(|name| vec![name]).collect();
    while let Some(words) = left.pop() {
        let (below, options) = help(yard, &words);
        left.extend(below.into_iter().map(|name| [words.clone(), vec![name]].concat()));
        let own = options.difference(&commands[EVERYWHERE]).cloned().collect();
        commands.insert(words.join(" "), own);
    }
    commands
}

/// Returns the commands and the long options that `--help` behind `words` lists.
fn help(yard: &Yard, words: &[String]) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut all: Vec<&str> = words.iter().map(String::as_str).collect();
    all.push("--help");
    let text = yard.chock(&all).expect(0).out;
    let (mut commands, mut options) = (BTreeSet::new(), BTreeSet::new());
    let mut section = "";
    for line in text.lines().filter(|line| !line.is_empty()) {
        let indent = line.len() - line.trim_start().len();
        let first = line.split_whitespace().find(|word| !is_short(word)).unwrap_or_default();
        match (indent, section) {
            (0, _) => section = line,
            (2, "Commands:") => {
                commands.insert(first.to_owned());
            }
            (2 | 6, "Options:") if first.starts_with("--") => {
                options.insert(first.to_owned());
            }
            _ => {}
        }
    }
    (commands, options)
}

/// Says whether a word is an option of one letter, as in `-h, --help`.
fn is_short(word: &str) -> bool {
    word.len() == 3 && word.starts_with('-') && word.ends_with(',')
}

#[test]
fn the_page_of_the_command_line_is_what_the_program_takes() {
    let (told, taken) = (told(&page("docs/command-line.md")), taken(&Yard::bare()));
    assert!(taken.len() > 5, "the help was not understood: {taken:?}");
    assert!(taken["run"].contains("--max-turns"), "the help was not understood: {taken:?}");
    let names = |commands: &Commands| commands.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&told), names(&taken), "commands on the page, and of the program");
    for (command, options) in &taken {
        assert_eq!(
            &told[command], options,
            "options of `{command}` on the page, and of the program"
        );
    }
}

/// Returns each block of a page that is marked as the file `name`.
fn examples<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let mark = format!("```zon {name}\n");
    page.split(mark.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_examples_of_the_pages_are_read() {
    for name in ["README.md", "docs/start.md", "docs/providers.md"] {
        let page = page(name);
        let (person, project) = (examples(&page, "config.zon"), examples(&page, "chock.zon"));
        assert!(!person.is_empty(), "{name} shows no config.zon");
        for text in person {
            let yard = Yard::new();
            yard.config(text);
            let out = yard.chock(&["config"]).expect(0).out;
            assert!(out.contains("config.zon:"), "{name}: nothing of it is in force: {out}");
        }
        for text in project {
            let yard = Yard::new();
            yard.write("chock.zon", text);
            yard.chock(&["config"]).expect(0);
        }
    }
}

#[test]
fn the_first_command_of_the_readme_sees_every_refusal() {
    let page = page("README.md");
    let block = page.split("```").nth(1).expect("a block of commands");
    assert_eq!(block, "sh\ncargo run --release -- demo\nscripts/test\n");
    for yard in [Yard::new(), Yard::new().as_plain_user()] {
        let ran = yard.chock(&["demo"]).expect(0);
        assert_eq!(ran.err.matches(": works\n").count(), 3, "{}", ran.err);
        assert_eq!(ran.err.matches(": refused\n").count(), 3, "{}", ran.err);
        assert!(ran.out.contains("+echo \"Good day, $1\""), "{}", ran.out);
    }
}
