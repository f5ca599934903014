//! What a background task prints: the beginning in a file, the end in memory, the rest counted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use chock_log::{Masking, Redactor};

use crate::output::{OUTPUT_FILE_BYTES_MAX, OUTPUTS_INSIDE};

/// How many of the last bytes are at hand when the file is full.
const TAIL_BYTES: usize = 32 << 10;

/// The output of one task, without its secrets.
#[derive(Debug)]
pub(crate) struct TaskOutput {
    masking: Masking,
    file: Result<File, String>,
    /// Bytes in the file: never more than [`OUTPUT_FILE_BYTES_MAX`].
    kept: u64,
    bytes: u64,
    /// At least the last [`TAIL_BYTES`], and not four times as many.
    tail: Vec<u8>,
}

/// A piece of a task's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins. Later than asked for when what is between was not kept.
    pub from: u64,
    /// The bytes, raw.
    pub bytes: Vec<u8>,
    /// How many bytes the task has printed so far.
    pub total: u64,
}

impl Piece {
    /// Returns where the next piece begins.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }
}

/// Names a task's output as it is seen inside.
pub(super) fn inside(task: &str) -> String {
    format!("{OUTPUTS_INSIDE}/{task}.out")
}

impl TaskOutput {
    /// Begins the output of a task. A file that cannot be made is told of, and no more.
    pub(super) fn create(directory: &Path, task: &str, redactor: Redactor) -> Self {
        let file = create(&directory.join(format!("{task}.out")));
        let file = file.map_err(|error| error.to_string());
        Self { masking: Masking::new(redactor), file, kept: 0, bytes: 0, tail: Vec::new() }
    }

    /// Takes the next piece. What could be the beginning of a secret waits for the piece after it.
    pub(super) fn feed(&mut self, piece: &[u8]) {
        let piece = self.masking.feed(piece);
        self.take(&piece);
    }

    /// Ends the output: nothing waits any more.
    pub(super) fn finish(&mut self) {
        let piece = self.masking.finish();
        self.take(&piece);
    }

