//! The seam to an agent that reviews acts of others.

use chock_log::{ReviewVerdict, UsageBody};

/// One act, for a reviewer's eyes. The asking agent wrote the reason and parts of the effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRequest {
    /// The strictest action.
    pub action: String,
    /// The tool that asks.
    pub tool: String,
    /// The kinds of agent from the root to the one that asks.
    pub chain: Vec<String>,
    /// What the agent said before it asked, at most [`REASON_CHARACTERS`] of it.
    pub reason: String,
    /// What would be done, whole.
    pub effect: String,
    /// Why the action is guarded.
    pub why: &'static str,
}

/// How much of the agent's own words a reviewer reads.
pub const REASON_CHARACTERS: usize = 500;

/// What a reviewer came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    /// Its answer.
    pub verdict: ReviewVerdict,
    /// Its words, or why there are none.
    pub note: String,
    /// What it cost.
    pub usage: Option<UsageBody>,
}

impl Review {
    /// Says that there was no review, and why.
    #[must_use]
    pub fn unavailable(why: impl Into<String>) -> Self {
        Self { verdict: ReviewVerdict::Unavailable, note: why.into(), usage: None }
    }
}

/// Reviews acts. It has no tools and sees nothing but the request.
pub trait Reviewer {
    /// Reviews one act.
    fn review(&mut self, request: &ReviewRequest) -> Review;
}

/// The reviewer of a session that has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoReviewer;

impl Reviewer for NoReviewer {
    fn review(&mut self, _request: &ReviewRequest) -> Review {
        Review::unavailable("this session has no reviewer")
    }
}
