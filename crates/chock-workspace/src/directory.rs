//! A project without git: its directory as it is when a session starts, kept as a tree.
//!
//! The directory belongs to the person, who goes on working in it. So a session stands on what
//! was there when it started, in a store of Chock's own beside the project's sessions, and only
//! what changed since the last session is read again.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use crate::collect::{self, Collected, Rules, Seen, Stamp};
use crate::covers::Matcher;
use crate::host::{self, Step};
use crate::upper::Found;
use crate::{
    Bind, BindPath, Kind, SNAPSHOT_BYTES_MAX, SNAPSHOT_FILE_BYTES_MAX, SNAPSHOT_FILES_MAX,
    SnapshotFault, Store, TreeId, WorkspaceFault, bare, files, remove,
};

/// The name of the store's directory, beside the sessions of a project.
const NAME: &str = "directory";

/// How old a file's last change must be, in seconds, for its time to stand for its content: file
/// systems count in steps of up to two.
const SETTLED: i64 = 3;

/// The largest list of what was read that is read back.
const SEEN_BYTES_MAX: u64 = 256 << 20;

/// How many objects of earlier states a store has beyond the living ones before it is made anew.
const STALE_MAX: u64 = 1_000;

/// A directory at one moment.
#[derive(Debug)]
pub(crate) struct KeptDirectory {
    /// Where its objects are.
    pub(crate) objects: PathBuf,
    /// All its files.
    pub(crate) tree: TreeId,
    /// How many files are not in the tree: special, unreadable, too large or changing.
    pub(crate) left_out: u64,
}