    fn take(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.keep(piece);
        self.tail.extend_from_slice(&piece[piece.len().saturating_sub(TAIL_BYTES)..]);
        if self.tail.len() > 3 * TAIL_BYTES {
            self.tail.drain(..self.tail.len() - TAIL_BYTES);
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        let Ok(file) = &mut self.file else { return };
        let room = usize::try_from(OUTPUT_FILE_BYTES_MAX - self.kept).unwrap_or(usize::MAX);
        let piece = &piece[..piece.len().min(room)];
        match file.write_all(piece) {
            Ok(()) => self.kept += piece.len() as u64,
            Err(error) => self.file = Err(error.to_string()),
        }
    }

    /// Returns how many bytes came, and how many are kept.
    pub(super) fn amounts(&self) -> (u64, u64) {
        (self.bytes, self.kept)
    }

    /// Says why the output is not kept, if it is not.
    pub(super) fn lost(&self) -> Option<&str> {
        self.file.as_ref().err().map(String::as_str)
    }

    pub(super) fn piece(&self, from: u64, most: usize) -> Piece {
        let total = self.bytes;
        if let Some(bytes) = self.read_file(from, most) {
            return Piece { from, bytes, total };
        }
        let first = total - self.tail.len() as u64;
        let from = from.clamp(first, total);
        // The tail is in memory, so its length is a usize.
        let tail = &self.tail[(from - first) as usize..];
        Piece { from, bytes: tail[..tail.len().min(most)].to_vec(), total }
    }

    /// Reads a piece of what is kept; `None` when nothing there is.
    fn read_file(&self, from: u64, most: usize) -> Option<Vec<u8>> {
        let file = self.file.as_ref().ok()?;
        let left = usize::try_from(self.kept.checked_sub(from)?).unwrap_or(usize::MAX);
        let mut bytes = vec![0; left.min(most)];
        file.read_exact_at(&mut bytes, from).ok()?;
        Some(bytes).filter(|bytes| !bytes.is_empty())
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o644);
    let file = options.open(path)?;
    // Whatever the umask: the session's user may be another than Chock's.
    file.set_permissions(fs::Permissions::from_mode(0o644))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Feeds an output in pieces of a size, and returns it with what its file holds.
    fn feed(output: &[u8], piece: usize) -> (TaskOutput, Vec<u8>) {
        let directory = tempfile::tempdir().unwrap();
        let redactor = Redactor::new(["lent-value-0123".to_owned()], [7; 32]);
        let mut fed = TaskOutput::create(directory.path(), "task-01", redactor);
        output.chunks(piece).for_each(|piece| fed.feed(piece));
        fed.finish();
        (fed, fs::read(directory.path().join("task-01.out")).unwrap())
    }

    fn nothing() -> Redactor {
        Redactor::new([], [7; 32])
    }

    #[test]
    fn secrets_are_in_no_piece_and_the_rest_is_counted_without_them() {
        let text = b"one lent-value-0123 two\nlent-value";
        for size in 1..text.len() {
            let (fed, file) = feed(text, size);
            let words = String::from_utf8_lossy(&file).into_owned();
            assert!(words.starts_with("one [secret removed: lent "), "{words}");
            assert!(words.ends_with("] two\nlent-value"), "{words}");
            assert_eq!(fed.amounts(), (file.len() as u64, file.len() as u64));
            assert_eq!(fed.piece(0, 1000).bytes, file);
        }
    }

    fn counted(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at % 251) as u8).collect()
    }

    #[test]
    fn a_short_output_is_whole_and_read_from_any_byte() {
        let (fed, file) = feed(b"one\ntwo\n", 3);
        assert_eq!((file.as_slice(), fed.amounts()), (&b"one\ntwo\n"[..], (8, 8)));
        let cases = [(0, 100, "one\ntwo\n"), (4, 2, "tw"), (8, 9, ""), (99, 9, ""), (0, 0, "")];
        for (from, most, expected) in cases {
            let piece = fed.piece(from, most);
            assert_eq!((piece.bytes.as_slice(), piece.total), (expected.as_bytes(), 8));
            assert_eq!(piece.from, from.min(8));
        }
    }

    #[test]
    fn a_flood_is_kept_up_to_its_limit_and_its_end_is_at_hand() {
        let most = OUTPUT_FILE_BYTES_MAX as usize;
        let flood = counted(most + 300_000);
        for size in [4096, 65_536, 1 << 20] {
            let (fed, file) = feed(&flood, size);
            assert!(file == flood[..most]);
            assert_eq!(fed.amounts(), (flood.len() as u64, OUTPUT_FILE_BYTES_MAX));
            assert!(fed.tail.len() < 4 * TAIL_BYTES + size.min(TAIL_BYTES));
            let last = fed.piece(fed.bytes - TAIL_BYTES as u64, TAIL_BYTES);
            assert!(last.bytes == flood[flood.len() - TAIL_BYTES..]);
            // What is not kept is skipped, and the piece says so.
            let gap = fed.piece(OUTPUT_FILE_BYTES_MAX, 10);
            assert!(gap.from > OUTPUT_FILE_BYTES_MAX && gap.bytes.len() == 10);
            let border = fed.piece(OUTPUT_FILE_BYTES_MAX - 4, 10);
            assert_eq!((border.bytes.len(), border.next()), (4, OUTPUT_FILE_BYTES_MAX));
        }
    }

    #[test]
    fn an_output_without_a_file_is_counted_and_its_end_is_at_hand() {
        let mut fed = TaskOutput::create(Path::new("/nonexistent"), "task-01", nothing());
        fed.feed(b"words");
        fed.finish();
        assert!(fed.lost().unwrap().contains("No such file"));
        assert_eq!(fed.amounts(), (5, 0));
        assert_eq!(fed.piece(0, 9).bytes, b"words");
    }

    #[test]
    fn the_file_is_readable_to_the_session_s_user() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("task-01.out");
        fs::write(&path, "of a run that the machine did not survive").unwrap();
        let _ = TaskOutput::create(directory.path(), "task-01", nothing());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert_eq!(inside("task-01"), "/run/chock/outputs/task-01.out");
    }
}
