//! Checks the arguments of a call against the schema its tool shows to models.

use std::fmt::Write;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::hint;

/// The largest arguments of a call, in bytes: a file of 4 MiB as JSON spells it, and its path.
const ARGUMENTS_BYTES_MAX: usize = 32 << 20;

/// The most faults that one answer lists.
const FAULTS_MAX: usize = 8;

/// Makes the schema of an arguments' type, as models are shown it: one object, nothing
/// referred to, no field beyond the named ones.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    plain(&mut schema);
    schema
}

/// Takes out what says nothing to a model: titles, number formats, `null` as a type.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if !fields.get("title").is_some_and(Value::is_object) {
                fields.remove("title");
            }
            fields.remove("format");
            if let Some(Value::Array(types)) = fields.get("type") {
                let named = types.iter().find(|name| *name != "null").cloned();
                fields.insert("type".into(), named.unwrap_or_default());
            }
            fields.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Reads the arguments of a call and checks each field; text without any counts as `{}`.
pub(crate) fn check(schema: &Value, text: &str) -> Result<Value, String> {
    if text.len() > ARGUMENTS_BYTES_MAX {
        let bytes = text.len();
        return Err(format!("{bytes} bytes of arguments: the limit is {ARGUMENTS_BYTES_MAX}"));
    }
    let text = if text.trim().is_empty() { "{}" } else { text };
    let mut value: Value = serde_json::from_str(text).map_err(|fault| {
        format!("the arguments are not JSON ({fault}); expected: {}", fields_in_words(schema))
    })?;
    let mut faults = Vec::new();
    check_value("", schema, &mut value, &mut faults);
    if faults.is_empty() {
        return Ok(value);
    }
    let more = faults.len().saturating_sub(FAULTS_MAX);
    faults.truncate(FAULTS_MAX);
    if more > 0 {
        faults.push(format!("and {more} more"));
    }
    Err(format!("{}; expected: {}", faults.join("; "), fields_in_words(schema)))
}

/// Reads checked arguments into their type.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|fault| fault.to_string())
}

