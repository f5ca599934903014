//! How a time is taken: both sides in turn, spaced, the medians compared.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// The pause before each run, so that the kernel is done with the one before (mounts and
/// namespaces are taken down late).
const GAP: Duration = Duration::from_millis(20);

/// What a row came to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Measured {
    /// Two times.
    Pair(Pair),
    /// An amount of memory.
    Mebibytes(f64),
}

/// The medians of both sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    /// Chock's.
    pub(super) ours: Duration,
    /// The peer's.
    pub(super) theirs: Duration,
    /// The least of both: what a machine that does something else meanwhile still shows.
    pub(super) least: (Duration, Duration),
}

impl Pair {
    /// Returns ours divided by theirs.
    pub(super) fn ratio(&self) -> f64 {
        self.ours.as_secs_f64() / self.theirs.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl Measured {
    /// Returns the number of the row.
    pub(super) fn value(&self) -> String {
        match self {
            Self::Pair(pair) => format!("{:.2}", pair.ratio()),
            Self::Mebibytes(amount) => format!("{amount:.1}"),
        }
    }

    /// Returns what stands behind the number.
    pub(super) fn detail(&self) -> String {
        match self {
            Self::Pair(Pair { ours, theirs, least }) => {
                let (our_least, their_least) = least;
                let words = format!("{ours:.1?} against {theirs:.1?}");
                format!("{words}, at the least {our_least:.1?} against {their_least:.1?}")
            }
            Self::Mebibytes(amount) => format!("{amount:.1} MiB at its peak"),
        }
    }
}

/// Runs both sides in turn, `rounds` times after one round that does not count.
///
/// # Errors
///
/// The first run that failed on either side.
pub(super) fn alternate(
    rounds: usize,
    mut ours: impl FnMut() -> Result<Duration>,
    mut theirs: impl FnMut() -> Result<Duration>,
) -> Result<Measured> {
    let mut times = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        thread::sleep(GAP);
        let our_time = ours()?;
        thread::sleep(GAP);
        let their_time = theirs()?;
        if round > 0 {
            times.0.push(our_time);
            times.1.push(their_time);
        }
    }
    let least = (least(&times.0), least(&times.1));
    Ok(Measured::Pair(Pair { ours: median(times.0), theirs: median(times.1), least }))
}

/// Runs a command to its end and returns how long that took. Its output is thrown away.
///
/// # Errors
///
/// It could not be started, or it failed.
pub(super) fn timed(command: &mut Command) -> Result<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    let time = start.elapsed();
    ensure!(status.success(), "{command:?}: {status}");
    Ok(time)
}

fn least(times: &[Duration]) -> Duration {
    times.iter().copied().min().unwrap_or_default()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn the_first_round_does_not_count() {
        let mut runs = 0..;
        let ours = || Ok(Duration::from_secs(if runs.next() == Some(0) { 100 } else { 3 }));
        let measured = alternate(3, ours, || Ok(Duration::from_secs(2))).expect("both sides run");
        assert_eq!(measured.value(), "1.50");
    }

    #[test]
    fn a_side_that_fails_ends_the_row() {
        assert!(alternate(1, || bail!("gone"), || Ok(Duration::ZERO)).is_err());
        timed(&mut Command::new("false")).expect_err("a failing command");
    }
}
