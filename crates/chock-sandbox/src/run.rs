//! Does one permitted act in a cell.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use chock_log::{Permit, Spent};

use crate::{Applied, Cancel, Keeper, Layer, Program, SandboxFault, platform};

/// What one call needs besides its program.
pub struct Call<'a> {
    /// Where its standard streams go.
    pub stdio: Stdio<'a>,
    /// Ends the call after this long, if it is less than the cage's limit.
    pub wall_time: Option<Duration>,
    /// Ends the call from another thread.
    pub cancel: &'a Cancel,
}

/// Where the standard streams of a call go.
pub enum Stdio<'a> {
    /// Output and errors merged in the order of writing, given to the sink piece by piece while
    /// the call runs. The sink bounds what it keeps. Input is empty.
    Captured(&'a mut dyn FnMut(&[u8])),
    /// The caller's own descriptors. None may be the caller's controlling terminal, a socket or a
    /// directory, which lead to what they are of: the caller puts a pseudo terminal or pipes
    /// between.
    Own {
        /// Standard input.
        stdin: BorrowedFd<'a>,
        /// Standard output.
        stdout: BorrowedFd<'a>,
        /// Standard error.
        stderr: BorrowedFd<'a>,
    },
}

/// How a call ended. Every process of it is dead.
///
/// Dropping it lets the kernel take the cell's namespaces down, which costs a little time on
/// this core: write the record first, drop this after.
#[derive(Debug)]
#[must_use]
pub struct Finished {
    /// How the program ended.
    pub ended: Ended,
    /// Limits that were seen to be hit, also when the program went on or ended by itself.
    pub limits: Vec<LimitKind>,
    /// Every layer that confined the call, with its proof.
    pub layers: Vec<Applied>,
    /// From the order to the answer.
    pub duration: Duration,
    /// The cell, waiting to be let go.
    #[expect(dead_code, reason = "held until the record is written")]
    pub(crate) cell: platform::Held,
}

/// How the program of a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// It was not there, or could not be started. Nothing ran.
    NotStarted {
        /// What was tried.
        step: StartStep,
        /// What the kernel answered (`errno`).
        errno: i32,
    },
    /// It was ended after its wall time.
    TimedOut,
    /// It was ended by its [`Cancel`].
    Cancelled,
    /// A limit ended it.
    Limit(LimitKind),
}

/// What could not be done for the program, with the cell already confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartStep {
    /// Entering its working directory.
    Directory,
    /// Executing it.
    Execute,
    /// Finding the hand of that name.
    Hand,
}

/// A limit of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// [`Limits::memory_bytes`](crate::Limits::memory_bytes)
    Memory,
    /// [`Limits::processes`](crate::Limits::processes)
    Processes,
    /// [`Limits::file_bytes`](crate::Limits::file_bytes)
    FileSize,
    /// [`Limits::workspace_bytes`](crate::Limits::workspace_bytes)
    WorkspaceBytes,
    /// [`Limits::workspace_files`](crate::Limits::workspace_files)
    WorkspaceFiles,
    /// [`Limits::free_bytes`](crate::Limits::free_bytes)
    FreeSpace,
}

impl LimitKind {
    /// Returns the limit's name as `chock.zon` spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::FileSize => "file_size",
            Self::WorkspaceBytes => "workspace_bytes",
            Self::WorkspaceFiles => "workspace_files",
            Self::FreeSpace => "free_space",
        }
    }
}

impl Finished {
    /// Returns the proof of one layer, if it confined the call.
    #[must_use]
    pub fn layer(&self, layer: Layer) -> Option<&Applied> {
        self.layers.iter().find(|applied| applied.layer == layer)
    }
}

/// Does the permitted act in a fresh cell, and returns when every process of it is dead.
///
/// The permit is spent whatever happens, so what was recorded is tried once.
///
/// # Errors
///
/// A [`SandboxFault`] when the program could not be contained: then it did not run, or (`Lost`)
/// it was ended with the session's keeper and how far it got is unknown.
pub fn run(
    keeper: &Keeper,
    permit: Permit<Program>,
    call: Call<'_>,
) -> (Spent, Result<Finished, SandboxFault>) {
    let (program, spent) = permit.spend();
    (spent, platform::run(&keeper.0, &program, call))
}
