//! Replaces a piece of a file's content, and keeps its line endings and byte order mark.

use bstr::ByteSlice;

use crate::hint;

/// The byte order mark of UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// How many places of several an answer names.
const PLACES_MAX: usize = 10;

/// The most lines that are compared for a hint; beyond it a file gets none.
const HINT_LINES_MAX: usize = 20_000;

/// How a file begins its text and ends its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    mark: bool,
    /// Every line ends with CRLF, and there is at least one.
    returns: bool,
}

/// What a replacement came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edited {
    pub(crate) bytes: Vec<u8>,
    /// How many places were replaced.
    pub(crate) places: usize,
    /// The line of the first one, counted from 1.
    pub(crate) line: usize,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EditFault {
    /// The piece is not there; a hint in words may say what comes close.
    Absent(Option<String>),
    /// It is there more than once, on these lines (the first ten).
    Several { places: usize, lines: Vec<usize> },
}

impl Style {
    /// Finds the style of a file's content.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let feeds = bytes.find_iter(b"\n").count();
        let returns = bytes.find_iter(b"\r\n").count();
        Self { mark: bytes.starts_with(BOM), returns: feeds > 0 && feeds == returns }
    }

    /// Gives plain content this style.
    pub(crate) fn apply(self, plain: &[u8]) -> Vec<u8> {
        let body = plain.strip_prefix(BOM).unwrap_or(plain);
        let body = if self.returns { with_returns(&without_returns(body)) } else { body.to_vec() };
        let marked = self.mark || plain.starts_with(BOM);
        if marked { [BOM, &body].concat() } else { body }
    }

    /// Names what was kept, to follow a size: `, CRLF line endings kept`.
    pub(crate) fn name(self) -> &'static str {
        match (self.mark, self.returns) {
            (true, true) => ", byte order mark and CRLF line endings kept",
            (true, false) => ", byte order mark kept",
            (false, true) => ", CRLF line endings kept",
            (false, false) => "",
        }
    }
}

fn without_returns(bytes: &[u8]) -> Vec<u8> {
    bytes.replace(b"\r\n", b"\n")
}

fn with_returns(bytes: &[u8]) -> Vec<u8> {
    bytes.replace(b"\n", b"\r\n")
}

/// Replaces `old` with `new` once, or everywhere when `all` is set.
///
/// In a file whose lines all end with CRLF both may be written with LF, as models do.
/// `old` is not empty.
pub(crate) fn edit(file: &[u8], old: &str, new: &str, all: bool) -> Result<Edited, EditFault> {
    let style = Style::of(file);
    let old = old.strip_prefix('\u{feff}').unwrap_or(old).as_bytes();
    let new = new.strip_prefix('\u{feff}').unwrap_or(new).as_bytes();
    let body = file.strip_prefix(BOM).unwrap_or(file);
    let mark = if style.mark { BOM } else { b"" };
    if style.returns {
        let body = without_returns(body);
        let edited = replace(&body, &without_returns(old), &without_returns(new), all)?;
        return Ok(Edited { bytes: [mark, &with_returns(&edited.bytes)].concat(), ..edited });
    }
    let edited = match replace(body, old, new, all) {
        // Mixed line endings: the place that is meant may be one that has CRLF.
        Err(EditFault::Absent(_)) if body.contains_str("\r\n") && !old.contains(&b'\r') => {
            replace(body, &with_returns(old), &with_returns(&without_returns(new)), all)
                .map_err(|fault| hinted(fault, body, old))?
        }
        result => result?,
    };
    Ok(Edited { bytes: [mark, &edited.bytes].concat(), ..edited })
}

fn hinted(fault: EditFault, body: &[u8], old: &[u8]) -> EditFault {
    match fault {
        EditFault::Absent(_) => EditFault::Absent(near(body, old)),
        several @ EditFault::Several { .. } => several,
    }
}

fn replace(body: &[u8], old: &[u8], new: &[u8], all: bool) -> Result<Edited, EditFault> {
    let starts: Vec<_> = body.find_iter(old).collect();
    let Some(first) = starts.first() else {
        return Err(EditFault::Absent(near(body, old)));
    };
    if starts.len() > 1 && !all {
        let lines = starts.iter().take(PLACES_MAX).map(|start| line_at(body, *start)).collect();
        return Err(EditFault::Several { places: starts.len(), lines });
    }
    Ok(Edited { bytes: body.replace(old, new), places: starts.len(), line: line_at(body, *first) })
}

fn line_at(body: &[u8], at: usize) -> usize {
    1 + body[..at].find_iter(b"\n").count()
}

