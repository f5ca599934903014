//! What is wrong with a text, and where.

use std::fmt;

use crate::place::{Place, Span};

/// The most faults that one run reports. A person fixes a screenful at a time.
pub const FAULTS_MAX: usize = 64;

/// One fault of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Line of the fault, from 1.
    pub line: usize,
    /// Column of the fault in bytes, from 1.
    pub column: usize,
    /// The bytes at fault.
    pub span: Span,
    /// What sort of fault it is.
    pub kind: Kind,
    /// One sentence without a full stop, in lower case.
    pub message: String,
    /// Further places and advice, in the order of the text.
    pub notes: Vec<Note>,
}

/// A further place that explains a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Where the note points.
    pub place: Place,
    /// What it says.
    pub message: String,
}

/// What sort of fault a [`Diagnostic`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The text is larger than [`TEXT_BYTES_MAX`](crate::TEXT_BYTES_MAX).
    TooLarge,
    /// A value lies deeper than [`DEPTH_MAX`](crate::DEPTH_MAX).
    TooDeep,
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The text is not Zig.
    Syntax,
    /// The text is Zig, and more than data.
    NotAllowed,
    /// A name without a dot that is not one of the five words.
    UnknownWord,
    /// A number that is spelt wrongly.
    BadNumber,
    /// A minus in front of something that is not a number.
    MinusWithoutNumber,
    /// `-0`, which no integer is.
    MinusZero,
    /// A character literal that does not hold one character.
    BadChar,
    /// An escape in a string, name or character that does not exist.
    BadEscape,
    /// A quoted name with nothing in it.
    EmptyName,
    /// A quoted name with a zero byte in it.
    NulInName,
    /// A field that stands twice in one struct.
    DuplicateField,
    /// A required field that is absent.
    MissingField {
        /// Name of the field.
        name: &'static str,
    },
    /// A field that the type does not have.
    UnknownField {
        /// Name as it stands in the text.
        name: String,
        /// Names that the type has.
        known: &'static [&'static str],
    },
    /// An enum literal or union field that the type does not have.
    UnknownVariant {
        /// Name as it stands in the text.
        name: String,
        /// Names that the type has.
        known: &'static [&'static str],
    },
    /// A value of another sort than the type wants.
    WrongType,
    /// A number that the type cannot hold.
    OutOfRange,
    /// A list with too few or too many items.
    WrongLength,
    /// A value that the type's own check refused.
    InvalidValue,
}

impl Kind {
    /// The name of the kind: lower case words joined by hyphens.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::TooLarge => "too-large",
            Self::TooDeep => "too-deep",
            Self::NotUtf8 => "not-utf8",
            Self::Syntax => "syntax",
            Self::NotAllowed => "not-allowed",
            Self::UnknownWord => "unknown-word",
            Self::BadNumber => "bad-number",
            Self::MinusWithoutNumber => "minus-without-number",
            Self::MinusZero => "minus-zero",
            Self::BadChar => "bad-char",
            Self::BadEscape => "bad-escape",
            Self::EmptyName => "empty-name",
            Self::NulInName => "nul-in-name",
            Self::DuplicateField => "duplicate-field",
            Self::MissingField { .. } => "missing-field",
            Self::UnknownField { .. } => "unknown-field",
            Self::UnknownVariant { .. } => "unknown-variant",
            Self::WrongType => "wrong-type",
            Self::OutOfRange => "out-of-range",
            Self::WrongLength => "wrong-length",
            Self::InvalidValue => "invalid-value",
        }
    }
}

impl Diagnostic {
    /// Makes a fault without notes.
    #[must_use]
    pub fn new(place: Place, kind: Kind, message: impl Into<String>) -> Self {
        let Place { line, column, span } = place;
        Self { line, column, span, kind, message: message.into(), notes: Vec::new() }
    }

    /// Adds a further place.
    #[must_use]
    pub fn with_note(mut self, place: Place, message: impl Into<String>) -> Self {
        self.notes.push(Note { place, message: message.into() });
        self
    }

    /// Where the fault is.
    #[must_use]
    pub fn place(&self) -> Place {
        Place { line: self.line, column: self.column, span: self.span }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for Diagnostic {}
