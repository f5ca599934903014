//! Tells a base of which something was taken out of the cache from a whole one.
//!
//! Whoever removes a file changes the time of its directory, which is that of the base's making: to
//! look at the directories is enough, and costs little. What a file says is not looked at.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::{WorkspaceFault, files};

/// Beside the tree: its directories.
const NAME: &str = "directories";

/// The longest list that is read. That of a hundred thousand directories has a tenth of it.
const LIST_BYTES_MAX: u64 = 64 << 20;

/// Writes down the directories of a base in `making`, and the time that each has now.
pub(crate) fn write_down(making: &Path, directories: &[PathBuf]) -> Result<(), WorkspaceFault> {
    let tree = making.join("tree");
    let mut list = Vec::new();
    for path in directories {
        let place = place(&tree, path);
        let time = time(&place).map_err(files::fault("read", &place))?;
        list.extend_from_slice(time.as_bytes());
        list.push(b' ');
        list.extend_from_slice(path.as_os_str().as_bytes());
        list.push(0);
    }
    files::write(&making.join(NAME), &list)
}

/// Says whether every directory of a base is as it was made.
pub(crate) fn is_whole(base: &Path) -> bool {
    let (tree, index) = (base.join("tree"), base.join("index"));
    let Ok(list) = files::read_bounded(&base.join(NAME), LIST_BYTES_MAX) else { return false };
    let mut rows = list.split(|byte| *byte == 0).filter(|row| !row.is_empty());
    let is_same = |row: &[u8]| {
        let Some(space) = row.iter().position(|byte| *byte == b' ') else { return false };
        let (then, path) = (&row[..space], OsStr::from_bytes(&row[space + 1..]));
        time(&place(&tree, Path::new(path))).is_ok_and(|now| now.as_bytes() == then)
    };
    index.is_file() && !list.is_empty() && rows.all(is_same)
}

/// Where a directory of a base is. Nothing is put behind the top: a link there would be followed.
fn place(tree: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { tree.to_owned() } else { tree.join(path) }
}

fn time(directory: &Path) -> io::Result<String> {
    let found = directory.symlink_metadata()?;
    if !found.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(format!("{}.{}", found.mtime(), found.mtime_nsec()))
}
