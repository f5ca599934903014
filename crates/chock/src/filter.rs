//! Lets what a caged program draws through to the person's terminal, and nothing that asks or sets.
//!
//! Text, colours, cursor movement and erasing pass. Titles, the clipboard, queries, device strings
//! and every mode outside a short list do not, so that nothing makes the terminal answer: an
//! answer would be typed into whatever reads the keyboard next.

/// The most bytes of a control sequence's parameters. The longest colour anyone sets is half of it.
const PARAMETER_BYTES_MAX: usize = 128;

/// The most digits of one parameter: no screen has more columns.
const DIGITS_MAX: usize = 5;

/// The most bytes of a string that are swallowed before it counts as never ended.
const STRING_BYTES_MAX: usize = 1 << 20;

const BELL: u8 = 0x07;
const ESCAPE: u8 = 0x1b;

/// A stream's filter: pieces may be cut anywhere.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    state: State,
    /// Bytes of an unfinished letter or control sequence.
    held: Vec<u8>,
    modes: Modes,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// Within a letter of several bytes.
    Letter,
    /// Behind an escape.
    Escape,
    /// Behind an escape and one of the bytes that say what is named next.
    Named(u8),
    /// Behind `ESC [`.
    Control,
    /// In a control sequence that will not pass.
    Skipped,
    /// In a string of the given kind, with its length so far.
    Text { kind: Kind, length: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Ends at a bell too.
    Command,
    Device,
}

/// What was switched and not switched back.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Modes(u16);

