//! Variables that make a program start another.

use super::name::{Namer, Scene};
use super::script::Word;

/// Their values are command lines.
const COMMANDS: [&str; 17] = [
    "BROWSER",
    "EDITOR",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "MANPAGER",
    "PAGER",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "VISUAL",
];

/// Their values are read by a shell, or change what git's own words mean.
const UNREADABLE: [&str; 12] = [
    "BASHOPTS",
    "BASH_ENV",
    "CDPATH",
    "ENV",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_EXEC_PATH",
    "IFS",
    "LESSOPEN",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "BASH_CMDS",
];

/// Names what an assignment makes others start.
pub(crate) fn assigned(namer: &mut Namer<'_>, name: &str, value: &Word, scene: &Scene) {
    let text = value.text();
    let is_empty = text.as_deref() == Some("");
    if COMMANDS.contains(&name) {
        if !is_empty {
            namer.text(value, scene);
        }
        return;
    }
    // Arithmetic looks into the values of variables, and subscripts run what is in them.
    let subscript = text.as_deref().is_some_and(is_subscript);
    let prompt = name == "PS4" && text.as_deref().is_none_or(|text| text.contains(['$', '`']));
    let unreadable = UNREADABLE.contains(&name) || name.starts_with("BASH_FUNC_");
    // A blank apart at each letter of a line is what a script that reads lines sets.
    let usual = name == "IFS"
        && text.is_some_and(|text| text.chars().all(|letter| " \t\n,:;=|/".contains(letter)));
    if (unreadable && !usual) || prompt || subscript {
        namer.unparsed();
    }
}

/// Whether the letters are a subscript with a substitution in it.
pub(crate) fn is_subscript(text: &str) -> bool {
    let inside = text.split_once('[').map(|(_, rest)| rest);
    inside.is_some_and(|rest| rest.contains("$(") || rest.contains('`') || rest.contains("${ "))
}
