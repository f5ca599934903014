//! The installation's key, which makes the digests of masked secrets.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::exit::Failure;

/// Reads the key, or makes it on first use. Its file is for the person alone.
pub(crate) fn redaction_key(data: &Path) -> Result<[u8; 32], Failure> {
    crate::house::make_private(data)?;
    let path = data.join("redaction.key");
    read(&path)
        .or_else(|fault| match fault.kind() {
            io::ErrorKind::NotFound => make(&path).and_then(|()| read(&path)),
            _ => Err(fault),
        })
        .map_err(|fault| Failure::start(format!("cannot use the key {}: {fault}", path.display())))
}

fn read(path: &Path) -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    File::open(path)?.read_exact(&mut key)?;
    Ok(key)
}

/// Writes a new key beside its place and links it there: the first of two processes wins.
fn make(path: &Path) -> io::Result<()> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    let draft = path.with_extension(format!("{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file.write_all(&key).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| match fs::hard_link(&draft, path) {
        Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    });
    fs::remove_file(&draft)?;
    linked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_made_once_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("a directory");
        let first = redaction_key(directory.path()).expect("a key");
        assert_eq!(redaction_key(directory.path()).expect("a key"), first);
        assert_ne!(first, [0; 32]);
        let file = fs::metadata(directory.path().join("redaction.key")).expect("a file");
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 1);
    }
}
