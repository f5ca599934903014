//! Files without a name that programs of the session have open.
//!
//! Chock owns the user namespaces that they live in, and so may look into all of them. What it
//! may not look into, or what is on its way in a socket, leaves the count uncertain.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::size::Tally;

/// The most processes that are looked at: far more than any session may have.
const PROCESSES_MAX: usize = 1 << 16;

/// The kernel's number for a file system in memory.
const MEMORY: u64 = 0x0102_1994;

/// Files in memory, as `maps` names them. `/tmp` may hold a project.
const IN_MEMORY: [&str; 4] = ["/memfd:", "/dev/zero", "/dev/shm/", "/SYSV"];

/// Looks for files without a name.
pub(super) struct Loose<'a> {
    /// The disks in question. Others that are in memory have a limit of their own.
    pub(super) devices: &'a [u64],
    pub(super) tally: &'a mut Tally,
}

impl Loose<'_> {
    /// Counts what the programs of a session hold, from its first process on.
    pub(super) fn add(mut self, stub: u32) {
        // The stub, the keeper and the inits are Chock's own; below each init is a cell's family.
        let Ok(inits) = children(stub).and_then(|keepers| all_children(&keepers)) else {
            self.tally.certain = false;
            return;
        };
        for init in inits {
            if self.family(init).is_err() {
                self.tally.certain = false;
            }
        }
    }

    /// Counts what a cell's programs hold. One that is gone holds nothing.
    fn family(&mut self, init: u32) -> io::Result<()> {
        let mut members = or_gone(children(init))?.unwrap_or_default();
        let mut next = 0;
        while let Some(member) = members.get(next).copied() {
            next += 1;
            members.extend(or_gone(children(member))?.unwrap_or_default());
            if members.len() > PROCESSES_MAX {
                return Err(io::ErrorKind::QuotaExceeded.into());
            }
        }
        for member in &members {
            match or_gone(self.process(*member)) {
                Ok(_) => {}
                // A waiting command, or a hand: not yet, or never, a program of the agent's.
                Err(fault)
                    if fault.kind() == io::ErrorKind::PermissionDenied && members.len() == 1 => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    fn process(&mut self, pid: u32) -> io::Result<()> {
        let place = PathBuf::from(format!("/proc/{pid}"));
        or_gone(self.file(&place.join("exe")))?;
        for task in fs::read_dir(place.join("task"))? {
            let Some(task) = or_gone(task)? else { break };
            let task = task.path();
            for descriptor in or_gone(fs::read_dir(task.join("fd")))?.into_iter().flatten() {
                let Some(descriptor) = or_gone(descriptor)? else { break };
                let descriptor = descriptor.path();
                let Some(kind) = or_gone(self.file(&descriptor))? else { continue };
                let number = descriptor.file_name().unwrap_or_default();
                if kind == FileType::Socket && has_sent(&task.join("fdinfo").join(number))? {
                    self.tally.certain = false;
                }
            }
        }
        self.mapped(&place.join("maps"))
    }

    /// Counts what a link of `/proc` leads to, if it has no name, and says what it is.
    fn file(&mut self, link: &Path) -> io::Result<FileType> {
        let found = rustix::fs::stat(link)?;
        let kind = FileType::from_raw_mode(found.st_mode);
        if kind == FileType::RegularFile && found.st_nlink == 0 {
            let system = rustix::fs::statfs(link)?;
            let in_memory = u64::try_from(system.f_type).is_ok_and(|kind| kind == MEMORY);
            if !in_memory || self.devices.contains(&found.st_dev) {
                self.tally.add(&found);
            }
        }
        Ok(kind)
    }

    /// Looks for files without a name that are mapped and no longer open.
    fn mapped(&mut self, maps: &Path) -> io::Result<()> {
        let text = fs::read(maps)?;
        for line in String::from_utf8_lossy(&text).lines() {
            let Some(line) = line.strip_suffix(" (deleted)") else { continue };
            let mut words = line.split_ascii_whitespace().skip(4);
            let number = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
            let name = words.next().unwrap_or_default();
            let in_memory = IN_MEMORY.iter().any(|start| name.starts_with(start));
            if !in_memory && !self.tally.has_seen(number) {
                self.tally.certain = false;
            }
        }
        Ok(())
    }
}

/// Says whether descriptors are on their way to this socket. Older kernels do not say.
fn has_sent(about: &Path) -> io::Result<bool> {
    let text = or_gone(fs::read_to_string(about))?.unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix("scm_fds:"));
    Ok(count.is_some_and(|count| count.trim() != "0"))
}

fn all_children(parents: &[u32]) -> io::Result<Vec<u32>> {
    let mut all = Vec::new();
    for parent in parents {
        all.extend(children(*parent)?);
    }
    Ok(all)
}

/// Returns the children of every thread of a process.
fn children(pid: u32) -> io::Result<Vec<u32>> {
    let mut children = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(task?.path().join("children"))?;
        children.extend(text.split_ascii_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    Ok(children)
}

/// What is gone is nothing.
fn or_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(fault) if fault.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(fault) => Err(fault),
    }
}
