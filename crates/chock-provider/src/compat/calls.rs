//! Puts tool calls together from the pieces that servers send.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::gist::CALLS_MAX;

/// A piece of a tool call in a chunk.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: FunctionPiece,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct FunctionPiece {
    name: Option<String>,
    /// Text by the standard; some servers send the object itself.
    arguments: Option<Value>,
}

/// A call as far as it has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    index: Option<u64>,
    /// The server's id, which may be empty or taken.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// The calls of one reply, in the order they began.
#[derive(Debug, Default)]
pub(crate) struct Calls(Vec<Draft>);

/// What a piece did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It began the call at this place.
    Began(usize),
    /// It went on with one.
    Continued,
    /// It began one too many.
    TooMany,
}

impl Calls {
    /// Takes one piece; the second value counts the bytes it brought.
    pub(crate) fn take(&mut self, piece: CallPiece) -> (Taken, usize) {
        let CallPiece { index, id, function } = piece;
        let id = id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let arguments = text_of(function.arguments);
        let bytes = id.len() + name.len() + arguments.len();
        if let Some(place) = self.continued(index, &id, &name, &arguments) {
            let draft = &mut self.0[place];
            if draft.id.is_empty() {
                draft.id = id;
            }
            if draft.name.is_empty() {
                draft.name = name;
            }
            draft.arguments.push_str(&arguments);
            return (Taken::Continued, bytes);
        }
        if self.0.len() == CALLS_MAX {
            return (Taken::TooMany, bytes);
        }
        self.0.push(Draft { index, id, name, arguments });
        (Taken::Began(self.0.len() - 1), bytes)
    }

    /// Finds the call that a piece goes on with.
    ///
    /// By the standard that is the one with its index. Some servers send no index, or 0
    /// for all, or no id, or the id and the name again with each piece.
    fn continued(
        &self,
        index: Option<u64>,
        id: &str,
        name: &str,
        arguments: &str,
    ) -> Option<usize> {
        let place = match (index, id) {
            (Some(_), _) => self.0.iter().rposition(|draft| draft.index == index)?,
            (None, "") => self.0.len().checked_sub(1)?,
            (None, _) => self.0.iter().rposition(|draft| draft.id == id)?,
        };
        let draft = &self.0[place];
        if name.is_empty() {
            // Only a call with a name is a new one.
            return Some(place);
        }
        let other_id = !id.is_empty() && !draft.id.is_empty() && draft.id != id;
        let other_name = !draft.name.is_empty() && draft.name != name;
        let one_more = !arguments.is_empty() && is_json(&draft.arguments);
        (!other_id && !other_name && !one_more).then_some(place)
    }

