//! What a person accepted, for which project: a file outside of all projects.

use std::path::Path;

use serde::Deserialize;

use crate::fault::Faults;
use crate::source::Source;
use crate::store::{self, Bytes, Identity, StoreFault, Version};

/// What a person accepted: digests of [`Widening`](crate::Widening)s, each for a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acceptances {
    rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    digest: String,
    identity: Identity,
}

/// The most acceptances that are kept. The oldest make room.
const ROWS_MAX: usize = 1024;

impl store::Stored for Acceptances {
    fn of_text(name: &str, text: &str) -> Result<Self, Faults> {
        Self::from_zon(name, text)
    }

    fn to_text(&self) -> String {
        self.to_zon()
    }
}

impl Acceptances {
    /// Reads the file at `path`; one that is not there holds nothing.
    ///
    /// # Errors
    ///
    /// It is there and cannot be trusted or read. Then nothing is accepted.
    pub fn read(path: &Path) -> Result<Self, StoreFault> {
        store::read(path)
    }

    /// Whether exactly what `digest` stands for was accepted for this directory.
    #[must_use]
    pub fn holds(&self, identity: &Identity, digest: &str) -> bool {
        self.rows.iter().any(|row| row.digest == digest && row.identity == *identity)
    }

    /// The digests that were accepted, each with the real path it is for.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.rows.iter().map(|row| (row.digest.as_str(), row.identity.path()))
    }

    /// Adds an acceptance to the file at `path`, which is made when it is not there.
    ///
    /// Another process that does the same waits. The file is replaced as a whole.
    ///
    /// # Errors
    ///
    /// The file cannot be trusted, read or written. Then it is as it was.
    pub fn add(path: &Path, identity: &Identity, digest: &str) -> Result<(), StoreFault> {
        store::change(path, |kept: &mut Self| {
            kept.rows.retain(|row| row.digest != digest || row.identity != *identity);
            kept.rows.push(Row { digest: digest.to_owned(), identity: identity.clone() });
            let over = kept.rows.len().saturating_sub(ROWS_MAX);
            kept.rows.drain(..over);
        })
    }

    /// Takes back every acceptance for the directory with this real path.
    ///
    /// # Errors
    ///
    /// As [`Acceptances::add`].
    pub fn revoke(path: &Path, directory: &Path) -> Result<(), StoreFault> {
        store::change(path, |kept: &mut Self| {
            kept.rows.retain(|row| row.identity.path() != directory)
        })
    }

    /// The acceptances as text.
    #[must_use]
    pub fn to_zon(&self) -> String {
        let mut text = String::from(".{\n    .version = 1,\n    .accepted = .{\n");
        for Row { digest, identity } in &self.rows {
            let identity = identity.to_zon();
            text.push_str(&format!("        .{{ .digest = \"{digest}\", {identity} }},\n"));
        }
        text.push_str("    },\n}\n");
        text
    }

    /// Reads what [`Acceptances::to_zon`] wrote.
    ///
    /// # Errors
    ///
    /// The text is anything else.
    pub fn from_zon(name: &str, text: &str) -> Result<Self, Faults> {
        let mut source = Source::new(name, text);
        let file = source.parse().and_then(|tree| source.read::<Stored>(tree.root()));
        let mut rows = Vec::new();
        if let Some(file) = file {
            rows.extend(file.accepted.into_iter().map(Row::from));
        }
        source.finish(Self { rows })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    #[expect(dead_code, reason = "it is there to refuse any other")]
    version: Version,
    accepted: Vec<StoredRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRow {
    digest: String,
    path: Bytes,
    device: u64,
    inode: u64,
}

impl From<StoredRow> for Row {
    fn from(row: StoredRow) -> Self {
        let identity = Identity::stored(row.path, row.device, row.inode);
        Self { digest: row.digest, identity }
    }
}