/// Keeps the directory `root` beside the workspace of `session`.
///
/// What `denied` covers and what is bound by name stays out.
pub(crate) fn keep(
    root: &Path,
    session: &Path,
    (denied, binds): (&Matcher<'_>, &[Bind]),
) -> Result<KeptDirectory, WorkspaceFault> {
    let place = session.parent().unwrap_or(Path::new("/")).join(NAME);
    files::make_private(&place)?;
    let lock = files::wait_lock(&place.join("lock"))?;
    let out = left_out(root, denied, binds)?;
    let mut collected = collect_in(&place, root, &out, &lock)?;
    if is_stale(&place, session, collected.files)? {
        remove::tree(&place.join("store"))?;
        remove::tree(&place.join("seen"))?;
        collected = collect_in(&place, root, &out, &lock)?;
    }
    Ok(KeptDirectory {
        objects: place.join("store/objects"),
        tree: TreeId(collected.tree),
        left_out: collected.skipped.len() as u64,
    })
}

/// Forgets the directory that is kept beside sessions when no workspace is left that needs it.
///
/// `sessions` is the directory that holds the workspaces of a project. Nothing there is fine.
///
/// # Errors
///
/// [`WorkspaceFault::Files`] when something could not be removed.
pub fn forget_directory(sessions: &Path) -> Result<(), WorkspaceFault> {
    let place = sessions.join(NAME);
    if !place.exists() {
        return Ok(());
    }
    let _lock = files::wait_lock(&place.join("lock"))?;
    if is_needed(sessions, None)? {
        return Ok(());
    }
    // The lock stays: somebody may wait for it.
    remove::tree(&place.join("store"))?;
    remove::tree(&place.join("seen"))
}

fn collect_in(
    place: &Path,
    root: &Path,
    out: &BTreeSet<Vec<u8>>,
    lock: &File,
) -> Result<Collected, WorkspaceFault> {
    let store = place.join("store");
    if !store.join("HEAD").exists() {
        remove::tree(&store)?;
        // `HEAD` is written last.
        bare::make(&store, &[])?;
    }
    bare::sweep(&store)?;
    let opened = Store::at(place).repository();
    let repository: Repository = opened.map_err(|source| WorkspaceFault::Store { source })?;
    let now = now(lock).map_err(files::fault("write", &place.join("lock")))?;
    let mut seen = read_seen(&place.join("seen"));
    let rules = Rules {
        files_max: SNAPSHOT_FILES_MAX,
        bytes_max: SNAPSHOT_BYTES_MAX,
        file_bytes_max: SNAPSHOT_FILE_BYTES_MAX,
        leaves_out: &|path, name| host::is_git(name) || out.contains(path),
        last: None,
    };
    let collected = collect::collect(&repository, root, &rules, &mut seen).map_err(unread)?;
    let too_much = || WorkspaceFault::TooMuch { path: root.to_owned() };
    let collected = collected.ok_or_else(too_much)?;
    // What changed a moment ago may change again without its time doing so.
    seen.retain(|_, (stamp, _)| stamp.changed.0 < now - SETTLED);
    let path = place.join("seen");
    files::write_whole(&path, &write_seen(&seen)).map_err(files::fault("write", &path))?;
    Ok(collected)
}

fn unread(fault: SnapshotFault) -> WorkspaceFault {
    WorkspaceFault::Start { source: fault }
}

/// The time as file systems tell it, in seconds since 1970.
fn now(lock: &File) -> io::Result<i64> {
    rustix::io::pwrite(lock, b"x", 0)?;
    Ok(lock.metadata()?.mtime())
}

/// The paths that no tool may read, and those that are bound. Only what is there counts.
fn left_out(
    root: &Path,
    denied: &Matcher<'_>,
    binds: &[Bind],
) -> Result<BTreeSet<Vec<u8>>, WorkspaceFault> {
    let named = binds.iter().filter_map(|bind| match &bind.path {
        BindPath::Name(name) => Some(name.as_os_str().as_bytes().to_vec()),
        BindPath::Pattern { .. } => None,
    });
    let mut out: BTreeSet<_> = named.collect();
    if denied.rows.is_empty() {
        return Ok(out);
    }
    host::walk(root, Path::new(""), &mut |path, found| {
        let name = path.file_name().unwrap_or_default();
        let kind = match found {
            Found::Directory => Kind::Directory,
            // A link has nothing to read in it, and says what is meant.
            Found::Link => return Ok(Step::Pass),
            Found::Whiteout | Found::File { .. } | Found::Special => Kind::File,
        };
        if host::is_git(name.as_bytes()) {
            return Ok(Step::Pass);
        }
        if denied.row(path, kind).is_some() {
            out.insert(path.as_os_str().as_bytes().to_vec());
            return Ok(Step::Pass);
        }
        Ok(Step::Enter)
    })?;
    Ok(out)
}

/// Whether most of the store is of earlier states, and no session needs them.
fn is_stale(place: &Path, session: &Path, files: u64) -> Result<bool, WorkspaceFault> {
    if is_needed(place.parent().unwrap_or(Path::new("/")), Some(session))? {
        return Ok(false);
    }
    let objects = place.join("store/objects");
    let mut count = 0;
    for entry in objects.read_dir().map_err(files::fault("read", &objects))? {
        let path = entry.map_err(files::fault("read", &objects))?.path();
        count += path.read_dir().map_or(0, |entries| entries.count() as u64);
    }
    // Directories are objects as well.
    Ok(count > files * 3 + STALE_MAX)
}

/// Whether a workspace other than `but` stands on what is kept.
fn is_needed(sessions: &Path, but: Option<&Path>) -> Result<bool, WorkspaceFault> {
    for entry in sessions.read_dir().map_err(files::fault("read", sessions))? {
        let path = entry.map_err(files::fault("read", sessions))?.path();
        if path.extension() == Some(OsStr::new("work")) && Some(path.as_path()) != but {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A row is the object, the stamp and the path, with a NUL at its end.
fn write_seen(seen: &Seen) -> Vec<u8> {
    let mut text = Vec::new();
    for (path, (Stamp { inode, bytes, changed }, id)) in seen {
        let (seconds, nanoseconds) = changed;
        text.extend_from_slice(format!("{id} {inode} {bytes} {seconds} {nanoseconds} ").as_bytes());
        text.extend_from_slice(path);
        text.push(0);
    }
    text
}

/// What cannot be read is read anew from the files themselves.
fn read_seen(path: &Path) -> Seen {
    let text = files::read_bounded(path, SEEN_BYTES_MAX).unwrap_or_default();
    let rows = text.split(|byte| *byte == 0);
    rows.filter_map(|row| {
        let mut words = row.splitn(6, |byte| *byte == b' ');
        let mut word = || std::str::from_utf8(words.next()?).ok();
        let id = Oid::from_str(word()?).ok()?;
        let (inode, bytes) = (word()?.parse().ok()?, word()?.parse().ok()?);
        let changed = (word()?.parse().ok()?, word()?.parse().ok()?);
        Some((words.next()?.to_vec(), (Stamp { inode, bytes, changed }, id)))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_written_down_and_read_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("seen");
        let id = Oid::from_str(&"a1".repeat(20)).expect("an id");
        let stamp = Stamp { inode: 7, bytes: 0, changed: (-1, 999_999_999) };
        let rows = [&b"plain"[..], b"with space", b"new\nline", b"\xff\xfe"];
        let seen: Seen = rows.iter().map(|row| (row.to_vec(), (stamp, id))).collect();
        std::fs::write(&path, write_seen(&seen)).expect("a write");
        assert_eq!(read_seen(&path), seen);
        std::fs::write(&path, b"rubbish\0a b c\0").expect("a write");
        assert_eq!(read_seen(&path), Seen::new());
        assert_eq!(read_seen(&directory.path().join("none")), Seen::new());
    }
}
