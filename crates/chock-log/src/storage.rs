//! Where a log's bytes go.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Takes a log's lines.
///
/// A seam, so that tests can fail the n-th write or flush.
pub trait Storage: Send {
    /// Appends `line` in one write. A short write is an error.
    ///
    /// # Errors
    ///
    /// The bytes did not all reach the file.
    fn append(&mut self, line: &[u8]) -> io::Result<()>;

    /// Waits until everything appended is on the disk.
    ///
    /// # Errors
    ///
    /// The disk did not confirm.
    fn flush(&mut self) -> io::Result<()>;

    /// Makes sure that `bytes` more can be appended, if the file system can promise it.
    ///
    /// # Errors
    ///
    /// The disk or a quota is full.
    fn reserve(&mut self, bytes: u64) -> io::Result<()>;

    /// Gives back what was reserved and not used.
    fn release(&mut self);
}

/// How much is reserved at once, so that most appends reserve nothing.
const RESERVE_STEP: u64 = 256 << 10;

/// Keeps a log in a file, which holds the session's lock as long as it is open.
#[derive(Debug)]
pub struct FileStorage {
    file: File,
    length: u64,
    reserved: u64,
}

impl FileStorage {
    /// Takes a file whose next byte belongs at `length`.
    #[must_use]
    pub fn new(file: File, length: u64) -> Self {
        Self { file, length, reserved: length }
    }
}

impl Storage for FileStorage {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let written = self.file.write_at(line, self.length);
        if !matches!(written, Ok(count) if count == line.len()) {
            // The piece that did arrive must not stand in front of anything.
            self.file.set_len(self.length)?;
            let short = || io::Error::new(io::ErrorKind::StorageFull, "the write was cut short");
            return Err(written.err().unwrap_or_else(short));
        }
        self.length += line.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        if self.length + bytes <= self.reserved {
            return Ok(());
        }
        let wanted = bytes + RESERVE_STEP;
        let keep = rustix::fs::FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&self.file, keep, self.length, wanted) {
            Ok(()) => self.reserved = self.length + wanted,
            // Some file systems cannot promise; the write itself will tell then.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    fn release(&mut self) {
        if self.reserved > self.length {
            // Only space is at stake: the next writer reserves anew.
            let _ = self.file.set_len(self.length);
            self.reserved = self.length;
        }
    }
}
