//! An account at an issuer: how a person signs in, and how its tokens are kept fresh.

mod browser;
mod callback;
mod claims;
mod device;
mod grant;
mod pkce;
mod renew;
mod wire;

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;

pub use browser::{BrowserSignIn, Code};
pub use device::DeviceSignIn;
pub use grant::{Revoked, revoke};
pub use renew::{RenewFault, Renewal, renew};
pub use wire::{ANSWER_BYTES_MAX, Answer, Wire, WireFault};

/// How long the issuer's codes for devices are good.
const DEVICE_TIME: Duration = Duration::from_secs(15 * 60);

/// Who gives the tokens out, and as whom Chock asks for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// Its address, without a `/` at its end.
    pub url: String,
    /// The public name of the client that asks.
    pub client_id: String,
    /// What is asked for, in words with blanks between.
    pub scopes: String,
    /// The program that asks, by its own name.
    pub originator: String,
    /// The ports of the callback that the issuer knows, best first.
    pub ports: Vec<u16>,
    /// How long a code of a device is good for.
    pub device_time: Duration,
}

impl Issuer {
    /// Takes what the configuration says of it.
    #[must_use]
    pub fn of(account: &chock_config::Account) -> Self {
        Self {
            url: account.issuer.clone(),
            client_id: account.client_id.clone(),
            scopes: account.scope.clone(),
            originator: account.originator.clone(),
            ports: account.redirect_ports.clone(),
            device_time: DEVICE_TIME,
        }
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }
}

/// The tokens of one account. Nothing of them is shown.
#[derive(Clone)]
pub struct Account {
    /// The address of who gave them out.
    pub issuer: String,
    /// The client that they were given to.
    pub client_id: String,
    /// What lets in, for a while.
    pub access: SecretString,
    /// What gets the next ones, once.
    pub refresh: Option<SecretString>,
    /// When `access` ends, in seconds since 1970.
    pub expires: u64,
    /// When they were given out, in seconds since 1970.
    pub renewed: u64,
    /// The account's id, if the issuer told it.
    pub id: Option<String>,
    /// What is paid for it, in the issuer's words.
    pub plan: Option<String>,
    /// Whose it is.
    pub email: Option<String>,
}

impl fmt::Debug for Account {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Account").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// Why nobody was signed in. No variant holds a code or a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignInFault {
    /// Every port that the issuer knows is taken.
    #[error(
        "the ports {ports} are in use, and the issuer knows no other: end the program that holds \
         them, or use --device"
    )]
    PortsBusy {
        /// The ports.
        ports: String,
    },
    /// There can be no callback.
    #[error("cannot wait for the browser on 127.0.0.1")]
    Listen {
        /// The cause.
        source: std::io::Error,
    },
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    Random,
    /// The person or the issuer said no.
    #[error("the sign-in was refused: {words}")]
    Denied {
        /// The issuer's words.
        words: String,
    },
    /// Another sign-in asked this one to end.
    #[error("another sign-in took the place of this one")]
    Displaced,
    /// Nobody came back in time.
    #[error("nobody signed in within {} minutes; try again", .time.as_secs().div_ceil(60))]
    Expired {
        /// How long was waited.
        time: Duration,
    },
    /// The issuer has no sign-in without a browser for this client.
    #[error("`{issuer}` has no sign-in with a device code; use the browser, without --device")]
    NoDeviceCodes {
        /// Its address.
        issuer: String,
    },
    /// What was pasted is not the address that the browser was sent to.
    #[error("{reason}; paste the whole address that the browser shows, with `code=` and `state=`")]
    Pasted {
        /// What is wrong.
        reason: &'static str,
    },
    /// The issuer cannot be reached.
    #[error("cannot reach the issuer at `{url}`")]
    Unreachable {
        /// The address.
        url: String,
        /// The cause.
        source: WireFault,
    },
    /// The issuer answered, and gives no tokens.
    #[error("the issuer gives no tokens (status {status}): {words}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The issuer's words.
        words: String,
    },
    /// The issuer's answer is not what it should be.
    #[error("the issuer's answer makes no sense: {reason}")]
    Nonsense {
        /// What is wrong with it.
        reason: &'static str,
    },
}
