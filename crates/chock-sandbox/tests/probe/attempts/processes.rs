//! Other processes, and terminals that belong to them.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use super::{Attack, End, end_of_call};
use crate::sys::{at, call};

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("signal", signal),
    ("see-process", see_process),
    ("pidfd", pidfd),
    ("pidfd-getfd", pidfd_getfd),
    ("type-into-terminal", type_into_terminal),
    ("line-discipline", line_discipline),
    ("console-selection", console_selection),
    ("real-time", real_time),
    ("limit-process", limit_process),
    ("schedule-process", schedule_process),
    ("trace", trace),
    ("read-memory", read_memory),
    ("set-id-program", set_id_program),
];

fn number(word: &str) -> usize {
    word.parse().expect("a number")
}

/// Signal 0: whether it could be sent.
fn signal(words: &[String]) -> End {
    end_of_call(call(libc::SYS_kill, [number(&words[0]), 0, 0, 0, 0, 0]), &[])
}

/// Looks for a process by its command line.
fn see_process(words: &[String]) -> End {
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        if line.contains(&words[0]) && !line.contains("see-process") {
            return End::Through(line.replace('\0', " "));
        }
    }
    End::Refused("no such process".to_owned())
}

/// Sets the limit of another process's descriptors, to what it is.
fn limit_process(words: &[String]) -> End {
    let (process, files) = (number(&words[0]), libc::RLIMIT_NOFILE as usize);
    let limit = [0_u64; 2];
    let asked = call(libc::SYS_prlimit64, [process, files, 0, at(&limit), 0, 0]);
    if asked.is_err() {
        return end_of_call(asked, &[]);
    }
    end_of_call(call(libc::SYS_prlimit64, [process, files, at(&limit), 0, 0, 0]), &[])
}

