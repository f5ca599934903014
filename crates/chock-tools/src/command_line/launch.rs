//! Reads the words of a program that starts another.

use super::launchers::{Launcher, Then};
use super::name::{Namer, Scene, Stage};
use super::places::Places;
use super::read::Unreadable;
use super::script::{Part, Word};
use super::{shells, variables};

/// What an option takes, by the sign that follows it in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Attached,
    Line,
    Directory,
    FileOrLine,
    Setting,
    Placeholder,
    MayReplace,
    Unreadable,
}

/// An option as it was given.
#[derive(Debug)]
pub(crate) struct Given {
    takes: Takes,
    value: Option<Word>,
}

/// Names what a program of the table starts.
pub(crate) fn launch(
    namer: &mut Namer<'_>,
    launcher: &Launcher,
    words: &[Word],
    stage: &Stage<'_>,
) {
    let read = match launcher.then {
        Then::Nothing => {
            for given in scattered(launcher.options, words) {
                option(namer, &given, stage);
            }
            return;
        }
        Then::AfterDashes => {
            let dashes = words.iter().position(|word| word.text().as_deref() == Some("--"));
            for given in scattered(launcher.options, &words[..dashes.unwrap_or(words.len())]) {
                option(namer, &given, stage);
            }
            if let Some(dashes) = dashes {
                namer.command_of_its_own(&words[dashes + 1..], stage);
            }
            return;
        }
        Then::Command
        | Then::CommandOrShell
        | Then::Assignments
        | Then::Line
        | Then::LineElsewhere
        | Then::Lines
        | Then::OptionOrShell => listed(launcher, words),
    };
    match read {
        Ok(Launch { given, rest, moved }) => {
            let lines = given.iter().any(|given| given.takes == Takes::Line);
            for given in &given {
                option(namer, given, stage);
            }
            let scene =
                Scene { places: moved.unwrap_or(stage.scene.places.clone()), ..stage.scene() };
            let stage = Stage { scene: &scene, input: stage.input.clone() };
            follow(namer, launcher.then, rest, (&stage, lines));
        }
        Err(Unreadable) => namer.unparsed(),
    }
}

/// Names what stands after options and operands.
fn follow(namer: &mut Namer<'_>, then: Then, rest: &[Word], (stage, lines): (&Stage<'_>, bool)) {
    match then {
        Then::Command if rest.is_empty() => {}
        Then::Assignments => assignments(namer, rest, stage),
        Then::CommandOrShell | Then::OptionOrShell if rest.is_empty() => {
            if !lines {
                shells::interactive(namer, stage);
            }
        }
        // `su user -c line` has no command of words.
        Then::OptionOrShell => namer.unparsed(),
        Then::Command | Then::CommandOrShell => namer.command_of_its_own(rest, stage),
        Then::Line | Then::LineElsewhere if rest.is_empty() => {}
        Then::Line | Then::LineElsewhere => {
            let line = join(rest);
            namer.elsewhere(&line, &stage.scene());
        }
        Then::Lines => {
            for line in rest {
                namer.elsewhere(line, &stage.scene());
            }
        }
        Then::Nothing | Then::AfterDashes => {}
    }
}

/// Joins words to a line, as `watch` and `ssh` do.
pub(crate) fn join(words: &[Word]) -> Word {
    let mut parts = Vec::new();
    for (number, word) in words.iter().enumerate() {
        if number > 0 {
            parts.push(Part::Text(" ".to_owned()));
        }
        parts.extend(word.0.iter().cloned());
    }
    Word(parts)
}

fn assignments(namer: &mut Namer<'_>, words: &[Word], stage: &Stage<'_>) {
    for (number, word) in words.iter().enumerate() {
        let name = word.beginning().split_once('=').map(|(name, _)| name.to_owned());
        match name {
            Some(name) if word.is_one() => {
                let value = without(word, name.len() + 1);
                variables::assigned(namer, &name, &value, stage.scene);
            }
            _ => return namer.command_of_its_own(&words[number..], stage),
        }
    }
}

/// The word without its first known bytes.
fn without(word: &Word, bytes: usize) -> Word {
    let mut parts = word.0.clone();
    if let Some(Part::Text(text)) = parts.first_mut() {
        text.drain(..bytes);
    }
    Word(parts)
}

