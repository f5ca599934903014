//! The calls that are refused, one reason each.
//!
//! A call that is not here passes, up to the newest that was looked at ([`UNKNOWN`]).

use libc::c_long;

use super::Answer::{Allow, Refuse};
use super::Part::{Any, Is, Not};
use super::{Check, Checks, Renames, Verdict};
use crate::{Filter, Grant};

/// The first number that this table knows nothing of: one after Linux 6.18's `file_setattr`.
pub(super) const UNKNOWN: u32 = 470;

const EPERM: u16 = libc::EPERM as u16;
const ENOSYS: u16 = libc::ENOSYS as u16;
const EAFNOSUPPORT: u16 = libc::EAFNOSUPPORT as u16;
const EPROTONOSUPPORT: u16 = libc::EPROTONOSUPPORT as u16;
const EOPNOTSUPP: u16 = libc::EOPNOTSUPP as u16;

/// Numbers that `libc` does not name yet; the same on both architectures.
const OPEN_TREE_ATTR: c_long = 467;
const STATMOUNT: c_long = 457;
const LISTMOUNT: c_long = 458;
const LSM_SET_SELF_ATTR: c_long = 460;
const FCHMODAT2: c_long = 452;

/// Answers of the calls that never do what a caged program may want.
const REFUSED: &[(c_long, u16)] = &[
    // The tree is the cage's.
    (libc::SYS_mount, EPERM),
    (libc::SYS_umount2, EPERM),
    (libc::SYS_pivot_root, EPERM),
    (libc::SYS_chroot, EPERM),
    (libc::SYS_open_tree, EPERM),
    (libc::SYS_move_mount, EPERM),
    (libc::SYS_fsopen, EPERM),
    (libc::SYS_fsconfig, EPERM),
    (libc::SYS_fsmount, EPERM),
    (libc::SYS_fspick, EPERM),
    (libc::SYS_mount_setattr, EPERM),
    (OPEN_TREE_ATTR, EPERM),
    // Mounts by number: programs fall back to mountinfo when the calls do not exist.
    (STATMOUNT, ENOSYS),
    (LISTMOUNT, ENOSYS),
    (libc::SYS_swapon, EPERM),
    (libc::SYS_swapoff, EPERM),
    (libc::SYS_quotactl, EPERM),
    (libc::SYS_quotactl_fd, EPERM),
    // Files by handle go around the tree.
    (libc::SYS_open_by_handle_at, EPERM),
    // Its modes lie in memory, where a filter cannot look; programs fall back to openat.
    (libc::SYS_openat2, ENOSYS),
    // Watches whole file systems.
    (libc::SYS_fanotify_init, EPERM),
    // Namespaces: entering one. Making one is looked at below.
    (libc::SYS_setns, EPERM),
    // Its flags lie in memory; programs fall back to clone, and only on ENOSYS.
    (libc::SYS_clone3, ENOSYS),
    // Goes around this filter; programs fall back to epoll.
    (libc::SYS_io_uring_setup, ENOSYS),
    (libc::SYS_io_uring_enter, ENOSYS),
    (libc::SYS_io_uring_register, ENOSYS),
    // The kernel's code.
    (libc::SYS_bpf, EPERM),
    (libc::SYS_init_module, EPERM),
    (libc::SYS_finit_module, EPERM),
    (libc::SYS_delete_module, EPERM),
    (libc::SYS_kexec_load, EPERM),
    (libc::SYS_reboot, EPERM),
    // Measures and watches the machine.
    (libc::SYS_perf_event_open, EPERM),
    (libc::SYS_syslog, EPERM),
    (libc::SYS_acct, EPERM),
    (libc::SYS_kcmp, EPERM),
    // Stops the kernel in the middle of a copy: the tool of races.
    (libc::SYS_userfaultfd, EPERM),
    // Keyrings are not in a namespace.
    (libc::SYS_add_key, EPERM),
    (libc::SYS_request_key, EPERM),
    (libc::SYS_keyctl, EPERM),
    // The machine's clock, name and terminals.
    (libc::SYS_settimeofday, EPERM),
    (libc::SYS_clock_settime, EPERM),
    (libc::SYS_sethostname, EPERM),
    (libc::SYS_setdomainname, EPERM),
    (libc::SYS_vhangup, EPERM),
    // Moves memory of other processes.
    (libc::SYS_migrate_pages, EPERM),
    (libc::SYS_move_pages, EPERM),
    // Security attributes are the cage's.
    (LSM_SET_SELF_ATTR, EPERM),
    (libc::SYS_nfsservctl, ENOSYS),
];

