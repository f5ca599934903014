//! Writes one file's change as a patch in git's format.

use git2::{DiffOptions, Oid, Patch, Repository};

use crate::compare;
use crate::{ChangeKind, FileChange, Hunk, LineTag};

/// The id of nothing.
const ZERO_ID: &str = "0000000000000000000000000000000000000000";

/// The bits that say whether something is a file, a link or a submodule.
const TYPE_BITS: u32 = 0o170_000;

/// The patch of one file.
pub(crate) fn of(repository: &Repository, file: &FileChange) -> Result<Vec<u8>, git2::Error> {
    let both = file.old_mode != 0 && file.new_mode != 0;
    if !both || file.old_mode & TYPE_BITS == file.new_mode & TYPE_BITS {
        return section(repository, file);
    }
    // Something became something else: git writes that as gone and new.
    let gone = one_side(repository, file, Side::Old)?;
    let new = one_side(repository, file, Side::New)?;
    Ok([section(repository, &gone)?, section(repository, &new)?].concat())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Old,
    New,
}

fn one_side(
    repository: &Repository,
    file: &FileChange,
    side: Side,
) -> Result<FileChange, git2::Error> {
    let mut half = FileChange { old_path: None, ..file.clone() };
    if side == Side::Old {
        (half.kind, half.new_mode, half.new_id) = (ChangeKind::Deleted, 0, ZERO_ID.to_owned());
    } else {
        (half.kind, half.old_mode, half.old_id) = (ChangeKind::Added, 0, ZERO_ID.to_owned());
    }
    let old = bytes(repository, &half.old_id, half.old_mode)?;
    let new = bytes(repository, &half.new_id, half.new_mode)?;
    let hunks = compare::between(&half.path, &old, &new)?;
    half.binary = hunks.is_none();
    half.hunks = hunks.unwrap_or_default();
    Ok(half)
}

fn section(repository: &Repository, file: &FileChange) -> Result<Vec<u8>, git2::Error> {
    let old_path = file.old_path.as_deref().unwrap_or(&file.path);
    let old_name = quote(&[b"a/", old_path].concat());
    let new_name = quote(&[b"b/", file.path.as_slice()].concat());
    let mut out = Vec::new();
    line(&mut out, &[b"diff --git ", &old_name, b" ", &new_name]);
    head(&mut out, file, old_path);
    if file.binary {
        out.extend_from_slice(&binary(repository, file)?);
    } else if !file.hunks.is_empty() {
        let name = |mode, name: &[u8]| match mode {
            0 => b"/dev/null".to_vec(),
            _ => [name, tab(name)].concat(),
        };
        line(&mut out, &[b"--- ", &name(file.old_mode, &old_name)]);
        line(&mut out, &[b"+++ ", &name(file.new_mode, &new_name)]);
        for hunk in &file.hunks {
            write_hunk(&mut out, hunk);
        }
    }
    Ok(out)
}

fn head(out: &mut Vec<u8>, file: &FileChange, old_path: &[u8]) {
    let (old_mode, new_mode) = (format!("{:06o}", file.old_mode), format!("{:06o}", file.new_mode));
    let mut same_mode = String::new();
    if file.old_mode == 0 {
        line(out, &[b"new file mode ", new_mode.as_bytes()]);
    } else if file.new_mode == 0 {
        line(out, &[b"deleted file mode ", old_mode.as_bytes()]);
    } else if old_mode != new_mode {
        line(out, &[b"old mode ", old_mode.as_bytes()]);
        line(out, &[b"new mode ", new_mode.as_bytes()]);
    } else {
        same_mode = format!(" {old_mode}");
    }
    if file.old_path.is_some() {
        line(out, &[b"rename from ", &quote(old_path)]);
        line(out, &[b"rename to ", &quote(&file.path)]);
    }
    if file.old_id != file.new_id {
        let index = format!("index {}..{}{same_mode}", file.old_id, file.new_id);
        line(out, &[index.as_bytes()]);
    }
}

fn write_hunk(out: &mut Vec<u8>, hunk: &Hunk) {
    let range = |start, lines| match lines {
        1 => format!("{start}"),
        _ => format!("{start},{lines}"),
    };
    let old = range(hunk.old_start, hunk.old_lines);
    let new = range(hunk.new_start, hunk.new_lines);
    line(out, &[format!("@@ -{old} +{new} @@").as_bytes()]);
    for row in &hunk.lines {
        out.push(row.tag.sign());
        out.extend_from_slice(&row.bytes);
        if !row.bytes.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// Both contents in git's own coding of binary files.
fn binary(repository: &Repository, file: &FileChange) -> Result<Vec<u8>, git2::Error> {
    let old = bytes(repository, &file.old_id, file.old_mode)?;
    let new = bytes(repository, &file.new_id, file.new_mode)?;
    let mut options = DiffOptions::new();
    options.show_binary(true).force_binary(true);
    let mut patch = Patch::from_buffers(&old, None, &new, None, Some(&mut options))?;
    let text = patch.to_buf()?;
    let start = b"GIT binary patch";
    let at = text.windows(start.len()).position(|window| window == start);
    Ok(text[at.unwrap_or(text.len())..].to_vec())
}

fn bytes(repository: &Repository, id: &str, mode: u32) -> Result<Vec<u8>, git2::Error> {
    if mode == 0 {
        return Ok(Vec::new());
    }
    if mode == crate::keep::SUBMODULE {
        return Ok(format!("Subproject commit {id}\n").into_bytes());
    }
    Ok(repository.find_blob(Oid::from_str(id)?)?.content().to_vec())
}

fn line(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
    out.push(b'\n');
}

/// A name with a space ends at a tab, or git would look for a date behind it.
fn tab(name: &[u8]) -> &'static [u8] {
    if name.contains(&b' ') && !name.starts_with(b"\"") { b"\t" } else { b"" }
}

/// Writes a path as git does: in quotes when it holds odd bytes.
fn quote(path: &[u8]) -> Vec<u8> {
    let is_odd = |byte: &u8| byte.is_ascii_control() || matches!(byte, b'"' | b'\\');
    let is_text = std::str::from_utf8(path).is_ok();
    if is_text && !path.iter().any(is_odd) {
        return path.to_vec();
    }
    let mut out = vec![b'"'];
    for byte in path {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ if byte.is_ascii_control() || (!is_text && !byte.is_ascii()) => {
                out.extend_from_slice(format!("\\{byte:03o}").as_bytes());
            }
            other => out.push(*other),
        }
    }
    out.push(b'"');
    out
}

impl LineTag {
    /// The sign that starts such a line in a patch: a space, `-` or `+`.
    #[must_use]
    pub fn sign(self) -> u8 {
        match self {
            Self::Context => b' ',
            Self::Removed => b'-',
            Self::Added => b'+',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn odd_paths_are_quoted() {
        let cases: [(&[u8], &[u8]); 5] = [
            (b"a b", b"a b"),
            ("\u{e4}".as_bytes(), "\u{e4}".as_bytes()),
            (b"a\nb", b"\"a\\nb\""),
            (b"a\"b\\", b"\"a\\\"b\\\\\""),
            (b"\xff\x01", b"\"\\377\\001\""),
        ];
        for (path, expected) in cases {
            assert_eq!(quote(path), expected);
        }
    }
}
