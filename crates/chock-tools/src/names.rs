//! Spells paths, numbers and signals for a reader.

use std::fmt::Write;

/// Spells a path for a message: in backticks, control characters escaped.
pub(crate) fn shown(path: &str) -> String {
    format!("`{}`", escaped(path))
}

/// Escapes the control characters of a name.
pub(crate) fn escaped(name: &str) -> String {
    if !name.contains(char::is_control) {
        return name.to_owned();
    }
    name.chars().fold(String::new(), |mut text, letter| {
        if letter.is_control() {
            let _ = write!(text, "{}", letter.escape_default());
        } else {
            text.push(letter);
        }
        text
    })
}

/// Spells a number with its noun: `1 line`, `2 lines`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

/// Returns the name of a signal as Linux numbers it on the usual machines.
pub(crate) fn signal(number: i32) -> &'static str {
    match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => "no common one",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_never_reach_a_message() {
        assert_eq!(shown("a b"), "`a b`");
        assert_eq!(shown("a\nb\u{1b}[2J\u{9b}"), "`a\\nb\\u{1b}[2J\\u{9b}`");
        assert_eq!(escaped("naïve"), "naïve");
    }
}
