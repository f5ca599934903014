//! A text as a tree of values, each of which knows its place.

use crate::number::Integer;
use crate::place::{Lines, Place, Span};

/// A text that was read without a fault.
#[derive(Debug, Clone)]
pub struct Tree {
    pub(crate) nodes: Vec<NodeData>,
    pub(crate) lines: Lines,
    pub(crate) root: NodeId,
}

pub(crate) type NodeId = usize;

#[derive(Debug, Clone)]
pub(crate) struct NodeData {
    pub(crate) shape: ShapeData,
    /// All bytes of the value.
    pub(crate) span: Span,
    /// The bytes a fault of the value points at.
    pub(crate) anchor: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum ShapeData {
    Null,
    Bool(bool),
    Integer(Integer),
    Float(f64),
    Char(u32),
    String(Box<[u8]>),
    Enum(Box<str>),
    Empty,
    List(Box<[NodeId]>),
    Struct(Box<[EntryData]>),
}

#[derive(Debug, Clone)]
pub(crate) struct EntryData {
    pub(crate) name: Box<str>,
    pub(crate) name_span: Span,
    pub(crate) value: NodeId,
}

/// One value of a [`Tree`].
#[derive(Debug, Clone, Copy)]
pub struct Node<'tree> {
    pub(crate) tree: &'tree Tree,
    pub(crate) id: NodeId,
}

/// One field of a struct.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'tree> {
    tree: &'tree Tree,
    data: &'tree EntryData,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape<'tree> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number.
    Integer(Integer),
    /// A number with a point or an exponent, `inf` or `nan`.
    Float(f64),
    /// The code point of a character. It may be half of a surrogate pair.
    Char(u32),
    /// The bytes of a string, which need not be UTF-8: `"\xff"` is allowed.
    String(&'tree [u8]),
    /// The name of an enum literal, without its dot.
    Enum(&'tree str),
    /// `.{}`, which fits a struct, a list and a string.
    Empty,
    /// A list with at least one item.
    List,
    /// A struct with at least one field.
    Struct,
}

impl Tree {
    /// The value that the text is.
    #[must_use]
    pub fn root(&self) -> Node<'_> {
        Node { tree: self, id: self.root }
    }

    pub(crate) fn place(&self, span: Span) -> Place {
        self.lines.place(span)
    }
}

impl<'tree> Node<'tree> {
    pub(crate) fn data(self) -> &'tree NodeData {
        &self.tree.nodes[self.id]
    }

    /// What the value is.
    #[must_use]
    pub fn shape(self) -> Shape<'tree> {
        match &self.data().shape {
            ShapeData::Null => Shape::Null,
            ShapeData::Bool(value) => Shape::Bool(*value),
            ShapeData::Integer(value) => Shape::Integer(*value),
            ShapeData::Float(value) => Shape::Float(*value),
            ShapeData::Char(point) => Shape::Char(*point),
            ShapeData::String(bytes) => Shape::String(bytes),
            ShapeData::Enum(name) => Shape::Enum(name),
            ShapeData::Empty => Shape::Empty,
            ShapeData::List(_) => Shape::List,
            ShapeData::Struct(_) => Shape::Struct,
        }
    }

    /// All bytes of the value.
    #[must_use]
    pub fn place(self) -> Place {
        self.tree.place(self.data().span)
    }

    /// Where a fault of the value points: the `{` of a struct or list, the name of an
    /// enum literal, else the value's start.
    #[must_use]
    pub fn anchor(self) -> Place {
        self.tree.place(self.data().anchor)
    }

    /// The items of a list, none for any other value.
    pub fn items(self) -> impl ExactSizeIterator<Item = Node<'tree>> {
        let ids: &'tree [NodeId] = match &self.data().shape {
            ShapeData::List(ids) => ids,
            ShapeData::Null
            | ShapeData::Bool(_)
            | ShapeData::Integer(_)
            | ShapeData::Float(_)
            | ShapeData::Char(_)
            | ShapeData::String(_)
            | ShapeData::Enum(_)
            | ShapeData::Empty
            | ShapeData::Struct(_) => &[],
        };
        ids.iter().map(move |id| Node { tree: self.tree, id: *id })
    }

    /// The fields of a struct in the order of the text, none for any other value.
    pub fn entries(self) -> impl ExactSizeIterator<Item = Entry<'tree>> {
        let entries: &'tree [EntryData] = match &self.data().shape {
            ShapeData::Struct(entries) => entries,
            ShapeData::Null
            | ShapeData::Bool(_)
            | ShapeData::Integer(_)
            | ShapeData::Float(_)
            | ShapeData::Char(_)
            | ShapeData::String(_)
            | ShapeData::Enum(_)
            | ShapeData::Empty
            | ShapeData::List(_) => &[],
        };
        entries.iter().map(move |data| Entry { tree: self.tree, data })
    }

    /// The value of the field `name`, when this is a struct that has it.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Node<'tree>> {
        self.entries().find(|entry| entry.name() == name).map(Entry::value)
    }
}

impl<'tree> Entry<'tree> {
    /// The field's name, without dot and quotes.
    #[must_use]
    pub fn name(self) -> &'tree str {
        &self.data.name
    }

    /// Where the name stands.
    #[must_use]
    pub fn name_place(self) -> Place {
        self.tree.place(self.data.name_span)
    }

    /// The field's value.
    #[must_use]
    pub fn value(self) -> Node<'tree> {
        Node { tree: self.tree, id: self.data.value }
    }
}
