//! Holds a tree against its text: no letter may be lost between two tokens, and nothing that the
//! shell would run may pass for letters.

use tree_sitter::{Node, Tree};

use super::read::Unreadable;

/// Checks a whole tree.
pub(crate) fn check(tree: &Tree, source: &str) -> Result<(), Unreadable> {
    gaps(tree, source)?;
    substitutions(tree.root_node(), source)
}

/// What lies between two tokens is what the shell takes for a gap: blanks, the ends of lines, and a
/// backslash before one. A comment begins a word.
fn gaps(tree: &Tree, source: &str) -> Result<(), Unreadable> {
    let mut cursor = tree.walk();
    let mut end = 0;
    loop {
        // A text that is expanded is not made of tokens alone.
        let mut is_in_text = cursor.node().kind() != "heredoc_body" && in_heredoc(cursor.node());
        while cursor.goto_first_child() {
            is_in_text |= in_heredoc(cursor.node()) && cursor.node().start_byte() >= end;
        }
        let leaf = cursor.node();
        let whole = |at: usize| source.is_char_boundary(at);
        if !whole(leaf.start_byte()) || !whole(leaf.end_byte()) {
            return Err(Unreadable);
        }
        let gap = source.get(end..leaf.start_byte()).unwrap_or_default();
        let (before, after) = (&source[..end], &source[leaf.start_byte()..]);
        let dash = gap.trim_matches([' ', '\t']) == "-" && after.starts_with("<<");
        // The grammar loses a dash alone before a here-document.
        let known = is_gap(gap, before, after) || dash && gap.starts_with([' ', '\t']);
        if !known && !is_in_text && leaf.kind() != "heredoc_end" {
            return Err(Unreadable);
        }
        if leaf.kind() == "comment" {
            let before = before_of(leaf, source);
            let begins = before.is_none_or(|letter| " \t\n;&|(){".contains(letter));
            // The shell ends it with its line, whatever stands there; in backticks, with them.
            let ends = matches!(source[leaf.end_byte()..].chars().next(), None | Some('\n'))
                && !source[leaf.byte_range()].ends_with('\\');
            if !begins || !ends {
                return Err(Unreadable);
            }
        }
        end = end.max(leaf.end_byte());
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                let rest = source.get(end..).unwrap_or_default();
                return if is_gap(rest, &source[..end], "") { Ok(()) } else { Err(Unreadable) };
            }
        }
    }
}

fn in_heredoc(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| parent.kind() == "heredoc_body")
}

fn before_of(node: Node<'_>, source: &str) -> Option<char> {
    source[..node.start_byte()].chars().next_back()
}

fn is_gap(gap: &str, before: &str, after: &str) -> bool {
    let blank = |letter: char| matches!(letter, ' ' | '\t' | '\n');
    if gap.chars().all(blank) {
        return true;
    }
    // A line that goes on in the middle of a word is one word to the shell, and two here.
    let rest = gap.replace("\\\n", "");
    let apart = |letter: Option<char>| letter.is_none_or(|it| blank(it) || ";&|".contains(it));
    let joins =
        rest.is_empty() && !apart(before.chars().next_back()) && !apart(after.chars().next());
    rest.chars().all(blank) && !joins
}

/// Every `$(` and every backtick is a token, or stands where the shell does not look.
fn substitutions(root: Node<'_>, source: &str) -> Result<(), Unreadable> {
    let begins = source.match_indices("$(").chain(source.match_indices('`'));
    for (at, sign) in begins {
        let Some(node) = root.descendant_for_byte_range(at, at + sign.len()) else {
            return Err(Unreadable);
        };
        let escaped = source[..at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
        let fine = match node.kind() {
            "raw_string" | "ansi_c_string" | "comment" | "heredoc_body" => true,
            kind if !node.is_named() => kind.trim_start().starts_with(sign),
            _ => escaped,
        };
        if !fine {
            return Err(Unreadable);
        }
    }
    Ok(())
}