    /// Returns the name of the call at `place`, as far as it is known.
    pub(crate) fn name(&self, place: usize) -> &str {
        self.0.get(place).map_or("", |draft| &draft.name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Says whether each call's arguments are whole, which an empty text is not.
    pub(crate) fn are_whole(&self) -> bool {
        self.0.iter().all(|draft| is_json(&draft.arguments))
    }

    /// Drops a last call that was broken off before its arguments.
    pub(crate) fn drop_unbegun(&mut self) {
        if self.0.last().is_some_and(|draft| draft.arguments.trim().is_empty()) {
            self.0.pop();
        }
    }

    pub(crate) fn into_drafts(self) -> Vec<Draft> {
        self.0
    }
}

/// Says whether a text is one JSON value.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Says whether a text is one JSON object.
pub(crate) fn is_json_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && is_json(text)
}

/// Writes arguments as every server takes them back: an object, whatever the model wrote.
pub(crate) fn replayed(arguments: &str) -> String {
    if is_json_object(arguments) {
        return arguments.to_owned();
    }
    if arguments.trim().is_empty() {
        return "{}".to_owned();
    }
    let text = Value::String(arguments.to_owned());
    Value::Object(Map::from_iter([("not_an_object".to_owned(), text)])).to_string()
}

fn text_of(arguments: Option<Value>) -> String {
    match arguments {
        Some(Value::String(text)) => text,
        Some(Value::Null) | None => String::new(),
        Some(value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => {
            value.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    /// Plays pieces and lists the calls as `id name arguments`.
    fn check(pieces: Value, expected: &[&str]) {
        let pieces: Vec<CallPiece> = serde_json::from_value(pieces).unwrap();
        let mut calls = Calls::default();
        for piece in pieces {
            calls.take(piece);
        }
        let calls = calls.into_drafts();
        let written: Vec<_> = calls
            .iter()
            .map(|draft| format!("{} {} {}", draft.id, draft.name, draft.arguments))
            .collect();
        assert_eq!(written, expected);
    }

    fn piece(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
        json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}})
    }

    #[test]
    fn the_standard_way() {
        check(
            json!([
                piece(Some(0), Some("a"), Some("read"), ""),
                piece(Some(0), None, None, "{\"x\":"),
                piece(Some(1), Some("b"), Some("run"), ""),
                piece(Some(1), None, None, "{}"),
                piece(Some(0), None, None, "1}"),
            ]),
            &["a read {\"x\":1}", "b run {}"],
        );
    }

    #[test]
    fn the_id_and_the_name_come_again() {
        check(
            json!([
                piece(Some(0), Some("a"), Some("read"), "{\"x\":"),
                piece(Some(0), Some("a"), Some("read"), "1}"),
                piece(Some(0), Some("a"), Some("read"), ""),
            ]),
            &["a read {\"x\":1}"],
        );
    }

    #[test]
    fn whole_calls_without_index() {
        check(
            json!([
                piece(None, Some("a"), Some("read"), "{}"),
                piece(None, Some("b"), Some("read"), "{}"),
            ]),
            &["a read {}", "b read {}"],
        );
        check(
            json!([piece(None, None, Some("read"), "{}"), piece(None, None, Some("read"), "{}")]),
            &[" read {}", " read {}"],
        );
        check(
            json!([
                piece(None, Some("a"), Some("read"), "{\"x\":"),
                piece(None, None, None, "1}"),
                piece(None, Some("a"), None, ""),
            ]),
            &["a read {\"x\":1}"],
        );
    }

    #[test]
    fn index_zero_for_every_call() {
        check(
            json!([
                piece(Some(0), Some("a"), Some("read"), "{}"),
                piece(Some(0), Some("b"), Some("read"), "{\"x\":"),
                piece(Some(0), None, None, "1}"),
                piece(Some(0), Some(""), Some("run"), "{}"),
            ]),
            &["a read {}", "b read {\"x\":1}", " run {}"],
        );
    }

    #[test]
    fn one_id_for_every_call() {
        check(
            json!([
                piece(Some(0), Some("a"), Some("read"), "{}"),
                piece(Some(1), Some("a"), Some("read"), "{}"),
                piece(None, Some("a"), Some("run"), "{}"),
            ]),
            &["a read {}", "a read {}", "a run {}"],
        );
    }

    #[test]
    fn another_id_in_a_later_piece_without_a_name() {
        check(
            json!([
                piece(Some(0), Some("a"), Some("read"), "{\"x\":"),
                piece(Some(0), Some("b"), None, "1}"),
            ]),
            &["a read {\"x\":1}"],
        );
    }

    #[test]
    fn arguments_as_an_object_and_missing_parts() {
        check(
            json!([
                {"index": 0, "id": "a", "function": {"name": "read", "arguments": {"x": [1]}}},
                {"index": 1, "id": "b", "function": {"name": "run", "arguments": null}},
                {"index": 2, "id": "c"},
            ]),
            &["a read {\"x\":[1]}", "b run ", "c  "],
        );
    }

    #[test]
    fn calls_are_bounded() {
        let mut calls = Calls::default();
        for index in 0..=CALLS_MAX as u64 {
            let piece = serde_json::from_value(piece(Some(index), None, Some("t"), "{}")).unwrap();
            let last = calls.take(piece).0;
            assert_eq!(last == Taken::TooMany, index == CALLS_MAX as u64);
        }
        assert_eq!(calls.into_drafts().len(), CALLS_MAX);
    }

    #[test]
    fn what_goes_back_is_always_an_object() {
        for (arguments, expected) in [
            ("{\"a\": 1}", "{\"a\": 1}"),
            ("", "{}"),
            (" \n", "{}"),
            ("{\"a\": ", "{\"not_an_object\":\"{\\\"a\\\": \"}"),
            ("[1]", "{\"not_an_object\":\"[1]\"}"),
            ("{} {}", "{\"not_an_object\":\"{} {}\"}"),
        ] {
            assert_eq!(replayed(arguments), expected);
        }
    }
}
