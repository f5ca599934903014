//! Calls that reach the kernel's own works.

use std::ffi::CString;

use super::{Attack, End, end_of_call};
use crate::sys::{at, call};

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("call", by_name),
    ("mount-tmpfs", mount_tmpfs),
    ("remount-writable", remount_writable),
    ("bind-over", bind_over),
    ("unmount", unmount),
    ("pivot", pivot),
    ("chroot", |words| {
        let path = c_string(&words[0]);
        end_of_call(call(libc::SYS_chroot, [path.as_ptr().addr(), 0, 0, 0, 0, 0]), &[])
    }),
    ("enter-namespace", enter_namespace),
    ("open-by-handle", open_by_handle),
    ("clone3-user", clone3_user),
    ("execute-memory", execute_memory),
    ("foreign-architecture", foreign_architecture),
    ("writable-code", writable_code),
    ("make-code-executable", make_code_executable),
    ("socket-family", socket_family),
    ("raise-limit", raise_limit),
    ("allocate", allocate),
    ("multiply", multiply),
    ("take-watchers", take_watchers),
];

fn c_string(word: &str) -> CString {
    CString::new(word).expect("no NUL")
}

/// Calls with arguments that do no harm where they are allowed, and the errors that say so.
const CALLS: &[(&str, libc::c_long, [usize; 6], &[i32])] = &[
    ("bpf", libc::SYS_bpf, [0, 0, 0, 0, 0, 0], &[libc::EINVAL, libc::E2BIG, libc::EFAULT]),
    ("perf_event_open", libc::SYS_perf_event_open, [0; 6], &[libc::EFAULT, libc::EINVAL]),
    ("keyctl", libc::SYS_keyctl, [0, usize::MAX - 2, 0, 0, 0, 0], &[libc::ENOKEY]),
    ("add_key", libc::SYS_add_key, [0; 6], &[libc::EFAULT, libc::EINVAL]),
    ("request_key", libc::SYS_request_key, [0; 6], &[libc::EFAULT, libc::EINVAL]),
    ("userfaultfd", libc::SYS_userfaultfd, [1, 0, 0, 0, 0, 0], &[]),
    ("io_uring_setup", libc::SYS_io_uring_setup, [0; 6], &[libc::EFAULT, libc::EINVAL]),
    ("io_uring_enter", libc::SYS_io_uring_enter, [999, 0, 0, 0, 0, 0], &[libc::EBADF]),
    ("unshare-user", libc::SYS_unshare, [0x1000_0000, 0, 0, 0, 0, 0], &[]),
    ("unshare-mount", libc::SYS_unshare, [0x0002_0000, 0, 0, 0, 0, 0], &[]),
    ("unshare-net", libc::SYS_unshare, [0x4000_0000, 0, 0, 0, 0, 0], &[]),
    ("unshare-user-and-all", libc::SYS_unshare, [0x7e02_0000, 0, 0, 0, 0, 0], &[]),
    ("unshare-time", libc::SYS_unshare, [0x1000_0080, 0, 0, 0, 0, 0], &[]),
    ("kexec_load", libc::SYS_kexec_load, [0, 999, 0, 0, 0, 0], &[libc::EINVAL]),
    ("init_module", libc::SYS_init_module, [0; 6], &[libc::EFAULT, libc::ENOEXEC]),
    ("finit_module", libc::SYS_finit_module, [999, 0, 0, 0, 0, 0], &[libc::EBADF, libc::EFAULT]),
    ("delete_module", libc::SYS_delete_module, [0; 6], &[libc::EFAULT, libc::ENOENT]),
    ("personality", libc::SYS_personality, [0x0004_0000, 0, 0, 0, 0, 0], &[]),
    ("settimeofday", libc::SYS_settimeofday, [0; 6], &[]),
    ("syslog", libc::SYS_syslog, [10, 0, 0, 0, 0, 0], &[]),
    ("fanotify", libc::SYS_fanotify_init, [0x200, 0, 0, 0, 0, 0], &[]),
    (
        "quotactl",
        libc::SYS_quotactl,
        [0x0080_0001 << 8, 0, 0, 0, 0, 0],
        &[libc::ENOENT, libc::ESRCH, libc::EFAULT, libc::EINVAL, libc::ENODEV],
    ),
    ("reboot", libc::SYS_reboot, [1, 2, 3, 0, 0, 0], &[libc::EINVAL]),
    ("acct", libc::SYS_acct, [0; 6], &[]),
    ("swapon", libc::SYS_swapon, [0; 6], &[libc::EFAULT]),
    ("kcmp", libc::SYS_kcmp, [1, 1, 0, 0, 0, 0], &[]),
    ("move_pages", libc::SYS_move_pages, [0, 0, 0, 0, 0, 0], &[]),
    ("migrate_pages", libc::SYS_migrate_pages, [0, 0, 0, 0, 0, 0], &[]),
    ("open_tree", libc::SYS_open_tree, [999, 0, 0x1001, 0, 0, 0], &[libc::EBADF, libc::EFAULT]),
    ("fsopen", libc::SYS_fsopen, [0; 6], &[libc::EFAULT]),
    ("fsconfig", libc::SYS_fsconfig, [999, 6, 0, 0, 0, 0], &[libc::EBADF]),
    ("move_mount", libc::SYS_move_mount, [999, 0, 999, 0, 4, 0], &[libc::EBADF, libc::EFAULT]),
    ("mount_setattr", libc::SYS_mount_setattr, [999, 0, 0, 0, 0, 0], &[libc::EINVAL, libc::EFAULT]),
    ("openat2", libc::SYS_openat2, [0, 0, 0, 0, 0, 0], &[libc::EINVAL, libc::EFAULT]),
    ("statmount", 457, [0; 6], &[libc::EFAULT, libc::EINVAL]),
    ("process_vm_readv", libc::SYS_process_vm_readv, [1, 0, 0, 0, 0, 0], &[]),
    ("process_vm_writev", libc::SYS_process_vm_writev, [1, 0, 0, 0, 0, 0], &[]),
    ("ptrace-traceme", libc::SYS_ptrace, [0; 6], &[]),
    ("set-user-0", libc::SYS_setresuid, [0; 6], &[]),
    ("set-hostname", libc::SYS_sethostname, [0, 999_999, 0, 0, 0, 0], &[libc::EINVAL]),
    ("capset", libc::SYS_prctl, [libc::PR_CAPBSET_DROP as usize, 40, 0, 0, 0, 0], &[]),
    ("nice", libc::SYS_setpriority, [0, 0, -5_isize as usize, 0, 0, 0], &[]),
    #[cfg(target_arch = "x86_64")]
    ("modify_ldt", libc::SYS_modify_ldt, [0; 6], &[]),
    #[cfg(target_arch = "x86_64")]
    ("iopl", libc::SYS_iopl, [3, 0, 0, 0, 0, 0], &[]),
    #[cfg(target_arch = "x86_64")]
    ("ioperm", libc::SYS_ioperm, [0x80, 1, 1, 0, 0, 0], &[]),
    #[cfg(target_arch = "x86_64")]
    ("x32", 0x4000_0000 + libc::SYS_getpid, [0; 6], &[]),
];