/// Calls of x86 alone.
#[cfg(target_arch = "x86_64")]
const OF_THE_ARCHITECTURE: &[(c_long, u16)] = &[
    // Ports of the machine.
    (libc::SYS_iopl, EPERM),
    (libc::SYS_ioperm, EPERM),
    // Segments of old programs; a source of kernel faults.
    (libc::SYS_modify_ldt, EPERM),
    (libc::SYS_kexec_file_load, EPERM),
    // Long gone, some with remains.
    (libc::SYS_uselib, ENOSYS),
    (libc::SYS_ustat, ENOSYS),
    (libc::SYS_sysfs, ENOSYS),
    (libc::SYS__sysctl, ENOSYS),
];

#[cfg(target_arch = "aarch64")]
const OF_THE_ARCHITECTURE: &[(c_long, u16)] = &[(libc::SYS_kexec_file_load, EPERM)];

/// Reaches other processes of the call, which `sandbox.debug` allows.
const DEBUG: &[(c_long, u16)] = &[
    (libc::SYS_ptrace, EPERM),
    (libc::SYS_process_vm_readv, EPERM),
    (libc::SYS_process_vm_writev, EPERM),
    (libc::SYS_process_madvise, EPERM),
    (libc::SYS_pidfd_getfd, EPERM),
];

/// Every namespace flag that `clone` takes.
const NAMESPACES: u32 = 0x7e02_0000;
/// `unshare` takes one more, in the bits that are a signal for `clone`.
const TIME_NAMESPACE: u32 = 0x80;

const SET_ID: u32 = 0o6000;
/// The one bit that character and block devices have and other files do not.
const DEVICE: u32 = 0o020000;
const CREATES: u32 = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)).unsigned_abs();

const WRITE_EXECUTE: [u32; 2] = [libc::PROT_WRITE.unsigned_abs(), libc::PROT_EXEC.unsigned_abs()];

const fn refuse(parts: &'static [super::Part], errno: u16) -> Check {
    Check { parts, answer: Refuse(errno) }
}

const fn pass(parts: &'static [super::Part]) -> Check {
    Check { parts, answer: Allow }
}

/// No set-user-id or set-group-id bit reaches a file, by whatever call.
const MODE_1: Checks = &[refuse(&[Any(1, SET_ID)], EPERM)];
const MODE_2: Checks = &[refuse(&[Any(2, SET_ID)], EPERM)];
/// Nor is a device made: the kernel lets everyone make the one that overlays read as a deletion.
#[cfg(target_arch = "x86_64")]
const MKNOD: Checks = &[refuse(&[Any(1, SET_ID | DEVICE)], EPERM)];
const MKNODAT: Checks = &[refuse(&[Any(2, SET_ID | DEVICE)], EPERM)];
const OPENAT: Checks = &[refuse(&[Any(2, CREATES), Any(3, SET_ID)], EPERM)];
#[cfg(target_arch = "x86_64")]
const OPEN: Checks = &[refuse(&[Any(1, CREATES), Any(2, SET_ID)], EPERM)];

/// No namespaces.
const CLONE: Checks = &[refuse(&[Any(0, NAMESPACES)], EPERM)];
const UNSHARE: Checks = &[refuse(&[Any(0, NAMESPACES | TIME_NAMESPACE)], EPERM)];

/// Asking is fine; address randomisation and the like stay on.
const PERSONALITY: Checks = &[refuse(&[Not(0, u32::MAX)], EPERM)];