/// A mode, and how it is switched back.
#[derive(Debug, Clone, Copy)]
struct Mode(u16, &'static str);

const LINE_DRAWING: Mode = Mode(1 << 0, "\x1b(B");
const COLOUR: Mode = Mode(1 << 1, "\x1b[m");
const REGION: Mode = Mode(1 << 2, "\x1b7\x1b[r\x1b8");
const OTHER_SCREEN: Mode = Mode(1 << 3, "\x1b[?1049l");
const HIDDEN_CURSOR: Mode = Mode(1 << 4, "\x1b[?25h");
const PASTE_MARKS: Mode = Mode(1 << 5, "\x1b[?2004l");
const CURSOR_KEYS: Mode = Mode(1 << 6, "\x1b[?1l");
const KEYPAD: Mode = Mode(1 << 7, "\x1b>");
const NO_WRAP: Mode = Mode(1 << 8, "\x1b[?7h");

const MODES: [Mode; 9] = [
    LINE_DRAWING,
    COLOUR,
    REGION,
    OTHER_SCREEN,
    HIDDEN_CURSOR,
    PASTE_MARKS,
    CURSOR_KEYS,
    KEYPAD,
    NO_WRAP,
];

impl Modes {
    /// Returns the same set from its number, as [`Modes::number`] gave it.
    pub(crate) fn from_number(number: u16) -> Self {
        Self(number)
    }

    /// Returns a number that stands for the set.
    pub(crate) fn number(self) -> u16 {
        self.0
    }

    /// Says what puts the terminal back as it was.
    pub(crate) fn undo(self) -> String {
        let on = MODES.iter().filter(|mode| self.0 & mode.0 != 0);
        on.map(|mode| mode.1).collect()
    }

    fn set(&mut self, mode: Mode, on: bool) {
        self.0 = if on { self.0 | mode.0 } else { self.0 & !mode.0 };
    }
}

impl Filter {
    /// Adds what of `bytes` may pass to `out`.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for byte in bytes {
            self.byte(*byte, out);
        }
    }

    /// Says what is switched now.
    pub(crate) fn modes(&self) -> Modes {
        self.modes
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        match self.state {
            State::Ground => self.ground(byte, out),
            State::Letter => self.letter(byte, out),
            State::Text { kind, length } => self.text(kind, length, byte),
            State::Escape | State::Named(_) | State::Control | State::Skipped => {
                self.sequence(byte, out);
            }
        }
    }

    fn ground(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            ESCAPE => self.begin(State::Escape),
            0x20..=0x7e | BELL | b'\x08' | b'\t' | b'\n' | b'\r' => out.push(byte),
            0x80.. => {
                self.begin(State::Letter);
                self.letter(byte, out);
            }
            // The others shift character sets, hold the output back or ask who is there.
            0..0x20 | 0x7f => {}
        }
    }

    fn begin(&mut self, state: State) {
        self.held.clear();
        self.state = state;
    }

    /// Takes a byte of a letter. What is no UTF-8 is shown as such: a lone byte from 0x80 to
    /// 0x9f is a control of its own to some terminals.
    fn letter(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.held.push(byte);
        let broken = match std::str::from_utf8(&self.held) {
            Ok(letter) => {
                if !letter.chars().any(char::is_control) {
                    out.extend_from_slice(letter.as_bytes());
                }
                false
            }
            Err(fault) if fault.error_len().is_none() => return,
            Err(_) => true,
        };
        let first = self.held.len() == 1;
        self.begin(State::Ground);
        if broken {
            out.extend_from_slice("\u{fffd}".as_bytes());
            if !first {
                self.ground(byte, out);
            }
        }
    }

    fn text(&mut self, kind: Kind, length: usize, byte: u8) {
        let ends = byte == BELL && kind == Kind::Command;
        self.state = match byte {
            // Its end is an escape as well, or another sequence begins.
            ESCAPE => State::Escape,
            0x18 | 0x1a => State::Ground,
            _ if ends || length >= STRING_BYTES_MAX => State::Ground,
            _ => State::Text { kind, length: length + 1 },
        };
        self.held.clear();
    }

    fn sequence(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            ESCAPE => self.begin(State::Escape),
            0x18 | 0x1a => self.begin(State::Ground),
            // A terminal obeys these in the middle of a sequence.
            0..0x20 => {
                if matches!(byte, BELL | b'\x08' | b'\t' | b'\n' | b'\r') {
                    out.push(byte);
                }
            }
            0x7f => {}
            0x80.. => {
                self.begin(State::Ground);
                self.ground(byte, out);
            }
            0x20..=0x7e => match self.state {
                State::Escape => self.escape(byte, out),
                State::Named(what) => self.named(what, byte, out),
                State::Control => self.control(byte, out),
                State::Skipped if byte >= 0x40 => self.begin(State::Ground),
                State::Skipped | State::Ground | State::Letter | State::Text { .. } => {}
            },
        }
    }

    fn escape(&mut self, byte: u8, out: &mut Vec<u8>) {
        let state = match byte {
            b'[' => State::Control,
            b']' => State::Text { kind: Kind::Command, length: 0 },
            b'P' | b'X' | b'^' | b'_' => State::Text { kind: Kind::Device, length: 0 },
            0x20..=0x2f => State::Named(byte),
            _ => State::Ground,
        };
        // Save and restore the cursor, a line down, up or on, and what the keypad sends.
        if matches!(byte, b'7' | b'8' | b'D' | b'E' | b'M' | b'=' | b'>') {
            out.extend_from_slice(&[ESCAPE, byte]);
            if matches!(byte, b'=' | b'>') {
                self.modes.set(KEYPAD, byte == b'=');
            }
        }
        self.begin(state);
    }

    fn named(&mut self, what: u8, byte: u8, out: &mut Vec<u8>) {
        if byte < 0x30 {
            // More than one such byte names nothing that passes.
            self.state = State::Named(b' ');
            return;
        }
        if what == b'(' && matches!(byte, b'0' | b'B') {
            out.extend_from_slice(&[ESCAPE, what, byte]);
            self.modes.set(LINE_DRAWING, byte == b'0');
        }
        self.begin(State::Ground);
    }

    fn control(&mut self, byte: u8, out: &mut Vec<u8>) {
        if byte < 0x40 {
            self.held.push(byte);
            if self.held.len() > PARAMETER_BYTES_MAX {
                self.begin(State::Skipped);
            }
            return;
        }
        let held = std::mem::take(&mut self.held);
        match held.strip_prefix(b"?") {
            Some(names) if matches!(byte, b'h' | b'l') => self.switch(names, byte == b'h', out),
            Some(_) => {}
            None => self.draw(&held, byte, out),
        }
        self.begin(State::Ground);
    }

    /// Switches those modes of a list that may be.
    fn switch(&mut self, names: &[u8], on: bool, out: &mut Vec<u8>) {
        for name in names.split(|byte| *byte == b';') {
            let (mode, is_set) = match name {
                b"1" => (CURSOR_KEYS, on),
                b"7" => (NO_WRAP, !on),
                b"25" => (HIDDEN_CURSOR, !on),
                b"47" | b"1047" | b"1049" => (OTHER_SCREEN, on),
                b"2004" => (PASTE_MARKS, on),
                _ => continue,
            };
            self.modes.set(mode, is_set);
            out.extend_from_slice(b"\x1b[?");
            out.extend_from_slice(name);
            out.push(if on { b'h' } else { b'l' });
        }
    }

    /// Passes a control sequence that moves, erases or colours.
    fn draw(&mut self, parameters: &[u8], last: u8, out: &mut Vec<u8>) {
        let most = match last {
            b'm' => usize::MAX,
            b'H' | b'f' | b'r' => 2,
            // Up, down, right, left, lines, column, tabs, rows; erase, insert, delete, repeat.
            b'A'..=b'G' | b'I' | b'Z' | b'`' | b'a' | b'd' | b'e' => 1,
            b'J' | b'K' | b'X' | b'P' | b'@' | b'L' | b'M' | b'S' | b'T' | b'b' => 1,
            // With parameters these are something else.
            b's' | b'u' => 0,
            _ => return,
        };
        if !are_numbers(parameters, most, last == b'm') {
            return;
        }
        match last {
            b'm' => {
                let resets = parameters.iter().all(|byte| matches!(byte, b'0' | b';'));
                self.modes.set(COLOUR, !resets);
            }
            b'r' => self.modes.set(REGION, !parameters.is_empty()),
            _ => {}
        }
        out.extend_from_slice(b"\x1b[");
        out.extend_from_slice(parameters);
        out.push(last);
    }
}

