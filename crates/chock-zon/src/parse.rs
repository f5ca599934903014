//! Reads tokens into a tree and finds every fault on the way.

use serde::de::DeserializeOwned;

use crate::diagnostic::{Diagnostic, FAULTS_MAX, Kind};
use crate::place::{Lines, Span};
use crate::token::{self, Reason, Tag, Token};
use crate::tree::{NodeData, NodeId, ShapeData, Tree};

/// The largest text that is read: 1 MiB. Configuration is written by hand.
pub const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// How deep values may lie in each other. Reading recurses, so the stack bounds it.
pub const DEPTH_MAX: usize = 128;

/// Reads `text` into a `T`, or says everything that is wrong with it.
///
/// # Errors
///
/// At least one fault and at most [`FAULTS_MAX`]. Faults of the text come alone: a text
/// with one of them is not compared with `T`.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Vec<Diagnostic>> {
    parse(text)?.root().read()
}

/// Reads UTF-8 `bytes` as [`from_str`] reads a text.
///
/// # Errors
///
/// As [`from_str`], and [`Kind::NotUtf8`] at the first byte that is not UTF-8.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Vec<Diagnostic>> {
    parse_bytes(bytes)?.root().read()
}

/// Reads UTF-8 `bytes` as [`parse`] reads a text.
///
/// # Errors
///
/// As [`parse`], and [`Kind::NotUtf8`] at the first byte that is not UTF-8.
pub fn parse_bytes(bytes: &[u8]) -> Result<Tree, Vec<Diagnostic>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text),
        Err(fault) => {
            let (good, _) = bytes.split_at(fault.valid_up_to());
            let good = std::str::from_utf8(good).expect("invariant: valid up to here");
            let span = Span { start: good.len(), end: good.len() + 1 };
            let place = Lines::of(good).place(span);
            Err(vec![Diagnostic::new(place, Kind::NotUtf8, "this byte is not UTF-8 text")])
        }
    }
}

/// Reads `text` into a tree.
///
/// # Errors
///
/// At least one fault and at most [`FAULTS_MAX`]: those of the grammar first, in the
/// order of the text, then those of single literals and names.
pub fn parse(text: &str) -> Result<Tree, Vec<Diagnostic>> {
    if text.len() > TEXT_BYTES_MAX {
        let place = Lines::of("").place(Span::default());
        let message =
            format!("the text has {} bytes, and at most {TEXT_BYTES_MAX} are read", text.len());
        return Err(vec![Diagnostic::new(place, Kind::TooLarge, message)]);
    }
    let mut parser = Parser {
        text,
        lines: Lines::of(text),
        tokens: token::tokens(text),
        at: 0,
        depth: 0,
        nodes: Vec::new(),
        grammar: Vec::new(),
        meaning: Vec::new(),
    };
    let root = parser.document();
    parser.finish(root)
}

/// Faults of single values that are kept until they are sorted and cut to [`FAULTS_MAX`].
const MEANING_MAX: usize = 16 * FAULTS_MAX;

/// Reads tokens in one pass. Values are in `operand.rs`, structs and lists in `members.rs`.
pub(crate) struct Parser<'text> {
    text: &'text str,
    lines: Lines,
    tokens: Vec<Token>,
    at: usize,
    /// How many braces are open, at most [`DEPTH_MAX`].
    pub(crate) depth: usize,
    nodes: Vec<NodeData>,
    /// Faults that make the text something else than Zig.
    grammar: Vec<Diagnostic>,
    /// Faults of values in a text that is Zig.
    meaning: Vec<Diagnostic>,
}

/// A fault of the grammar was noted. The caller goes on behind it.
pub(crate) struct Lost;

