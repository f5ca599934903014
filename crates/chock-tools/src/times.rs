//! How long the acts of a session may take.

use std::time::Duration;

/// The time limits of a session's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// A command whose call says nothing.
    pub call: Duration,
    /// The most that a call can ask for.
    pub call_max: Duration,
    /// A background task whose call says nothing.
    pub task: Duration,
    /// The most that a background task can ask for.
    pub task_max: Duration,
}

impl Times {
    /// Returns what holds when nobody said otherwise: 2 minutes, at most 10, for a call, and half
    /// an hour, at most a day, for a background task. Source: the format's earlier version, and
    /// `limits.time_s`, which goes up to a day.
    #[must_use]
    pub const fn usual() -> Self {
        Self {
            call: Duration::from_secs(120),
            call_max: Duration::from_secs(600),
            task: Duration::from_secs(1800),
            task_max: Duration::from_secs(86_400),
        }
    }

    /// Lowers each to at most `limit`.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        let Self { call, call_max, task, task_max } = self;
        Self {
            call: call.min(limit),
            call_max: call_max.min(limit),
            task: task.min(limit),
            task_max: task_max.min(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_lowers_and_never_raises() {
        let usual = Times::usual();
        assert_eq!(usual.within(Duration::MAX), usual);
        let hour = usual.within(Duration::from_secs(3600));
        assert_eq!((hour.call_max, hour.task), (usual.call_max, usual.task));
        assert_eq!(hour.task_max, Duration::from_secs(3600));
        let short = Duration::from_secs(30);
        let all = Times { call: short, call_max: short, task: short, task_max: short };
        assert_eq!(usual.within(short), all);
    }
}
