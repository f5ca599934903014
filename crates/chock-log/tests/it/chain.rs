//! What the file holds, who may write it, and what verifying tells.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use chock_log::{
    Event, Log, LogError, NoticeBody, RECORD_BYTES_MAX, Running, Seq, UserBody, Verdict, verify,
};
use chock_testkit::{TestLog, options};

fn user(text: &str) -> Event {
    Event::User(UserBody { text: text.to_owned(), ..UserBody::default() })
}

#[test]
fn records_are_numbered_chained_and_read_back() {
    let log = TestLog::new();
    let opened = log.open();
    assert_eq!(opened.pen.write(user("one")).expect("a write"), Seq(1));
    assert_eq!(opened.pen.write(user("two")).expect("a write"), Seq(2));
    drop(opened);
    let again = log.open();
    assert_eq!(again.pen.write(user("three")).expect("a write"), Seq(3));
    drop(again);

    let text = fs::read_to_string(&log.path).expect("a file");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], r#"{"chock_log":1}"#);
    assert_eq!(lines.len(), 4);
    assert!(lines[1].starts_with(
        r#"{"seq":1,"time":"2023-11-14T22:13:20.000Z","kind":"message.user","body":"#
    ));
    assert_eq!(verify(&log.path), Verdict::Intact { records: 3 });
    assert_eq!(log.read().0.entries.len(), 3);
}

#[test]
fn the_file_is_private_and_has_one_owner() {
    let log = TestLog::new();
    let opened = log.open();
    let mode =
        |path: &std::path::Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(&log.path), 0o600);
    assert_eq!(mode(log.path.parent().expect("a directory")), 0o700);
    assert_eq!(Log::running(&log.path), Running::Yes);
    let second = Log::open(&log.path, options());
    assert!(matches!(second, Err(LogError::InUse { .. })));
    drop(opened);
    assert_eq!(Log::running(&log.path), Running::No);
    assert_eq!(Log::running(&log.path.with_extension("missing")), Running::Unknown);
}

#[test]
fn a_changed_byte_is_named_by_its_record() {
    let log = TestLog::new();
    let opened = log.open();
    for word in ["alpha", "beta", "gamma"] {
        opened.pen.write(user(word)).expect("a write");
    }
    drop(opened);
    let original = fs::read(&log.path).expect("a file");
    let at = |word: &str| {
        let text = String::from_utf8_lossy(&original).into_owned();
        text.find(word).expect("the word")
    };
    for (word, expected) in [
        ("alpha", Verdict::Broken { at: Seq(2), after: Seq(1) }),
        ("beta", Verdict::Broken { at: Seq(3), after: Seq(2) }),
    ] {
        let mut changed = original.clone();
        changed[at(word)] = b'X';
        fs::write(&log.path, &changed).expect("a write");
        assert_eq!(verify(&log.path), expected, "{word}");
        let opened = Log::open(&log.path, options());
        assert!(matches!(opened, Err(LogError::NotIntact { .. })), "a broken log is not continued");
    }
}

#[test]
fn a_removed_or_swapped_line_breaks_the_chain() {
    let log = TestLog::new();
    let opened = log.open();
    for word in ["alpha", "beta", "gamma"] {
        opened.pen.write(user(word)).expect("a write");
    }
    drop(opened);
    let text = fs::read_to_string(&log.path).expect("a file");
    let lines: Vec<_> = text.lines().collect();
    for order in [vec![0, 1, 3], vec![0, 2, 1, 3], vec![0, 2, 3]] {
        let kept: String = order.iter().map(|index| format!("{}\n", lines[*index])).collect();
        fs::write(&log.path, kept).expect("a write");
        assert!(matches!(verify(&log.path), Verdict::Broken { .. }), "{order:?}");
    }
}

#[test]
fn what_was_never_a_log_never_passes() {
    let log = TestLog::new();
    drop(log.open());
    for text in ["", "\n", "{}\n", "{\"chock_log\":2}\n", "hello\n", "{\"chock_log\":1}\n{}\n"] {
        fs::write(&log.path, text).expect("a write");
        assert!(!matches!(verify(&log.path), Verdict::Intact { .. }), "{text:?}");
    }
    // A record without a hash is no record of a chain.
    let line = r#"{"seq":1,"time":"2023-11-14T22:13:20Z","kind":"x","body":{}}"#;
    fs::write(&log.path, format!("{{\"chock_log\":1}}\n{line}\n")).expect("a write");
    assert_eq!(verify(&log.path), Verdict::Undecodable { at: Seq(1) });
    assert!(matches!(verify(&log.path.with_extension("no")), Verdict::Unreadable { .. }));
}

#[test]
fn kinds_and_fields_of_later_versions_survive() {
    let log = TestLog::new();
    let opened = log.open();
    let later = Event::Unknown {
        kind: "later.kind".to_owned(),
        body: serde_json::json!({ "a": [1, 2], "b": { "c": null } }),
    };
    opened.pen.write(later.clone()).expect("a write");
    opened.pen.write(user("x")).expect("a write");
    drop(opened);
    assert_eq!(log.records()[0].event, later);
    assert_eq!(verify(&log.path), Verdict::Intact { records: 2 });
}

#[test]
fn odd_text_and_twenty_megabytes_read_back() {
    let log = TestLog::new();
    let opened = log.open();
    let odd = "a\u{2028}b\u{2029}c\0d\u{7f}\u{feff}\"\\\n\r";
    opened.pen.write(user(odd)).expect("a write");
    for _ in 0..20 {
        opened.pen.write(user(&"x".repeat(1 << 20))).expect("a write");
    }
    drop(opened);
    let again = log.open();
    let entries = again.pen.session(|session| session.entries.clone());
    assert_eq!(entries[0].1, chock_log::Entry::User(odd.to_owned()));
    assert_eq!(entries.len(), 21);
}

#[test]
fn a_record_over_the_limit_is_refused_and_the_log_goes_on() {
    let log = TestLog::new();
    let opened = log.open();
    let large = opened.pen.write(user(&"x".repeat(RECORD_BYTES_MAX)));
    assert!(matches!(large, Err(LogError::TooLarge { .. })));
    let text = "still here".to_owned();
    let notice = Event::Notice(NoticeBody { text, ..NoticeBody::default() });
    assert_eq!(opened.pen.write(notice).expect("a write"), Seq(1));
}

#[test]
fn an_observer_sees_each_line_as_it_stands_in_the_file() {
    let log = TestLog::new();
    let (send, receive) = std::sync::mpsc::channel();
    let mut with_observer = options();
    with_observer.observer = Some(Box::new(move |_, line| {
        send.send(line.to_vec()).expect("a listener");
    }));
    let opened = Log::open(&log.path, with_observer).expect("a log");
    opened.pen.write(user("one")).expect("a write");
    opened.pen.write(user("two")).expect("a write");
    let seen: Vec<u8> = receive.try_iter().flatten().collect();
    let file = fs::read(&log.path).expect("a file");
    assert!(file.ends_with(&seen) && seen.starts_with(b"{\"seq\":1"));
}
