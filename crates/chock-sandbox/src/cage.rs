//! What one call may reach, in words that hold on every platform.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// The place of `HOME` inside every cage.
pub const HOME: &str = "/run/chock/home";

/// The most mounts a cage may have. Ten times the largest tree seen (a Nix closure of 400 paths).
pub const MOUNTS_MAX: usize = 4096;

/// What a session's calls may reach.
#[derive(Debug, Clone)]
pub struct Cage {
    /// What stands in the file tree, made in this order: a later mount covers an earlier one.
    ///
    /// `/proc`, `/dev`, `/tmp` and `/run/chock/home` are always there and are not named here.
    pub tree: Vec<Mount>,
    /// What stands at [`HOME`].
    pub home: Home,
    /// Host directories that hold what calls write; their sizes count for
    /// [`Limits::workspace_bytes`] and [`Limits::workspace_files`]. Absolute, without symlinks.
    pub stored: Vec<PathBuf>,
    /// How much a call may use.
    pub limits: Limits,
    /// Which exceptions the system call filter makes.
    pub filter: Filter,
}

/// One thing in the tree of a cage.
///
/// `source`, `base`, `upper` and `work` are absolute host paths without a symlink in them
/// (canonicalise them first): they are opened with symlinks refused, so that nobody can bend
/// them between the check and the mount. `target` is an absolute path inside the cage; missing
/// parents are made, and a symlink on the way is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mount {
    /// A file or directory of the host. Sockets, FIFOs and devices are refused.
    Bind { source: PathBuf, target: PathBuf, access: Access, owners: Owners },
    /// A directory of the host as it is, read only. Unlike through a bind, its sockets and FIFOs
    /// lead nowhere, now and later: a program inside meets nobody who listens on one outside.
    ///
    /// What the person changes in it meanwhile may be seen or not.
    View { source: PathBuf, target: PathBuf, owners: Owners },
    /// A writable view of `base` whose changes go to `upper`.
    ///
    /// `upper` and `work` are two directories in one parent directory, on one file system.
    Overlay { base: PathBuf, upper: PathBuf, work: PathBuf, target: PathBuf },
    /// An empty writable directory in memory, kept from call to call and gone with the keeper.
    Scratch { target: PathBuf, bytes: u64 },
    /// Nothing can be read, written or made at `target`. `kind` counts when nothing is there yet.
    Cover { target: PathBuf, kind: CoverKind },
    /// A symbolic link at `target` that points `to`.
    Link { target: PathBuf, to: PathBuf },
    /// A read-only empty directory.
    Directory { target: PathBuf },
    /// A small read-only file with these bytes (at most 64 KiB).
    Text { target: PathBuf, contents: Vec<u8> },
}

/// How a bind may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nothing beneath can be changed.
    ReadOnly,
    /// Everything beneath can be changed, as far as file modes allow.
    ReadWrite,
}

/// Whom the files of a bind or a view belong to inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owners {
    /// To whom they belong outside.
    AsOutside,
    /// Root's files belong to the session's user, and what that user makes in a writable bind is
    /// root's outside (host root only; otherwise as outside).
    ///
    /// It opens every 0600 file of root's beneath: for programs, and for what the person said
    /// the session may have, never for a folder with credentials.
    RootAsSession,
}

/// What a cover looks like where nothing was there to be covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoverKind {
    /// An unreadable file.
    File,
    /// An unreadable directory.
    Directory,
}

/// What stands at [`HOME`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Home {
    /// An empty directory in memory, at most this large, gone with the keeper.
    Scratch { bytes: u64 },
    /// A directory of the host, writable. It must belong to the session's user.
    Directory(PathBuf),
}

/// How much a call may use. All are hard limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long a call may take when [`Call`](crate::Call) names no shorter time.
    pub wall_time: Duration,
    /// Processes and threads alive at once in a call.
    pub processes: u64,
    /// Memory of the session in bytes, where a control group can be had.
    pub memory_bytes: u64,
    /// Private memory of one process in bytes (`RLIMIT_DATA`), held everywhere.
    pub data_bytes: u64,
    /// The largest file a call may write, in bytes.
    pub file_bytes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// The session's `/tmp`, in bytes.
    pub scratch_bytes: u64,
    /// A call's `/dev/shm`, in bytes.
    pub shared_memory_bytes: u64,
    /// What the session may keep in [`Cage::stored`] in bytes, files that were removed and are
    /// still open included.
    pub workspace_bytes: u64,
    /// As many files, directories and links.
    pub workspace_files: u64,
    /// What stays free on every disk that calls can write to, in bytes.
    pub free_bytes: u64,
}

impl Default for Limits {
    /// Returns limits that fit a build of a usual project: see the fields' values.
    fn default() -> Self {
        Self {
            wall_time: Duration::from_secs(600),
            processes: 512,
            memory_bytes: 8 << 30,
            data_bytes: 16 << 30,
            file_bytes: 4 << 30,
            open_files: 4096,
            scratch_bytes: 1 << 30,
            shared_memory_bytes: 256 << 20,
            workspace_bytes: 32 << 30,
            workspace_files: 1_000_000,
            free_bytes: 512 << 20,
        }
    }
}

/// The two rows of the policy that change the system call filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filter {
    /// Pages that are writable and executable: Node and the JVM need them.
    pub jit: Grant,
    /// `ptrace` and its kin, which reach the call's own processes only.
    pub debug: Grant,
}

