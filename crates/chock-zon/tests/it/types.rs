//! What fits which type, places, and writing strings.

use std::collections::BTreeMap;

use chock_zon::{Integer, Shape, Span, Spanned, Value, from_str, parse, quoted};
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[track_caller]
fn check<T: DeserializeOwned + PartialEq + std::fmt::Debug>(text: &str, expected: T) {
    assert_eq!(from_str::<T>(text), Ok(expected), "{text}");
}

#[test]
fn numbers_fit_what_can_hold_them() {
    check("255", 255_u8);
    check("-128", -128_i8);
    check("'a'", 97_u8);
    check("3.0", 3_u8);
    check("-3.0", -3_i8);
    check("340282366920938463463374607431768211455", u128::MAX);
    check("-170141183460469231731687303715884105728", i128::MIN);
    check("18446744073709551616", 18_446_744_073_709_551_616_u128);
    check("-9223372036854775809", -9_223_372_036_854_775_809_i128);
    check("2", 2.0_f64);
    check("'a'", 97.0_f64);
    check("0.5", 0.5_f32);
    for text in ["256", "-1", "1.5", "inf", "nan", "256.0", "18446744073709551616", "1e40"] {
        let faults = from_str::<u8>(text).unwrap_err();
        assert_eq!(faults[0].kind.word(), "out-of-range", "{text}");
    }
    let huge = "9".repeat(40_000);
    assert_eq!(from_str::<u128>(&huge).unwrap_err()[0].kind.word(), "out-of-range");
    check(&huge, f64::INFINITY);
}

#[test]
fn floats_are_the_nearest() {
    // (text, bits)
    let cases = [
        ("340282366920938463463374607431768211457", 2_f64.powi(128)),
        ("0xffff_ffff_ffff_ffff_ffff_ffff_ffff_ffff_ffff", 2_f64.powi(144)),
        (
            "0x1_0000_0000_0000_0800_0000_0000_0000_0000_0001",
            2_f64.powi(144) * (1.0 + f64::EPSILON),
        ),
        ("0x1_0000_0000_0000_0800_0000_0000_0000_0000_0000", 2_f64.powi(144)),
        ("9007199254740993", 9_007_199_254_740_992.0),
        ("0x1p-1074", f64::from_bits(1)),
        ("0x1p-1075", 0.0),
        ("0x1.8p-1075", f64::from_bits(1)),
        ("0x1.fffffffffffffp1023", f64::MAX),
        ("0x1.fffffffffffff8p1023", f64::INFINITY),
        ("0x1p999999999999999999999999", f64::INFINITY),
        ("0x1p-99999999999999999999999", 0.0),
        ("0x0p99999999999999999999999", 0.0),
        ("0x.8p1", 0.0),
        ("1e400", f64::INFINITY),
        ("4.9e-324", f64::from_bits(1)),
    ];
    for (text, expected) in cases {
        if text == "0x.8p1" {
            assert!(parse(text).is_err(), "{text}");
            continue;
        }
        let found: f64 = from_str(text).unwrap();
        assert_eq!(found.to_bits(), expected.to_bits(), "{text}: {found:e}");
    }
}

#[test]
fn an_empty_literal_fits_a_struct_a_list_and_a_string() {
    check(".{}", String::new());
    check(".{}", Vec::<u8>::new());
    check(".{}", BTreeMap::<String, u8>::new());
    assert!(from_str::<u8>(".{}").is_err());
}

#[test]
fn a_name_is_not_a_string_and_a_string_is_not_a_name() {
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        One,
        Two(u8),
        Three(u8, u8),
    }
    check(".one", Word::One);
    check(".{ .two = 2 }", Word::Two(2));
    check(".{ .three = .{ 1, 2 } }", Word::Three(1, 2));
    for text in
        ["\"one\"", ".two", ".{ .one = 1 }", ".{ .two = 1, .one = 2 }", ".{ .three = .{ 1 } }", "1"]
    {
        assert!(from_str::<Word>(text).is_err(), "{text}");
    }
    assert!(from_str::<String>(".one").is_err());
}

#[test]
fn a_map_takes_any_names() {
    let text = ".{ .@\"a b\" = 1, .c = null }";
    check(text, BTreeMap::from([("a b".to_owned(), Some(1)), ("c".to_owned(), None::<u8>)]));
}

#[test]
fn a_spanned_value_knows_its_place() {
    #[derive(Debug, Deserialize)]
    struct Rule {
        decision: Spanned<Option<String>>,
        list: Spanned<Vec<Spanned<u8>>>,
    }
    let text = ".{\n  .decision = \"x\",\n  .list = .{ 1, 22 },\n}";
    let rule: Rule = from_str(text).unwrap();
    let place = rule.decision.place;
    assert_eq!((place.line, place.column), (2, 15));
    assert_eq!(&text[place.span.start..place.span.end], "\"x\"");
    // A list points at its brace and spans from its dot.
    let place = rule.list.place;
    assert_eq!((place.line, place.column), (3, 12));
    assert_eq!(&text[place.span.start..place.span.end], ".{ 1, 22 }");
    assert_eq!(rule.list.value[1].place.column, 17);
    assert_eq!(rule.list.value[1].value, 22);
}

#[test]
fn a_fault_inside_a_spanned_value_is_placed() {
    let faults = from_str::<Vec<Spanned<u8>>>(".{ 1, .x }").unwrap_err();
    assert_eq!((faults[0].line, faults[0].column), (1, 8));
}

#[test]
fn other_formats_read_a_spanned_value_without_a_place() {
    let value: Spanned<u8> = serde_json::from_str("7").unwrap();
    assert_eq!((value.value, value.place.line), (7, 0));
}

#[test]
fn a_tree_can_be_walked() {
    let tree = parse(".{ .a = .{ 1, -2 }, .b = .c }").unwrap();
    let root = tree.root();
    assert_eq!(root.shape(), Shape::Struct);
    let names: Vec<_> =
        root.entries().map(|entry| (entry.name(), entry.name_place().column)).collect();
    assert_eq!(names, [("a", 5), ("b", 22)]);
    let items: Vec<_> = root.get("a").unwrap().items().map(chock_zon::Node::shape).collect();
    let integer = |negative, magnitude, nearest| {
        Shape::Integer(Integer { negative, magnitude: Some(magnitude), nearest })
    };
    assert_eq!(items, [integer(false, 1, 1.0), integer(true, 2, -2.0)]);
    assert_eq!(root.get("b").unwrap().place().span, Span { start: 25, end: 27 });
    assert!(root.get("c").is_none());
    assert_eq!(root.get("a").unwrap().read::<Vec<i8>>(), Ok(vec![1, -2]));
}

#[test]
fn a_quoted_string_is_plain_ascii_and_reads_back() {
    assert_eq!(quoted("a\"\\\n\u{1b}[2J\u{202e}é"), r#""a\"\\\n\u{1b}[2J\u{202e}\u{e9}""#);
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    assert_eq!(Value::from(parse("\u{feff}.{}").unwrap().root()), Value::Empty);
}
