//! Why the log could not be opened or extended.

use std::io;
use std::path::PathBuf;

use crate::courier::AuditGap;
use crate::record::RECORD_BYTES_MAX;
use crate::writer::LOG_BYTES_MAX;

/// Why the log could not be opened or extended.
///
/// What the file *says* is not here. A broken chain is an answer, so
/// [`verify`](crate::verify) reports it as a value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// Another process owns this session.
    #[error("session log `{}` is in use by another chock", .path.display())]
    InUse { path: PathBuf },

    /// The file or its directory could not be opened, made or locked.
    #[error("cannot open session log `{}`", .path.display())]
    Open { path: PathBuf, source: io::Error },

    /// The first line is not that of a log this version reads.
    #[error("`{}` is not a session log of version 1", .path.display())]
    NotALog { path: PathBuf },

    /// The chain does not hold, so the session is not continued.
    #[error("session log `{}` does not verify: {verdict}", .path.display())]
    NotIntact { path: PathBuf, verdict: String },

    /// The record did not reach the file, so it does not count.
    #[error("cannot append to session log `{}`", .path.display())]
    Append { path: PathBuf, source: io::Error },

    /// An earlier write failed, and nothing is written behind a hole.
    #[error("session log `{}` took no more records after a failed write", .path.display())]
    Closed { path: PathBuf },

    /// One record may not be larger than [`RECORD_BYTES_MAX`].
    #[error("record of {bytes} bytes is over the limit of {max}", max = RECORD_BYTES_MAX)]
    TooLarge { bytes: usize },

    /// The log is at its size limit; only a session's last records still fit.
    #[error("session log `{}` is at its limit of {max} bytes", .path.display(), max = LOG_BYTES_MAX)]
    Full { path: PathBuf },

    /// A place that must have every line does not.
    #[error(transparent)]
    AuditGap(#[from] AuditGap),
}

impl LogError {
    /// Says whether the disk or a quota is full.
    #[must_use]
    pub fn is_out_of_space(&self) -> bool {
        let source = match self {
            Self::Append { source, .. } | Self::Open { source, .. } => source,
            Self::InUse { .. }
            | Self::NotALog { .. }
            | Self::NotIntact { .. }
            | Self::Closed { .. }
            | Self::TooLarge { .. }
            | Self::Full { .. }
            | Self::AuditGap(_) => return false,
        };
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}
