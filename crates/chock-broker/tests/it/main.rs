//! Judging: what is recorded, who is asked, and what happens when the disk fails.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use chock_broker::{Answer, Asker, Broker, Cause, Nobody, Question, Refusal, Standing, Verdict};
use chock_log::{Act, Action, Event, Grounds, Opened, Proposal};
use chock_policy::{Decision, Lineage, Pattern, Ratchet, Rule, Table};
use chock_testkit::{Failure, TestLog};
use serde_json::{Value, json};

#[derive(Debug, PartialEq)]
struct Touch;

impl Act for Touch {
    fn record(&self) -> Value {
        json!({ "touch": "marker" })
    }
}

/// Answers as told and keeps what it was asked.
#[derive(Clone, Default)]
struct Told {
    answers: Rc<RefCell<VecDeque<Answer>>>,
    asked: Rc<RefCell<Vec<Question>>>,
}

impl Asker for Told {
    fn ask(&mut self, question: &Question) -> Answer {
        self.asked.borrow_mut().push(question.clone());
        self.answers.borrow_mut().pop_front().expect("an answer for every question")
    }
}

fn broker(
    opened: Opened,
    rows: &[(&'static str, Decision)],
    asker: impl Asker + 'static,
) -> Broker {
    let rows =
        rows.iter().map(|(name, decision)| Rule::action(Pattern::from_static(name), *decision));
    let standing = Standing {
        table: Table::new(rows.collect()).expect("few rows"),
        lineage: Lineage::main(),
        kept: Ratchet::default(),
        model: "m".to_owned(),
    };
    Broker::new(standing, opened.granter, opened.pen, Box::new(asker))
}

fn touch(actions: &[&'static str]) -> Proposal<Touch> {
    Proposal {
        call: "call_1".to_owned(),
        tool: "run_command".to_owned(),
        act: Touch,
        actions: actions.iter().map(|name| Action::from_static(name)).collect(),
        effect: "touch marker".to_owned(),
    }
}

fn refused(verdict: Verdict<Touch>) -> Refusal {
    match verdict {
        Verdict::Refused(refusal) => refusal,
        Verdict::Permitted(permit) => panic!("permitted: {permit:?}"),
    }
}

fn permitted(verdict: Verdict<Touch>) {
    match verdict {
        Verdict::Permitted(permit) => assert_eq!(permit.spend().0, Touch),
        Verdict::Refused(refusal) => panic!("refused: {refusal:?}"),
    }
}

#[test]
fn a_rule_decides_without_a_question_and_stands_in_the_record() {
    let log = TestLog::new();
    let mut broker = broker(log.open(), &[("git.push", Decision::Deny)], Told::default());
    permitted(broker.judge(touch(&["call.run_command"])));
    let refusal = refused(broker.judge(touch(&["call.run_command", "git.push"])));
    assert_eq!(refusal.action, "git.push");
    assert_eq!(refusal.denial().layer, "policy");
    assert_eq!(
        refusal.denial().allowed_by.as_deref(),
        Some(".{ .action = \"git.push\", .decision = .allow }")
    );
    drop(broker);
    let answers: Vec<_> = log
        .records()
        .into_iter()
        .filter_map(|record| match record.event {
            Event::Answered(body) => Some((body.allowed, body.grounds)),
            _ => None,
        })
        .collect();
    let row = |origin: &str, row: &str| Grounds::Rule { origin: origin.into(), row: row.into() };
    assert_eq!(
        answers,
        [
            (true, row("shipped", ".{ .action = \"call.run_command\", .decision = .allow }")),
            (false, row("project", ".{ .action = \"git.push\", .decision = .deny }")),
        ]
    );
}

#[test]
fn a_person_is_asked_once_for_the_session_if_they_say_so() {
    let log = TestLog::new();
    let told = Told::default();
    told.answers.borrow_mut().extend([Answer::Once, Answer::ForSession, Answer::No(None)]);
    let mut broker = broker(log.open(), &[], told.clone());
    permitted(broker.judge(touch(&["git.push"])));
    permitted(broker.judge(touch(&["git.push"])));
    permitted(broker.judge(touch(&["git.push"])));
    // Another action is another question.
    let refusal = refused(broker.judge(touch(&["git.push", "git.fetch"])));
    assert!(matches!(refusal.cause, Cause::Judged(Grounds::Person)));
    let asked: Vec<_> =
        told.asked.borrow().iter().map(|question| question.actions.clone()).collect();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[2], ["git.push", "git.fetch"]);
}

#[test]
fn every_answer_but_yes_refuses() {
    let answers = [
        Answer::No(None),
        Answer::No(Some("not today".to_owned())),
        Answer::Nobody,
        Answer::TimedOut,
        Answer::Cancelled,
    ];
    for answer in answers {
        let log = TestLog::new();
        let told = Told::default();
        told.answers.borrow_mut().push_back(answer.clone());
        let mut broker = broker(log.open(), &[], told);
        let refusal = refused(broker.judge(touch(&["git.push"])));
        assert!(!refusal.sentence().is_empty(), "{answer:?}");
        drop(broker);
        let (session, _) = log.read();
        assert_eq!(session.open_approval, None, "{answer:?}");
    }
}

#[test]
fn nobody_there_and_no_reviewer_refuse() {
    let log = TestLog::new();
    let rows = [("a.b", Decision::AgentReview), ("c.d", Decision::AgentThenHuman)];
    let mut broker = broker(log.open(), &rows, Nobody);
    for action in ["git.push", "a.b", "c.d"] {
        refused(broker.judge(touch(&[action])));
    }
    refused(broker.judge(touch(&[])));
}

#[test]
fn a_person_may_do_themselves_what_is_not_denied() {
    let log = TestLog::new();
    let mut broker = broker(log.open(), &[("net.connect.*", Decision::Deny)], Nobody);
    permitted(broker.judge_for_person(touch(&["git.push"])));
    refused(broker.judge_for_person(touch(&["net.connect.com.example.443"])));
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    for failure in
        [Failure::Append(0), Failure::HalfAppend(0), Failure::Flush(0), Failure::Reserve(0)]
    {
        for action in ["call.run_command", "git.push"] {
            let log = TestLog::new();
            let told = Told::default();
            told.answers.borrow_mut().push_back(Answer::Once);
            let opened = log.open_failing(failure).expect("a log");
            let mut broker = broker(opened, &[], told);
            let refusal = refused(broker.judge(touch(&[action])));
            assert!(matches!(refusal.cause, Cause::NotRecorded(_)), "{failure:?} {action}");
        }
    }
}
