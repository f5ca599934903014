//! Rights that the agent gives up, and asks back.

use chock_broker::{Promised, Verdict};
use chock_log::{Ended, Outcome, PromiseBody, ToolCall};

use crate::agent::{Agent, Finish};

impl Agent<'_> {
    /// Takes a promise, or has a person asked whether one is lifted.
    pub(crate) fn promise(&mut self, call: &ToolCall, promise: &PromiseBody) -> Result<(), Finish> {
        let PromiseBody { action, ceiling, .. } = promise;
        let (ended, text) = match self.house.broker.promise(&call.id, promise) {
            Promised::Kept => (
                Ended::Done,
                format!("from now on `{action}` is at most {ceiling}; only the person can lift it\n"),
            ),
            Promised::Already => {
                (Ended::Done, format!("`{action}` is at most {ceiling} already: nothing changed\n"))
            }
            Promised::Under { pattern, ceiling: held } => (
                Ended::Fault,
                format!(
                    "you promised that `{pattern}` is at most {held}, which covers `{action}`; to \
                     ask for that back, name `{pattern}` itself\n"
                ),
            ),
            Promised::TooMany => (
                Ended::Fault,
                "there are as many promises as a session can hold; a prefix such as `net.*` covers \
                 many actions\n"
                    .to_owned(),
            ),
            Promised::Malformed(words) => (Ended::Fault, format!("restrict_self: {words}\n")),
            Promised::NotRecorded(fault) => return Err(Finish::log_failed(&fault)),
            Promised::Lifts(proposal) => {
                let permit = match self.house.broker.judge(proposal) {
                    Verdict::Permitted(permit) => permit,
                    Verdict::Refused(refusal) => return self.finish_refused(call, refusal),
                };
                let lifted = self.house.broker.widen(permit);
                lifted.map_err(|fault| Finish::log_failed(&fault))?;
                (Ended::Done, format!("the person agreed: `{action}` is now at most {ceiling}\n"))
            }
        };
        self.finish(call, Outcome::new(ended, text))
    }
}
