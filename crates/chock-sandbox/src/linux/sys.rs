//! The raw calls that no safe wrapper exists for, one a function.
//!
//! Everything here is called from a process with one thread, except [`close_range`]'s kin that
//! no one else calls at all: the stub, the keeper, a cell and a command never start a thread.
#![expect(unsafe_code, reason = "the one place for raw calls")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_char, c_int, c_long, c_ulong};

/// What a raw call answers.
pub(super) type Answer<T> = Result<T, rustix::io::Errno>;

fn answer(value: c_long) -> Answer<c_long> {
    if value >= 0 {
        return Ok(value);
    }
    let errno = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    Err(rustix::io::Errno::from_raw_os_error(errno))
}

/// Makes a child that is a copy of this process in new namespaces; `None` is the child.
pub(super) fn clone(namespaces: c_int) -> Answer<Option<rustix::process::Pid>> {
    let flags = c_long::from(namespaces | libc::SIGCHLD);
    let null = ptr::null::<u8>();
    // SAFETY: without CLONE_VM and with a null stack this is a fork: the child goes on with a
    // copy of this process. It must have one thread, or the copy could hold a lock for ever;
    // only the stub and its descendants call this, and they start no thread.
    let pid = answer(unsafe { libc::syscall(libc::SYS_clone, flags, null, null, null, null) })?;
    Ok(rustix::process::Pid::from_raw(i32::try_from(pid).expect("invariant: a pid fits an int")))
}

/// The argument of `clone3`, as of the version that knows control groups.
#[repr(C)]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// As [`clone`], and the child starts in this control group of version 2.
pub(super) fn clone_into(
    namespaces: c_int,
    group: BorrowedFd<'_>,
) -> Answer<Option<rustix::process::Pid>> {
    /// `CLONE_INTO_CGROUP`, beyond an int.
    const INTO_GROUP: u64 = 1 << 33;
    let arguments = CloneArguments {
        flags: u64::from(namespaces.unsigned_abs()) | INTO_GROUP,
        exit_signal: u64::from(libc::SIGCHLD.unsigned_abs()),
        cgroup: group.as_raw_fd().unsigned_abs().into(),
        ..CloneArguments::default()
    };
    let size = size_of::<CloneArguments>();
    // SAFETY: as for `clone`; `arguments` is readable for `size` bytes.
    let pid = answer(unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size) })?;
    Ok(rustix::process::Pid::from_raw(i32::try_from(pid).expect("invariant: a pid fits an int")))
}

/// Ends this process at once, without destructors or buffers of the copied parent.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: it takes any code and touches no memory.
    unsafe { libc::_exit(code) }
}

/// Takes over a descriptor that this process was started with or just received.
pub(super) fn adopt(descriptor: RawFd) -> OwnedFd {
    // SAFETY: the callers name a descriptor that is theirs by protocol (0 of the stub, 3 of a
    // cell) once, before anything else owns it.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// Closes every descriptor from `first` on.
///
/// Whoever calls this holds no owned descriptor at or above `first` that is used or dropped
/// later; a cell's owners are forgotten with the parent's half of the fork.
pub(super) fn close_range(first: c_int) -> Answer<()> {
    // SAFETY: it touches no memory; descriptors above `first` are given up by the caller.
    answer(unsafe { libc::syscall(libc::SYS_close_range, first, c_int::MAX, 0) }).map(drop)
}

/// The argument of `mount_setattr`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Sets attributes of a mount, beneath it too if `recursive`, and its id map if there is one.
pub(super) fn mount_setattr(
    mount: BorrowedFd<'_>,
    recursive: bool,
    set: u64,
    user_namespace: Option<BorrowedFd<'_>>,
) -> Answer<()> {
    let map = if user_namespace.is_some() { libc::MOUNT_ATTR_IDMAP } else { 0 };
    let attributes = MountAttributes {
        set: set | map,
        clear: 0,
        propagation: 0,
        user_namespace: user_namespace.map_or(0, |it| it.as_raw_fd().unsigned_abs().into()),
    };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    let size = size_of::<MountAttributes>();
    let (mount, empty) = (mount.as_raw_fd(), c"".as_ptr());
    // SAFETY: the path is a C string, and `attributes` is readable for `size` bytes.
    answer(unsafe {
        libc::syscall(libc::SYS_mount_setattr, mount, empty, flags, &raw const attributes, size)
    })
    .map(drop)
}

/// The argument of `landlock_create_ruleset`, as of ABI 6.
#[repr(C)]
pub(super) struct Ruleset {
    pub(super) files: u64,
    pub(super) network: u64,
    pub(super) scopes: u64,
}

/// Returns the Landlock version of the kernel.
pub(super) fn landlock_version() -> Answer<u32> {
    let version_flag: c_ulong = 1;
    let null = ptr::null::<u8>();
    // SAFETY: with the version flag it reads no memory.
    answer(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, null, 0usize, version_flag) })
        .map(|version| u32::try_from(version).unwrap_or(0))
}

