//! Reads what starts with a dot: enum literals, structs and lists.

use crate::diagnostic::{FAULTS_MAX, Kind};
use crate::parse::{DEPTH_MAX, Lost, Parser};
use crate::place::Span;
use crate::token::Tag;
use crate::tree::{EntryData, NodeId, ShapeData};

impl Parser<'_> {
    /// Reads `.name` or `.{ ... }`.
    pub(crate) fn dotted(&mut self) -> Result<NodeId, Lost> {
        let dot = self.take().span;
        match self.peek().tag {
            Tag::LeftBrace => self.braced(dot),
            Tag::Name | Tag::QuotedName => {
                let span = self.take().span;
                let name = self.name(span);
                let whole = Span { start: dot.start, end: span.end };
                Ok(self.node_at(ShapeData::Enum(name), whole, span))
            }
            Tag::Keyword(_) => Err(self.keyword_as_name()),
            _ => {
                self.unexpected("expected a name or `{` after the dot");
                Err(Lost)
            }
        }
    }

    fn keyword_as_name(&mut self) -> Lost {
        let span = self.take().span;
        let word = self.text(span);
        let message = format!("`{word}` is a keyword: write `.@\"{word}\"`");
        self.syntax(span, message);
        Lost
    }

    /// What a name token says, quoted or not.
    fn name(&mut self, span: Span) -> Box<str> {
        let text = self.text(span);
        if !text.starts_with('@') {
            return text.into();
        }
        let quoted = Span { start: span.start + 1, end: span.end };
        let Some(bytes) = self.string(quoted) else { return "".into() };
        let fault = match String::from_utf8(bytes) {
            Ok(name) if name.is_empty() => (Kind::EmptyName, "a name is not empty"),
            Ok(name) if name.contains('\0') => (Kind::NulInName, "a name has no zero byte"),
            Ok(name) => return name.into(),
            Err(_) => (Kind::BadEscape, "a name is UTF-8 text"),
        };
        let fault = self.fault(span, fault.0, fault.1);
        self.meaning(fault);
        "".into()
    }

    fn braced(&mut self, dot: Span) -> Result<NodeId, Lost> {
        let brace = self.take().span;
        if self.depth == DEPTH_MAX {
            let message = format!("values lie at most {DEPTH_MAX} deep in each other");
            let fault = self.fault(brace, Kind::TooDeep, message);
            self.grammar(fault);
            // What is deeper than this is not looked at, however much it is.
            self.skip_all();
            return Err(Lost);
        }
        self.depth += 1;
        let shape = self.members();
        self.depth -= 1;
        let shape = shape?;
        let end = self.end_of_last().unwrap_or(brace.end);
        Ok(self.node_at(shape, Span { start: dot.start, end }, brace))
    }

    /// Reads everything between the braces, and the closing one.
    fn members(&mut self) -> Result<ShapeData, Lost> {
        self.documentation();
        if self.take_if(Tag::RightBrace) {
            return Ok(ShapeData::Empty);
        }
        let is_struct = self.field_starts() || self.field_starts_without_dot();
        let mut entries = Vec::new();
        let mut items = Vec::new();
        while !self.take_if(Tag::RightBrace) {
            if self.peek().tag == Tag::End {
                return Err(self.never_closed());
            }
            let member = if is_struct {
                self.entry().map(|entry| entries.push(entry))
            } else {
                self.item().map(|item| items.push(item))
            };
            if member.and_then(|()| self.separator()).is_err() {
                self.recover();
            }
            if self.is_full() {
                self.skip_all();
            }
            self.documentation();
        }
        self.duplicates(&entries);
        Ok(if is_struct {
            ShapeData::Struct(entries.into())
        } else {
            ShapeData::List(items.into())
        })
    }

    /// Notes documentation comments, of which only Zig's own declarations have any.
    fn documentation(&mut self) {
        if self.peek().tag == Tag::DocComment {
            self.unexpected("expected a field or a value");
        }
        while self.take_if(Tag::DocComment) {}
    }

    /// Notes that the text ends too early, unless a fault before may be the reason.
    fn never_closed(&mut self) -> Lost {
        if !self.is_lost() {
            self.unexpected("expected `}`");
        }
        Lost
    }

    fn separator(&mut self) -> Result<(), Lost> {
        if self.take_if(Tag::Comma) || self.peek().tag == Tag::RightBrace {
            return Ok(());
        }
        self.unexpected("expected `,` or `}`");
        Err(Lost)
    }

    fn field_starts_without_dot(&self) -> bool {
        matches!(self.peek().tag, Tag::Name | Tag::QuotedName | Tag::String)
            && self.ahead(1).tag == Tag::Equal
    }

    fn entry(&mut self) -> Result<EntryData, Lost> {
        if self.field_starts_without_dot() {
            let span = self.take().span;
            let name = self.text(span);
            let message = format!("a field's name starts with a dot, found `{name}`");
            self.syntax(span, message);
            return Err(Lost);
        }
        if !self.field_starts() {
            self.unexpected("expected a field, `.name = value`");
            return Err(Lost);
        }
        self.skip(1);
        if let Tag::Keyword(_) = self.peek().tag {
            return Err(self.keyword_as_name());
        }
        let span = self.take().span;
        self.skip(1);
        let name = self.name(span);
        let value = self.value()?;
        Ok(EntryData { name, name_span: span, value })
    }

    fn item(&mut self) -> Result<NodeId, Lost> {
        if self.field_starts() {
            self.unexpected("expected a value, since this list started with one");
            self.skip(1);
            return Err(Lost);
        }
        self.value()
    }

    /// Notes each name that stands more than once, at its first place.
    fn duplicates(&mut self, entries: &[EntryData]) {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by_key(|at| (&entries[*at].name, *at));
        for group in order.chunk_by(|left, right| entries[*left].name == entries[*right].name) {
            let [first, later @ ..] = group else { continue };
            let first = &entries[*first];
            // A name that could not be read has its own fault.
            if later.is_empty() || first.name.is_empty() {
                continue;
            }
            let message = format!("the field `{}` stands more than once", first.name);
            let mut fault = self.fault(first.name_span, Kind::DuplicateField, message);
            for at in later.iter().take(FAULTS_MAX) {
                fault = self.noted(fault, entries[*at].name_span, "it stands here again");
            }
            self.meaning(fault);
        }
    }
}
