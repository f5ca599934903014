//! What signing in stored: a file for each provider, for its person alone. Where a keyring answers,
//! the file only says that the keyring has it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::fault::AuthFault;
use crate::private;
use crate::vault::{Shelf, Vault};

/// The directory of stored credentials, in Chock's data directory.
const DIRECTORY: &str = "credentials";

/// The most bytes of one file: two tokens of 64 KiB and a little.
const FILE_BYTES_MAX: usize = 192 * 1024;

/// How long another process may hold a credential: it renews it, and the issuer may be slow.
const HOLD_TIME_MAX: Duration = Duration::from_secs(60);

/// How often is looked whether it let go.
const LOOK: Duration = Duration::from_millis(20);

/// One credential.
#[derive(Debug, Clone)]
pub enum Stored {
    /// A key of an API.
    Key(SecretString),
    /// The tokens of an account.
    Account(Account),
}

/// Where credentials are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    directory: PathBuf,
}

/// Where a credential was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a file that only its person reads.
    File(PathBuf),
    /// In the keyring of the person's desktop.
    Keyring,
}

/// A credential that no other process changes meanwhile.
#[derive(Debug)]
pub struct Held {
    provider: String,
    /// The lock ends with it.
    _lock: File,
}

/// Why a stored credential cannot be used. No variant holds any of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreFault {
    /// A provider's name would lead elsewhere.
    #[error("no credential can be stored under the name of this provider")]
    Name,
    /// Its file cannot be used.
    #[error("the stored credential of `{provider}` cannot be used")]
    File {
        /// The provider's row.
        provider: String,
        /// The cause.
        source: AuthFault,
    },
    /// Its file holds something else.
    #[error("`{}` holds no credential that this version knows; run `chock login` again", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// It could not be written, and so it does not count.
    #[error("cannot write `{}`", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The keyring that has it, or shall have it, does not do its part.
    #[error(
        "the credential of `{provider}` is in your keyring, which cannot be used: {why}; unlock it, \
         or run `chock logout {provider}` and `chock login {provider}`"
    )]
    Keyring {
        /// The provider's row.
        provider: String,
        /// What the keyring said.
        why: String,
    },
    /// It is forgotten here, and its keyring has it still.
    #[error(
        "the credential of `{provider}` is forgotten here, and is still in your keyring, which cannot \
         be used: {why}; remove the entry `Chock: {provider}` there"
    )]
    Left {
        /// The provider's row.
        provider: String,
        /// What the keyring said.
        why: String,
    },
    /// Another process holds it.
    #[error("another process holds `{}`", .path.display())]
    Held {
        /// Its lock.
        path: PathBuf,
    },
}

/// The file's text.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Row {
    /// The row that counts is in the keyring.
    Keyring,
    Key {
        key: String,
    },
    Account {
        issuer: String,
        client_id: String,
        access: String,
        refresh: Option<String>,
        expires: u64,
        renewed: u64,
        id: Option<String>,
        plan: Option<String>,
        email: Option<String>,
    },
}

impl Store {
    /// Names the store in Chock's data directory. Nothing is made before something is stored.
    #[must_use]
    pub fn at(data: &Path) -> Self {
        Self { directory: data.join(DIRECTORY) }
    }

    /// Reads the credential of a provider; none when nobody signed in.
    ///
    /// # Errors
    ///
    /// Others may read its file, or it cannot be understood.
    pub fn read(&self, provider: &str) -> Result<Option<Stored>, StoreFault> {
        let path = self.file(provider)?;
        let fault = |source| StoreFault::File { provider: provider.to_owned(), source };
        let Some(bytes) = private::read(&path, FILE_BYTES_MAX).map_err(fault)? else {
            return Ok(None);
        };
        let damaged = || StoreFault::Damaged { path: path.clone() };
        let mut row: Row = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        if matches!(row, Row::Keyring) {
            let vault = Vault::open().and_then(|vault| vault.read(self.shelf(provider)));
            let kept = vault.map_err(|why| locked(provider, why))?;
            let missing = || locked(provider, "it has no such entry".to_owned());
            let kept = SecretSlice::from(kept.ok_or_else(missing)?);
            row = serde_json::from_slice(kept.expose_secret()).map_err(|_| damaged())?;
        }
        match row.stored() {
            Some(stored) if stored.is_sound() => Ok(Some(stored)),
            Some(_) | None => Err(damaged()),
        }
    }

    fn shelf<'a>(&'a self, provider: &'a str) -> Shelf<'a> {
        (provider, self.directory.to_str().unwrap_or_default())
    }

