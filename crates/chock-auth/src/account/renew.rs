//! Keeps an account's tokens fresh: one process asks, and all of them have what it got.

use secrecy::ExposeSecret;

use super::grant::{Unrenewed, refresh};
use super::wire::{Wire, WireFault};
use super::{Account, Issuer};
use crate::store::{Store, StoreFault, Stored};

/// Tokens are renewed this many seconds before they end, or a tenth of their life before, if
/// that is less.
const EARLY_SECONDS: u64 = 300;

/// Tokens are renewed when they are as old as this, whatever they say: eight days. Source: what
/// the issuer's own client does.
const OLD_SECONDS: u64 = 8 * 24 * 3600;

/// Whose tokens are wanted, and where they are.
pub struct Renewal<'a> {
    /// Where credentials are kept.
    pub store: &'a Store,
    /// The name of the provider's row.
    pub provider: &'a str,
    /// Who gave the tokens out.
    pub issuer: &'a Issuer,
    /// How it is asked.
    pub wire: &'a dyn Wire,
    /// Tells the seconds since 1970.
    pub now: &'a dyn Fn() -> u64,
}

/// Why there are no fresh tokens.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenewFault {
    /// Nobody is signed in.
    #[error("nobody is signed in; run `chock login {provider}`")]
    SignedOut {
        /// The provider's row.
        provider: String,
    },
    /// The tokens were given out by another issuer than the configuration names.
    #[error("the stored account belongs to `{issuer}`; run `chock login {provider}`")]
    OtherIssuer {
        /// The provider's row.
        provider: String,
        /// Who gave them out.
        issuer: String,
    },
    /// The issuer takes the refresh token no more.
    #[error("the sign-in has ended: {words}; run `chock login {provider}`")]
    Ended {
        /// The provider's row.
        provider: String,
        /// The issuer's words.
        words: String,
    },
    /// The issuer fails for now, and the old tokens have ended.
    #[error("the issuer does not renew the tokens now: {words}")]
    Failed {
        /// Its words.
        words: String,
    },
    /// The issuer cannot be reached, and the old tokens have ended.
    #[error("cannot reach the issuer at `{issuer}` to renew the tokens")]
    Unreachable {
        /// Its address.
        issuer: String,
        /// The cause.
        source: WireFault,
    },
    /// What is stored cannot be read, locked or written.
    #[error("the stored sign-in cannot be used")]
    Store {
        /// The cause.
        #[from]
        source: StoreFault,
    },
}

/// Returns an account's tokens, renewed when they end soon or when the server refused `refused`.
///
/// A refresh token works once. So the lock comes first, then another look at what is stored, for
/// another process may have renewed it; and what is new is on the disk before it is used.
///
/// # Errors
///
/// Nobody is signed in any longer, or there are no fresh tokens now and the old ones have ended.
pub fn renew(renewal: &Renewal<'_>, refused: Option<&str>) -> Result<Account, RenewFault> {
    let account = stored(renewal)?;
    if is_good(&account, (renewal.now)(), refused) {
        return Ok(account);
    }
    let held = renewal.store.hold(renewal.provider)?;
    let account = stored(renewal)?;
    let now = (renewal.now)();
    if is_good(&account, now, refused) {
        return Ok(account);
    }
    let provider = || renewal.provider.to_owned();
    let fault = match refresh(renewal.issuer, renewal.wire, &account, now) {
        Ok(fresh) => {
            renewal.store.keep(&held, &Stored::Account(fresh.clone()))?;
            return Ok(fresh);
        }
        Err(Unrenewed::ForGood(words)) => {
            return Err(RenewFault::Ended { provider: provider(), words });
        }
        Err(Unrenewed::ForNow(words)) => RenewFault::Failed { words },
        Err(Unrenewed::Silent(source)) => {
            RenewFault::Unreachable { issuer: renewal.issuer.url.clone(), source }
        }
    };
    // Renewing early failed: what is there lasts a little longer.
    if now < account.expires && !is(&account, refused) { Ok(account) } else { Err(fault) }
}

fn stored(renewal: &Renewal<'_>) -> Result<Account, RenewFault> {
    let provider = || renewal.provider.to_owned();
    match renewal.store.read(renewal.provider)? {
        Some(Stored::Account(account)) if account.issuer == renewal.issuer.url => Ok(account),
        Some(Stored::Account(account)) => {
            Err(RenewFault::OtherIssuer { provider: provider(), issuer: account.issuer })
        }
        Some(Stored::Key(_)) | None => Err(RenewFault::SignedOut { provider: provider() }),
    }
}

fn is_good(account: &Account, now: u64, refused: Option<&str>) -> bool {
    let life = account.expires.saturating_sub(account.renewed);
    let early = EARLY_SECONDS.min(life / 10);
    let age = now.saturating_sub(account.renewed);
    now.saturating_add(early) < account.expires && age < OLD_SECONDS && !is(account, refused)
}

fn is(account: &Account, refused: Option<&str>) -> bool {
    refused.is_some_and(|refused| refused == account.access.expose_secret())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_renewed_before_they_end() {
        let account = |renewed, expires| Account {
            issuer: String::new(),
            client_id: String::new(),
            access: "a".into(),
            refresh: None,
            expires,
            renewed,
            id: None,
            plan: None,
            email: None,
        };
        let day = 24 * 3600;
        let cases = [
            // (given out, ends, now, refused, expected)
            (0, 10 * day, 1, None, true),
            (0, 10 * day, 8 * day - 1, None, true),
            (0, 10 * day, 8 * day, None, false),
            (0, 3600, 3299, None, true),
            (0, 3600, 3300, None, false),
            (0, 10, 8, None, true),
            (0, 10, 9, None, false),
            (0, 0, 0, None, false),
            (0, 3600, 1, Some("a"), false),
            (0, 3600, 1, Some("b"), true),
            // A clock that went back.
            (1000, 4600, 0, None, true),
        ];
        for (renewed, expires, now, refused, expected) in cases {
            let good = is_good(&account(renewed, expires), now, refused);
            assert_eq!(good, expected, "{renewed} {expires} {now} {refused:?}");
        }
    }
}