fn check_value(at: &str, schema: &Value, value: &mut Value, faults: &mut Vec<String>) {
    let expected = schema["type"].as_str().unwrap_or_default();
    let fits = match (expected, &*value) {
        ("object", Value::Object(_))
        | ("array", Value::Array(_))
        | ("string", Value::String(_))
        | ("boolean", Value::Bool(_)) => true,
        ("integer", Value::Number(number)) => number.is_u64() || number.is_i64(),
        _ => false,
    };
    if !fits {
        let found = kind(value);
        faults.push(format!("{} must be {}, not {found}", named(at), article(expected)));
        return;
    }
    match value {
        Value::Object(fields) => check_object(at, schema, fields, faults),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                check_value(&format!("{at}[{index}]"), &schema["items"], item, faults);
            }
        }
        Value::Number(number) => {
            let number = number.as_i64().unwrap_or(i64::MAX);
            let (least, most) = (schema["minimum"].as_i64(), schema["maximum"].as_i64());
            if least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
                faults.push(format!("{} is {number}, not{}", named(at), range(schema)));
            }
        }
        Value::String(text) => {
            let Some(words) = schema["enum"].as_array() else { return };
            if !words.iter().any(|word| word == text) {
                faults.push(format!("{} must be {}", named(at), one_of(words)));
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn check_object(
    at: &str,
    schema: &Value,
    fields: &mut Map<String, Value>,
    faults: &mut Vec<String>,
) {
    let empty = Map::new();
    let known = schema["properties"].as_object().unwrap_or(&empty);
    let required: Vec<_> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // A model that has to name every field says null where it means none.
    fields.retain(|name, value| !value.is_null() || required.contains(&name.as_str()));
    let path = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    for name in required {
        if !fields.contains_key(name) {
            let kind = article(known[name]["type"].as_str().unwrap_or_default());
            faults.push(format!("{} is missing: it must be {kind}", named(&path(name))));
        }
    }
    for (name, value) in fields {
        match known.get(name) {
            Some(schema) => check_value(&path(name), schema, value, faults),
            None => faults.push(unknown(&path(name), name, known)),
        }
    }
}

fn unknown(path: &str, name: &str, known: &Map<String, Value>) -> String {
    let shown: String = path.chars().take(64).collect();
    let meant = hint::nearest(name, known.keys().map(String::as_str));
    let meant = meant.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default();
    format!("there is no field `{}`{meant}", shown.escape_debug())
}

fn named(at: &str) -> String {
    if at.is_empty() { "the arguments".into() } else { format!("`{at}`") }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn article(kind: &str) -> &'static str {
    match kind {
        "string" => "text",
        "integer" => "a whole number",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "an object",
    }
}

fn range(schema: &Value) -> String {
    let mut text = String::new();
    if let Some(least) = schema["minimum"].as_i64() {
        let _ = write!(text, " at least {least}");
    }
    if let Some(most) = schema["maximum"].as_i64() {
        let and = if text.is_empty() { "" } else { " and" };
        let _ = write!(text, "{and} at most {most}");
    }
    text
}

fn one_of(words: &[Value]) -> String {
    let words: Vec<_> = words.iter().map(Value::to_string).collect();
    format!("one of {}", words.join(", "))
}

/// Lists the fields of an object: `path` (text, required), `limit` (a whole number).
fn fields_in_words(schema: &Value) -> String {
    let required = schema["required"].as_array();
    let fields = schema["properties"].as_object().into_iter().flatten();
    let fields: Vec<_> = fields
        .map(|(name, field)| {
            let kind = article(field["type"].as_str().unwrap_or_default());
            let needed = required.is_some_and(|names| names.iter().any(|other| other == name));
            format!("`{name}` ({kind}{})", if needed { ", required" } else { "" })
        })
        .collect();
    fields.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, JsonSchema, serde::Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        /// A path.
        path: String,
        /// A count.
        #[schemars(range(min = 1, max = 9))]
        count: Option<u64>,
        /// Parts.
        #[serde(default)]
        parts: Vec<Item>,
    }

    #[derive(Debug, JsonSchema, serde::Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Item {
        /// A word.
        word: Word,
    }

    #[derive(Debug, JsonSchema, serde::Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        One,
        TwoThree,
    }

    fn fault(text: &str) -> String {
        check(&schema::<Sample>(), text).expect_err(text)
    }

    #[test]
    fn a_schema_is_plain_and_closed() {
        let expected = serde_json::json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["path"],
            "properties": {
                "path": {"type": "string", "description": "A path."},
                "count": {
                    "type": "integer", "description": "A count.", "minimum": 1, "maximum": 9
                },
                "parts": {"type": "array", "description": "Parts.", "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["word"],
                    "properties": {"word": {
                        "type": "string", "description": "A word.", "enum": ["one", "two_three"]
                    }},
                }},
            },
        });
        assert_eq!(schema::<Sample>(), expected);
    }

    #[test]
    fn good_arguments_are_read() {
        let cases = [
            (r#"{"path": "a"}"#, "a", None, 0),
            (r#" {"path": "", "count": 9, "parts": null}"#, "", Some(9), 0),
            (r#"{"path": "a", "count": null, "parts": [{"word": "two_three"}]}"#, "a", None, 1),
        ];
        for (text, path, count, parts) in cases {
            let value = check(&schema::<Sample>(), text).expect(text);
            let read: Sample = read(value).expect(text);
            assert_eq!((read.path.as_str(), read.count, read.parts.len()), (path, count, parts));
        }
    }

    #[test]
    fn a_fault_names_the_field_and_what_is_expected() {
        let cases = [
            (r#"{"path": "parser.py"#, "not JSON"),
            ("", "`path` is missing: it must be text"),
            ("  ", "`path` is missing"),
            ("[]", "the arguments must be an object, not a list"),
            ("null", "the arguments must be an object, not null"),
            (r#"{"path": null}"#, "`path` must be text, not null"),
            (r#"{"path": ["ls", "-la"]}"#, "`path` must be text, not a list"),
            (r#"{"path": "a", "count": "3"}"#, "`count` must be a whole number, not text"),
            (r#"{"path": "a", "count": 1.5}"#, "`count` must be a whole number, not a number"),
            (r#"{"path": "a", "count": 0}"#, "`count` is 0, not at least 1 and at most 9"),
            (r#"{"path": "a", "count": 10}"#, "`count` is 10"),
            (r#"{"path": "a", "count": -1}"#, "`count` is -1"),
            (r#"{"path": "a", "count": 18446744073709551615}"#, "`count` is "),
            (r#"{"path": "a", "cuont": 1}"#, "there is no field `cuont` (did you mean `count`?)"),
            (r#"{"path": "a", "sandbox": false}"#, "there is no field `sandbox`"),
            (r#"{"path": "a", "parts": [{"word": "one"}, {}]}"#, "`parts[1].word` is missing"),
            (r#"{"path": "a", "parts": [{"word": "x"}]}"#, r#"must be one of "one", "two_three""#),
            (r#"{"path": "a", "parts": [{"word": "one", "x": 1}]}"#, "no field `parts[0].x`"),
        ];
        for (text, words) in cases {
            let fault = fault(text);
            assert!(fault.contains(words), "{text}: {fault}");
            assert!(fault.contains("`path` (text, required)"), "{text}: {fault}");
        }
    }

    #[test]
    fn several_faults_come_in_one_answer_and_their_number_is_bounded() {
        let both = fault(r#"{"count": "x", "mode": 1}"#);
        assert!(both.contains("`path`") && both.contains("`count`") && both.contains("`mode`"));

        let fields: Vec<_> = (0..100).map(|number| format!("\"f{number}\": 1")).collect();
        let many = fault(&format!("{{{}}}", fields.join(",")));
        assert!(many.contains("and 93 more") && many.len() < 1000, "{many}");
    }
}
