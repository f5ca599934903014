//! Any system call by number, since an attacker is not held to a library's idea of them.
#![expect(unsafe_code, reason = "an attacker makes raw calls")]

use std::io;

/// What a raw call answers: its value, or the error.
pub(crate) type Answer = Result<i64, i32>;

/// Makes a system call. Pointers are passed as addresses of live memory, or as nonsense that
/// the kernel is expected to refuse.
pub(crate) fn call(number: libc::c_long, arguments: [usize; 6]) -> Answer {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: this is a throwaway process; what a call breaks ends with it.
    let value = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if value >= 0 {
        return Ok(value);
    }
    Err(io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

/// Makes a system call of the 32-bit architecture: `getpid`, number 20 there.
#[cfg(target_arch = "x86_64")]
pub(crate) fn foreign_getpid() -> i64 {
    let value: i64;
    // SAFETY: the call takes no argument and touches no memory; the clobbered registers are
    // named.
    unsafe {
        std::arch::asm!(
            "int 0x80",
            inlateout("rax") 20_i64 => value,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _, out("rcx") _,
        );
    }
    value
}

/// Splits this process; 0 is the child.
pub(crate) fn fork() -> i32 {
    // SAFETY: this program has one thread.
    unsafe { libc::fork() }
}

/// Returns the address of a value, for [`call`].
pub(crate) fn at<T>(value: &T) -> usize {
    std::ptr::from_ref(value).addr()
}
