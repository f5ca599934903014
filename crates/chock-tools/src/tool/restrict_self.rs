//! `restrict_self`: rights that the agent gives up.

use chock_log::{PromiseBody, Session};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Prepared, Tool};
use crate::desk::Desk;

/// The longest pattern, in bytes. Source: the format's earlier version.
const ACTION_BYTES_MAX: usize = 64;

/// The longest reason, in bytes. Source: the format's earlier version.
const REASON_BYTES_MAX: usize = 500;

pub(crate) struct RestrictSelf;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// An action such as git.push, or a prefix such as net.* for everything below it.
    action: String,
    /// The most that is left of it, for the rest of the session.
    ceiling: Ceiling,
    /// Why, in a sentence.
    reason: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Ceiling {
    Deny,
    AgentThenHuman,
    Ask,
    AgentReview,
    Allow,
}

impl Tool for RestrictSelf {
    const NAME: &'static str = "restrict_self";
    const DESCRIPTION: &'static str = "Gives up rights for the rest of the session: the named actions are at most what \
         `ceiling` says. It holds at once. To take a promise back, name exactly its action with a higher ceiling; the \
         person is asked.";
    type Arguments = Arguments;

    fn prepare(arguments: Arguments, _: &Desk, _: &Session) -> Result<Prepared, String> {
        let Arguments { action, ceiling, reason } = arguments;
        for (name, text, most) in
            [("action", &action, ACTION_BYTES_MAX), ("reason", &reason, REASON_BYTES_MAX)]
        {
            if text.len() > most {
                return Err(format!("`{name}` has {} bytes: the limit is {most}", text.len()));
            }
            if text.trim().is_empty() {
                return Err(format!("`{name}` is empty"));
            }
        }
        let ceiling = match ceiling {
            Ceiling::Deny => "deny",
            Ceiling::AgentThenHuman => "agent_then_human",
            Ceiling::Ask => "ask",
            Ceiling::AgentReview => "agent_review",
            Ceiling::Allow => "allow",
        };
        Ok(Prepared::Promise(PromiseBody { action, ceiling: ceiling.to_owned(), reason }))
    }
}
