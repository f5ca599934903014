//! What a person accepted, for which project: a file outside of all projects.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use chock_zon::quoted_bytes;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

use crate::fault::Faults;
use crate::file::{FileFault, Links, read_text};
use crate::source::Source;

/// Which directory something was accepted for.
///
/// A directory that was moved, or replaced by another of the same name, is another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// What a person accepted: digests of [`Widening`](crate::Widening)s, each for a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acceptances {
    rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    digest: String,
    identity: Identity,
}

/// The most acceptances that are kept. The oldest make room.
const ROWS_MAX: usize = 1024;

/// Why the acceptances cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreFault {
    /// The file cannot be read as text.
    #[error(transparent)]
    File(#[from] FileFault),
    /// Others could have written it.
    #[error("`{}` can be written by others; run `chmod 600` on it", .path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// The text is not what was written.
    #[error("`{}` is damaged; remove it, and accept again what you trust", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Faults,
    },
    /// It, or something beside it, cannot be written.
    #[error("cannot write `{}`", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The project's directory cannot be looked at.
    #[error("cannot look at the directory `{}`", .path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl Identity {
    /// Looks at a directory: its real path, and the numbers that the kernel knows it by.
    ///
    /// # Errors
    ///
    /// It is not there or cannot be looked at.
    pub fn of(directory: &Path) -> Result<Self, StoreFault> {
        let fault = |source| StoreFault::Directory { path: directory.to_owned(), source };
        let path = fs::canonicalize(directory).map_err(fault)?;
        let metadata = fs::metadata(&path).map_err(fault)?;
        Ok(Self { path, device: metadata.dev(), inode: metadata.ino() })
    }

    /// The directory's real path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Acceptances {
    /// Reads the file at `path`; one that is not there holds nothing.
    ///
    /// # Errors
    ///
    /// It is there and cannot be trusted or read. Then nothing is accepted.
    pub fn read(path: &Path) -> Result<Self, StoreFault> {
        let Some(text) = read_text(path, Links::Refuse)? else { return Ok(Self::default()) };
        let unreadable = |source| FileFault::Unreadable { path: path.to_owned(), source };
        let mode = fs::symlink_metadata(path).map_err(unreadable)?.permissions().mode();
        if mode & 0o022 != 0 {
            return Err(StoreFault::Exposed { path: path.to_owned() });
        }
        let name = path.display().to_string();
        Self::from_zon(&name, &text)
            .map_err(|source| StoreFault::Damaged { path: path.to_owned(), source })
    }

    /// Whether exactly what `digest` stands for was accepted for this directory.
    #[must_use]
    pub fn holds(&self, identity: &Identity, digest: &str) -> bool {
        self.rows.iter().any(|row| row.digest == digest && row.identity == *identity)
    }

    /// The digests that were accepted, each with the real path it is for.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.rows.iter().map(|row| (row.digest.as_str(), row.identity.path()))
    }

    /// Adds an acceptance to the file at `path`, which is made when it is not there.
    ///
    /// Another process that does the same waits. The file is replaced as a whole.
    ///
    /// # Errors
    ///
    /// The file cannot be trusted, read or written. Then it is as it was.
    pub fn add(path: &Path, identity: &Identity, digest: &str) -> Result<(), StoreFault> {
        Self::change(path, |kept| {
            kept.rows.retain(|row| row.digest != digest || row.identity != *identity);
            kept.rows.push(Row { digest: digest.to_owned(), identity: identity.clone() });
            let over = kept.rows.len().saturating_sub(ROWS_MAX);
            kept.rows.drain(..over);
        })
    }

    /// Takes back every acceptance for the directory with this real path.
    ///
    /// # Errors
    ///
    /// As [`Acceptances::add`].
    pub fn revoke(path: &Path, directory: &Path) -> Result<(), StoreFault> {
        Self::change(path, |kept| kept.rows.retain(|row| row.identity.path != directory))
    }

    fn change(path: &Path, change: impl FnOnce(&mut Self)) -> Result<(), StoreFault> {
        let fault = |source| StoreFault::Write { path: path.to_owned(), source };
        let _lock = lock(path).map_err(fault)?;
        let mut kept = Self::read(path)?;
        change(&mut kept);
        replace(path, &kept.to_zon()).map_err(fault)
    }

    /// The acceptances as text.
    #[must_use]
    pub fn to_zon(&self) -> String {
        let mut text = String::from(".{\n    .version = 1,\n    .accepted = .{\n");
        for Row { digest, identity: Identity { path, device, inode } } in &self.rows {
            let path = quoted_bytes(path.as_os_str().as_bytes());
            text.push_str(&format!(
                "        .{{ .digest = \"{digest}\", .path = {path}, .device = {device}, .inode = {inode} }},\n"
            ));
        }
        text.push_str("    },\n}\n");
        text
    }

    /// Reads what [`Acceptances::to_zon`] wrote.
    ///
    /// # Errors
    ///
    /// The text is anything else.
    pub fn from_zon(name: &str, text: &str) -> Result<Self, Faults> {
        let mut source = Source::new(name, text);
        let file = source.parse().and_then(|tree| source.read::<Stored>(tree.root()));
        let mut rows = Vec::new();
        if let Some(file) = file {
            rows.extend(file.accepted.into_iter().map(Row::from));
        }
        source.finish(Self { rows })
    }
}

/// Waits for others that change the file. The lock is gone when the file is closed.
fn lock(path: &Path) -> io::Result<File> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let file =
        OpenOptions::new().create(true).append(true).mode(0o600).open(PathBuf::from(beside))?;
    file.lock()?;
    Ok(file)
}

/// Writes a new file and puts it in the place of the old one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    // One that a killed process left behind; the lock is held.
    match fs::remove_file(&beside) {
        Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    match path.parent() {
        Some(parent) if parent != Path::new("") => File::open(parent)?.sync_all(),
        Some(_) | None => Ok(()),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    #[expect(dead_code, reason = "it is there to refuse any other")]
    version: Version,
    accepted: Vec<StoredRow>,
}

#[derive(Deserialize)]
#[serde(try_from = "u32")]
struct Version;

impl TryFrom<u32> for Version {
    type Error = &'static str;

    fn try_from(version: u32) -> Result<Self, Self::Error> {
        if version == 1 { Ok(Self) } else { Err("another version of chock wrote this") }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRow {
    digest: String,
    path: Bytes,
    device: u64,
    inode: u64,
}

impl From<StoredRow> for Row {
    fn from(row: StoredRow) -> Self {
        let path = PathBuf::from(std::ffi::OsString::from_vec(row.path.0));
        let identity = Identity { path, device: row.device, inode: row.inode };
        Self { digest: row.digest, identity }
    }
}

/// A string that need not be UTF-8.
struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BytesVisitor;

        impl Visitor<'_> for BytesVisitor {
            type Value = Bytes;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_owned()))
            }
        }

        deserializer.deserialize_byte_buf(BytesVisitor)
    }
}
