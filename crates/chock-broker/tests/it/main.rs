//! Judging: what is recorded, who is asked, and what happens when the disk fails.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use chock_broker::{
    Answer, Asker, Broker, Cause, Chosen, NoReviewer, Nobody, Offer, People, Promised, Question,
    Refusal, Review, ReviewRequest, Reviewer, Standing, Verdict,
};
use chock_log::{Act, Action, Event, Grounds, Opened, PromiseBody, Proposal, ReviewVerdict};
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

    fn is_reachable(&self) -> bool {
        true
    }
}

/// Reviews as told and keeps what it was shown.
#[derive(Clone)]
struct Reviewing {
    verdict: ReviewVerdict,
    shown: Rc<RefCell<Vec<ReviewRequest>>>,
}

impl Reviewing {
    fn as_told(verdict: ReviewVerdict) -> Self {
        Self { verdict, shown: Rc::default() }
    }
}

impl Reviewer for Reviewing {
    fn review(&mut self, request: &ReviewRequest) -> Review {
        self.shown.borrow_mut().push(request.clone());
        Review { verdict: self.verdict, note: "the note".to_owned(), usage: None }
    }
}

fn broker(
    opened: Opened,
    rows: &[(&'static str, Decision)],
    asker: impl Asker + 'static,
) -> Broker {
    reviewed(opened, rows, asker, NoReviewer)
}

fn reviewed(
    opened: Opened,
    rows: &[(&'static str, Decision)],
    asker: impl Asker + 'static,
    reviewer: impl Reviewer + 'static,
) -> Broker {
    let rows =
        rows.iter().map(|(name, decision)| Rule::action(Pattern::from_static(name), *decision));
    let standing = Standing {
        table: Table::new(rows.collect()).expect("few rows"),
        lineage: Lineage::main(),
        kept: Ratchet::default(),
        model: "m".to_owned(),
    };
    let people = People { asker: Box::new(asker), reviewer: Box::new(reviewer) };
    Broker::new(standing, opened.granter, opened.pen, people)
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
fn the_row_that_would_allow_an_act_is_one_that_changes_something() {
    let allow = ".{ .action = \"git.push\", .decision = .allow }";
    for (row, decision, beside) in [
        ("git.*", Decision::Deny, true),
        ("git.*", Decision::Ask, true),
        ("git.push", Decision::Ask, false),
        ("git.push", Decision::Deny, false),
        ("git.fetch", Decision::Deny, true),
    ] {
        let log = TestLog::new();
        let told = Told::default();
        told.answers.borrow_mut().push_back(Answer::Nobody);
        let mut broker = broker(log.open(), &[(row, decision)], told);
        let denial = refused(broker.judge(touch(&["git.push"]))).denial();
        let in_place = format!(
            "{allow} in the place of .{{ .action = \"{row}\", .decision = .{} }}",
            decision.word()
        );
        let expected = if beside { allow } else { &in_place };
        assert_eq!(denial.allowed_by.as_deref(), Some(expected), "{row} {decision}");
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
        Some(
            ".{ .action = \"git.push\", .decision = .allow } in the place of \
             .{ .action = \"git.push\", .decision = .deny }"
        )
    );
    drop(broker);
    let answers = answers(&log);
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
    let asked: Vec<_> = told.asked.borrow().iter().map(names_of).collect();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[2], ["git.push", "git.fetch"]);
}

fn names_of(question: &Question) -> Vec<String> {
    question.guarded.iter().map(|guarded| guarded.action.clone()).collect()
}

#[test]
fn a_question_names_the_row_the_reason_and_exactly_what_always_would_allow() {
    let log = TestLog::new();
    let told = Told::default();
    told.answers.borrow_mut().extend([Answer::Always, Answer::No(None)]);
    let rows = [("git.push", Decision::Ask), ("exec.path.git", Decision::Allow)];
    let mut broker = broker(log.open(), &rows, told.clone());
    permitted(broker.judge(touch(&["exec.path.git", "git.push"])));
    // Not again for what was answered.
    permitted(broker.judge(touch(&["git.push"])));
    refused(broker.judge(touch(&["policy.widen"])));
    drop(broker);
    let asked = told.asked.borrow();
    assert_eq!(names_of(&asked[0]), ["git.push"]);
    let guarded = &asked[0].guarded[0];
    assert_eq!(guarded.why, "it sends commits to another repository");
    let row = "project: .{ .action = \"git.push\", .decision = .ask }";
    assert_eq!(guarded.row.as_deref(), Some(row));
    assert_eq!(asked[0].chain, ["main"]);
    let always: Vec<_> = asked[0].always.iter().map(ToString::to_string).collect();
    assert_eq!(
        always,
        [
            ".{ .agent_kind = \"main\", .tool = \"run_command\", .action = \"git.push\", .decision = .allow }"
        ]
    );
    // A lasting yes to this one would leave a promise without any hold.
    assert_eq!(asked[1].always, []);
    let grounds: Vec<_> = answers(&log).into_iter().map(|(_, grounds)| grounds).collect();
    assert_eq!(grounds, [Grounds::PersonAlways, Grounds::PersonForSession, Grounds::Person]);
}

/// Lists the answers in the log.
fn answers(log: &TestLog) -> Vec<(bool, Grounds)> {
    let records = log.records().into_iter();
    let answers = records.filter_map(|record| match record.event {
        Event::Answered(body) => Some((body.allowed, body.grounds)),
        _ => None,
    });
    answers.collect()
}

#[test]
fn an_organisation_s_question_is_asked_every_time() {
    let log = TestLog::new();
    let told = Told::default();
    told.answers.borrow_mut().push_back(Answer::No(None));
    let row = |name| Rule::action(Pattern::from_static(name), Decision::Ask);
    let opened = log.open();
    let standing = Standing {
        table: Table::defaults().under(vec![row("git.commit")]).expect("few rows"),
        lineage: Lineage::main(),
        kept: Ratchet::default(),
        model: "m".to_owned(),
    };
    let people = People { asker: Box::new(told.clone()), reviewer: Box::new(NoReviewer) };
    let mut broker = Broker::new(standing, opened.granter, opened.pen, people);
    refused(broker.judge(touch(&["git.commit"])));
    let asked = told.asked.borrow();
    assert_eq!(asked[0].always, []);
    let row = asked[0].guarded[0].row.as_deref();
    assert_eq!(row, Some("organisation: .{ .action = \"git.commit\", .decision = .ask }"));
}

#[test]
fn a_reviewer_decides_and_only_its_yes_is_one() {
    for (verdict, allowed, grounds) in [
        (ReviewVerdict::Approved, true, Grounds::Reviewer),
        (ReviewVerdict::Refused, false, Grounds::Reviewer),
        (ReviewVerdict::Unavailable, false, Grounds::NoReviewer),
    ] {
        let log = TestLog::new();
        let reviewing = Reviewing::as_told(verdict);
        let rows = [("a.b", Decision::AgentReview)];
        let mut broker = reviewed(log.open(), &rows, Nobody, reviewing.clone());
        match broker.judge(touch(&["a.b"])) {
            Verdict::Permitted(permit) => assert_eq!(permit.spend().0, Touch),
            Verdict::Refused(refusal) => {
                // The agent learns that, and nothing of the reviewer's own words.
                assert!(!refusal.sentence().contains("the note"), "{}", refusal.sentence());
            }
        }
        drop(broker);
        assert_eq!(answers(&log), [(allowed, grounds)]);
        assert_eq!(reviewing.shown.borrow()[0].effect, "touch marker");
        let kept = log.records().into_iter().any(|record| {
            matches!(record.event, Event::Reviewed(body) if body.review == verdict && body.note == "the note")
        });
        assert!(kept, "{verdict:?}");
    }
}

#[test]
fn a_reviewer_comes_before_the_person_and_not_without_one() {
    let rows = [("c.d", Decision::AgentThenHuman)];
    let reviewing = Reviewing::as_told(ReviewVerdict::Approved);
    let told = Told::default();
    told.answers.borrow_mut().extend([Answer::Once]);
    let log = TestLog::new();
    let mut both = reviewed(log.open(), &rows, told.clone(), reviewing.clone());
    permitted(both.judge(touch(&["c.d"])));
    assert_eq!(told.asked.borrow()[0].review.as_deref(), Some("the note"));
    assert_eq!(told.asked.borrow()[0].always, []);

    let refusing = Reviewing::as_told(ReviewVerdict::Refused);
    let log = TestLog::new();
    // Nobody is asked about what the reviewer refused: the list of answers is empty.
    refused(reviewed(log.open(), &rows, Told::default(), refusing).judge(touch(&["c.d"])));

    let unpaid = Reviewing::as_told(ReviewVerdict::Approved);
    let log = TestLog::new();
    refused(reviewed(log.open(), &rows, Nobody, unpaid.clone()).judge(touch(&["c.d"])));
    assert_eq!(unpaid.shown.borrow().len(), 0);
}

#[test]
fn a_choice_is_reviewed_first_where_a_row_says_so() {
    let offers = || vec![Offer { word: "merge".to_owned(), words: "land it by merge".to_owned() }];
    for decision in [Decision::AgentReview, Decision::AgentThenHuman] {
        let rows = [("c.d", decision)];
        let reviewing = Reviewing::as_told(ReviewVerdict::Approved);
        let told = Told::default();
        told.answers.borrow_mut().extend([Answer::Offered("merge".to_owned())]);
        let log = TestLog::new();
        let mut both = reviewed(log.open(), &rows, told.clone(), reviewing);
        let chosen = both.choose(&touch(&["c.d"]), offers());
        assert!(matches!(&chosen, Chosen::Offer(word) if word == "merge"), "{chosen:?}");
        assert_eq!(told.asked.borrow()[0].review.as_deref(), Some("the note"));

        // Nobody is asked about what the reviewer refused: the list of answers is empty.
        let refusing = Reviewing::as_told(ReviewVerdict::Refused);
        let log = TestLog::new();
        let mut broker = reviewed(log.open(), &rows, Told::default(), refusing);
        let chosen = broker.choose(&touch(&["c.d"]), offers());
        assert!(matches!(chosen, Chosen::Refused(_)), "{chosen:?}");

        let unpaid = Reviewing::as_told(ReviewVerdict::Approved);
        let log = TestLog::new();
        let mut alone = reviewed(log.open(), &rows, Nobody, unpaid.clone());
        assert!(matches!(alone.choose(&touch(&["c.d"]), offers()), Chosen::Nobody));
        assert_eq!(unpaid.shown.borrow().len(), 0);
    }
}

fn promise(action: &str, ceiling: &str) -> PromiseBody {
    let reason = "not needed".to_owned();
    PromiseBody { action: action.to_owned(), ceiling: ceiling.to_owned(), reason }
}

#[test]
fn a_promise_holds_at_once_and_only_a_person_lifts_it() {
    let log = TestLog::new();
    let told = Told::default();
    told.answers.borrow_mut().extend([Answer::No(None), Answer::Once]);
    let mut broker = broker(log.open(), &[], told.clone());
    permitted(broker.judge(touch(&["git.commit"])));
    assert!(matches!(broker.promise("c", &promise("git.*", "deny")), Promised::Kept));
    let refusal = refused(broker.judge(touch(&["git.commit"])));
    assert_eq!((refusal.denial().layer.as_str(), refusal.denial().allowed_by), ("promise", None));
    assert!(matches!(broker.promise("c", &promise("git.*", "deny")), Promised::Already));
    // A narrower name does not get around it.
    let under = broker.promise("c", &promise("git.commit", "ask"));
    assert!(matches!(under, Promised::Under { .. }), "{under:?}");
    for (action, ceiling) in [("git.*.x", "deny"), ("*", "deny"), ("git.push", "Allow")] {
        let malformed = broker.promise("c", &promise(action, ceiling));
        assert!(matches!(malformed, Promised::Malformed(_)), "{malformed:?}");
    }
    let Promised::Lifts(lift) = broker.promise("c", &promise("git.*", "allow")) else { panic!() };
    assert!(matches!(broker.judge(lift), Verdict::Refused(_)));
    refused(broker.judge(touch(&["git.commit"])));
    let Promised::Lifts(lift) = broker.promise("c", &promise("git.*", "allow")) else { panic!() };
    let Verdict::Permitted(permit) = broker.judge(lift) else { panic!("the person said yes") };
    broker.widen(permit).expect("a record");
    permitted(broker.judge(touch(&["git.commit"])));
    drop(broker);
    let (session, _) = log.read();
    let kept: Vec<_> = session.promises.ceilings().map(|(_, ceiling)| ceiling).collect();
    assert_eq!(kept, [Decision::Allow]);
}

#[test]
fn promises_are_counted_and_one_that_is_not_recorded_does_not_hold() {
    let log = TestLog::new();
    let mut broker = broker(log.open(), &[], Nobody);
    for count in 0..chock_broker::PROMISES_MAX {
        let kept = broker.promise("c", &promise(&format!("a.b{count}"), "deny"));
        assert!(matches!(kept, Promised::Kept), "{count}: {kept:?}");
    }
    let over = broker.promise("c", &promise("a.over", "deny"));
    assert!(matches!(over, Promised::TooMany), "{over:?}");
    drop(broker);
    let failing = TestLog::new();
    let mut broker =
        self::broker(failing.open_failing(Failure::Append(0)).expect("a log"), &[], Nobody);
    let lost = broker.promise("c", &promise("git.*", "deny"));
    assert!(matches!(lost, Promised::NotRecorded(_)), "{lost:?}");
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
    let direct = broker(log.open(), &[("net.connect.*", Decision::Deny)], Nobody).direct();
    permitted(direct.judge(touch(&["git.push"])));
    refused(direct.judge(touch(&["net.connect.com.example.443"])));
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
