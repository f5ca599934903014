//! The files that git tracks, or would track, read once.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::fault::Fault;
use super::rust::Code;

/// One file of the project.
#[derive(Debug)]
pub(super) struct Source {
    /// Its path below the root, with `/` between parts.
    pub(super) path: String,
    /// Its text; absent when it is not UTF-8.
    pub(super) text: Option<String>,
    /// The parsed text; absent when it is not Rust.
    pub(super) code: Option<Code>,
}

/// Every file of the project, sorted by path.
#[derive(Debug)]
pub(super) struct Tree {
    /// The files.
    pub(super) files: Vec<Source>,
    broken: Vec<Fault>,
}

impl Tree {
    /// Reads what git lists below `root`, new files that are not ignored included.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut texts = Vec::new();
        for path in listed(root)? {
            let full = root.join(&path);
            // A file removed but not yet committed, a link, a submodule.
            if !fs::symlink_metadata(&full).is_ok_and(|entry| entry.is_file()) {
                continue;
            }
            let bytes = fs::read(&full).with_context(|| format!("cannot read {path}"))?;
            texts.push((path, String::from_utf8(bytes).ok()));
        }
        Ok(Self::of(texts))
    }

    /// Parses the given texts.
    fn of(texts: Vec<(String, Option<String>)>) -> Self {
        let mut broken = Vec::new();
        let mut files = Vec::new();
        for (path, text) in texts {
            let code = match text.as_deref().filter(|_| path.ends_with(".rs")) {
                Some(text) => Code::parse(&path, text)
                    .map_err(|fault| broken.push(Fault::of(&path, format!("not Rust: {fault}"))))
                    .ok(),
                None => None,
            };
            files.push(Source { path, text, code });
        }
        mark_test_modules(&mut files);
        Self { files, broken }
    }

    /// Names the files that could not be parsed.
    pub(super) fn unreadable(&self) -> Vec<Fault> {
        self.broken.clone()
    }

    /// Returns the text of one file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path)?.text.as_deref()
    }

    /// Says whether a file of this path is tracked.
    pub(super) fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == path)
    }

    /// Returns each file that is text, with its text.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)))
    }

    /// Returns each Rust file, with its parsed text.
    pub(super) fn rust(&self) -> impl Iterator<Item = (&str, &Code)> {
        self.files.iter().filter_map(|file| Some((file.path.as_str(), file.code.as_ref()?)))
    }

    /// Makes a tree out of texts, for the tests of the rules.
    #[cfg(test)]
    pub(super) fn from_texts(texts: &[(&str, &str)]) -> Self {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), Some((*text).to_owned()));
        Self::of(texts.iter().map(owned).collect())
    }
}

fn listed(root: &Path) -> Result<BTreeSet<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("cannot start git")?;
    ensure!(output.status.success(), "git ls-files: {}", output.status);
    let names = String::from_utf8(output.stdout).context("a tracked path is not UTF-8")?;
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect())
}

/// Marks the files that stand behind a `#[cfg(test)] mod name;` as tests, and what is below them.
fn mark_test_modules(files: &mut [Source]) {
    let roots: Vec<String> = files
        .iter()
        .filter_map(|file| Some((file, file.code.as_ref()?)))
        .flat_map(|(file, code)| {
            code.test_modules.iter().map(|name| format!("{}/{name}", child_directory(&file.path)))
        })
        .collect();
    for file in files {
        let stem = file.path.trim_end_matches(".rs");
        let is_test = roots.iter().any(|root| {
            stem == root
                || stem.strip_prefix(root.as_str()).is_some_and(|rest| rest.starts_with('/'))
        });
        if let Some(code) = file.code.as_mut().filter(|_| is_test) {
            code.is_test = true;
        }
    }
}

/// Returns where the modules named in `path` have their files.
fn child_directory(path: &str) -> &str {
    let stem = path.trim_end_matches(".rs");
    match stem.rsplit_once('/') {
        Some((parent, "lib" | "main" | "mod")) => parent,
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_module_in_a_file_of_its_own_is_a_test() {
        let tree = Tree::from_texts(&[
            ("crates/x/src/lib.rs", "#[cfg(test)] mod fixture; mod real;"),
            ("crates/x/src/fixture.rs", ""),
            ("crates/x/src/fixture/deep.rs", ""),
            ("crates/x/src/fixture_other.rs", ""),
            ("crates/x/src/real.rs", "#[cfg(test)] mod tests;"),
            ("crates/x/src/real/tests.rs", ""),
            ("crates/x/tests/it/main.rs", ""),
        ]);
        let tests: Vec<&str> =
            tree.rust().filter(|(_, code)| code.is_test).map(|(path, _)| path).collect();
        assert_eq!(
            tests,
            [
                "crates/x/src/fixture.rs",
                "crates/x/src/fixture/deep.rs",
                "crates/x/src/real/tests.rs",
                "crates/x/tests/it/main.rs",
            ]
        );
    }

    #[test]
    fn a_file_that_is_not_rust_is_named() {
        let tree = Tree::from_texts(&[("crates/x/src/lib.rs", "fn (")]);
        assert_eq!(tree.unreadable().len(), 1);
    }
}
