//! The key of this installation: made on first use, in a file that only its user can read.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustix::fs::{OFlags, RenameFlags};

use super::{PublicKey, SigningFault, field};

/// What the file is called, in Chock's data directory.
const FILE: &str = "seal.key";

/// The most bytes of the file. What is written has 83.
const FILE_BYTES_MAX: u64 = 4096;

/// The comment of the key.
const COMMENT: &str = "chock installation";

/// The installation's ed25519 key.
pub struct InstallationKey {
    pair: Ed25519KeyPair,
}

impl std::fmt::Debug for InstallationKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("InstallationKey").finish_non_exhaustive()
    }
}

impl InstallationKey {
    /// Reads the key in the directory `data`, or makes it on first use, with mode 0600.
    ///
    /// # Errors
    ///
    /// It cannot be made or read, is no key, or others may read it.
    pub fn open(data: &Path) -> Result<Self, SigningFault> {
        match Self::read(data)? {
            Some(key) => Ok(key),
            None => {
                let path = data.join(FILE);
                make(&path).map_err(|source| SigningFault::Key { path: path.clone(), source })?;
                let missing = || io::Error::from(io::ErrorKind::NotFound);
                Self::read(data)?.ok_or_else(|| SigningFault::Key { path, source: missing() })
            }
        }
    }

    /// Reads the key, if it was made.
    ///
    /// # Errors
    ///
    /// As [`InstallationKey::open`].
    pub fn read(data: &Path) -> Result<Option<Self>, SigningFault> {
        let path = data.join(FILE);
        let fault = |source| SigningFault::Key { path: path.clone(), source };
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
            Ok(file) => file,
            Err(found) if found.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(fault(source)),
        };
        let metadata = file.metadata().map_err(fault)?;
        if metadata.mode() & 0o077 != 0 {
            return Err(SigningFault::Exposed { path });
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(fault)?;
        let pair = Ed25519KeyPair::from_pkcs8(&bytes)
            .map_err(|_| fault(io::Error::new(io::ErrorKind::InvalidData, "it is not a key")))?;
        Ok(Some(Self { pair }))
    }

    /// Returns the public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let mut blob = Vec::new();
        field(&mut blob, b"ssh-ed25519");
        field(&mut blob, self.pair.public_key().as_ref());
        PublicKey { blob, comment: COMMENT.to_owned() }
    }

    /// Signs `data`, and returns the signature as SSH writes it.
    #[must_use]
    pub fn sign(&self, data: &[u8]) -> Vec<u8> {
        let mut signature = Vec::new();
        field(&mut signature, b"ssh-ed25519");
        field(&mut signature, self.pair.sign(data).as_ref());
        signature
    }
}

/// Writes a new key beside its place and moves it there: the first of two processes wins.
fn make(path: &Path) -> io::Result<()> {
    let random = SystemRandom::new();
    let key = Ed25519KeyPair::generate_pkcs8(&random)
        .map_err(|_| io::Error::other("the system gives no random bytes"))?;
    let draft = path.with_extension(format!("key.{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file.write_all(key.as_ref()).and_then(|()| file.sync_all());
    let (here, flags) = (rustix::fs::CWD, RenameFlags::NOREPLACE);
    let moved =
        written.and_then(|()| Ok(rustix::fs::renameat_with(here, &draft, here, path, flags)?));
    match moved {
        Ok(()) => File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all(),
        Err(fault) => {
            std::fs::remove_file(&draft)?;
            if fault.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(fault) }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_key_is_made_once_and_for_its_user_alone() {
        let data = tempfile::tempdir().expect("a directory");
        assert!(InstallationKey::read(data.path()).expect("no key").is_none());
        let first = InstallationKey::open(data.path()).expect("a key").public();
        assert_eq!(InstallationKey::open(data.path()).expect("a key").public(), first);
        let path = data.path().join(FILE);
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(data.path()).expect("a directory").count(), 1);

        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("a mode");
        let exposed = InstallationKey::open(data.path());
        assert!(matches!(exposed, Err(SigningFault::Exposed { .. })), "{exposed:?}");
    }

    #[test]
    fn no_debug_print_shows_the_key() {
        let data = tempfile::tempdir().expect("a directory");
        let key = InstallationKey::open(data.path()).expect("a key");
        assert_eq!(format!("{key:?}"), "InstallationKey { .. }");
    }
}
