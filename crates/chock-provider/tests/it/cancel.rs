//! A reply ends at once when somebody says so.

use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use chock_log::Delta;
use chock_provider::{Cancel, Model, ProviderFault};

use crate::bench::{context, endpoint, model};
use crate::fake::Fake;

/// Far below what any of these servers would take, far above a busy machine's hiccup.
const AT_ONCE: Duration = Duration::from_secs(10);

/// Asks, and triggers from another thread when `when` says so of a delta.
fn check(base_url: &str, when: fn(&Delta) -> bool) {
    let mut endpoint = endpoint(base_url);
    endpoint.patience.idle = Duration::from_secs(60);
    let cancel = Cancel::new();
    let begun = Instant::now();
    let mut trigger = |delta: Delta| {
        if when(&delta) {
            let cancel = cancel.clone();
            thread::spawn(move || cancel.trigger());
        }
    };
    let reply = model(endpoint).reply(&context("go"), &mut trigger, &cancel);
    assert!(matches!(reply, Err(ProviderFault::Cancelled)), "{reply:?}");
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
}

#[test]
fn a_wait_is_interrupted() {
    let scenario = r#"{"turns": [{"fault": {"kind": "rate_limit", "retry_after": 25}}]}"#;
    let fake = Fake::start(scenario, &[]);
    check(&fake.base_url(), |delta| matches!(delta, Delta::Waiting { .. }));
}

#[test]
fn a_stream_is_interrupted() {
    let scenario = r#"{"turns": [{"text": "Some words before the long silence.",
        "fault": {"kind": "stall", "after": 4, "seconds": 30}}]}"#;
    let fake = Fake::start(scenario, &[]);
    check(&fake.base_url(), |delta| matches!(delta, Delta::Text(_)));
}

#[test]
fn a_server_that_never_answers_is_interrupted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let cancel = Cancel::new();
    let begun = Instant::now();
    let asked = thread::spawn({
        let cancel = cancel.clone();
        move || model(endpoint(&url)).reply(&context("go"), &mut |_| {}, &cancel)
    });
    // The request has come and stays unanswered.
    let _connection = listener.accept().unwrap();
    cancel.trigger();
    let reply = asked.join().unwrap();
    assert!(matches!(reply, Err(ProviderFault::Cancelled)), "{reply:?}");
    assert!(begun.elapsed() < AT_ONCE);
}

#[test]
fn a_triggered_switch_sends_nothing() {
    let fake = Fake::start("01", &[]);
    let cancel = Cancel::new();
    cancel.trigger();
    let reply = model(endpoint(&fake.base_url())).reply(&context("go"), &mut |_| {}, &cancel);
    assert!(matches!(reply, Err(ProviderFault::Cancelled)), "{reply:?}");
    assert_eq!(fake.state()["requests"], 0);
}
