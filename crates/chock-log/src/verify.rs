//! Whether a log still says what was written.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::event::Event;
use crate::id::SessionId;
use crate::record::{Envelope, HEADER, LineHash, RECORD_BYTES_MAX, Seq};
use crate::seal::{Sealed, Statement};

/// What a log's bytes amount to. Only `Intact` is a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every line follows from the one before it.
    Intact {
        /// How many records there are.
        records: u64,
    },
    /// All whole lines are intact, and a piece of one stands at the end.
    Torn {
        /// How many whole records there are.
        records: u64,
        /// How many bytes the piece has.
        bytes: u64,
    },
    /// A record does not follow from the bytes before it: something was changed.
    Broken {
        /// The record that disagrees.
        at: Seq,
        /// The record before it, whose bytes it disagrees with; 0 is the header.
        after: Seq,
    },
    /// A whole line is not a record.
    Undecodable {
        /// The place it stands at.
        at: Seq,
    },
    /// The file is not a log, or could not be read.
    Unreadable {
        /// Why.
        reason: String,
    },
}

impl Verdict {
    /// Says whether something was changed or cannot be read. A torn tail is a crash and no damage.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Intact { .. } | Self::Torn { .. } => false,
            Self::Broken { .. } | Self::Undecodable { .. } | Self::Unreadable { .. } => true,
        }
    }

    /// Returns the word for the verdict.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Intact { .. } => "intact",
            Self::Torn { .. } => "torn",
            Self::Broken { .. } => "broken",
            Self::Undecodable { .. } => "undecodable",
            Self::Unreadable { .. } => "unreadable",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Intact { records } => write!(out, "intact, {records} records"),
            Self::Torn { records, bytes } => {
                write!(out, "torn: {records} whole records, then {bytes} bytes of one cut short")
            }
            Self::Broken { at, after } => {
                write!(out, "changed at record {at}: it does not follow from record {after}")
            }
            Self::Undecodable { at } => write!(out, "record {at} cannot be read"),
            Self::Unreadable { reason } => write!(out, "cannot be read: {reason}"),
        }
    }
}

/// Reads a whole log and says whether its chain holds.
#[must_use]
pub fn verify(path: &Path) -> Verdict {
    match File::open(path) {
        Ok(file) => scan(BufReader::with_capacity(1 << 20, file), |_| Ok(())).verdict,
        Err(fault) => Verdict::Unreadable { reason: fault.to_string() },
    }
}

/// What a log's bytes amount to, with the heads of its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Whether the chain holds.
    pub verdict: Verdict,
    /// How many records stand before whatever is wrong.
    pub records: u64,
    /// The hash of the last of these records' lines, in lower hex.
    pub head: String,
    /// What the seal says of them, when one was asked about.
    pub sealed: Option<Sealed>,
}

/// Reads a whole log, and holds it against what was sealed of it.
///
/// `session` is whose log it should be, when its name tells.
#[must_use]
pub fn check(path: &Path, session: Option<SessionId>, seal: Option<&Statement>) -> Checked {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(fault) => {
            let verdict = Verdict::Unreadable { reason: fault.to_string() };
            return Checked { verdict, records: 0, head: String::new(), sealed: None };
        }
    };
    let sealed_records = seal.map(|statement| statement.records);
    let (mut records, mut then) = (0, None);
    let mut owner = None;
    let scan = scan(BufReader::with_capacity(1 << 20, file), |envelope| {
        // What follows the sealed record says its hash.
        if Some(records) == sealed_records {
            then = Some(envelope.prev.to_string());
        }
        let record = envelope.open()?;
        if let Event::Start(start) = &record.event {
            owner = Some(start.session.clone());
        }
        records += 1;
        Ok(())
    });
    let head = scan.head.to_string();
    if Some(records) == sealed_records {
        then = Some(head.clone());
    }
    let is_other = |statement: &Statement| {
        session.is_some_and(|session| session != statement.session)
            || owner.as_ref().is_some_and(|owner| *owner != statement.session.to_string())
    };
    let sealed = seal.map(|statement| match then {
        _ if is_other(statement) => Sealed::OtherSession,
        None if scan.verdict.is_damage() => Sealed::Rewritten { at: records + 1 },
        None => Sealed::Shortened { sealed: statement.records },
        Some(hash) if hash != statement.head => Sealed::Rewritten { at: statement.records },
        Some(_) if records == statement.records => Sealed::Whole,
        Some(_) => Sealed::Earlier { records: statement.records },
    });
    Checked { verdict: scan.verdict, records, head, sealed }
}

/// What reading a log to its end told.
pub(crate) struct Scan {
    pub(crate) verdict: Verdict,
    /// The hash of the last whole line.
    pub(crate) head: LineHash,
    /// The bytes of all whole lines, newlines included.
    pub(crate) length: u64,
}

/// Walks the lines, checks the chain and hands each record's envelope over.
pub(crate) fn scan(
    mut lines: impl BufRead,
    mut each: impl FnMut(&Envelope<'_>) -> Result<(), serde_json::Error>,
) -> Scan {
    let mut scan = Scan {
        verdict: Verdict::Unreadable { reason: "it is not a session log of version 1".to_owned() },
        head: LineHash::of(b""),
        length: 0,
    };
    let mut line = Vec::new();
    let mut records = 0;
    loop {
        let state = match next_line(&mut lines, &mut line) {
            Ok(state) => state,
            Err(fault) => {
                scan.verdict = Verdict::Unreadable { reason: fault.to_string() };
                return scan;
            }
        };
        match state {
            LineEnd::Whole => {}
            LineEnd::Nothing => return scan,
            LineEnd::Torn if scan.length == 0 => return scan,
            LineEnd::Torn => {
                scan.verdict = Verdict::Torn { records, bytes: line.len() as u64 };
                return scan;
            }
        }
        if scan.length == 0 {
            if line != HEADER.as_bytes() {
                return scan;
            }
        } else {
            match check_line(&line, records, scan.head, &mut each) {
                Ok(()) => records += 1,
                Err(verdict) => {
                    scan.verdict = verdict;
                    return scan;
                }
            }
        }
        scan.head = LineHash::of(&line);
        scan.length += line.len() as u64 + 1;
        scan.verdict = Verdict::Intact { records };
    }
}

fn check_line(
    line: &[u8],
    records: u64,
    head: LineHash,
    each: &mut impl FnMut(&Envelope<'_>) -> Result<(), serde_json::Error>,
) -> Result<(), Verdict> {
    let (at, after) = (Seq(records + 1), Seq(records));
    let envelope = Envelope::read(line).map_err(|_| Verdict::Undecodable { at })?;
    if envelope.seq != at || *envelope.prev != head.to_string() {
        return Err(Verdict::Broken { at, after });
    }
    each(&envelope).map_err(|_| Verdict::Undecodable { at })
}

enum LineEnd {
    Whole,
    Torn,
    Nothing,
}

/// Reads up to the next newline, which is cut off, within the bound of a record.
fn next_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<LineEnd> {
    line.clear();
    let limit = RECORD_BYTES_MAX as u64 + 1;
    let read = io::Read::take(&mut *lines, limit).read_until(b'\n', line)?;
    if read == 0 {
        return Ok(LineEnd::Nothing);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(LineEnd::Whole);
    }
    if read as u64 == limit {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is over the record limit"));
    }
    Ok(LineEnd::Torn)
}