/// The first process of a cell is of the same user, and the kernel lets everyone change the limits
/// and the turns of what is. Nothing but it has this number inside.
const FIRST: u32 = 1;
const OF_FIRST: Checks = &[refuse(&[Is(0, FIRST)], EPERM)];
/// By process, or for all of the user's. `ioprio_set` counts the kinds from one.
const PRIORITY: Checks =
    &[refuse(&[Is(0, libc::PRIO_USER)], EPERM), refuse(&[Is(1, FIRST)], EPERM)];
const TURNS_OF_DISKS: Checks = &[refuse(&[Is(0, 3)], EPERM), refuse(&[Is(1, FIRST)], EPERM)];

/// Typing into a terminal, the console's selection, and line disciplines.
const IOCTL: Checks = &[
    refuse(&[Is(1, libc::TIOCSTI as u32)], EPERM),
    refuse(&[Is(1, libc::TIOCLINUX as u32)], EPERM),
    refuse(&[Is(1, libc::TIOCSETD as u32)], EPERM),
    // Takes of the disk what `fallocate` takes: FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE.
    refuse(&[Is(1, 0x4030_5828)], EOPNOTSUPP),
    refuse(&[Is(1, 0x4030_582a)], EOPNOTSUPP),
    refuse(&[Is(1, 0x4030_5839)], EOPNOTSUPP),
];

/// Giving space back is fine. Taking it is a hundred times as fast as writing, too fast for the
/// watch over free space; programs write instead, as on file systems that cannot do it.
const FALLOCATE: Checks = &[pass(&[Any(1, GIVES_BACK)]), refuse(&[], EOPNOTSUPP)];
const GIVES_BACK: u32 =
    (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_COLLAPSE_RANGE).unsigned_abs();

/// A program from a descriptor has no path that Landlock or a person could know.
const EXECVEAT: Checks = &[refuse(&[Any(4, libc::AT_EMPTY_PATH.unsigned_abs())], EPERM)];

const INET: u32 = libc::AF_INET.unsigned_abs();
const INET6: u32 = libc::AF_INET6.unsigned_abs();
const UNIX: u32 = libc::AF_UNIX.unsigned_abs();
const NETLINK: u32 = libc::AF_NETLINK.unsigned_abs();

/// Four families; of the internet ones the protocols that programs use, since each other one
/// may load kernel code; of netlink routes only.
const SOCKET: Checks = &[
    pass(&[Is(0, UNIX)]),
    pass(&[Is(0, NETLINK), Is(2, 0)]),
    refuse(&[Not(0, INET), Not(0, INET6)], EAFNOSUPPORT),
    pass(&[Is(2, 0)]),
    pass(&[Is(2, libc::IPPROTO_TCP.unsigned_abs())]),
    pass(&[Is(2, libc::IPPROTO_UDP.unsigned_abs())]),
    pass(&[Is(2, libc::IPPROTO_ICMP.unsigned_abs())]),
    pass(&[Is(2, libc::IPPROTO_ICMPV6.unsigned_abs())]),
    pass(&[Is(2, libc::IPPROTO_MPTCP.unsigned_abs())]),
    refuse(&[], EPROTONOSUPPORT),
];
const SOCKETPAIR: Checks = &[refuse(&[Not(0, UNIX)], EAFNOSUPPORT)];

/// With `sandbox.jit` denied: nothing is writable and executable, and nothing becomes so.
const MAP: Checks = &[refuse(&[Any(2, WRITE_EXECUTE[0]), Any(2, WRITE_EXECUTE[1])], EPERM)];
const PROTECT: Checks = &[refuse(&[Any(2, WRITE_EXECUTE[1])], EPERM)];
const ATTACH: Checks = &[refuse(&[Any(2, libc::SHM_EXEC.unsigned_abs())], EPERM)];