fn by_name(words: &[String]) -> End {
    let row = CALLS.iter().find(|(name, ..)| *name == words[0]);
    let Some((_, number, arguments, through)) = row else {
        return End::Untried("no call of that name".to_owned());
    };
    let mut arguments = *arguments;
    if matches!(words[0].as_str(), "kcmp" | "process_vm_readv" | "process_vm_writev") {
        // Of itself, which everyone may: a refusal is the filter's.
        let own = std::process::id() as usize;
        arguments[0] = own;
        if words[0] == "kcmp" {
            arguments[1] = own;
        }
    }
    end_of_call(call(*number, arguments), through)
}

/// Mounts on a directory and unmounts at once.
fn mount_tmpfs(words: &[String]) -> End {
    let (kind, place) = (c_string("tmpfs"), c_string(&words[0]));
    let (kind, place) = (kind.as_ptr().addr(), place.as_ptr().addr());
    let end = end_of_call(call(libc::SYS_mount, [kind, place, kind, 0, 0, 0]), &[]);
    if matches!(end, End::Through(_)) {
        let _ = call(libc::SYS_umount2, [place, 0, 0, 0, 0, 0]);
    }
    end
}

/// Remounts a place writable: outside, one that already is, so that nothing changes.
fn remount_writable(words: &[String]) -> End {
    let place = c_string(&words[0]);
    let flags = (libc::MS_REMOUNT | libc::MS_BIND) as usize;
    let answer = call(libc::SYS_mount, [0, place.as_ptr().addr(), 0, flags, 0, 0]);
    // EINVAL: it is no mount point, which is asked after the right to mount.
    end_of_call(answer, &[libc::EINVAL])
}

