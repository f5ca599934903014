//! Whom a process belongs to: leaving root, and mapping one id into a user namespace.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Gid, Uid};

use super::fail::Fail;
use super::sys;
use crate::{Applied, Layer, SessionUser};

/// The user and group that everything of a session belongs to, inside and outside alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ids {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Ids {
    pub(super) fn current() -> Self {
        Self { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() }
    }
}

/// Says whether this process is root of the machine: uid 0 of a rootless container is not.
pub(super) fn is_host_root() -> bool {
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    // An unreadable map counts as root: the stricter road.
    std::fs::read_to_string("/proc/self/uid_map").map_or(true, |map| maps_to_root(&map))
}

fn maps_to_root(map: &str) -> bool {
    let mut lines = map.lines().map(str::split_ascii_whitespace);
    lines.any(|mut words| words.next() == Some("0") && words.next() == Some("0"))
}

/// Leaves root of the machine for good.
pub(super) fn leave_root(user: SessionUser) -> Result<(), Fail> {
    let at = |step| Fail::at(Layer::UserNamespace, step);
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    rustix::thread::set_thread_groups(&[]).map_err(at("give up root's groups"))?;
    rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(at("leave root's group"))?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(at("leave root"))?;
    // A change of ids makes a process undumpable, and then root owns its id maps.
    set_dumpable(true).map_err(at("stay dumpable"))?;
    if rustix::thread::set_thread_uid(Uid::ROOT).is_ok() {
        return Err(at("check that root is left")(Errno::PERM));
    }
    Ok(())
}

/// Lets the process be traced and its `/proc` files be its own, or not.
pub(super) fn set_dumpable(dumpable: bool) -> Result<(), Errno> {
    rustix::process::set_dumpable_behavior(if dumpable {
        DumpableBehavior::Dumpable
    } else {
        DumpableBehavior::NotDumpable
    })
}

/// Maps the one id of this process in its new user namespace, and reads it back.
pub(super) fn map_self(ids: Ids) -> Result<Applied, Fail> {
    let at = |step| Fail::at(Layer::UserNamespace, step);
    write_proc("/proc/self/setgroups", "deny").map_err(at("deny setgroups"))?;
    write_proc("/proc/self/uid_map", &format!("{0} {0} 1", ids.uid))
        .map_err(at("write uid_map"))?;
    write_proc("/proc/self/gid_map", &format!("{0} {0} 1", ids.gid))
        .map_err(at("write gid_map"))?;
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let words: Vec<_> = map.split_ascii_whitespace().collect();
    let uid = ids.uid.to_string();
    if words != [uid.as_str(), uid.as_str(), "1"] || Ids::current() != ids {
        return Err(at("read the id map back")(Errno::PROTO));
    }
    let proof = format!("uid_map {}, setgroups deny", words.join(" "));
    Ok(Applied { layer: Layer::UserNamespace, proof })
}

/// Writes a file of `/proc` in one call, as its files want it.
pub(super) fn write_proc(path: &str, text: &str) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.as_bytes()).map(drop)
}

/// Returns a user namespace whose map shows root's files as the session user's.
///
/// The user's own files are shown as root's in exchange, so that nothing is shown twice.
pub(super) fn root_as(user: SessionUser) -> Result<OwnedFd, Fail> {
    let at = |step| Fail::at(Layer::IdMappedMount, step);
    let (ours, theirs) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(at("make a pipe"))?;
    let Some(child) = sys::clone(libc::CLONE_NEWUSER).map_err(at("make a user namespace"))? else {
        drop(theirs);
        // Waits until the parent has the namespace and hangs up.
        let _ = rustix::io::read(&ours, &mut [0u8]);
        sys::exit_now(0);
    };
    let pid = child.as_raw_nonzero();
    let result = (|| {
        for (file, id) in [("uid_map", user.uid), ("gid_map", user.gid)] {
            write_proc(&format!("/proc/{pid}/{file}"), &swapped(id))?;
        }
        let path = format!("/proc/{pid}/ns/user");
        rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
    })();
    drop(theirs);
    let _ = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
    drop(ours);
    result.map_err(at("map root's id"))
}

/// Returns a map of every id where 0 and `id` change places.
fn swapped(id: u32) -> String {
    let after = id + 1;
    let rest = u32::MAX - after;
    let between = if id > 1 { format!("1 1 {}\n", id - 1) } else { String::new() };
    format!("0 {id} 1\n{between}{id} 0 1\n{after} {after} {rest}\n")
}

/// Opens the empty stream of the tree this process is in, for its own standard streams.
pub(super) fn silence(numbers: std::ops::RangeInclusive<i32>) -> Result<(), Errno> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    for number in numbers {
        sys::duplicate_to(null.as_fd(), number)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_map_from_zero_to_zero_is_root_of_the_machine() {
        assert!(maps_to_root("         0          0 4294967295\n"));
        assert!(!maps_to_root("         0     100000      65536\n"));
        assert!(!maps_to_root("         0       1000          1\n         1     100000 65536\n"));
    }

    #[test]
    fn the_swap_shows_every_id_once() {
        assert_eq!(swapped(1000), "0 1000 1\n1 1 999\n1000 0 1\n1001 1001 4294966294\n");
        assert_eq!(swapped(1), "0 1 1\n1 0 1\n2 2 4294967293\n");
    }
}
