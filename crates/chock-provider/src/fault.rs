//! Why there is no reply.

use std::error::Error;
use std::time::Duration;

use chock_log::EndReason;

use crate::endpoint::CredentialsFault;

/// A cause that is another library's error.
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

/// Why a model gave no whole reply.
///
/// A refusal of the model is a reply and not here. After any of these the session
/// can go on: nothing of the reply counted. `message` is the server's own words,
/// bounded and on one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderFault {
    /// The person stopped it.
    #[error("stopped before the reply was whole")]
    Cancelled,

    /// The base URL cannot be one.
    #[error("`{url}` is not a base URL: {reason}")]
    BaseUrl {
        /// The URL as configured.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },

    /// The client could not be built.
    #[error("cannot prepare the connection to `{provider}`")]
    Client {
        /// The provider's row.
        provider: String,
        /// The cause.
        source: Cause,
    },

    /// The credential could not be had.
    #[error("no credential for `{provider}`")]
    Credential {
        /// The provider's row.
        provider: String,
        /// The cause.
        source: CredentialsFault,
    },

    /// Nothing answers at the address, after all tries.
    #[error("cannot reach `{url}` ({reason}): check base_url and that the server runs")]
    Unreachable {
        /// The URL.
        url: String,
        /// `connection refused`, `name not found` ...
        reason: String,
        /// The cause.
        source: Cause,
    },

    /// The server refuses the credential.
    #[error("`{provider}` refuses the credential (status {status}): {message}")]
    Key {
        /// The provider's row.
        provider: String,
        /// 401 or 403.
        status: u16,
        /// The server's words.
        message: String,
    },

    /// The server has no such model.
    #[error("`{provider}` has no model `{model}`{}: {message}", nearest(.near))]
    NoSuchModel {
        /// The provider's row.
        provider: String,
        /// The name that was asked for.
        model: String,
        /// The nearest names the server lists, best first; empty when none is near.
        near: Vec<String>,
        /// The server's words.
        message: String,
    },

    /// Something answers that is not the API.
    #[error("`{url}` answers with {answer} (status {status}) and not as a model: check base_url")]
    NotAnApi {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
        /// `an HTML page` or `something else`.
        answer: &'static str,
    },

    /// The server points elsewhere; a credential does not follow.
    #[error("`{url}` redirects to `{to}`: put the right address into base_url")]
    Redirect {
        /// The URL that was asked.
        url: String,
        /// Where it points.
        to: String,
    },

    /// The request is larger than the model takes.
    #[error("the conversation is too long for the model: {message}")]
    ContextTooLong {
        /// How many tokens it takes, if the server said.
        limit: Option<u64>,
        /// The server's words.
        message: String,
    },

    /// The server asks to wait, longer or more often than patience lasts.
    #[error("`{provider}` limits the rate, after {tries} tries: {message}")]
    RateLimited {
        /// The provider's row.
        provider: String,
        /// How often the request was sent.
        tries: u32,
        /// How long the server asks to wait, if it said.
        wait: Option<Duration>,
        /// The server's words.
        message: String,
    },

    /// The account has nothing left; waiting a little does not help.
    #[error("the account at `{provider}` is used up{}: {message}", resets_in(*.resets))]
    OutOfCredit {
        /// The provider's row.
        provider: String,
        /// When it has something again, from now, if the server said.
        resets: Option<Duration>,
        /// The server's words.
        message: String,
    },

    /// The server has more to do than it can, after all tries.
    #[error("`{provider}` is overloaded{}, after {tries} tries: {message}", status_of(*.status))]
    Overloaded {
        /// The provider's row.
        provider: String,
        /// The status; 0 when it was told inside a reply.
        status: u16,
        /// How often the request was sent.
        tries: u32,
        /// The server's words.
        message: String,
    },

    /// The server failed, after all tries.
    #[error("`{provider}` failed (status {status}) in {tries} tries: {message}")]
    Server {
        /// The provider's row.
        provider: String,
        /// The status.
        status: u16,
        /// How often the request was sent.
        tries: u32,
        /// The server's words.
        message: String,
    },

    /// The server refuses the request, and speaks of a picture.
    #[error("`{provider}` refuses the request (status {status}): {message}")]
    Picture {
        /// The provider's row.
        provider: String,
        /// The status.
        status: u16,
        /// The server's words.
        message: String,
    },

    /// The server refuses the request for another reason.
    #[error("`{provider}` refuses the request (status {status}): {message}")]
    Rejected {
        /// The provider's row.
        provider: String,
        /// The status.
        status: u16,
        /// The server's words.
        message: String,
    },

    /// The server reported an error in the middle of its reply.
    #[error("`{provider}` broke off its reply: {message}")]
    Interrupted {
        /// The provider's row.
        provider: String,
        /// The server's words.
        message: String,
    },

    /// The connection ended before the reply did.
    #[error("the reply of `{provider}` was cut off")]
    Cut {
        /// The provider's row.
        provider: String,
        /// The cause; `None` for an orderly end without the final event.
        source: Option<Cause>,
    },

    /// The server was silent for too long.
    #[error("`{provider}` was silent for {} seconds", .idle.as_secs())]
    Silent {
        /// The provider's row.
        provider: String,
        /// How long.
        idle: Duration,
    },

    /// The reply is not what the wire prescribes.
    #[error("the reply of `{provider}` cannot be read: {reason}")]
    Malformed {
        /// The provider's row.
        provider: String,
        /// What is wrong.
        reason: String,
    },

    /// The reply is larger than Chock takes.
    #[error("the reply of `{provider}` has more than {max} {what}")]
    TooLarge {
        /// The provider's row.
        provider: String,
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        max: usize,
    },

    /// A script cannot be read.
    #[error("the script cannot be read")]
    Script {
        /// Where and why.
        source: Cause,
    },

    /// A script has no reply left.
    #[error("the script of `{provider}` has {turns} turns, and all were played")]
    OutOfTurns {
        /// The provider's row.
        provider: String,
        /// How many there are.
        turns: usize,
    },
}