/// Says what comes close to a piece that is not there: the same lines with other blanks, or
/// the line most like its first one.
fn near(body: &[u8], old: &[u8]) -> Option<String> {
    let (body, old) = (String::from_utf8_lossy(body), String::from_utf8_lossy(old));
    let lines: Vec<_> = body.lines().take(HINT_LINES_MAX).map(str::trim).collect();
    let wanted: Vec<_> = old.lines().map(str::trim).collect();
    let start = wanted.iter().position(|line| !line.is_empty())?;
    let end = wanted.iter().rposition(|line| !line.is_empty())?;
    let wanted = &wanted[start..=end];
    if let Some(at) = lines.windows(wanted.len()).position(|window| window == wanted) {
        return Some(format!(
            "the same text with other blanks at the ends of its lines is at line {}",
            at + 1
        ));
    }
    let line = hint::nearest(wanted[0], lines.iter().copied().filter(|line| !line.is_empty()))?;
    let at = lines.iter().position(|other| *other == line)?;
    let shown: String = line.chars().take(120).collect();
    Some(format!("the line most like its first one is line {}: {shown}", at + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(file: &str, old: &str, new: &str, expected: &str) {
        let edited = edit(file.as_bytes(), old, new, false).expect(file);
        assert_eq!(edited.bytes.as_bstr(), expected.as_bytes().as_bstr());
    }

    #[test]
    fn line_endings_and_the_mark_are_kept() {
        check("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\nc\r\n");
        check("a\r\nb\r\n", "a\r\nb", "a\r\nc", "a\r\nc\r\n");
        check("a\r\nb\r\n", "b", "b1\nb2", "a\r\nb1\r\nb2\r\n");
        check("\u{feff}a\nb\n", "a", "x", "\u{feff}x\nb\n");
        check("\u{feff}a\r\nb\r\n", "\u{feff}a\nb", "x\ny", "\u{feff}x\r\ny\r\n");
        check("a\nb\n", "a\n", "x\r\n", "x\r\nb\n");
        check("a\rb\n", "a\rb", "c", "c\n");
    }

    #[test]
    fn mixed_line_endings_are_found_as_they_are() {
        check("a\nb\r\nc\r\n", "b\nc", "x\ny", "a\nx\r\ny\r\n");
        check("a\nb\nc\r\n", "a\nb", "x", "x\nc\r\n");
    }

    #[test]
    fn what_is_there_twice_is_not_guessed() {
        let twice = edit(b"x\ny\nx\n", "x", "z", false);
        assert_eq!(twice, Err(EditFault::Several { places: 2, lines: vec![1, 3] }));
        let all = edit(b"x\ny\nx\n", "x", "z", true).expect("two places");
        assert_eq!((all.bytes.as_slice(), all.places), (&b"z\ny\nz\n"[..], 2));
    }

    #[test]
    fn what_comes_close_is_named() {
        let hint = |file: &str, old: &str| match edit(file.as_bytes(), old, "new", false) {
            Err(EditFault::Absent(hint)) => hint.unwrap_or_default(),
            other => panic!("{other:?}"),
        };
        let file = "fn one() {\n    let a = 1;\n    a\n}\n\nfn two() -> u8 {\n    2\n}\n";
        assert!(hint(file, "fn one() {\n\tlet a = 1;").contains("other blanks"));
        assert!(hint(file, "let a = 1;  \na\n").contains("at line 2"));
        assert!(hint(file, "fn two() -> u16 {").contains("line 6: fn two() -> u8 {"));
        assert_eq!(hint(file, "zzzzzz"), "");
        assert_eq!(hint(file, "\n\n\n\n"), "");
        assert_eq!(hint("", "x"), "");
        assert!(hint("a\r\nb = 1\nc\r\n", " b = 1\nc").contains("other blanks"));
    }

    #[test]
    fn bytes_that_are_no_text_are_kept() {
        let edited = edit(b"\xe9\n\xffone\xfe", "one", "two", false).expect("one place");
        assert_eq!(edited.bytes, b"\xe9\n\xfftwo\xfe");
        assert_eq!(edited.line, 2);
    }

    proptest! {
        #[test]
        fn an_edit_is_a_naive_replacement(
            file in "[ab\n ]{0,40}", old in "[ab\n ]{1,3}", new in "[abc\n]{0,4}", all: bool,
            mark: bool, returns: bool,
        ) {
            let styled = |text: &str| {
                let text = if returns { text.replace('\n', "\r\n") } else { text.to_owned() };
                if mark { format!("\u{feff}{text}") } else { text }
            };
            let count = file.matches(&old).count();
            let uniform = !returns || file.contains('\n');
            prop_assume!(uniform);
            match edit(styled(&file).as_bytes(), &old, &new, all) {
                Ok(edited) => {
                    prop_assert_eq!(edited.bytes, styled(&file.replace(&old, &new)).into_bytes());
                    prop_assert_eq!(edited.places, count);
                    prop_assert!(all || count == 1);
                }
                Err(EditFault::Absent(_)) => prop_assert_eq!(count, 0),
                Err(EditFault::Several { places, lines }) => {
                    prop_assert_eq!(places, count);
                    prop_assert!(!all && lines.len() == count.min(PLACES_MAX));
                }
            }
        }

        #[test]
        fn a_style_survives_a_whole_new_content(
            before in "[ab\n]{0,20}", after in "[ab\n]{0,20}", mark: bool, returns: bool,
        ) {
            let styled = |text: &str| {
                let text = if returns { text.replace('\n', "\r\n") } else { text.to_owned() };
                if mark { format!("\u{feff}{text}") } else { text }
            };
            prop_assume!(!returns || before.contains('\n'));
            let applied = Style::of(styled(&before).as_bytes()).apply(after.as_bytes());
            prop_assert_eq!(applied, styled(&after).into_bytes());
        }
    }
}