/// Makes another process wait for everyone else, in this way.
fn schedule_process(words: &[String]) -> End {
    let process = number(&words[1]);
    let (idle, none, one, half) = (libc::SCHED_IDLE as usize, 0_i32, 1_u64, 2 << 13 | 7);
    let attributes = [48_u32, libc::SCHED_IDLE.unsigned_abs(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let answer = match words[0].as_str() {
        "policy" => call(libc::SYS_sched_setscheduler, [process, idle, at(&none), 0, 0, 0]),
        "parameters" => call(libc::SYS_sched_setparam, [process, at(&none), 0, 0, 0, 0]),
        "attributes" => call(libc::SYS_sched_setattr, [process, at(&attributes), 0, 0, 0, 0]),
        "processors" => call(libc::SYS_sched_setaffinity, [process, 8, at(&one), 0, 0, 0]),
        "nice" => call(libc::SYS_setpriority, [0, process, 19, 0, 0, 0]),
        "disk" => call(libc::SYS_ioprio_set, [1, process, half, 0, 0, 0]),
        other => return End::Untried(format!("no way `{other}`")),
    };
    end_of_call(answer, &[])
}

fn pidfd(words: &[String]) -> End {
    end_of_call(call(libc::SYS_pidfd_open, [number(&words[0]), 0, 0, 0, 0, 0]), &[])
}

/// Takes a descriptor of a process, its own, which everyone may.
fn pidfd_getfd(_: &[String]) -> End {
    let own = std::process::id() as usize;
    let Ok(process) = call(libc::SYS_pidfd_open, [own, 0, 0, 0, 0, 0]) else {
        return End::Untried("no descriptor of itself".to_owned());
    };
    let process = usize::try_from(process).expect("small");
    end_of_call(call(libc::SYS_pidfd_getfd, [process, 0, 0, 0, 0, 0]), &[])
}

/// Opens a pseudo terminal, makes it its own, and types into it.
fn type_into_terminal(_: &[String]) -> End {
    let Some((_master, slave)) = terminal() else {
        return End::Untried("no pseudo terminal".to_owned());
    };
    let _ = call(libc::SYS_setsid, [0; 6]);
    let slave = slave.as_raw_fd().unsigned_abs() as usize;
    let _ = call(libc::SYS_ioctl, [slave, libc::TIOCSCTTY as usize, 0, 0, 0, 0]);
    let letter = b'x';
    let answer = call(libc::SYS_ioctl, [slave, libc::TIOCSTI as usize, at(&letter), 0, 0, 0]);
    let upper = (libc::TIOCSTI as usize) | 1 << 32;
    match answer {
        // The upper half of the command is dropped by the kernel, so it must not help.
        Err(_) => end_of_call(call(libc::SYS_ioctl, [slave, upper, at(&letter), 0, 0, 0]), &[]),
        other => end_of_call(other, &[]),
    }
}

fn line_discipline(_: &[String]) -> End {
    let Some((_master, slave)) = terminal() else {
        return End::Untried("no pseudo terminal".to_owned());
    };
    let slave = slave.as_raw_fd().unsigned_abs() as usize;
    let plain = 0_i32;
    end_of_call(call(libc::SYS_ioctl, [slave, libc::TIOCSETD as usize, at(&plain), 0, 0, 0]), &[])
}

/// The console's own command, on a terminal that has none: ENOTTY means it was let through.
fn console_selection(_: &[String]) -> End {
    let Some((master, _slave)) = terminal() else {
        return End::Untried("no pseudo terminal".to_owned());
    };
    let master = master.as_raw_fd().unsigned_abs() as usize;
    let function = 6_u8;
    let answer = call(libc::SYS_ioctl, [master, libc::TIOCLINUX as usize, at(&function), 0, 0, 0]);
    end_of_call(answer, &[libc::ENOTTY, libc::EINVAL])
}

fn real_time(_: &[String]) -> End {
    let priority = 1_i32;
    let (fifo, own) = (libc::SCHED_FIFO as usize, 0);
    end_of_call(call(libc::SYS_sched_setscheduler, [own, fifo, at(&priority), 0, 0, 0]), &[])
}

fn terminal() -> Option<(File, File)> {
    let master = File::options().read(true).write(true).open("/dev/ptmx").ok()?;
    let descriptor = master.as_raw_fd().unsigned_abs() as usize;
    let (unlocked, number) = (0_i32, 0_u32);
    call(libc::SYS_ioctl, [descriptor, libc::TIOCSPTLCK as usize, at(&unlocked), 0, 0, 0]).ok()?;
    call(libc::SYS_ioctl, [descriptor, libc::TIOCGPTN as usize, at(&number), 0, 0, 0]).ok()?;
    let path = format!("/dev/pts/{number}");
    let slave =
        File::options().read(true).write(true).custom_flags(libc::O_NOCTTY).open(path).ok()?;
    // A terminal that closes hangs up on this process before it could say what it saw.
    std::mem::forget(master.try_clone().ok()?);
    Some((master, slave))
}

/// Starts a program with a set-user-id bit, and sees whether it runs as its owner.
fn set_id_program(words: &[String]) -> End {
    let Ok(output) = std::process::Command::new(&words[0]).args(["-c", "id -u"]).output() else {
        return End::Refused("it does not start".to_owned());
    };
    let text = String::from_utf8_lossy(&output.stdout);
    if text.trim() == "0" { End::Through("root".to_owned()) } else { End::Refused(text.into()) }
}

/// Stops a process as a debugger does.
fn trace(words: &[String]) -> End {
    let process = number(&words[0]);
    let attach = libc::PTRACE_ATTACH as usize;
    let end = end_of_call(call(libc::SYS_ptrace, [attach, process, 0, 0, 0, 0]), &[]);
    if matches!(end, End::Through(_)) {
        let _ = call(libc::SYS_wait4, [process, 0, 0, 0, 0, 0]);
        let _ = call(libc::SYS_ptrace, [libc::PTRACE_DETACH as usize, process, 0, 0, 0, 0]);
    }
    end
}

/// Reads memory of a process where its auxiliary vector may be; EFAULT means it was let look.
fn read_memory(words: &[String]) -> End {
    let (mut piece, there) = ([0_u8; 8], 0x1000_usize);
    let local = libc::iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(there), iov_len: 8 };
    let process = number(&words[0]);
    let answer = call(libc::SYS_process_vm_readv, [process, at(&local), 1, at(&remote), 1, 0]);
    end_of_call(answer, &[libc::EFAULT])
}
