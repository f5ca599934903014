//! Finds the names that somebody may have meant.

/// How many names are shown.
const SHOWN_MAX: usize = 3;
/// The longest name that is compared, in bytes; the longest seen is about 80.
const NAME_BYTES_MAX: usize = 128;

/// Lists the names nearest to `wanted`, best first.
pub(crate) fn nearest(wanted: &str, names: &[String]) -> Vec<String> {
    let wanted = wanted.to_lowercase();
    if wanted.len() > NAME_BYTES_MAX {
        return Vec::new();
    }
    let mut near: Vec<_> = names
        .iter()
        .filter(|name| name.len() <= NAME_BYTES_MAX)
        .filter_map(|name| distance(&wanted, &name.to_lowercase()).map(|far| (far, name)))
        .collect();
    near.sort();
    near.into_iter().take(SHOWN_MAX).map(|(_, name)| name.clone()).collect()
}

/// Counts edits, or says that two names have nothing to do with each other.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let edits = edits(wanted, name);
    let near = edits <= (wanted.chars().count() / 3).max(2);
    let within =
        !wanted.is_empty() && !name.is_empty() && (name.contains(wanted) || wanted.contains(name));
    (near || within).then_some(edits)
}

/// Counts the characters to insert, delete or replace (Levenshtein).
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (deleted, character) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = deleted + 1;
        for place in 0..to.len() {
            let replaced = diagonal + usize::from(to[place] != character);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        let cases = [("", "", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2)];
        for (from, to, expected) in cases {
            assert_eq!(edits(from, to), expected, "{from} {to}");
            assert_eq!(edits(to, from), expected, "{to} {from}");
        }
    }

    #[test]
    fn what_was_meant_comes_first() {
        let names = ["fake-model", "fake-small", "gpt-oss-20b", "org/qwen3-8b"].map(str::to_owned);
        assert_eq!(nearest("fake-modle", &names), ["fake-model"]);
        assert_eq!(nearest("Qwen3-8b", &names), ["org/qwen3-8b"]);
        assert_eq!(nearest("gpt-oss", &names), ["gpt-oss-20b"]);
        assert!(nearest("something-else", &names).is_empty());
        assert!(nearest("", &names).is_empty());
    }
}
