//! Makes what an agent wrote harmless to a terminal and honest to the eye.

use std::borrow::Cow;

use unicode_security::MixedScript;

/// Replaces every character that could move the cursor, colour, hide or reorder text.
///
/// Newlines and tabs stay. What is replaced is shown as `\x1b` or `\u{202e}`.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_hidden(letter) {
            let code = u32::from(letter);
            let escaped =
                if code < 0x100 { format!("\\x{code:02x}") } else { format!("\\u{{{code:x}}}") };
            shown.push_str(&escaped);
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// As [`visible`], with letters spelled out that pass for others: what a person approves is what
/// they read.
///
/// A word that would be read as ASCII, or that mixes alphabets, shows each of its other letters
/// by number. Words of one alphabet stay as they are.
pub(crate) fn honest(text: &str) -> String {
    let text = visible(text);
    if text.is_ascii() {
        return text.into_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '\u{300}';
    let mut rest: &str = &text;
    while !rest.is_empty() {
        let end = rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if passes_for_another(word) {
            shown.extend(word.chars().map(|letter| match letter {
                letter if letter.is_ascii() => letter.to_string(),
                letter => format!("\\u{{{:x}}}", u32::from(letter)),
            }));
        } else {
            shown.push_str(word);
        }
        let next = after.chars().next();
        shown.extend(next);
        rest = &after[next.map_or(0, char::len_utf8)..];
    }
    shown
}

/// Says whether a word could be taken for another one.
fn passes_for_another(word: &str) -> bool {
    if word.is_ascii() {
        return false;
    }
    unicode_security::skeleton(word).all(|letter| letter.is_ascii()) || !word.is_single_script()
}

/// As [`visible`], on one line: newlines and tabs are shown as well.
pub(crate) fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// Writes JSON so that it cannot draw either: what [`visible`] would replace becomes `\u` escapes.
pub(crate) fn escaped_json(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        // Outside of its strings JSON has only plain ASCII and line ends.
        if is_hidden(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Cuts a line to `most` characters, with a mark where something is missing.
pub(crate) fn shortened(line: &str, most: usize) -> String {
    if line.chars().count() <= most {
        return line.to_owned();
    }
    let kept: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Control characters, and the format characters that hide, join or reorder.
///
/// Source: Unicode's categories Cc and Cf, the line and paragraph separators, and the
/// blank fillers of Hangul and Braille.
fn is_hidden(letter: char) -> bool {
    let format = matches!(
        u32::from(letter),
        0xad | 0x34f
            | 0x600..=0x605
            | 0x61c
            | 0x6dd
            | 0x70f
            | 0x115f..=0x1160
            | 0x17b4..=0x17b5
            | 0x180b..=0x180f
            | 0x200b..=0x200f
            | 0x2028..=0x202e
            | 0x2060..=0x206f
            | 0x2800
            | 0x3164
            | 0xfeff
            | 0xffa0
            | 0xfff0..=0xfffb
            | 0x1_d173..=0x1_d17a
            | 0xe_0000..=0xe_0fff
    );
    (letter.is_control() && !matches!(letter, '\n' | '\t')) || format
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_moves_the_cursor_is_left() {
        let cases = [
            ("plain — 日本語 🦀\n\tx", "plain — 日本語 🦀\n\tx"),
            ("\u{1b}[2J", "\\x1b[2J"),
            ("a\rb\u{7}", "a\\x0db\\x07"),
            ("\u{9b}31m", "\\x9b31m"),
            ("x\u{202e}y\u{2066}", "x\\u{202e}y\\u{2066}"),
            ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
        ];
        for (text, shown) in cases {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(visible_line("a\nb\tc"), "a\\nb\\tc");
    }

    #[test]
    fn escaped_json_says_the_same_and_draws_nothing() {
        let text = serde_json::json!({ "a": "\u{9b}31m \u{202e} \u{e0001} \u{7f} é" }).to_string();
        let escaped = escaped_json(&text);
        assert!(!escaped.chars().any(is_hidden), "{escaped}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(&escaped), read(&text));
    }

    #[test]
    fn words_that_pass_for_others_are_spelled_out() {
        let cases = [
            (
                "plain caf\u{e9} \u{65e5}\u{672c}\u{8a9e}",
                "plain caf\u{e9} \u{65e5}\u{672c}\u{8a9e}",
            ),
            ("g\u{456}t push", "g\\u{456}t push"),
            // Cyrillic letters alone that read as `copy`.
            ("\u{441}\u{43e}\u{440}\u{443} a", "\\u{441}\\u{43e}\\u{440}\\u{443} a"),
            (
                "\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}",
                "\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}",
            ),
            ("\u{ff52}m -rf", "\\u{ff52}m -rf"),
            ("a\u{1b}b", "a\\x1bb"),
        ];
        for (text, shown) in cases {
            assert_eq!(honest(text), shown);
        }
    }

    #[test]
    fn long_lines_are_cut_with_a_mark() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefg", 6), "abcde…");
    }
}
