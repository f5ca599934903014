//! What a repository's configuration says, as `git config --list -z` prints it.

/// The configuration of a repository, as a list in the order git read it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    rows: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Facts {
    /// Reads `key LF value NUL` and `key NUL` rows.
    pub(crate) fn parse(text: &[u8]) -> Self {
        let rows = text.split(|byte| *byte == 0).filter(|row| !row.is_empty());
        let rows = rows.map(|row| match row.iter().position(|byte| *byte == b'\n') {
            Some(at) => (row[..at].to_vec(), Some(row[at + 1..].to_vec())),
            None => (row.to_vec(), None),
        });
        Self { rows: rows.collect() }
    }

    /// Every row, in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.rows.iter().map(|(name, value)| (name.as_slice(), value.as_deref()))
    }

    /// The last value of `key`, which is the one in force. Keys are lower case.
    pub(crate) fn last(&self, key: &str) -> Option<&[u8]> {
        let row = self.rows.iter().rev().find(|(name, _)| name == key.as_bytes())?;
        Some(row.1.as_deref().unwrap_or(b"true"))
    }

    /// Every value of `key`, in order.
    pub(crate) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let rows = self.rows.iter().filter(move |(name, _)| name == key.as_bytes());
        rows.filter_map(|(_, value)| value.as_deref())
    }

    /// Whether `key` is on.
    pub(crate) fn is_on(&self, key: &str) -> bool {
        self.last(key).is_some_and(is_true)
    }

    /// Rows of `section.<name>.<key>`, as name, key and value.
    pub(crate) fn section<'a>(
        &'a self,
        section: &'a str,
    ) -> impl Iterator<Item = (&'a [u8], &'a [u8], &'a [u8])> {
        self.rows.iter().filter_map(move |(name, value)| {
            let rest = name.strip_prefix(section.as_bytes())?.strip_prefix(b".")?;
            let dot = rest.iter().rposition(|byte| *byte == b'.')?;
            Some((&rest[..dot], &rest[dot + 1..], value.as_deref().unwrap_or(b"true")))
        })
    }

    /// Whether a remote may hold objects that are not here.
    pub(crate) fn is_partial(&self) -> bool {
        self.last("extensions.partialclone").is_some()
            || self.section("remote").any(|(_, key, value)| {
                key == b"partialclonefilter" || (key == b"promisor" && is_true(value))
            })
    }
}

fn is_true(value: &[u8]) -> bool {
    let word = value.to_ascii_lowercase();
    matches!(word.as_slice(), b"true" | b"yes" | b"on")
        || word.iter().any(|byte| (b'1'..=b'9').contains(byte))
}

#[cfg(test)]
mod tests {
    use super::Facts;

    #[test]
    fn rows_are_found_by_key_and_by_section() {
        let facts = Facts::parse(
            b"core.bare\nfalse\0remote.a.b\nc.url\nx\0remote.or.igin.url\nssh://h/p\0\
              core.sparsecheckout\0remote.o.promisor\ntrue\0core.bare\ntrue\0",
        );
        assert_eq!(facts.last("core.bare"), Some(&b"true"[..]));
        assert!(facts.is_on("core.sparsecheckout"));
        assert!(!facts.is_on("core.missing"));
        assert!(facts.is_partial());
        let urls: Vec<_> = facts.section("remote").filter(|row| row.1 == b"url").collect();
        assert_eq!(urls, [(&b"or.igin"[..], &b"url"[..], &b"ssh://h/p"[..])]);
    }
}
