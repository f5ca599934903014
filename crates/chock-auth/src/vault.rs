//! The keyring of the person's desktop session, in a program that is built with it.
//!
//! The library behind it finds the session's bus as every desktop program does, in the environment.

/// A keyring that answers.
#[cfg(feature = "keyring")]
pub(crate) struct Vault(std::sync::Arc<zbus_secret_service_keyring_store::Store>);

/// There is none in this program.
#[cfg(not(feature = "keyring"))]
pub(crate) struct Vault(std::convert::Infallible);

/// Which secret of a keyring: the provider's row, and the directory of credentials. Two directories
/// share a keyring, and no secret.
pub(crate) type Shelf<'a> = (&'a str, &'a str);

#[cfg(feature = "keyring")]
impl Vault {
    /// Connects to the keyring of the session's bus. The reason when there is none.
    pub(crate) fn open() -> Result<Self, String> {
        zbus_secret_service_keyring_store::Store::new().map(Self).map_err(|fault| words(&fault))
    }

    /// Stores a secret in the place of the one that was there.
    pub(crate) fn keep(&self, shelf: Shelf<'_>, secret: &[u8]) -> Result<(), String> {
        self.entry(shelf)?.set_secret(secret).map_err(|fault| words(&fault))
    }

    /// Reads a secret; none when there is none.
    pub(crate) fn read(&self, shelf: Shelf<'_>) -> Result<Option<Vec<u8>>, String> {
        match self.entry(shelf)?.get_secret() {
            Ok(secret) => Ok(Some(secret)),
            Err(keyring_core::Error::NoEntry) => Ok(None),
            Err(fault) => Err(words(&fault)),
        }
    }

    /// Removes a secret, if there is one.
    pub(crate) fn remove(&self, shelf: Shelf<'_>) -> Result<(), String> {
        match self.entry(shelf)?.delete_credential() {
            Ok(()) | Err(keyring_core::Error::NoEntry) => Ok(()),
            Err(fault) => Err(words(&fault)),
        }
    }

    fn entry(&self, (provider, directory): Shelf<'_>) -> Result<keyring_core::Entry, String> {
        use keyring_core::api::CredentialStoreApi;

        let label = format!("Chock: {provider}");
        let user = format!("{provider} in {directory}");
        let labels = std::collections::HashMap::from([("label", label.as_str())]);
        self.0.build("chock", &user, Some(&labels)).map_err(|fault| words(&fault))
    }
}

/// What went wrong. Some faults hold the secret: only those of the platform are told as they are.
#[cfg(feature = "keyring")]
fn words(fault: &keyring_core::Error) -> String {
    use keyring_core::Error;
    match fault {
        Error::PlatformFailure(_) | Error::NoStorageAccess(_) => fault.to_string(),
        Error::NoEntry => "it has no such entry".to_owned(),
        Error::Ambiguous(_) => "it has more than one such entry".to_owned(),
        Error::NotSupportedByStore(_) => "it cannot do that".to_owned(),
        _ => "its answer cannot be understood".to_owned(),
    }
}

#[cfg(not(feature = "keyring"))]
impl Vault {
    pub(crate) fn open() -> Result<Self, String> {
        Err("this chock is built without keyrings".to_owned())
    }

    pub(crate) fn keep(&self, _shelf: Shelf<'_>, _secret: &[u8]) -> Result<(), String> {
        match self.0 {}
    }

    pub(crate) fn read(&self, _shelf: Shelf<'_>) -> Result<Option<Vec<u8>>, String> {
        match self.0 {}
    }

    pub(crate) fn remove(&self, _shelf: Shelf<'_>) -> Result<(), String> {
        match self.0 {}
    }
}
