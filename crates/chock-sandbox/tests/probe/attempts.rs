//! The attacks by name.

mod files;

use std::process::ExitCode;

/// How an attack ends: it got through, it was refused with these words, or it could not be tried.
pub(crate) enum Result {
    Through(String),
    Refused(String),
    Untried(String),
}

type Attack = fn(&[String]) -> Result;

pub(crate) fn attempt(words: &[String]) -> ExitCode {
    let (code, answer) = answer(words);
    println!("{answer}");
    ExitCode::from(code)
}

/// Attacks, and says the exit code and the last line.
pub(crate) fn answer(words: &[String]) -> (u8, String) {
    let Some((name, rest)) = words.split_first() else { return (4, "no attempt".to_owned()) };
    let Some((_, attack)) = files::ATTACKS.iter().find(|(known, _)| known == name) else {
        return (4, format!("no attempt `{name}`"));
    };
    match attack(rest) {
        Result::Through(words) => (0, format!("through: {words}")),
        Result::Refused(words) => (3, format!("refused: {words}")),
        Result::Untried(words) => (4, format!("untried: {words}")),
    }
}
