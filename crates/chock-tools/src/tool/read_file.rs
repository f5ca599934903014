//! `read_file`: lines of a text file, with numbers.

use std::fmt::Write;
use std::io::Read;

use chock_log::{FileFact, Session};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Prepared, Tool};
use crate::answer::{Done, Operation, Trouble};
use crate::desk::{Desk, Place};
use crate::file;
use crate::hands::Handed;
use crate::names::{count, shown};

/// The most lines of one answer.
const LINES_MAX: u64 = 2000;

/// The most bytes of lines in one answer, numbers not counted.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// The most bytes of one line that are shown.
const LINE_BYTES_MAX: usize = 2000;

/// The largest file that is read and hashed, in bytes: about half a second's work.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// How many bytes at the start tell text from other content, as git has it.
const KIND_BYTES: usize = 8000;

pub(crate) struct ReadFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file: relative to the working directory, or absolute.
    path: String,
    /// The number of the first line to show, counted from 1. The default is 1.
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// How many lines to show. The default and the most is 2000.
    #[schemars(range(min = 1, max = 2000))]
    limit: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    place: Place,
    offset: u64,
    limit: u64,
}

impl Tool for ReadFile {
    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str = "Reads a text file. Each line comes with its number and a tab, which are not part of the \
         file. The first line of the answer gives the size and hash of the whole file. A file \
         must be read before edit_file or write_file may change it.";
    type Arguments = Arguments;

    fn prepare(
        Arguments { path, offset, limit }: Arguments,
        desk: &Desk,
        _: &Session,
    ) -> Result<Prepared, String> {
        let place = desk.place("path", &path)?;
        let effect = format!("read {}", shown(&place.open));
        let limit = limit.unwrap_or(LINES_MAX).min(LINES_MAX);
        Ok(Prepared::hand(&Request { place, offset: offset.unwrap_or(1), limit }, effect))
    }
}

impl Handed for ReadFile {
    type Request = Request;

    fn work(Request { place, offset, limit }: Request) -> Result<Done, Trouble> {
        let (mut file, metadata) = file::open(&place)?;
        let path = shown(&place.open);
        if metadata.len() > FILE_BYTES_MAX {
            let bytes = metadata.len();
            let text = format!(
                "{path} has {bytes} bytes: files over {FILE_BYTES_MAX} are not read; look at a \
                 part of it with run_command (head, tail, sed -n)"
            );
            return Err(text.into());
        }
        let mut scan = Scan::new(offset, limit);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let length = file
                .read(&mut buffer)
                .map_err(|error| file::trouble(&place, Operation::Read, &error))?;
            if length == 0 {
                break;
            }
            scan.feed(&buffer[..length]);
        }
        let (text, hash, dropped) = scan.finish(&path)?;
        let file = FileFact { path: place.key, hash };
        Ok(Done { text, file: Some(file), dropped, ..Done::default() })
    }
}

/// A file on its way through: everything is counted and hashed, the wanted lines are kept.
#[derive(Default)]
struct Scan {
    offset: u64,
    limit: u64,
    digest: Sha256,
    bytes: u64,
    start: Vec<u8>,
    nul: bool,
    text: bool,
    /// Whole lines seen so far.
    lines: u64,
    line_feeds: u64,
    returns: u64,
    line: Vec<u8>,
    line_bytes: u64,
    last: u8,
    shown: String,
    shown_bytes: usize,
    last_shown: u64,
    /// No further line is shown.
    full: bool,
}

impl Scan {
    fn new(offset: u64, limit: u64) -> Self {
        Self { offset, limit, text: true, ..Self::default() }
    }

