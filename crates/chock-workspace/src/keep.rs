//! Puts files and trees into the session's store, and never into the project's.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;

use git2::{FileMode, ObjectType, Odb, OdbLookupFlags, Oid, Repository, Tree};

use crate::SnapshotFault;

/// Files up to this many bytes are read at once: 8 MiB. Larger ones are streamed.
const AT_ONCE_BYTES_MAX: u64 = 8 << 20;

/// How much of a larger file is in memory at a time.
const CHUNK_BYTES: usize = 1 << 16;

/// One entry of a tree: its mode as git writes it, and its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) mode: u32,
    pub(crate) id: Oid,
}

/// The mode of a directory.
pub(crate) const DIRECTORY: u32 = 0o040_000;
/// The mode of a plain file.
pub(crate) const FILE: u32 = 0o100_644;
/// The mode of a program.
pub(crate) const PROGRAM: u32 = 0o100_755;
/// The mode of a symbolic link.
pub(crate) const LINK: u32 = 0o120_000;
/// The mode of a submodule.
pub(crate) const SUBMODULE: u32 = 0o160_000;

/// The mode of an entry that is no directory, as libgit2 takes it. What git does not write is a
/// plain file.
pub(crate) fn file_mode(mode: u32) -> FileMode {
    match mode {
        PROGRAM => FileMode::BlobExecutable,
        LINK => FileMode::Link,
        SUBMODULE => FileMode::Commit,
        _ => FileMode::Blob,
    }
}

/// The writing side of a store.
///
/// What the store or the project already has is not written again: writing would
/// touch the time of the project's file.
pub(crate) struct Keep<'repo> {
    odb: Odb<'repo>,
}

impl<'repo> Keep<'repo> {
    pub(crate) fn new(repository: &'repo Repository) -> Result<Self, git2::Error> {
        Ok(Self { odb: repository.odb()? })
    }

    pub(crate) fn odb(&self) -> &Odb<'repo> {
        &self.odb
    }

    /// Keeps `bytes` as an object.
    pub(crate) fn bytes(&self, kind: ObjectType, bytes: &[u8]) -> Result<Oid, SnapshotFault> {
        let id = Oid::hash_object(kind, bytes).map_err(store_fault)?;
        if self.has(id) {
            return Ok(id);
        }
        self.odb.write(kind, bytes).map_err(store_fault)
    }

    /// Keeps the content of `file`, which had `length` bytes a moment ago.
    ///
    /// `None` when it has another length by now.
    pub(crate) fn file(&self, file: &mut File, length: u64) -> Result<Option<Oid>, KeepFault> {
        if length > AT_ONCE_BYTES_MAX {
            return self.large_file(file, length);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        file.take(length + 1).read_to_end(&mut bytes).map_err(KeepFault::Read)?;
        if bytes.len() as u64 != length {
            return Ok(None);
        }
        self.bytes(ObjectType::Blob, &bytes).map(Some).map_err(KeepFault::Keep)
    }

    fn large_file(&self, file: &mut File, length: u64) -> Result<Option<Oid>, KeepFault> {
        let by_descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
        // A file that shrinks meanwhile is an error here; it is read again.
        let Ok(id) = Oid::hash_file(ObjectType::Blob, by_descriptor) else { return Ok(None) };
        if self.has(id) {
            return Ok(Some(id));
        }
        let keep = |fault| KeepFault::Keep(store_fault(fault));
        let size = usize::try_from(length).expect("invariant: a file under 1 GiB fits");
        let mut writer = self.odb.writer(size, ObjectType::Blob).map_err(keep)?;
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut left = size;
        while left > 0 {
            let want = left.min(CHUNK_BYTES);
            let got = file.read(&mut chunk[..want]).map_err(KeepFault::Read)?;
            if got == 0 {
                return Ok(None);
            }
            writer
                .write_all(&chunk[..got])
                .map_err(|source| keep(git2::Error::from_str(&source.to_string())))?;
            left -= got;
        }
        writer.finalize().map(Some).map_err(keep)
    }

    /// Keeps a tree: the entries of `lower` with `edits` made to it.
    ///
    /// `None` when nothing is left in it.
    pub(crate) fn tree(
        &self,
        lower: Option<&Tree<'_>>,
        edits: &Edits,
    ) -> Result<Option<Oid>, SnapshotFault> {
        let mut entries: Vec<(Vec<u8>, Entry)> = Vec::new();
        for entry in lower.iter().flat_map(|tree| tree.iter()) {
            let name = entry.name_bytes();
            if !edits.contains_key(name) {
                let mode = u32::try_from(entry.filemode_raw()).unwrap_or(FILE);
                entries.push((name.to_vec(), Entry { mode, id: entry.id() }));
            }
        }
        let kept = edits.iter().filter_map(|(name, entry)| Some((name.clone(), (*entry)?)));
        entries.extend(kept);
        if entries.is_empty() {
            return Ok(None);
        }
        entries.sort_by(|a, b| sort_name(a).cmp(sort_name(b)));
        let mut bytes = Vec::new();
        for (name, Entry { mode, id }) in &entries {
            bytes.extend_from_slice(format!("{mode:o} ").as_bytes());
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend_from_slice(id.as_bytes());
        }
        self.bytes(ObjectType::Tree, &bytes).map(Some)
    }

    fn has(&self, id: Oid) -> bool {
        self.odb.exists_ext(id, OdbLookupFlags::NO_REFRESH)
    }
}

/// What changes in one directory: the new entry of a name, or that it is gone.
pub(crate) type Edits = std::collections::BTreeMap<Vec<u8>, Option<Entry>>;

/// Why one file was not kept.
#[derive(Debug)]
pub(crate) enum KeepFault {
    /// The file could not be read.
    Read(std::io::Error),
    /// The store could not be written.
    Keep(SnapshotFault),
}

pub(crate) fn store_fault(source: git2::Error) -> SnapshotFault {
    SnapshotFault::Store { source }
}

/// Git sorts a directory as if its name ended in `/`.
fn sort_name((name, entry): &(Vec<u8>, Entry)) -> impl Iterator<Item = &u8> {
    let slash: &[u8] = if entry.mode == DIRECTORY { b"/" } else { b"" };
    name.iter().chain(slash)
}
