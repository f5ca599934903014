//! What a fork takes over of a log, where it hangs, and whether it still does.

use std::fs;

use chock_log::{
    AnswerBody, Branch, BranchFault, CarriedBody, CompactionBody, DiffReviewedBody, EndReason,
    Ended, EndedBody, Event, FinishedBody, ForkBody, Grounds, Hang, Log, ModelMessage, NoticeBody,
    Outcome, Part, PromiseBody, Seq, SnapshotBody, Stop, TitleBody, ToolCall, UserBody,
};
use chock_testkit::TestLog;
use serde_json::json;

fn user(text: &str) -> Event {
    Event::User(UserBody { text: text.to_owned(), ..UserBody::default() })
}

/// A reply with one call, or with none.
fn reply(call: Option<&str>) -> Event {
    let part = match call {
        Some(id) => Part::Call(ToolCall {
            id: id.into(),
            name: "run_command".into(),
            arguments: "{}".into(),
        }),
        None => Part::Text("done".into()),
    };
    let (provider, model) = ("p".into(), "m".into());
    Event::Model(ModelMessage { provider, model, parts: vec![part], stop: Stop::Finished })
}

fn allowed(call: &str) -> Event {
    Event::Answered(AnswerBody {
        call: call.into(),
        allowed: true,
        actions: vec!["call.run_command".into()],
        grounds: Grounds::PersonForSession,
        act: json!({}),
        words: None,
    })
}

fn finished(call: &str) -> Event {
    let outcome = Outcome::new(Ended::Exited(0), "ok");
    Event::ToolFinished(FinishedBody { call: call.into(), tool: "run_command".into(), outcome })
}

fn snapshot(turn: u64, tree: &str) -> Event {
    let git = Some("1".repeat(40));
    Event::Snapshot(SnapshotBody { turn, tree: tree.repeat(40), files: 1, git })
}

fn ended() -> Event {
    Event::Ended(EndedBody { reason: EndReason::Finished, detail: String::new() })
}

fn notice(reviews: Vec<Seq>) -> Event {
    Event::Notice(NoticeBody { text: "heard".into(), reviews, ..NoticeBody::default() })
}

fn reviewed() -> Event {
    Event::DiffReviewed(DiffReviewedBody {
        base: String::new(),
        snapshot: String::new(),
        tree: String::new(),
        accepted: Vec::new(),
        declined: Vec::new(),
        left: 0,
        by: "person".into(),
    })
}

fn log_of(events: Vec<Event>) -> TestLog {
    let log = TestLog::new();
    let opened = log.open();
    for event in events {
        opened.pen.write(event).expect("a write");
    }
    drop(opened);
    log
}

/// A session of two turns with a person's answer, a promise, a title and a review in it.
fn two_turns() -> TestLog {
    let ceiling = |ceiling: &str| PromiseBody {
        action: "git.*".into(),
        ceiling: ceiling.into(),
        reason: String::new(),
    };
    log_of(vec![
        user("first"),
        reply(Some("a")),
        Event::Promise(ceiling("deny")),
        Event::Title(TitleBody { title: "A title".into() }),
        allowed("a"),
        finished("a"),
        snapshot(1, "a"),
        reviewed(),
        user("second"),
        notice(vec![Seq(8)]),
        reply(Some("b")),
        allowed("b"),
        finished("b"),
        snapshot(2, "b"),
        ended(),
    ])
}

fn kinds(branch: &Branch) -> Vec<&str> {
    branch.carried.iter().map(Event::kind).collect()
}

/// Makes the log of a fork, as a caller does.
fn fork(branch: Branch) -> TestLog {
    let body = ForkBody {
        parent: "p".into(),
        turn: branch.turn.snapshot.turn,
        record: branch.turn.at,
        hash: branch.hash,
        carried: branch.carried.len() as u64,
    };
    let start = Event::Start(chock_log::StartBody {
        session: "f".into(),
        project: "/p".into(),
        version: "0".into(),
        agent_kind: "main".into(),
    });
    let first = [Event::Forked(body), start];
    log_of(first.into_iter().chain(branch.carried).collect())
}

#[test]
fn what_was_said_and_promised_goes_over_and_what_people_answered_does_not() {
    let log = two_turns();
    let before = fs::read(&log.path).expect("a log");
    let branch = Log::branch(&log.path, Some(1)).expect("a branch");
    assert_eq!(
        kinds(&branch),
        [
            "message.user",
            "message.model",
            "policy.promise",
            "title.set",
            "tool.finished",
            "workspace.snapshot"
        ]
    );
    assert_eq!(branch.turn.at, Seq(7));
    let parent = log.read().0;
    let child = fork(branch);
    let session = child.read().0;
    assert_eq!(session.promises, parent.promises);
    assert_eq!((session.title, session.turns), (parent.title, 1));
    assert_eq!(session.kept.len(), 1);
    let body = session.fork.expect("a fork");
    assert_eq!(Log::fork_of(&child.path), Some(body.clone()));
    assert_eq!(Log::fork_of(&log.path), None);
    assert_eq!(Log::hang(&log.path, &body), Hang::Holds);
    assert_eq!(fs::read(&log.path).expect("a log"), before);
    // A fork of the fork has the same turn, and hangs from the fork.
    let again = Log::branch(&child.path, Some(1)).expect("a branch");
    assert_eq!(again.turn.snapshot.tree, "a".repeat(40));
    assert_eq!(fork(again).read().0.entries.len(), session.entries.len());
}

