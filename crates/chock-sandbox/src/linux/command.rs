//! The command of a cell: confines itself to the last step, waits for its order, does it.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::cell::Setup;
use super::fail::Fail;
use super::order::{Order, Streams, Work, variable};
use super::proof::Status;
use super::talk::Report;
use super::{ids, landlock, sys, talk};
use crate::{Applied, Hand, Layer, StartStep};

/// The exit code of a command that was never started. Nobody sees it: a report went before.
const NOT_STARTED: i32 = 125;

/// How much sooner than others a command is killed for want of memory, of 1000.
const OFFERED: &str = "500";

/// The exit code of a hand that panicked, as of any Rust program.
const PANICKED: i32 = 101;

/// Becomes the command.
pub(super) fn run(
    setup: &Setup,
    socket: BorrowedFd<'_>,
    ruleset: BorrowedFd<'_>,
    questions: OwnedFd,
    mut layers: Vec<Applied>,
) -> ! {
    if let Err(fail) = confine(setup, ruleset, questions, &mut layers) {
        let _ = Report::Failed(fail).send(socket, &[]);
        sys::exit_now(NOT_STARTED);
    }
    if Report::Layers(layers).send(socket, &[]).is_err() {
        sys::exit_now(NOT_STARTED);
    }
    let Ok(Some((order, streams))) = Order::receive(socket) else { sys::exit_now(NOT_STARTED) };
    let (step, errno) = match order.work {
        Work::Execute { argv, environment } => {
            execute(&order.directory, &argv, &environment, &streams)
        }
        Work::Hand { name, request } => {
            lend_hand(setup.hands, &order.directory, &name, &request, streams)
        }
    };
    let _ = Report::NotStarted(step, errno).send(socket, &[]);
    sys::exit_now(NOT_STARTED)
}

/// Applies every layer of the process itself, and reads each back.
fn confine(
    setup: &Setup,
    ruleset: BorrowedFd<'_>,
    questions: OwnedFd,
    layers: &mut Vec<Applied>,
) -> Result<(), Fail> {
    let session = rustix::process::setsid().map_err(Fail::at(Layer::Session, "start a session"))?;
    if session != rustix::process::getpid() {
        return Err(Fail::at(Layer::Session, "read the session back")(Errno::PROTO));
    }
    layers.push(Applied { layer: Layer::Session, proof: "own, no terminal".to_owned() });
    // Its own files in `/proc` are its own again; init's stay closed.
    ids::set_dumpable(true).map_err(Fail::at(Layer::Landlock, "open its own files in proc"))?;
    // Whoever runs out of memory first, the machine or the session: the command goes, and not
    // its init, the keeper, or a program of the person's.
    ids::write_proc("/proc/self/oom_score_adj", OFFERED)
        .map_err(Fail::at(Layer::Limits, "offer itself when memory runs out"))?;
    layers.push(landlock::apply(ruleset, setup.landlock)?);
    let renames = install_filter(setup, questions)?;
    if sys::try_io_uring() != Err(Errno::NOSYS) {
        return Err(Fail::at(Layer::SystemCallFilter, "see a call refused")(Errno::PROTO));
    }
    read_back(renames, layers)
}

/// Installs the filter, and hands init what it needs to answer for renames. Says what came of
/// that: a machine whose own filter asks already, as some containers' do, allows no second one.
fn install_filter(setup: &Setup, questions: OwnedFd) -> Result<&'static str, Fail> {
    let at = |step| Fail::at(Layer::SystemCallFilter, step);
    if let Some(asking) = setup.asking
        && let Ok(listener) = sys::install_asking_filter(asking)
    {
        talk::send(questions.as_fd(), &[1], &[listener.as_fd()])
            .map_err(at("hand over its questions"))?;
        drop((listener, questions));
        // Nothing is there, and the answer comes only when init gives one.
        let missing = "/proc/self/fd/-1";
        if rustix::fs::rename(missing, missing) != Err(Errno::NOENT) {
            return Err(at("see a rename answered")(Errno::PROTO));
        }
        return Ok(", renames of base directories prepared");
    }
    sys::install_filter(setup.program).map_err(at("install the filter"))?;
    Ok(if setup.asking.is_some() { ", base directories cannot be renamed" } else { "" })
}

