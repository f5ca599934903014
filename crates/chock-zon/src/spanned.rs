//! A value that keeps its place.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::place::{Place, Span};

/// The name by which [`Spanned`] asks a tree for places.
pub(crate) const NAME: &str = "$chock_zon::Spanned";

/// A value together with its place in the text.
///
/// Read by anything but this crate, it has the default place: line 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// The line and column where a fault of the value points, and all bytes of the value.
    pub place: Place,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(NAME, SpannedVisitor(PhantomData))
    }
}

struct SpannedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SpannedVisitor<T> {
    type Value = Spanned<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Self::Value, D::Error> {
        T::deserialize(deserializer).map(|value| Spanned { value, place: Place::default() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut number = || parts.next_element()?.ok_or_else(|| A::Error::custom("no place"));
        let (line, column, start, end) = (number()?, number()?, number()?, number()?);
        let value = parts.next_element()?.ok_or_else(|| A::Error::custom("no value"))?;
        Ok(Spanned { value, place: Place { line, column, span: Span { start, end } } })
    }
}