impl Default for Filter {
    /// Returns the shipped rows: `jit` allowed, `debug` denied.
    fn default() -> Self {
        Self { jit: Grant::Allow, debug: Grant::Deny }
    }
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// The filter lets it pass.
    Allow,
    /// The filter refuses it.
    Deny,
}

/// Why a cage makes no sense. The caller made it, so this is a mistake of the caller's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CageFault {
    /// A path in the cage is relative, has `..` in it, or is the root itself.
    #[error("`{}` cannot stand in a cage: it must be absolute, without `..`, and not the root", .path.display())]
    Path {
        /// The path as it was given.
        path: PathBuf,
    },
    /// A target that the sandbox itself fills.
    #[error("`{}` cannot be a target: the sandbox fills it itself", .target.display())]
    Reserved {
        /// The target as it was given.
        target: PathBuf,
    },
    /// `upper` and `work` are not in one directory.
    #[error("overlay at `{}`: upper and work must be two directories of one parent", .target.display())]
    Halves {
        /// The overlay's target.
        target: PathBuf,
    },
    /// More mounts than [`MOUNTS_MAX`], or a text of more than 64 KiB.
    #[error("the cage is too large: {what}")]
    TooLarge {
        /// What is too large, and its limit.
        what: String,
    },
}

/// The most bytes of a [`Mount::Text`].
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Targets that the sandbox fills itself, with everything beneath them.
const RESERVED: [&str; 4] = ["/proc", "/dev", "/sys", HOME];

impl Cage {
    /// Checks everything that can be checked without the machine.
    ///
    /// # Errors
    ///
    /// The first mount that makes no sense.
    pub fn check(&self) -> Result<(), CageFault> {
        if self.tree.len() > MOUNTS_MAX {
            let what = format!("{} mounts, the limit is {MOUNTS_MAX}", self.tree.len());
            return Err(CageFault::TooLarge { what });
        }
        if let Home::Directory(path) = &self.home {
            check_path(path)?;
        }
        self.stored.iter().try_for_each(|path| check_path(path))?;
        self.tree.iter().try_for_each(Mount::check)
    }
}

impl Mount {
    /// Returns the path inside the cage.
    #[must_use]
    pub fn target(&self) -> &Path {
        match self {
            Self::Bind { target, .. }
            | Self::View { target, .. }
            | Self::Overlay { target, .. }
            | Self::Scratch { target, .. }
            | Self::Cover { target, .. }
            | Self::Link { target, .. }
            | Self::Directory { target }
            | Self::Text { target, .. } => target,
        }
    }

    fn check(&self) -> Result<(), CageFault> {
        let target = self.target();
        check_path(target)?;
        if RESERVED.iter().any(|reserved| target.starts_with(reserved)) {
            return Err(CageFault::Reserved { target: target.to_owned() });
        }
        match self {
            Self::Bind { source, .. } | Self::View { source, .. } => check_path(source),
            Self::Overlay { base, upper, work, target } => {
                for path in [base, upper, work] {
                    check_path(path)?;
                }
                if upper.parent() != work.parent() || upper == work {
                    return Err(CageFault::Halves { target: target.clone() });
                }
                Ok(())
            }
            Self::Text { contents, .. } if contents.len() > TEXT_BYTES_MAX => {
                let what = format!(
                    "text of {} bytes at `{}`, the limit is {TEXT_BYTES_MAX}",
                    contents.len(),
                    target.display()
                );
                Err(CageFault::TooLarge { what })
            }
            Self::Scratch { .. }
            | Self::Cover { .. }
            | Self::Link { .. }
            | Self::Directory { .. }
            | Self::Text { .. } => Ok(()),
        }
    }
}

fn check_path(path: &Path) -> Result<(), CageFault> {
    let plain =
        path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if plain && path.is_absolute() && path.parent().is_some() {
        return Ok(());
    }
    Err(CageFault::Path { path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mount: Mount) -> Result<(), CageFault> {
        let home = Home::Scratch { bytes: 1 };
        let (limits, filter) = (Limits::default(), Filter::default());
        Cage { tree: vec![mount], home, stored: Vec::new(), limits, filter }.check()
    }

    #[test]
    fn targets_of_the_sandbox_and_bent_paths_are_refused() {
        let good = ["/usr", "/tmp/project", "/run/chock/objects", "/procession", "/home/a b\n"];
        for target in good {
            assert_eq!(check(Mount::Directory { target: target.into() }), Ok(()), "{target}");
        }
        let bad = ["/", "usr", "/usr/../etc", "/proc", "/proc/sys", "/dev/kvm", "/sys", HOME, ""];
        for target in bad {
            check(Mount::Directory { target: target.into() }).expect_err(target);
        }
    }

    #[test]
    fn the_halves_of_an_overlay_share_a_parent() {
        let overlay = |upper: &str, work: &str| Mount::Overlay {
            base: "/b".into(),
            upper: upper.into(),
            work: work.into(),
            target: "/t".into(),
        };
        assert_eq!(check(overlay("/l/upper", "/l/work")), Ok(()));
        check(overlay("/l/upper", "/m/work")).expect_err("two parents");
        check(overlay("/l/upper", "/l/upper")).expect_err("one directory");
    }
}
