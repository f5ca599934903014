//! Cuts a text into tokens, as Zig does.

use crate::place::Span;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    /// `.`, in front of a name or a brace.
    Dot,
    LeftBrace,
    RightBrace,
    Equal,
    Comma,
    Minus,
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    /// `;`, `:` and others that no expression of ZON or Zig starts with.
    Other,
    /// An operator that stands in front of a value: `~`, `!`, `?`.
    Prefix,
    /// `&`, which stands in front of a value or between two.
    Ampersand,
    /// An operator that stands between two values.
    Infix,
    /// `.*` and `.?`.
    Suffix,
    Name,
    /// `@"name"`.
    QuotedName,
    /// `@name`.
    Builtin,
    Keyword(Keyword),
    Number,
    Char,
    String,
    /// One line of a multiline string, without its line end.
    Line,
    DocComment,
    Invalid(Reason),
    End,
}

/// What a keyword of Zig does where a value is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyword {
    /// It starts an expression.
    Starts,
    /// It stands between two expressions.
    Joins,
    /// Neither.
    Stray,
}

/// Why bytes are no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Byte,
    String,
    Char,
    Backslash,
    Comment,
    QuotedName,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub(crate) tag: Tag,
    pub(crate) span: Span,
}

/// Cuts `text` into tokens. The last one is [`Tag::End`], and no other is.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { bytes: text.as_bytes(), at: byte_order_mark(text) };
    let mut found = Vec::new();
    loop {
        let token = lexer.next();
        found.push(token);
        if token.tag == Tag::End {
            return found;
        }
    }
}

fn byte_order_mark(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

struct Lexer<'text> {
    bytes: &'text [u8],
    at: usize,
}

impl Lexer<'_> {
    fn next(&mut self) -> Token {
        loop {
            self.skip_blanks();
            let start = self.at;
            let tag = self.tag();
            if let Some(tag) = tag {
                return Token { tag, span: Span { start, end: self.at } };
            }
        }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(0), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    /// Takes one token, or `None` when it was a comment.
    fn tag(&mut self) -> Option<Tag> {
        let Some(first) = self.peek(0) else { return Some(Tag::End) };
        match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Some(self.word()),
            b'0'..=b'9' => Some(self.number()),
            b'"' => Some(self.quoted(b'"', Tag::String, Reason::String)),
            b'\'' => Some(self.quoted(b'\'', Tag::Char, Reason::Char)),
            b'@' => Some(self.at_sign()),
            b'\\' => Some(self.backslash()),
            b'/' if self.peek(1) == Some(b'/') => self.comment(),
            other => Some(self.sign(other)),
        }
    }

    fn word(&mut self) -> Tag {
        let start = self.at;
        self.skip_name();
        keyword(&self.bytes[start..self.at]).map_or(Tag::Name, Tag::Keyword)
    }

    fn skip_name(&mut self) {
        while matches!(self.peek(0), Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
    }

    /// Takes a number with everything that clings to it. `number.rs` judges it.
    ///
    /// One point clings, when a digit or letter follows, and a sign after `e` or `p`
    /// whatever the base is.
    fn number(&mut self) -> Tag {
        let mut may_have_point = true;
        while let Some(byte) = self.peek(0) {
            let exponent = matches!(byte, b'e' | b'E' | b'p' | b'P');
            let clings = |next: Option<u8>| matches!(next, Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_');
            if exponent && matches!(self.peek(1), Some(b'+' | b'-')) {
                self.at += 2;
                may_have_point = false;
            } else if byte.is_ascii_alphanumeric() || byte == b'_' {
                self.at += 1;
            } else if byte == b'.' && may_have_point && clings(self.peek(1)) {
                self.at += 1;
                may_have_point = false;
            } else {
                break;
            }
        }
        Tag::Number
    }

    fn quoted(&mut self, quote: u8, tag: Tag, reason: Reason) -> Tag {
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' | b'\r' => return Tag::Invalid(reason),
                b'\\' if !matches!(self.peek(1), None | Some(b'\n' | b'\r')) => self.at += 2,
                _ if byte == quote => {
                    self.at += 1;
                    return tag;
                }
                _ if byte.is_ascii_control() => {
                    self.skip_line();
                    return Tag::Invalid(reason);
                }
                _ => self.at += 1,
            }
        }
        Tag::Invalid(reason)
    }

    fn at_sign(&mut self) -> Tag {
        match self.peek(1) {
            Some(b'"') => {
                self.at += 1;
                self.quoted(b'"', Tag::QuotedName, Reason::QuotedName)
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                self.at += 1;
                self.skip_name();
                Tag::Builtin
            }
            _ => {
                self.at += 1;
                Tag::Invalid(Reason::Byte)
            }
        }
    }

    fn backslash(&mut self) -> Tag {
        if self.peek(1) != Some(b'\\') {
            self.skip_line();
            return Tag::Invalid(Reason::Backslash);
        }
        let start = self.at;
        self.skip_line();
        let line = &self.bytes[start..self.at];
        if line.iter().any(u8::is_ascii_control) { Tag::Invalid(Reason::String) } else { Tag::Line }
    }

    /// Moves to the end of the line: before its `\n`, or its `\r\n`.
    fn skip_line(&mut self) {
        while !matches!(
            (self.peek(0), self.peek(1)),
            (None | Some(b'\n'), _) | (Some(b'\r'), Some(b'\n') | None)
        ) {
            self.at += 1;
        }
    }

    fn comment(&mut self) -> Option<Tag> {
        let start = self.at;
        self.skip_line();
        let line = &self.bytes[start..self.at];
        if line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return Some(Tag::Invalid(Reason::Comment));
        }
        let documents =
            line.starts_with(b"//!") || (line.starts_with(b"///") && !line.starts_with(b"////"));
        documents.then_some(Tag::DocComment)
    }

    fn sign(&mut self, first: u8) -> Tag {
        for (text, tag) in SIGNS {
            if self.bytes[self.at..].starts_with(text) {
                self.at += text.len();
                return *tag;
            }
        }
        // A character that is not ASCII is one token, so that a fault does not cut it.
        self.at += 1;
        while !first.is_ascii() && matches!(self.peek(0), Some(byte) if byte & 0xc0 == 0x80) {
            self.at += 1;
        }
        Tag::Invalid(Reason::Byte)
    }
}

