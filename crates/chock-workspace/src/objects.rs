//! The object directories that a repository reads: its own, and those it borrows.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::WorkspaceFault;
use crate::files;

/// The most object directories that are followed. Git itself stops at five levels.
pub(crate) const OBJECT_DIRECTORIES_MAX: usize = 64;

/// The largest list of alternates that is read.
const ALTERNATES_BYTES_MAX: u64 = 1 << 20;

/// Lists the real paths of `objects` and of everything it borrows from, in git's order.
pub(crate) fn directories(objects: &Path) -> Result<Vec<PathBuf>, WorkspaceFault> {
    let first = objects.canonicalize().map_err(files::fault("find", objects))?;
    holds_objects_only(&first)?;
    let mut found = vec![first];
    let mut next = 0;
    while next < found.len() {
        let directory = found[next].clone();
        for alternate in alternates(&directory)? {
            // Git goes on without a directory that is gone, and so do we.
            let Ok(real) = directory.join(alternate).canonicalize() else { continue };
            if !found.contains(&real) && found.len() < OBJECT_DIRECTORIES_MAX {
                if !real.join("pack").is_dir() {
                    return Err(no_objects(&real, "no `pack` in it".to_owned()));
                }
                holds_objects_only(&real)?;
                found.push(real);
            }
        }
        next += 1;
    }
    Ok(found)
}

/// Refuses a directory that is no store of git's: whoever made the project named it, and a session
/// can read all that is in it.
fn holds_objects_only(directory: &Path) -> Result<(), WorkspaceFault> {
    for entry in directory.read_dir().map_err(files::fault("read", directory))? {
        let name = entry.map_err(files::fault("read", directory))?.file_name();
        if !is_of_git(name.as_bytes()) {
            return Err(no_objects(directory, format!("{name:?} in it")));
        }
    }
    Ok(())
}

/// Whether git puts such a name beside its objects. What is not finished yet starts with `tmp_`.
fn is_of_git(name: &[u8]) -> bool {
    let is_hexadecimal = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    matches!(name, b"info" | b"pack" | b"maintenance.lock")
        || (name.len() == 2 && name.iter().all(is_hexadecimal))
        || name.starts_with(b"tmp_")
}

fn no_objects(path: &Path, what: String) -> WorkspaceFault {
    WorkspaceFault::NoObjects { path: path.to_owned(), what }
}

/// Whether `objects` has a list of further directories.
pub(crate) fn borrows(objects: &Path) -> bool {
    objects.join("info/alternates").exists()
}

fn alternates(objects: &Path) -> Result<Vec<PathBuf>, WorkspaceFault> {
    let list = objects.join("info/alternates");
    let text = match files::read_within(objects, "info/alternates", ALTERNATES_BYTES_MAX) {
        Ok(text) => text,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(WorkspaceFault::Files { what: "read", path: list, source }),
    };
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    Ok(lines.map(|line| PathBuf::from(OsStr::from_bytes(&unquote(line)))).collect())
}

/// Undoes git's C-style quotes, which it writes around odd paths.
fn unquote(line: &[u8]) -> Vec<u8> {
    let Some(quoted) = line.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return line.to_vec();
    };
    let mut plain = Vec::with_capacity(quoted.len());
    let mut rest = quoted;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        let Some((&escape, after)) = rest.split_first() else { break };
        rest = after;
        plain.push(match escape {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            b'0'..=b'3' if rest.len() >= 2 => {
                let octal = |digit: u8| digit.wrapping_sub(b'0') & 7;
                let value = (octal(escape) << 6) | (octal(rest[0]) << 3) | octal(rest[1]);
                rest = &rest[2..];
                value
            }
            other => other,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::unquote;

    #[test]
    fn quoted_paths_are_read_as_git_writes_them() {
        assert_eq!(unquote(b"/a b"), b"/a b");
        assert_eq!(unquote(br#""/a\nb\"\\\303\244""#), "/a\nb\"\\ä".as_bytes());
        assert_eq!(unquote(br#""/a\"#), br#""/a\"#);
    }
}
