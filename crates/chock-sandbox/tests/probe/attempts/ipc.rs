//! Objects that processes share without a file.

use std::ffi::CString;

use super::{Attack, End, end_of_call};
use crate::sys::call;

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("shared-memory", |words| by_key(libc::SYS_shmget, words)),
    ("message-queue", |words| by_key(libc::SYS_msgget, words)),
    ("semaphore", |words| by_key(libc::SYS_semget, words)),
    ("posix-queue", posix_queue),
];

/// Opens, and does not make, an object by its key.
fn by_key(number: libc::c_long, words: &[String]) -> End {
    let key: usize = words[0].parse().expect("a key");
    end_of_call(call(number, [key, 0, 0, 0, 0, 0]), &[])
}

fn posix_queue(words: &[String]) -> End {
    let name = CString::new(words[0].as_str()).expect("no NUL");
    end_of_call(call(libc::SYS_mq_open, [name.as_ptr().addr(), 0, 0, 0, 0, 0]), &[])
}