fn option(namer: &mut Namer<'_>, given: &Given, stage: &Stage<'_>) {
    match (given.takes, &given.value) {
        (Takes::Unreadable, _) | (Takes::Line, None) => namer.unparsed(),
        (Takes::Line, Some(line)) => namer.elsewhere(line, &stage.scene()),
        (Takes::FileOrLine, Some(value)) => match value.text() {
            Some(text) if text.starts_with(['|', '!']) => {
                namer.elsewhere(&Word::of(&text[1..]), &stage.scene());
            }
            Some(_) => {}
            None if value.beginning().is_empty() => namer.unparsed(),
            None => {}
        },
        (Takes::Setting, Some(value)) => {
            let key = value.beginning().split(['=', ' ']).next().unwrap_or_default();
            let key = key.to_ascii_lowercase();
            if key.is_empty() || key.contains("command") || matches!(&*key, "include" | "match") {
                namer.unparsed();
            }
        }
        (Takes::Setting, None) => namer.unparsed(),
        (
            Takes::Nothing
            | Takes::Placeholder
            | Takes::MayReplace
            | Takes::Value
            | Takes::Attached
            | Takes::Directory
            | Takes::FileOrLine,
            _,
        ) => {}
    }
}

/// What was read of a launcher's words.
struct Launch<'w> {
    given: Vec<Given>,
    rest: &'w [Word],
    /// Where the command runs, if an option moves it.
    moved: Option<Places>,
}

/// Reads options and operands, of which every one must be known.
fn listed<'w>(launcher: &Launcher, words: &'w [Word]) -> Result<Launch<'w>, Unreadable> {
    let mut given = Vec::new();
    let mut rest = options(launcher.options, words, &mut given)?;
    let again =
        matches!(launcher.then, Then::LineElsewhere | Then::OptionOrShell | Then::CommandOrShell);
    for _ in 0..launcher.operands {
        let Some((operand, after)) = rest.split_first() else { break };
        if !operand.is_one() {
            return Err(Unreadable);
        }
        rest = after;
        if again {
            rest = options(launcher.options, rest, &mut given)?;
        }
    }
    let moves = given.iter().any(|given| given.takes == Takes::Directory);
    Ok(Launch { given, rest, moved: moves.then_some(Places::Unknown) })
}

/// Finds the letters that options say are replaced.
pub(crate) fn placeholder(given: &[Given]) -> Result<Option<String>, Unreadable> {
    let replacing = |given: &&Given| matches!(given.takes, Takes::Placeholder | Takes::MayReplace);
    let Some(given) = given.iter().rfind(replacing) else { return Ok(None) };
    match (&given.value, given.takes) {
        (Some(value), _) => value.text().map(Some).ok_or(Unreadable),
        (None, Takes::MayReplace) => Ok(Some("{}".to_owned())),
        (None, _) => Err(Unreadable),
    }
}

/// Reads options up to the first word that is none.
pub(crate) fn options<'w>(
    known: &str,
    words: &'w [Word],
    given: &mut Vec<Given>,
) -> Result<&'w [Word], Unreadable> {
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        let beginning = word.beginning();
        match word.text() {
            None if beginning.is_empty() => {
                // Nobody knows whether it is an option: one word in its place is an operand.
                return if word.is_one() { Ok(rest) } else { Err(Unreadable) };
            }
            Some(text) if text == "--" => return Ok(after),
            Some(text)
                if !text.starts_with('-') || (text == "-" && takes(known, "-").is_none()) =>
            {
                return Ok(rest);
            }
            None if !beginning.starts_with('-') => {
                return if word.is_one() { Ok(rest) } else { Err(Unreadable) };
            }
            Some(_) | None => rest = one(known, word, after, given)?,
        }
    }
    Ok(rest)
}

