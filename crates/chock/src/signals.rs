//! Ctrl-C once stops the turn cleanly, twice ends the program.

use std::io;
use std::thread;

use chock_agent::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// What a shell expects of a program that a second interrupt ended: 128 and the signal.
const INTERRUPTED: i32 = 130;

/// Listens for the signals that end a program, on a thread of its own.
///
/// The first stops the run at its next step; the second ends the process, and the
/// kernel ends the keeper with everything in it.
pub(crate) fn listen(stop: Stop) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut all = signals.forever();
        if all.next().is_some() {
            stop.trigger();
        }
        if all.next().is_some() {
            crate::pty::give_back();
            #[expect(clippy::exit, reason = "a second signal ends the program at once")]
            std::process::exit(INTERRUPTED);
        }
    })?;
    Ok(())
}
