//! When a session stops by itself.

use chock_log::{EndReason, Seq, Session};

use crate::agent::Finish;
use crate::budget::Budget;
use crate::steps::{LOOKED_AT, Step, steps};

/// How often one failing call may come back with the same failure, within [`WINDOW`] calls.
const SAME_FAILURE_MAX: usize = 3;

/// How often in a row one call may come back with the same success: polling is legitimate.
const SAME_SUCCESS_MAX: usize = LOOKED_AT;

/// How many calls in a row may be malformed or refused, whatever they are.
const FAULTS_IN_A_ROW_MAX: usize = 24;

/// After how many of them, and again after as many more, the agent is told.
const FAULTS_TOLD_AT: usize = 8;

/// How many calls are looked back at for a repeated one.
pub(crate) const WINDOW: usize = 5;

/// Limits of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The most replies the model may give in this run.
    pub turns: Option<u64>,
    /// What the session may use in all.
    pub budget: Budget,
}

impl Bounds {
    /// Says why the model is not asked again, if it is not.
    ///
    /// `turns_before` is the session's count of replies when this run began.
    #[must_use]
    pub fn reached(&self, session: &Session, turns_before: u64) -> Option<Finish> {
        if self.turns.is_some_and(|most| session.turns.saturating_sub(turns_before) >= most) {
            return Some(Finish::new(EndReason::TurnLimit, ""));
        }
        if let Some(words) = self.budget.reached(session) {
            return Some(Finish::new(EndReason::Budget, words));
        }
        let standstill = Standstill::of(session).filter(Standstill::is_reached)?;
        Some(Finish::new(EndReason::NoProgress, standstill.words()))
    }
}

/// How far the last calls only repeat themselves.
pub(crate) struct Standstill {
    tool: String,
    arguments: String,
    failed: bool,
    /// How many of the last few calls are the last one, and how many without another between.
    near: usize,
    in_a_row: usize,
    /// How many of the last calls were malformed or refused, without another between.
    faults: usize,
}

impl Standstill {
    /// Looks at the calls since the person last spoke. `None` where there was none.
    pub(crate) fn of(session: &Session) -> Option<Self> {
        let steps: Vec<_> = steps(session).take(LOOKED_AT).collect();
        let last = steps.first()?;
        let same = |step: &&Step<'_>| step.repeats(last);
        Some(Self {
            tool: last.tool.to_owned(),
            arguments: last.arguments.to_owned(),
            failed: last.failed,
            near: steps.iter().take(WINDOW).filter(same).count(),
            in_a_row: steps.iter().take_while(same).count(),
            faults: steps.iter().take_while(|step| step.faulty).count(),
        })
    }

    fn is_reached(&self) -> bool {
        match self.failed {
            true => self.near >= SAME_FAILURE_MAX || self.faults >= FAULTS_IN_A_ROW_MAX,
            false => self.in_a_row >= SAME_SUCCESS_MAX,
        }
    }

    /// Returns what the agent is told of it, if there is something to tell now. A call that
    /// succeeds is told of less and less often.
    pub(crate) fn told(&self) -> Option<String> {
        let again = match self.failed {
            true => self.near >= 2,
            false => self.near == 2 || (self.in_a_row > WINDOW && self.in_a_row.is_power_of_two()),
        };
        if again {
            let close = match self.failed {
                true => {
                    "Find out why before you try it again: the run ends if it goes on like this."
                }
                false => "If you wait for something, wait longer; else go on with the task.",
            };
            return Some(format!("{}. {close}", self.words()));
        }
        let many = self.faults > 0 && self.faults.is_multiple_of(FAULTS_TOLD_AT);
        (self.failed && many).then(|| {
            let faults = self.faults;
            format!(
                "The last {faults} calls were all malformed or refused; after {FAULTS_IN_A_ROW_MAX} \
                 the run ends. Say what is in the way, or do what can be done without it."
            )
        })
    }

    /// Says what is repeated.
    fn words(&self) -> String {
        if self.failed && self.near < 2 {
            return format!("The last {} calls were all malformed or refused", self.faults);
        }
        let count = self.near.max(self.in_a_row);
        let arguments = self.arguments.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = &arguments[..arguments.floor_char_boundary(ARGUMENTS_SHOWN)];
        let more = if shown.len() < arguments.len() { "..." } else { "" };
        format!(
            "The same call came {count} times with the same answer: {} {shown}{more}",
            self.tool
        )
    }
}

/// How many bytes of a call's arguments are told.
const ARGUMENTS_SHOWN: usize = 160;