    /// Waits until no other process changes the credential, up to a minute.
    ///
    /// # Errors
    ///
    /// Another process holds it for longer, or the lock cannot be made.
    pub fn hold(&self, provider: &str) -> Result<Held, StoreFault> {
        let path = self.file(provider)?.with_extension("lock");
        let fault = |source| StoreFault::Write { path: path.clone(), source };
        make_private(&self.directory).map_err(fault)?;
        let options = OpenOptions::new().create(true).append(true).mode(0o600).clone();
        let lock = options.open(&path).map_err(fault)?;
        let since = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Held { provider: provider.to_owned(), _lock: lock }),
                Err(TryLockError::WouldBlock) if since.elapsed() < HOLD_TIME_MAX => {
                    thread::sleep(LOOK);
                }
                Err(TryLockError::WouldBlock) => return Err(StoreFault::Held { path }),
                Err(TryLockError::Error(source)) => return Err(fault(source)),
            }
        }
    }

    /// Stores a credential in the place of what was there, in the keyring where one answers and
    /// else in a file. It is on the disk when this returns.
    ///
    /// # Errors
    ///
    /// It could not be written; then what was there is still there. What a keyring has is not
    /// written to a file because the keyring is locked.
    pub fn keep(&self, held: &Held, stored: &Stored) -> Result<Place, StoreFault> {
        let provider = held.provider.as_str();
        let path = self.file(provider)?;
        let text = |row: &Row| serde_json::to_vec(row).expect("invariant: texts and numbers");
        let written = |path: PathBuf, row: &Row| {
            let done = replace(&path, &text(row)).map(|()| path.clone());
            done.map_err(|source| StoreFault::Write { path, source })
        };
        match Vault::open() {
            Ok(vault) => {
                let secret = SecretSlice::from(text(&Row::from(stored)));
                let kept = vault.keep(self.shelf(provider), secret.expose_secret());
                kept.map_err(|why| locked(provider, why))?;
                written(path, &Row::Keyring).map(|_| Place::Keyring)
            }
            Err(why) if is_in_keyring(&path) => Err(locked(provider, why)),
            Err(_) => written(path, &Row::from(stored)).map(Place::File),
        }
    }

    /// Forgets a credential, and says whether there was one. Its lock stays, for others wait at it.
    ///
    /// # Errors
    ///
    /// It could not be removed. When the keyring that has it cannot be asked, the file that says so
    /// is gone all the same.
    pub fn remove(&self, held: &Held) -> Result<bool, StoreFault> {
        let path = self.file(&held.provider)?;
        let provider = held.provider.as_str();
        let kept = is_in_keyring(&path)
            .then(|| Vault::open().and_then(|vault| vault.remove(self.shelf(provider))));
        let removed = match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(fault) => Err(fault),
        };
        removed
            .and_then(|removed| sync(&self.directory).map(|()| removed))
            .map_err(|source| StoreFault::Write { path, source })?;
        match kept {
            Some(Err(why)) => Err(StoreFault::Left { provider: provider.to_owned(), why }),
            Some(Ok(())) | None => Ok(true),
        }
    }

    fn file(&self, provider: &str) -> Result<PathBuf, StoreFault> {
        // What the configuration takes as a name; nothing in it leads to another directory.
        let fits =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if provider.is_empty() || provider.len() > 64 || !provider.bytes().all(fits) {
            return Err(StoreFault::Name);
        }
        Ok(self.directory.join(format!("{provider}.json")))
    }
}

impl Stored {
    /// Says whether every secret could stand in a header.
    fn is_sound(&self) -> bool {
        let fits = |secret: &SecretString| chock_config::Token::new(secret.expose_secret()).is_ok();
        match self {
            Self::Key(key) => fits(key),
            Self::Account(account) => {
                fits(&account.access) && account.refresh.as_ref().is_none_or(fits)
            }
        }
    }
}

impl Row {
    /// The credential, if it is here.
    fn stored(self) -> Option<Stored> {
        match self {
            Self::Keyring => None,
            Self::Key { key } => Some(Stored::Key(key.into())),
            Self::Account {
                issuer,
                client_id,
                access,
                refresh,
                expires,
                renewed,
                id,
                plan,
                email,
            } => Some(Stored::Account(Account {
                issuer,
                client_id,
                access: access.into(),
                refresh: refresh.map(SecretString::from),
                expires,
                renewed,
                id,
                plan,
                email,
            })),
        }
    }
}

impl From<&Stored> for Row {
    fn from(stored: &Stored) -> Self {
        let text = |secret: &SecretString| secret.expose_secret().to_owned();
        match stored {
            Stored::Key(key) => Self::Key { key: text(key) },
            Stored::Account(account) => Self::Account {
                issuer: account.issuer.clone(),
                client_id: account.client_id.clone(),
                access: text(&account.access),
                refresh: account.refresh.as_ref().map(text),
                expires: account.expires,
                renewed: account.renewed,
                id: account.id.clone(),
                plan: account.plan.clone(),
                email: account.email.clone(),
            },
        }
    }
}

fn locked(provider: &str, why: String) -> StoreFault {
    StoreFault::Keyring { provider: provider.to_owned(), why }
}

/// Whether the keyring has a credential, as its file says.
fn is_in_keyring(path: &Path) -> bool {
    let bytes = private::read(path, FILE_BYTES_MAX).ok().flatten();
    let row = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    matches!(row, Some(Row::Keyring))
}

/// Makes a directory for its person alone, and takes it from others when it was not.
fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mode = fs::metadata(directory)?.permissions().mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Writes a new file beside the old one and moves it there. The lock is held.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("new");
    match fs::remove_file(&draft) {
        // One that a killed process left behind.
        Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    sync(path.parent().unwrap_or(Path::new(".")))
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
