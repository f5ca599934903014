//! Carrying the agent's commits: asked for by a call, or at the end of a run.

use chock_broker::Cause;
use chock_log::{EndReason, Ended, Outcome, ToolCall};

use crate::agent::{Agent, Finish};
use crate::seams::{Asked, Brought, Sight};

impl Agent<'_> {
    /// Answers a call that asks for an apply.
    pub(crate) fn apply(&mut self, call: &ToolCall, reason: &str) -> Result<(), Finish> {
        let asked = Asked { call: &call.id, reason };
        let house = &mut self.house;
        let (ended, text) = match house.errands.apply(&mut house.broker, Some(&asked)) {
            Brought::Nothing { uncommitted } => (Ended::Fault, nothing(uncommitted)),
            Brought::Done(words) => (Ended::Done, format!("{words}\n")),
            Brought::Not(words) => (Ended::Fault, format!("{words}\n")),
            Brought::Refused(refusal) => return self.finish_refused(call, refusal),
        };
        self.finish(call, Outcome::new(ended, text))
    }

    /// Carries the commits of a run that came to its end, and says what became of them.
    pub(crate) fn apply_at_the_end(&mut self, finish: Finish) -> Finish {
        if finish.reason != EndReason::Finished {
            return finish;
        }
        let house = &mut self.house;
        let words = match house.errands.apply(&mut house.broker, None) {
            Brought::Nothing { .. } => return finish,
            Brought::Done(words) | Brought::Not(words) => words,
            Brought::Refused(refusal) => {
                if let Cause::NotRecorded(fault) = &refusal.cause {
                    return Finish::log_failed(fault);
                }
                format!("the commits stay in the session: {}", refusal.sentence())
            }
        };
        (self.house.watcher)(Sight::Warning(&words));
        finish
    }
}

fn nothing(uncommitted: u64) -> String {
    let files = match uncommitted {
        0 => "nothing is changed either".to_owned(),
        1 => "1 file is changed and not committed".to_owned(),
        count => format!("{count} files are changed and not committed"),
    };
    format!("there is no commit to carry, so nobody was asked; {files}\n")
}

#[cfg(test)]
mod tests {
    use super::nothing;

    #[test]
    fn files_that_are_not_committed_are_counted() {
        for (count, words) in [(0, "nothing is"), (1, "1 file is"), (12, "12 files are")] {
            assert!(nothing(count).contains(words));
        }
    }
}