/// Makes a Landlock ruleset.
pub(super) fn landlock_ruleset(ruleset: &Ruleset) -> Answer<OwnedFd> {
    let (at, size) = (ptr::from_ref(ruleset), size_of::<Ruleset>());
    // SAFETY: `ruleset` is readable for `size` bytes.
    answer(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, at, size, 0 as c_ulong) })
        .map(|descriptor| adopt(RawFd::try_from(descriptor).expect("invariant: a descriptor")))
}

#[repr(C, packed)]
struct PathBeneath {
    access: u64,
    parent: i32,
}

/// Adds a rule for everything beneath `parent`.
pub(super) fn landlock_rule(
    ruleset: BorrowedFd<'_>,
    parent: BorrowedFd<'_>,
    access: u64,
) -> Answer<()> {
    let rule = PathBeneath { access, parent: parent.as_raw_fd() };
    let (ruleset, path_beneath) = (ruleset.as_raw_fd(), 1 as c_ulong);
    let at = &raw const rule;
    // SAFETY: `rule` is a packed path_beneath attribute, readable for its size.
    answer(unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset, path_beneath, at, 0 as c_ulong)
    })
    .map(drop)
}

/// Confines this process by the ruleset.
pub(super) fn landlock_restrict(ruleset: BorrowedFd<'_>) -> Answer<()> {
    let ruleset = ruleset.as_raw_fd();
    // SAFETY: it reads no memory.
    answer(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0 as c_ulong) })
        .map(drop)
}

/// Installs a system call filter in this process.
pub(super) fn install_filter(filter: &[libc::sock_filter]) -> Answer<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).expect("invariant: a filter is short"),
        filter: filter.as_ptr().cast_mut(),
    };
    let (mode, flags) = (libc::SECCOMP_SET_MODE_FILTER, 0 as c_ulong);
    let at = &raw const program;
    // SAFETY: `program` names `len` readable instructions, and the kernel only reads them.
    answer(unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, at) }).map(drop)
}

/// As [`install_filter`], and returns the descriptor by which the calls that the filter asks about
/// are answered. It closes on exec.
pub(super) fn install_asking_filter(filter: &[libc::sock_filter]) -> Answer<OwnedFd> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).expect("invariant: a filter is short"),
        filter: filter.as_ptr().cast_mut(),
    };
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // A call that was heard is interrupted by a deadly signal only: else it would start again.
    let flags =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let at = &raw const program;
    // SAFETY: `program` names `len` readable instructions, and the kernel only reads them.
    answer(unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, at) })
        .map(|descriptor| adopt(RawFd::try_from(descriptor).expect("invariant: a descriptor")))
}

/// A system call that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) id: u64,
    /// The thread that calls, in this process's own namespace; 0 when it is of none of it.
    pub(super) thread: u32,
    pub(super) number: i32,
    pub(super) arguments: [u64; 6],
}

/// Takes the next call that waits for an answer.
pub(super) fn asked(listener: BorrowedFd<'_>) -> Answer<Asked> {
    let data = libc::seccomp_data { nr: 0, arch: 0, instruction_pointer: 0, args: [0; 6] };
    let mut call = libc::seccomp_notif { id: 0, pid: 0, flags: 0, data };
    let (listener, code) = (listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV);
    // SAFETY: `call` is writable, all zero as the kernel wants it, and of the type of this code.
    answer(unsafe { libc::ioctl(listener, code, &raw mut call) }.into())?;
    let (number, arguments) = (call.data.nr, call.data.args);
    Ok(Asked { id: call.id, thread: call.pid, number, arguments })
}

