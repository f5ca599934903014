//! The words of the command line.

use std::ffi::{OsStr, OsString};

use clap::{CommandFactory, Parser};

use crate::command::{Command, login};
use crate::exit::Failure;
use crate::terminal::Colour;
use crate::visible::visible_line;

/// A coding agent whose every act happens in the operating system's sandbox
///
/// Chock works in a throwaway copy of your git project. Nothing it does touches
/// your files until you take it.
#[derive(Debug, Parser)]
#[command(name = "chock", version, disable_help_subcommand = true)]
pub(crate) struct Words {
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    pub(crate) everywhere: Everywhere,
}

/// Options of every command.
#[derive(Debug, clap::Args)]
pub(crate) struct Everywhere {
    /// Say more about what happens
    #[arg(long, global = true)]
    pub(crate) verbose: bool,

    /// Hold everything to this organisation's bundle
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) org_bundle: Option<std::path::PathBuf>,

    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto)]
    pub(crate) color: Colour,
}

/// What became of the words.
pub(crate) enum Parsed {
    /// A command to do.
    Command(Box<Words>),
    /// Help or the version, already printed by the parser to where it belongs.
    Told,
}

/// Reads the words of the command line.
///
/// A first word is a command's name. Options first are options of `run`.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Parsed, Failure> {
    let separated = arguments.iter().any(|word| word == "--");
    let given = arguments.get(1).cloned();
    let arguments = with_command(arguments)?;
    let added = arguments.get(1) != given.as_ref();
    let may_hold_a_key = arguments.get(1).is_some_and(|word| word == "login");
    if may_hold_a_key {
        login::refuse_secrets(&arguments[2..])?;
    }
    match Words::try_parse_from(arguments) {
        Ok(words) if added && !separated => not_a_command(words),
        Ok(words) => Ok(Parsed::Command(Box::new(words))),
        Err(fault) if !fault.use_stderr() => {
            // A closed pipe is nobody's loss.
            let _ = fault.print();
            Ok(Parsed::Told)
        }
        // The parser repeats words that it does not understand.
        Err(_) if may_hold_a_key => Err(Failure::start(
            "these words of chock login are not understood (chock login --help lists what there is)",
        )),
        Err(fault) => Err(Failure::start(told(&fault))),
    }
}

/// Refuses a task that is one command's name, behind options that stand first: that is a command
/// with its options in the wrong place, and a task would cost something.
fn not_a_command(words: Words) -> Result<Parsed, Failure> {
    if let Command::Run(args) = &words.command
        && let [word, others @ ..] = args.message.as_slice()
        && let Some(name) = word.to_str()
        // Behind `login` there may be a key, which no model is to read.
        && (others.is_empty() || name == "login")
        && Words::command().get_subcommands().any(|command| command.get_name() == name)
    {
        return Err(Failure::start(format!(
            "options stand behind the command: chock {name} ... To give the agent this one word \
             as its task: chock run -- {name}"
        )));
    }
    Ok(Parsed::Command(Box::new(words)))
}

/// Puts `run` in front of options, and refuses a first word that is no command.
fn with_command(mut arguments: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let Some(first) = arguments.get(1) else {
        return Err(Failure::start(
            "say what to do: chock run \"...\" (chock --help lists the commands)",
        ));
    };
    if starts_with_dash(first) {
        if !["-h", "--help", "-V", "--version"].iter().any(|flag| first == flag) {
            arguments.insert(1, "run".into());
        }
        return Ok(arguments);
    }
    let word = first.to_string_lossy().into_owned();
    let tree = Words::command();
    let names: Vec<_> = tree.get_subcommands().map(clap::Command::get_name).collect();
    if names.contains(&word.as_str()) {
        return Ok(arguments);
    }
    let shown = visible_line(&word);
    let hint = nearest(&word, &names).map_or_else(
        || "chock --help lists the commands".to_owned(),
        |name| format!("did you mean `chock {name}`?"),
    );
    Err(Failure::start(
        format!(
            "there is no command `{shown}`; {hint} To give the agent a task: chock run \"...\""
        )
        .replace("commands To", "commands. To"),
    ))
}

fn starts_with_dash(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

/// Finds the name that a mistyped word is nearest to, if one is near.
pub(crate) fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let scored = names.iter().map(|name| (strsim::damerau_levenshtein(word, name), *name));
    let best = scored.min_by_key(|(distance, _)| *distance);
    best.filter(|(distance, _)| *distance <= 1 + word.chars().count() / 4).map(|(_, name)| name)
}

/// Turns the parser's complaint into one of ours: its first paragraph, on one line.
fn told(fault: &clap::Error) -> String {
    let text = fault.to_string();
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let words: Vec<_> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
    let line = words.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    format!("{} (chock --help lists what there is)", visible_line(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Vec<OsString>, Failure> {
        let arguments = std::iter::once("chock").chain(words.iter().copied());
        with_command(arguments.map(OsString::from).collect())
    }

    #[test]
    fn the_tree_of_commands_is_sound() {
        Words::command().debug_assert();
    }

    #[test]
    fn options_first_belong_to_run() {
        assert_eq!(read(&["--", "fix", "it"]).expect("words")[1], "run");
        assert_eq!(read(&["--model", "m"]).expect("words")[1], "run");
        assert_eq!(read(&["--help"]).expect("words")[1], "--help");
        assert_eq!(read(&["doctor"]).expect("words")[1], "doctor");
    }

    #[test]
    fn a_command_behind_options_is_no_task() {
        let parsed = |words: &[&str]| {
            let words = std::iter::once("chock").chain(words.iter().copied());
            parse(words.map(OsString::from).collect())
        };
        let refused = parsed(&["--model", "two", "diff"]).err().expect("a refusal");
        assert!(refused.message.contains("options stand behind the command: chock diff"));
        for words in [&["--model", "diff", "fix it"][..], &["--", "diff"], &["run", "diff"]] {
            assert!(parsed(words).is_ok(), "{words:?}");
        }
    }

    #[test]
    fn a_mistyped_command_names_the_nearest() {
        let cases = [("rnu", "`chock run`"), ("docter", "`chock doctor`"), ("session", "sessions")];
        for (word, expected) in cases {
            let failure = read(&[word]).expect_err(word);
            assert_eq!(failure.exit.code(), 1);
            assert!(failure.message.contains(expected), "{failure}");
        }
        let failure = read(&["\u{1b}[2Jzzz"]).expect_err("no such command");
        assert!(!failure.message.contains('\u{1b}'), "{failure}");
        assert!(read(&[]).is_err());
    }
}
