//! Reads a tree into a type.

use serde::Deserializer;
use serde::de::{DeserializeOwned, Expected, Visitor};

use crate::diagnostic::{Diagnostic, FAULTS_MAX, Kind};
use crate::number::Integer;
use crate::place::Span;
use crate::read_fault::{Fault, words};
use crate::read_parts::{Fields, Items, SpannedParts, Variant};
use crate::spanned;
use crate::tree::{Node, NodeId, Shape};

/// How many values are read in all to find further faults: a tenth of a second's work.
const WORK_MAX: usize = 2_000_000;

impl Node<'_> {
    /// Reads this value into a `T`, or says everything that does not fit.
    ///
    /// serde stops at the first fault. So the field or item at fault is left out and the
    /// rest is read again, until nothing new is found.
    ///
    /// # Errors
    ///
    /// At least one fault and at most [`FAULTS_MAX`], in the order they were found.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, Vec<Diagnostic>> {
        let mut faults = Vec::new();
        let mut skipped = Skipped::default();
        // A fault may show that what holds it is of no use either, and so on to the whole.
        let runs = (WORK_MAX / self.tree.nodes.len()).clamp(4, 4 * FAULTS_MAX);
        for _ in 0..runs {
            let reader = Reader { node: self, skipped: &skipped };
            let fault = match T::deserialize(reader) {
                Ok(value) if faults.is_empty() => return Ok(value),
                Ok(_) => break,
                Err(fault) => reader.place(fault),
            };
            let blamed = fault.blamed();
            faults.extend(fault.report(self.anchor()));
            match blamed {
                Some(part) if faults.len() < FAULTS_MAX => skipped.add(part, self),
                Some(_) | None => break,
            }
        }
        Err(faults)
    }
}

/// The fields and items that had a fault, and are passed over.
#[derive(Debug, Default)]
pub(crate) struct Skipped(Vec<(NodeId, Span)>);

impl Skipped {
    fn add(&mut self, part: NodeId, whole: Node<'_>) {
        self.0.push((part, whole.tree.nodes[part].span));
    }

    pub(crate) fn has(&self, node: Node<'_>) -> bool {
        self.0.iter().any(|(part, _)| *part == node.id)
    }

    /// Whether anything inside of `node` is passed over.
    pub(crate) fn has_part_of(&self, node: Node<'_>) -> bool {
        let whole = node.data().span;
        self.0.iter().any(|(_, part)| whole.start <= part.start && part.end <= whole.end)
    }
}

/// Reads one value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'tree> {
    pub(crate) node: Node<'tree>,
    pub(crate) skipped: &'tree Skipped,
}

impl<'tree> Reader<'tree> {
    pub(crate) fn on(self, node: Node<'tree>) -> Self {
        Self { node, ..self }
    }

    /// Blames the field or item `part` for its fault.
    pub(crate) fn blame(self, part: Node<'tree>, fault: Fault) -> Fault {
        self.on(part).place(fault).blame(part.id)
    }

    /// Gives a fault of this value its place.
    ///
    /// When something inside was passed over, the fault may be no more than its echo. A
    /// missing field is one exactly when the field is there.
    fn place(self, fault: Fault) -> Fault {
        if fault.is_placed() {
            return fault;
        }
        let echoes = match fault.kind() {
            Kind::MissingField { name } => self.node.get(name).is_some(),
            _ => self.skipped.has_part_of(self.node),
        };
        fault.at(self.node.anchor()).following(echoes)
    }

    fn refuse(self, kind: Kind, message: String) -> Fault {
        Fault::new(kind, message).at(self.node.anchor())
    }

    fn wrong(self, expected: &dyn Expected) -> Fault {
        let message =
            format!("expected {}, found {}", words(expected), describe(self.node.shape()));
        self.refuse(Kind::WrongType, message)
    }

