//! Memory and process limits of a session and of each call, where a control group can be had.
//!
//! Chock makes the group and removes it; the stub joins it before it starts anything, so that
//! moving a process, which can wait for the kernel's grace period, is paid once a session. In
//! version 2 every cell is made in a leaf of its own: `clone3` moves nobody.

use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::Pid;

use super::ids::Ids;
use crate::{Applied, Layer, Limits};

/// A session's group: one directory in version 2, one for each controller in version 1.
#[derive(Debug)]
pub(super) struct Group {
    directories: Vec<PathBuf>,
    /// The file that counts processes killed for want of memory.
    events: Option<File>,
    seen: AtomicU64,
    leaves: Leaves,
}

/// What leaves are made of.
#[derive(Debug)]
struct Leaves {
    /// The directory to make them in, once it can have limited ones.
    place: Option<PathBuf>,
    owner: Ids,
    memory: u64,
    processes: u64,
    made: AtomicU64,
    /// Those whose cells were let go, to be removed when the kernel has taken them down.
    left: std::sync::Arc<Mutex<Vec<PathBuf>>>,
}

/// The group of one cell. Dropping it has it removed later.
#[derive(Debug)]
pub(super) struct Leaf {
    directory: File,
    path: PathBuf,
    events: Option<File>,
    left: std::sync::Arc<Mutex<Vec<PathBuf>>>,
}

/// What a group limits, as `name = value`, by the version of its hierarchy.
const EVENTS: [&str; 2] = ["memory.events", "memory.oom_control"];

/// The group of the stub and the keeper, since one with processes cannot have limited leaves.
const KEEPER: &str = "keeper";

/// Every leaf begins so; a number follows.
const CELL: &str = "cell-";

/// How a call says that it is in a leaf.
pub(super) const OF_A_CALL: &str = "each call in a group of its own";

/// How long is waited for the stub to step aside.
const ASIDE_MAX: u32 = 200;

/// The init of a cell, and what prepares its renames, on top of a call's processes.
const OF_A_CELL: u64 = 8;

/// Every group of Chock's begins so; the owner's pid follows.
const PREFIX: &str = "chock-";

