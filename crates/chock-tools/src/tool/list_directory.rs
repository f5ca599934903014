//! `list_directory`: the names in a directory.

use std::fs;
use std::path::Path;

use chock_log::Session;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Prepared, Tool};
use crate::answer::{Done, Operation, Trouble};
use crate::desk::{Desk, Place};
use crate::file::trouble;
use crate::hands::Handed;
use crate::lines::Lines;
use crate::names::{count, escaped, shown};

/// The most names of one answer.
const NAMES_MAX: usize = 500;

/// The most names that are read and sorted; a directory with more is not shown.
const READ_MAX: usize = 1_000_000;

pub(crate) struct ListDirectory;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The directory. The default is the working directory.
    path: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    place: Place,
}

impl Tool for ListDirectory {
    const NAME: &'static str = "list_directory";
    const DESCRIPTION: &'static str = "Lists what is in a directory, hidden names too, sorted by name: at most 500. Directories \
         end with /, links show where they point.";
    type Arguments = Arguments;

    fn prepare(
        Arguments { path }: Arguments,
        desk: &Desk,
        _: &Session,
    ) -> Result<Prepared, String> {
        let place = desk.place("path", path.as_deref().unwrap_or("."))?;
        let effect = format!("list {}", shown(&place.open));
        Ok(Prepared::hand(&Request { place }, effect))
    }
}

impl Handed for ListDirectory {
    type Request = Request;

    fn work(Request { place }: Request) -> Result<Done, Trouble> {
        let path = shown(&place.open);
        let fault = |error| trouble(&place, Operation::Read, &error);
        let metadata = fs::metadata(&place.open).map_err(fault)?;
        if !metadata.is_dir() {
            return Err(format!("{path} is a file, not a directory").into());
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(&place.open).map_err(fault)? {
            if entries.len() == READ_MAX {
                return Err(format!("{path} has more than {READ_MAX} names").into());
            }
            entries.push(entry.map_err(fault)?);
        }
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut lines = Lines::default();
        for entry in entries.iter().take(NAMES_MAX) {
            lines.push(&line(entry));
        }
        let (mut text, left) = lines.finish();
        let left = left + entries.len().saturating_sub(NAMES_MAX) as u64;
        if entries.is_empty() {
            text = format!("[chock: {path} is empty]\n");
        }
        if left > 0 {
            let left = count(left, "more name");
            text.push_str(&format!("[chock: {left} not shown; glob finds names by pattern]\n"));
        }
        Ok(Done { text, ..Done::default() })
    }
}

fn line(entry: &fs::DirEntry) -> String {
    let name = escaped(&entry.file_name().to_string_lossy());
    let Ok(kind) = entry.file_type() else { return name };
    if kind.is_dir() {
        return format!("{name}/");
    }
    if !kind.is_symlink() {
        return name;
    }
    let to = fs::read_link(entry.path()).unwrap_or_default();
    let slash = if is_directory(&entry.path()) { "/" } else { "" };
    format!("{name}{slash} -> {}", escaped(&to.to_string_lossy()))
}

fn is_directory(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::symlink;

    use super::*;
    use crate::answer::Answer;
    use crate::hands::tests::ask;

    fn list(path: &Path) -> Answer {
        let open = path.to_str().unwrap().to_owned();
        let place = Place { open, key: "k".into(), inside: true };
        ask("list_directory", &serde_json::to_vec(&Request { place }).unwrap())
    }

    #[test]
    fn names_are_sorted_and_marked() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["b", ".hidden", "odd\nname", "B"] {
            fs::write(at(name), "").unwrap();
        }
        fs::create_dir(at("d")).unwrap();
        symlink("b", at("to_b")).unwrap();
        symlink("d", at("to_d")).unwrap();
        symlink("/nowhere", at("dangling")).unwrap();
        let Answer::Done(done) = list(directory.path()) else { panic!("a listing") };
        let expected = ".hidden\nB\nb\nd/\ndangling -> /nowhere\nodd\\nname\nto_b -> b\n\
                        to_d/ -> d\n";
        assert_eq!(done.text, expected);
    }

    #[test]
    fn a_long_listing_is_cut_and_an_empty_one_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let Answer::Done(done) = list(directory.path()) else { panic!("a listing") };
        assert!(done.text.ends_with("is empty]\n"), "{}", done.text);
        for number in 0..NAMES_MAX + 3 {
            fs::write(directory.path().join(format!("{number:04}")), "").unwrap();
        }
        let Answer::Done(done) = list(directory.path()) else { panic!("a listing") };
        assert_eq!(done.text.lines().count(), NAMES_MAX + 1);
        assert!(done.text.contains("0499\n[chock: 3 more names not shown"), "{}", done.text);
    }

    #[test]
    fn what_is_no_directory_is_a_fault() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f");
        fs::write(&file, "").unwrap();
        assert!(matches!(list(&file), Answer::Fault(text) if text.contains("is a file")));
        let absent = directory.path().join("absent");
        assert!(matches!(list(&absent), Answer::Fault(text) if text.contains("is not there")));
    }
}
