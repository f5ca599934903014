//! `request_action`: something that Chock does outside of the cage, when the person agrees.

use chock_log::Session;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Prepared, Tool};
use crate::desk::Desk;
use crate::names::escaped;

/// The one action that can be requested.
const APPLY: &str = "workspace.apply";

/// The longest action, in bytes. Source: the format's earlier version.
const ACTION_BYTES_MAX: usize = 64;

/// The longest reason, in bytes. Source: the format's earlier version.
const REASON_BYTES_MAX: usize = 500;

pub(crate) struct RequestAction;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The action: workspace.apply, which carries your commits into the person's repository.
    action: String,
    /// Why, in a sentence. The person sees it.
    reason: String,
}

impl Tool for RequestAction {
    const NAME: &'static str = "request_action";
    const DESCRIPTION: &'static str = "Asks for something to be done outside of the cage; the person decides. \
         `workspace.apply` carries what you committed into the person's repository: commit first. At the end of the \
         work it is asked for by itself.";
    type Arguments = Arguments;

    fn prepare(arguments: Arguments, _: &Desk, _: &Session) -> Result<Prepared, String> {
        let Arguments { action, reason } = arguments;
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
        if action != APPLY {
            return Err(format!(
                "nothing here can do `{}`, so nobody was asked: only `{APPLY}` can be requested; \
                 say in your answer what the person should run",
                escaped(&action)
            ));
        }
        Ok(Prepared::Apply { reason })
    }
}
