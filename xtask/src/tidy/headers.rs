//! What stands at the head of each module.

use super::fault::Fault;
use super::tree::Tree;

/// The most lines of a header.
const HEADER_LINES_MAX: usize = 30;

/// The parts of the header of a crate.
const PARTS: [&str; 3] = ["# Never knows", "# Holds", "# Start reading at"];

/// Names every Rust file whose header is missing or incomplete.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let is_rust = |(path, _): &(&str, &str)| path.ends_with(".rs");
    tree.texts().filter(is_rust).flat_map(|(path, text)| file(path, text)).collect()
}

fn file(path: &str, text: &str) -> Vec<Fault> {
    let header = header(text);
    let mut faults = Vec::new();
    let first: Vec<&str> = header.iter().copied().take_while(|line| !line.is_empty()).collect();
    match first.last() {
        None => faults.push(Fault::at(path, 1, "has no `//!` header")),
        Some(last) if !last.ends_with(['.', '?', ':']) => {
            faults.push(Fault::at(path, 1, "the header does not begin with a sentence"));
        }
        Some(_) => {}
    }
    if header.len() > HEADER_LINES_MAX {
        let text = format!("the header has over {HEADER_LINES_MAX} lines");
        faults.push(Fault::at(path, 1, text));
    }
    if path.ends_with("/src/lib.rs") {
        faults.extend(parts(path, &header));
    }
    faults
}

fn parts(path: &str, header: &[&str]) -> Vec<Fault> {
    let found: Vec<&str> = header.iter().copied().filter(|line| line.starts_with("# ")).collect();
    if found == PARTS {
        return Vec::new();
    }
    let text = format!("the header of a crate has the parts {}", PARTS.join(", "));
    vec![Fault::at(path, 1, text)]
}

/// Returns the lines of the first `//!` block without their marks.
fn header(text: &str) -> Vec<&str> {
    let is_before = |line: &&str| line.trim().is_empty() || line.starts_with("#![");
    let lines = text.lines().skip_while(is_before);
    lines.map_while(|line| line.strip_prefix("//!")).map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str) -> usize {
        check(&Tree::from_texts(&[(path, text)])).len()
    }

    #[test]
    fn a_module_needs_one_sentence() {
        let path = "crates/x/src/a.rs";
        let cases = [
            ("//! Does one thing.\n", 0),
            ("#![expect(dead_code)]\n//! Does one\n//! thing.\n", 0),
            ("//! Does one thing\n", 1),
            ("// Does one thing.\n", 1),
            ("/// Does one thing.\nfn a() {}\n", 1),
            ("fn a() {}\n//! Does one thing.\n", 1),
            ("", 1),
        ];
        for (text, expected) in cases {
            // The text may not be Rust as a whole: this rule reads lines.
            assert_eq!(file(path, text).len(), expected, "{text:?}");
        }
        assert_eq!(check_text(path, &"//! A line.\n".repeat(31)), 1);
    }

    #[test]
    fn a_crate_needs_three_parts_in_order() {
        let path = "crates/x/src/lib.rs";
        let whole = "//! Does.\n//!\n//! # Never knows\n//!\n//! A.\n//!\n//! # Holds\n//!\n//! B.\n\
                     //!\n//! # Start reading at\n//!\n//! C.\n";
        assert_eq!(check_text(path, whole), 0);
        assert_eq!(check_text(path, &whole.replace("# Holds", "Holds")), 1);
        assert_eq!(check_text(path, &whole.replace("# Never knows", "# Start reading at")), 1);
    }
}
