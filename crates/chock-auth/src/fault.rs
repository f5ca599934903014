//! Why a credential cannot be lent.

use std::io;
use std::path::PathBuf;

use chock_config::{Faults, TokenFault};

use crate::store::StoreFault;

/// Why a credential that should be there cannot be had. No variant holds any of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthFault {
    /// `config.zon` names a file that is not there.
    #[error("the token file `{}` is not there", .path.display())]
    Absent {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be opened or read.
    #[error("cannot read the token file `{}`", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It is a directory, a FIFO, a socket or a device.
    #[error("`{}` is not a regular file, and a token is read from one only", .path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// Others may read or write it.
    #[error("others may use `{}` (mode {mode:03o}); run `chmod 600` on it", .path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It is larger than its bound.
    #[error("`{}` is larger than {max} bytes", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The bound in bytes.
        max: usize,
    },
    /// What it holds is no token.
    #[error("`{}` holds no usable token", .path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: TokenFault,
    },
    /// `tokens.zon` is not what it should be.
    #[error("cannot understand `{}`", .path.display())]
    Tokens {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Faults,
    },
    /// What signing in stored is not what it should be.
    #[error("the stored credential cannot be used")]
    Stored {
        /// What is wrong with it.
        source: Box<StoreFault>,
    },
}
