//! Every command and option that a page names stands on the page of the command line.

use std::collections::BTreeSet;

use super::fault::Fault;
use super::tree::Tree;

/// The page that a test of the program compares with the program's own help.
const PAGE: &str = "docs/command-line.md";

/// Names every command and option in the other pages that [`PAGE`] does not have.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let known: BTreeSet<&str> = match tree.text(PAGE) {
        Some(page) => snippets(page).into_iter().flat_map(|(_, snippet)| named(snippet)).collect(),
        None => return Vec::new(),
    };
    let pages = tree.texts().filter(|(path, _)| is_page(path));
    let mut faults = Vec::new();
    for (path, text) in pages {
        for (line, snippet) in snippets(text) {
            let unknown = named(snippet).into_iter().filter(|word| !known.contains(word));
            faults.extend(
                unknown.map(|word| {
                    Fault::at(path, line, format!("`{word}` is not on the page {PAGE}"))
                }),
            );
        }
    }
    faults
}

/// Says whether a file tells users what to type. Decisions also tell what was rejected.
fn is_page(path: &str) -> bool {
    let is_in_docs = path.starts_with("docs/") && !path.starts_with("docs/decisions/");
    path.ends_with(".md") && path != PAGE && (is_in_docs || !path.contains('/'))
}

/// Returns each code span and each line of a code block, with its line, counted from 1.
fn snippets(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_in_block = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_in_block = !is_in_block;
        } else if is_in_block {
            found.push((index + 1, line.trim().trim_start_matches("$ ")));
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(|span| (index + 1, span)));
        }
    }
    found
}

/// Returns the command and the options of a snippet that calls Chock, or is an option alone.
fn named(snippet: &str) -> Vec<&str> {
    let mut words = snippet.split_whitespace();
    match words.next() {
        Some("chock") => {}
        Some(word) if word.starts_with("--") => return option(word).into_iter().collect(),
        Some(_) | None => return Vec::new(),
    }
    let own: Vec<&str> = words.take_while(|word| *word != "--" && *word != "|").collect();
    let command = own.first().copied().filter(|word| is_command(word));
    command.into_iter().chain(own.iter().copied().filter_map(option)).collect()
}

fn is_command(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase())
        && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')
}

/// Returns the name of an option without its value or the brackets of a synopsis.
fn option(word: &str) -> Option<&str> {
    let start = word.find("--")?;
    let name = &word[start..];
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    let end = name.find(|letter| !is_name(letter)).unwrap_or(name.len());
    (word.trim_start_matches('[').starts_with("--") && end > 2).then(|| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_page(page: &str) -> usize {
        let known = "## `chock run [message]`\n\n- `--json`\n- `--session <id>`\n";
        check(&Tree::from_texts(&[(PAGE, known), ("docs/start.md", page)])).len()
    }

    #[test]
    fn what_a_page_tells_people_to_type_exists() {
        let cases = [
            ("Type `chock run --json`.", 0),
            ("Type `chock rnu`.", 1),
            ("Type `chock run --jason`.", 1),
            ("Use `--session <id>`.", 0),
            ("Use `--no-wall`.", 1),
            ("```sh\n$ chock run \"fix it\" --session=1\n```", 0),
            ("```sh\nchock walk\n```", 1),
            ("Type `chock run -- ls --all`.", 0),
            ("Words like chock walk are only words, as is `git commit --amend`.", 0),
        ];
        for (page, expected) in cases {
            assert_eq!(check_page(page), expected, "{page}");
        }
    }

    #[test]
    fn decisions_may_tell_what_was_rejected() {
        let pages = [(PAGE, "`chock run`"), ("docs/decisions/0001-a.md", "`chock walk --far`")];
        assert_eq!(check(&Tree::from_texts(&pages)).len(), 0);
    }
}
