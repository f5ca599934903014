//! A log in a directory of its own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};

use chock_log::{Log, LogError, Opened, Options, Record, Redactor, Session, Verdict};
use jiff::Timestamp;
use tempfile::TempDir;

use crate::storage::{FailingStorage, Failure};

/// The redaction key of every test log.
pub const LOG_KEY: [u8; 32] = [7; 32];

/// Makes options with a clock that ticks a second a record, and no lent secrets.
#[must_use]
pub fn options() -> Options {
    let seconds = AtomicI64::new(1_700_000_000);
    let clock = move || {
        let now = seconds.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_second(now).expect("invariant: a small number of seconds is a time")
    };
    Options {
        clock: Box::new(clock),
        redactor: Redactor::new([], LOG_KEY),
        observer: None,
        courier: None,
    }
}

/// A log file in a temporary directory, which is removed with it.
#[derive(Debug)]
pub struct TestLog {
    _directory: TempDir,
    /// Where the file is, or will be.
    pub path: PathBuf,
}

impl Default for TestLog {
    fn default() -> Self {
        Self::new()
    }
}

impl TestLog {
    /// Makes the directory; the file comes with the first opening.
    ///
    /// # Panics
    ///
    /// The temporary directory cannot be made.
    #[must_use]
    pub fn new() -> Self {
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path().join("sessions").join("log.jsonl");
        Self { _directory: directory, path }
    }

    /// Opens the log on the real disk.
    ///
    /// # Panics
    ///
    /// It cannot be opened.
    #[must_use]
    pub fn open(&self) -> Opened {
        Log::open(&self.path, options()).expect("a log that opens")
    }

    /// Opens the log on a disk that fails as told.
    ///
    /// # Errors
    ///
    /// As [`Log::open`].
    pub fn open_failing(&self, failure: Failure) -> Result<Opened, LogError> {
        Log::open_on(&self.path, options(), |storage| {
            Box::new(FailingStorage::new(storage, failure))
        })
    }

    /// Reads every record that the chain holds.
    ///
    /// # Panics
    ///
    /// The file cannot be opened.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        Log::records(&self.path, |record| records.push(record)).expect("a log to read");
        records
    }

    /// Folds the log and says whether its chain holds.
    ///
    /// # Panics
    ///
    /// The file cannot be opened.
    #[must_use]
    pub fn read(&self) -> (Session, Verdict) {
        Log::read(&self.path).expect("a log to read")
    }
}
