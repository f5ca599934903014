//! Ctrl-C once stops the turn cleanly, twice ends the program.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use chock_agent::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// What a shell expects of a program that a second interrupt ended: 128 and the signal.
const INTERRUPTED: i32 = 130;

/// Counts the signals that asked for an end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard(Arc<AtomicUsize>);

impl Heard {
    /// Says whether a signal asked for an end.
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

/// Listens for the signals that end a program, on a thread of its own.
///
/// The first stops the run at its next step; the second ends the process, and the
/// kernel ends the keeper with everything in it.
pub(crate) fn listen(stop: Stop) -> io::Result<Heard> {
    let heard = Heard::default();
    let counter = heard.clone();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            if counter.0.fetch_add(1, Ordering::AcqRel) > 0 {
                #[expect(clippy::exit, reason = "a second signal ends the program at once")]
                std::process::exit(INTERRUPTED);
            }
            stop.trigger();
        }
    })?;
    Ok(heard)
}