fn bind_over(words: &[String]) -> End {
    let (from, to) = (c_string(&words[0]), c_string(&words[1]));
    let (from, to) = (from.as_ptr().addr(), to.as_ptr().addr());
    let end = end_of_call(call(libc::SYS_mount, [from, to, 0, libc::MS_BIND as usize, 0, 0]), &[]);
    if matches!(end, End::Through(_)) {
        let _ = call(libc::SYS_umount2, [to, 0, 0, 0, 0, 0]);
    }
    end
}

fn unmount(words: &[String]) -> End {
    let place = c_string(&words[0]);
    let detach = libc::MNT_DETACH.unsigned_abs() as usize;
    // EINVAL: it is no mount point, which is asked after the right to unmount.
    let answer = call(libc::SYS_umount2, [place.as_ptr().addr(), detach, 0, 0, 0, 0]);
    end_of_call(answer, &[libc::EINVAL])
}

fn pivot(words: &[String]) -> End {
    let place = c_string(&words[0]);
    let place = place.as_ptr().addr();
    end_of_call(
        call(libc::SYS_pivot_root, [place, place, 0, 0, 0, 0]),
        &[libc::EINVAL, libc::EBUSY],
    )
}

fn enter_namespace(words: &[String]) -> End {
    let file = match std::fs::File::open(&words[0]) {
        Ok(file) => file,
        Err(error) => return End::Refused(error.to_string()),
    };
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file).unsigned_abs() as usize;
    end_of_call(call(libc::SYS_setns, [descriptor, 0, 0, 0, 0, 0]), &[])
}

/// Asks for a file's handle and opens it, past the tree.
fn open_by_handle(words: &[String]) -> End {
    #[repr(C)]
    struct Handle {
        bytes: u32,
        kind: i32,
        data: [u8; 128],
    }
    let path = c_string(&words[0]);
    let handle = Handle { bytes: 128, kind: 0, data: [0; 128] };
    let mount = 0_i32;
    let here = libc::AT_FDCWD as isize as usize;
    let named = call(
        libc::SYS_name_to_handle_at,
        [here, path.as_ptr().addr(), at(&handle), at(&mount), 0, 0],
    );
    if let Err(errno) = named {
        return End::Untried(format!("no handle: {errno}"));
    }
    let root = std::fs::File::open("/").expect("a root");
    let root = std::os::fd::AsRawFd::as_raw_fd(&root).unsigned_abs() as usize;
    // ESTALE: the handle was looked up, on another file system.
    let answer = call(libc::SYS_open_by_handle_at, [root, at(&handle), 0, 0, 0, 0]);
    end_of_call(answer, &[libc::ESTALE])
}

fn clone3_user(_: &[String]) -> End {
    #[repr(C)]
    struct Arguments([u64; 11]);
    let mut arguments = Arguments([0; 11]);
    arguments.0[0] = 0x1000_0000;
    arguments.0[4] = libc::SIGCHLD.unsigned_abs().into();
    match call(libc::SYS_clone3, [at(&arguments), 88, 0, 0, 0, 0]) {
        Ok(0) => std::process::abort(),
        other => end_of_call(other, &[]),
    }
}

