//! Decides whether and when a failed request is sent again.

use std::time::Duration;

use chock_log::RetryBody;

use crate::endpoint::Patience;
use crate::fault::ProviderFault;

/// How often a server that nothing reaches is tried: a restart passes, a wrong address does not.
const CONNECTS_MAX: u32 = 3;

/// One failed try.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What is reported if there is no other try.
    fault: Box<ProviderFault>,
    /// Whether there may be one.
    again: Again,
}

impl Failure {
    pub(crate) fn new(fault: ProviderFault, again: Again) -> Self {
        Self { fault: Box::new(fault), again }
    }

    pub(crate) fn fault(self) -> ProviderFault {
        *self.fault
    }
}

/// Whether a failed request may be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Again {
    /// No: it would fail the same way.
    Never,
    /// After a wait.
    Later {
        /// The least wait, if the server named one.
        asked: Option<Duration>,
        /// Why, in a few words.
        reason: String,
    },
    /// After a wait, but not for long: nothing answers at all.
    Reconnect {
        /// Why, in a few words.
        reason: String,
    },
    /// At once, and once in a reply: the connection broke.
    Once,
}

/// The tries of one reply.
#[derive(Debug)]
pub(crate) struct Course {
    patience: Patience,
    sent: u32,
    waited: Duration,
    cut: bool,
    retries: Vec<RetryBody>,
}

/// What comes before the next try.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing.
    Now,
    /// A wait.
    Wait(Duration),
}

impl Course {
    pub(crate) fn new(patience: Patience) -> Self {
        let (waited, retries) = (Duration::ZERO, Vec::new());
        Self { patience, sent: 0, waited, cut: false, retries }
    }

    /// Counts a try and returns its number, from 1.
    pub(crate) fn send(&mut self) -> u32 {
        self.sent += 1;
        self.sent
    }

    /// Returns the waits so far.
    pub(crate) fn retries(self) -> Vec<RetryBody> {
        self.retries
    }

    /// Returns the last wait.
    pub(crate) fn last(&self) -> Option<&RetryBody> {
        self.retries.last()
    }

    /// Decides what follows a failed try. `chance` is evenly spread over 0 to 1.
    pub(crate) fn after(&mut self, failure: Failure, chance: f64) -> Result<Next, ProviderFault> {
        let Failure { fault, again } = failure;
        let (asked, reason, tries) = match again {
            Again::Never => return Err(*fault),
            Again::Once if self.cut || self.sent >= self.patience.tries => return Err(*fault),
            Again::Once => {
                self.cut = true;
                self.note(Duration::ZERO, "the reply was cut off".to_owned());
                return Ok(Next::Now);
            }
            Again::Later { asked, reason } => (asked, reason, self.patience.tries),
            Again::Reconnect { reason } => (None, reason, self.patience.tries.min(CONNECTS_MAX)),
        };
        let wait = self.wait(asked, chance);
        if self.sent >= tries || self.waited.saturating_add(wait) > self.patience.total {
            return Err(*fault);
        }
        self.waited += wait;
        self.note(wait, reason);
        Ok(Next::Wait(wait))
    }

    /// Returns at least what the server asked for, else a doubling one; both a little uneven,
    /// so that many clients do not come back together.
    fn wait(&self, asked: Option<Duration>, chance: f64) -> Duration {
        let base = self.patience.base;
        match asked {
            Some(asked) => asked.saturating_add(base.mul_f64(chance / 4.0)),
            None => {
                let doubled = base.saturating_mul(1 << self.sent.saturating_sub(1).min(10));
                doubled.mul_f64(0.75 + chance / 2.0)
            }
        }
    }

    fn note(&mut self, wait: Duration, reason: String) {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        self.retries.push(RetryBody { attempt: self.sent + 1, seconds, reason });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience {
        tries: 6,
        base: Duration::from_secs(2),
        total: Duration::from_secs(100),
        connect: Duration::ZERO,
        idle: Duration::ZERO,
    };

    fn later(seconds: Option<u64>) -> Again {
        Again::Later { asked: seconds.map(Duration::from_secs), reason: "busy".to_owned() }
    }

    /// Plays failures and lists the waits in milliseconds until there is no other try.
    fn waits(failures: impl IntoIterator<Item = Again>, chance: f64) -> Vec<u128> {
        let mut course = Course::new(PATIENCE);
        let play = failures.into_iter().map_while(|again| {
            course.send();
            let failure = Failure::new(ProviderFault::Cancelled, again);
            match course.after(failure, chance).ok()? {
                Next::Now => Some(0),
                Next::Wait(wait) => Some(wait.as_millis()),
            }
        });
        play.collect()
    }

    #[test]
    fn waits_double_until_the_tries_end() {
        let forever = || std::iter::repeat_with(|| later(None));
        assert_eq!(waits(forever(), 0.5), [2000, 4000, 8000, 16_000, 32_000]);
        assert_eq!(waits(forever(), 0.0), [1500, 3000, 6000, 12_000, 24_000]);
        assert_eq!(waits(forever(), 1.0), [2500, 5000, 10_000, 20_000, 40_000]);
    }

    #[test]
    fn a_wait_is_never_shorter_than_asked() {
        assert_eq!(waits([later(Some(7)), later(Some(1))], 0.0), [7000, 1000]);
        assert_eq!(waits([later(Some(7)), later(None)], 1.0), [7500, 5000]);
    }

    #[test]
    fn patience_ends_before_a_wait_that_it_does_not_outlast() {
        assert_eq!(waits([later(Some(101))], 0.0), [0; 0]);
        assert_eq!(waits([later(Some(60)), later(Some(60))], 0.0), [60_000]);
    }

    #[test]
    fn a_cut_is_mended_once() {
        assert_eq!(waits([Again::Once, Again::Once], 0.5), [0]);
        assert_eq!(waits([Again::Once, later(None), Again::Once], 0.5), [0, 4000]);
    }

    #[test]
    fn what_cannot_be_reached_is_soon_given_up() {
        let reconnect = || Again::Reconnect { reason: "refused".to_owned() };
        assert_eq!(waits(std::iter::repeat_with(reconnect), 0.5), [2000, 4000]);
        assert_eq!(waits([Again::Never], 0.5), [0; 0]);
    }
}
