//! Reads server-sent events out of a stream cut anywhere.

use std::collections::VecDeque;
use std::mem;

/// The most bytes of one event. A 4 MiB file written by one call comes in one event
/// from some servers, escaped.
pub(crate) const EVENT_BYTES_MAX: usize = 8 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event that had data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// The `event` field; empty if there was none.
    pub(crate) name: String,
    /// The `data` lines, joined by line feeds.
    pub(crate) data: String,
}

/// An event is larger than [`EVENT_BYTES_MAX`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventTooLarge;

/// The parser of the WHATWG's `text/event-stream`, without ids and reconnection.
#[derive(Debug, Default)]
pub(crate) struct Sse {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    name: Vec<u8>,
    after_return: bool,
    past_first_line: bool,
}

impl Sse {
    /// Takes the next bytes and appends the events they complete.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        events: &mut VecDeque<Event>,
    ) -> Result<(), EventTooLarge> {
        if bytes.is_empty() {
            return Ok(());
        }
        if mem::take(&mut self.after_return) && bytes[0] == b'\n' {
            bytes = &bytes[1..];
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend(&bytes[..end])?;
            let returned = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if returned {
                match bytes.first() {
                    Some(b'\n') => bytes = &bytes[1..],
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
            events.extend(self.end_line());
        }
        self.extend(bytes)
    }

    /// Returns the event that the stream's end left without its blank line.
    ///
    /// The standard drops it. Some servers forget the blank line behind the last
    /// event, so the caller looks whether it is whole.
    pub(crate) fn finish(mut self) -> Option<Event> {
        self.end_line().or_else(|| self.dispatch())
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), EventTooLarge> {
        let held = self.line.len() + self.data.as_ref().map_or(0, Vec::len) + self.name.len();
        if held + bytes.len() > EVENT_BYTES_MAX {
            return Err(EventTooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = mem::take(&mut self.line);
        let first = !mem::replace(&mut self.past_first_line, true);
        let line = match line.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if first => rest,
            _ => &line,
        };
        if line.is_empty() {
            return self.dispatch();
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        self.field(field, value.strip_prefix(b" ").unwrap_or(value));
        None
    }

    /// Keeps a field's value. A comment is a field without a name.
    fn field(&mut self, field: &[u8], value: &[u8]) {
        match field {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"event" => self.name = value.to_vec(),
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<Event> {
        let name = mem::take(&mut self.name);
        let data = self.data.take()?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Some(Event { name: text(name), data: text(data) })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (VecDeque<Event>, Option<Event>) {
        let (mut sse, mut events) = (Sse::default(), VecDeque::new());
        for piece in pieces {
            sse.feed(piece, &mut events).unwrap();
        }
        (events, sse.finish())
    }

    fn check(text: &str, expected: &[(&str, &str)]) {
        let expected: VecDeque<_> = expected
            .iter()
            .map(|(name, data)| Event { name: (*name).to_owned(), data: (*data).to_owned() })
            .collect();
        let (events, rest) = read([text.as_bytes()]);
        assert_eq!((events, rest), (expected, None), "{text:?}");
    }

    #[test]
    fn fields_follow_the_standard() {
        check("data: a\n\n", &[("", "a")]);
        check("data:a\n\ndata:  b\n\n", &[("", "a"), ("", " b")]);
        check("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &[("", "a"), ("", "b"), ("", "c")]);
        check("event: x\ndata: a\ndata: b\n\n", &[("x", "a\nb")]);
        check("event: x\n\ndata: a\n\n", &[("", "a")]);
        check(": comment\n\n:\n\n: data: no\ndata: a\n\n", &[("", "a")]);
        check("\u{feff}data: a\n\n", &[("", "a")]);
        check("\u{feff}\u{feff}data: a\n\n", &[]);
        check("data\n\ndata:\n\n", &[("", ""), ("", "")]);
        check("id: 1\nretry: 5\nother: x\ndata: a\n\n", &[("", "a")]);
        check("data: {\"a\":\"b:c\"}\n\n", &[("", "{\"a\":\"b:c\"}")]);
        check("data: é日🦀\n\n", &[("", "é日🦀")]);
        check("", &[]);
    }

    #[test]
    fn the_end_hands_over_what_lacks_its_blank_line() {
        let last = Some(Event { name: String::new(), data: "[DONE]".to_owned() });
        for text in ["data: [DONE]", "data: [DONE]\n", "data: [DONE]\r"] {
            assert_eq!(read([text.as_bytes()]), (VecDeque::new(), last.clone()), "{text:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        let (events, _) = read([b"data: \xff\xfe\n\n".as_slice()]);
        assert_eq!(events[0].data, "\u{fffd}\u{fffd}");
    }

    #[test]
    fn an_event_is_bounded_in_one_line_and_in_many() {
        let line = vec![b'x'; EVENT_BYTES_MAX + 1];
        assert_eq!(Sse::default().feed(&line, &mut VecDeque::new()), Err(EventTooLarge));

        let (mut sse, mut events) = (Sse::default(), VecDeque::new());
        let mut line = b"data: ".to_vec();
        line.resize(64 << 10, b'x');
        line.push(b'\n');
        let fed = (0..=EVENT_BYTES_MAX >> 16).try_for_each(|_| sse.feed(&line, &mut events));
        assert_eq!(fed, Err(EventTooLarge));
        assert!(events.is_empty());
    }

    const SAMPLE: &str = "\u{feff}: hi\r\n\r\nevent: é\rdata: 日本\r\rdata:a\ndata: b\n\n\
                          data: {\"x\": \"🦀\"}\r\n\r\n\rdata: [DONE]";

    #[test]
    fn every_cut_in_two_reads_the_same() {
        let whole = read([SAMPLE.as_bytes()]);
        assert_eq!(whole.0.len(), 3);
        for cut in 0..=SAMPLE.len() {
            let (left, right) = SAMPLE.as_bytes().split_at(cut);
            assert_eq!(read([left, right]), whole, "cut at {cut}");
        }
        assert_eq!(read(SAMPLE.as_bytes().chunks(1)), whole);
    }

    proptest! {
        #[test]
        fn any_cutting_reads_the_same(
            lines in proptest::collection::vec(
                ("(data|event|id|:|x)?(: ?)?[a-z:🦀é ]{0,6}", "(\n|\r|\r\n)"), 0..30),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let text: String = lines.iter().flat_map(|(line, end)| [line.as_str(), end]).collect();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            cuts.push(text.len());
            cuts.sort_unstable();
            let mut from = 0;
            let pieces: Vec<_> = cuts
                .iter()
                .map(|to| &text.as_bytes()[mem::replace(&mut from, *to)..*to])
                .collect();
            prop_assert_eq!(read(pieces), read([text.as_bytes()]));
        }
    }
}
