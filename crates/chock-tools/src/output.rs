//! Keeps a command's output: its beginning and end for the model, the whole in a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;

use bstr::ByteSlice;
use chock_log::{Masking, Redactor};

use crate::clean::clean;
use crate::names::count;

/// Where long outputs are seen inside every cage, read only.
pub const OUTPUTS_INSIDE: &str = "/run/chock/outputs";

/// The most bytes of one command's output that a model gets.
pub const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// The most bytes of one command's output that are kept in its file.
pub const OUTPUT_FILE_BYTES_MAX: u64 = 8 << 20;

/// Half for the beginning, half for the end.
const PART_BYTES: usize = OUTPUT_BYTES_MAX / 2;

/// How many numbers are tried for a file's name: a session that was resumed has some already.
const NAMES_MAX: u32 = 100_000;

/// The directory of a session's long outputs.
#[derive(Debug)]
pub(crate) struct Outputs {
    directory: PathBuf,
    redactor: Redactor,
    next: u32,
}

/// One output while it comes, without its secrets: its file stays as long as the session.
#[derive(Debug)]
pub(crate) struct Collector<'a> {
    outputs: &'a mut Outputs,
    masking: Masking,
    /// The first [`OUTPUT_BYTES_MAX`] bytes.
    head: Vec<u8>,
    /// At least the last [`PART_BYTES`] bytes of what came after.
    tail: Vec<u8>,
    bytes: u64,
    lines: u64,
    kept: Kept,
}

/// What became of the whole output.
#[derive(Debug)]
enum Kept {
    /// It is short so far.
    NotYet,
    /// It goes into a file, seen inside at this path.
    File { file: File, inside: String, bytes: u64 },
    /// It could not be kept.
    Lost(String),
}

/// An output as the model gets it.
#[derive(Debug)]
pub(crate) struct Collected {
    /// The words.
    pub(crate) text: String,
    /// What Chock says of them, a line each.
    pub(crate) notes: Vec<String>,
    /// Bytes of output that are in `text`.
    pub(crate) shown: u64,
    /// Bytes of output that are not.
    pub(crate) dropped: u64,
}

impl Outputs {
    pub(crate) fn new(directory: PathBuf, redactor: Redactor) -> Self {
        Self { directory, redactor, next: 1 }
    }

