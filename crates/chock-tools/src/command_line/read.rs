//! Reads a command line with the grammar of bash, and takes nothing for granted that it does not
//! know.
//!
//! Where the grammar is known to differ from the shell, the line counts as one that cannot be read.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::gaps;
use super::heredoc::HEREDOCS_MAX;
use super::script::{Assignment, Part, Simple, Statement, Word};
use super::word::Words;

/// The longest text that is read, in bytes. A here-document of that length is a file.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 10;

/// How deep constructs may nest in each other: far over what people write, far under the stack.
const DEPTH_MAX: usize = 60;

/// How many statements a text may have: those of a list hang in each other.
const STATEMENTS_MAX: usize = 1000;

/// How many steps the parser may take, as it counts them. A long line of a person's takes a
/// hundredth; it only grows where the parser looks for a mistake.
const STEPS_MAX: usize = 20_000;

/// The text is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreadable;

/// Reads a text into its statements.
pub(crate) fn read(source: &str, home: &str) -> Result<Statement, Unreadable> {
    if source.len() > TEXT_BYTES_MAX || source.matches("<<").count() > HEREDOCS_MAX * 2 {
        return Err(Unreadable);
    }
    if source.bytes().any(|byte| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n')) {
        return Err(Unreadable);
    }
    let plain = plain(source);
    let tree = parse(&plain)?;
    if tree.root_node().has_error() {
        return Err(Unreadable);
    }
    gaps::check(&tree, source)?;
    let mut reader = Reader { source, home, depth: 0, statements: 0 };
    reader.sequence(tree.root_node())
}

/// The text with a letter in place of each byte that is not ASCII: they are letters of words to
/// the shell, and the grammar's scanner reads outside of its tables for them.
fn plain(source: &str) -> String {
    source.bytes().map(|byte| if byte.is_ascii() { char::from(byte) } else { '.' }).collect()
}

fn parse(source: &str) -> Result<Tree, Unreadable> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| Unreadable)?;
    let mut steps = 0;
    let mut count = |_: &ParseState| {
        steps += 1;
        if steps > STEPS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut count);
    let mut input = |offset: usize, _| source.as_bytes().get(offset..).unwrap_or_default();
    parser.parse_with_options(&mut input, None, Some(options)).ok_or(Unreadable)
}

