//! Ends a running call from another thread.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A switch that ends running calls; clones are the same switch.
///
/// Once triggered it stays so: a call that starts later ends at once.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<Switch>);

#[derive(Debug)]
struct Switch {
    triggered: AtomicBool,
    reader: PipeReader,
    writer: PipeWriter,
}

impl Cancel {
    /// Makes a switch that is not triggered.
    ///
    /// # Errors
    ///
    /// The process or the machine has no descriptors left.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self(Arc::new(Switch { triggered: AtomicBool::new(false), reader, writer })))
    }

    /// Ends every call that was given this switch, now and later.
    pub fn trigger(&self) {
        if !self.0.triggered.swap(true, Ordering::AcqRel) {
            // One byte into an empty pipe: it neither blocks nor fails while `reader` lives.
            let _ = (&self.0.writer).write(&[1]);
        }
    }

    /// Says whether [`trigger`](Self::trigger) was called.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        self.0.triggered.load(Ordering::Acquire)
    }

    /// Returns a descriptor that is readable once triggered.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no driver here yet"))]
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.reader.as_fd()
    }
}