    fn feed(&mut self, chunk: &[u8]) {
        self.digest.update(chunk);
        self.bytes += chunk.len() as u64;
        if self.start.len() < KIND_BYTES {
            let wanted = chunk.len().min(KIND_BYTES - self.start.len());
            self.start.extend_from_slice(&chunk[..wanted]);
            self.nul |= chunk[..wanted].contains(&0);
        }
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let (body, ends) = match piece.split_last() {
                Some((b'\n', body)) => (body, true),
                Some(_) | None => (piece, false),
            };
            if let Some(last) = body.last() {
                self.last = *last;
            }
            self.line_bytes += body.len() as u64;
            if self.wanted(self.lines + 1) {
                let room = (LINE_BYTES_MAX + 4).saturating_sub(self.line.len());
                self.line.extend_from_slice(&body[..body.len().min(room)]);
            }
            if ends {
                self.line_feeds += 1;
                self.returns += u64::from(self.line_bytes > 0 && self.last == b'\r');
                self.end_line();
            }
        }
    }

    fn wanted(&self, number: u64) -> bool {
        !self.full && number >= self.offset && number - self.offset < self.limit
    }

    fn end_line(&mut self) {
        self.lines += 1;
        if self.wanted(self.lines) {
            self.show();
        }
        self.line.clear();
        self.line_bytes = 0;
    }

    fn show(&mut self) {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        let line = match self.lines {
            1 => line.strip_prefix(BOM).unwrap_or(line),
            _ => line,
        };
        let kept = clip(line, LINE_BYTES_MAX);
        let words = String::from_utf8_lossy(kept);
        self.text &= matches!(words, std::borrow::Cow::Borrowed(_));
        let words = words.replace('\0', "\u{2400}");
        let _ = write!(self.shown, "{:>6}\t{words}", self.lines);
        let left = self.line_bytes.saturating_sub(kept.len() as u64);
        if kept.len() < line.len() {
            let _ = write!(self.shown, " [chock: {left} more bytes in this line]");
        }
        self.shown.push('\n');
        self.shown_bytes += kept.len() + 1;
        self.last_shown = self.lines;
        self.full = self.shown_bytes >= TEXT_BYTES_MAX;
    }

    fn finish(mut self, path: &str) -> Result<(String, String, u64), Trouble> {
        if self.line_bytes > 0 {
            self.end_line();
        }
        let digest = std::mem::take(&mut self.digest);
        let hash = file::short(digest.finalize().as_slice());
        if self.nul {
            let kind = kind(&self.start);
            let bytes = self.bytes;
            let text = format!("[chock: {path} is {kind}: {bytes} bytes, file_hash {hash}]\n");
            return Ok((text, hash, bytes));
        }
        if self.offset > self.lines.max(1) {
            let lines = count(self.lines, "line");
            return Err(format!("{path} has {lines}: nothing at offset {}", self.offset).into());
        }
        let mut text = self.head(path, &hash);
        text.push_str(&self.shown);
        let first = self.offset;
        if self.last_shown < self.lines {
            let (last, lines, next) = (self.last_shown, self.lines, self.last_shown + 1);
            let _ = writeln!(
                text,
                "[chock: lines {first} to {last} of {lines}; read on with offset {next}]"
            );
        }
        let dropped = self.bytes.saturating_sub(self.shown_bytes as u64);
        Ok((text, hash, dropped))
    }

    fn head(&self, path: &str, hash: &str) -> String {
        let (bytes, lines) = (count(self.bytes, "byte"), count(self.lines, "line"));
        let mut head = format!("[chock: {path}: {bytes}, {lines}, file_hash {hash}");
        if self.start.starts_with(BOM) {
            head.push_str(", begins with a byte order mark");
        }
        if self.returns > 0 && self.returns == self.line_feeds {
            head.push_str(", CRLF line endings");
        } else if self.returns > 0 {
            head.push_str(", mixed line endings");
        }
        if !self.text {
            head.push_str(", not UTF-8: bytes that are no text are shown as \u{fffd}");
        }
        if self.bytes == 0 {
            head.push_str(", empty");
        }
        head.push_str("]\n");
        head
    }
}

