//! Which row keeps a path from every tool.

use std::path::{Path, PathBuf};

/// One path that no tool may read, and the row that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedRow {
    /// The path in the cage: absolute, with no link in it.
    pub path: PathBuf,
    /// The row as the person wrote it, and where, on one line.
    pub row: String,
}

/// Every denied path of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeniedRows(Vec<DeniedRow>);

impl DeniedRows {
    pub(crate) fn new(rows: Vec<DeniedRow>) -> Self {
        Self(rows)
    }

    /// The row that `path`, or a directory above it, falls under.
    pub(crate) fn row(&self, path: &Path) -> Option<&str> {
        let row = self.0.iter().find(|row| path.starts_with(&row.path));
        row.map(|row| row.row.as_str())
    }

    /// Says what would take a row away.
    pub(crate) fn cure(row: &str) -> String {
        format!("the person removing {row} from `deny_read`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_falls_under_its_own_row_or_that_of_a_directory() {
        let row = |path: &str, row: &str| DeniedRow { path: path.into(), row: row.into() };
        let rows = DeniedRows::new(vec![row("/p/.env", "one"), row("/p/vault", "two")]);
        let cases = [
            ("/p/.env", Some("one")),
            ("/p/vault", Some("two")),
            ("/p/vault/deep/x", Some("two")),
            ("/p/vaults", None),
            ("/p", None),
        ];
        for (path, expected) in cases {
            assert_eq!(rows.row(Path::new(path)), expected, "{path}");
        }
    }
}
