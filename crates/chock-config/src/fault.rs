//! What is wrong with a file, ready to be shown.

use std::fmt;
use std::ops::Range;

/// One fault of a file.
///
/// `source` can be printed as it is: it has no control character in it, no token,
/// and is at most about 240 bytes long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file's name for people.
    pub file: String,
    /// Line of the fault, from 1.
    pub line: usize,
    /// Column of the fault in bytes, from 1.
    pub column: usize,
    /// The line itself, or the part of it around the fault.
    pub source: String,
    /// The bytes of `source` at fault; at its end, and empty, when something is missing.
    pub underline: Range<usize>,
    /// What is wrong: one sentence in lower case without a full stop.
    pub message: String,
    /// The known name that is nearest to the one that is wrong.
    pub nearest: Option<String>,
    /// Advice and further places, each one sentence.
    pub notes: Vec<String>,
}

/// Everything that is wrong with a file; at least one fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Takes faults in the order they are shown.
    ///
    /// # Panics
    ///
    /// There is none, which is a bug.
    pub(crate) fn new(faults: Vec<Fault>) -> Self {
        assert!(!faults.is_empty(), "a file without a fault is not refused");
        Self(faults)
    }

    /// The faults, at least one.
    #[must_use]
    pub fn as_slice(&self) -> &[Fault] {
        &self.0
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, source, underline, message, nearest, notes } = self;
        writeln!(out, "{file}:{line}:{column}: {message}")?;
        let number = line.to_string();
        let blank = " ".repeat(number.len());
        writeln!(out, " {number} | {source}")?;
        let before = source[..underline.start].chars().count();
        let marks = source[underline.clone()].chars().count().max(1);
        write!(out, " {blank} | {}{}", " ".repeat(before), "^".repeat(marks))?;
        if let Some(nearest) = nearest {
            write!(out, "\n {blank} = did you mean `{nearest}`?")?;
        }
        for note in notes {
            write!(out, "\n {blank} = {note}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for Faults {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(out, "{gap}{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// The candidate that `word` was probably meant to be, if one is near enough.
#[must_use]
pub fn nearest<'name>(
    word: &str,
    candidates: impl IntoIterator<Item = &'name str>,
) -> Option<&'name str> {
    // A longer word may have more mistakes, but never more than a third of it.
    let allowed = (word.chars().count().min(64) / 3).max(1);
    let measured = candidates.into_iter().filter(|_| word.len() <= 64).map(|candidate| {
        (strsim::damerau_levenshtein(&word.to_lowercase(), &candidate.to_lowercase()), candidate)
    });
    let (distance, candidate) = measured.min_by_key(|(distance, _)| *distance)?;
    (distance <= allowed).then_some(candidate)
}