/// Reads one word of options, and their value if it is the next word.
fn one<'w>(
    known: &str,
    word: &Word,
    after: &'w [Word],
    given: &mut Vec<Given>,
) -> Result<&'w [Word], Unreadable> {
    if !word.is_one() {
        return Err(Unreadable);
    }
    let beginning = word.beginning();
    if beginning.starts_with("--") {
        let (name, attached) = match beginning.split_once('=') {
            Some((name, _)) => (name, Some(without(word, name.len() + 1))),
            None if word.text().is_some() => (beginning, None),
            None => return Err(Unreadable),
        };
        let takes = takes(known, name).ok_or(Unreadable)?;
        return value(takes, attached, after, given);
    }
    let digits = beginning.trim_start_matches('-');
    let number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(takes) = takes(known, beginning).filter(|_| word.text().is_some()) {
        return value(takes, None, after, given);
    }
    if number && takes(known, "-#").is_some() {
        return Ok(after);
    }
    let letters: Vec<_> = beginning.char_indices().skip(1).collect();
    for (at, letter) in letters {
        let takes = takes(known, &format!("-{letter}")).ok_or(Unreadable)?;
        let next = at + letter.len_utf8();
        let is_last = next == beginning.len() && word.0.len() == 1;
        match takes {
            Takes::Nothing => given.push(Given { takes, value: None }),
            _ if is_last => return value(takes, None, after, given),
            _ => return value(takes, Some(without(word, next)), after, given),
        }
    }
    // What follows the letters is unknown, and may be more of them.
    if word.text().is_some() { Ok(after) } else { Err(Unreadable) }
}

fn value<'w>(
    takes: Takes,
    attached: Option<Word>,
    after: &'w [Word],
    given: &mut Vec<Given>,
) -> Result<&'w [Word], Unreadable> {
    let next = match takes {
        Takes::Unreadable => return Err(Unreadable),
        Takes::Value
        | Takes::Line
        | Takes::Directory
        | Takes::FileOrLine
        | Takes::Setting
        | Takes::Placeholder => true,
        Takes::Nothing | Takes::Attached | Takes::MayReplace => false,
    };
    match (attached, after.split_first()) {
        (None, Some((value, rest))) if next => {
            if !value.is_one() {
                return Err(Unreadable);
            }
            given.push(Given { takes, value: Some(value.clone()) });
            Ok(rest)
        }
        (attached, _) => {
            given.push(Given { takes, value: attached });
            Ok(after)
        }
    }
}

/// Finds the options that are listed among words of which most are not.
fn scattered(known: &str, words: &[Word]) -> Vec<Given> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let beginning = word.beginning();
        for entry in known.split_whitespace() {
            let (name, takes) = entry_of(entry);
            let short = name.len() == 2;
            if word.text().as_deref() == Some(name) {
                found.push(Given { takes, value: words.get(at + 1).cloned() });
            } else if let Some(rest) = beginning.strip_prefix(name) {
                let bytes = if rest.starts_with('=') { name.len() + 1 } else { name.len() };
                if rest.starts_with('=') || short {
                    found.push(Given { takes, value: Some(without(word, bytes)) });
                }
            }
        }
    }
    found
}

fn takes(known: &str, name: &str) -> Option<Takes> {
    let entries = known.split_whitespace().map(entry_of);
    entries.into_iter().find(|(entry, _)| *entry == name).map(|(_, takes)| takes)
}

fn entry_of(entry: &str) -> (&str, Takes) {
    let signs = [
        ('=', Takes::Value),
        ('?', Takes::Attached),
        ('!', Takes::Line),
        ('/', Takes::Directory),
        ('|', Takes::FileOrLine),
        (':', Takes::Setting),
        ('%', Takes::Placeholder),
        ('&', Takes::MayReplace),
        ('~', Takes::Unreadable),
    ];
    // `-=` and its like are no options, so a sign alone after a dash is none.
    let named = signs.iter().find_map(|(sign, takes)| {
        entry.strip_suffix(*sign).filter(|name| name.len() > 1).map(|name| (name, *takes))
    });
    named.unwrap_or((entry, Takes::Nothing))
}

/// Options of `env`; it reads some of its words as a shell reads a line.
const ENV: &str = "- -0 -i -v -u= -C/ -S~ --ignore-environment --null --debug --unset= --chdir/ \
                   --block-signal? --default-signal? --ignore-signal? --list-signal-handling -a= \
                   --argv0= --split-string~";

/// Names what `env` starts.
pub(crate) fn env(namer: &mut Namer<'_>, words: &[Word], stage: &Stage<'_>) {
    let split = words.first().and_then(Word::text).and_then(|first| {
        let attached = ["-S", "--split-string=", "-vS"].into_iter();
        attached.filter_map(|name| first.strip_prefix(name)).map(str::to_owned).next()
    });
    let Some(text) = split else { return env_words(namer, words, stage) };
    let (text, rest) = match (text.is_empty(), words.get(1)) {
        (true, Some(next)) => (next.text(), &words[2..]),
        (true, None) => return,
        (false, _) => (Some(text), &words[1..]),
    };
    match text {
        Some(text) if !text.contains(['\\', '$', '\'', '"', '#']) => {
            let mut all: Vec<_> = text.split_whitespace().map(Word::of).collect();
            all.extend_from_slice(rest);
            env_words(namer, &all, stage);
        }
        Some(_) | None => namer.unparsed(),
    }
}

