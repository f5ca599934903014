//! Tells how far the making of a base is.

use std::fmt;
use std::sync::Arc;

/// How far a base is. Steps are about as many as two for each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Making {
    /// Steps that are done.
    pub done: u64,
    /// Steps in all.
    pub total: u64,
}

/// Called while a base is made, from the thread that makes it: at the start, at the end, and
/// after about every hundredth part.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(Making) + Send + Sync>);

impl Progress {
    /// Calls `told` with each step.
    pub fn new(told: impl Fn(Making) + Send + Sync + 'static) -> Self {
        Self(Arc::new(told))
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new(|_| ())
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Progress")
    }
}

/// Counts the steps of one making.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    progress: &'a Progress,
    at: Making,
}

impl<'a> Steps<'a> {
    pub(crate) fn begin(progress: &'a Progress, total: u64) -> Self {
        let steps = Self { progress, at: Making { done: 0, total } };
        steps.tell();
        steps
    }

    /// One more step is done.
    pub(crate) fn step(&mut self) {
        self.at.done = (self.at.done + 1).min(self.at.total);
        if self.at.done == self.at.total
            || self.at.done.is_multiple_of((self.at.total / 100).max(1))
        {
            self.tell();
        }
    }

    fn tell(&self) {
        (self.progress.0)(self.at);
    }
}
