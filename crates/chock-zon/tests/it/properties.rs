//! What holds for every input.

use chock_zon::{
    Diagnostic, FAULTS_MAX, Shape, Spanned, Value, from_bytes, from_str, parse, parse_bytes,
    quoted, quoted_bytes,
};
use proptest::prelude::*;
use serde::Deserialize;

/// A type with some of everything.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only read, never looked at")]
struct Everything {
    name: String,
    #[serde(default)]
    number: Option<i16>,
    #[serde(default)]
    list: Vec<Spanned<Choice>>,
    #[serde(default)]
    pair: Option<(u8, char)>,
    #[serde(default)]
    deeper: Option<Box<Everything>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
#[expect(dead_code, reason = "only read, never looked at")]
enum Choice {
    Yes,
    Maybe(f64),
    Both { left: bool, right: Vec<u8> },
}

const VALID: &str = r#".{ // head
    .name = "a\u{e9}\x41",
    .number = -0x7f,
    .list = .{ .yes, .{ .maybe = 1.5e3 }, .{ .both = .{ .left = true, .right = .{ 1, 'b' } } } },
    .pair = .{ 7, 'x' },
    .deeper = .{ .name =
        \\one
        \\two
    , .number = null },
}"#;

/// Pieces that texts are made of.
const PIECES: &[&str] = &[
    ".", "{", "}", ".{", "=", ",", "-", "\"", "\\", "\\\\", "'", "@", "@\"", "//", "///", "\n",
    "\r", "\t", " ", "name", "if", "null", "true", "nan", "inf", "0", "1", "0x", "0b1", "1.5", "e",
    "p", "_", "\\x", "\\u{", "+", "&", "(", ")", "[", "]", "==", ";", ":", "é", "\u{feff}", "\0",
    "and", "struct", ".name =", ".yes",
];

fn check_faults(text: &str, faults: &[Diagnostic]) -> Result<(), TestCaseError> {
    prop_assert!((1..=FAULTS_MAX).contains(&faults.len()));
    for fault in faults {
        let places =
            std::iter::once(fault.place()).chain(fault.notes.iter().map(|note| note.place));
        for place in places {
            let (start, end) = (place.span.start, place.span.end);
            prop_assert!(start <= end && end <= text.len(), "{fault:?}");
            prop_assert!(text.is_char_boundary(start) && text.is_char_boundary(end), "{fault:?}");
            let before = &text[..start];
            prop_assert_eq!(place.line, before.matches('\n').count() + 1);
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            prop_assert_eq!(place.column, start - line_start + 1);
        }
        prop_assert!(!fault.message.is_empty());
        prop_assert!(!fault.message.chars().any(char::is_control), "{fault:?}");
    }
    Ok(())
}

fn check(text: &str) -> Result<(), TestCaseError> {
    match parse(text) {
        Err(faults) => {
            check_faults(text, &faults)?;
            prop_assert_eq!(from_str::<Everything>(text).unwrap_err(), faults);
        }
        Ok(tree) => {
            let _ = Value::from(tree.root());
            for result in [
                from_str::<Everything>(text).map(drop),
                from_str::<Vec<Choice>>(text).map(drop),
                from_str::<serde_json::Value>(text).map(drop),
            ] {
                if let Err(faults) = result {
                    check_faults(text, &faults)?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn the_valid_text_is_valid() {
    from_str::<Everything>(VALID).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(faults) = parse_bytes(&bytes) {
            prop_assert!((1..=FAULTS_MAX).contains(&faults.len()));
        }
        let _ = from_bytes::<Everything>(&bytes);
    }

    #[test]
    fn no_pieces_panic(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..40)) {
        check(&pieces.concat())?;
    }

    #[test]
    fn no_mutation_panics(
        at in 0..VALID.len(),
        length in 0_usize..12,
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..4),
    ) {
        let end = (at + length).min(VALID.len());
        prop_assume!(VALID.is_char_boundary(at) && VALID.is_char_boundary(end));
        check(&format!("{}{}{}", &VALID[..at], pieces.concat(), &VALID[end..]))?;
    }

    #[test]
    fn a_quoted_string_reads_back(text in any::<String>()) {
        let literal = quoted(&text);
        prop_assert!(literal.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        prop_assert_eq!(from_str::<String>(&literal).unwrap(), text);
    }

    #[test]
    fn quoted_bytes_read_back(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let tree = parse(&quoted_bytes(&bytes)).unwrap();
        prop_assert_eq!(tree.root().shape(), Shape::String(&bytes));
    }

    #[test]
    fn integers_read_back(number in any::<i128>()) {
        prop_assert_eq!(from_str::<i128>(&number.to_string()).unwrap(), number);
        if number >= 0 {
            prop_assert_eq!(from_str::<i128>(&format!("{number:#x}")).unwrap(), number);
            prop_assert_eq!(from_str::<i128>(&format!("{number:#b}")).unwrap(), number);
            prop_assert_eq!(from_str::<i128>(&format!("{number:#o}")).unwrap(), number);
        }
    }

    #[test]
    fn floats_read_back(bits in any::<u64>()) {
        let number = f64::from_bits(bits);
        prop_assume!(number.is_finite());
        prop_assert_eq!(from_str::<f64>(&format!("{number:e}")).unwrap().to_bits(), bits);
        // The same by its hexadecimal spelling, which is read by our own code.
        let exponent = (bits >> 52 & 0x7ff).max(1) as i64 - 1075;
        let hidden = u64::from(bits >> 52 & 0x7ff != 0) << 52;
        let mantissa = bits & ((1 << 52) - 1) | hidden;
        let sign = if bits >> 63 == 1 { "-" } else { "" };
        let text = format!("{sign}0x{mantissa:x}p{exponent}");
        prop_assert_eq!(from_str::<f64>(&text).unwrap().to_bits(), bits);
    }

    #[test]
    fn whole_numbers_become_the_nearest_float(number in any::<u128>()) {
        #[expect(clippy::cast_precision_loss, reason = "that is the question")]
        let nearest = number as f64;
        prop_assert_eq!(from_str::<f64>(&number.to_string()).unwrap(), nearest);
        prop_assert_eq!(from_str::<f64>(&format!("{number:#x}")).unwrap(), nearest);
    }
}
