//! Pictures of a conversation: a record names one by its hash, and a file beside the log holds it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The most bytes of one picture. Source: the session format's earlier version.
pub const PICTURE_BYTES_MAX: usize = 3 << 20;

/// The most pictures that one session keeps: 768 MiB at most.
pub const PICTURES_MAX: usize = 256;

/// What a record says of a picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    /// SHA-256 of its bytes, lower hex.
    pub hash: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// The pictures of one session, each in a private file that is named by its hash.
#[derive(Debug, Clone)]
pub struct Pictures {
    directory: PathBuf,
}

impl Pictures {
    /// Names the pictures of the log at `log`. Nothing is made before one is kept.
    #[must_use]
    pub fn beside(log: &Path) -> Self {
        Self { directory: log.with_extension("pictures") }
    }

    /// Returns their directory, which may not be there.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps a picture, on the disk when this returns, and says what a record is to say of it.
    ///
    /// # Errors
    ///
    /// It is larger than [`PICTURE_BYTES_MAX`], there are [`PICTURES_MAX`] others, or the disk
    /// refused.
    pub fn keep(&self, media_type: &str, content: &[u8]) -> io::Result<Picture> {
        if content.len() > PICTURE_BYTES_MAX {
            return Err(io::Error::other(format!("it has over {PICTURE_BYTES_MAX} bytes")));
        }
        let hash = hash(content);
        let path = self.directory.join(&hash);
        if self.read(&hash).is_none() {
            self.write(&path, content)?;
        }
        let (media_type, bytes) = (media_type.to_owned(), content.len() as u64);
        Ok(Picture { media_type, hash, bytes })
    }

    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        if fs::read_dir(&self.directory)?.count() >= PICTURES_MAX {
            return Err(io::Error::other(format!("the session keeps {PICTURES_MAX} already")));
        }
        let draft = path.with_extension("draft");
        match fs::remove_file(&draft) {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
            Ok(()) | Err(_) => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        File::open(&self.directory)?.sync_all()
    }

    /// Reads a picture that a record names. `None` when it is not there, or not what was kept.
    #[must_use]
    pub fn read(&self, named: &str) -> Option<Vec<u8>> {
        let is_hash = named.len() == 64 && named.bytes().all(|byte| byte.is_ascii_hexdigit());
        let file = is_hash.then(|| File::open(self.directory.join(named)).ok()).flatten()?;
        let mut content = Vec::new();
        file.take(PICTURE_BYTES_MAX as u64 + 1).read_to_end(&mut content).ok()?;
        (hash(&content) == named).then_some(content)
    }
}

fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_picture_is_kept_once_privately_and_a_changed_one_is_none() {
        let top = tempfile::tempdir().unwrap();
        let pictures = Pictures::beside(&top.path().join("s.jsonl"));
        let kept = pictures.keep("image/png", b"abc").unwrap();
        assert_eq!(pictures.keep("image/png", b"abc").unwrap(), kept);
        assert_eq!(pictures.read(&kept.hash).unwrap(), b"abc");
        assert_eq!(fs::read_dir(pictures.directory()).unwrap().count(), 1);
        let path = pictures.directory().join(&kept.hash);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, b"abd").unwrap();
        assert_eq!(pictures.read(&kept.hash), None);
        assert_eq!(pictures.keep("image/png", b"abc").unwrap(), kept);
        assert_eq!(pictures.read(&kept.hash).unwrap(), b"abc");
        for named in ["", "../s.jsonl", &"a".repeat(64), &"/".repeat(64)] {
            assert_eq!(pictures.read(named), None, "{named}");
        }
    }

    #[test]
    fn their_size_and_number_are_bounded() {
        let top = tempfile::tempdir().unwrap();
        let pictures = Pictures::beside(&top.path().join("s.jsonl"));
        assert!(pictures.keep("image/png", &vec![0; PICTURE_BYTES_MAX + 1]).is_err());
        for number in 0..PICTURES_MAX {
            pictures.keep("image/png", &number.to_le_bytes()).unwrap();
        }
        assert!(pictures.keep("image/png", b"one more").is_err());
        pictures.keep("image/png", &1_usize.to_le_bytes()).unwrap();
    }
}
