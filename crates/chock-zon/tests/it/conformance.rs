//! Every row of `tests/zon.json`: inputs of our own, judged by Zig's own reader.

use std::fmt::Write;

use chock_zon::{Diagnostic, Integer, Value, from_str, parse};
use serde::Deserialize;
use serde_json::{Value as Json, json};

#[derive(Debug, Deserialize)]
struct Table {
    count: usize,
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    #[serde(rename = "as")]
    read_as: ReadAs,
    input: String,
    ok: Option<Json>,
    error: Option<Expected>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ReadAs {
    Any,
    Conf,
    ConfLenient,
}

#[derive(Debug, Deserialize)]
struct Expected {
    line: usize,
    column: usize,
    kind: String,
    #[serde(rename = "match")]
    matches: Match,
    #[serde(default)]
    notes: Vec<(usize, usize)>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Match {
    Exact,
    Line,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conf {
    name: String,
    #[serde(default = "three")]
    retries: u8,
    #[serde(default)]
    mode: Mode,
    #[serde(default = "one")]
    ratio: f64,
    #[serde(default)]
    tags: Vec<String>,
    limit: Option<u32>,
    pair: Option<(u8, String)>,
    #[serde(default)]
    action: Action,
    #[serde(default)]
    flag: bool,
    #[serde(default)]
    sub: Sub,
}

fn three() -> u8 {
    3
}

fn one() -> f64 {
    1.0
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Off,
    #[default]
    Ask,
    Allow,
    #[serde(rename = "read only")]
    ReadOnly,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    None,
    Run(String),
    Wait {
        ms: u32,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Sub {
    depth: i16,
    width: i16,
}

impl Default for Sub {
    fn default() -> Self {
        Self { depth: 1, width: 2 }
    }
}

#[test]
fn every_row_is_read_as_zig_reads_it() {
    let table: Table = serde_json::from_str(include_str!("../zon.json")).unwrap();
    assert_eq!(table.cases.len(), table.count);
    let mut wrong = String::new();
    for case in &table.cases {
        if let Err(why) = check(case) {
            writeln!(wrong, "{}: {:?}: {why}", case.id, case.input).unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

fn check(case: &Case) -> Result<(), String> {
    let result = match case.read_as {
        ReadAs::Any => parse(&case.input).map(|tree| tagged(&Value::from(tree.root()))),
        ReadAs::Conf => from_str::<Conf>(&case.input).map(|conf| conf_tagged(&conf)),
        ReadAs::ConfLenient => return Err("no row is lenient yet".to_owned()),
    };
    match (result, &case.ok, &case.error) {
        (Ok(found), Some(expected), None) if found == *expected => Ok(()),
        (Ok(found), _, _) => Err(format!("read as {found}")),
        (Err(faults), None, Some(expected)) => check_fault(&faults, expected),
        (Err(faults), _, _) => Err(format!("refused: {faults:?}")),
    }
}

fn check_fault(faults: &[Diagnostic], expected: &Expected) -> Result<(), String> {
    let first = &faults[0];
    let place = match expected.matches {
        Match::Exact => (first.line, first.column) == (expected.line, expected.column),
        Match::Line => first.line == expected.line,
    };
    let noted = |place: &(usize, usize)| {
        first.notes.iter().any(|note| (note.place.line, note.place.column) == *place)
    };
    if !place || first.kind.word() != expected.kind || !expected.notes.iter().all(noted) {
        return Err(format!("expected {expected:?}, found {first:?}"));
    }
    Ok(())
}

fn tagged(value: &Value) -> Json {
    match value {
        Value::Null => json!({"null": true}),
        Value::Bool(value) => json!({"bool": value}),
        Value::Integer(Integer { negative, magnitude, .. }) => {
            json!({"int": format!("{}{}", if *negative { "-" } else { "" }, magnitude.unwrap())})
        }
        Value::Float(value) if value.is_nan() => json!({"float": "nan"}),
        Value::Float(value) if value.is_infinite() => json!({"float": value.to_string()}),
        Value::Float(value) => {
            json!({"float": value.to_string(), "bits": format!("{:016x}", value.to_bits())})
        }
        Value::Char(point) => json!({"char": point}),
        Value::String(text) => json!({"string": text}),
        Value::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({"string": null, "bytes": hex})
        }
        Value::Enum(name) => json!({"enum": name}),
        Value::Empty => json!({"empty": true}),
        Value::List(items) => json!({"tuple": items.iter().map(tagged).collect::<Vec<_>>()}),
        Value::Struct(fields) => {
            fields_tagged(fields.iter().map(|(name, value)| (name.as_str(), tagged(value))))
        }
    }
}

fn fields_tagged<'a>(fields: impl Iterator<Item = (&'a str, Json)>) -> Json {
    json!({"struct": fields.map(|(name, value)| json!([name, value])).collect::<Vec<_>>()})
}

/// The whole of a configuration, defaults filled in, as the table writes it.
fn conf_tagged(conf: &Conf) -> Json {
    let int = |number: i64| json!({"int": number.to_string()});
    let text = |text: &String| json!({"string": text});
    let mode = match conf.mode {
        Mode::Off => "off",
        Mode::Ask => "ask",
        Mode::Allow => "allow",
        Mode::ReadOnly => "read only",
    };
    let ratio = if conf.ratio.fract() == 0.0 {
        json!({"int": conf.ratio.to_string()})
    } else {
        tagged(&Value::Float(conf.ratio))
    };
    let tags = match conf.tags.as_slice() {
        [] => json!({"empty": true}),
        tags => json!({"tuple": tags.iter().map(text).collect::<Vec<_>>()}),
    };
    let pair = match &conf.pair {
        None => json!({"null": true}),
        Some((number, word)) => json!({"tuple": [int((*number).into()), text(word)]}),
    };
    let action = match &conf.action {
        Action::None => json!({"enum": "none"}),
        Action::Run(command) => fields_tagged([("run", text(command))].into_iter()),
        Action::Wait { ms } => {
            let inner = fields_tagged([("ms", int((*ms).into()))].into_iter());
            fields_tagged([("wait", inner)].into_iter())
        }
    };
    let sub = [("depth", int(conf.sub.depth.into())), ("width", int(conf.sub.width.into()))];
    let fields = [
        ("name", text(&conf.name)),
        ("retries", int(conf.retries.into())),
        ("mode", json!({"enum": mode})),
        ("ratio", ratio),
        ("tags", tags),
        ("limit", conf.limit.map_or(json!({"null": true}), |limit| int(limit.into()))),
        ("pair", pair),
        ("action", action),
        ("flag", json!({"bool": conf.flag})),
        ("sub", fields_tagged(sub.into_iter())),
    ];
    fields_tagged(fields.into_iter())
}
