//! When a session stops by itself.

use chock_log::{EndReason, Entry, ModelMessage, Session};

/// How often one failing call may come back with the same failure, within [`WINDOW`] calls.
const SAME_FAILURE_MAX: usize = 3;

/// How often in a row one call may come back with the same success: polling is legitimate.
const SAME_SUCCESS_MAX: usize = 64;

/// How many calls in a row may be malformed or refused, whatever they are.
const FAULTS_IN_A_ROW_MAX: usize = 24;

/// How many calls are looked back at for a repeated failure.
const WINDOW: usize = 5;

/// Limits of one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The most replies the model may give in this run.
    pub turns: Option<u64>,
    /// What the session may use in all.
    pub budget: Budget,
}

/// What a session may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Budget {
    /// Millionths of a currency's unit, and its three letters.
    pub money: Option<(u64, String)>,
    /// Tokens in and out together.
    pub tokens: Option<u64>,
}

/// One call with its result, as far as repeating goes.
#[derive(PartialEq, Eq, Clone, Copy)]
struct Step<'a> {
    tool: &'a str,
    arguments: &'a str,
    text: &'a str,
    failed: bool,
    faulty: bool,
}

impl Bounds {
    /// Says why the model is not asked again, if it is not.
    ///
    /// `turns_before` is the session's count of replies when this run began.
    #[must_use]
    pub fn reached(&self, session: &Session, turns_before: u64) -> Option<EndReason> {
        if self.turns.is_some_and(|most| session.turns.saturating_sub(turns_before) >= most) {
            return Some(EndReason::TurnLimit);
        }
        if self.budget.is_spent(session) {
            return Some(EndReason::Budget);
        }
        makes_no_progress(session).then_some(EndReason::NoProgress)
    }
}

impl Budget {
    fn is_spent(&self, session: &Session) -> bool {
        let money = self.money.as_ref().is_some_and(|(most, currency)| {
            session.spent.get(currency).is_some_and(|spent| spent >= most)
        });
        money || self.tokens.is_some_and(|most| session.tokens.total() >= most)
    }
}

/// Says whether the last calls only repeat themselves.
fn makes_no_progress(session: &Session) -> bool {
    let steps: Vec<_> = steps(session).take(SAME_SUCCESS_MAX).collect();
    let Some(last) = steps.first() else { return false };
    let same = |step: &&Step<'_>| *step == last;
    if last.failed {
        let repeated = steps.iter().take(WINDOW).filter(same).count();
        let faults = steps.iter().take_while(|step| step.faulty).count();
        return repeated >= SAME_FAILURE_MAX || faults >= FAULTS_IN_A_ROW_MAX;
    }
    steps.iter().take_while(same).count() >= SAME_SUCCESS_MAX
}

/// Lists the calls since the person last spoke, newest first.
fn steps(session: &Session) -> impl Iterator<Item = Step<'_>> {
    let since = |entry: &&(chock_log::Seq, Entry)| !matches!(entry.1, Entry::User(_));
    let recent = session.entries.iter().rev().take_while(since);
    let mut results = Vec::new();
    let mut steps = Vec::new();
    for (_, entry) in recent {
        match entry {
            Entry::Result { call, outcome, .. } => results.push((call, outcome)),
            Entry::Model(message) => {
                steps.extend(answered(message, &results));
                results.clear();
            }
            Entry::User(_) | Entry::Notice(_) => {}
        }
        if steps.len() >= SAME_SUCCESS_MAX {
            break;
        }
    }
    steps.into_iter()
}

/// Pairs a reply's calls with their results, last call first.
fn answered<'a>(
    message: &'a ModelMessage,
    results: &[(&'a String, &'a chock_log::Outcome)],
) -> Vec<Step<'a>> {
    let calls: Vec<_> = message.calls().collect();
    let pair = |call: &&'a chock_log::ToolCall| {
        let (_, outcome) = results.iter().find(|(id, _)| **id == call.id)?;
        Some(Step {
            tool: &call.name,
            arguments: &call.arguments,
            text: &outcome.text,
            failed: outcome.is_error(),
            faulty: matches!(outcome.ended, chock_log::Ended::Fault | chock_log::Ended::Denied),
        })
    };
    calls.iter().rev().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use chock_log::{Ended, Outcome, Part, Seq, Stop, ToolCall};

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
        assert_eq!(Bounds::default().reached(&session(steps), 0), expected, "{}", steps.len());
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
    fn a_new_word_of_the_person_starts_the_count_again() {
        let mut session = session(&vec![("a", Ended::Exited(1)); 3]);
        session.entries.push((Seq(1), Entry::User("go on".into())));
        assert_eq!(Bounds::default().reached(&session, 0), None);
    }

    #[test]
    fn turns_are_counted_from_the_beginning_of_the_run() {
        let session = session(&[("a", Ended::Done), ("b", Ended::Done)]);
        let bounds = |turns| Bounds { turns: Some(turns), ..Bounds::default() };
        assert_eq!(bounds(2).reached(&session, 0), Some(EndReason::TurnLimit));
        assert_eq!(bounds(2).reached(&session, 1), None);
    }

    #[test]
    fn a_budget_counts_its_own_currency_and_all_tokens() {
        let mut session = Session::default();
        session.spent.insert("EUR".into(), 5);
        session.tokens.input = 10;
        let money = |most, currency: &str| Bounds {
            budget: Budget { money: Some((most, currency.into())), tokens: None },
            ..Bounds::default()
        };
        assert_eq!(money(5, "EUR").reached(&session, 0), Some(EndReason::Budget));
        assert_eq!(money(6, "EUR").reached(&session, 0), None);
        assert_eq!(money(5, "USD").reached(&session, 0), None);
        let tokens =
            Bounds { budget: Budget { money: None, tokens: Some(10) }, ..Bounds::default() };
        assert_eq!(tokens.reached(&session, 0), Some(EndReason::Budget));
    }
}
