//! What a person answered for good, for which project: a file outside of all projects.

use std::path::Path;

use chock_policy::Rule;
use serde::Deserialize;

use crate::fault::Faults;
use crate::source::Source;
use crate::store::{self, Bytes, Identity, StoreFault, Version};

/// What a person answered for good: rows, each for one directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remembered {
    rows: Vec<(Identity, Rule)>,
}

/// The most answers that are kept. The oldest make room.
const ROWS_MAX: usize = 4096;

impl store::Stored for Remembered {
    fn of_text(name: &str, text: &str) -> Result<Self, Faults> {
        Self::from_zon(name, text)
    }

    fn to_text(&self) -> String {
        self.to_zon()
    }
}

impl Remembered {
    /// Reads the file at `path`; one that is not there holds nothing.
    ///
    /// # Errors
    ///
    /// It is there and cannot be trusted or read. Then nothing counts.
    pub fn read(path: &Path) -> Result<Self, StoreFault> {
        store::read(path)
    }

    /// Lists the answers for one directory, in the order they were given.
    ///
    /// A directory that was moved, or replaced by another of the same name, has none.
    pub fn rules(&self, identity: &Identity) -> impl Iterator<Item = &Rule> {
        self.rows.iter().filter(move |(of, _)| of == identity).map(|(_, rule)| rule)
    }

    /// Lists every answer with the real path that it is for.
    pub fn rows(&self) -> impl Iterator<Item = (&Path, &Rule)> {
        self.rows.iter().map(|(identity, rule)| (identity.path(), rule))
    }

    /// Adds answers to the file at `path`, which is made when it is not there.
    ///
    /// Another process that does the same waits. The file is replaced as a whole.
    ///
    /// # Errors
    ///
    /// The file cannot be trusted, read or written. Then it is as it was.
    pub fn add(path: &Path, identity: &Identity, rules: &[Rule]) -> Result<(), StoreFault> {
        store::change(path, |kept: &mut Self| {
            kept.rows.retain(|(of, rule)| of != identity || !rules.contains(rule));
            kept.rows.extend(rules.iter().map(|rule| (identity.clone(), rule.clone())));
            let over = kept.rows.len().saturating_sub(ROWS_MAX);
            kept.rows.drain(..over);
        })
    }

    /// Takes back the answers for the directory with this real path that `chosen` picks, and
    /// returns how many those were.
    ///
    /// # Errors
    ///
    /// As [`Remembered::add`].
    pub fn revoke(
        path: &Path,
        directory: &Path,
        chosen: impl Fn(&Rule) -> bool,
    ) -> Result<usize, StoreFault> {
        let mut gone = 0;
        store::change(path, |kept: &mut Self| {
            let before = kept.rows.len();
            kept.rows.retain(|(of, rule)| of.path() != directory || !chosen(rule));
            gone = before - kept.rows.len();
        })?;
        Ok(gone)
    }

    /// The answers as text.
    #[must_use]
    pub fn to_zon(&self) -> String {
        let mut text = String::from(".{\n    .version = 1,\n    .answers = .{\n");
        for (identity, rule) in &self.rows {
            let identity = identity.to_zon();
            text.push_str(&format!("        .{{ .rule = {rule}, {identity} }},\n"));
        }
        text.push_str("    },\n}\n");
        text
    }

    /// Reads what [`Remembered::to_zon`] wrote.
    ///
    /// # Errors
    ///
    /// The text is anything else.
    pub fn from_zon(name: &str, text: &str) -> Result<Self, Faults> {
        let mut source = Source::new(name, text);
        let file = source.parse().and_then(|tree| source.read::<Stored>(tree.root()));
        let rows = file.map(|file| file.answers).unwrap_or_default();
        let rows = rows
            .into_iter()
            .map(|row| (Identity::stored(row.path, row.device, row.inode), row.rule));
        source.finish(Self { rows: rows.collect() })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    #[expect(dead_code, reason = "it is there to refuse any other")]
    version: Version,
    answers: Vec<StoredRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRow {
    rule: Rule,
    path: Bytes,
    device: u64,
    inode: u64,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use chock_policy::{Decision, Pattern};

    use super::*;

    fn rule(action: &'static str) -> Rule {
        let tool = Some(Pattern::from_static("run_command"));
        Rule { tool, ..Rule::action(Pattern::from_static(action), Decision::Allow) }
    }

    #[test]
    fn answers_are_for_one_directory_and_gone_with_it() {
        let yard = tempfile::tempdir().expect("a directory");
        let (store, project) = (yard.path().join("answers.zon"), yard.path().join("p \u{e9}"));
        fs::create_dir(&project).expect("a directory");
        let identity = Identity::of(&project).expect("an identity");
        let rules = |identity: &Identity| {
            let kept = Remembered::read(&store).expect("a file that reads");
            kept.rules(identity).cloned().collect::<Vec<_>>()
        };
        assert_eq!(rules(&identity), []);
        Remembered::add(&store, &identity, &[rule("git.push"), rule("git.fetch")]).expect("kept");
        Remembered::add(&store, &identity, &[rule("git.push")]).expect("kept once");
        assert_eq!(rules(&identity), [rule("git.fetch"), rule("git.push")]);

        let gone = Remembered::revoke(&store, identity.path(), |row| *row == rule("git.fetch"));
        assert_eq!(gone.expect("revoked"), 1);
        assert_eq!(rules(&identity), [rule("git.push")]);

        // Another directory in its place has none of its answers.
        fs::rename(&project, yard.path().join("moved")).expect("moved");
        fs::create_dir(&project).expect("another directory");
        let other = Identity::of(&project).expect("an identity");
        assert_eq!(rules(&other), []);
        let moved = Identity::of(&yard.path().join("moved")).expect("an identity");
        assert_eq!(rules(&moved), []);
    }

    #[test]
    fn a_file_that_others_can_write_or_that_is_damaged_counts_for_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let yard = tempfile::tempdir().expect("a directory");
        let store = yard.path().join("answers.zon");
        let identity = Identity::of(yard.path()).expect("an identity");
        Remembered::add(&store, &identity, &[rule("git.push")]).expect("kept");
        fs::set_permissions(&store, fs::Permissions::from_mode(0o622)).expect("a mode");
        assert!(matches!(Remembered::read(&store), Err(StoreFault::Exposed { .. })));
        fs::set_permissions(&store, fs::Permissions::from_mode(0o600)).expect("a mode");
        fs::write(&store, ".{ .version = 2, .answers = .{} }").expect("written");
        assert!(matches!(Remembered::read(&store), Err(StoreFault::Damaged { .. })));
        assert!(Remembered::add(&store, &identity, &[rule("git.push")]).is_err());
    }
}
