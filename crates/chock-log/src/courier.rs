//! Carries a log's lines to other places while they are written.

use std::io;

/// A place that must have every line of the log does not.
#[derive(Debug, thiserror::Error)]
#[error("the required audit sink `{place}` lacks lines of the log")]
pub struct AuditGap {
    /// The place, in words for a person.
    pub place: String,
    /// What kept the lines from it.
    pub source: io::Error,
}

/// Carries a log's lines to other places.
///
/// The log on disk is the queue: a courier reads what it has not carried yet from there, so
/// what was missed is caught up with as soon as a place can be reached again.
pub trait Courier: Send {
    /// Carries the bytes of the log up to `length`, which ends behind a whole line.
    ///
    /// Called after each flush: before each permit, at each turn's end and at a run's. So what
    /// is elsewhere is on the log's own disk too. It takes a bounded time.
    ///
    /// # Errors
    ///
    /// A place that must have every line does not. Of others it says nothing here.
    fn settle(&mut self, length: u64) -> Result<(), AuditGap>;
}