    fn create(&mut self) -> io::Result<(File, String)> {
        loop {
            let name = format!("{}.out", self.next);
            let path = self.directory.join(&name);
            match OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path) {
                Ok(file) => {
                    // Whatever the umask: the session's user may be another than Chock's.
                    file.set_permissions(fs::Permissions::from_mode(0o644))?;
                    self.next += 1;
                    return Ok((file, format!("{OUTPUTS_INSIDE}/{name}")));
                }
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists && self.next < NAMES_MAX =>
                {
                    self.next += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl<'a> Collector<'a> {
    pub(crate) fn new(outputs: &'a mut Outputs) -> Self {
        let (head, tail) = (Vec::new(), Vec::new());
        let masking = Masking::new(outputs.redactor.clone());
        Self { outputs, masking, head, tail, bytes: 0, lines: 0, kept: Kept::NotYet }
    }

    /// Takes the next piece.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        let piece = self.masking.feed(piece);
        self.take(&piece);
    }

    fn take(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.lines += piece.find_iter(b"\n").count() as u64;
        if self.bytes > OUTPUT_BYTES_MAX as u64 && matches!(self.kept, Kept::NotYet) {
            self.begin_file();
        }
        self.keep(piece);
        let room = OUTPUT_BYTES_MAX - self.head.len();
        let (first, rest) = piece.split_at(piece.len().min(room));
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(&rest[rest.len().saturating_sub(PART_BYTES)..]);
        if self.tail.len() > 4 * PART_BYTES {
            self.tail.drain(..self.tail.len() - PART_BYTES);
        }
    }

    fn begin_file(&mut self) {
        self.kept = match self.outputs.create() {
            Ok((file, inside)) => Kept::File { file, inside, bytes: 0 },
            Err(error) => Kept::Lost(error.to_string()),
        };
        let head = std::mem::take(&mut self.head);
        self.keep(&head);
        self.head = head;
    }

    fn keep(&mut self, piece: &[u8]) {
        let Kept::File { file, bytes, .. } = &mut self.kept else { return };
        let room = OUTPUT_FILE_BYTES_MAX - *bytes;
        let piece = &piece[..piece.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        *bytes += piece.len() as u64;
        if let Err(error) = file.write_all(piece) {
            self.kept = Kept::Lost(error.to_string());
        }
    }

    /// Makes words of what came.
    pub(crate) fn finish(mut self) -> Collected {
        let rest = self.masking.finish();
        self.take(&rest);
        let long = self.bytes > OUTPUT_BYTES_MAX as u64;
        let (head, tail) = if long { self.ends() } else { (self.head.clone(), Vec::new()) };
        let (first, last) = (clean(&head), clean(&tail));
        let not_text = first.not_text + last.not_text;
        let nuls = first.nuls + last.nuls;
        if not_text + nuls > 0 && matches!(self.kept, Kept::NotYet) {
            self.begin_file();
        }
        let shown = (head.len() + tail.len()) as u64;
        let dropped = self.bytes - shown;
        let mut text = first.text;
        if long {
            end_line(&mut text);
            text.push_str(&self.cut(&head, &tail, dropped));
            text.push_str(&last.text);
        }
        let mut notes = Vec::new();
        if not_text > 0 {
            let bytes = count(not_text, "byte");
            notes.push(format!("{bytes} of this are no UTF-8 and shown as \u{fffd}"));
        }
        if nuls > 0 {
            notes.push(format!("{} left out of this", count(nuls, "NUL byte")));
        }
        if let (Some(last), false) = (notes.last_mut(), long) {
            last.push_str(&format!("; {}", self.place()));
        }
        Collected { text, notes, shown, dropped }
    }

    /// Takes the beginning and the end, cut between lines where there are any.
    fn ends(&self) -> (Vec<u8>, Vec<u8>) {
        let head = &self.head[..PART_BYTES];
        let end = head.rfind_byte(b'\n').map_or(PART_BYTES, |at| at + 1);
        let all = [&self.head[PART_BYTES..], &self.tail].concat();
        let tail = &all[all.len().saturating_sub(PART_BYTES)..];
        // The last byte is no place to cut: nothing would be left.
        let inner = &tail[..tail.len().saturating_sub(1)];
        let start = inner.find_byte(b'\n').map_or(0, |at| at + 1);
        (head[..end].to_vec(), tail[start..].to_vec())
    }

    fn cut(&self, head: &[u8], tail: &[u8], dropped: u64) -> String {
        let before = head.find_iter(b"\n").count() as u64;
        let after = tail.find_iter(b"\n").count() as u64;
        let (from, to) = (before + 1, self.lines.saturating_sub(after));
        let lines =
            if to >= from { format!(" (lines {from} to {to})") } else { " of a line".into() };
        let (bytes, place) = (count(dropped, "byte"), self.place());
        format!("[chock: {bytes}{lines} left out here; {place}]\n")
    }

    fn place(&self) -> String {
        match &self.kept {
            Kept::File { inside, bytes, .. } if *bytes < self.bytes => {
                format!("the first {bytes} bytes are in {inside}")
            }
            Kept::File { inside, .. } => format!("the whole output is in {inside}"),
            Kept::Lost(why) => format!("the whole output could not be kept: {why}"),
            Kept::NotYet => "the whole output is here".into(),
        }
    }
}

/// Ends a text's last line, if it has one that is not ended.
pub(crate) fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Collects an output in pieces of a size, and returns it with what its file holds.
    fn collect(output: &[u8], piece: usize) -> (Collected, Option<Vec<u8>>) {
        let directory = tempfile::tempdir().unwrap();
        let mut outputs = Outputs::new(directory.path().to_owned(), Redactor::new([], [7; 32]));
        let mut collector = Collector::new(&mut outputs);
        output.chunks(piece).for_each(|piece| collector.feed(piece));
        (collector.finish(), fs::read(directory.path().join("1.out")).ok())
    }

    #[test]
    fn a_short_output_is_whole_and_makes_no_file() {
        let (collected, file) = collect(b"one\ntwo", 3);
        assert_eq!(
            (collected.text.as_str(), collected.shown, collected.dropped),
            ("one\ntwo", 7, 0)
        );
        assert!(collected.notes.is_empty() && file.is_none());
        let most = "x".repeat(OUTPUT_BYTES_MAX);
        let (collected, file) = collect(most.as_bytes(), 4096);
        assert!(collected.text == most && file.is_none());
    }

    #[test]
    fn a_long_output_keeps_its_ends_and_says_what_is_left_out() {
        let output: String = (1..=200_000).map(|line| format!("line-{line:06}-\n")).collect();
        for piece in [1000, 65_536, output.len()] {
            let (collected, file) = collect(output.as_bytes(), piece);
            let text = &collected.text;
            assert!(text.len() <= OUTPUT_BYTES_MAX + 200, "{}", text.len());
            assert!(text.starts_with("line-000001-\n") && text.ends_with("line-200000-\n"));
            let mark = text.lines().find(|line| line.starts_with("[chock:")).unwrap();
            assert!(mark.contains("(lines 2521 to 197480) left out here"), "{mark}");
            assert!(mark.contains("in /run/chock/outputs/1.out"), "{mark}");
            assert!(text.contains("line-002520-\n[chock:") && text.contains("]\nline-197481-"));
            assert_eq!(collected.shown + collected.dropped, output.len() as u64);
            assert_eq!(file.as_deref(), Some(output.as_bytes()));
        }
    }

    #[test]
    fn one_endless_line_is_cut_too() {
        let (collected, file) = collect(&vec![b'x'; 100_000], 7);
        assert_eq!(collected.shown, OUTPUT_BYTES_MAX as u64);
        assert!(collected.text.contains("\n[chock: 34464 bytes of a line left out here;"));
        assert_eq!(file.unwrap().len(), 100_000);
        // A line break at the very end is no place to cut.
        let (collected, _) = collect(&[&vec![b'x'; 100_000][..], b"\n"].concat(), 4096);
        assert_eq!(collected.shown, OUTPUT_BYTES_MAX as u64);
    }

    #[test]
    fn a_file_holds_the_first_bytes_of_an_output_that_is_larger() {
        let output = vec![b'y'; OUTPUT_FILE_BYTES_MAX as usize + 10];
        let (collected, file) = collect(&output, 1 << 20);
        assert_eq!(file.unwrap().len() as u64, OUTPUT_FILE_BYTES_MAX);
        let words = format!("the first {OUTPUT_FILE_BYTES_MAX} bytes are in");
        assert!(collected.text.contains(&words));
    }

    #[test]
    fn what_is_no_text_is_kept_raw_and_said() {
        let (collected, file) = collect(b"a\0b\xff", 1);
        assert_eq!(collected.text, "ab\u{fffd}");
        let notes = [
            "1 byte of this are no UTF-8 and shown as \u{fffd}",
            "1 NUL byte left out of this; the whole output is in /run/chock/outputs/1.out",
        ];
        assert_eq!(collected.notes, notes);
        assert_eq!(file.unwrap(), b"a\0b\xff");
    }

    #[test]
    fn files_are_numbered_after_those_that_are_there_and_readable_to_all() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("1.out"), "older").unwrap();
        let mut outputs = Outputs::new(directory.path().to_owned(), Redactor::new([], [7; 32]));
        for number in [2, 3] {
            let (_, inside) = outputs.create().unwrap();
            assert_eq!(inside, format!("{OUTPUTS_INSIDE}/{number}.out"));
            let path = directory.path().join(format!("{number}.out"));
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o644);
        }
        assert_eq!(fs::read(directory.path().join("1.out")).unwrap(), b"older");
    }

    #[test]
    fn an_output_that_cannot_be_kept_is_still_answered() {
        let mut outputs = Outputs::new("/nonexistent/outputs".into(), Redactor::new([], [7; 32]));
        let mut collector = Collector::new(&mut outputs);
        collector.feed(&vec![b'x'; 100_000]);
        let collected = collector.finish();
        assert!(collected.text.contains("could not be kept: No such file"));
        assert_eq!(collected.shown, OUTPUT_BYTES_MAX as u64);
    }
}