/// The byte order mark of UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Cuts a line to at most `max` bytes, not inside a character of UTF-8.
fn clip(line: &[u8], max: usize) -> &[u8] {
    if line.len() <= max {
        return line;
    }
    let mut end = max;
    while end > max - 3 && line[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    &line[..end]
}

/// Names what a file's first bytes say it is.
fn kind(start: &[u8]) -> &'static str {
    let kinds: [(&[u8], &str); 15] = [
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF-", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"\xfd7zXZ\0", "xz data"),
        (b"\x28\xb5\x2f\xfd", "Zstandard data"),
        (b"\x7fELF", "an ELF program or library"),
        (b"\0asm", "a WebAssembly module"),
        (b"\xca\xfe\xba\xbe", "a Java class"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\xff\xfe", "UTF-16 text (little endian), which is not shown"),
        (b"\xfe\xff", "UTF-16 text (big endian), which is not shown"),
        (b"RIFF", "a RIFF file (WebP, WAV, AVI)"),
    ];
    let found = kinds.iter().find(|(magic, _)| start.starts_with(magic));
    found.map_or("a binary file", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use super::*;
    use crate::answer::Answer;
    use crate::hands::tests::ask;

    fn read(contents: &[u8], offset: u64, limit: u64) -> Answer {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        fs::write(&path, contents).unwrap();
        let open = path.to_str().unwrap().to_owned();
        let place = Place { open, key: "/p/f".into(), inside: true };
        ask("read_file", &serde_json::to_vec(&Request { place, offset, limit }).unwrap())
    }

    #[track_caller]
    fn done(answer: Answer) -> Done {
        match answer {
            Answer::Done(done) => done,
            other => panic!("{other:?}"),
        }
    }

    /// The answer without its first line.
    #[track_caller]
    fn body(contents: &[u8], offset: u64, limit: u64) -> String {
        let text = done(read(contents, offset, limit)).text;
        text.split_once('\n').unwrap().1.to_owned()
    }

    #[test]
    fn lines_have_numbers_and_the_whole_has_size_and_hash() {
        let done = done(read(b"one\n\ttwo\n\nfour", 1, 2000));
        let (head, body) = done.text.split_once('\n').unwrap();
        assert_eq!(body, "     1\tone\n     2\t\ttwo\n     3\t\n     4\tfour\n");
        let hash = file::hash(b"one\n\ttwo\n\nfour");
        assert!(head.ends_with(&format!("14 bytes, 4 lines, file_hash {hash}]")), "{head}");
        assert_eq!(done.file, Some(FileFact { path: "/p/f".into(), hash }));
        assert_eq!(file::hash(b""), "e3b0c44298fc1c14");
    }

    #[test]
    fn a_part_is_shown_and_the_rest_is_named() {
        let text = b"1\n2\n3\n4\n5\n";
        let part = body(text, 2, 2);
        let rest = "[chock: lines 2 to 3 of 5; read on with offset 4]\n";
        assert_eq!(part, format!("     2\t2\n     3\t3\n{rest}"));
        assert_eq!(body(text, 5, 9), "     5\t5\n");
        assert!(matches!(read(text, 6, 1), Answer::Fault(words) if words.contains("5 lines")));
        assert_eq!(body(b"", 1, 1), "");
    }

    #[test]
    fn lines_and_bytes_are_bounded() {
        let many: String = (1..=3000).map(|number| format!("line {number}\n")).collect();
        assert!(body(many.as_bytes(), 1, 2000).contains("lines 1 to 2000 of 3000"));

        let wide = format!("{}\nshort\n", "é".repeat(3000));
        let shown = body(wide.as_bytes(), 1, 2000);
        assert!(shown.contains(&"é".repeat(1000)) && !shown.contains(&"é".repeat(1001)));
        assert!(shown.contains("[chock: 4000 more bytes in this line]\n     2\tshort\n"));

        let large = format!("{}\n", "x".repeat(1999)).repeat(1000);
        let answer = done(read(large.as_bytes(), 1, 2000));
        assert!(answer.text.len() < TEXT_BYTES_MAX + 4000, "{}", answer.text.len());
        assert!(answer.text.contains("lines 1 to 33 of 1000; read on with offset 34"));
        assert_eq!(answer.dropped, 2_000_000 - 33 * 2000);
    }

    #[test]
    fn what_is_not_plain_text_is_said() {
        let head = |contents: &[u8]| done(read(contents, 1, 9)).text;
        assert!(head(b"\xef\xbb\xbfa\r\nb\r\n").contains("byte order mark, CRLF line endings"));
        assert!(head(b"a\r\nb\n").contains("mixed line endings"));
        assert!(!head(b"a\rb\n").contains("endings"));
        let lossy = head(b"caf\xe9\n");
        assert!(lossy.contains("not UTF-8") && lossy.contains("caf\u{fffd}"), "{lossy}");
        let image = head(b"\x89PNG\r\n\x1a\n\0\0");
        assert!(image.contains("a PNG image: 10 bytes, file_hash"), "{image}");
        assert!(!image.contains('\0'));
        let late = [&b"x\n".repeat(5000)[..], b"\0"].concat();
        assert!(body(&late, 5001, 1).contains("5001\t\u{2400}"));
    }

    #[test]
    fn the_lines_do_not_depend_on_how_the_file_is_cut_into_pieces() {
        let text = "ab\r\n\r\ncd\n".repeat(7);
        let whole = {
            let mut scan = Scan::new(1, 2000);
            scan.feed(text.as_bytes());
            scan.finish("f").unwrap()
        };
        for size in 1..9 {
            let mut scan = Scan::new(1, 2000);
            text.as_bytes().chunks(size).for_each(|chunk| scan.feed(chunk));
            assert_eq!(scan.finish("f").unwrap(), whole, "{size}");
        }
    }

    #[test]
    fn what_is_no_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from(0o644),
            0,
        )
        .unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink("fifo", at("link")).unwrap();
        let cases = [
            ("fifo", "is a FIFO"),
            ("link", "is a FIFO"),
            ("socket", "is a socket"),
            (".", "is a directory"),
            ("absent", "is not there"),
            ("fifo/x", "a part of the path is a file"),
        ];
        for (name, words) in cases {
            let open = at(name).to_str().unwrap().to_owned();
            let place = Place { open, key: "k".into(), inside: true };
            let request = Request { place, offset: 1, limit: 1 };
            let answer = ask("read_file", &serde_json::to_vec(&request).unwrap());
            assert!(matches!(&answer, Answer::Fault(text) if text.contains(words)), "{answer:?}");
        }
        let open = "/dev/null".to_owned();
        let place = Place { open, key: "k".into(), inside: false };
        let request = Request { place, offset: 1, limit: 1 };
        let answer = ask("read_file", &serde_json::to_vec(&request).unwrap());
        assert!(matches!(&answer, Answer::Fault(text) if text.contains("is a device")));
    }
}
