//! Ways to leave a program behind that gives its owner's rights to whoever starts it.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use super::{Attack, End};
use crate::sys::{Answer, call};

/// The first word is the call, the second the mode in octal.
pub(crate) const ATTACKS: &[(&str, Attack)] =
    &[("set-id", set_id), ("file-capability", file_capability), ("device", device)];

fn set_id(words: &[String]) -> End {
    let name = format!("set-id-{}", words[0]);
    let path = CString::new(name.as_str()).expect("no NUL");
    let path = path.as_ptr().addr();
    let mode = usize::from_str_radix(&words[1], 8).expect("an octal mode");
    let here = libc::AT_FDCWD as isize as usize;
    let flags = (libc::O_CREAT | libc::O_WRONLY) as usize;
    let regular = mode | libc::S_IFREG as usize;
    let made = || File::create(&name).expect("a file").as_raw_fd();
    let answer: Answer = match words[0].as_str() {
        #[cfg(target_arch = "x86_64")]
        "chmod" => {
            made();
            call(libc::SYS_chmod, [path, mode, 0, 0, 0, 0])
        }
        #[cfg(target_arch = "x86_64")]
        "open" => call(libc::SYS_open, [path, flags, mode, 0, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        "creat" => call(libc::SYS_creat, [path, mode, 0, 0, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        "mknod" => call(libc::SYS_mknod, [path, regular, 0, 0, 0, 0]),
        "fchmod" => {
            let file = File::create(&name).expect("a file");
            call(libc::SYS_fchmod, [file.as_raw_fd().unsigned_abs() as usize, mode, 0, 0, 0, 0])
        }
        "fchmodat" => {
            made();
            call(libc::SYS_fchmodat, [here, path, mode, 0, 0, 0])
        }
        "fchmodat2" => {
            made();
            call(452, [here, path, mode, 0, 0, 0])
        }
        "openat" => call(libc::SYS_openat, [here, path, flags, mode, 0, 0]),
        "openat2" => {
            let how = [flags as u64, mode as u64, 0];
            call(libc::SYS_openat2, [here, path, crate::sys::at(&how), 24, 0, 0])
        }
        "mknodat" => call(libc::SYS_mknodat, [here, path, regular, 0, 0, 0]),
        "tmpfile" => unnamed(path, mode),
        other => return End::Untried(format!("no way `{other}`")),
    };
    let after = std::fs::metadata(&name).map_or(0, |status| status.mode());
    if after & 0o6000 != 0 {
        return End::Through(format!("mode {after:o}"));
    }
    End::Refused(format!("{answer:?}, mode {after:o}"))
}

/// Makes a file without a name, with the mode, and then gives it one.
fn unnamed(path: usize, mode: usize) -> Answer {
    let (here, dot) = (libc::AT_FDCWD as isize as usize, CString::new(".").expect("no NUL"));
    let flags = (libc::O_TMPFILE | libc::O_RDWR) as usize;
    let file = call(libc::SYS_openat, [here, dot.as_ptr().addr(), flags, mode, 0, 0])?;
    let from = CString::new(format!("/proc/self/fd/{file}")).expect("no NUL");
    let follow = libc::AT_SYMLINK_FOLLOW as usize;
    call(libc::SYS_linkat, [here, from.as_ptr().addr(), here, path, follow, 0])
}

/// Gives a file the capability of everything.
fn file_capability(_: &[String]) -> End {
    File::create("capable").expect("a file");
    let (path, name) = (
        CString::new("capable").expect("no NUL"),
        CString::new("security.capability").expect("it"),
    );
    let value: [u32; 5] = [0x0200_0001, u32::MAX, 0, u32::MAX, 0];
    let at = crate::sys::at(&value);
    let answer =
        call(libc::SYS_setxattr, [path.as_ptr().addr(), name.as_ptr().addr(), at, 20, 0, 0]);
    super::end_of_call(answer, &[])
}

/// Makes a device with these numbers: a character device, or a block device.
fn device(words: &[String]) -> End {
    let number = |at: usize| words[at].parse::<u32>().expect("a number");
    let kind = if words[0] == "block" { libc::S_IFBLK } else { libc::S_IFCHR };
    let device = libc::makedev(number(1), number(2));
    let (here, path) = (libc::AT_FDCWD as isize as usize, CString::new("device").expect("no NUL"));
    let device = usize::try_from(device).expect("small");
    let mode = (kind | 0o666) as usize;
    let answer = call(libc::SYS_mknodat, [here, path.as_ptr().addr(), mode, device, 0, 0]);
    super::end_of_call(answer, &[])
}
