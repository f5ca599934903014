//! Reads single values, and refuses what Zig would take for a larger expression.

use crate::diagnostic::Kind;
use crate::literal::{self, Letter};
use crate::number::{self, Number};
use crate::parse::{Lost, Parser};
use crate::place::Span;
use crate::token::{Keyword, Tag};
use crate::tree::{NodeId, ShapeData};

/// The part of an expression that Zig would name it after.
#[derive(Clone, Copy)]
enum Outermost {
    /// An access, an index or a call.
    Suffix(Span),
    /// An operator between two values.
    Infix(Span),
}

impl Parser<'_> {
    /// Reads a value together with all that clings to it.
    pub(crate) fn value(&mut self) -> Result<NodeId, Lost> {
        let before = self.meanings();
        let id = self.operand()?;
        let (span, message) = match self.operators()? {
            None => return Ok(id),
            Some(Outermost::Infix(span)) => (span, "an operator is not data: write the result"),
            Some(Outermost::Suffix(span)) => (span, "an access is not data: write the value"),
        };
        self.forget(before);
        self.not_data(span, message);
        Ok(id)
    }

    fn not_data(&mut self, span: Span, message: impl Into<String>) {
        let fault = self.fault(span, Kind::NotAllowed, message);
        self.meaning(fault);
    }

    /// Skips the accesses, calls and operators behind a value.
    fn operators(&mut self) -> Result<Option<Outermost>, Lost> {
        let mut outermost = None;
        loop {
            let token = self.peek();
            match token.tag {
                Tag::Dot if self.field_starts() => return Ok(outermost),
                Tag::Dot if matches!(self.ahead(1).tag, Tag::Name | Tag::QuotedName) => {
                    self.skip(2)
                }
                Tag::Suffix => self.skip(1),
                Tag::LeftParen | Tag::LeftBracket => self.balanced()?,
                Tag::Infix | Tag::Minus | Tag::Ampersand | Tag::Keyword(Keyword::Joins) => {
                    self.skip(1);
                    self.operand()?;
                    if !matches!(outermost, Some(Outermost::Infix(_))) {
                        outermost = Some(Outermost::Infix(token.span));
                    }
                    continue;
                }
                _ => return Ok(outermost),
            }
            if !matches!(outermost, Some(Outermost::Infix(_))) {
                outermost = Some(Outermost::Suffix(token.span));
            }
        }
    }

    /// Skips a bracket with everything up to the one that closes it.
    fn balanced(&mut self) -> Result<(), Lost> {
        let mut open = 0_usize;
        loop {
            match self.peek().tag {
                Tag::LeftBrace | Tag::LeftParen | Tag::LeftBracket => open += 1,
                Tag::RightBrace | Tag::RightParen | Tag::RightBracket => open -= 1,
                Tag::End | Tag::Invalid(_) => {
                    self.unexpected("expected a closing bracket");
                    return Err(Lost);
                }
                _ => {}
            }
            self.skip(1);
            if open == 0 {
                return Ok(());
            }
        }
    }

    fn operand(&mut self) -> Result<NodeId, Lost> {
        match self.peek().tag {
            Tag::Dot => self.dotted(),
            Tag::Minus => self.minus(),
            Tag::Number => {
                let span = self.take().span;
                Ok(self.number(span, span, false))
            }
            Tag::Char => self.char(),
            Tag::String => {
                let span = self.take().span;
                let bytes = self.string(span).unwrap_or_default();
                Ok(self.node(ShapeData::String(bytes.into()), span))
            }
            Tag::Line => Ok(self.lines_string()),
            Tag::Name | Tag::QuotedName => Ok(self.word()),
            Tag::Builtin => self.builtin(),
            Tag::Keyword(Keyword::Starts) => self.keyword(),
            Tag::Prefix | Tag::Ampersand => self.prefixed(),
            Tag::LeftParen => self.grouped(),
            Tag::LeftBrace => self.block(),
            _ => {
                self.unexpected("expected a value");
                Err(Lost)
            }
        }
    }

    // What is Zig and more than data.

    fn builtin(&mut self) -> Result<NodeId, Lost> {
        let span = self.take().span;
        if self.peek().tag == Tag::LeftParen {
            self.balanced()?;
        }
        self.not_data(span, "a builtin is not data: write the value");
        Ok(self.node(ShapeData::Null, span))
    }

    fn grouped(&mut self) -> Result<NodeId, Lost> {
        let span = self.peek().span;
        self.balanced()?;
        self.not_data(span, "parentheses are not data: write the value");
        Ok(self.node(ShapeData::Null, span))
    }

    /// Skips an expression that starts with a keyword, as far as it can be seen.
    fn keyword(&mut self) -> Result<NodeId, Lost> {
        let span = self.take().span;
        let message = format!("`{}` is not data: write the value", self.text(span));
        self.not_data(span, message);
        loop {
            match self.peek().tag {
                Tag::LeftBrace | Tag::LeftParen | Tag::LeftBracket => self.balanced()?,
                Tag::Dot if self.field_starts() => break,
                Tag::Comma | Tag::RightBrace | Tag::RightParen | Tag::RightBracket | Tag::End => {
                    break;
                }
                Tag::Invalid(_) => {
                    self.unexpected("expected a value");
                    return Err(Lost);
                }
                _ => self.skip(1),
            }
        }
        Ok(self.node(ShapeData::Null, span))
    }

    fn prefixed(&mut self) -> Result<NodeId, Lost> {
        let span = self.peek().span;
        let id = self.behind_prefixes()?;
        let message = format!("`{}` is not data: write the value", self.text(span));
        self.not_data(span, message);
        Ok(id)
    }

    /// Skips signs in front of a value without recursion, and the value without a word.
    fn behind_prefixes(&mut self) -> Result<NodeId, Lost> {
        while matches!(self.peek().tag, Tag::Minus | Tag::Prefix | Tag::Ampersand) {
            self.skip(1);
        }
        let before = self.meanings();
        let id = self.operand()?;
        self.forget(before);
        Ok(id)
    }

    fn block(&mut self) -> Result<NodeId, Lost> {
        let span = self.take().span;
        if !self.take_if(Tag::RightBrace) {
            self.syntax(span, "a struct or list starts with `.{`, found `{`");
            return Err(Lost);
        }
        let fault = self.fault(span, Kind::NotAllowed, "a block is not data");
        let fault = self.noted(fault, span, "an empty struct or list is `.{}`");
        self.meaning(fault);
        Ok(self.node(ShapeData::Null, span))
    }

    // Words and numbers.

    fn word(&mut self) -> NodeId {
        let span = self.take().span;
        let shape = match self.text(span) {
            "null" => ShapeData::Null,
            "true" => ShapeData::Bool(true),
            "false" => ShapeData::Bool(false),
            "inf" => ShapeData::Float(f64::INFINITY),
            "nan" => ShapeData::Float(f64::NAN),
            other => {
                let message = format!("`{other}` is not a value");
                let fault = self.fault(span, Kind::UnknownWord, message);
                let words = "the only words are true, false, null, inf and nan";
                let fault = self.noted(fault, span, words);
                let cure = "write a dot in front of a name, or quotes around a string";
                let fault = self.noted(fault, span, cure);
                self.meaning(fault);
                ShapeData::Null
            }
        };
        self.node(shape, span)
    }

    fn minus(&mut self) -> Result<NodeId, Lost> {
        let minus = self.take().span;
        let operand = self.peek();
        let whole = Span { start: minus.start, end: operand.span.end };
        match operand.tag {
            Tag::Number => {
                self.skip(1);
                Ok(self.number(operand.span, whole, true))
            }
            Tag::Name if self.text(operand.span) == "inf" => {
                self.skip(1);
                Ok(self.node_at(ShapeData::Float(f64::NEG_INFINITY), whole, minus))
            }
            _ => {
                let id = self.behind_prefixes()?;
                let message = "a minus stands before a number";
                let fault = self.fault(minus, Kind::MinusWithoutNumber, message);
                self.meaning(fault);
                Ok(id)
            }
        }
    }

    fn number(&mut self, literal: Span, whole: Span, negative: bool) -> NodeId {
        let shape = match number::number(self.text(literal)) {
            Ok(Number::Integer(integer)) if negative => {
                if integer.magnitude == Some(0) {
                    self.minus_zero(literal);
                }
                let nearest = -integer.nearest;
                ShapeData::Integer(number::Integer { negative, nearest, ..integer })
            }
            Ok(Number::Integer(integer)) => ShapeData::Integer(integer),
            Ok(Number::Float(float)) => ShapeData::Float(if negative { -float } else { float }),
            Err(bad) => {
                let start = literal.start + bad.at;
                let fault = self.fault(Span { start, end: start + 1 }, Kind::BadNumber, bad.why);
                self.meaning(fault);
                ShapeData::Null
            }
        };
        let anchor =
            Span { start: whole.start, end: if negative { whole.start + 1 } else { whole.end } };
        self.node_at(shape, whole, anchor)
    }

    fn minus_zero(&mut self, span: Span) {
        let fault = self.fault(span, Kind::MinusZero, "no whole number is minus zero");
        let fault = self.noted(fault, span, "write `0` for the whole number");
        let fault = self.noted(fault, span, "write `-0.0` for the float");
        self.meaning(fault);
    }

    // Strings and characters.

    /// What a string literal says, or `None` with a fault noted.
    pub(crate) fn string(&mut self, span: Span) -> Option<Vec<u8>> {
        match literal::string(self.text(span)) {
            Ok(bytes) => Some(bytes),
            Err(bad) => {
                self.bad_escape(span, bad);
                None
            }
        }
    }

    fn bad_escape(&mut self, literal: Span, bad: literal::BadEscape) {
        let start = literal.start + bad.at;
        let rest = self.text(Span { start, end: literal.end });
        let end = start + rest.chars().next().map_or(0, char::len_utf8);
        let fault = self.fault(Span { start, end }, Kind::BadEscape, bad.why);
        self.meaning(fault);
    }

    fn char(&mut self) -> Result<NodeId, Lost> {
        let span = self.take().span;
        let point = match literal::letter(self.text(span)) {
            Ok(Letter::One(point)) => point,
            Ok(Letter::None) => {
                let message = "a character literal holds one character";
                let fault = self.fault(span, Kind::BadChar, message);
                self.meaning(fault);
                0
            }
            Ok(Letter::Many(at)) => {
                let second = Span { start: span.start + at, end: span.end };
                self.syntax(second, "a character literal holds one character, a string has `\"`");
                return Err(Lost);
            }
            Err(bad) => {
                self.bad_escape(span, bad);
                0
            }
        };
        Ok(self.node(ShapeData::Char(point), span))
    }

    /// Reads consecutive lines of one multiline string.
    fn lines_string(&mut self) -> NodeId {
        let first = self.peek().span;
        let mut last = first;
        let mut text = String::new();
        while self.peek().tag == Tag::Line {
            last = self.take().span;
            if last != first {
                text.push('\n');
            }
            text.push_str(&self.text(last)[2..]);
        }
        let whole = Span { start: first.start, end: last.end };
        self.node_at(ShapeData::String(text.into_bytes().into()), whole, first)
    }
}
