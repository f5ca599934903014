//! One line of a log.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::event::Event;

/// The first line of every log, without its newline.
pub const HEADER: &str = r#"{"chock_log":1}"#;

/// The most bytes one line may have. Tool output is cut at 64 KiB long before; an
/// edit of a 4 MiB file, escaped, fits.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

/// The place of a record in its log: 1, 2, 3 ...
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl fmt::Display for Seq {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// One record as it was read or written.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its place in the log.
    pub seq: Seq,
    /// When it was written.
    pub time: Timestamp,
    /// What it says.
    pub event: Event,
}

/// The SHA-256 of a line's bytes without its newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineHash([u8; 32]);

impl LineHash {
    pub(crate) fn of(line: &[u8]) -> Self {
        Self(Sha256::digest(line).into())
    }
}

impl fmt::Display for LineHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(out, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// The envelope, in the order its fields are written.
#[derive(Serialize)]
struct Written<'a> {
    seq: Seq,
    time: String,
    kind: &'a str,
    body: &'a serde_json::Value,
    prev: String,
}

/// The envelope as read; unknown fields are left alone.
#[derive(Deserialize)]
pub(crate) struct Envelope<'a> {
    pub(crate) seq: Seq,
    #[serde(borrow)]
    time: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    kind: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    body: &'a RawValue,
    #[serde(borrow)]
    pub(crate) prev: std::borrow::Cow<'a, str>,
}

/// Writes one line, with its newline.
pub(crate) fn encode(
    seq: Seq,
    time: Timestamp,
    kind: &str,
    body: &serde_json::Value,
    prev: LineHash,
) -> Vec<u8> {
    let written = Written { seq, time: format!("{time:.3}"), kind, body, prev: prev.to_string() };
    let mut line =
        serde_json::to_vec(&written).expect("invariant: a JSON value has string keys only");
    line.push(b'\n');
    line
}

impl<'a> Envelope<'a> {
    /// Reads the envelope of one line, without its newline.
    pub(crate) fn read(line: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(line)
    }

    /// Reads what the record says.
    pub(crate) fn open(&self) -> Result<Record, serde_json::Error> {
        let time = self.time.parse().map_err(serde::de::Error::custom)?;
        Ok(Record { seq: self.seq, time, event: Event::read(&self.kind, self.body)? })
    }
}
