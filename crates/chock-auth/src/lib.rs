//! Stores and lends credentials.
//!
//! Lent is what a person wrote into a file (a `token` of `config.zon`, a `token_file`,
//! `tokens.zon`), or what signing in stored: a key, or the tokens of an account, renewed when
//! they end. With the feature `keyring` that is stored in the keyring of the desktop, if one answers. What signs is never lent: data goes in, a signature comes out. Directories,
//! sockets, the time and the way to an issuer are arguments.
//!
//! # Never knows
//!
//! Who spends a credential, or where it is sent.
//!
//! # Holds
//!
//! - A file that others may read is refused, not warned about.
//! - A credential is a [`SecretString`](secrecy::SecretString), which no debug print
//!   and no fault shows.
//! - A private key never leaves this crate or the agent that holds it.
//! - A refresh token is spent under a lock, once, and what it gave is on disk before it is used.
//! - A file that was named and cannot be used is a fault, never a reason to look elsewhere.
//!
//! # Start reading at
//!
//! [`lend`], then `private.rs`; for accounts `account.rs` and [`renew`].

mod account;
mod fault;
mod lend;
mod lent;
mod private;
mod signing;
mod store;
mod vault;

pub use account::{
    ANSWER_BYTES_MAX, Account, Answer, BrowserSignIn, Code, DeviceSignIn, Issuer, RenewFault,
    Renewal, Revoked, SignInFault, Wire, WireFault, renew, revoke,
};
pub use fault::AuthFault;
pub use lend::{TOKENS_FILE, lend, token_in};
pub use lent::{LENT_BYTES_MIN, Lent};
pub use private::TOKEN_BYTES_MAX;
pub use signing::{Agent, InstallationKey, PublicKey, SigningFault};
pub use store::{Held, Place, Store, StoreFault, Stored};
