//! When the newest bundle of each organisation was issued: a file outside of all projects.

use std::path::Path;

use serde::Deserialize;

use crate::fault::Faults;
use crate::organisation::Organisation;
use crate::source::Source;
use crate::store::{self, StoreFault, Version};
use chock_zon::quoted;

/// The most issuers that are remembered. The oldest make room.
const ROWS_MAX: usize = 64;

/// The newest bundle of each issuer that was seen here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Issued {
    rows: Vec<(String, u64)>,
}

impl store::Stored for Issued {
    fn of_text(name: &str, text: &str) -> Result<Self, Faults> {
        let mut source = Source::new(name, text);
        let file = source.parse().and_then(|tree| source.read::<File>(tree.root()));
        let rows = file.map(|file| file.issued).unwrap_or_default();
        let rows = rows.into_iter().map(|row| (row.issuer, row.issued_ms)).collect();
        source.finish(Self { rows })
    }

    fn to_text(&self) -> String {
        let mut text = String::from(".{\n    .version = 1,\n    .issued = .{\n");
        for (issuer, issued_ms) in &self.rows {
            let issuer = quoted(issuer);
            text.push_str(&format!(
                "        .{{ .issuer = {issuer}, .issued_ms = {issued_ms} }},\n"
            ));
        }
        text.push_str("    },\n}\n");
        text
    }
}

impl Issued {
    /// Reads the file at `path`; one that is not there holds nothing.
    ///
    /// # Errors
    ///
    /// It is there and cannot be trusted or read.
    pub fn read(path: &Path) -> Result<Self, StoreFault> {
        store::read(path)
    }

    /// Returns when the newest bundle of this one's issuer was issued, in milliseconds since 1970,
    /// if that is after this one.
    #[must_use]
    pub fn newer_than(&self, bundle: &Organisation) -> Option<u64> {
        self.of(&bundle.issuer).filter(|newest| *newest > bundle.issued_ms)
    }

    /// Whether the bundle is the newest one of its issuer so far, and says when it was issued.
    #[must_use]
    pub fn is_news(&self, bundle: &Organisation) -> bool {
        bundle.issued_ms > self.of(&bundle.issuer).unwrap_or(0)
    }

    /// Notes a bundle in the file at `path`, which is made when it is not there.
    ///
    /// Another process that does the same waits. The file is replaced as a whole.
    ///
    /// # Errors
    ///
    /// The file cannot be trusted, read or written. Then it is as it was.
    pub fn note(path: &Path, bundle: &Organisation) -> Result<(), StoreFault> {
        store::change(path, |kept: &mut Self| {
            let newest = kept.of(&bundle.issuer).unwrap_or(0).max(bundle.issued_ms);
            kept.rows.retain(|(issuer, _)| *issuer != bundle.issuer);
            kept.rows.push((bundle.issuer.clone(), newest));
            let over = kept.rows.len().saturating_sub(ROWS_MAX);
            kept.rows.drain(..over);
        })
    }

    fn of(&self, issuer: &str) -> Option<u64> {
        self.rows.iter().find(|(other, _)| other == issuer).map(|(_, issued)| *issued)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[expect(dead_code, reason = "it is there to refuse any other")]
    version: Version,
    issued: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    issuer: String,
    issued_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_each_issuer_is_remembered() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("issued.zon");
        let bundle = |issuer: &str, issued_ms| Organisation {
            issuer: issuer.to_owned(),
            issued_ms,
            ..Organisation::default()
        };
        for (issuer, issued_ms) in [("a \"b\"", 5), ("", 9), ("a \"b\"", 7), ("a \"b\"", 6)] {
            Issued::note(&path, &bundle(issuer, issued_ms)).expect("written");
        }
        let issued = Issued::read(&path).expect("read");
        let newer = [("a \"b\"", 6), ("a \"b\"", 7), ("", 8), ("other", 1)]
            .map(|(issuer, issued_ms)| issued.newer_than(&bundle(issuer, issued_ms)));
        assert_eq!(newer, [Some(7), None, Some(9), None]);
        assert!(issued.is_news(&bundle("a \"b\"", 8)) && !issued.is_news(&bundle("other", 0)));
    }
}
