//! The one place that appends to a log.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::courier::Courier;
use crate::error::LogError;
use crate::event::Event;
use crate::log::{Clock, Observer};
use crate::record::{LineHash, RECORD_BYTES_MAX, Record, Seq, encode};
use crate::redact::{Mask, Redactor};
use crate::session::Session;
use crate::storage::Storage;

/// The most bytes a log may have. A session of thousands of turns stays far below.
pub const LOG_BYTES_MAX: u64 = 512 << 20;

/// What is kept free for a session's last records: a result, the end of a task, a snapshot and the end.
const LAST_WORDS_BYTES: u64 = 256 << 10;

/// Writes what happened. Clones write to the same log.
#[derive(Clone)]
pub struct Pen(Arc<Mutex<Writer>>);

impl std::fmt::Debug for Pen {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Pen").finish_non_exhaustive()
    }
}

impl Pen {
    pub(crate) fn new(writer: Writer) -> Self {
        Self(Arc::new(Mutex::new(writer)))
    }

    /// Appends one record, without waiting for the disk.
    ///
    /// # Errors
    ///
    /// The record did not reach the file, is too large, the log is full, or an
    /// earlier write failed. It then counts for nothing.
    pub fn write(&self, event: Event) -> Result<Seq, LogError> {
        self.lock().append(event)
    }

    /// Waits until every record so far is on the disk, and at every required audit sink.
    ///
    /// # Errors
    ///
    /// The disk did not confirm, and the log takes no more records; or a sink lacks lines.
    pub fn flush(&self) -> Result<(), LogError> {
        self.lock().flush()
    }

    /// Asks a question of the session as folded so far.
    pub fn session<R>(&self, ask: impl FnOnce(&Session) -> R) -> R {
        ask(&self.lock().session)
    }

    /// Replaces secrets in a text that leaves the process by another way than the log.
    #[must_use]
    pub fn masked(&self, text: &str, mask: Mask) -> String {
        self.lock().redactor.text(text, mask).unwrap_or_else(|| text.to_owned())
    }

    /// Returns what replaces secrets in this log, for what is kept beside it.
    #[must_use]
    pub fn redactor(&self) -> Redactor {
        self.lock().redactor.clone()
    }

    pub(crate) fn append_durably(&self, event: Event) -> Result<Seq, LogError> {
        let mut writer = self.lock();
        let seq = writer.append(event)?;
        writer.flush()?;
        Ok(seq)
    }

    fn lock(&self) -> MutexGuard<'_, Writer> {
        // A panic while writing may have left half a line: the writer's own `failed` tells.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state behind every pen of one log.
pub(crate) struct Writer {
    pub(crate) storage: Box<dyn Storage>,
    pub(crate) path: PathBuf,
    pub(crate) clock: Clock,
    pub(crate) redactor: Redactor,
    pub(crate) observer: Option<Observer>,
    pub(crate) courier: Option<Box<dyn Courier>>,
    /// How many bytes every required sink has.
    pub(crate) settled: u64,
    pub(crate) session: Session,
    pub(crate) head: LineHash,
    pub(crate) next: Seq,
    pub(crate) length: u64,
    pub(crate) unflushed: bool,
    pub(crate) failed: bool,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.storage.release();
    }
}

impl Writer {
    fn append(&mut self, event: Event) -> Result<Seq, LogError> {
        if self.failed {
            return Err(LogError::Closed { path: self.path.clone() });
        }
        let (event, raw_calls) = self.redact(event);
        let time = (self.clock)();
        let line = encode(self.next, time, event.kind(), &event.body(), self.head);
        self.make_room(&event, &line)?;
        // Until the write is known to be whole, no other may follow it.
        self.failed = true;
        let appended = self.storage.append(&line);
        appended.map_err(|source| LogError::Append { path: self.path.clone(), source })?;
        self.failed = false;
        let seq = self.next;
        self.unflushed = true;
        self.length += line.len() as u64;
        self.head = LineHash::of(&line[..line.len() - 1]);
        self.next = Seq(seq.0 + 1);
        let record = Record { seq, time, event };
        self.session.absorb(&record);
        if let Some(calls) = raw_calls {
            // This run still does what the model said; only what is written is masked.
            self.session.pending = calls;
        }
        if let Some(observer) = &mut self.observer {
            observer(&record, &line);
        }
        Ok(seq)
    }