const LOOKED_AT: &[(c_long, Checks)] = &[
    (libc::SYS_clone, CLONE),
    (libc::SYS_unshare, UNSHARE),
    (libc::SYS_personality, PERSONALITY),
    (libc::SYS_ioctl, IOCTL),
    (libc::SYS_execveat, EXECVEAT),
    (libc::SYS_socket, SOCKET),
    (libc::SYS_socketpair, SOCKETPAIR),
    (libc::SYS_fchmod, MODE_1),
    (libc::SYS_fchmodat, MODE_2),
    (FCHMODAT2, MODE_2),
    (libc::SYS_mknodat, MKNODAT),
    (libc::SYS_openat, OPENAT),
    (libc::SYS_mq_open, OPENAT_OF_QUEUES),
    (libc::SYS_fallocate, FALLOCATE),
    (libc::SYS_prlimit64, OF_FIRST),
    (libc::SYS_sched_setaffinity, OF_FIRST),
    (libc::SYS_sched_setattr, OF_FIRST),
    (libc::SYS_sched_setparam, OF_FIRST),
    (libc::SYS_sched_setscheduler, OF_FIRST),
    (libc::SYS_setpriority, PRIORITY),
    (libc::SYS_ioprio_set, TURNS_OF_DISKS),
];

/// As `open`: a queue's file has a mode too.
const OPENAT_OF_QUEUES: Checks = &[refuse(&[Any(1, CREATES), Any(2, SET_ID)], EPERM)];

#[cfg(target_arch = "x86_64")]
const LOOKED_AT_HERE: &[(c_long, Checks)] = &[
    (libc::SYS_chmod, MODE_1),
    (libc::SYS_creat, MODE_1),
    (libc::SYS_mknod, MKNOD),
    (libc::SYS_open, OPEN),
];

#[cfg(target_arch = "aarch64")]
const LOOKED_AT_HERE: &[(c_long, Checks)] = &[];

const WITHOUT_JIT: &[(c_long, Checks)] = &[
    (libc::SYS_mmap, MAP),
    (libc::SYS_mprotect, PROTECT),
    (libc::SYS_pkey_mprotect, PROTECT),
    (libc::SYS_shmat, ATTACH),
];

/// Renames, which the cell's init prepares where the tree has an overlay.
#[cfg(target_arch = "x86_64")]
const RENAMES: &[c_long] = &[libc::SYS_rename, libc::SYS_renameat, libc::SYS_renameat2];
#[cfg(target_arch = "aarch64")]
const RENAMES: &[c_long] = &[libc::SYS_renameat, libc::SYS_renameat2];

/// A verdict for each call that the table knows, by number.
pub(super) type Verdicts = [Verdict; UNKNOWN as usize];

/// Returns what is in force under a policy's two exceptions.
pub(super) const fn verdicts(filter: Filter, renames: Renames) -> Verdicts {
    let mut verdicts = [Verdict::Allow; UNKNOWN as usize];
    refuse_all(&mut verdicts, REFUSED);
    refuse_all(&mut verdicts, OF_THE_ARCHITECTURE);
    look_at_all(&mut verdicts, LOOKED_AT);
    look_at_all(&mut verdicts, LOOKED_AT_HERE);
    if matches!(filter.debug, Grant::Deny) {
        refuse_all(&mut verdicts, DEBUG);
    }
    if matches!(filter.jit, Grant::Deny) {
        look_at_all(&mut verdicts, WITHOUT_JIT);
    }
    if matches!(renames, Renames::Ask) {
        let mut index = 0;
        while index < RENAMES.len() {
            set(&mut verdicts, RENAMES[index], Verdict::Ask);
            index += 1;
        }
    }
    verdicts
}

const fn refuse_all(verdicts: &mut Verdicts, rows: &[(c_long, u16)]) {
    let mut index = 0;
    while index < rows.len() {
        set(verdicts, rows[index].0, Verdict::Refuse(rows[index].1));
        index += 1;
    }
}

const fn look_at_all(verdicts: &mut Verdicts, rows: &[(c_long, Checks)]) {
    let mut index = 0;
    while index < rows.len() {
        set(verdicts, rows[index].0, Verdict::Look(rows[index].1));
        index += 1;
    }
}

const fn set(verdicts: &mut Verdicts, call: c_long, verdict: Verdict) {
    let place = &mut verdicts[call as usize];
    assert!(matches!(place, Verdict::Allow), "two rows for one call");
    *place = verdict;
}
