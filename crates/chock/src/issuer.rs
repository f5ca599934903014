//! The way to the issuer of an account: what `chock-auth` posts, by the client that models are asked with.

use std::time::Duration;

use chock_auth::{ANSWER_BYTES_MAX, Account, Answer, Revoked, Wire, WireFault};
use chock_provider::Plain;

use crate::exit::causes;

/// How long an issuer may take to answer.
const TIME: Duration = Duration::from_secs(30);

/// Posts to one issuer.
pub(crate) struct IssuerWire(Plain);

impl IssuerWire {
    /// Prepares it for the issuer at `url`.
    pub(crate) fn to(url: &str) -> Result<Self, String> {
        Plain::new(url, TIME, ANSWER_BYTES_MAX).map(Self).map_err(|fault| causes(&fault))
    }
}

impl Wire for IssuerWire {
    fn post(&self, url: &str, content_type: &str, body: Vec<u8>) -> Result<Answer, WireFault> {
        let answer = self.0.post(url, content_type, body);
        let answer = answer.map_err(|fault| WireFault { reason: causes(&fault), source: None })?;
        Ok(Answer { status: answer.status, body: answer.body })
    }
}

/// Asks the issuer of an account to forget it.
pub(crate) fn revoke(account: &Account) -> Result<(), String> {
    let wire = IssuerWire::to(&account.issuer)?;
    match chock_auth::revoke(&wire, account) {
        Revoked::Yes => Ok(()),
        Revoked::No => Err(format!("{} does not answer that", account.issuer)),
    }
}