    /// Replaces secrets. When a reply changed, its calls are also returned as they were.
    fn redact(&self, event: Event) -> (Event, Option<std::collections::VecDeque<crate::ToolCall>>) {
        let shown = matches!(event, Event::Asked(_) | Event::Answered(_));
        let mask = if shown { Mask::LentOnly } else { Mask::All };
        let mut body = event.body();
        if !self.redactor.value(&mut body, mask) {
            return (event, None);
        }
        let raw_calls = if let Event::Model(message) = &event {
            Some(message.calls().cloned().collect())
        } else {
            None
        };
        let text = serde_json::value::to_raw_value(&body).expect("invariant: a value is JSON");
        let masked = Event::read(event.kind(), &text)
            .expect("invariant: a masked text is still a text, so the body still reads");
        (masked, raw_calls)
    }

    /// Refuses a record that does not fit, before any of it is written.
    fn make_room(&mut self, event: &Event, line: &[u8]) -> Result<(), LogError> {
        if line.len() > RECORD_BYTES_MAX {
            return Err(LogError::TooLarge { bytes: line.len() });
        }
        let last_words = is_last_word(event) && line.len() as u64 <= LAST_WORDS_BYTES;
        let kept_free = if last_words { 0 } else { LAST_WORDS_BYTES };
        let bytes = line.len() as u64 + kept_free;
        if self.length + bytes > LOG_BYTES_MAX {
            return Err(LogError::Full { path: self.path.clone() });
        }
        if last_words {
            return Ok(());
        }
        let reserved = self.storage.reserve(bytes);
        reserved.map_err(|source| LogError::Append { path: self.path.clone(), source })
    }

    fn flush(&mut self) -> Result<(), LogError> {
        if self.failed {
            return Err(LogError::Closed { path: self.path.clone() });
        }
        if self.unflushed {
            // After a failed flush the kernel may have dropped the pages it could not write.
            self.failed = true;
            let flushed = self.storage.flush();
            flushed.map_err(|source| LogError::Append { path: self.path.clone(), source })?;
            self.failed = false;
            self.unflushed = false;
        }
        self.settle()
    }

    fn settle(&mut self) -> Result<(), LogError> {
        if let Some(courier) = &mut self.courier
            && self.settled < self.length
        {
            courier.settle(self.length)?;
            self.settled = self.length;
        }
        Ok(())
    }
}

/// Says whether a record is one of those that close an act or a session.
fn is_last_word(event: &Event) -> bool {
    match event {
        Event::ToolFinished(_)
        | Event::TaskFinished(_)
        | Event::Snapshot(_)
        | Event::Applied(_)
        | Event::Undone(_)
        | Event::Ended(_) => true,
        Event::Forked(_)
        | Event::Start(_)
        | Event::Config(_)
        | Event::User(_)
        | Event::Model(_)
        | Event::Usage(_)
        | Event::Asked(_)
        | Event::Answered(_)
        | Event::DiffReviewed(_)
        | Event::Promise(_)
        | Event::Widened(_)
        | Event::ToolStarted(_)
        | Event::TaskStarted(_)
        | Event::WorkspaceOpened(_)
        | Event::Reviewed(_)
        | Event::Plan(_)
        | Event::Title(_)
        | Event::Noted(_)
        | Event::Compaction(_)
        | Event::Learned(_)
        | Event::Switched(_)
        | Event::Retry(_)
        | Event::Notice(_)
        | Event::Unknown { .. } => false,
    }
}
