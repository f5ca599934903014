//! The tables of promises and invariants: each row names what holds it, and those tests exist.

use std::collections::BTreeSet;

use super::fault::Fault;
use super::tree::Tree;

/// Where the table stands.
const PAGE: &str = "docs/status.md";

/// A page whose second table names tests among other things.
const MAP: &str = "ARCHITECTURE.md";

/// How many words a span of [`MAP`] has at least when it is the name of a test.
const TEST_WORDS_MIN: usize = 4;

/// The states a promise can be in. Only the last needs no test.
const STATES: [&str; 3] = ["held", "in part", "not yet"];

/// Names every row without a state, and every test named that is not there.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let Some(page) = tree.text(PAGE) else {
        return vec![Fault::of(PAGE, "is missing")];
    };
    let tests = tests(tree);
    let mut faults = Vec::new();
    for (index, line) in page.lines().enumerate() {
        let Some([promise, state, proof]) = row(line) else { continue };
        let at = |text: String| Fault::at(PAGE, index + 1, text);
        if !STATES.contains(&state) {
            faults.push(at(format!("`{state}` is not one of: {}", STATES.join(", "))));
        }
        let spans = spans(proof);
        if spans.is_empty() && state != "not yet" {
            faults.push(at(format!("no test is named for: {promise}")));
        }
        let missing = spans.iter().filter(|span| !tests.contains(**span) && !tree.has(span));
        faults.extend(missing.map(|span| at(format!("there is no test `{span}`"))));
    }
    faults.extend(map(tree, &tests));
    faults
}

/// Names every test on the map that is not there.
fn map(tree: &Tree, tests: &BTreeSet<&str>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, line) in tree.text(MAP).unwrap_or_default().lines().enumerate() {
        let missing = spans(line).into_iter().filter(|span| is_test(span) && !tests.contains(span));
        faults.extend(
            missing.map(|span| Fault::at(MAP, index + 1, format!("there is no test `{span}`"))),
        );
    }
    faults
}

fn is_test(span: &str) -> bool {
    let is_name = span.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
    is_name && span.split('_').count() >= TEST_WORDS_MIN
}

/// Returns the three cells of a row of the table; not of its head.
fn row(line: &str) -> Option<[&str; 3]> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
    let cells: [&str; 3] = cells.try_into().ok()?;
    let is_head = cells[0] == "promise" || cells[0].chars().all(|mark| mark == '-');
    (!is_head).then_some(cells)
}

/// Returns what stands between single backquotes.
fn spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Returns the name of every function that only tests have, in Rust, Python and shell.
fn tests(tree: &Tree) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for (_, code) in tree.rust() {
        for pair in code.words.windows(2) {
            if pair[0].text == "fn" && code.is_test_line(pair[1].line) {
                names.insert(pair[1].text.as_str());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_page(page: &str) -> usize {
        let code = "fn shipped() {}\n#[cfg(test)]\nmod tests {\n#[test]\nfn it_holds() {}\n}";
        check(&Tree::from_texts(&[(PAGE, page), ("crates/x/src/a.rs", code)])).len()
    }

    #[test]
    fn a_row_names_tests_that_exist() {
        let cases = [
            ("| promise | state | tests |\n|---|---|---|\n", 0),
            ("| It holds | held | `it_holds` |", 0),
            ("| It holds | held | `crates/x/src/a.rs`, `it_holds` |", 0),
            ("| It holds | in part | `it_held` |", 1),
            ("| It holds | held | `shipped` |", 1),
            ("| It holds | held | by care |", 1),
            ("| It will | not yet | |", 0),
            ("| It holds | nearly | `it_holds` |", 1),
        ];
        for (page, expected) in cases {
            assert_eq!(check_page(page), expected, "{page}");
        }
    }

    #[test]
    fn the_map_names_tests_that_exist() {
        let code = "#[cfg(test)]\nmod tests {\n#[test]\nfn it_holds_for_all() {}\n}";
        let faults = |text: &str| {
            let texts = [(PAGE, ""), (MAP, text), ("crates/x/src/a.rs", code)];
            check(&Tree::from_texts(&texts)).len()
        };
        assert_eq!(faults("`it_holds_for_all`, `unsafe_code`, `Permit`"), 0);
        assert_eq!(faults("`it_held_for_all`"), 1);
    }

    #[test]
    fn the_page_itself_is_needed() {
        assert_eq!(check(&Tree::from_texts(&[])).len(), 1);
    }
}
