//! Files outside of all projects in which Chock keeps what a person said of one.

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

/// Which directory something was said of.
///
/// A directory that was moved, or replaced by another of the same name, is another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// Why such a file cannot be read or written.
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

    /// The three fields of a row that name the directory.
    pub(crate) fn to_zon(&self) -> String {
        let path = quoted_bytes(self.path.as_os_str().as_bytes());
        format!(".path = {path}, .device = {}, .inode = {}", self.device, self.inode)
    }

    /// Takes what a row says.
    pub(crate) fn stored(path: Bytes, device: u64, inode: u64) -> Self {
        let path = PathBuf::from(std::ffi::OsString::from_vec(path.0));
        Self { path, device, inode }
    }
}

/// Reads the text of a file that only its owner can write; none when there is no such file.
fn read_private(path: &Path) -> Result<Option<String>, StoreFault> {
    let Some(text) = read_text(path, Links::Refuse)? else { return Ok(None) };
    let unreadable = |source| FileFault::Unreadable { path: path.to_owned(), source };
    let mode = fs::symlink_metadata(path).map_err(unreadable)?.permissions().mode();
    if mode & 0o022 != 0 {
        return Err(StoreFault::Exposed { path: path.to_owned() });
    }
    Ok(Some(text))
}

/// What one such file holds.
pub(crate) trait Stored: Default {
    /// Reads the text that [`Stored::to_text`] wrote, of a file that people know as `name`.
    fn of_text(name: &str, text: &str) -> Result<Self, Faults>;

    fn to_text(&self) -> String;
}

/// Reads what the file at `path` holds; one that is not there holds nothing.
pub(crate) fn read<T: Stored>(path: &Path) -> Result<T, StoreFault> {
    let Some(text) = read_private(path)? else { return Ok(T::default()) };
    T::of_text(&path.display().to_string(), &text)
        .map_err(|source| StoreFault::Damaged { path: path.to_owned(), source })
}

/// Changes the file at `path` as a whole. Another process that does the same waits.
pub(crate) fn change<T: Stored>(
    path: &Path,
    change: impl FnOnce(&mut T),
) -> Result<(), StoreFault> {
    let fault = |source| StoreFault::Write { path: path.to_owned(), source };
    let _lock = lock(path).map_err(fault)?;
    let mut kept: T = read(path)?;
    change(&mut kept);
    replace(path, &kept.to_text()).map_err(fault)
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
#[serde(try_from = "u32")]
pub(crate) struct Version;

impl TryFrom<u32> for Version {
    type Error = &'static str;

    fn try_from(version: u32) -> Result<Self, Self::Error> {
        if version == 1 { Ok(Self) } else { Err("another version of chock wrote this") }
    }
}

/// A string that need not be UTF-8.
pub(crate) struct Bytes(Vec<u8>);

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