/// Runs a program that has no path, from memory.
fn execute_memory(_: &[String]) -> End {
    let name = c_string("code");
    let memory = call(libc::SYS_memfd_create, [name.as_ptr().addr(), 0, 0, 0, 0, 0]);
    let Ok(memory) = memory else { return End::Untried("no memory file".to_owned()) };
    let path = format!("/proc/self/fd/{memory}");
    if std::fs::copy("/bin/true", &path).is_err()
        && std::fs::read("/bin/true").and_then(|code| std::fs::write(&path, code)).is_err()
    {
        // Landlock keeps it from being opened anew; write through the descriptor instead.
        let code = std::fs::read("/bin/true").expect("a program");
        let written = call(
            libc::SYS_write,
            [usize::try_from(memory).expect("small"), code.as_ptr().addr(), code.len(), 0, 0, 0],
        );
        assert!(written.is_ok(), "{written:?}");
    }
    let empty = c_string("");
    let list = [empty.as_ptr().addr(), 0];
    let memory = usize::try_from(memory).expect("small");
    let flag = libc::AT_EMPTY_PATH.unsigned_abs() as usize;
    let none = [0_usize];
    // On success this process is `true`, and exits with 0: it got through.
    let answer =
        call(libc::SYS_execveat, [memory, empty.as_ptr().addr(), at(&list), at(&none), flag, 0]);
    end_of_call(answer, &[])
}

#[cfg(target_arch = "x86_64")]
fn foreign_architecture(_: &[String]) -> End {
    let value = crate::sys::foreign_getpid();
    if value > 0 { End::Through(format!("pid {value}")) } else { End::Refused(format!("{value}")) }
}

#[cfg(not(target_arch = "x86_64"))]
fn foreign_architecture(_: &[String]) -> End {
    End::Untried("no other architecture's calls here".to_owned())
}

/// Asks for a page that is writable and executable.
fn writable_code(_: &[String]) -> End {
    let protection = (libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
    end_of_call(call(libc::SYS_mmap, [0, 4096, protection, flags, usize::MAX, 0]), &[])
}

/// Writes a page, and then makes it executable.
fn make_code_executable(_: &[String]) -> End {
    let write = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let execute = (libc::PROT_READ | libc::PROT_EXEC) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
    let page = call(libc::SYS_mmap, [0, 4096, write, flags, usize::MAX, 0]).expect("a page");
    let page = usize::try_from(page).expect("an address");
    end_of_call(call(libc::SYS_mprotect, [page, 4096, execute, 0, 0, 0]), &[])
}

fn socket_family(words: &[String]) -> End {
    let number = |at: usize| words[at].parse::<usize>().expect("a number");
    let answer = call(libc::SYS_socket, [number(0), number(1), number(2), 0, 0, 0]);
    match answer {
        Err(libc::EAFNOSUPPORT) if std::fs::metadata("/run/chock").is_err() => {
            End::Untried("the kernel has no such family".to_owned())
        }
        other => end_of_call(other, &[]),
    }
}

/// Raises a hard limit by one.
fn raise_limit(_: &[String]) -> End {
    let mut limits = [0_u64; 2];
    let (get, files) = (libc::SYS_prlimit64, libc::RLIMIT_NOFILE as usize);
    let _ = call(get, [0, files, 0, std::ptr::from_mut(&mut limits).addr(), 0, 0]);
    limits[1] += 1;
    end_of_call(call(get, [0, files, at(&limits), 0, 0, 0]), &[])
}

/// Touches this many MiB of memory.
fn allocate(words: &[String]) -> End {
    let wanted: usize = words[0].parse().expect("a number");
    let mut held = Vec::new();
    for _ in 0..wanted {
        let mut part: Vec<u8> = Vec::new();
        if part.try_reserve_exact(1 << 20).is_err() {
            return End::Refused(format!("after {} MiB", held.len()));
        }
        part.resize(1 << 20, 1);
        held.push(part);
    }
    End::Through(format!("{} MiB", held.len()))
}

/// Makes processes that stay until it is refused.
fn multiply(words: &[String]) -> End {
    let wanted: usize = words[0].parse().expect("a number");
    for made in 0..wanted {
        match crate::sys::fork() {
            0 => loop {
                std::thread::sleep(std::time::Duration::from_secs(60));
            },
            child if child < 0 => return End::Refused(format!("after {made}")),
            _ => {}
        }
    }
    End::Through(format!("{wanted} processes"))
}

/// Takes all that there is to watch files with.
fn take_watchers(_: &[String]) -> End {
    let taken = (0..1_000_000).take_while(|_| call(libc::SYS_inotify_init1, [0; 6]).is_ok());
    End::Refused(format!("after {}", taken.count()))
}
