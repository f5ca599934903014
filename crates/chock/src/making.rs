//! Tells a person who waits for it that the files of a commit are made ready.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chock_workspace::{Making, Progress};

use crate::show::Show;

/// What is done sooner is not spoken of.
const QUIET: Duration = Duration::from_secs(1);

/// How often the line is drawn.
const EVERY: Duration = Duration::from_millis(200);

/// Draws the progress, or says once that it takes a while where nothing can be drawn.
pub(crate) fn progress(show: &Arc<Mutex<Show>>) -> Progress {
    let (show, pace) = (show.clone(), Mutex::new(Pace { next: Instant::now() }));
    Progress::new(move |making| {
        let step = pace.lock().unwrap_or_else(PoisonError::into_inner).step(making, Instant::now());
        let mut show = show.lock().expect("invariant: nobody panics while showing");
        match step {
            Step::Nothing => {}
            Step::Draw(percent) => {
                show.draw("making this commit's files ready, once", &format!("{percent} %"));
            }
            Step::Stop => show.stop_drawing(),
        }
    })
}

/// When the line is drawn next.
struct Pace {
    next: Instant,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    Draw(u64),
    Stop,
}

impl Pace {
    fn step(&mut self, making: Making, now: Instant) -> Step {
        if making.done == making.total {
            return Step::Stop;
        }
        if making.done == 0 {
            self.next = now + QUIET;
        } else if now >= self.next {
            self.next = now + EVERY;
            return Step::Draw(making.done * 100 / making.total);
        }
        Step::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_takes_long_is_spoken_of() {
        let start = Instant::now();
        let mut pace = Pace { next: start };
        let mut at = |done, milliseconds| {
            pace.step(Making { done, total: 200 }, start + Duration::from_millis(milliseconds))
        };
        assert_eq!(at(0, 5), Step::Nothing);
        assert_eq!(at(100, 900), Step::Nothing);
        assert_eq!(at(110, 1010), Step::Draw(55));
        assert_eq!(at(120, 1100), Step::Nothing);
        assert_eq!(at(199, 1300), Step::Draw(99));
        assert_eq!(at(200, 1301), Step::Stop);
    }
}
