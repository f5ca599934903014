//! Opens a log: locks it, reads it, and gives out its pen and its granter.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};

use crate::courier::Courier;
use crate::error::LogError;
use crate::permit::Granter;
use crate::record::{HEADER, LineHash, Record, Seq};
use crate::redact::Redactor;
use crate::session::Session;
use crate::storage::{FileStorage, Storage};
use crate::verify::{Verdict, scan};
use crate::writer::{Pen, Writer};

/// Tells the time of a record.
pub type Clock = Box<dyn Fn() -> Timestamp + Send>;

/// Sees each record after it was written, with its line as it stands in the file.
pub type Observer = Box<dyn FnMut(&Record, &[u8]) + Send>;

/// A session's log. A value of this type is never needed; its functions open and read files.
#[derive(Debug)]
pub struct Log;

/// What a writer needs besides the file.
pub struct Options {
    /// Tells the time.
    pub clock: Clock,
    /// Replaces secrets.
    pub redactor: Redactor,
    /// Sees what is written.
    pub observer: Option<Observer>,
    /// Carries what is written to other places.
    pub courier: Option<Box<dyn Courier>>,
}

/// An open log.
pub struct Opened {
    /// Writes what happened.
    pub pen: Pen,
    /// Makes permits; it belongs into the broker.
    pub granter: Granter,
    /// How many bytes of a record cut short were removed from the end.
    pub torn_bytes: u64,
}

/// Keeps every writer from a log as long as it lives. It reads and writes nothing.
#[derive(Debug)]
pub struct Held {
    _lock: File,
}

/// Whether a session's owner is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Running {
    /// A process holds the log.
    Yes,
    /// Nobody does.
    No,
    /// The kernel could not be asked.
    Unknown,
}

impl Log {
    /// Opens a log for its one writer, making the file and its directory if they are not there.
    ///
    /// A piece of a record at the end is cut off and counted. The file gets mode 0600, a
    /// new directory 0700.
    ///
    /// # Errors
    ///
    /// The log is in use, cannot be opened or locked, is not a log, or its chain is broken.
    pub fn open(path: &Path, options: Options) -> Result<Opened, LogError> {
        let file = lock_file(path)?;
        let reader = file.try_clone().map_err(|source| open_fault(path, source))?;
        Self::adopt(path, reader, options, move |length| Box::new(FileStorage::new(file, length)))
    }

    /// Opens a log whose lines go to another storage, for tests of failing disks.
    ///
    /// # Errors
    ///
    /// As [`Log::open`].
    pub fn open_on(
        path: &Path,
        options: Options,
        storage: impl FnOnce(FileStorage) -> Box<dyn Storage>,
    ) -> Result<Opened, LogError> {
        let file = lock_file(path)?;
        let reader = file.try_clone().map_err(|source| open_fault(path, source))?;
        Self::adopt(path, reader, options, move |length| storage(FileStorage::new(file, length)))
    }

    /// Folds a log without owning it, as far as its chain holds.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn read(path: &Path) -> Result<(Session, Verdict), LogError> {
        let file = File::open(path).map_err(|source| open_fault(path, source))?;
        let (session, read) = fold(file);
        Ok((session, read.verdict))
    }

    /// Hands each record of a log over, as far as its chain holds.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn records(path: &Path, mut each: impl FnMut(Record)) -> Result<Verdict, LogError> {
        let file = File::open(path).map_err(|source| open_fault(path, source))?;
        let read = scan(BufReader::with_capacity(1 << 20, file), |envelope| {
            each(envelope.open()?);
            Ok(())
        });
        Ok(read.verdict)
    }

    /// Keeps every writer from a log that is there, for work on its files.
    ///
    /// # Errors
    ///
    /// The log is in use, or cannot be opened or locked.
    pub fn hold(path: &Path) -> Result<Held, LogError> {
        let file = File::open(path).map_err(|source| open_fault(path, source))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Held { _lock: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(LogError::InUse { path: path.to_owned() }),
            Err(errno) => Err(open_fault(path, errno.into())),
        }
    }

    /// Asks the kernel whether a process owns the log.
    #[must_use]
    pub fn running(path: &Path) -> Running {
        let Ok(file) = File::open(path) else { return Running::Unknown };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Running::No,
            Err(rustix::io::Errno::WOULDBLOCK) => Running::Yes,
            Err(_) => Running::Unknown,
        }
    }

    fn adopt(
        path: &Path,
        file: File,
        options: Options,
        storage: impl FnOnce(u64) -> Box<dyn Storage>,
    ) -> Result<Opened, LogError> {
        let reader = file.try_clone().map_err(|source| open_fault(path, source))?;
        let (session, read) = fold(reader);
        let torn_bytes = match read.verdict {
            Verdict::Intact { .. } => 0,
            Verdict::Torn { bytes, .. } => {
                file.set_len(read.length).map_err(|source| open_fault(path, source))?;
                bytes
            }
            verdict @ (Verdict::Broken { .. } | Verdict::Undecodable { .. }) => {
                let verdict = verdict.to_string();
                return Err(LogError::NotIntact { path: path.to_owned(), verdict });
            }
            Verdict::Unreadable { .. } => return Err(LogError::NotALog { path: path.to_owned() }),
        };
        let has_records = session.records > 0;
        let writer = Writer {
            storage: storage(read.length),
            path: path.to_owned(),
            clock: options.clock,
            redactor: options.redactor,
            observer: options.observer,
            courier: options.courier,
            settled: 0,
            next: Seq(session.records + 1),
            session,
            head: read.head,
            length: read.length,
            // What an owner that was killed wrote may not be on the disk yet.
            unflushed: has_records,
            failed: false,
        };
        let pen = Pen::new(writer);
        Ok(Opened { granter: Granter::new(pen.clone()), pen, torn_bytes })
    }
}

/// Opens and locks the file; a new one gets its header and is made durable.
fn lock_file(path: &Path) -> Result<File, LogError> {
    let fault = |source| open_fault(path, source);
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(fault)?;
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.custom_flags(no_follow).open(path).map_err(fault)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            return Err(LogError::InUse { path: path.to_owned() });
        }
        Err(errno) => return Err(fault(errno.into())),
    }
    if is_new(&file).map_err(fault)? {
        file.set_len(0).map_err(fault)?;
        let header = format!("{HEADER}\n");
        let written = file.write_all(header.as_bytes()).and_then(|()| file.sync_all());
        // The name must last as well as the bytes.
        let named = written.and_then(|()| File::open(directory)?.sync_all());
        named.map_err(fault)?;
    }
    Ok(file)
}

/// Says whether the file holds nothing, or only the beginning of a header.
fn is_new(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    if length > HEADER.len() as u64 {
        return Ok(false);
    }
    let mut start = vec![0; usize::try_from(length).unwrap_or(0)];
    std::os::unix::fs::FileExt::read_exact_at(file, &mut start, 0)?;
    Ok(HEADER.as_bytes().starts_with(&start))
}

fn fold(mut file: File) -> (Session, crate::verify::Scan) {
    let mut session = Session::default();
    // The descriptor may have been read before; the fold starts at the header.
    if let Err(fault) = io::Seek::rewind(&mut file) {
        let verdict = Verdict::Unreadable { reason: fault.to_string() };
        return (session, crate::verify::Scan { verdict, head: LineHash::of(b""), length: 0 });
    }
    let read = scan(BufReader::with_capacity(1 << 20, file), |envelope| {
        session.absorb(&envelope.open()?);
        Ok(())
    });
    (session, read)
}

fn open_fault(path: &Path, source: io::Error) -> LogError {
    LogError::Open { path: PathBuf::from(path), source }
}
