//! The account that is signed in: its tokens, renewed when they end or are refused.

use chock_auth::{Account, Issuer, Renewal, Store, renew};
use chock_config::Responses;
use chock_provider::{Credentials, CredentialsFault, Pass};
use jiff::Timestamp;
use secrecy::ExposeSecret;

use crate::exit::{Failure, causes};
use crate::issuer::IssuerWire;
use crate::places::Places;

/// Lends the tokens of the account that signed in at a provider.
pub(crate) struct SignedIn {
    store: Store,
    provider: String,
    issuer: Issuer,
    wire: IssuerWire,
}

impl SignedIn {
    /// Prepares it without asking anybody.
    pub(crate) fn new(
        places: &Places,
        provider: &str,
        responses: &Responses,
    ) -> Result<Self, Failure> {
        let issuer = Issuer::of(&responses.account);
        let wire = IssuerWire::to(&issuer.url).map_err(Failure::start)?;
        Ok(Self { store: Store::at(&places.data), provider: provider.to_owned(), issuer, wire })
    }

    /// Returns what no record may hold. Tokens that have ended are renewed first, so that a
    /// sign-in that has ended stops a run before it starts.
    pub(crate) fn secrets(&self) -> Result<Vec<String>, Failure> {
        let account = self.account(None).map_err(|fault| Failure::start(fault.reason))?;
        let secrets = [Some(&account.access), account.refresh.as_ref()].into_iter().flatten();
        Ok(secrets.map(|secret| secret.expose_secret().to_owned()).collect())
    }

    fn account(&self, refused: Option<&str>) -> Result<Account, CredentialsFault> {
        let renewal = Renewal {
            store: &self.store,
            provider: &self.provider,
            issuer: &self.issuer,
            wire: &self.wire,
            now: &now,
        };
        let account = renew(&renewal, refused);
        account.map_err(|fault| CredentialsFault { reason: causes(&fault), source: None })
    }
}

impl Credentials for SignedIn {
    fn pass(&self) -> Result<Option<Pass>, CredentialsFault> {
        self.account(None).map(|account| Some(pass(&account)))
    }

    fn renew(&self, refused: &Pass) -> Result<bool, CredentialsFault> {
        self.account(Some(refused.secret.expose_secret())).map(|_| true)
    }
}

/// What of an account goes with a request.
pub(crate) fn pass(account: &Account) -> Pass {
    Pass { secret: account.access.clone(), account: account.id.clone() }
}

/// Tells the seconds since 1970.
pub(crate) fn now() -> u64 {
    u64::try_from(Timestamp::now().as_second()).unwrap_or_default()
}
