//! Numbers and byte strings in a message, bounded when they are read.

/// Builds a message.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

/// Reads a message; everything read is within its bytes.
#[derive(Debug)]
pub(super) struct Reader<'a>(&'a [u8]);

/// A message that ends too early, or says something impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Torn;

impl Writer {
    pub(super) fn number(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn large(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes a length and the bytes.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(u32::try_from(bytes.len()).expect("invariant: callers bound their bytes"));
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self(message)
    }

    pub(super) fn number(&mut self) -> Result<u32, Torn> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn large(&mut self) -> Result<u64, Torn> {
        self.take().map(u64::from_le_bytes)
    }

    /// Reads a byte string of at most `max` bytes.
    pub(super) fn bytes(&mut self, max: usize) -> Result<&'a [u8], Torn> {
        let length = usize::try_from(self.number()?).map_err(|_| Torn)?;
        if length > max {
            return Err(Torn);
        }
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Torn)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// Reads text of at most `max` bytes.
    pub(super) fn text(&mut self, max: usize) -> Result<String, Torn> {
        String::from_utf8(self.bytes(max)?.to_vec()).map_err(|_| Torn)
    }

    /// Ends the reading: nothing may be left.
    pub(super) fn end(self) -> Result<(), Torn> {
        if self.0.is_empty() { Ok(()) } else { Err(Torn) }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Torn> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Torn)?;
        self.0 = rest;
        Ok(*bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_every_cut_is_seen() {
        let mut writer = Writer::default();
        writer.number(7);
        writer.bytes(b"path");
        writer.large(1 << 40);
        let message = writer.finish();
        let read = |message: &[u8]| {
            let mut reader = Reader::new(message);
            let parts = (reader.number()?, reader.bytes(4)?.to_vec(), reader.large()?);
            reader.end()?;
            Ok::<_, Torn>(parts)
        };
        assert_eq!(read(&message), Ok((7, b"path".to_vec(), 1 << 40)));
        for cut in 0..message.len() {
            assert_eq!(read(&message[..cut]), Err(Torn), "cut at {cut}");
        }
        assert_eq!(Reader::new(&message[4..]).bytes(3), Err(Torn));
    }
}
