//! Merges what the session made of a file with what the person made of it.

use git2::{MergeFileInput, MergeFileOptions};

use crate::compare::COMPARED_BYTES_MAX;

/// What two changes of one file come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Merged {
    /// Both fit.
    Whole(Vec<u8>),
    /// Both changed the same lines: the text with both, between marks.
    Conflict(Vec<u8>),
    /// It is no text.
    Binary,
}

/// Merges `theirs`, which the session made of `base`, into `ours`, which the person made.
pub(crate) fn texts(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Merged, git2::Error> {
    if ours == base || ours == theirs {
        return Ok(Merged::Whole(theirs.to_vec()));
    }
    if theirs == base {
        return Ok(Merged::Whole(ours.to_vec()));
    }
    if [base, ours, theirs].into_iter().any(is_binary) {
        return Ok(Merged::Binary);
    }
    // A checkout may have other line ends than the tree.
    let has_crlf = |text: &[u8]| text.windows(2).any(|pair| pair == b"\r\n");
    if has_crlf(ours) != has_crlf(base) && without_cr(ours) == without_cr(base) {
        let merged = without_cr(theirs);
        return Ok(Merged::Whole(if has_crlf(ours) { with_cr(&merged) } else { merged }));
    }
    git(base, ours, theirs)
}

fn git(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<Merged, git2::Error> {
    let side = |content| {
        let mut input = MergeFileInput::new();
        input.content(content);
        input
    };
    let mut options = MergeFileOptions::new();
    options.our_label("yours").their_label("the session's").ancestor_label("before");
    let (base, ours, theirs) = (side(base), side(ours), side(theirs));
    let result = git2::merge_file(&base, &ours, &theirs, Some(&mut options))?;
    let text = result.content().to_vec();
    Ok(if result.is_automergeable() { Merged::Whole(text) } else { Merged::Conflict(text) })
}

/// As git judges it, by its first bytes.
fn is_binary(text: &[u8]) -> bool {
    const LOOKED_AT: usize = 8000;
    text.len() as u64 > COMPARED_BYTES_MAX || text[..text.len().min(LOOKED_AT)].contains(&0)
}

/// A text with line feeds alone at its lines' ends.
pub(crate) fn without_cr(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (at, byte) in text.iter().enumerate() {
        if *byte != b'\r' || text.get(at + 1) != Some(&b'\n') {
            out.push(*byte);
        }
    }
    out
}

fn with_cr(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 16);
    for byte in text {
        if *byte == b'\n' {
            out.push(b'\r');
        }
        out.push(*byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Merged, texts};

    #[test]
    fn both_sides_come_in_or_both_are_shown() {
        let check = |base: &str, ours: &str, theirs: &str, expected: Merged| {
            let merged = texts(base.as_bytes(), ours.as_bytes(), theirs.as_bytes());
            assert_eq!(merged.expect("an answer"), expected, "{ours:?} {theirs:?}");
        };
        let whole = |text: &str| Merged::Whole(text.into());
        let base = "1\n2\n3\n4\n5\n6\n7\n";
        check(base, base, "x\n", whole("x\n"));
        check(base, "x\n", base, whole("x\n"));
        check(base, "x\n", "x\n", whole("x\n"));
        let (ours, theirs) = ("one\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\n4\n5\n6\nseven");
        check(base, ours, theirs, whole("one\n2\n3\n4\n5\n6\nseven"));
        let both = "<<<<<<< yours\none\n=======\nun\n>>>>>>> the session's\n2\n3\n4\n5\n6\n7\n";
        check(base, ours, "un\n2\n3\n4\n5\n6\n7\n", Merged::Conflict(both.into()));
        check("a\n\0", "b\n\0", "c\n\0", Merged::Binary);
        check("1\n2\n", "1\r\n2\r\n", "1\n2\nx\n", whole("1\r\n2\r\nx\r\n"));
        check("1\r\n2\r\n", "1\n2\n", "1\r\n3\r\n", whole("1\n3\n"));
    }
}