fn env_words(namer: &mut Namer<'_>, words: &[Word], stage: &Stage<'_>) {
    let launcher = Launcher { names: &[], options: ENV, operands: 0, then: Then::Assignments };
    launch(namer, &launcher, words, stage);
}

/// Names what `flock` starts: `flock [options] file command`, or `file -c line`.
pub(crate) fn flock(namer: &mut Namer<'_>, words: &[Word], stage: &Stage<'_>) {
    const OPTIONS: &str = "-s -e -x -n -u -o -F -w= -E= --shared --exclusive --nonblock --nb \
                           --unlock --close --no-fork --verbose --fcntl --timeout= --wait= \
                           --conflict-exit-code=";
    let mut given = Vec::new();
    let Ok(rest) = options(OPTIONS, words, &mut given) else { return namer.unparsed() };
    let Some((file, command)) = rest.split_first() else { return };
    if !file.is_one() {
        return namer.unparsed();
    }
    match command.first().and_then(Word::text).as_deref() {
        None if command.is_empty() => {}
        Some("-c" | "--command") => match command.get(1) {
            Some(line) => namer.elsewhere(line, &stage.scene()),
            None => namer.unparsed(),
        },
        _ => namer.command_of_its_own(command, stage),
    }
}

/// Names what a debugger starts: `gdb [options] program`, `gdb --args program`, `lldb -- program`.
pub(crate) fn debugger(namer: &mut Namer<'_>, words: &[Word], stage: &Stage<'_>) {
    let mut rest = words.iter().enumerate();
    while let Some((at, word)) = rest.next() {
        let Some(text) = word.text() else {
            return namer.unparsed();
        };
        let name = if text.starts_with("--") { &text[1..] } else { text.as_str() };
        match name {
            "-args" | "-" => {
                let after = &words[at + 1..];
                let Some(program) = after.first() else { return };
                return namer.script_file(program, stage);
            }
            "-ex"
            | "-iex"
            | "-eval-command"
            | "-init-eval-command"
            | "-o"
            | "-O"
            | "-k"
            | "-K"
            | "-one-line"
            | "-one-line-before-file" => {
                let line = rest.next().and_then(|(_, word)| word.text());
                if !line.is_some_and(|line| is_debugging(&line)) {
                    namer.unparsed();
                }
            }
            "-p" | "-pid" | "-c" | "-core" | "-d" | "-directory" | "-n" | "-f" | "-file" => {
                rest.next();
            }
            "-batch"
            | "-b"
            | "-q"
            | "-quiet"
            | "-silent"
            | "-nx"
            | "-nh"
            | "-version"
            | "-return-child-result"
            | "-help"
            | "-no-lldbinit"
            | "-X" => {}
            name if name.starts_with('-') => return namer.unparsed(),
            _ => {
                namer.script_file(word, stage);
                return;
            }
        }
    }
}

/// Whether a line of a debugger only debugs.
fn is_debugging(line: &str) -> bool {
    let word = line.trim_start().split(|letter: char| !letter.is_ascii_alphanumeric()).next();
    let word = word.unwrap_or_default();
    let known = [
        "run",
        "r",
        "bt",
        "backtrace",
        "where",
        "break",
        "b",
        "tbreak",
        "continue",
        "c",
        "next",
        "n",
        "step",
        "s",
        "finish",
        "info",
        "print",
        "p",
        "x",
        "thread",
        "frame",
        "f",
        "up",
        "down",
        "list",
        "l",
        "quit",
        "q",
        "set",
        "watch",
        "disassemble",
        "process",
        "breakpoint",
        "register",
        "start",
        "starti",
        "kill",
        "delete",
        "catch",
        "handle",
        "display",
        "ptype",
        "image",
        "target",
        "version",
        "stepi",
        "nexti",
        "si",
        "ni",
    ];
    known.contains(&word) && !line.contains(['|', '!', '(', '\n'])
}
