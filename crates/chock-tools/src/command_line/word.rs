//! Words: which of their letters are known, and what runs in them.

use tree_sitter::Node;

use super::read::Unreadable;
use super::script::{Part, Word};
use super::unquote;

/// How deep expansions may nest in a word.
const DEPTH_MAX: usize = 60;

/// Reads words of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'a> {
    pub(crate) source: &'a str,
    /// The home of commands: what `~` and `$HOME` are. Empty when the text may change it.
    pub(crate) home: &'a str,
}

impl Words<'_> {
    /// Reads a word.
    pub(crate) fn word(self, node: Node<'_>) -> Result<Word, Unreadable> {
        let mut parts = Vec::new();
        self.parts(node, Quotes::Out, &mut parts)?;
        let braces = self.braces(node);
        if braces {
            parts.push(Part::Words);
        }
        let mut merged: Vec<Part> = Vec::new();
        for part in parts {
            match (merged.last_mut(), part) {
                (Some(Part::Text(known)), Part::Text(more)) => known.push_str(&more),
                (_, part) => merged.push(part),
            }
        }
        Ok(Word(merged))
    }

    fn text(&self, node: Node<'_>) -> &str {
        &self.source[node.byte_range()]
    }

    fn parts(
        self,
        node: Node<'_>,
        quotes: Quotes,
        parts: &mut Vec<Part>,
    ) -> Result<(), Unreadable> {
        let text = self.text(node);
        let unknown = if quotes == Quotes::In { Part::Some } else { Part::Words };
        match node.kind() {
            "concatenation" => {
                let mut end = node.start_byte();
                for child in children(node) {
                    // A dollar before something else would begin an expansion.
                    let dollar = child.kind() == "$" && child.end_byte() != node.end_byte();
                    if child.start_byte() != end || dollar {
                        return Err(Unreadable);
                    }
                    end = child.end_byte();
                    self.parts(child, quotes, parts)?;
                }
            }
            "word" | "number" | "extglob_pattern" | "regex" | "test_operator" | "variable_name" => {
                parts.extend(self.plain(text, parts.is_empty())?);
            }
            // A lone dollar, bracket or brace.
            kind @ ("$" | "{" | "}" | "[" | "]") if !node.is_named() => {
                parts.push(Part::Text(kind.to_owned()));
            }
            "raw_string" => {
                let inner = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                parts.push(Part::Text(inner.ok_or(Unreadable)?.to_owned()));
            }
            "ansi_c_string" => {
                let inner = text.strip_prefix("$'").and_then(|rest| rest.strip_suffix('\''));
                let known = unquote::ansi_c(inner.ok_or(Unreadable)?).map(Part::Text);
                parts.push(known.unwrap_or(Part::Some));
            }
            "translated_string" => match node.named_child(0) {
                Some(string) if text.starts_with("$\"") => self.string(string, parts)?,
                Some(_) | None => return Err(Unreadable),
            },
            "string" => self.string(node, parts)?,
            // The grammar passes over blanks behind a dollar.
            "simple_expansion" if text.trim_start().contains([' ', '\t', '\n', '\\']) => {
                return Err(Unreadable);
            }
            "simple_expansion" | "expansion" => match self.variable(text) {
                Some(part) => parts.push(part),
                None if text.contains("@P}") => return Err(Unreadable),
                None => parts.push(unknown),
            },
            "command_substitution" => parts.push(unknown),
            // What is no arithmetic after all is a substitution to the shell.
            "arithmetic_expansion" if !is_arithmetic(text) => return Err(Unreadable),
            "process_substitution" | "arithmetic_expansion" => parts.push(Part::Some),
            "brace_expression" => parts.push(Part::Words),
            _ => return Err(Unreadable),
        }
        Ok(())
    }

    /// The variables whose value is known, however they are spelled.
    fn variable(&self, text: &str) -> Option<Part> {
        match text.trim_start() {
            "$HOME" | "${HOME}" if !self.home.is_empty() => Some(Part::Text(self.home.to_owned())),
            "$PWD" | "${PWD}" if !self.source.contains("PWD=") => Some(Part::Here),
            _ => None,
        }
    }

    fn plain(&self, text: &str, is_first: bool) -> Result<Vec<Part>, Unreadable> {
        let (mut parts, rest) = match text.strip_prefix('~') {
            Some(rest) if is_first && (rest.is_empty() || rest.starts_with('/')) => {
                let home = match self.home {
                    "" => Part::Some,
                    home => Part::Text(home.to_owned()),
                };
                (vec![home], rest)
            }
            Some(rest) if is_first => (vec![Part::Some], rest),
            _ => (Vec::new(), text),
        };
        if parts.is_empty() || !rest.is_empty() {
            parts.extend(unquote::plain(rest).ok_or(Unreadable)?);
        }
        Ok(parts)
    }

    /// Reads a string in double quotes.
    fn string(self, node: Node<'_>, parts: &mut Vec<Part>) -> Result<(), Unreadable> {
        let text = self.text(node);
        let inside = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let inside = inside.ok_or(Unreadable)?;
        let expands = |child: &Node<'_>| child.is_named() && child.kind() != "string_content";
        let children = children(node);
        if !children.iter().any(expands) {
            parts.push(Part::Text(unquote::double(inside).ok_or(Unreadable)?));
            return Ok(());
        }
        let mut end = node.start_byte() + 1;
        for child in children {
            // The grammar leaves blanks out, or takes them into what follows.
            if child.start_byte() > end {
                parts.push(Part::Text(self.source[end..child.start_byte()].to_owned()));
            }
            end = child.end_byte();
            match child.kind() {
                "\"" => {}
                "string_content" => {
                    let known = unquote::double(self.text(child)).map(Part::Text);
                    parts.push(known.unwrap_or(Part::Some));
                }
                kind if !child.is_named() => parts.push(Part::Text(kind.to_owned())),
                _ => {
                    let blanks = self.text(child);
                    let blanks = &blanks[..blanks.len() - blanks.trim_start().len()];
                    if !blanks.is_empty() {
                        parts.push(Part::Text(blanks.to_owned()));
                    }
                    self.parts(child, Quotes::In, parts)?;
                }
            }
        }
        // `"$@"` is as many words as there are arguments.
        if ["$@", "${@", "[@]"].iter().any(|words| text.contains(words)) {
            parts.push(Part::Words);
        }
        Ok(())
    }

    /// Whether braces outside of quotes make more words of this one.
    fn braces(self, node: Node<'_>) -> bool {
        let mut outside = String::new();
        match node.kind() {
            "word" => outside.push_str(self.text(node)),
            "concatenation" => {
                for child in children(node) {
                    match child.kind() {
                        "raw_string"
                        | "string"
                        | "ansi_c_string"
                        | "simple_expansion"
                        | "expansion"
                        | "command_substitution"
                        | "arithmetic_expansion" => {}
                        _ => outside.push_str(self.text(child)),
                    }
                }
            }
            _ => {}
        }
        outside.contains('{') && (outside.contains(',') || outside.contains(".."))
    }

    /// Finds the substitutions below a node that lie in no other.
    pub(crate) fn substitutions<'t>(self, node: Node<'t>) -> Result<Vec<Node<'t>>, Unreadable> {
        let mut found = Vec::new();
        self.look(node, 0, &mut found)?;
        Ok(found)
    }

    fn look<'t>(
        self,
        node: Node<'t>,
        depth: usize,
        found: &mut Vec<Node<'t>>,
    ) -> Result<(), Unreadable> {
        if depth > DEPTH_MAX {
            return Err(Unreadable);
        }
        match node.kind() {
            "arithmetic_expansion" if !is_arithmetic(self.text(node)) => return Err(Unreadable),
            "command_substitution" | "process_substitution" => {
                let text = self.text(node);
                // Within backticks a backslash means something else.
                if text.starts_with('`') && text.contains('\\') {
                    return Err(Unreadable);
                }
                found.push(node);
            }
            _ => {
                let mut cursor = node.walk();
                for child in node.children(&mut cursor) {
                    self.look(child, depth + 1, found)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether the shell takes it for arithmetic for certain: it looks for the end first.
pub(crate) fn is_arithmetic(text: &str) -> bool {
    let runs = text.contains("$(") && text[2..].contains("$(") || text.contains('`');
    !runs || !["case", "<<", "\n", "#", "'", "\"", "\\"].iter().any(|sign| text.contains(sign))
}

/// Where letters stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Out,
    In,
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}
