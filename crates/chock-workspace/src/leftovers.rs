//! Rests of a rename that was killed in the middle.
//!
//! The sandbox renames a directory of the base by way of a copy beside it. A kill leaves that
//! copy. It is nobody's work: it is in no snapshot, and is swept when the session is opened
//! again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, RenameFlags, XattrFlags};

use crate::{SNAPSHOT_DEPTH_MAX, WorkspaceFault, files, remove};

/// How the sandbox names such a copy: this, a process and a number.
const PREFIX: &[u8] = b".chock-rename-";

/// The pattern for the session's git, which looks for new files in none.
pub(crate) const PATTERN: &[u8] = b".chock-rename-*-*/\n";

/// Where a copy that is whole says whose it is: from then on the original is being removed.
const ORIGINAL: &str = "user.chock.rename";

/// Says whether `name` is one that the sandbox gives to a copy.
pub(crate) fn is_one(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX) else { return false };
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let mut parts = rest.split(|byte| *byte == b'-');
    parts.next().is_some_and(is_number)
        && parts.next().is_some_and(is_number)
        && parts.next().is_none()
}

/// Removes the copies below an upper layer, or finishes what they were made for.
///
/// The caller makes sure that nobody writes there meanwhile.
///
/// # Errors
///
/// [`WorkspaceFault::Files`] when one can neither be removed nor put in its place.
pub(crate) fn sweep(upper: &Path) -> Result<(), WorkspaceFault> {
    below(upper, 0)
}

fn below(directory: &Path, depth: usize) -> Result<(), WorkspaceFault> {
    // What cannot be read is named by the snapshot, and too deep is what no copy is made of.
    let Ok(entries) = directory.read_dir() else { return Ok(()) };
    for entry in entries.flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if is_one(entry.file_name().as_bytes()) {
            settle(directory, &entry.path())?;
        } else if depth < SNAPSHOT_DEPTH_MAX {
            below(&entry.path(), depth + 1)?;
        }
    }
    Ok(())
}

fn settle(parent: &Path, copy: &Path) -> Result<(), WorkspaceFault> {
    let Some(original) = original(copy) else { return remove::tree(copy) };
    let original = parent.join(OsStr::from_bytes(&original));
    remove::tree(&original)?;
    let put_back = || {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(copy, flags, Mode::empty())?;
        // What the base has at that place is hidden, as by any directory that was made there.
        rustix::fs::fsetxattr(&opened, "user.overlay.opaque", b"y", XattrFlags::empty())?;
        rustix::fs::fremovexattr(&opened, ORIGINAL)?;
        let here = rustix::fs::CWD;
        rustix::fs::renameat_with(here, copy, here, &original, RenameFlags::NOREPLACE)
    };
    put_back().map_err(|errno: rustix::io::Errno| files::fault("put back", copy)(errno.into()))
}

/// Returns the name of the directory that a whole copy is of.
fn original(copy: &Path) -> Option<Vec<u8>> {
    let mut name = [0; 256];
    let length = rustix::fs::lgetxattr(copy, ORIGINAL, &mut name[..]).ok()?;
    let name = name.get(..length)?;
    let is_plain = !name.is_empty()
        && !name.contains(&b'/')
        && !name.contains(&0)
        && ![&b"."[..], b"..", b".git"].contains(&name);
    is_plain.then(|| name.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sandboxs_own_names_are_leftovers() {
        for name in [".chock-rename-1-0", ".chock-rename-4711-15"] {
            assert!(is_one(name.as_bytes()), "{name}");
        }
        for name in [
            "chock-rename-1-0",
            ".chock-rename-",
            ".chock-rename-1",
            ".chock-rename-1-",
            ".chock-rename-1-0-0",
            ".chock-rename-a-0",
            ".chock-rename-1-0x",
        ] {
            assert!(!is_one(name.as_bytes()), "{name}");
        }
    }
}
