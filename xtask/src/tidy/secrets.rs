//! No tracked file holds what looks like a live secret.

use std::sync::LazyLock;

use regex::Regex;

use super::fault::Fault;
use super::tree::Tree;

/// Well-known shapes of keys and tokens. A test joins its samples from pieces.
static SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    let shapes = [
        r"\bsk-(?:ant-|proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{24,}",
        r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
        r"\bgh[pousr]_[A-Za-z0-9]{36,}",
        r"\bgithub_pat_[A-Za-z0-9_]{22,}",
        r"\bxox[abpr]-[A-Za-z0-9-]{20,}",
        r"\bAIza[0-9A-Za-z_-]{35}",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
        r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    ];
    Regex::new(&shapes.join("|")).expect("invariant: the shapes are one valid expression")
});

/// Names every line with such a shape, without repeating it.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.texts() {
        for (index, line) in text.lines().enumerate() {
            if SHAPES.is_match(line) {
                faults.push(Fault::at(path, index + 1, "this looks like a secret"));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_found() {
        let body = "abcdefghij0123456789ABCDEFGHIJ0123456789";
        let cases = [
            format!("key = \"sk-{}{body}\"", "ant-"),
            format!("{}IOSFODNN7EXAMPLE", "AKIA"),
            format!("{}_{body}", "ghp"),
            format!("{}_pat_{body}", "github"),
            format!("{}b-{body}", "xox"),
            format!("{}{}", "AIza", &body[..35]),
            format!("-----BEGIN {} KEY-----", "PRIVATE"),
            format!("{}.{}.{body}", "eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0"),
        ];
        for text in cases {
            assert_eq!(check(&Tree::from_texts(&[("a.txt", &text)])).len(), 1, "{text}");
        }
    }

    #[test]
    fn ordinary_words_are_not() {
        for text in ["task-01 is sk-ipped", "AKIA", "ghp_short", "BEGIN PRIVATE KEY", "eyJ.eyJ.a"] {
            assert_eq!(check(&Tree::from_texts(&[("a.txt", text)])).len(), 0, "{text}");
        }
    }
}
