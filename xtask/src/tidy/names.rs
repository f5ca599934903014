//! Names that say nothing, and so hide what is behind them.

use super::fault::Fault;
use super::tree::Tree;

/// Words that no file, module, type or crate is named with (style, "Writing code").
const REFUSED: &[&str] = &[
    "common", "context", "core", "handler", "helper", "helpers", "info", "manager", "service",
    "util", "utils",
];

/// Refused words that are whole nouns of the glossary, and the crates where they are.
const NOUNS: &[(&str, &[&str])] =
    // What one request to a model holds.
    &[("context", &["crates/chock-agent/", "crates/chock-provider/"])];

/// Names every file, module and type with a refused word in its name.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, code) in tree.rust() {
        let parts = path.split('/').map(|part| part.trim_end_matches(".rs"));
        for word in parts.filter_map(|part| refused(path, part)) {
            faults.push(Fault::of(path, format!("`{word}` says nothing in a path")));
        }
        for named in &code.named {
            if let Some(word) = refused(path, &named.name) {
                let text = format!("`{word}` says nothing in the name `{}`", named.name);
                faults.push(Fault::at(path, named.line, text));
            }
        }
    }
    faults
}

/// Finds a refused word in a name of either spelling.
fn refused(path: &str, name: &str) -> Option<&'static str> {
    let words = words(name);
    let is_noun = NOUNS.iter().any(|(noun, crates)| {
        noun.eq_ignore_ascii_case(name) && crates.iter().any(|one| path.starts_with(one))
    });
    let found = REFUSED.iter().copied().find(|refused| words.iter().any(|word| word == refused));
    found.filter(|_| !is_noun)
}

/// Splits `snake_case`, `kebab-case` and `CamelCase` into lower case words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for character in name.chars() {
        if !character.is_alphanumeric() || character.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_says_nothing_is_found() {
        let cases = [
            ("crates/x/src/util.rs", "", 1),
            ("crates/x-core/src/a.rs", "", 1),
            ("crates/x/src/a.rs", "struct CallContext;", 1),
            ("crates/x/src/a.rs", "mod file_info {}", 1),
            ("crates/x/src/a.rs", "enum EventHandler {}", 1),
            ("crates/x/src/a.rs", "type Manager = u8;", 1),
            ("crates/x/src/a.rs", "struct Information; struct Scored;", 0),
            ("crates/chock-agent/src/context.rs", "struct Context;", 0),
            ("crates/chock-agent/src/context.rs", "struct CallContext;", 1),
            ("crates/x/src/context.rs", "struct Context;", 2),
            ("crates/x/src/a.rs", "use anyhow::Context; fn info() {}", 0),
        ];
        for (path, text, expected) in cases {
            let faults = check(&Tree::from_texts(&[(path, text)]));
            assert_eq!(faults.len(), expected, "{path}: {text}: {faults:?}");
        }
    }
}
