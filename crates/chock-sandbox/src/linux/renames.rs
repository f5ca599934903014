//! Renames of a cell: a directory of the base becomes the session's own before it is renamed.
//!
//! An overlay without redirects refuses to rename a directory that its base has, with EXDEV, and
//! few programs copy then. The filter asks init about each rename. Init looks, and for such a
//! directory starts a process as confined as the command that copies it and puts the copy in its
//! place. Whatever comes of it, the call then goes on unchanged: the kernel alone decides, with
//! the caller's own arguments and rights, and in the worst case answers EXDEV as before.
//!
//! Init reads the caller's memory and looks at a path, and changes nothing by what it finds.

mod copy;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Pid;

use super::cell::{ORDER, RULESET, Setup};
use super::sys::{self, Asked};
use super::{ids, landlock};

/// The longest path that a call takes, with its end, as the kernel has it.
const PATH_MAX: usize = 4096;

/// The most directories that wait for the one being copied; others are renamed as they are.
const WAITING_MAX: usize = 64;

/// The `renameat2` flags that change what a rename needs.
const NO_REPLACE: u64 = 1;
const EXCHANGE: u64 = 2;

/// What init has to answer for renames.
#[derive(Debug)]
pub(super) struct Renames<'a> {
    setup: &'a Setup,
    listener: OwnedFd,
    ruleset: OwnedFd,
    /// The process that copies, and the call that waits for it: one at a time, since one
    /// directory may be beneath another.
    copying: Option<(Pid, u64)>,
    waiting: VecDeque<Asked>,
}

/// One name of a rename: a directory of the caller's, and a path from there.
#[derive(Debug)]
struct End {
    base: OwnedFd,
    path: Vec<u8>,
}

/// What a rename is asked to do, as the call has it.
#[derive(Debug, PartialEq, Eq)]
struct Words {
    /// Directory and the path's address, of the old name and of the new.
    ends: [(i32, u64); 2],
    flags: u64,
}

impl<'a> Renames<'a> {
    pub(super) fn new(setup: &'a Setup, listener: OwnedFd, ruleset: OwnedFd) -> Self {
        sys::answer_in_turns(listener.as_fd());
        Self { setup, listener, ruleset, copying: None, waiting: VecDeque::new() }
    }

    /// Readable when a rename waits for an answer.
    pub(super) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Takes one rename and answers it, or starts what must be done first.
    pub(super) fn answer(&mut self) {
        // The caller may have died meanwhile.
        let Ok(asked) = sys::asked(self.listener.as_fd()) else { return };
        if !self.is_directory_of_overlay(&asked) {
            sys::let_go_on(self.listener.as_fd(), asked.id);
        } else if self.copying.is_none() {
            self.prepare(&asked);
        } else if self.waiting.len() < WAITING_MAX {
            self.waiting.push_back(asked);
        } else {
            sys::let_go_on(self.listener.as_fd(), asked.id);
        }
    }

    /// Lets the call go on whose process has ended, and turns to the next.
    pub(super) fn ended(&mut self, pid: Pid) {
        let Some((_, id)) = self.copying.take_if(|(copying, _)| *copying == pid) else { return };
        sys::let_go_on(self.listener.as_fd(), id);
        while self.copying.is_none()
            && let Some(next) = self.waiting.pop_front()
        {
            self.prepare(&next);
        }
    }

    /// Looks at what the caller names. A wrong answer, as the caller can bring about by changing
    /// its memory meanwhile, costs a look by the confined process, or the EXDEV of before.
    fn is_directory_of_overlay(&self, asked: &Asked) -> bool {
        let Some(words) = Words::of(asked) else { return false };
        let count = if words.flags & EXCHANGE == 0 { 1 } else { 2 };
        words.ends[..count].iter().any(|(directory, address)| {
            let Ok(path) = read_path(asked.thread, *address) else { return false };
            let place = place(asked.thread, *directory, &path);
            let full = [place.as_bytes(), b"/", &path[..]].concat();
            rustix::fs::lstat(&full[..]).is_ok_and(|status| {
                FileType::from_raw_mode(status.st_mode) == FileType::Directory
                    && self.setup.overlays.contains(&status.st_dev)
            })
        })
    }

    /// Starts the process that copies; without one the call goes on at once.
    fn prepare(&mut self, asked: &Asked) {
        let started = Words::of(asked).ok_or(Errno::NOSYS).and_then(|words| {
            let ends = [End::open(asked, words.ends[0])?, End::open(asked, words.ends[1])?];
            if !sys::still_asks(self.listener.as_fd(), asked.id) {
                // Another process may have this number by now, and be what was looked at.
                return Err(Errno::SRCH);
            }
            match sys::clone(0)? {
                None => copy_confined(self.setup, self.ruleset.as_fd(), &ends, words.flags),
                Some(pid) => Ok(pid),
            }
        });
        match started {
            Ok(pid) => self.copying = Some((pid, asked.id)),
            Err(_) => sys::let_go_on(self.listener.as_fd(), asked.id),
        }
    }
}

