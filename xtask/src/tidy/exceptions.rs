//! The list of what may be over a limit, which can only shrink.

use super::fault::Fault;
use super::tree::Tree;

/// Where the list stands.
pub(super) const LIST: &str = "xtask/exceptions.txt";

/// How many entries the list may have. Lower it when one goes.
const EXCEPTIONS_MAX: usize = 0;

/// What an entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    /// A file's lines.
    Lines {
        /// The file.
        path: String,
    },
    /// A function's lines.
    Function {
        /// The file.
        path: String,
        /// The function.
        name: String,
    },
}

/// The list, and which of its entries were needed.
#[derive(Debug)]
pub(super) struct Exceptions {
    entries: Vec<Entry>,
    faults: Vec<Fault>,
}

#[derive(Debug)]
struct Entry {
    line: usize,
    subject: Subject,
    size: usize,
    is_needed: bool,
}

impl Exceptions {
    /// Reads the list.
    pub(super) fn read(tree: &Tree) -> Self {
        let text = tree.text(LIST).unwrap_or_default();
        let mut list = Self { entries: Vec::new(), faults: Vec::new() };
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let line_number = index + 1;
            match entry(line) {
                Some((subject, size)) => {
                    list.entries.push(Entry { line: line_number, subject, size, is_needed: false });
                }
                None => list.faults.push(Fault::at(LIST, line_number, "not an entry of this list")),
            }
        }
        list
    }

    /// Says whether `subject` may be `size` large; an entry has to name exactly that.
    pub(super) fn allow(&mut self, subject: &Subject, size: usize) -> bool {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.subject == *subject) else {
            return false;
        };
        entry.is_needed = true;
        if entry.size > size {
            let text = format!("names {}, and {size} stand there: lower it", entry.size);
            self.faults.push(Fault::at(LIST, entry.line, text));
        }
        entry.size >= size
    }

    /// Returns the faults of the list itself, the unneeded entries among them.
    pub(super) fn finish(self) -> Vec<Fault> {
        let unneeded = self.entries.iter().filter(|entry| !entry.is_needed);
        let mut faults = self.faults;
        faults.extend(
            unneeded.map(|entry| Fault::at(LIST, entry.line, "is no longer needed: remove it")),
        );
        faults
    }
}

/// Checks the number of entries.
pub(super) fn check_count(tree: &Tree) -> Option<Fault> {
    let text = tree.text(LIST).unwrap_or_default();
    let count =
        text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count();
    let text = format!("has {count} entries, and EXCEPTIONS_MAX is {EXCEPTIONS_MAX}");
    (count != EXCEPTIONS_MAX).then(|| Fault::of(LIST, text))
}

fn entry(line: &str) -> Option<(Subject, usize)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let own = |word: &str| word.to_owned();
    match *words.as_slice() {
        ["lines", path, lines] => Some((Subject::Lines { path: own(path) }, lines.parse().ok()?)),
        ["function", path, name, lines] => {
            Some((Subject::Function { path: own(path), name: own(name) }, lines.parse().ok()?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> Subject {
        Subject::Lines { path: "a.rs".to_owned() }
    }

    /// Reads a list of one entry, asks for `size`, and counts the list's faults.
    fn check(list: &str, size: usize) -> (bool, usize) {
        let tree = Tree::from_texts(&[(LIST, list)]);
        let mut exceptions = Exceptions::read(&tree);
        let is_allowed = exceptions.allow(&subject(), size);
        (is_allowed, exceptions.finish().len())
    }

    #[test]
    fn an_entry_allows_exactly_what_it_names() {
        assert_eq!(check("lines a.rs 700", 700), (true, 0));
        assert_eq!(check("lines a.rs 700", 701), (false, 0), "grown");
        assert_eq!(check("lines a.rs 700", 650), (true, 1), "shrunk: the entry must follow");
    }

    #[test]
    fn an_entry_nobody_needs_is_a_fault() {
        let tree = Tree::from_texts(&[(LIST, "# head\n\nlines b.rs 700\n")]);
        assert_eq!(Exceptions::read(&tree).finish().len(), 1);
    }

    #[test]
    fn what_is_not_an_entry_is_a_fault() {
        assert_eq!(check("lines a.rs many", 700), (false, 1));
    }

    #[test]
    fn one_entry_more_than_the_constant_is_a_fault() {
        let list = "lines a.rs 700\n".repeat(EXCEPTIONS_MAX + 1);
        assert!(check_count(&Tree::from_texts(&[(LIST, &list)])).is_some());
    }
}
