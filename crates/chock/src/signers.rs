//! Whose seals count: files of public keys as `ssh-keygen -Y verify -f` reads them.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chock_auth::PublicKey;
use chock_log::SEAL_NAMESPACE;

use crate::visible::visible_line;

/// The most bytes of a file of signers that are read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The name under which this installation's own keys stand in its file.
const OWN_NAME: &str = "chock";

/// Keys whose seals count, with the name that the file has for each.
#[derive(Debug, Default)]
pub(crate) struct Signers(Vec<(String, Vec<u8>)>);

impl Signers {
    /// Names the file of the keys that this installation has sealed with.
    pub(crate) fn own_file(data: &Path) -> PathBuf {
        data.join("allowed_signers")
    }

    /// Reads a file. Lines that are for something else, or not understood whole, do not count.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let mut text = String::new();
        fs::File::open(path)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        Ok(Self(text.lines().filter_map(signer).collect()))
    }

    /// Names a key, if it is one of these.
    pub(crate) fn name(&self, key: &[u8]) -> Option<&str> {
        self.0.iter().find(|(_, one)| one == key).map(|(name, _)| name.as_str())
    }

    /// Adds a key to this installation's file, unless it stands there.
    pub(crate) fn add(data: &Path, key: &PublicKey) -> io::Result<()> {
        let path = Self::own_file(data);
        let known = match Self::read(&path) {
            Ok(signers) => signers,
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => Self::default(),
            Err(fault) => return Err(fault),
        };
        if known.name(&key.blob).is_some() {
            return Ok(());
        }
        let kind = kind(&key.blob).unwrap_or_default();
        let comment = visible_line(&key.comment);
        let packed = STANDARD.encode(&key.blob);
        let line =
            format!("{OWN_NAME} namespaces=\"{SEAL_NAMESPACE}\" {kind} {packed} {comment}\n");
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
        file.write_all(line.as_bytes())?;
        file.sync_all()
    }
}

/// Reads one line: names, perhaps the option `namespaces`, the kind and the key.
fn signer(line: &str) -> Option<(String, Vec<u8>)> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let mut words = line.split_ascii_whitespace();
    let name = words.next()?.to_owned();
    let mut word = words.next()?;
    if let Some(spaces) = word.strip_prefix("namespaces=\"") {
        let spaces = spaces.strip_suffix('"')?;
        if !spaces.split(',').any(|space| space == SEAL_NAMESPACE) {
            return None;
        }
        word = words.next()?;
    }
    // Any other option narrows what the key is good for, in a way that is not checked here.
    let blob = STANDARD.decode(words.next()?).ok()?;
    (kind(&blob)? == word).then_some((name, blob))
}

/// Returns the kind that a public key says it has.
fn kind(blob: &[u8]) -> Option<&str> {
    let (length, rest) = blob.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    std::str::from_utf8(rest.get(..length)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> PublicKey {
        let mut blob = vec![0, 0, 0, 11];
        blob.extend_from_slice(b"ssh-ed25519");
        blob.extend_from_slice(&[0, 0, 0, 1, 9]);
        PublicKey { blob, comment: "me\nother * ssh-ed25519 AAAA".to_owned() }
    }

    #[test]
    fn a_key_is_added_once_on_one_line() {
        let data = tempfile::tempdir().expect("a directory");
        for _ in 0..2 {
            Signers::add(data.path(), &key()).expect("a line");
        }
        let path = Signers::own_file(data.path());
        assert_eq!(fs::read_to_string(&path).expect("a file").lines().count(), 1);
        let signers = Signers::read(&path).expect("signers");
        assert_eq!(signers.name(&key().blob), Some("chock"));
        assert_eq!(signers.name(b"another"), None);
    }

    #[test]
    fn lines_for_something_else_do_not_count() {
        let packed = STANDARD.encode(key().blob);
        let counts = |line: String| signer(&line).is_some();
        assert!(counts(format!("me ssh-ed25519 {packed}")));
        assert!(counts(format!("me namespaces=\"file,chock-seal-v1\" ssh-ed25519 {packed} me")));
        for line in [
            format!("me namespaces=\"git\" ssh-ed25519 {packed}"),
            format!("me cert-authority ssh-ed25519 {packed}"),
            format!("me valid-before=\"20200101\" ssh-ed25519 {packed}"),
            format!("# me ssh-ed25519 {packed}"),
            format!("me ssh-rsa {packed}"),
            "me ssh-ed25519 AAAA".to_owned(),
            String::new(),
        ] {
            assert!(!counts(line.clone()), "{line}");
        }
    }
}