impl Parser<'_> {
    fn document(&mut self) -> Option<NodeId> {
        let root = self.value().ok()?;
        if self.peek().tag == Tag::End {
            return Some(root);
        }
        self.unexpected("expected the end of the text");
        None
    }

    fn finish(self, root: Option<NodeId>) -> Result<Tree, Vec<Diagnostic>> {
        let Self { lines, nodes, grammar, mut meaning, .. } = self;
        meaning.sort_by_key(|fault| fault.span.start);
        let mut faults = grammar;
        faults.append(&mut meaning);
        faults.truncate(FAULTS_MAX);
        match root {
            Some(root) if faults.is_empty() => Ok(Tree { nodes, lines, root }),
            Some(_) | None => {
                assert!(!faults.is_empty(), "only a fault keeps a text from being a tree");
                Err(faults)
            }
        }
    }

    // The tokens. The last one is the end, and nothing moves past it.

    pub(crate) fn peek(&self) -> Token {
        self.ahead(0)
    }

    pub(crate) fn ahead(&self, count: usize) -> Token {
        self.tokens[(self.at + count).min(self.tokens.len() - 1)]
    }

    pub(crate) fn skip(&mut self, count: usize) {
        self.at = (self.at + count).min(self.tokens.len() - 1);
    }

    pub(crate) fn skip_all(&mut self) {
        self.at = self.tokens.len() - 1;
    }

    pub(crate) fn take(&mut self) -> Token {
        let token = self.peek();
        self.skip(1);
        token
    }

    pub(crate) fn take_if(&mut self, tag: Tag) -> bool {
        let found = self.peek().tag == tag;
        self.skip(usize::from(found));
        found
    }

    /// Where the last token that was taken ends.
    pub(crate) fn end_of_last(&self) -> Option<usize> {
        self.at.checked_sub(1).map(|at| self.tokens[at].span.end)
    }

    pub(crate) fn text(&self, span: Span) -> &str {
        &self.text[span.start..span.end]
    }

    pub(crate) fn node(&mut self, shape: ShapeData, span: Span) -> NodeId {
        self.node_at(shape, span, span)
    }

    pub(crate) fn node_at(&mut self, shape: ShapeData, span: Span, anchor: Span) -> NodeId {
        self.nodes.push(NodeData { shape, span, anchor });
        self.nodes.len() - 1
    }

    // Faults.

    pub(crate) fn fault(&self, span: Span, kind: Kind, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.lines.place(span), kind, message)
    }

    /// Adds a note to a fault.
    pub(crate) fn noted(&self, fault: Diagnostic, span: Span, message: &str) -> Diagnostic {
        fault.with_note(self.lines.place(span), message)
    }

    /// Notes a fault that makes the text something else than Zig.
    pub(crate) fn grammar(&mut self, fault: Diagnostic) {
        self.grammar.push(fault);
    }

    /// Notes a fault of a value in a text that is Zig.
    pub(crate) fn meaning(&mut self, fault: Diagnostic) {
        if self.meaning.len() < MEANING_MAX {
            self.meaning.push(fault);
        }
    }

    /// How many faults of values are known, for [`Parser::forget`].
    pub(crate) fn meanings(&self) -> usize {
        self.meaning.len()
    }

    /// Forgets all faults of values after the first `kept`: what was read is part of
    /// something that is refused as a whole.
    pub(crate) fn forget(&mut self, kept: usize) {
        self.meaning.truncate(kept);
    }

    pub(crate) fn is_lost(&self) -> bool {
        !self.grammar.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.grammar.len() >= FAULTS_MAX
    }

    pub(crate) fn syntax(&mut self, span: Span, message: impl Into<String>) {
        let fault = self.fault(span, Kind::Syntax, message);
        self.grammar(fault);
    }

    /// Notes that the next token does not belong here.
    ///
    /// When it stands on a later line, something is missing at the end of an earlier
    /// one, and that is where the fault points.
    pub(crate) fn unexpected(&mut self, expected: &str) {
        let token = self.peek();
        if let Tag::Invalid(reason) = token.tag {
            return self.syntax(token.span, invalid(reason));
        }
        let found = self.found(token);
        match self.end_of_last() {
            Some(end) if self.lines.line(end) < self.lines.line(token.span.start) => {
                let message = format!("{expected} here, found {found} on a later line");
                self.syntax(Span { start: end, end }, message);
            }
            Some(_) | None => self.syntax(token.span, format!("{expected}, found {found}")),
        }
    }

    fn found(&self, token: Token) -> String {
        match token.tag {
            Tag::End => "the end of the text".to_owned(),
            Tag::DocComment => "a documentation comment".to_owned(),
            Tag::Char => "a character".to_owned(),
            Tag::String | Tag::Line => "a string".to_owned(),
            Tag::Number => "a number".to_owned(),
            Tag::Keyword(_) => format!("the keyword `{}`", self.text(token.span)),
            _ if token.span.end - token.span.start <= 40 => format!("`{}`", self.text(token.span)),
            _ => "a long name".to_owned(),
        }
    }

    /// Moves to where reading can go on: behind a comma of this struct or list, before
    /// its next field, or before its end.
    pub(crate) fn recover(&mut self) {
        let mut open = 0_usize;
        loop {
            match self.peek().tag {
                Tag::End => return,
                Tag::LeftBrace | Tag::LeftParen | Tag::LeftBracket => open += 1,
                Tag::RightBrace if open == 0 => return,
                Tag::RightBrace | Tag::RightParen | Tag::RightBracket => {
                    open = open.saturating_sub(1);
                }
                Tag::Comma if open == 0 => return self.skip(1),
                Tag::Dot if open == 0 && self.field_starts() => return,
                _ => {}
            }
            self.skip(1);
        }
    }

    /// Whether `.name =` stands here.
    pub(crate) fn field_starts(&self) -> bool {
        self.peek().tag == Tag::Dot
            && matches!(self.ahead(1).tag, Tag::Name | Tag::QuotedName | Tag::Keyword(_))
            && self.ahead(2).tag == Tag::Equal
    }
}

fn invalid(reason: Reason) -> &'static str {
    match reason {
        Reason::Byte => "this character means nothing here",
        Reason::String => "a string ends on its line and has no tab or control character in it",
        Reason::Char => "a character literal ends on its line",
        Reason::Backslash => "a line of a multiline string starts with two backslashes",
        Reason::Comment => "a comment has no control character in it",
        Reason::QuotedName => "a quoted name ends on its line",
    }
}
