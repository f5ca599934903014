//! The git directory that a session sees as its `.git`.
//!
//! It is written once, before the first program of the session starts, and never
//! opened on the host afterwards.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::facts::Facts;
use crate::person::Person;
use crate::refs::{Refs, Target};
use crate::{OBJECTS_INSIDE, WorkspaceFault, config_text, files, leftovers};

/// Who commits in the session of a person whom git does not know. The domain is one that
/// RFC 2606 keeps from ever being real.
const NAME_OF_NOBODY: &[u8] = b"Chock session";
const EMAIL_OF_NOBODY: &[u8] = b"session@chock.invalid";

/// What goes into the session's git directory.
#[derive(Debug)]
pub(crate) struct Contents<'a> {
    pub(crate) refs: &'a Refs,
    pub(crate) facts: &'a Facts,
    pub(crate) person: &'a Person,
    /// The index that matches the base.
    pub(crate) index: &'a Path,
    /// The project's patterns of ignored files.
    pub(crate) exclude: &'a [u8],
    /// The project's list of commits without parents, for a shallow clone.
    pub(crate) shallow: Option<&'a [u8]>,
    /// How many object directories are borrowed.
    pub(crate) borrowed: usize,
    /// Tracked paths that the cage covers.
    pub(crate) tracked: &'a [PathBuf],
    /// Other paths that the cage covers: mounts may leave empty files there.
    pub(crate) untracked: &'a [PathBuf],
}

impl Contents<'_> {
    /// Every path that the cage covers.
    fn covered(&self) -> impl Iterator<Item = &PathBuf> {
        self.tracked.iter().chain(self.untracked)
    }
}

/// Makes the directories that git knows its own by.
pub(crate) fn make_directories(path: &Path) -> Result<(), WorkspaceFault> {
    for directory in ["", "hooks", "info", "objects", "objects/info", "objects/pack", "refs"] {
        files::make_open(&path.join(directory))?;
    }
    for directory in ["refs/heads", "refs/tags"] {
        files::make_open(&path.join(directory))?;
    }
    Ok(())
}

/// Makes the git directory `path`.
pub(crate) fn make(path: &Path, contents: &Contents<'_>) -> Result<(), WorkspaceFault> {
    make_directories(path)?;
    files::write(&path.join("HEAD"), &[&contents.refs.head, &b"\n"[..]].concat())?;
    files::write(&path.join("config"), &config(contents))?;
    files::write(&path.join("info/exclude"), &exclude(contents))?;
    let alternates = (0..contents.borrowed).map(|number| format!("{OBJECTS_INSIDE}/{number}\n"));
    let alternates: String = alternates.collect();
    files::write(&path.join("objects/info/alternates"), alternates.as_bytes())?;
    if let Some(shallow) = contents.shallow {
        files::write(&path.join("shallow"), shallow)?;
    }
    if contents.covered().next().is_some() {
        files::write(&path.join("info/sparse-checkout"), &sparse_patterns(contents))?;
    }
    let index = path.join("index");
    std::fs::copy(contents.index, &index).map_err(files::fault("write", &index))?;
    write_refs(path, contents.refs)
}

fn write_refs(path: &Path, refs: &Refs) -> Result<(), WorkspaceFault> {
    let mut packed = b"# pack-refs with: sorted\n".to_vec();
    let mut rows: Vec<_> = refs.rows.iter().collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, target) in rows {
        match target {
            Target::Id(id) => {
                packed.extend_from_slice(&[id, &b" "[..], name, b"\n"].concat());
            }
            Target::Ref(to) => {
                let file = path.join(OsStr::from_bytes(name));
                let parent = file.parent().unwrap_or(path);
                std::fs::create_dir_all(parent).map_err(files::fault("make", parent))?;
                files::write(&file, &[&b"ref: "[..], to, b"\n"].concat())?;
            }
        }
    }
    files::write(&path.join("packed-refs"), &packed)
}

fn config(contents: &Contents<'_>) -> Vec<u8> {
    let mut out = config_text::Writer::default();
    out.section("core", None);
    for (key, value) in [
        ("repositoryformatversion", "0"),
        ("bare", "false"),
        ("fileMode", "true"),
        ("logAllRefUpdates", "true"),
        ("checkStat", "minimal"),
        ("trustctime", "false"),
    ] {
        out.value(key, value.as_bytes());
    }
    if contents.covered().next().is_some() {
        out.value("sparseCheckout", b"true");
        out.section("sparse", None);
        out.value("expectFilesOutsideOfPatterns", b"true");
    }
    out.section("user", None);
    let Person { name, email, .. } = contents.person;
    out.value("name", name.as_deref().unwrap_or(NAME_OF_NOBODY));
    out.value("email", email.as_deref().unwrap_or(EMAIL_OF_NOBODY));
    subsections(&mut out, contents.facts, "remote", &["url", "pushurl", "fetch"]);
    subsections(&mut out, contents.facts, "branch", &["remote", "merge", "rebase"]);
    out.finish()
}

/// Copies the named keys of each `section.<name>`, without what is secret in a URL.
fn subsections(out: &mut config_text::Writer, facts: &Facts, section: &str, keys: &[&str]) {
    let mut by_name: BTreeMap<&[u8], Vec<(&str, &[u8])>> = BTreeMap::new();
    for (name, key, value) in facts.section(section) {
        if let Some(key) = keys.iter().find(|wanted| wanted.as_bytes() == key) {
            by_name.entry(name).or_default().push((key, value));
        }
    }
    for (name, rows) in by_name {
        out.section(section, Some(name));
        for (key, value) in rows {
            if key.ends_with("url") {
                out.value(key, &config_text::without_user(value));
            } else {
                out.value(key, value);
            }
        }
    }
}

/// The project's patterns, one for rests of renames, and one for each covered path: git looks for new files in none.
fn exclude(contents: &Contents<'_>) -> Vec<u8> {
    let mut text = contents.exclude.to_vec();
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend_from_slice(leftovers::PATTERN);
    for path in contents.covered() {
        text.extend_from_slice(&[b"/", pattern(path).as_bytes(), b"\n"].concat());
    }
    text
}

/// Everything is checked out but the covered paths, of whatever branch.
fn sparse_patterns(contents: &Contents<'_>) -> Vec<u8> {
    let mut text = b"/*\n".to_vec();
    for path in contents.covered() {
        text.extend_from_slice(&[b"!/", pattern(path).as_bytes(), b"\n"].concat());
    }
    text
}

/// Writes a path as a pattern that matches only it.
fn pattern(path: &Path) -> OsString {
    let mut text = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        if b"*?[\\! #".contains(byte) {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    OsString::from_vec(text)
}