    fn out_of_range(self, expected: &dyn Expected) -> Fault {
        let message =
            format!("expected {}, found {}", words(expected), describe(self.node.shape()));
        self.refuse(Kind::OutOfRange, message)
    }

    fn placed<T>(self, result: Result<T, Fault>) -> Result<T, Fault> {
        result.map_err(|fault| self.place(fault))
    }

    fn integer<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let integer = match self.node.shape() {
            Shape::Integer(integer) => integer,
            Shape::Char(point) => unsigned(u128::from(point)),
            Shape::Float(float) => match whole(float) {
                Some(integer) => integer,
                None => return Err(self.out_of_range(&visitor)),
            },
            Shape::Null
            | Shape::Bool(_)
            | Shape::String(_)
            | Shape::Enum(_)
            | Shape::Empty
            | Shape::List
            | Shape::Struct => return Err(self.wrong(&visitor)),
        };
        self.visit_integer(integer, visitor)
    }

    fn visit_integer<'de, V: Visitor<'de>>(
        self,
        integer: Integer,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let (signed, unsigned) = (integer.signed(), integer.unsigned());
        let result = if let Some(small) = unsigned.and_then(|wide| u64::try_from(wide).ok()) {
            visitor.visit_u64(small)
        } else if let Some(small) = signed.and_then(|wide| i64::try_from(wide).ok()) {
            visitor.visit_i64(small)
        } else if let Some(wide) = unsigned {
            visitor.visit_u128(wide)
        } else if let Some(wide) = signed {
            visitor.visit_i128(wide)
        } else {
            return Err(self.out_of_range(&visitor));
        };
        // serde calls a wide number a wrong type where only a narrow one is known.
        self.placed(result.map_err(Fault::of_a_number))
    }

    fn float<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let float = match self.node.shape() {
            Shape::Float(float) => float,
            Shape::Integer(integer) => integer.nearest,
            Shape::Char(point) => f64::from(point),
            Shape::Null
            | Shape::Bool(_)
            | Shape::String(_)
            | Shape::Enum(_)
            | Shape::Empty
            | Shape::List
            | Shape::Struct => return Err(self.wrong(&visitor)),
        };
        self.placed(visitor.visit_f64(float))
    }

    fn text<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.shape() {
            Shape::Empty => self.placed(visitor.visit_str("")),
            Shape::String(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.placed(visitor.visit_str(text)),
                Err(_) => {
                    let expected: &dyn Expected = &visitor;
                    let expected = words(expected);
                    let message = format!("expected {expected}, found bytes that are not UTF-8");
                    Err(self.refuse(Kind::WrongType, message))
                }
            },
            Shape::Null
            | Shape::Bool(_)
            | Shape::Integer(_)
            | Shape::Float(_)
            | Shape::Char(_)
            | Shape::Enum(_)
            | Shape::List
            | Shape::Struct => Err(self.wrong(&visitor)),
        }
    }

    fn fields<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.shape() {
            Shape::Struct | Shape::Empty => self.placed(visitor.visit_map(Fields::of(self))),
            Shape::Null
            | Shape::Bool(_)
            | Shape::Integer(_)
            | Shape::Float(_)
            | Shape::Char(_)
            | Shape::String(_)
            | Shape::Enum(_)
            | Shape::List => Err(self.wrong(&visitor)),
        }
    }
}

fn unsigned(magnitude: u128) -> Integer {
    #[expect(clippy::cast_precision_loss, reason = "the nearest float is asked for")]
    let nearest = magnitude as f64;
    Integer { negative: false, magnitude: Some(magnitude), nearest }
}

/// The integer that a float without a fraction is.
fn whole(float: f64) -> Option<Integer> {
    // 2 to the power of 127 and beyond is past every integer type but one; not worth it.
    if float.fract() != 0.0 || float.abs() >= 1.7e38 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    let magnitude = float.abs() as u128;
    Some(Integer { negative: float < 0.0, magnitude: Some(magnitude), nearest: float })
}