fn read_back(renames: &str, layers: &mut Vec<Applied>) -> Result<(), Fail> {
    let status = Status::of_self().map_err(Fail::at(Layer::Capabilities, "read its status"))?;
    let wrong = |layer| Fail::at(layer, "read it back from its status")(Errno::PROTO);
    if !status.no_capabilities {
        return Err(wrong(Layer::Capabilities));
    }
    if !status.no_new_privileges {
        return Err(wrong(Layer::NoNewPrivileges));
    }
    if status.filter_mode != 2 || status.filters < 1 {
        return Err(wrong(Layer::SystemCallFilter));
    }
    let mut push = |layer, proof: String| layers.push(Applied { layer, proof });
    push(Layer::Capabilities, "every set 0, locked".to_owned());
    push(Layer::NoNewPrivileges, "NoNewPrivs 1".to_owned());
    push(Layer::SystemCallFilter, format!("mode 2, {} filter{renames}", status.filters));
    push(Layer::Descriptors, "streams and the order only".to_owned());
    Ok(())
}

/// Puts the streams in place and enters the directory.
fn enter<T: AsFd>(directory: &CStr, streams: &Streams<T>) -> Result<(), (StartStep, Errno)> {
    let place = || {
        match &streams.input {
            Some(input) => sys::duplicate_to(input.as_fd(), 0)?,
            None => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let null = rustix::fs::open("/dev/null", flags, Mode::empty())?;
                sys::duplicate_to(null.as_fd(), 0)?;
            }
        }
        sys::duplicate_to(streams.output.as_fd(), 1)?;
        sys::duplicate_to(streams.errors.as_fd(), 2)
    };
    place().map_err(|errno| (StartStep::Execute, errno))?;
    if rustix::termios::isatty(sys::standard(0)) {
        // A pseudo terminal made for this call; one that controls another session is not taken.
        let _ = rustix::process::ioctl_tiocsctty(sys::standard(0));
    }
    sys::block_child_signal(false).map_err(|errno| (StartStep::Execute, errno))?;
    rustix::process::chdir(directory).map_err(|errno| (StartStep::Directory, errno))
}

/// Starts the program; returns only when that failed.
fn execute(
    directory: &CStr,
    argv: &[CString],
    environment: &[CString],
    streams: &Streams<OwnedFd>,
) -> (StartStep, Errno) {
    if let Err(failed) = enter(directory, streams) {
        return failed;
    }
    let pointers = |strings: &[CString]| {
        let ends = std::iter::once(ptr::null());
        strings.iter().map(|string| string.as_ptr()).chain(ends).collect::<Vec<_>>()
    };
    let (arguments, variables) = (pointers(argv), pointers(environment));
    let Some(program) = argv.first() else { return (StartStep::Execute, Errno::INVAL) };
    let mut answer = Errno::NOENT;
    for path in candidates(program, environment) {
        match sys::execute(&path, &arguments, &variables) {
            Errno::NOENT | Errno::NOTDIR => {}
            // Another directory may have one that may be executed.
            Errno::ACCESS => answer = Errno::ACCESS,
            errno => return (StartStep::Execute, errno),
        }
    }
    (StartStep::Execute, answer)
}

/// Returns where a program may be: at its path, or in each directory of `PATH`.
fn candidates(program: &CStr, environment: &[CString]) -> Vec<CString> {
    if program.to_bytes().contains(&b'/') {
        return vec![program.to_owned()];
    }
    let path = variable(environment, "PATH").unwrap_or(b"/usr/bin:/bin");
    let absolute = path.split(|byte| *byte == b':').filter(|part| part.first() == Some(&b'/'));
    absolute
        .filter_map(|part| CString::new([part, b"/", program.to_bytes()].concat()).ok())
        .collect()
}

/// Calls a hand of this binary; returns only when there is none of that name.
fn lend_hand(
    hands: &'static [Hand],
    directory: &CStr,
    name: &str,
    request: &[u8],
    streams: Streams<OwnedFd>,
) -> (StartStep, Errno) {
    let Some(hand) = hands.iter().find(|hand| hand.name == name) else {
        return (StartStep::Hand, Errno::NOENT);
    };
    if let Err(failed) = enter(directory, &streams) {
        return failed;
    }
    drop(streams);
    // The order socket is above the streams: a hand has what a program would have.
    if let Err(errno) = sys::close_range(3) {
        return (StartStep::Hand, errno);
    }
    let mut output = File::from(sys::adopt(1));
    // A panic must not unwind into the code of the cell, whose descriptors are closed.
    let call = AssertUnwindSafe(|| (hand.call)(request, &mut output));
    sys::exit_now(catch_unwind(call).unwrap_or(PANICKED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_in_absolute_directories_of_its_own_path() {
        let path = [c"PATH=/a:.:b::/c".to_owned()];
        assert_eq!(candidates(c"x", &path), [c"/a/x".to_owned(), c"/c/x".to_owned()]);
        assert_eq!(candidates(c"./x", &path), [c"./x".to_owned()]);
        assert_eq!(candidates(c"x", &[]), [c"/usr/bin/x".to_owned(), c"/bin/x".to_owned()]);
    }
}
