//! Stores and lends credentials.
//!
//! This version lends what a person wrote into a file: a `token` of `config.zon`, a
//! `token_file`, or `tokens.zon`. What signs is never lent: data goes in, a signature comes
//! out. Directories and sockets are arguments.
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
//! - A file that was named and cannot be used is a fault, never a reason to look elsewhere.
//!
//! # Start reading at
//!
//! [`lend`], then `private.rs`.

mod fault;
mod lend;
mod lent;
mod private;
mod signing;

pub use fault::AuthFault;
pub use lend::{TOKENS_FILE, lend};
pub use lent::{LENT_BYTES_MIN, Lent};
pub use private::TOKEN_BYTES_MAX;
pub use signing::{Agent, InstallationKey, PublicKey, SigningFault};
