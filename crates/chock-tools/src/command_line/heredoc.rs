//! Holds the here-documents that were found against the shell's own rule of where they end.

use tree_sitter::Node;

use super::read::Unreadable;

/// More here-documents than this nobody writes in one line; what the grammar keeps of each is
/// bounded too.
pub(crate) const HEREDOCS_MAX: usize = 16;

/// The longest delimiter, in bytes.
const DELIMITER_BYTES_MAX: usize = 48;

/// A here-document.
#[derive(Debug)]
pub(crate) struct Heredoc<'a> {
    /// Its text as written.
    pub(crate) text: &'a str,
    /// Whether nothing in it is expanded.
    pub(crate) is_raw: bool,
    /// Whether tabs at the beginnings of its lines are left out.
    pub(crate) is_indented: bool,
}

/// Reads a `heredoc_redirect`.
///
/// The grammar and the shell differ on some delimiters and indents; where they do, what follows
/// would be read wrongly.
pub(crate) fn read<'a>(node: Node<'_>, source: &'a str) -> Result<Heredoc<'a>, Unreadable> {
    let child = |kind: &str| {
        let mut cursor = node.walk();
        node.children(&mut cursor).find(|child| child.kind() == kind)
    };
    let start = child("heredoc_start").ok_or(Unreadable)?;
    let end = child("heredoc_end").ok_or(Unreadable)?;
    let is_indented = child("<<-").is_some();
    let written = &source[start.byte_range()];
    let bare = ['\'', '"']
        .into_iter()
        .find_map(|quote| written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)));
    let delimiter = bare.unwrap_or(written);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let fits = (1..=DELIMITER_BYTES_MAX).contains(&delimiter.len());
    if !fits || !delimiter.bytes().all(plain) {
        return Err(Unreadable);
    }
    let from = source[start.end_byte()..].find('\n').ok_or(Unreadable)? + start.end_byte() + 1;
    let mut at = from;
    for line in source[from..].split_inclusive('\n') {
        let words = line.strip_suffix('\n').unwrap_or(line);
        let words = if is_indented { words.trim_start_matches('\t') } else { words };
        if words == delimiter {
            let ends_here = at <= end.start_byte() && end.start_byte() < at + line.len();
            let text = &source[from..at];
            let is_raw = bare.is_some();
            // The grammar sees no backticks in a text that is expanded, and nothing at all in some.
            let expands = |body: Node<'_>| body.child_count() == 0 && is_live(text, "$(");
            let unseen = is_live(text, "`") || child("heredoc_body").is_some_and(expands);
            let seen = is_raw || !unseen;
            let begins_here = child("heredoc_body").is_none_or(|body| {
                let first = body.start_byte();
                first >= from && source[from..first].trim().is_empty()
            });
            let read = begins_here && ends_here && seen;
            return if read { Ok(Heredoc { text, is_raw, is_indented }) } else { Err(Unreadable) };
        }
        at += line.len();
    }
    Err(Unreadable)
}

/// Whether a sign stands somewhere without a backslash that takes its meaning.
fn is_live(text: &str, sign: &str) -> bool {
    let taken =
        |at: usize| text[..at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
    text.match_indices(sign).any(|(at, _)| !taken(at))
}
