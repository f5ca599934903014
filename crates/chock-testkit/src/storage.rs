//! A disk that fails at a chosen moment.

use std::io;

use chock_log::{FileStorage, Storage};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The n-th append, counted from 0, writes nothing.
    Append(usize),
    /// The n-th append leaves half of its bytes.
    HalfAppend(usize),
    /// The n-th flush is not confirmed.
    Flush(usize),
    /// From the n-th reservation on the disk is full.
    Reserve(usize),
}

/// Fails once as told, and works on a real file before and after.
pub struct FailingStorage {
    inner: FileStorage,
    failure: Failure,
    appends: usize,
    flushes: usize,
    reservations: usize,
}

impl FailingStorage {
    /// Puts a failure in front of a real file.
    #[must_use]
    pub fn new(inner: FileStorage, failure: Failure) -> Self {
        Self { inner, failure, appends: 0, flushes: 0, reservations: 0 }
    }
}

fn broken() -> io::Error {
    io::Error::from_raw_os_error(5) // EIO
}

fn counted(counter: &mut usize) -> usize {
    let now = *counter;
    *counter += 1;
    now
}

impl Storage for FailingStorage {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let now = counted(&mut self.appends);
        if self.failure == Failure::Append(now) {
            return Err(broken());
        }
        if self.failure == Failure::HalfAppend(now) {
            self.inner.append(&line[..line.len() / 2])?;
            return Err(broken());
        }
        self.inner.append(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        let now = counted(&mut self.flushes);
        if self.failure == Failure::Flush(now) {
            return Err(broken());
        }
        self.inner.flush()
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        let now = counted(&mut self.reservations);
        if matches!(self.failure, Failure::Reserve(from) if now >= from) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.inner.reserve(bytes)
    }

    fn release(&mut self) {
        self.inner.release();
    }
}
