//! What of a cell's `/proc` is covered: everything that is the machine's and not the cell's.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::MountAttrFlags;

use super::fail::Fail;
use super::ids;
use super::mounts::{COVER, READ_ONLY, attach, clone_tree, kind_of, make, open_beneath};
use crate::{Applied, Layer};

/// Covered where the kernel has them, one reason each.
const COVERED: [&str; 12] = [
    "acpi",          // the machine's hardware
    "bus",           // the machine's hardware, writable for root
    "fs",            // the machine's file systems
    "irq",           // interrupt routing, writable for root
    "kallsyms",      // addresses of the kernel
    "kcore",         // the machine's memory
    "keys",          // names of the user's keys
    "kmsg",          // the kernel's log
    "latency_stats", // what other processes wait for
    "scsi",          // the machine's disks, with commands to them
    "sysrq-trigger", // commands to the kernel
    "timer_list",    // addresses of the kernel
];

/// The counts of further namespaces that a cell may make.
const COUNTS: [&str; 8] = [
    "max_cgroup_namespaces",
    "max_ipc_namespaces",
    "max_mnt_namespaces",
    "max_net_namespaces",
    "max_pid_namespaces",
    "max_time_namespaces",
    "max_user_namespaces",
    "max_uts_namespaces",
];

/// What the kernel counts for a user over all namespaces, and where it says how much there is: a
/// session leaves half of it to the user's own programs.
const SHARED: [(&str, &str); 2] = [
    ("/proc/sys/user/max_inotify_instances", "/proc/sys/fs/inotify/max_user_instances"),
    ("/proc/sys/user/max_inotify_watches", "/proc/sys/fs/inotify/max_user_watches"),
];

/// A new `/proc` with the doors that close later.
#[derive(Debug)]
pub(super) struct OwnProc {
    counts: OwnedFd,
}

/// Returns those of the covered names that this kernel has; asked once, by the keeper.
pub(super) fn present() -> Vec<&'static str> {
    let there = |name: &&str| rustix::fs::stat(Path::new("/proc").join(name)).is_ok();
    COVERED.into_iter().filter(there).collect()
}

/// Leaves half of what a user may watch to the user's own programs. Asked of the keeper's namespace,
/// which every cell's is in.
pub(super) fn share_watches() -> Result<(), Fail> {
    let at = |step| Fail::at(Layer::Limits, step);
    let number = |path: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        text.trim().parse::<u64>().ok()
    };
    for (own, whole) in SHARED {
        let half = number(whole).ok_or(at("read how much may be watched")(Errno::PROTO))? / 2;
        ids::write_proc(own, &half.to_string()).map_err(at("limit what is watched"))?;
        if number(own) != Some(half) {
            return Err(at("read back how much is watched")(Errno::PROTO));
        }
    }
    Ok(())
}

impl OwnProc {
    /// Mounts a `/proc` of this cell's own over the keeper's, and covers it.
    pub(super) fn mount(present: &[&str]) -> Result<(Self, Applied), Fail> {
        let at = |step| Fail::at(Layer::Proc, step);
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let root = make("proc", &[], attributes).map_err(at("mount a new proc"))?;
        let open =
            |path: &str| rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        open("/proc")
            .and_then(|place| attach(root.as_fd(), place.as_fd()))
            .map_err(at("attach the new proc"))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let counts =
            openat(&root, "sys/user", flags, Mode::empty()).map_err(at("open the counts"))?;
        let covers = [open("/run/chock/cover/file"), open("/run/chock/cover/directory")];
        let [file, directory] = covers;
        let (file, directory) =
            (file.map_err(at("open the cover"))?, directory.map_err(at("open the cover"))?);
        for name in present {
            cover(root.as_fd(), name, file.as_fd(), directory.as_fd())
                .map_err(Fail::at(Layer::Proc, &format!("cover {name}")))?;
        }
        read_only(root.as_fd(), "sys").map_err(at("make sys read only"))?;
        if rustix::process::getpid() != rustix::process::Pid::INIT || !is_own_proc() {
            return Err(at("find itself in it as the first process")(Errno::PROTO));
        }
        let proof = format!("own, {} covered, sys read only", present.len());
        Ok((Self { counts }, Applied { layer: Layer::Proc, proof }))
    }

    /// Zeroes the counts of further namespaces. Last of the mounting: detached mounts count.
    pub(super) fn zero_counts(self) -> Result<Applied, Fail> {
        for name in COUNTS {
            let at = |step: &'static str| Fail::at(Layer::NamespaceCounts, step);
            let write = || {
                let flags = OFlags::RDWR | OFlags::CLOEXEC;
                let file = openat(&self.counts, name, flags, Mode::empty())?;
                rustix::io::write(&file, b"0")?;
                let mut text = [0; 16];
                let length = rustix::io::pread(&file, &mut text, 0)?;
                Ok(text[..length].trim_ascii() == b"0")
            };
            match write() {
                Ok(true) => {}
                Ok(false) => return Err(at("read a zero back")(Errno::PROTO)),
                Err(errno) => return Err(at("write a zero")(errno)),
            }
        }
        let proof = format!("{} at 0", COUNTS.len());
        Ok(Applied { layer: Layer::NamespaceCounts, proof })
    }
}

fn is_own_proc() -> bool {
    std::fs::read_link("/proc/self").is_ok_and(|link| link == Path::new("1"))
}

fn cover(
    root: BorrowedFd<'_>,
    name: &str,
    file: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
) -> Result<(), Errno> {
    let place = open_beneath(root, Path::new(name))?;
    let kind = kind_of(place.as_fd())?;
    let source = if kind == FileType::Directory { directory } else { file };
    let cover = clone_tree(source, COVER)?;
    attach(cover.as_fd(), place.as_fd())
}

fn read_only(root: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    let place = open_beneath(root, Path::new(name))?;
    let mount = clone_tree(place.as_fd(), READ_ONLY)?;
    attach(mount.as_fd(), place.as_fd())
}
