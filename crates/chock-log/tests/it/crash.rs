//! Disks that fail, power that goes, and the one promise: no permit without a record.

use std::fs;

use chock_log::{
    Act, EndReason, Ended, EndedBody, Event, FinishedBody, Grounds, LogError, ModelMessage, Opened,
    Outcome, Part, Permit, Stop, ToolCall, UserBody, Verdict, verify,
};
use chock_testkit::{Failure, TestLog};
use serde_json::{Value, json};

#[derive(Debug)]
struct Touch;

impl Act for Touch {
    fn record(&self) -> Value {
        json!({ "touch": "marker" })
    }
}

fn grounds() -> Grounds {
    Grounds::Rule { origin: "shipped".to_owned(), row: ".{ .decision = .allow }".to_owned() }
}

fn reply() -> Event {
    let call = ToolCall {
        id: "call_1".to_owned(),
        name: "run_command".to_owned(),
        arguments: "{}".to_owned(),
    };
    Event::Model(ModelMessage {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        parts: vec![Part::Call(call)],
        stop: Stop::Calls,
    })
}

fn result() -> Event {
    Event::ToolFinished(FinishedBody {
        call: "call_1".to_owned(),
        tool: "run_command".to_owned(),
        outcome: Outcome::new(Ended::Done, "ok"),
    })
}

/// Does what a turn does, up to the permit.
fn turn(opened: &mut Opened) -> Result<Permit<Touch>, LogError> {
    opened.pen.write(Event::User(UserBody { text: "go".to_owned(), ..UserBody::default() }))?;
    opened.pen.write(reply())?;
    opened.granter.grant("call_1", Touch, vec!["call.run_command".to_owned()], grounds())
}

#[test]
fn a_write_or_flush_that_fails_makes_no_permit() {
    let failures = [
        Failure::Append(0),
        Failure::Append(1),
        Failure::Append(2),
        Failure::HalfAppend(0),
        Failure::HalfAppend(1),
        Failure::HalfAppend(2),
        Failure::Flush(0),
        Failure::Reserve(0),
        Failure::Reserve(2),
    ];
    for failure in failures {
        let log = TestLog::new();
        let mut opened = log.open_failing(failure).expect("a log");
        assert!(turn(&mut opened).is_err(), "{failure:?}");
        let more = opened.pen.write(reply());
        if !matches!(failure, Failure::Reserve(_)) {
            assert!(matches!(more, Err(LogError::Closed { .. })), "{failure:?}: {more:?}");
        }
        drop(opened);
        // Whatever was left behind, the next owner goes on from whole records.
        let mut again = log.open();
        assert!(turn(&mut again).is_ok(), "{failure:?}");
        drop(again);
        assert!(matches!(verify(&log.path), Verdict::Intact { .. }), "{failure:?}");
    }
    let mut opened = TestLog::new().open_failing(Failure::Append(99)).expect("a log");
    assert!(turn(&mut opened).is_ok(), "the control: nothing fails in a turn this short");
}

#[test]
fn on_a_full_disk_the_last_words_are_still_written() {
    let log = TestLog::new();
    let mut opened = log.open_failing(Failure::Reserve(3)).expect("a log");
    let permit = turn(&mut opened).expect("a permit");
    let (_act, _spent) = permit.spend();
    let refused =
        opened.pen.write(Event::User(UserBody { text: "more".to_owned(), ..UserBody::default() }));
    assert!(refused.is_err_and(|fault| fault.is_out_of_space()));
    opened.pen.write(result()).expect("the result");
    let ended = EndedBody { reason: EndReason::Fault, detail: "disk full".to_owned() };
    opened.pen.write(Event::Ended(ended)).expect("the end");
    opened.pen.flush().expect("a flush");
    drop(opened);
    assert_eq!(verify(&log.path), Verdict::Intact { records: 5 });
}

#[test]
fn a_cut_at_every_byte_of_the_last_record_is_a_torn_tail() {
    let log = TestLog::new();
    let mut opened = log.open();
    let _ = turn(&mut opened).expect("a permit").spend();
    drop(opened);
    let whole = fs::read(&log.path).expect("a file");
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("lines") + 1;
    for cut in last..whole.len() {
        fs::write(&log.path, &whole[..cut]).expect("a write");
        let verdict = verify(&log.path);
        if cut == last {
            assert_eq!(verdict, Verdict::Intact { records: 2 });
        } else {
            assert_eq!(verdict, Verdict::Torn { records: 2, bytes: (cut - last) as u64 });
        }
        let mut again = log.open();
        assert_eq!(again.torn_bytes, (cut - last) as u64);
        assert_eq!(again.pen.session(|session| session.entries.len()), 2);
        let _ = turn(&mut again).expect("a permit").spend();
        drop(again);
        assert_eq!(verify(&log.path), Verdict::Intact { records: 5 }, "cut at {cut}");
    }
}

