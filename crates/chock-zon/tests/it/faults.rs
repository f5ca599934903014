//! Faults beyond the table: several in one run, limits, echoes.

use std::collections::BTreeMap;

use chock_zon::{
    DEPTH_MAX, Diagnostic, FAULTS_MAX, Kind, TEXT_BYTES_MAX, from_bytes, from_str, parse,
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only read, never looked at")]
struct House {
    name: String,
    floors: u8,
    #[serde(default)]
    rooms: Vec<Room>,
    #[serde(default)]
    corner: Option<(u8, u8)>,
    #[serde(default)]
    even: Even,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only read, never looked at")]
struct Room {
    use_for: Use,
    #[serde(default)]
    doors: u8,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only read, never looked at")]
enum Use {
    Sleep,
    Store { what: String },
}

/// A number with a check of its own.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "u8")]
struct Even;

impl TryFrom<u8> for Even {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        if number.is_multiple_of(2) { Ok(Self) } else { Err("the number is odd") }
    }
}

/// `kind line:column`, one a line.
fn summary(faults: &[Diagnostic]) -> Vec<String> {
    faults
        .iter()
        .map(|fault| format!("{} {}:{}", fault.kind.word(), fault.line, fault.column))
        .collect()
}

#[track_caller]
fn check_house(text: &str, expected: &[&str]) {
    let faults = from_str::<House>(text).unwrap_err();
    assert_eq!(summary(&faults), expected, "{text}\n{faults:#?}");
}

#[test]
fn one_run_finds_every_fault_of_the_types() {
    check_house(
        ".{
            .name = 1,
            .floor = 2,
            .floors = 300,
            .rooms = .{ .{ .use_for = .eat }, .{}, .{ .use_for = .sleep, .doors = true, .size = 3 } },
            .corner = .{ 1, 256 },
            .even = 3,
        }",
        &[
            "wrong-type 2:21",
            "unknown-field 3:14",
            "out-of-range 4:23",
            "unknown-variant 5:40",
            "missing-field 5:48",
            "wrong-type 5:83",
            "unknown-field 5:90",
            "out-of-range 6:29",
            "invalid-value 7:21",
        ],
    );
}

#[test]
fn what_only_follows_from_a_fault_is_not_reported() {
    // Without its bad item the pair is too short, without its name the house has none.
    check_house(
        ".{ .name = .x, .floors = 1, .corner = .{ 1, .a } }",
        &["wrong-type 1:13", "wrong-type 1:46"],
    );
    // A payload at fault does not turn the variant into one without a payload.
    check_house(
        ".{ .name = \"\", .floors = 1, .rooms = .{ .{ .use_for = .{ .store = .{ .what = 1 } } } } }",
        &["wrong-type 1:78"],
    );
    // A field that really is missing is reported beside one that is at fault.
    check_house(".{ .floors = .x }", &["wrong-type 1:15", "missing-field 1:2"]);
}

#[test]
fn one_run_finds_every_fault_of_the_text() {
    // (text, expected)
    let cases: &[(&str, &[&str])] = &[
        (".{ .a = , .b = 1, .c = } }", &["syntax 1:9", "syntax 1:24", "syntax 1:26"]),
        (".{ .a = 1 .b = 2 .c = 3 }", &["syntax 1:11", "syntax 1:18"]),
        (".{ a = 1, .b = 2, c = 3 }", &["syntax 1:4", "syntax 1:19"]),
        (".{ .a = \"x, .b = 1\n, .c = .{ 1 2 } }", &["syntax 1:9", "syntax 2:13"]),
        (
            ".{ .a = maybe, .b = 1__0, .c = \"\\q\" }",
            &["unknown-word 1:9", "bad-number 1:23", "bad-escape 1:34"],
        ),
        // Faults of the grammar first: the rest of such a text may be read wrongly.
        (".{ .a = maybe, .b = ; }", &["syntax 1:21", "unknown-word 1:9"]),
        (".{ .if = 1, .a = .or }", &["syntax 1:5", "syntax 1:19"]),
        // A fault inside says enough about the end that cannot be found.
        (".{ .a = .{ 1, ]", &["syntax 1:15"]),
        (".{ /// x\n .a = 1, /// y\n /// z\n }", &["syntax 1:4", "syntax 2:10"]),
        (
            ".{ .a = 1, .a = 2, .b = .{ .c = 1, .c = 1 } }",
            &["duplicate-field 1:5", "duplicate-field 1:29"],
        ),
        ("(1)", &["not-allowed 1:1"]),
        ("- - -1", &["minus-without-number 1:1"]),
        (".{ 1..2 }", &["syntax 1:5"]),
        ("'\\u{d800}'x", &["syntax 1:11"]),
        ("// \u{1}\n1", &["syntax 1:1"]),
        ("1 // a\rb", &["syntax 1:3"]),
        ("\0", &["syntax 1:1"]),
        ("1e400__", &["bad-number 1:7"]),
    ];
    for (text, expected) in cases {
        let faults = parse(text).unwrap_err();
        assert_eq!(summary(&faults), *expected, "{text}\n{faults:#?}");
    }
}

#[test]
fn a_fault_says_what_it_found_and_what_would_fit() {
    // (text, message, note)
    let cases = [
        (".{ .name = 1, .floors = 1 }", "expected a string, found 1", None),
        (
            ".{ .name = \"\", .floors = -1 }",
            "expected a whole number from 0 to 255, found integer `-1`",
            None,
        ),
        (
            ".{ .name = \"\", .floors = 2.5 }",
            "expected a whole number from 0 to 255, found the float 2.5",
            None,
        ),
        (
            ".{ .name = \"\", .floor = 1, .floors = 1 }",
            "there is no field `floor`",
            Some("the names are name, floors, rooms, corner, even"),
        ),
        (
            ".{ .name = \"\", .floors = 1, .rooms = .{ .{ .use_for = .eat } } }",
            "`eat` is none of the names that may stand here",
            Some("the names are sleep, store"),
        ),
        (".{ .name = \"\", .floors = 1, .even = 1 }", "the number is odd", None),
    ];
    for (text, message, note) in cases {
        let faults = from_str::<House>(text).unwrap_err();
        assert_eq!(faults.len(), 1, "{text}: {faults:#?}");
        assert_eq!(faults[0].message, message, "{text}");
        assert_eq!(faults[0].notes.first().map(|note| note.message.as_str()), note, "{text}");
    }
}

#[test]
fn a_text_has_at_most_a_mebibyte() {
    let blank = " ".repeat(TEXT_BYTES_MAX - 1);
    assert!(parse(&format!("{blank}1")).is_ok());
    let faults = parse(&format!("{blank} 1")).unwrap_err();
    assert_eq!(summary(&faults), ["too-large 1:1"]);
}

#[test]
fn values_lie_at_most_so_deep() {
    let nested = |depth: usize| format!("{}1{}", ".{".repeat(depth), "}".repeat(depth));
    assert!(parse(&nested(DEPTH_MAX)).is_ok());
    let faults = parse(&nested(DEPTH_MAX + 1)).unwrap_err();
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].kind, Kind::TooDeep);
    assert_eq!(faults[0].column, 2 * DEPTH_MAX + 2);
    // As deep as the text allows: neither the stack nor the time is spent.
    for unit in
        [".{", ".{.a=", "-", "&-", "(", "[", "a[", ".a.b", "1+", "struct{", "try ", ".{.{},"]
    {
        assert!(parse(&unit.repeat(TEXT_BYTES_MAX / unit.len())).is_err(), "{unit}");
    }
}

