//! What a session owes next.

use chock_log::{EndReason, Entry, OpenApproval, Session, Stop, ToolCall};

/// The next thing to do for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Send the conversation to the model.
    AskModel,
    /// Tell the model that its reply was cut at its length limit, so that it goes on.
    TellCut,
    /// Tell the model that background tasks have ended, before it is asked again.
    TellTasks,
    /// Tell the model what the person took, declined or undid, before it is asked again.
    TellReviews,
    /// Answer this call.
    Decide(ToolCall),
    /// An approved act has no result: say so, and do not repeat it.
    Interrupted(OpenApproval),
    /// Nothing is owed.
    Done(EndReason),
}

/// Answers what a session owes next, from nothing but its records.
#[must_use]
pub fn next(session: &Session) -> Next {
    if let Some(open) = &session.open_approval {
        return Next::Interrupted(open.clone());
    }
    if let Some(call) = session.pending.front() {
        return Next::Decide(call.clone());
    }
    match session.entries.last().map(|(_, entry)| entry) {
        None => Next::Done(EndReason::Finished),
        Some(Entry::User(_) | Entry::Result { .. } | Entry::Notice(_)) => {
            if session.untold_tasks().next().is_some() {
                Next::TellTasks
            } else if session.unheard.is_empty() {
                Next::AskModel
            } else {
                Next::TellReviews
            }
        }
        Some(Entry::Model(message)) => match &message.stop {
            Stop::Refused { .. } => Next::Done(EndReason::Refused),
            Stop::Length => Next::TellCut,
            Stop::Finished | Stop::Calls if message.is_empty() => {
                Next::Done(EndReason::EmptyAnswer)
            }
            Stop::Finished | Stop::Calls => Next::Done(EndReason::Finished),
        },
    }
}

/// Says whether a call belongs to a reply that was cut at its length limit.
pub(crate) fn reply_was_cut(session: &Session) -> bool {
    let replies = session.entries.iter().rev().filter_map(|(_, entry)| match entry {
        Entry::Model(message) => Some(message),
        Entry::User(_) | Entry::Result { .. } | Entry::Notice(_) => None,
    });
    replies.take(1).any(|message| message.stop == Stop::Length)
}

#[cfg(test)]
mod tests {
    use chock_log::{Ended, ModelMessage, Outcome, Part, Seq, Task, TaskState};

    use super::*;

    fn reply(parts: Vec<Part>, stop: Stop) -> Entry {
        Entry::Model(ModelMessage { provider: "p".into(), model: "m".into(), parts, stop })
    }

    fn check(entries: Vec<Entry>, expected: Next) {
        let entries = entries.into_iter().map(|entry| (Seq(1), entry)).collect();
        let session = Session { entries, ..Session::default() };
        assert_eq!(next(&session), expected);
    }

    #[test]
    fn the_last_entry_says_what_is_owed() {
        let words = || vec![Part::Text("done".into())];
        let refused = || Stop::Refused { category: None, explanation: None };
        check(vec![], Next::Done(EndReason::Finished));
        check(vec![Entry::User("go".into())], Next::AskModel);
        check(vec![Entry::Notice("x".into())], Next::AskModel);
        check(vec![reply(words(), Stop::Finished)], Next::Done(EndReason::Finished));
        check(vec![reply(vec![], Stop::Finished)], Next::Done(EndReason::EmptyAnswer));
        check(
            vec![reply(vec![Part::Text(" \n".into())], Stop::Calls)],
            Next::Done(EndReason::EmptyAnswer),
        );
        check(vec![reply(words(), refused())], Next::Done(EndReason::Refused));
        check(vec![reply(vec![], refused())], Next::Done(EndReason::Refused));
        check(vec![reply(words(), Stop::Length)], Next::TellCut);
    }

    #[test]
    fn the_end_of_a_task_is_told_at_the_top_of_a_turn_and_never_between_calls() {
        let ended = Outcome::new(Ended::Exited(1), "task-01 has ended");
        let task =
            |state| Task { id: "task-01".into(), call: "a".into(), command: "x".into(), state };
        let with = |entry: Entry, state: &TaskState| Session {
            entries: vec![(Seq(1), entry)],
            tasks: vec![task(state.clone())],
            ..Session::default()
        };
        let user = || Entry::User("go".into());
        let done = || reply(vec![Part::Text("done".into())], Stop::Finished);
        let untold = TaskState::Untold(ended.clone());
        for (state, expected) in [
            (&TaskState::Running, Next::AskModel),
            (&untold, Next::TellTasks),
            (&TaskState::Told(ended), Next::AskModel),
        ] {
            assert_eq!(next(&with(user(), state)), expected);
            // A final answer ends the run, whatever goes on beside it.
            assert_eq!(next(&with(done(), state)), Next::Done(EndReason::Finished));
        }
        let call = ToolCall { id: "b".into(), name: "t".into(), arguments: "{}".into() };
        let between = Session { pending: [call.clone()].into(), ..with(user(), &untold) };
        assert_eq!(next(&between), Next::Decide(call));
    }

    #[test]
    fn an_open_approval_comes_before_the_calls_behind_it() {
        let call = |id: &str| ToolCall { id: id.into(), name: "t".into(), arguments: "{}".into() };
        let open = OpenApproval { approval: Seq(3), call: "a".into() };
        let mut session = Session {
            pending: [call("a"), call("b")].into(),
            open_approval: Some(open.clone()),
            ..Session::default()
        };
        assert_eq!(next(&session), Next::Interrupted(open));
        session.open_approval = None;
        assert_eq!(next(&session), Next::Decide(call("a")));
    }
}
