//! Landlock: which files may be used how, and no signals or abstract sockets outside.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::fail::Fail;
use super::mounts::kind_of;
use super::sys::{self, Ruleset};
use crate::{Applied, Layer};

const EXECUTE: u64 = 1 << 0;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIRECTORY: u64 = 1 << 3;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEVICE: u64 = 1 << 15;
const RESOLVE_UNIX: u64 = 1 << 16;

/// Rights that a rule for a file, and not a directory, may have.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE | RESOLVE_UNIX;

/// Both scopes: abstract sockets and signals.
const SCOPES: u64 = 0b11;

/// The first version with scopes.
const SCOPES_SINCE: u32 = 6;

/// A ruleset for every command of a session, made once by the keeper.
///
/// Rules bind to files, not paths, so they hold in each cell's copy of the tree; what a cell
/// mounts itself (`/dev/shm`, `/dev/pts`) lies beneath a directory with a rule.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) ruleset: OwnedFd,
    version: u32,
}

/// Returns every file right that this version of Landlock knows.
fn rights(version: u32) -> u64 {
    let bits = match version {
        0 => 0,
        1 => 13,
        2 => 14,
        3 | 4 => 15,
        5..=8 => 16,
        _ => 17,
    };
    (1 << bits) - 1
}

impl Rules {
    /// Makes the ruleset: everything readable, the `writable` places writable.
    pub(super) fn make(writable: &[OwnedFd]) -> Result<Self, Fail> {
        let at = |step| Fail::at(Layer::Landlock, step);
        let version = sys::landlock_version().map_err(at("ask for its version"))?;
        let files = rights(version);
        let scopes = if version >= SCOPES_SINCE { SCOPES } else { 0 };
        let ruleset = sys::landlock_ruleset(&Ruleset { files, network: 0, scopes })
            .map_err(at("make a ruleset"))?;
        let root = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(at("open the root"))?;
        let read = EXECUTE | READ_FILE | READ_DIRECTORY;
        sys::landlock_rule(ruleset.as_fd(), root.as_fd(), read & files)
            .map_err(at("let the tree be read"))?;
        for place in writable {
            let is_directory = kind_of(place.as_fd()).map_err(at("look at a writable place"))?
                == FileType::Directory;
            let rights = if is_directory { files } else { files & OF_FILES };
            sys::landlock_rule(ruleset.as_fd(), place.as_fd(), rights)
                .map_err(at("let a place be written"))?;
        }
        Ok(Self { ruleset, version })
    }

    pub(super) fn version(&self) -> u32 {
        self.version
    }
}

/// Confines this process, and sees a right and a scope refused that were there before.
///
/// Landlock cannot be asked what it applies. `/proc/self/comm` may always be written by its
/// own process and has no rule; pid 1 of the cell is of the same user and outside the domain.
pub(super) fn apply(ruleset: BorrowedFd<'_>, version: u32) -> Result<Applied, Fail> {
    let at = |step| Fail::at(Layer::Landlock, step);
    open_for_writing(OWN_NAME).map_err(at("write a file of its own before"))?;
    rustix::process::test_kill_process(rustix::process::Pid::INIT)
        .map_err(at("signal the cell's init before"))?;
    sys::landlock_restrict(ruleset).map_err(at("restrict this process"))?;
    if open_for_writing(OWN_NAME) != Err(Errno::ACCESS) {
        return Err(at("read the file rules back")(Errno::PROTO));
    }
    if version < SCOPES_SINCE {
        return Ok(Applied { layer: Layer::Landlock, proof: without_scopes(version) });
    }
    if rustix::process::test_kill_process(rustix::process::Pid::INIT) != Err(Errno::PERM) {
        return Err(at("read the scopes back")(Errno::PROTO));
    }
    Ok(Applied { layer: Layer::Landlock, proof: format!("ABI {version}") })
}

/// Confines this process, a closed one, as [`apply`] does a command.
///
/// A closed process cannot write `/proc/self/comm`, so only the scope is read back.
pub(super) fn apply_closed(ruleset: BorrowedFd<'_>, version: u32) -> Result<(), Errno> {
    sys::landlock_restrict(ruleset)?;
    let signal = rustix::process::test_kill_process(rustix::process::Pid::INIT);
    if version >= SCOPES_SINCE && signal != Err(Errno::PERM) {
        return Err(Errno::PROTO);
    }
    Ok(())
}

/// Says what a version without scopes leaves to others. Namespaces, which are layers of their own
/// and proven as such, keep signals within a call and abstract sockets within a session.
fn without_scopes(version: u32) -> String {
    format!(
        "ABI {version}; it has no scopes before ABI {SCOPES_SINCE}: signals stay in a call by its \
         pid namespace, abstract sockets in the session by its network namespace"
    )
}

const OWN_NAME: &str = "/proc/self/comm";

fn open_for_writing(path: &str) -> Result<(), Errno> {
    rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).map(drop)
}