#[test]
fn faults_are_bounded() {
    for unit in ["a,", ".a=b,", "'ab',", "\"\\q\",", ".@\"\",", "1__1,", ".a=1,", "/// x\n", "! ,"]
    {
        let text = format!(".{{{}}}", unit.repeat(10_000));
        let faults = parse(&text).unwrap_err();
        assert!((1..=FAULTS_MAX).contains(&faults.len()), "{unit}: {}", faults.len());
        assert!(faults.iter().all(|fault| fault.notes.len() <= FAULTS_MAX), "{unit}");
    }
    let text = format!(".{{{}}}", "\"x\",".repeat(1_000));
    assert_eq!(from_str::<Vec<u8>>(&text).unwrap_err().len(), FAULTS_MAX);
}

#[test]
fn bytes_that_are_not_text_are_named_by_place() {
    let faults = from_bytes::<BTreeMap<String, u8>>(b".{\n .a = \"\xff\" }").unwrap_err();
    assert_eq!(summary(&faults), ["not-utf8 2:8"]);
}

#[test]
fn a_fault_at_the_end_of_a_line_points_there() {
    let faults = parse(".{\n    .a = 1\n    .b = 2,\n}").unwrap_err();
    assert_eq!(faults[0].to_string(), "2:11: expected `,` or `}` here, found `.` on a later line");
}