/// Makes statements of nodes.
pub(crate) struct Reader<'a> {
    pub(crate) source: &'a str,
    home: &'a str,
    depth: usize,
    statements: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn text(&self, node: Node<'_>) -> &'a str {
        &self.source[node.byte_range()]
    }

    fn words(&self) -> Words<'a> {
        Words { source: self.source, home: self.home }
    }

    /// Reads what stands between separators.
    fn sequence(&mut self, node: Node<'_>) -> Result<Statement, Unreadable> {
        let mut statements: Vec<Statement> = Vec::new();
        for child in children(node) {
            match child.kind() {
                "comment" | "heredoc_body" | "heredoc_end" => {}
                "&" => {
                    let last = statements.pop().ok_or(Unreadable)?;
                    statements.push(Statement::Apart(Box::new(last)));
                }
                ";" | "\n" | "(" | ")" | "{" | "}" | "$(" | "`" | "<(" | ">(" | "do" | "done" => {}
                "file_redirect" => {
                    // `$(< file)` reads a file and runs nothing.
                    let mut simple = Simple::default();
                    let words = self.file_redirect(child, &mut simple.redirects)?;
                    if !words.is_empty() {
                        return Err(Unreadable);
                    }
                    statements.push(Statement::Simple(simple));
                }
                _ if child.is_named() => statements.push(self.statement(child)?),
                _ => return Err(Unreadable),
            }
        }
        Ok(match statements.len() {
            1 => statements.remove(0),
            _ => Statement::Then(statements),
        })
    }

    pub(crate) fn statement(&mut self, node: Node<'_>) -> Result<Statement, Unreadable> {
        self.depth += 1;
        self.statements += 1;
        if self.depth > DEPTH_MAX || self.statements > STATEMENTS_MAX {
            return Err(Unreadable);
        }
        let statement = self.one(node)?;
        self.depth -= 1;
        Ok(statement)
    }

    fn one(&mut self, node: Node<'_>) -> Result<Statement, Unreadable> {
        match node.kind() {
            "command" => self.command(node),
            "redirected_statement" => self.redirected(node),
            "pipeline" => self.pipeline(node),
            "list" => self.list(node),
            "subshell" => Ok(Statement::Apart(Box::new(self.sequence(node)?))),
            "compound_statement" if children(node).first().is_some_and(|it| it.kind() == "((") => {
                self.expression(node)
            }
            "compound_statement" => self.sequence(node),
            "negated_command" => match children(node).as_slice() {
                [_, inner] => Ok(Statement::Not(Box::new(self.statement(*inner)?))),
                _ => Err(Unreadable),
            },
            "test_command" => self.expression(node),
            "declaration_command" | "unset_command" => self.declaration(node),
            "variable_assignment" | "variable_assignments" => self.assignments(node),
            "function_definition" => self.function(node),
            "if_statement"
            | "elif_clause"
            | "else_clause"
            | "while_statement"
            | "for_statement"
            | "c_style_for_statement"
            | "case_statement"
            | "case_item"
            | "do_group" => self.compound(node),
            _ => Err(Unreadable),
        }
    }

    /// Reads a compound: every statement in it may run, and every expansion.
    fn compound(&mut self, node: Node<'_>) -> Result<Statement, Unreadable> {
        let mut parts = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "comment" => {}
                "&" => {
                    let last = parts.pop().ok_or(Unreadable)?;
                    parts.push(Statement::Apart(Box::new(last)));
                }
                kind if is_statement(kind) => parts.push(self.statement(child)?),
                _ if child.is_named() => parts.extend(self.inner(child)?),
                _ => {}
            }
        }
        Ok(match node.kind() {
            "while_statement" | "for_statement" | "c_style_for_statement" => Statement::Loop(parts),
            _ => Statement::Maybe(parts),
        })
    }

    /// Holds a piece of a command against the one before it: without a gap, two words are one to
    /// the shell, and a number belongs to the word and not to a redirection.
    pub(crate) fn apart(&self, last: Option<usize>, child: Node<'_>) -> Result<(), Unreadable> {
        let touches = last == Some(child.start_byte());
        let redirects =
            matches!(child.kind(), "file_redirect" | "herestring_redirect" | "heredoc_redirect");
        let numbered = self.text(child).starts_with(|letter: char| letter.is_ascii_digit());
        let is_one = touches && (!redirects || numbered);
        if is_one || self.is_torn(last, child.start_byte()) { Err(Unreadable) } else { Ok(()) }
    }

    /// Returns the pieces of a command, each apart from the one before it.
    pub(crate) fn pieces<'tree>(&self, node: Node<'tree>) -> Result<Vec<Node<'tree>>, Unreadable> {
        let pieces = children(node);
        let mut last = None;
        for piece in &pieces {
            self.apart(last, *piece)?;
            last = Some(piece.end_byte());
        }
        Ok(pieces)
    }

    /// Whether a line ends between two pieces of what must be one command.
    pub(crate) fn is_torn(&self, end: Option<usize>, start: usize) -> bool {
        let gap = end.and_then(|end| self.source.get(end..start)).unwrap_or_default();
        gap.replace("\\\n", "").contains('\n')
    }

    /// Reads what is computed or compared: only its substitutions run anything.
    fn expression(&mut self, node: Node<'_>) -> Result<Statement, Unreadable> {
        // Brackets that touch what they hold are letters of a word.
        let text = self.text(node);
        let brackets = ["[[", "["].into_iter().find(|bracket| text.starts_with(bracket));
        if let Some(bracket) = brackets {
            let blank = [' ', '\t', '\n', '\\'];
            let opens = text[bracket.len()..].starts_with(blank);
            let closes = text[..text.len() - bracket.len()].ends_with(blank);
            if !opens || !closes {
                return Err(Unreadable);
            }
        } else if !words_of_arithmetic(text) {
            return Err(Unreadable);
        }
        let mut words = Vec::new();
        if children(node).first().is_some_and(|first| first.kind() == "[") {
            words = vec![Word::of("["), Word::words()];
        }
        let inner = self.inner(node)?;
        let redirects = Vec::new();
        Ok(Statement::Simple(Simple { inner, words, redirects, assignments: Vec::new() }))
    }

    /// Collects what the substitutions anywhere below a node run.
    pub(crate) fn inner(&mut self, node: Node<'_>) -> Result<Vec<Statement>, Unreadable> {
        let mut found = Vec::new();
        for substitution in self.words().substitutions(node)? {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return Err(Unreadable);
            }
            found.push(Statement::Apart(Box::new(self.sequence(substitution)?)));
            self.depth -= 1;
        }
        Ok(found)
    }

    pub(crate) fn word(
        &mut self,
        node: Node<'_>,
        inner: &mut Vec<Statement>,
    ) -> Result<Word, Unreadable> {
        inner.extend(self.inner(node)?);
        self.words().word(node)
    }

    fn command(&mut self, node: Node<'_>) -> Result<Statement, Unreadable> {
        let mut simple = Simple::default();
        for child in self.pieces(node)? {
            match child.kind() {
                "variable_assignment" => self.assignment(child, &mut simple)?,
                "file_redirect" => {
                    let words = self.file_redirect(child, &mut simple.redirects)?;
                    simple.words.extend(words);
                }
                "herestring_redirect" => {
                    let redirect = self.herestring(child)?;
                    simple.redirects.push(redirect);
                }
                kind => {
                    let word = match kind {
                        "==" | "=~" | "$" => Word::of(kind),
                        "command_name" => {
                            let name = child.child(0).ok_or(Unreadable)?;
                            self.word(name, &mut simple.inner)?
                        }
                        _ => self.word(child, &mut simple.inner)?,
                    };
                    simple.words.push(word);
                }
            }
        }
        Ok(Statement::Simple(simple))
    }

    fn assignment(&mut self, node: Node<'_>, simple: &mut Simple) -> Result<(), Unreadable> {
        let name = node.child_by_field_name("name").ok_or(Unreadable)?;
        simple.inner.extend(self.inner(name)?);
        let value = match node.child_by_field_name("value") {
            Some(value) if value.kind() == "array" => {
                simple.inner.extend(self.inner(value)?);
                Word(vec![Part::Some])
            }
            Some(value) => self.word(value, &mut simple.inner)?,
            None => Word::of(""),
        };
        let known = match name.kind() {
            "variable_name" => self.text(name),
            _ => self.text(name).split('[').next().unwrap_or_default(),
        };
        simple.assignments.push(Assignment { name: known.to_owned(), value });
        Ok(())
    }

    fn assignments(&mut self, node: Node<'_>) -> Result<Statement, Unreadable> {
        let mut simple = Simple::default();
        if node.kind() == "variable_assignment" {
            self.assignment(node, &mut simple)?;
        } else {
            for child in children(node) {
                self.assignment(child, &mut simple)?;
            }
        }
        Ok(Statement::Simple(simple))
    }

    /// Reads `export`, `declare`, `local`, `unset` and their like.
    fn declaration(&mut self, node: Node<'_>) -> Result<Statement, Unreadable> {
        let mut simple = Simple::default();
        for child in self.pieces(node)? {
            match child.kind() {
                "variable_assignment" => self.assignment(child, &mut simple)?,
                "variable_name" => simple.words.push(Word::of(self.text(child))),
                kind if !child.is_named() => simple.words.push(Word::of(kind)),
                _ => {
                    let word = self.word(child, &mut simple.inner)?;
                    simple.words.push(word);
                }
            }
        }
        Ok(Statement::Simple(simple))
    }

    fn function(&mut self, node: Node<'_>) -> Result<Statement, Unreadable> {
        let name = node.child_by_field_name("name").ok_or(Unreadable)?;
        let name = self.words().word(name)?.text().ok_or(Unreadable)?;
        let body = node.child_by_field_name("body").ok_or(Unreadable)?;
        let mut body = self.statement(body)?;
        let mut redirects = Vec::new();
        let mut cursor = node.walk();
        let found: Vec<_> = node.children_by_field_name("redirect", &mut cursor).collect();
        for redirect in found {
            match redirect.kind() {
                "file_redirect" if self.file_redirect(redirect, &mut redirects)?.is_empty() => {}
                _ => return Err(Unreadable),
            }
        }
        if !redirects.is_empty() {
            body = Statement::Redirected(Box::new(body), redirects);
        }
        Ok(Statement::Function(name, Box::new(body)))
    }

    fn pipeline(&mut self, node: Node<'_>) -> Result<Statement, Unreadable> {
        let mut parts = Vec::new();
        for child in children(node) {
            match child.kind() {
                "|" | "|&" | "comment" => {}
                _ => parts.push(self.statement(child)?),
            }
        }
        // `!` stands before the whole of a pipeline.
        Ok(match parts.first_mut() {
            Some(Statement::Not(first)) => {
                let first = std::mem::replace(&mut **first, Statement::Then(Vec::new()));
                parts[0] = first;
                Statement::Not(Box::new(Statement::Pipeline(parts)))
            }
            _ => Statement::Pipeline(parts),
        })
    }

    /// Reads `a && b || c`, which hangs to the left, without going down for each.
    fn list(&mut self, node: Node<'_>) -> Result<Statement, Unreadable> {
        let mut rights = Vec::new();
        let mut left = node;
        while left.kind() == "list" {
            let parts: Vec<_> =
                children(left).into_iter().filter(|child| child.kind() != "comment").collect();
            let &[first, operator, right] = parts.as_slice() else { return Err(Unreadable) };
            rights.push((operator.kind() == "&&", right));
            left = first;
        }
        let mut whole = self.statement(left)?;
        for (and, right) in rights.into_iter().rev() {
            let right = Box::new(self.statement(right)?);
            whole = joined(and, whole, right);
        }
        Ok(whole)
    }
}

pub(crate) fn joined(and: bool, left: Statement, right: Box<Statement>) -> Statement {
    if and { Statement::And(Box::new(left), right) } else { Statement::Or(Box::new(left), right) }
}

/// Whether `((` begins arithmetic and not two subshells.
fn words_of_arithmetic(text: &str) -> bool {
    text.ends_with("))") && super::word::is_arithmetic(text)
}

fn is_statement(kind: &str) -> bool {
    matches!(
        kind,
        "command"
            | "redirected_statement"
            | "pipeline"
            | "list"
            | "subshell"
            | "compound_statement"
            | "negated_command"
            | "test_command"
            | "declaration_command"
            | "unset_command"
            | "variable_assignment"
            | "variable_assignments"
            | "function_definition"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "while_statement"
            | "for_statement"
            | "c_style_for_statement"
            | "case_statement"
            | "case_item"
            | "do_group"
    )
}

pub(crate) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}