/// Says whether a call still waits: only then is its thread the one that called.
pub(super) fn still_asks(listener: BorrowedFd<'_>, id: u64) -> bool {
    let (listener, code) = (listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID);
    // SAFETY: the kernel reads the number, which has the type of this code.
    answer(unsafe { libc::ioctl(listener, code, &raw const id) }.into()).is_ok()
}

/// Lets a call go on as it is. An error means that nobody waits any more.
pub(super) fn let_go_on(listener: BorrowedFd<'_>, id: u64) {
    let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).expect("invariant: one bit");
    let response = libc::seccomp_notif_resp { id, val: 0, error: 0, flags };
    let (listener, code) = (listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND);
    // SAFETY: the kernel reads the response, which is of the type of this code.
    let _ = answer(unsafe { libc::ioctl(listener, code, &raw const response) }.into());
}

/// Lets caller and answerer take turns on one core, where the kernel can.
pub(super) fn answer_in_turns(listener: BorrowedFd<'_>) {
    let in_turns: u64 = 1;
    let (listener, code) = (listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS);
    // The flags are the argument itself, not a place that has them.
    // SAFETY: it touches no memory.
    let _ = answer(unsafe { libc::ioctl(listener, code, in_turns) }.into());
}

/// Reads another process's memory up to the end of the buffer or of what is there.
pub(super) fn read_memory(thread: u32, address: u64, buffer: &mut [u8]) -> Answer<usize> {
    const PAGE: usize = 4096;
    let address = usize::try_from(address).map_err(|_| rustix::io::Errno::FAULT)?;
    // The kernel reads whole parts: what ends in one page must not fail for want of the next.
    let first = buffer.len().min(PAGE - address % PAGE);
    let part = |from: usize, length: usize| libc::iovec {
        iov_base: address.wrapping_add(from) as *mut libc::c_void,
        iov_len: length,
    };
    let theirs = [part(0, first), part(first, buffer.len() - first)];
    let ours = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let thread = i32::try_from(thread).map_err(|_| rustix::io::Errno::SRCH)?;
    let (to, from) = (&raw const ours, theirs.as_ptr());
    // SAFETY: `ours` is the whole of a writable buffer; the other addresses are only read, in
    // the other process, and the kernel checks them.
    let read = answer(unsafe { libc::process_vm_readv(thread, to, 1, from, 2, 0) } as c_long)?;
    Ok(usize::try_from(read).unwrap_or(0))
}

/// Calls `io_uring_setup` with nothing, to see how the filter answers it.
pub(super) fn try_io_uring() -> Answer<()> {
    let null = ptr::null::<u8>();
    // SAFETY: no entries and no parameters: the kernel refuses it before it reads anything.
    answer(unsafe { libc::syscall(libc::SYS_io_uring_setup, 0, null) }).map(drop)
}

/// Sends SIGKILL to every process of this process's pid namespace but itself.
pub(super) fn kill_all() -> Answer<()> {
    // SAFETY: it touches no memory. The callers are pid 1 of a cell, so "all" ends there.
    answer(unsafe { libc::kill(-1, libc::SIGKILL) }.into()).map(drop)
}

/// Replaces this process by a program; returns only the error.
///
/// `argv` and `environment` are C strings' pointers that end with a null pointer.
pub(super) fn execute(
    path: &CStr,
    argv: &[*const c_char],
    environment: &[*const c_char],
) -> rustix::io::Errno {
    assert!(argv.last().is_some_and(|last| last.is_null()), "invariant: argv ends with null");
    assert!(environment.last().is_some_and(|last| last.is_null()), "invariant: so does envp");
    // SAFETY: path is a C string; both lists end with null (checked above), and the pointers
    // before it come from C strings that the caller holds.
    let value = unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), environment.as_ptr()) };
    answer(value.into()).expect_err("invariant: execve returns only errors")
}

/// The kernel's own description of what a signal does; all zero is the default.
#[repr(C)]
struct SignalAction([u64; 4]);

/// Sets one signal back to its default action. Errors mean there is no such signal, or that it
/// has no other action.
///
/// A raw call, since the C library keeps two signals to itself, and a parent can have ignored
/// them all the same.
pub(super) fn default_signal(signal: c_int) {
    let action = SignalAction([0; 4]);
    let (at, old, size) = (&raw const action, ptr::null::<u8>(), size_of::<u64>());
    // SAFETY: the action is readable for the kernel's size of it and installs no function.
    let _ = answer(unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, at, old, size) });
}