impl Group {
    /// Makes a group with these limits; `None` where none can be had.
    pub(super) fn make(limits: &Limits, owner: Ids) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let hierarchies = hierarchies(&mounts, &own);
        let mut directories: Vec<PathBuf> = Vec::new();
        let mut place = None;
        for hierarchy in &hierarchies {
            directories.extend(hierarchy.make(limits));
            if hierarchy.version == Version::Two && !directories.is_empty() {
                place = directories.first().filter(|group| has_controllers(group)).cloned();
                break;
            }
        }
        let events = directories.iter().flat_map(|it| EVENTS.map(|name| it.join(name)));
        let events = events.into_iter().find_map(|path| File::open(path).ok());
        let leaves = Leaves {
            place: place.filter(|group| prepare(group, owner)),
            owner,
            memory: limits.memory_bytes,
            processes: limits.processes.saturating_add(OF_A_CELL),
            made: AtomicU64::new(0),
            left: std::sync::Arc::default(),
        };
        let group = Self { directories, events, seen: AtomicU64::new(0), leaves };
        (!group.directories.is_empty()).then_some(group)
    }

    /// Returns where the stub is to go.
    pub(super) fn directories(&self) -> &[PathBuf] {
        &self.directories
    }

    /// Lets the group have limited leaves, once the stub and the keeper have stepped aside.
    pub(super) fn divide(&mut self) {
        let Some(place) = &self.leaves.place else { return };
        for _ in 0..ASIDE_MAX {
            if fs::write(place.join("cgroup.subtree_control"), "+memory +pids").is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.leaves.place = None;
    }

    /// Makes a leaf for a cell; nothing where there are none.
    pub(super) fn leaf(&self) -> Option<Leaf> {
        let Leaves { place, owner, memory, processes, made, left } = &self.leaves;
        let place = place.as_ref()?;
        left.lock().ok()?.retain(|path| fs::remove_dir(path).is_err());
        let path = place.join(format!("{CELL}{}", made.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir(&path).ok()?;
        let write = |name: &str, value: u64| fs::write(path.join(name), value.to_string()).is_ok();
        let limited = write("memory.max", *memory) && write("pids.max", *processes);
        let given = limited && give(&path, *owner);
        let _ = write("memory.swap.max", 0);
        let directory = File::open(&path).ok().filter(|_| given);
        let Some(directory) = directory else {
            let _ = fs::remove_dir(&path);
            return None;
        };
        let events = File::open(path.join(EVENTS[0])).ok();
        Some(Leaf { directory, path, events, left: std::sync::Arc::clone(left) })
    }

    /// Forgets the kills up to now: they are no later call's.
    pub(super) fn forget_kills(&self) {
        self.seen.store(self.kills(), Ordering::Relaxed);
    }

    /// Says whether a process was killed for want of memory since this was asked last.
    pub(super) fn memory_ran_out(&self) -> bool {
        let count = self.kills();
        self.seen.swap(count, Ordering::Relaxed) < count
    }

    fn kills(&self) -> u64 {
        self.events.as_ref().map_or(0, kills_in)
    }
}

impl Leaf {
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Says whether a process is in it, as the kernel sees it.
    pub(super) fn holds_a_process(&self) -> bool {
        let events = fs::read_to_string(self.path.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "populated 1")
    }

    /// Says whether a process of the cell was killed for want of memory.
    pub(super) fn memory_ran_out(&self) -> bool {
        self.events.as_ref().is_some_and(|events| kills_in(events) > 0)
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        if let Ok(mut left) = self.left.lock() {
            left.push(std::mem::take(&mut self.path));
        }
    }
}

/// Makes the place where stub and keeper go, and lets the session's user make processes in leaves.
fn prepare(group: &Path, owner: Ids) -> bool {
    let aside = group.join(KEEPER);
    fs::create_dir(&aside).is_ok() && give(group, owner) && give(&aside, owner)
}

/// Lets the session's user put processes into a group: it has no way to name another one.
fn give(group: &Path, owner: Ids) -> bool {
    let is_owner = rustix::process::geteuid().as_raw() == owner.uid;
    is_owner || chown(group.join("cgroup.procs"), Some(owner.uid), Some(owner.gid)).is_ok()
}

/// Takes the stub and the keeper out of the group itself, where it is to have leaves.
pub(super) fn step_aside(directories: &[PathBuf], keeper: Pid) {
    for directory in directories {
        let aside = directory.join(KEEPER).join("cgroup.procs");
        // Where that fails there are no leaves: limits are the one best-effort layer.
        let _ = fs::write(&aside, keeper.as_raw_nonzero().to_string());
        let _ = fs::write(&aside, "0");
    }
}

fn kills_in(events: &File) -> u64 {
    let mut text = [0; 1024];
    let length = events.read_at(&mut text, 0).unwrap_or(0);
    kills(&String::from_utf8_lossy(&text[..length]))
}

impl Drop for Group {
    fn drop(&mut self) {
        for leaf in self.leaves.left.lock().iter().flat_map(|left| left.iter()) {
            let _ = fs::remove_dir(leaf);
        }
        for directory in &self.directories {
            let _ = fs::remove_dir(directory.join(KEEPER));
            // Refused while something lives in it; the next session's start sweeps again.
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Goes into the groups, and reads back that this process is there.
pub(super) fn join(directories: &[PathBuf]) -> Option<Applied> {
    let mut proofs = Vec::new();
    for directory in directories {
        // Version 1 has a file for one thread, which waits for no grace period. The stub is one.
        let joined = ["tasks", "cgroup.procs"].map(|name| directory.join(name));
        let joined = joined.into_iter().find(|list| list.exists());
        let joined = joined.is_some_and(|list| fs::write(list, "0").is_ok());
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or("?");
        if joined && own.lines().any(|line| line.ends_with(name)) {
            proofs.extend(limits_of(directory));
        }
    }
    let proof = proofs.join(", ");
    (!proof.is_empty()).then_some(Applied { layer: Layer::ControlGroup, proof })
}

/// Reads the limits of a group back, in words.
fn limits_of(directory: &Path) -> Vec<String> {
    let read = |name: &str| fs::read_to_string(directory.join(name)).ok();
    let number = |text: String| text.trim().parse::<u64>().ok();
    let memory = read("memory.max").or_else(|| read("memory.limit_in_bytes")).and_then(number);
    let processes = read("pids.max").and_then(number);
    let memory = memory.map(|bytes| format!("memory {} MiB", bytes >> 20));
    memory.into_iter().chain(processes.map(|count| format!("{count} processes"))).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A mounted hierarchy, and where this process is in it.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    version: Version,
    own: PathBuf,
    root: PathBuf,
}

impl Hierarchy {
    /// Makes a group in it, with what it can limit.
    fn make(&self, limits: &Limits) -> Option<PathBuf> {
        let parent = self.own.parent().filter(|parent| parent.starts_with(&self.root));
        let candidates = match self.version {
            Version::One => vec![self.own.as_path()],
            // A group with processes in it cannot have limited children, but its delegated
            // parent can.
            Version::Two => std::iter::once(self.own.as_path()).chain(parent).collect(),
        };
        candidates.into_iter().find_map(|place| self.make_in(place, limits))
    }

    fn make_in(&self, place: &Path, limits: &Limits) -> Option<PathBuf> {
        sweep(place);
        let group = (0..8)
            .map(|number| place.join(format!("{PREFIX}{}-{number}", std::process::id())))
            .find(|group| fs::create_dir(group).is_ok())?;
        if self.version == Version::Two && !has_controllers(&group) {
            let _ = fs::write(place.join("cgroup.subtree_control"), "+memory +pids");
        }
        if self.limit(&group, limits) {
            return Some(group);
        }
        let _ = fs::remove_dir(&group);
        None
    }

    /// Writes what can be limited here; says whether anything could.
    fn limit(&self, group: &Path, limits: &Limits) -> bool {
        let memory = limits.memory_bytes.to_string();
        // The stub, the keeper and an init for each call come on top, and calls run side by
        // side: a call's own limit is the process limit of its user namespace.
        let processes = limits.processes.saturating_mul(2).saturating_add(64).to_string();
        let write = |name: &str, value: &str| fs::write(group.join(name), value).is_ok();
        let (bounded, swap) = match self.version {
            Version::One => {
                (write("memory.limit_in_bytes", &memory), "memory.memsw.limit_in_bytes")
            }
            Version::Two => (write("memory.max", &memory), "memory.swap.max"),
        };
        // Kernels without swap accounting have no such file.
        let _ = write(swap, if self.version == Version::One { &memory } else { "0" });
        let counted = write("pids.max", &processes);
        bounded || counted
    }
}

fn has_controllers(group: &Path) -> bool {
    let text = fs::read_to_string(group.join("cgroup.controllers")).unwrap_or_default();
    ["memory", "pids"].iter().all(|name| text.split_ascii_whitespace().any(|word| word == *name))
}

/// Removes groups whose Chock is gone. The kernel refuses those where something lives.
fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            for leaf in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
                let _ = fs::remove_dir(leaf.path());
            }
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Finds the hierarchies that limit memory or processes, version 2 first.
fn hierarchies(mounts: &str, own: &str) -> Vec<Hierarchy> {
    let mut found = Vec::new();
    for line in mounts.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let mut left = left.split(' ').skip(3);
        let (Some(top), Some(point)) = (left.next(), left.next()) else { continue };
        let mut right = right.split(' ');
        let (kind, options) = (right.next(), right.nth(1).unwrap_or_default());
        let options: Vec<_> = options.split(',').collect();
        let (version, controller) = match kind {
            Some("cgroup2") => (Version::Two, ""),
            Some("cgroup") if options.contains(&"memory") => (Version::One, "memory"),
            Some("cgroup") if options.contains(&"pids") => (Version::One, "pids"),
            _ => continue,
        };
        let Some(path) = place(own, controller) else { continue };
        // A container sees a part of the hierarchy as its whole.
        let Ok(below) = Path::new(path).strip_prefix(top) else { continue };
        let (root, own) = (PathBuf::from(point), Path::new(point).join(below));
        found.push(Hierarchy { version, own, root });
    }
    found.sort_by_key(|hierarchy| hierarchy.version == Version::One);
    found
}

/// Returns where this process is under a controller; the empty name is version 2.
fn place<'a>(own: &'a str, controller: &str) -> Option<&'a str> {
    own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let names = parts.next()?;
        let path = parts.next()?;
        names.split(',').any(|name| name == controller).then_some(path)
    })
}

fn kills(events: &str) -> u64 {
    let count = events.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
    count.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "8:pids:/\n4:memory:/user/a\n1:name=systemd:/\n0::/user.slice/b\n";

    #[test]
    fn hierarchies_are_found_with_the_place_in_them() {
        let mounts = "1 2 0:3 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      1 2 0:4 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                      1 2 0:5 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      1 2 0:6 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                      1 2 0:7 / /tmp rw - tmpfs tmpfs rw\n";
        let found: Vec<_> = hierarchies(mounts, OWN)
            .into_iter()
            .map(|it| (it.version, it.own.to_str().expect("text").to_owned()))
            .collect();
        let expected = [
            (Version::Two, "/sys/fs/cgroup/unified/user.slice/b".to_owned()),
            (Version::One, "/sys/fs/cgroup/memory/user/a".to_owned()),
            (Version::One, "/sys/fs/cgroup/pids/".to_owned()),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn kills_are_counted_in_both_versions() {
        assert_eq!(kills("low 0\noom 2\noom_kill 3\noom_group_kill 0\n"), 3);
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"), 1);
        assert_eq!(kills(""), 0);
    }
}