/// Becomes the process that copies: as confined as the command, with nothing open but the
/// directories that the caller had open itself.
fn copy_confined(setup: &Setup, ruleset: BorrowedFd<'_>, ends: &[End; 2], flags: u64) -> ! {
    let prepare = || {
        sys::reserve_at(ruleset, RULESET)?;
        sys::reserve_at(ends[0].base.as_fd(), ORDER)?;
        sys::reserve_at(ends[1].base.as_fd(), RULESET + 1)?;
        sys::close_range(RULESET + 2)?;
        ids::set_dumpable(false)?;
        landlock::apply_closed(ruleset, setup.landlock)?;
        sys::install_filter(setup.program)
    };
    if prepare().is_err() {
        sys::exit_now(1);
    }
    // The owners above are those of init, of which this is a copy, and are never dropped here.
    let bases = [sys::adopt(ORDER), sys::adopt(RULESET + 1)];
    let names = [(bases[0].as_fd(), &ends[0].path[..]), (bases[1].as_fd(), &ends[1].path[..])];
    let done = copy::make_own(names, flags);
    sys::exit_now(i32::from(done.is_err()))
}

impl Words {
    fn of(asked: &Asked) -> Option<Self> {
        let [a, b, c, d, flags, _] = asked.arguments;
        #[expect(clippy::cast_possible_truncation, reason = "the kernel takes an int's bits")]
        let directory = |argument: u64| argument as i32;
        match asked.number.into() {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename => {
                Some(Self { ends: [(libc::AT_FDCWD, a), (libc::AT_FDCWD, b)], flags: 0 })
            }
            libc::SYS_renameat => {
                Some(Self { ends: [(directory(a), b), (directory(c), d)], flags: 0 })
            }
            libc::SYS_renameat2 => {
                Some(Self { ends: [(directory(a), b), (directory(c), d)], flags })
            }
            _ => None,
        }
    }
}

impl End {
    fn open(asked: &Asked, (directory, address): (i32, u64)) -> Result<Self, Errno> {
        let path = read_path(asked.thread, address)?;
        let place = place(asked.thread, directory, &path);
        let place = if place.is_empty() { "/" } else { &place };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { base: rustix::fs::openat(CWD, place, flags, Mode::empty())?, path })
    }
}

/// Returns the directory that a path of the caller's starts from; empty for the root, which is
/// every process's own in a cell.
fn place(thread: u32, directory: i32, path: &[u8]) -> String {
    if path.starts_with(b"/") {
        String::new()
    } else if directory == libc::AT_FDCWD {
        format!("/proc/{thread}/cwd")
    } else {
        format!("/proc/{thread}/fd/{directory}")
    }
}

/// Reads a path out of the caller's memory.
fn read_path(thread: u32, address: u64) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; PATH_MAX];
    let length = sys::read_memory(thread, address, &mut bytes)?;
    bytes.truncate(length);
    let end = bytes.iter().position(|byte| *byte == 0).ok_or(Errno::NAMETOOLONG)?;
    bytes.truncate(end);
    if bytes.is_empty() {
        return Err(Errno::NOENT);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_as_the_kernel_reads_them() {
        let asked = |number: libc::c_long, arguments| Asked {
            id: 1,
            thread: 1,
            number: i32::try_from(number).expect("a number"),
            arguments,
        };
        let here = libc::AT_FDCWD;
        #[cfg(target_arch = "x86_64")]
        assert_eq!(
            Words::of(&asked(libc::SYS_rename, [7, 8, 9, 9, 9, 9])),
            Some(Words { ends: [(here, 7), (here, 8)], flags: 0 })
        );
        let cwd = 0xffff_ffff_0000_0000 | u64::from(here.cast_unsigned());
        assert_eq!(
            Words::of(&asked(libc::SYS_renameat, [5, 7, cwd, 8, 2, 9])),
            Some(Words { ends: [(5, 7), (here, 8)], flags: 0 })
        );
        assert_eq!(
            Words::of(&asked(libc::SYS_renameat2, [5, 7, cwd, 8, 2, 9])),
            Some(Words { ends: [(5, 7), (here, 8)], flags: 2 })
        );
        assert_eq!(Words::of(&asked(libc::SYS_unlinkat, [0; 6])), None);
    }

    #[test]
    fn a_path_is_read_up_to_the_end_of_what_is_there() {
        let own = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
        let read = |bytes: &[u8]| read_path(own, bytes.as_ptr() as u64);
        assert_eq!(read(b"a/b\0c"), Ok(b"a/b".to_vec()));
        assert_eq!(read(b"\0"), Err(Errno::NOENT));
        assert_eq!(read(&[b'a'; PATH_MAX]), Err(Errno::NAMETOOLONG));
        assert_eq!(read_path(own, 1), Err(Errno::FAULT));
        let long = [vec![b'a'; 4000], vec![0; 96]].concat();
        assert_eq!(read(&long).map(|path| path.len()), Ok(4000));
    }

    #[test]
    fn paths_start_where_the_caller_starts_them() {
        assert_eq!(place(7, 3, b"/a"), "");
        assert_eq!(place(7, 3, b"a"), "/proc/7/fd/3");
        assert_eq!(place(7, libc::AT_FDCWD, b"a"), "/proc/7/cwd");
    }
}