#[test]
fn records_that_name_others_name_them_in_the_fork() {
    let log = two_turns();
    let branch = Log::branch(&log.path, None).expect("a branch");
    assert_eq!(branch.turn.snapshot.turn, 2);
    let child = fork(branch);
    // The review stands before the notice that tells of it, and so nothing is left to tell.
    assert_eq!(child.read().0.unheard, []);
    let compacted = log_of(vec![
        ended(),
        user("first"),
        reply(None),
        Event::Compaction(CompactionBody {
            summary: "s".into(),
            through: Seq(3),
            shortened: Seq(2),
            written_by: "m".into(),
        }),
        Event::Undone(undone(true)),
        Event::Undone(undone(false)),
        snapshot(1, "a"),
    ]);
    let session = fork(Log::branch(&compacted.path, None).expect("a branch")).read().0;
    // Behind `fork.opened` and `session.start`, without the end.
    assert_eq!(session.compaction.map(|body| body.through), Some(Seq(4)));
    assert_eq!(session.entries.iter().map(|(seq, _)| seq.0).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(session.unheard.len(), 1);
}

fn undone(done: bool) -> CarriedBody {
    CarriedBody {
        approval: Some(Seq(1)),
        step: 1,
        session: "p".into(),
        direction: "undo".into(),
        done,
        paths: Vec::new(),
        count: 0,
        why: String::new(),
        commits: None,
    }
}

#[test]
fn an_owner_at_work_is_read_up_to_its_last_complete_turn() {
    let log = TestLog::new();
    let opened = log.open();
    for event in [user("first"), reply(Some("a")), finished("a"), snapshot(1, "a")] {
        opened.pen.write(event).expect("a write");
    }
    for event in [reply(Some("b")), allowed("b")] {
        opened.pen.write(event).expect("a write");
    }
    let branch = Log::branch(&log.path, None).expect("a branch without the lock");
    assert_eq!((branch.turn.snapshot.turn, branch.turn.at), (1, Seq(4)));
    let fault = Log::branch(&log.path, Some(2)).expect_err("an open turn");
    assert!(matches!(fault, BranchFault::NotKept { turn: 2, .. }), "{fault}");
    drop(opened);
    // A torn tail is a record that is being written.
    let mut text = fs::read(&log.path).expect("a log");
    text.extend_from_slice(b"{\"seq\":7");
    fs::write(&log.path, text).expect("a write");
    assert_eq!(Log::branch(&log.path, None).expect("a branch").turn.at, Seq(4));
}

#[test]
fn a_later_snapshot_of_a_turn_counts_until_the_conversation_goes_on() {
    let events = |between: Option<Event>| {
        let first = [user("x"), reply(None), snapshot(1, "a")];
        let all = first.into_iter().chain(between).chain([snapshot(1, "b")]);
        Log::branch(&log_of(all.collect()).path, None).expect("a branch").turn.snapshot.tree
    };
    assert_eq!(events(None), "b".repeat(40));
    assert_eq!(events(Some(ended())), "b".repeat(40));
    assert_eq!(events(Some(user("more"))), "a".repeat(40));
}

#[test]
fn what_cannot_be_forked_at_is_told_with_what_can() {
    let log = two_turns();
    for (turn, words) in [(0, "no turn 0"), (3, "has 2"), (u64::MAX, "has 2")] {
        let fault = Log::branch(&log.path, Some(turn)).expect_err("no such turn");
        assert!(fault.to_string().contains(words), "{fault}");
    }
    let nothing = log_of(vec![user("x"), reply(Some("a"))]);
    let fault = Log::branch(&nothing.path, None).expect_err("no turn");
    assert!(matches!(fault, BranchFault::Nothing), "{fault}");
    let unkept = log_of(vec![user("x"), reply(None), snapshot(1, "a"), user("y"), reply(None)]);
    let fault = Log::branch(&unkept.path, Some(2)).expect_err("no snapshot");
    assert!(fault.to_string().contains("these were kept: 1"), "{fault}");
    let text = fs::read_to_string(&log.path).expect("a log");
    fs::write(&log.path, text.replace("second", "sacond")).expect("a write");
    let fault = Log::branch(&log.path, Some(1)).expect_err("a changed log");
    assert!(matches!(fault, BranchFault::NotIntact { .. }), "{fault}");
}

#[test]
fn a_parent_that_is_gone_or_another_is_told() {
    let log = two_turns();
    for turn in [1, 2] {
        let child = fork(Log::branch(&log.path, Some(turn)).expect("a branch"));
        let body = child.read().0.fork.expect("a fork");
        assert_eq!(Log::hang(&log.path, &body), Hang::Holds);
        assert_eq!(Log::hang(&child.path.with_extension("none"), &body), Hang::NoParent);
        let other = log_of(vec![user("another"), reply(None), snapshot(1, "a")]);
        assert_eq!(Log::hang(&other.path, &body), Hang::Another);
        // The same records, written anew with another word in the first.
        let text = fs::read_to_string(&log.path).expect("a log");
        let changed = other.path.with_extension("changed");
        fs::write(&changed, text.replace("\"first\"", "\"thirst\"")).expect("a write");
        assert!(matches!(Log::hang(&changed, &body), Hang::Unreadable(_)));
    }
}