/// Lets the kernel reap this process's children.
pub(super) fn ignore_children() {
    // SAFETY: SIG_IGN installs no function.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// Lets this process, and none that it starts, wake without taking a core from a running one.
/// An error changes nothing but speed.
pub(super) fn wake_politely() {
    let parameter = libc::sched_param { sched_priority: 0 };
    let policy = libc::SCHED_BATCH | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the parameter is readable, and number 0 is this process.
    let _ = answer(unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameter)
    });
}

/// A set with SIGCHLD alone in it, as the kernel lays it out.
const CHILD_SIGNAL: u64 = 1 << (libc::SIGCHLD - 1);

/// Replaces the mask of blocked signals: SIGCHLD alone, or nothing.
pub(super) fn block_child_signal(block: bool) -> Answer<()> {
    let mask: u64 = if block { CHILD_SIGNAL } else { 0 };
    let (how, size) = (libc::SIG_SETMASK, size_of::<u64>());
    let (at, old) = (&raw const mask, ptr::null::<u8>());
    // SAFETY: the mask is readable for the kernel's size of a set; the old one is not asked for.
    answer(unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, at, old, size) }).map(drop)
}

/// Returns a descriptor that is readable when a child ended. SIGCHLD must be blocked.
pub(super) fn child_signal_descriptor() -> Answer<OwnedFd> {
    let (mask, size) = (CHILD_SIGNAL, size_of::<u64>());
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    let at = &raw const mask;
    // SAFETY: the mask is readable for the kernel's size of a set.
    answer(unsafe { libc::syscall(libc::SYS_signalfd4, -1, at, size, flags) })
        .map(|descriptor| adopt(RawFd::try_from(descriptor).expect("invariant: a descriptor")))
}

/// Removes a capability from the bounding set.
pub(super) fn drop_bounding(capability: c_ulong) -> Answer<()> {
    // SAFETY: it touches no memory.
    answer(unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) }.into()).map(drop)
}

/// The name of the loopback interface and flags for it, as `ifreq`.
#[repr(C)]
struct InterfaceFlags {
    name: [u8; libc::IFNAMSIZ],
    flags: u16,
    rest: [u8; 22],
}

/// Reads the loopback interface's flags, or writes them when there are some.
pub(super) fn loopback_flags(socket: BorrowedFd<'_>, flags: Option<u16>) -> Answer<u16> {
    let mut request =
        InterfaceFlags { name: [0; libc::IFNAMSIZ], flags: flags.unwrap_or(0), rest: [0; 22] };
    request.name[..2].copy_from_slice(b"lo");
    let code = if flags.is_some() { libc::SIOCSIFFLAGS } else { libc::SIOCGIFFLAGS };
    // SAFETY: `request` has the size and the start of an `ifreq`.
    answer(unsafe { libc::ioctl(socket.as_raw_fd(), code, &raw mut request) }.into())?;
    Ok(request.flags)
}

/// Puts a copy of `from` at the number `to`, kept over an exec; whatever was there is closed.
pub(super) fn duplicate_to(from: BorrowedFd<'_>, to: RawFd) -> Answer<()> {
    // SAFETY: it touches no memory; the callers own what stands at `to` by protocol.
    answer(unsafe { libc::dup2(from.as_raw_fd(), to) }.into()).map(drop)
}

/// As [`duplicate_to`], but the copy is closed by an exec.
pub(super) fn reserve_at(from: BorrowedFd<'_>, to: RawFd) -> Answer<()> {
    if from.as_raw_fd() == to {
        // It is there, and everything of ours closes on exec.
        return Ok(());
    }
    // SAFETY: it touches no memory; the callers own what stands at `to` by protocol.
    answer(unsafe { libc::dup3(from.as_raw_fd(), to, libc::O_CLOEXEC) }.into()).map(drop)
}

/// Borrows a standard stream of this process.
pub(super) fn standard(number: RawFd) -> BorrowedFd<'static> {
    assert!((0..=2).contains(&number), "invariant: standard streams are 0, 1 and 2");
    // SAFETY: the stub opens all three at its start, and nobody closes them after.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// Moves this process into new namespaces.
pub(super) fn unshare(namespaces: rustix::thread::UnshareFlags) -> Answer<()> {
    // SAFETY: only the flag for descriptors could break ownership, and no caller passes it.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }
}
