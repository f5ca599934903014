//! A value without a type and without its place.

use crate::number::Integer;
use crate::tree::{Entry, Node, Shape};

/// A value that owns everything in it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number.
    Integer(Integer),
    /// A number with a point or an exponent, `inf` or `nan`.
    Float(f64),
    /// The code point of a character.
    Char(u32),
    /// A string of UTF-8.
    String(String),
    /// A string that is not UTF-8.
    Bytes(Vec<u8>),
    /// The name of an enum literal.
    Enum(String),
    /// `.{}`
    Empty,
    /// A list with at least one item.
    List(Vec<Value>),
    /// A struct with at least one field, in the order of the text.
    Struct(Vec<(String, Value)>),
}

impl From<Node<'_>> for Value {
    fn from(node: Node<'_>) -> Self {
        match node.shape() {
            Shape::Null => Self::Null,
            Shape::Bool(value) => Self::Bool(value),
            Shape::Integer(value) => Self::Integer(value),
            Shape::Float(value) => Self::Float(value),
            Shape::Char(point) => Self::Char(point),
            Shape::String(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Self::String(text.to_owned()),
                Err(_) => Self::Bytes(bytes.to_owned()),
            },
            Shape::Enum(name) => Self::Enum(name.to_owned()),
            Shape::Empty => Self::Empty,
            Shape::List => Self::List(node.items().map(Self::from).collect()),
            Shape::Struct => Self::Struct(node.entries().map(named).collect()),
        }
    }
}

fn named(entry: Entry<'_>) -> (String, Value) {
    (entry.name().to_owned(), entry.value().into())
}
