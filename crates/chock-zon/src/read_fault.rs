//! The error that travels through serde while a tree is read into a type.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use crate::diagnostic::{Diagnostic, Kind};
use crate::place::Place;
use crate::tree::NodeId;

/// A fault on its way up.
///
/// serde's own errors know no place. They get that of the nearest value on the way.
#[derive(Debug)]
pub(crate) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    message: String,
    place: Option<Place>,
    blamed: Option<NodeId>,
    follows: bool,
}

impl Fault {
    pub(crate) fn new(kind: Kind, message: String) -> Self {
        Self(Box::new(Inner { kind, message, place: None, blamed: None, follows: false }))
    }

    /// Gives the fault a place, when it has none.
    pub(crate) fn at(mut self, place: Place) -> Self {
        self.0.place.get_or_insert(place);
        self
    }

    /// Says that the fault only follows from one that was reported already.
    pub(crate) fn following(mut self, follows: bool) -> Self {
        self.0.follows = follows;
        self
    }

    /// Names the field or item that is at fault, when none is named yet.
    pub(crate) fn blame(mut self, part: NodeId) -> Self {
        self.0.blamed.get_or_insert(part);
        self
    }

    pub(crate) fn is_placed(&self) -> bool {
        self.0.place.is_some()
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// The field or item that is at fault; none is the whole.
    pub(crate) fn blamed(&self) -> Option<NodeId> {
        self.0.blamed
    }

    /// Turns a wrong type into a number that the type cannot hold.
    pub(crate) fn of_a_number(mut self) -> Self {
        if self.0.kind == Kind::WrongType {
            self.0.kind = Kind::OutOfRange;
        }
        self
    }

    /// The fault for the person, unless it only follows from another one.
    pub(crate) fn report(self, whole: Place) -> Option<Diagnostic> {
        let Inner { kind, message, place, follows, .. } = *self.0;
        let place = place.unwrap_or(whole);
        let names = match &kind {
            Kind::UnknownField { known, .. } | Kind::UnknownVariant { known, .. } => Some(*known),
            _ => None,
        };
        let fault = Diagnostic::new(place, kind, message);
        let fault = match names {
            Some([]) => fault.with_note(place, "no name may stand here"),
            Some(known) => fault.with_note(place, format!("the names are {}", known.join(", "))),
            None => fault,
        };
        (!follows).then_some(fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Kind::InvalidValue, message.to_string())
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = words(expected);
        Self::new(Kind::WrongType, format!("expected {expected}, found {unexpected}"))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let message = format!("expected {}, found {unexpected}", words(expected));
        match unexpected {
            Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => {
                Self::new(Kind::OutOfRange, message)
            }
            _ => Self::new(Kind::InvalidValue, message),
        }
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        let expected = words(expected);
        Self::new(Kind::WrongLength, format!("expected {expected}, found {length} items"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let kind = Kind::UnknownVariant { name: variant.to_owned(), known: expected };
        Self::new(kind, format!("`{variant}` is none of the names that may stand here"))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let kind = Kind::UnknownField { name: field.to_owned(), known: expected };
        Self::new(kind, format!("there is no field `{field}`"))
    }

    fn missing_field(field: &'static str) -> Self {
        let kind = Kind::MissingField { name: field };
        Self::new(kind, format!("the field `{field}` is missing"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(Kind::DuplicateField, format!("the field `{field}` stands more than once"))
    }
}

/// What a type expects, in the words of ZON instead of those of Rust.
pub(crate) fn words(expected: &dyn Expected) -> String {
    let expected = expected.to_string();
    let words = match expected.as_str() {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "u128" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number that fits",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a struct",
        other if other.starts_with("struct ") => "a struct",
        other if other.starts_with("enum ") => "a name, as in `.name`",
        other => other,
    };
    words.to_owned()
}
