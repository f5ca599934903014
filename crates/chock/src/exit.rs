//! How the program ends: a code for scripts, and one error for a person.

use std::fmt;
use std::io;
use std::process::ExitCode;

use chock_log::EndReason;
pub(crate) use chock_log::causes;

/// The exit codes of design section 10; a caged program of `exec` adds its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Finished,
    /// It could not start, or the words were not understood.
    NotStarted,
    Fault,
    Refused,
    TurnLimit,
    NoProgress,
    Budget,
    /// A required audit sink lacks lines of the log.
    AuditGap,
    EmptyAnswer,
    ModelRefused,
    RateLimited,
    /// `doctor`: no session can be contained on this machine.
    CannotContain,
    /// `sessions verify`: a log does not say what was written.
    NotIntact,
    /// `exec`: what the command itself ended with.
    Command(u8),
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Finished => 0,
            Self::NotStarted => 1,
            Self::Fault | Self::CannotContain | Self::NotIntact => 2,
            Self::Refused => 3,
            Self::TurnLimit => 4,
            Self::NoProgress => 6,
            Self::Budget => 7,
            Self::AuditGap => 9,
            Self::EmptyAnswer => 10,
            Self::ModelRefused => 11,
            Self::RateLimited => 12,
            Self::Command(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl From<EndReason> for Exit {
    fn from(reason: EndReason) -> Self {
        match reason {
            EndReason::Finished => Self::Finished,
            EndReason::Cancelled => Self::Refused,
            EndReason::TurnLimit => Self::TurnLimit,
            EndReason::NoProgress => Self::NoProgress,
            EndReason::Budget => Self::Budget,
            EndReason::AuditGap => Self::AuditGap,
            EndReason::EmptyAnswer => Self::EmptyAnswer,
            EndReason::Refused => Self::ModelRefused,
            EndReason::RateLimited => Self::RateLimited,
            EndReason::Fault | EndReason::LogFull | EndReason::Other => Self::Fault,
        }
    }
}

/// Why a command stopped, in words for a person, and the code that goes with it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Failure {
    /// Says why nothing was started.
    pub(crate) fn start(message: impl Into<String>) -> Self {
        Self { exit: Exit::NotStarted, message: message.into() }
    }

    /// Says what failed on the way.
    pub(crate) fn fault(message: impl Into<String>) -> Self {
        Self { exit: Exit::Fault, message: message.into() }
    }

    /// Turns an error with all its causes into a reason not to start.
    pub(crate) fn because(fault: &dyn std::error::Error) -> Self {
        Self::start(causes(fault))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl From<io::Error> for Failure {
    fn from(fault: io::Error) -> Self {
        if fault.kind() == io::ErrorKind::BrokenPipe {
            // Whoever read the answer has enough of it: that is their word, and no fault.
            return Self { exit: Exit::Finished, message: String::new() };
        }
        Self::fault(format!("cannot write the output: {fault}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_the_code_of_the_contract() {
        let cases = [
            (EndReason::Finished, 0),
            (EndReason::Fault, 2),
            (EndReason::Cancelled, 3),
            (EndReason::TurnLimit, 4),
            (EndReason::NoProgress, 6),
            (EndReason::Budget, 7),
            (EndReason::AuditGap, 9),
            (EndReason::EmptyAnswer, 10),
            (EndReason::Refused, 11),
            (EndReason::RateLimited, 12),
            (EndReason::LogFull, 2),
            (EndReason::Other, 2),
        ];
        for (reason, code) in cases {
            assert_eq!(Exit::from(reason).code(), code, "{reason:?}");
        }
    }
}
