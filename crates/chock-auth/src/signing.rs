//! Keys that sign and never leave: those of an ssh agent, and one of this installation.

mod agent;
mod installation;

use std::io;
use std::path::PathBuf;

pub use agent::Agent;
pub use installation::InstallationKey;

/// A key that can sign, known by its public half.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// The public key as SSH writes it.
    pub blob: Vec<u8>,
    /// What its holder calls it: anything at all.
    pub comment: String,
}

/// Why nothing was signed. No variant holds any of a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SigningFault {
    /// Nobody answers at the agent's socket.
    #[error("cannot talk to the ssh agent at `{}`", .socket.display())]
    Agent {
        /// The socket.
        socket: PathBuf,
        /// The cause; a time out when a hardware key waited for its touch in vain.
        source: io::Error,
    },
    /// The agent answered, and would not.
    #[error("the ssh agent refused to sign; is the key locked, or was it not touched?")]
    Refused,
    /// The agent's answer makes no sense.
    #[error("the ssh agent's answer makes no sense")]
    Nonsense,
    /// The installation's key cannot be made, read or used.
    #[error("cannot use the key `{}`", .path.display())]
    Key {
        /// Its file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Others may read the installation's key.
    #[error("others may use `{}`; what it signed proves nothing: remove it, and seal again", .path.display())]
    Exposed {
        /// Its file.
        path: PathBuf,
    },
}

/// Writes a field as SSH does: its length, then its bytes.
fn field(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("invariant: fields are far below 4 GiB");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}