impl ProviderFault {
    /// Says whether another model may be asked in the place of this one: its server is overloaded.
    #[must_use]
    pub fn is_overload(&self) -> bool {
        matches!(self, Self::Overloaded { .. })
    }

    /// Names the reason that a session ends with after this fault.
    #[must_use]
    pub fn end_reason(&self) -> EndReason {
        match self {
            Self::Cancelled => EndReason::Cancelled,
            // What resets by itself is a limit, however far away it is.
            Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::OutOfCredit { resets: Some(_), .. } => EndReason::RateLimited,
            Self::BaseUrl { .. }
            | Self::Client { .. }
            | Self::Credential { .. }
            | Self::Unreachable { .. }
            | Self::Key { .. }
            | Self::NoSuchModel { .. }
            | Self::NotAnApi { .. }
            | Self::Redirect { .. }
            | Self::ContextTooLong { .. }
            | Self::OutOfCredit { resets: None, .. }
            | Self::Server { .. }
            | Self::Picture { .. }
            | Self::Rejected { .. }
            | Self::Interrupted { .. }
            | Self::Cut { .. }
            | Self::Silent { .. }
            | Self::Malformed { .. }
            | Self::TooLarge { .. }
            | Self::Script { .. }
            | Self::OutOfTurns { .. } => EndReason::Fault,
        }
    }
}

fn nearest(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    format!(" (nearest: {})", near.join(", "))
}

fn status_of(status: u16) -> String {
    if status == 0 { String::new() } else { format!(" (status {status})") }
}

fn resets_in(resets: Option<Duration>) -> String {
    resets.map(|wait| format!(", again in {}", span(wait))).unwrap_or_default()
}

/// Writes a span as people say it, rounded up: `45 s`, `12 min`, `3 h 5 min`.
fn span(wait: Duration) -> String {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let minutes = seconds.div_ceil(60);
    match seconds {
        0..=90 => format!("{seconds} s"),
        91..=5400 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_like_words() {
        let cases =
            [(0, "0 s"), (90, "90 s"), (91, "2 min"), (5400, "90 min"), (11_100, "3 h 5 min")];
        for (seconds, words) in cases {
            assert_eq!(span(Duration::from_secs(seconds)), words);
        }
    }
}