/// Says whether the agent was told lately that it stands still, so that it could do otherwise.
pub(crate) fn was_warned(session: &Session) -> bool {
    let last_words = session.entries.iter().rev().find_map(|(seq, entry)| match entry {
        chock_log::Entry::User(_) => Some(*seq),
        chock_log::Entry::Model(_)
        | chock_log::Entry::Result { .. }
        | chock_log::Entry::Notice(_) => None,
    });
    session.told.get(REPEAT).is_some_and(|told| {
        let lately = session.turns.saturating_sub(told.turn) <= WINDOW as u64;
        lately && told.at >= last_words.unwrap_or(Seq(0))
    })
}

/// The word of the fact that calls repeat themselves.
pub(crate) const REPEAT: &str = "repeat";

#[cfg(test)]
mod tests {
    use chock_log::{Ended, Entry, ModelMessage, Outcome, Part, Seq, Stop, ToolCall};

    use super::*;

    fn session(steps: &[(&str, Ended)]) -> Session {
        let mut session = Session::default();
        for (index, (arguments, ended)) in steps.iter().enumerate() {
            let id = format!("call_{index}");
            let call =
                ToolCall { id: id.clone(), name: "t".into(), arguments: (*arguments).to_owned() };
            let message = ModelMessage {
                provider: "p".into(),
                model: "m".into(),
                parts: vec![Part::Call(call)],
                stop: Stop::Calls,
            };
            session.turns += 1;
            session.entries.push((Seq(1), Entry::Model(message)));
            let outcome = Outcome::new(ended.clone(), "words");
            session.entries.push((Seq(1), Entry::Result { call: id, tool: "t".into(), outcome }));
        }
        session
    }

    fn check(steps: &[(&str, Ended)], expected: Option<EndReason>) {
        let reached = Bounds::default().reached(&session(steps), 0).map(|finish| finish.reason);
        assert_eq!(reached, expected, "{}", steps.len());
    }

    #[test]
    fn a_failure_that_comes_back_stops_and_polling_does_not() {
        let failed = ("a", Ended::Exited(1));
        let other = ("b", Ended::Exited(1));
        check(&[failed.clone(), failed.clone()], None);
        check(&vec![failed.clone(); 3], Some(EndReason::NoProgress));
        check(
            &[failed.clone(), other.clone(), failed.clone(), other, failed],
            Some(EndReason::NoProgress),
        );
        check(&vec![("a", Ended::Exited(0)); 63], None);
        check(&vec![("a", Ended::Exited(0)); 64], Some(EndReason::NoProgress));
    }

    #[test]
    fn faults_of_every_kind_add_up() {
        let names: Vec<_> = (0..24).map(|index| index.to_string()).collect();
        let steps: Vec<_> = names.iter().map(|name| (name.as_str(), Ended::Fault)).collect();
        check(&steps[1..], None);
        check(&steps, Some(EndReason::NoProgress));
    }

    #[test]
    fn what_repeats_is_told_before_it_ends_the_run_and_ever_more_seldom() {
        let told = |steps: &[(&str, Ended)]| Standstill::of(&session(steps))?.told();
        let (failed, done) = (("a", Ended::Exited(1)), ("b", Ended::Exited(0)));
        assert_eq!(told(&[]), None);
        assert_eq!(told(&[failed.clone(), done.clone()]), None);
        assert!(told(&vec![failed.clone(); 2]).is_some_and(|words| words.contains("2 times")));
        assert!(told(&[failed.clone(), done.clone(), failed]).is_some());
        let many = (1..70).filter(|count| told(&vec![done.clone(); *count]).is_some());
        assert_eq!(many.collect::<Vec<_>>(), [2, 8, 16, 32, 64, 65, 66, 67, 68, 69]);
        let names: Vec<_> = (0..24).map(|index| index.to_string()).collect();
        let steps: Vec<_> = names.iter().map(|name| (name.as_str(), Ended::Denied)).collect();
        let many = (1..24).filter(|count| told(&steps[..*count]).is_some());
        assert_eq!(many.collect::<Vec<_>>(), [8, 16]);
    }

    #[test]
    fn a_new_word_of_the_person_starts_the_count_again() {
        let mut session = session(&vec![("a", Ended::Exited(1)); 3]);
        session.entries.push((Seq(1), Entry::User("go on".into())));
        assert_eq!(Bounds::default().reached(&session, 0), None);
    }

    #[test]
    fn turns_are_counted_from_the_beginning_of_the_run() {
        let session = session(&[("a", Ended::Done), ("b", Ended::Done)]);
        let bounds = |turns| Bounds { turns: Some(turns), ..Bounds::default() };
        let reached = bounds(2).reached(&session, 0).map(|finish| finish.reason);
        assert_eq!(reached, Some(EndReason::TurnLimit));
        assert_eq!(bounds(2).reached(&session, 1), None);
    }
}
