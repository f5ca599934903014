//! What Chock or its keeper may have left open.

use std::fs;
use std::os::fd::AsRawFd;

use super::{Attack, End, end_of_call};
use crate::sys::call;

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("leaked-descriptor", leaked_descriptor),
    ("environment", environment),
    ("environment-of-others", environment_of_others),
    ("open-through-descriptors", open_through_descriptors),
    ("terminal-of-others", terminal_of_others),
];

/// Looks for a descriptor beyond the streams, other than the one that looks.
fn leaked_descriptor(_: &[String]) -> End {
    let directory = fs::File::open("/proc/self/fd").expect("its descriptors");
    let own = directory.as_raw_fd();
    for number in (3..1024).filter(|number| *number != own) {
        let descriptor = usize::try_from(number).expect("small");
        if call(libc::SYS_fcntl, [descriptor, libc::F_GETFD as usize, 0, 0, 0, 0]).is_ok() {
            let link = fs::read_link(format!("/proc/self/fd/{number}"));
            return End::Through(format!("{number}: {link:?}"));
        }
    }
    End::Refused("only streams".to_owned())
}

/// Looks for a value in its own environment.
fn environment(words: &[String]) -> End {
    match std::env::vars().find(|(_, value)| value.contains(&words[0])) {
        Some((name, _)) => End::Through(name),
        None => End::Refused("no such value".to_owned()),
    }
}

/// Looks for a value in the environment and the command line of every process it can see.
fn environment_of_others(words: &[String]) -> End {
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        for file in ["environ", "cmdline"] {
            let bytes = fs::read(entry.path().join(file)).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            if text.contains(&words[0]) && !text.contains("environment-of-others") {
                return End::Through(entry.path().display().to_string());
            }
        }
    }
    End::Refused("no such value".to_owned())
}

/// Opens a file outside relative to every descriptor there may be.
fn open_through_descriptors(words: &[String]) -> End {
    let name = std::ffi::CString::new(words[0].as_str()).expect("no NUL");
    for number in 0..256 {
        let answer = call(libc::SYS_openat, [number, name.as_ptr().addr(), 0, 0, 0, 0]);
        if answer.is_ok() {
            return end_of_call(answer, &[]);
        }
    }
    End::Refused("no descriptor leads there".to_owned())
}

/// Opens the controlling terminal.
fn terminal_of_others(_: &[String]) -> End {
    super::end(fs::File::options().read(true).write(true).open("/dev/tty"))
}