/// Says whether parameters are at most `most` short numbers, with parts of their own for colours.
fn are_numbers(parameters: &[u8], most: usize, parts: bool) -> bool {
    if parameters.is_empty() {
        return true;
    }
    let separates = |byte: &u8| *byte == b';' || (parts && *byte == b':');
    let mut count = 0;
    for number in parameters.split(separates) {
        count += 1;
        if number.len() > DIGITS_MAX || !number.iter().all(u8::is_ascii_digit) {
            return false;
        }
    }
    count <= most
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filtered(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Filter::default().feed(bytes, &mut out);
        out
    }

    #[track_caller]
    fn check(input: &str, expected: &str) {
        let out = filtered(input.as_bytes());
        assert_eq!(String::from_utf8_lossy(&out), expected, "{input:?}");
        assert_eq!(filtered(&out), out, "{input:?} twice");
    }

    #[test]
    fn what_draws_passes() {
        for text in [
            "plain — 日本語 🦀\r\n\tx\x08\x07",
            "\x1b[1;38;5;196mred\x1b[0m\x1b[38:2::1:2:3mcolon\x1b[m",
            "\x1b[2J\x1b[H\x1b[10;20Hx\x1b[K\x1b[3A\x1b[2P\x1b[4L",
            "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1h\x1b=\x1b>\x1b[?1049l",
            "\x1b7\x1b8\x1bD\x1bM\x1bE\x1b(0lqk\x1b(B\x1b[s\x1b[u\x1b[5;10r",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn what_asks_or_sets_does_not() {
        let cases = [
            ("a\x1b]0;title\x07b", "ab"),
            ("a\x1b]52;c;aGk=\x1b\\b", "ab"),
            ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
            ("\x1b[c\x1b[0c\x1b[>c\x1b[=c\x1b[5n\x1b[6n\x1b[?6n\x1b[x\x1b[18t\x1b[21t", ""),
            ("\x1bZ\x05\x1b[?1$p\x1b[?u\x1b[>1u\x1b[>4;2m\x1b[?4m", ""),
            ("\x1bP$qm\x1b\\\x1bP+q544e\x1b\\\x1b_Gi=1;\x1b\\\x1b^x\x1b\\\x1bXy\x1b\\z", "z"),
            ("\u{9b}6n\u{9d}0;t\u{9c}", "6n0;t"),
            ("\x1b[?1000h\x1b[?1006h\x1b[?1004h\x1b[?12;25h\x1b[?9001h", "\x1b[?25h"),
            ("\x1bc\x1b[!p\x1b[4h\x1b[20h\x1b[3g\x1b[5i\x1b[2 q\x1b%G\x1b#8\x1b(A\x1bn\x1bNx", "x"),
            ("\x0e\x0f\x00\x0b\x0c\x11\x13\x7fx", "x"),
            ("\x1b[1;2;3;4;5T\x1b[1;2s\x1b[123456A\x1b[1;2;3H", ""),
            ("\x1b[3\nA\x1b[3\x18A\x1b[\x1b[1mB", "\n\x1b[3AA\x1b[1mB"),
            ("\x1b]0;x\x1b[1mB", "\x1b[1mB"),
            ("\x1b[3é", "é"),
        ];
        for (input, expected) in cases {
            check(input, expected);
        }
        let long = format!("\x1b[{}mx", "1;".repeat(PARAMETER_BYTES_MAX));
        check(&long, "x");
        // A string that never ends does not hide everything that comes after.
        let endless = format!("\x1b]0;{}", "a".repeat(STRING_BYTES_MAX + 10));
        assert!(filtered(endless.as_bytes()).len() < 20);
    }

    #[test]
    fn bytes_that_are_no_letters_are_shown_as_such() {
        let cases: [(&[u8], &str); 5] = [
            (b"a\x9b6nb", "a\u{fffd}6nb"),
            (b"\xe2\x82x", "\u{fffd}x"),
            (b"\xe2\x1b[1mx", "\u{fffd}\x1b[1mx"),
            (b"\xf0\x80\x80", "\u{fffd}\u{fffd}\u{fffd}"),
            (b"\xc3\xc3\xa9", "\u{fffd}é"),
        ];
        for (input, expected) in cases {
            assert_eq!(String::from_utf8_lossy(&filtered(input)), expected, "{input:?}");
        }
    }

    #[test]
    fn modes_are_switched_back() {
        let mut filter = Filter::default();
        let mut out = Vec::new();
        filter.feed(b"\x1b[?1049h\x1b[?25l\x1b[31m\x1b(0\x1b[2;5r\x1b=\x1b[?7l", &mut out);
        let undo = filter.modes().undo();
        for piece in ["\x1b[?1049l", "\x1b[?25h", "\x1b[m", "\x1b(B", "\x1b[r", "\x1b>", "\x1b[?7h"]
        {
            assert!(undo.contains(piece), "{piece:?} is not in {undo:?}");
        }
        assert_eq!(Modes::from_number(filter.modes().number()), filter.modes());
        filter.feed(undo.as_bytes(), &mut out);
        assert_eq!(filter.modes().undo(), "");
    }

    /// Says whether a text is made of nothing but what may reach a terminal, by other means than
    /// the filter's: it looks at finished sequences only.
    fn is_harmless(text: &str) -> bool {
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            if letter != '\x1b' {
                if letter.is_control() && !"\x07\x08\t\n\r".contains(letter) {
                    return false;
                }
                rest = &rest[letter.len_utf8()..];
                continue;
            }
            let Some(length) = harmless_sequence(rest) else { return false };
            rest = &rest[length..];
        }
        true
    }

    fn harmless_sequence(text: &str) -> Option<usize> {
        let short = ["\x1b7", "\x1b8", "\x1bD", "\x1bE", "\x1bM", "\x1b=", "\x1b>"];
        let named = ["\x1b(0", "\x1b(B"];
        if let Some(found) = short.iter().chain(&named).find(|found| text.starts_with(**found)) {
            return Some(found.len());
        }
        let body = text.strip_prefix("\x1b[")?;
        let end = body.find(|letter: char| ('@'..='~').contains(&letter))?;
        let (parameters, last) = (&body[..end], &body[end..=end]);
        let allowed = match parameters.strip_prefix('?') {
            Some(mode) => {
                "hl".contains(last)
                    && ["1", "7", "25", "47", "1047", "1049", "2004"].contains(&mode)
            }
            None => {
                parameters.chars().all(|letter| "0123456789;:".contains(letter))
                    && "mHfrABCDEFGIZ`adeJKXP@LMSTbsu".contains(last)
            }
        };
        allowed.then_some(2 + end + 1)
    }

    /// Bytes that look like what a terminal understands.
    fn drawn() -> impl Strategy<Value = Vec<u8>> {
        let pieces = prop_oneof![
            Just(b"\x1b".to_vec()),
            Just(b"\x1b[".to_vec()),
            Just(b"\x1b[?".to_vec()),
            Just(b"\x1b]52;c;".to_vec()),
            Just(b"\x1bP".to_vec()),
            Just(b"\x1b\\".to_vec()),
            Just("é🦀\u{9b}".as_bytes().to_vec()),
            "[0-9;:?>=$ !]{0,6}".prop_map(String::into_bytes),
            "[a-zA-Z@`~]".prop_map(String::into_bytes),
            proptest::collection::vec(any::<u8>(), 0..4),
        ];
        proptest::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_cutting_gives_the_same(bytes in drawn(), cuts in proptest::collection::vec(0usize..200, 0..8)) {
            let whole = filtered(&bytes);
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let (mut filter, mut out, mut from) = (Filter::default(), Vec::new(), 0);
            for cut in cuts.into_iter().chain([bytes.len()]) {
                filter.feed(&bytes[from..cut], &mut out);
                from = cut;
            }
            prop_assert_eq!(out, whole);
        }

        #[test]
        fn nothing_but_drawing_comes_out(bytes in drawn()) {
            let out = filtered(&bytes);
            let text = std::str::from_utf8(&out).expect("only letters come out");
            prop_assert!(is_harmless(text), "{:?}", text);
            prop_assert_eq!(filtered(&out), out);
        }

        #[test]
        fn plain_text_passes_unchanged(text in "[^\\p{C}]{0,200}") {
            prop_assert_eq!(filtered(text.as_bytes()), text.as_bytes());
        }
    }
}
