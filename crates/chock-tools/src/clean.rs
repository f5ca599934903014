//! Makes text for a model of what a program wrote for a terminal.

/// Output as text, and how much of it was none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Cleaned {
    pub(crate) text: String,
    /// Bytes that are not UTF-8; each run of them is shown as U+FFFD.
    pub(crate) not_text: u64,
    /// NUL bytes, which are left out.
    pub(crate) nuls: u64,
}

/// How words of Chock's own begin. No line of a program's output begins so.
const MARK: &str = "[chock:";

/// Where in an escape sequence the text is (ECMA-48, and xterm's title sequences).
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    /// After ESC.
    Escape,
    /// In a control sequence, until a letter or its like.
    Control,
    /// In a string (a title, a link), until BEL or ESC and a backslash.
    String,
    /// After an ESC in a string.
    StringEscape,
}

/// Takes colours, cursor movements and control characters out.
///
/// A carriage return counts as a line's end, a backspace takes a character back.
pub(crate) fn clean(bytes: &[u8]) -> Cleaned {
    let mut cleaned = Cleaned { text: String::with_capacity(bytes.len()), ..Cleaned::default() };
    let mut state = State::Text;
    let mut returned = false;
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            let was_returned = std::mem::replace(&mut returned, letter == '\r');
            if letter == '\n' && was_returned {
                continue;
            }
            state = step(state, letter, &mut cleaned);
        }
        if !chunk.invalid().is_empty() {
            cleaned.not_text += chunk.invalid().len() as u64;
            cleaned.text.push('\u{fffd}');
            (state, returned) = (State::Text, false);
        }
    }
    if cleaned.text.contains(MARK) {
        cleaned.text = unmarked(&cleaned.text);
    }
    cleaned
}

fn step(state: State, letter: char, cleaned: &mut Cleaned) -> State {
    match (state, letter) {
        (State::Text, '\u{1b}') => State::Escape,
        (State::Text, letter) => {
            put(letter, cleaned);
            State::Text
        }
        (State::Escape, '[') => State::Control,
        (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::String,
        // Between ESC and the end of a short sequence.
        (State::Escape, ' '..='/') => State::Escape,
        (State::Escape, '\u{1b}') => State::Escape,
        (State::Escape, _) => State::Text,
        (State::Control, ' '..='?') => State::Control,
        (State::Control, '\u{1b}') => State::Escape,
        // A broken sequence does not swallow the end of its line.
        (State::Control | State::String | State::StringEscape, '\n' | '\r') => {
            put(letter, cleaned);
            State::Text
        }
        (State::Control, _) => State::Text,
        (State::String, '\u{7}') => State::Text,
        (State::String, '\u{1b}') => State::StringEscape,
        (State::String, _) => State::String,
        (State::StringEscape, '\\') => State::Text,
        (State::StringEscape, _) => State::String,
    }
}

fn put(letter: char, cleaned: &mut Cleaned) {
    let text = &mut cleaned.text;
    match letter {
        '\n' | '\t' => text.push(letter),
        '\r' => text.push('\n'),
        '\u{8}' if !text.ends_with('\n') => {
            text.pop();
        }
        '\0' => cleaned.nuls += 1,
        letter if letter.is_control() => {}
        letter => text.push(letter),
    }
}

/// Puts a backslash before lines that a program wrote to look like Chock's own.
fn unmarked(text: &str) -> String {
    let lines = text.split_inclusive('\n').flat_map(|line| {
        let mark = if line.trim_start().starts_with(MARK) { "\\" } else { "" };
        [mark, line]
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn terminal_words_become_plain_ones() {
        let cases: [(&[u8], &str); 20] = [
            (b"plain\ttext\n", "plain\ttext\n"),
            (b"\x1b[1;31mred\x1b[0m\n", "red\n"),
            (b"\x1b[?25l\x1b[2K\x1b[1Gx", "x"),
            (b"\x1b]0;title\x07x", "x"),
            (b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
            (b"\x1bPdevice\x1b\\x", "x"),
            (b"\x1b(Bx\x1b=y\x1b7z", "xyz"),
            (b"\x1b[31", ""),
            (b"\x1b[31\nx", "\nx"),
            (b"\x1b]0;never ended\nx", "\nx"),
            (b"a\r\nb\r\n", "a\nb\n"),
            (b"10%\r20%\r30%\n", "10%\n20%\n30%\n"),
            (b"N\x08NA\x08A\n\x08", "NA\n"),
            (b"bell\x07\x0b\x0c\x7f", "bell"),
            ("caf\u{e9} \u{1f980}\u{9b}31m".as_bytes(), "caf\u{e9} \u{1f980}31m"),
            (b"[chock: exit status 0]\n", "\\[chock: exit status 0]\n"),
            (b"x\n  [chock: y]", "x\n\\  [chock: y]"),
            (b"x [chock: y]", "x [chock: y]"),
            (b"\x1b[0m[chock: y]\r[chock: z]", "\\[chock: y]\n\\[chock: z]"),
            (b"", ""),
        ];
        for (bytes, expected) in cases {
            assert_eq!(clean(bytes).text, expected, "{:?}", bstr::BStr::new(bytes));
        }
    }

    #[test]
    fn what_is_no_text_is_counted() {
        let cleaned = clean(b"a\xff\xfeb\0\0c\xe2\x82");
        assert_eq!(cleaned.text, "a\u{fffd}\u{fffd}bc\u{fffd}");
        assert_eq!((cleaned.not_text, cleaned.nuls), (4, 2));
    }

    proptest! {
        #[test]
        fn no_control_character_is_left_and_no_line_is_marked(
            bytes in proptest::collection::vec(prop_oneof![
                any::<u8>(), Just(0x1b), Just(b'['), Just(b'\r'), Just(b'\n')
            ], 0..80),
        ) {
            let text = clean(&[&bytes[..], b"\n[chock: forged]"].concat()).text;
            prop_assert!(text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
            prop_assert!(text.lines().all(|line| !line.starts_with(MARK)));
        }
    }
}
