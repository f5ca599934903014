//! Reads the parts of a value: items, fields, and what a variant holds.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess,
    Visitor,
};
use serde::{Deserializer, de};

use crate::read::Reader;
use crate::read_fault::Fault;
use crate::tree::{Entry, Node, Shape};

/// The items of a list.
pub(crate) struct Items<'tree> {
    reader: Reader<'tree>,
    /// Those that are not read yet, the next one last.
    left: Vec<Node<'tree>>,
}

impl<'tree> Items<'tree> {
    pub(crate) fn of(reader: Reader<'tree>) -> Self {
        let mut left: Vec<_> = reader.node.items().collect();
        left.retain(|item| !reader.skipped.has(*item));
        left.reverse();
        Self { reader, left }
    }
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some(item) = self.left.pop() else { return Ok(None) };
        let result = seed.deserialize(self.reader.on(item));
        result.map(Some).map_err(|fault| self.reader.blame(item, fault))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// The fields of a struct.
pub(crate) struct Fields<'tree> {
    reader: Reader<'tree>,
    /// Those that are not read yet, the next one last.
    left: Vec<Entry<'tree>>,
    current: Option<Node<'tree>>,
}

impl<'tree> Fields<'tree> {
    pub(crate) fn of(reader: Reader<'tree>) -> Self {
        let mut left: Vec<_> = reader.node.entries().collect();
        left.retain(|entry| !reader.skipped.has(entry.value()));
        left.reverse();
        Self { reader, left, current: None }
    }
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let Some(entry) = self.left.pop() else { return Ok(None) };
        self.current = Some(entry.value());
        let name: StrDeserializer<'_, Fault> = entry.name().into_deserializer();
        let result = seed.deserialize(name);
        result.map(Some).map_err(|fault| fault.at(entry.name_place()).blame(entry.value().id))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Fault> {
        let value = self.current.take().expect("invariant: a key is read before its value");
        let result = seed.deserialize(self.reader.on(value));
        result.map_err(|fault| self.reader.blame(value, fault))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// A variant: `.name`, or `.{ .name = value }`.
pub(crate) struct Variant<'tree> {
    reader: Reader<'tree>,
    payload: Option<Entry<'tree>>,
}

impl<'tree> Variant<'tree> {
    /// Takes an enum literal, or a struct with one field.
    pub(crate) fn of(reader: Reader<'tree>) -> Self {
        Self { reader, payload: reader.node.entries().next() }
    }

    /// Reads what the variant holds, or refuses when it holds nothing.
    fn payload<T>(
        self,
        expected: &str,
        read: impl FnOnce(Reader<'tree>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let nothing = || -> Fault {
            let fault: Fault = de::Error::invalid_type(Unexpected::UnitVariant, &expected);
            fault.at(self.reader.node.anchor())
        };
        let Some(entry) = self.payload else { return Err(nothing()) };
        if self.reader.skipped.has(entry.value()) {
            return Err(nothing().following(true));
        }
        let result = read(self.reader.on(entry.value()));
        result.map_err(|fault| self.reader.blame(entry.value(), fault))
    }
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Fault> {
        let (name, place) = match (self.payload, self.reader.node.shape()) {
            (Some(entry), _) => (entry.name(), entry.name_place()),
            (None, Shape::Enum(name)) => (name, self.reader.node.anchor()),
            (None, _) => ("", self.reader.node.anchor()),
        };
        let name: StrDeserializer<'_, Fault> = name.into_deserializer();
        let value = seed.deserialize(name).map_err(|fault| fault.at(place))?;
        Ok((value, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        let Some(entry) = self.payload else { return Ok(()) };
        let expected = &"a name that stands alone";
        let fault: Fault = de::Error::invalid_type(Unexpected::NewtypeVariant, expected);
        Err(fault.at(entry.value().anchor()))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        self.payload("a name with a value, `.{ .name = value }`", |value| seed.deserialize(value))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Fault> {
        self.payload("a name with a list, `.{ .name = .{ 1, 2 } }`", |value| {
            value.deserialize_tuple(length, visitor)
        })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.payload("a name with a struct, `.{ .name = .{ .field = value } }`", |value| {
            value.deserialize_struct("", fields, visitor)
        })
    }
}

/// A value after the five numbers of its place.
pub(crate) struct SpannedParts<'tree> {
    reader: Reader<'tree>,
    numbers: std::vec::IntoIter<usize>,
}

impl<'tree> SpannedParts<'tree> {
    pub(crate) fn of(reader: Reader<'tree>) -> Self {
        let place = reader.node.anchor();
        let whole = reader.node.place().span;
        let numbers = vec![place.line, place.column, whole.start, whole.end];
        Self { reader, numbers: numbers.into_iter() }
    }
}

impl<'de> SeqAccess<'de> for SpannedParts<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        match self.numbers.next() {
            Some(number) => seed.deserialize(number.into_deserializer()).map(Some),
            None => seed.deserialize(self.reader).map(Some),
        }
    }
}
