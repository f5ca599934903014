//! Reads ZON text into any serde type, with the line and column of every fault.
//!
//! ZON is the data subset of Zig: `.{ .name = "value", .list = .{ 1, 2 } }`. A
//! text is read into a [`Tree`] first and into a type after, so that each fault
//! and each value knows where it stands and one run finds many faults.
//!
//! # Never knows
//!
//! Chock: files, blocks, rules, or how a fault is drawn for a person.
//!
//! # Holds
//!
//! - No input makes it panic, and no input costs more than its size.
//! - A text is at most [`TEXT_BYTES_MAX`] long and [`DEPTH_MAX`] deep.
//! - Nothing is guessed: what Zig refuses is refused, at the place Zig names.
//! - A fault anywhere means that no value is handed out.
//!
//! # Start reading at
//!
//! [`from_str`], then `parse.rs` and `read.rs`.

mod diagnostic;
mod literal;
mod members;
mod number;
mod operand;
mod parse;
mod place;
mod quote;
mod read;
mod read_fault;
mod read_parts;
mod spanned;
mod token;
mod tree;
mod value;

pub use diagnostic::{Diagnostic, FAULTS_MAX, Kind, Note};
pub use number::Integer;
pub use parse::{DEPTH_MAX, TEXT_BYTES_MAX, from_bytes, from_str, parse, parse_bytes};
pub use place::{Place, Span};
pub use quote::{quoted, quoted_bytes};
pub use spanned::Spanned;
pub use tree::{Entry, Node, Shape, Tree};
pub use value::Value;
