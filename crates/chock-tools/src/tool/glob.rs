//! `glob`: files by a pattern of their paths.

use std::path::Path;
use std::sync::Mutex;

use chock_log::Session;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Prepared, Tool};
use crate::answer::{Done, Trouble};
use crate::desk::{Desk, Place};
use crate::hands::Handed;
use crate::lines::Lines;
use crate::names::{count, escaped, shown};
use crate::walk::{Found, Kind, Wanted, walk};

/// The most paths of one answer.
const PATHS_MAX: usize = 500;

/// The longest pattern, in bytes.
pub(super) const PATTERN_BYTES_MAX: usize = 4096;

pub(crate) struct Glob;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The pattern, matched against paths below `path`: `*` and `?` stay within one name, `**/`
    /// stands for any directories, `{a,b}` for either. `**/*.rs` finds every Rust file.
    pattern: String,
    /// The directory to look in. The default is the working directory.
    path: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    place: Place,
    pattern: String,
}

impl Tool for Glob {
    const NAME: &'static str = "glob";
    const DESCRIPTION: &'static str = "Finds files by a pattern of their paths, sorted by path: at most 500. Hidden files are \
         found; .git and what ignore files name are not.";
    type Arguments = Arguments;

    fn prepare(
        Arguments { pattern, path }: Arguments,
        desk: &Desk,
        _: &Session,
    ) -> Result<Prepared, String> {
        let place = desk.place("path", path.as_deref().unwrap_or("."))?;
        checked("pattern", &pattern, Wanted::path)?;
        let effect = format!("find {} in {}", shown(&pattern), shown(&place.open));
        Ok(Prepared::hand(&Request { place, pattern }, effect))
    }
}

/// Reads a pattern of a call, and names its field in a fault.
pub(super) fn checked(
    field: &str,
    pattern: &str,
    read: fn(&str) -> Result<Wanted, String>,
) -> Result<Wanted, String> {
    if pattern.is_empty() {
        return Err(format!("`{field}` is empty"));
    }
    if pattern.len() > PATTERN_BYTES_MAX {
        let bytes = pattern.len();
        return Err(format!("`{field}` has {bytes} bytes: the limit is {PATTERN_BYTES_MAX}"));
    }
    read(pattern).map_err(|fault| format!("`{field}` is {fault}"))
}

impl Handed for Glob {
    type Request = Request;

    fn work(Request { place, pattern }: Request) -> Result<Done, Trouble> {
        let wanted = Wanted::path(&pattern)?;
        let found = Mutex::new(Found::new(PATHS_MAX));
        walk(&place, &wanted, Kind::Names, || {
            |_: &Path, path: &str| {
                let mut found = found.lock().expect("invariant: no thread panics holding it");
                found.add(path, 1, ());
            }
        })?;
        let found = found.into_inner().expect("invariant: no thread panics holding it");
        let beyond = found.total.saturating_sub(PATHS_MAX as u64);
        let mut lines = Lines::default();
        for (path, ()) in found.into_kept() {
            lines.push(&escaped(&path));
        }
        let (mut text, left) = lines.finish();
        let left = left + beyond;
        if text.is_empty() {
            text = none(&pattern);
        }
        if left > 0 {
            let left = count(left, "more path");
            text.push_str(&format!("[chock: {left} not shown; narrow the pattern]\n"));
        }
        Ok(Done { text, ..Done::default() })
    }
}

fn none(pattern: &str) -> String {
    let hint = if pattern.contains("**") {
        ""
    } else {
        "; `**/` before a pattern looks in directories of any depth"
    };
    format!("[chock: no file matches{hint}]\n")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::answer::Answer;
    use crate::hands::tests::ask;

    fn glob(directory: &Path, pattern: &str) -> String {
        let open = directory.to_str().unwrap().to_owned();
        let place = Place { open: open.clone(), key: "k".into(), inside: true };
        let request = Request { place, pattern: pattern.into() };
        match ask("glob", &serde_json::to_vec(&request).unwrap()) {
            Answer::Done(done) => done.text.replace(&format!("{open}/"), ""),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn paths_are_sorted_cut_and_counted() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("d")).unwrap();
        for name in ["b.rs", "a.rs", "d/c.rs", "d/x\ny.rs", "e.c"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        assert_eq!(glob(directory.path(), "**/*.rs"), "a.rs\nb.rs\nd/c.rs\nd/x\\ny.rs\n");
        assert_eq!(glob(directory.path(), "d/c.rs"), "d/c.rs\n");
        assert!(glob(directory.path(), "c.rs").contains("no file matches; `**/`"));
        assert_eq!(glob(directory.path(), "**/*.py"), "[chock: no file matches]\n");

        for number in 0..PATHS_MAX {
            std::fs::write(directory.path().join(format!("d/{number:03}.c")), "").unwrap();
        }
        let many = glob(directory.path(), "**/*.c");
        assert_eq!(many.lines().count(), PATHS_MAX + 1);
        assert!(many.starts_with("d/000.c\n"));
        assert!(many.ends_with("d/499.c\n[chock: 1 more path not shown; narrow the pattern]\n"));
    }
}