#[test]
fn a_cut_inside_the_header_leaves_a_new_log() {
    let log = TestLog::new();
    drop(log.open());
    let whole = fs::read(&log.path).expect("a file");
    for cut in 0..whole.len() {
        fs::write(&log.path, &whole[..cut]).expect("a write");
        drop(log.open());
        assert_eq!(fs::read(&log.path).expect("a file"), whole, "cut at {cut}");
    }
}

#[test]
fn an_approval_without_a_result_stays_open_until_one_is_written() {
    let log = TestLog::new();
    let mut opened = log.open();
    let approval = turn(&mut opened).expect("a permit").spend().1.approval;
    drop(opened);
    let again = log.open();
    let open = again.pen.session(|session| session.open_approval.clone()).expect("an open one");
    assert_eq!((open.approval, open.call.as_str()), (approval, "call_1"));
    assert!(!again.pen.session(chock_log::Session::turn_is_complete));
    again.pen.write(result()).expect("a write");
    assert!(again.pen.session(chock_log::Session::turn_is_complete));
}

#[test]
fn odd_letters_cut_anywhere_are_a_torn_tail_and_bad_bytes_are_named() {
    let log = TestLog::new();
    let opened = log.open();
    let odd = |text: &str| Event::User(UserBody { text: text.to_owned(), ..UserBody::default() });
    opened.pen.write(odd("whole")).expect("a write");
    opened.pen.write(odd("\u{2028}\u{0}\u{7f}é日🦀\u{feff}")).expect("a write");
    drop(opened);
    let whole = fs::read(&log.path).expect("a file");
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("lines") + 1;
    for cut in last + 1..whole.len() {
        // What a power cut leaves may be rubbish as well.
        for rubbish in [&b""[..], b"\xff\xfe\0", b"\0\0\0\0"] {
            let torn = [&whole[..cut], rubbish].concat();
            fs::write(&log.path, &torn).expect("a write");
            let bytes = (torn.len() - last) as u64;
            assert_eq!(verify(&log.path), Verdict::Torn { records: 1, bytes }, "cut at {cut}");
            let again = log.open();
            assert_eq!(again.torn_bytes, bytes);
            assert_eq!(again.pen.session(|session| session.entries.len()), 1);
        }
    }
    // In a whole line bad bytes are a change, and the record is named.
    for place in last..whole.len() - 1 {
        for bad in [0xff, 0, 0xc3] {
            let mut changed = whole.clone();
            if changed[place] == bad {
                continue;
            }
            changed[place] = bad;
            changed.extend_from_slice(b"{}\n");
            fs::write(&log.path, &changed).expect("a write");
            let verdict = verify(&log.path);
            assert!(verdict.is_damage(), "{place}: {verdict}");
        }
    }
}

#[test]
fn a_log_of_twenty_megabytes_opens_in_a_small_multiple_of_reading_it() {
    use std::time::{Duration, Instant};

    let log = TestLog::new();
    let opened = log.open();
    let line = format!("{}\u{2028}é \\ \"q\" ", "word ".repeat(12));
    opened
        .pen
        .write(Event::User(UserBody { text: line.repeat(140_000), ..UserBody::default() }))
        .expect("a large record");
    for _ in 0..140 {
        opened
            .pen
            .write(Event::User(UserBody { text: line.repeat(1_000), ..UserBody::default() }))
            .expect("a write");
    }
    drop(opened);
    let bytes = fs::read(&log.path).expect("a file");
    assert!(bytes.len() > 20 << 20, "{} bytes", bytes.len());
    let least = |work: &dyn Fn()| {
        let times = (0..3).map(|_| {
            let since = Instant::now();
            work();
            since.elapsed()
        });
        times.min().unwrap_or(Duration::MAX)
    };
    let read = least(&|| {
        let bytes = fs::read(&log.path).expect("a file");
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            std::hint::black_box(serde_json::from_slice::<Value>(line).expect("JSON"));
        }
    });
    let open = least(&|| drop(log.open()));
    // Both are as little optimised as this test. Measured: 1.2.
    assert!(open < read * 4, "opening took {open:?}, reading {read:?}");
}
