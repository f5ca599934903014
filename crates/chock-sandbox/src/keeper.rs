//! The handle of a session's keeper, and how one is started.

use std::fs::File;

use crate::{Applied, Cage, SandboxFault, platform};

/// The process that holds a session's tree and network, and makes its cells.
///
/// It can be shared by threads: calls run side by side. Everything of the session is dead once
/// the handle is dropped, and also when this process is killed.
#[derive(Debug)]
pub struct Keeper(pub(crate) platform::Keeper);

/// How a keeper is started.
#[derive(Debug)]
pub struct KeeperOptions {
    /// This binary, opened by the caller (`/proc/self/exe`, once, at start), so that a
    /// replaced file is never mixed with a running session. Its `main` begins with
    /// [`enter_role_if_asked`](crate::enter_role_if_asked).
    pub program: File,
    /// Whom the session's processes belong to when Chock runs as root of the machine.
    /// Ignored otherwise: then they belong to the caller.
    pub session_user: Option<SessionUser>,
    /// Whether to look for a control group.
    pub containment: Containment,
    /// How many cells are kept ready. 0 builds each when it is asked for; the code is the same.
    pub warm: usize,
}

/// The unprivileged user of a session whose Chock runs as root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionUser {
    /// The user id; not 0.
    pub uid: u32,
    /// The group id; not 0.
    pub gid: u32,
}

/// Whether memory and process limits of the whole session are wished for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// In a control group where one can be had (v2 delegated, or v1), else by process limits.
    BestEffort,
    /// By process limits only.
    ProcessLimits,
}

impl Keeper {
    /// Starts the keeper, builds the tree and waits until both are proven.
    ///
    /// # Errors
    ///
    /// [`SandboxFault::Layer`] when the machine lacks a layer, [`SandboxFault::Mount`] for a
    /// path that cannot be mounted, [`SandboxFault::Cage`] for a cage that makes no sense.
    pub fn start(options: &KeeperOptions, cage: &Cage) -> Result<Self, SandboxFault> {
        cage.check()?;
        platform::Keeper::start(options, cage).map(Self)
    }

    /// Returns the layers that hold for the whole session, with their proofs.
    #[must_use]
    pub fn layers(&self) -> &[Applied] {
        self.0.layers()
    }

    /// Returns the user and group id that the session's processes have, inside and outside.
    #[must_use]
    pub fn ids(&self) -> (u32, u32) {
        self.0.ids()
    }
}
