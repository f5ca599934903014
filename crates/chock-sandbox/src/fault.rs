//! Why a program could not be contained, and so was not started.

use std::io;

use crate::{CageFault, Layer};

/// Why the sandbox did not do what it was asked. The program did not run, or was ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxFault {
    /// The kernel refused a layer, so nothing was started.
    #[error("sandbox layer `{layer}` cannot be applied: {step}{cure}", cure = cure_suffix(.cure))]
    Layer {
        /// The layer that is missing.
        layer: Layer,
        /// What was tried, such as `mount a new proc`.
        step: String,
        /// What a person can do about it; empty when nothing is known.
        cure: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The cage itself makes no sense.
    #[error("the cage cannot be built")]
    Cage(#[from] CageFault),
    /// A path that the cage names cannot be mounted.
    #[error("cannot put `{path}` into the cage: {step}")]
    Mount {
        /// The path, as text.
        path: String,
        /// What was tried.
        step: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The keeper could not be started at all.
    #[error("cannot start the keeper of the sandbox: {step}")]
    Start {
        /// What was tried.
        step: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The keeper or the cell is gone; whatever ran in it is dead.
    #[error("the sandbox ended unexpectedly: {what}")]
    Lost {
        /// What was waited for.
        what: &'static str,
    },
    /// A message between this process and the sandbox failed.
    #[error("cannot talk to the sandbox: {step}")]
    Talk {
        /// What was tried.
        step: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The program's arguments, environment or request are larger than any program could take.
    #[error("{what} has {bytes} bytes, the limit is {max}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// An argument, a name or a path holds a NUL byte or is empty where it must not be.
    #[error("{what} cannot be passed to a program: it is empty or holds a NUL byte")]
    Malformed {
        /// What is malformed.
        what: &'static str,
    },
    /// Chock runs as root of the machine and was given no user to become.
    #[error("running as root needs an unprivileged user for the session")]
    NoSessionUser,
    /// This platform has no driver.
    #[error("programs cannot be contained on this platform")]
    Unsupported,
}

fn cure_suffix(cure: &str) -> String {
    if cure.is_empty() { String::new() } else { format!(" ({cure})") }
}