/// Every sign, the longer in front of its own beginnings.
const SIGNS: &[(&[u8], Tag)] = &[
    (b"...", Tag::Other),
    (b"..", Tag::Other),
    (b".*", Tag::Suffix),
    (b".?", Tag::Suffix),
    (b".", Tag::Dot),
    (b"{", Tag::LeftBrace),
    (b"}", Tag::RightBrace),
    (b"(", Tag::LeftParen),
    (b")", Tag::RightParen),
    (b"[", Tag::LeftBracket),
    (b"]", Tag::RightBracket),
    (b",", Tag::Comma),
    (b";", Tag::Other),
    (b":", Tag::Other),
    (b"==", Tag::Infix),
    (b"=>", Tag::Other),
    (b"=", Tag::Equal),
    (b"!=", Tag::Infix),
    (b"!", Tag::Prefix),
    (b"<<|", Tag::Infix),
    (b"<<", Tag::Infix),
    (b"<=", Tag::Infix),
    (b"<", Tag::Infix),
    (b">>", Tag::Infix),
    (b">=", Tag::Infix),
    (b">", Tag::Infix),
    (b"++", Tag::Infix),
    (b"+%", Tag::Infix),
    (b"+|", Tag::Infix),
    (b"+", Tag::Infix),
    (b"->", Tag::Other),
    (b"-%", Tag::Infix),
    (b"-|", Tag::Infix),
    (b"-", Tag::Minus),
    (b"**", Tag::Infix),
    (b"*%", Tag::Infix),
    (b"*|", Tag::Infix),
    (b"*", Tag::Infix),
    (b"||", Tag::Infix),
    (b"|", Tag::Infix),
    (b"/", Tag::Infix),
    (b"%", Tag::Infix),
    (b"^", Tag::Infix),
    (b"&", Tag::Ampersand),
    (b"~", Tag::Prefix),
    (b"?", Tag::Prefix),
];

fn keyword(word: &[u8]) -> Option<Keyword> {
    let keyword = match word {
        b"and" | b"or" | b"orelse" | b"catch" => Keyword::Joins,
        b"anyframe" | b"asm" | b"break" | b"comptime" | b"continue" | b"enum" | b"error"
        | b"extern" | b"fn" | b"for" | b"if" | b"inline" | b"nosuspend" | b"opaque" | b"packed"
        | b"resume" | b"return" | b"struct" | b"switch" | b"try" | b"union" | b"unreachable"
        | b"while" => Keyword::Starts,
        b"addrspace" | b"align" | b"allowzero" | b"anytype" | b"callconv" | b"const" | b"defer"
        | b"else" | b"errdefer" | b"export" | b"linksection" | b"noalias" | b"noinline"
        | b"pub" | b"suspend" | b"test" | b"threadlocal" | b"var" | b"volatile" => Keyword::Stray,
        _ => return None,
    };
    Some(keyword)
}