/// The value in words, for a fault that is about its sort.
fn describe(shape: Shape<'_>) -> String {
    match shape {
        Shape::Null => "null".to_owned(),
        Shape::Bool(value) => format!("{value}"),
        Shape::Integer(Integer { magnitude: Some(magnitude), negative, .. }) => {
            format!("{}{magnitude}", if negative { "-" } else { "" })
        }
        Shape::Integer(_) => "a number of more than 128 bits".to_owned(),
        Shape::Float(value) => format!("the float {value}"),
        Shape::Char(_) => "a character".to_owned(),
        Shape::String(_) => "a string".to_owned(),
        Shape::Enum(name) if name.len() <= 40 => format!("the name `.{name}`"),
        Shape::Enum(_) => "a name".to_owned(),
        Shape::Empty => "`.{}`".to_owned(),
        Shape::List => "a list".to_owned(),
        Shape::Struct => "a struct".to_owned(),
    }
}

macro_rules! by {
    ($method:ident: $($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.$method(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Fault;

    by! { integer:
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
    }
    by! { float: deserialize_f32 deserialize_f64 }
    by! { text: deserialize_str deserialize_string }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.shape() {
            Shape::Null => self.placed(visitor.visit_unit()),
            Shape::Bool(value) => self.placed(visitor.visit_bool(value)),
            Shape::Integer(integer) => self.visit_integer(integer, visitor),
            Shape::Float(_) => self.float(visitor),
            Shape::Char(_) => self.deserialize_char(visitor),
            Shape::String(bytes) if std::str::from_utf8(bytes).is_err() => {
                self.placed(visitor.visit_bytes(bytes))
            }
            Shape::String(_) => self.text(visitor),
            Shape::Enum(_) => self.placed(visitor.visit_enum(Variant::of(self))),
            Shape::Empty | Shape::Struct => self.fields(visitor),
            Shape::List => self.deserialize_seq(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.shape() {
            Shape::Bool(value) => self.placed(visitor.visit_bool(value)),
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.shape() {
            Shape::Char(point) => match char::from_u32(point) {
                Some(letter) => self.placed(visitor.visit_char(letter)),
                None => Err(self.out_of_range(&visitor)),
            },
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.shape() {
            Shape::String(bytes) => self.placed(visitor.visit_bytes(bytes)),
            Shape::Empty => self.placed(visitor.visit_bytes(&[])),
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.shape() {
            Shape::Null => self.placed(visitor.visit_none()),
            _ => self.placed(visitor.visit_some(self)),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.shape() {
            Shape::Null | Shape::Empty => self.placed(visitor.visit_unit()),
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if name == spanned::NAME {
            return self.placed(visitor.visit_seq(SpannedParts::of(self)));
        }
        self.placed(visitor.visit_newtype_struct(self))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.shape() {
            Shape::List | Shape::Empty => self.placed(visitor.visit_seq(Items::of(self))),
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let found = self.node.items().len();
        match self.node.shape() {
            Shape::List | Shape::Empty if found == length => {
                self.placed(visitor.visit_seq(Items::of(self)))
            }
            Shape::List | Shape::Empty => {
                let message = format!("expected {length} items, found {found}");
                Err(self.refuse(Kind::WrongLength, message))
            }
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.fields(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.fields(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.node.shape() {
            Shape::Enum(_) => self.placed(visitor.visit_enum(Variant::of(self))),
            Shape::Struct if self.node.entries().len() == 1 => {
                self.placed(visitor.visit_enum(Variant::of(self)))
            }
            Shape::Struct => {
                let message = "expected one name, found a struct with more than one field";
                Err(self.refuse(Kind::WrongType, message.to_owned()))
            }
            _ => Err(self.wrong(&visitor)),
        }
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node.shape() {
            Shape::Enum(name) => self.placed(visitor.visit_str(name)),
            _ => self.text(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.placed(visitor.visit_unit())
    }
}
