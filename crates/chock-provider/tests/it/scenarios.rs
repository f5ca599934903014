//! The scenarios of the strict fake.

use std::time::Duration;

use chock_log::{Cost, Delta, Part, Stop};
use chock_provider::ProviderFault;

use crate::bench::{KEY, answer, ask, context, endpoint, model, play, shown, user, waits};
use crate::fake::Fake;

#[test]
fn the_plain_scenarios_are_played_to_their_end() {
    for (scenario, replies) in
        [("01", 4), ("02", 3), ("03", 2), ("04", 4), ("11", 4), ("12", 5), ("50", 51)]
    {
        let fake = Fake::start(scenario, &["--key", KEY]);
        let mut model = model(endpoint(&fake.base_url()));
        let said = play(&mut model, &mut context("go"));
        assert_eq!(said.len(), replies, "{scenario}");
        fake.assert_finished();
    }
}

#[test]
fn words_arrive_whole_and_counted() {
    let fake = Fake::start("01", &[]);
    let said = play(&mut model(endpoint(&fake.base_url())), &mut context("go"));
    let last = said.last().unwrap();
    assert_eq!(
        last.message.text(),
        "Done: `parser.py` now strips spaces, and the tests pass ✅ (日本語 and 🦀 too)."
    );
    assert_eq!((&last.message.stop, &last.cost), (&Stop::Finished, &Cost::Free));
    assert!(last.tokens.unwrap().input > 0 && last.tokens.unwrap().output > 0);
    assert_eq!(said[0].message.stop, Stop::Calls);
    assert_eq!(said[0].message.calls().next().unwrap().arguments, r#"{"path": "parser.py"}"#);
}

#[test]
fn the_credential_is_in_its_header_and_nowhere_else() {
    let fake = Fake::start("01", &["--key", KEY]);
    play(&mut model(endpoint(&fake.base_url())), &mut context("go"));
    for request in fake.requests() {
        assert_eq!(request["headers"]["authorization"], format!("Bearer {KEY}"));
        assert!(!request["body"].to_string().contains(KEY));
        assert!(!request["path"].to_string().contains(KEY));
    }
}

#[test]
fn thinking_is_kept() {
    let fake = Fake::start("04", &["--dialect", "compat"]);
    let said = play(&mut model(endpoint(&fake.base_url())), &mut context("go"));
    let Some(Part::Thinking(thinking)) = said[0].message.parts.first() else {
        panic!("{:?}", said[0])
    };
    assert!(thinking.text.ends_with("carefully, 慎重に."), "{thinking:?}");
    fake.assert_finished();
}

#[test]
fn a_busy_server_is_waited_for() {
    let fake = Fake::start("05", &[]);
    let (reply, deltas) = ask(&mut model(endpoint(&fake.base_url())), &context("go"));

    let reply = reply.unwrap();
    assert_eq!(reply.message.text(), "The fourth try worked.");
    // One second was asked for and a little is added; the others are tens of milliseconds.
    assert_eq!(waits(&deltas), [(2, 2), (1, 3), (1, 4)]);
    let told: Vec<_> = reply.retries.iter().map(|retry| (retry.seconds, retry.attempt)).collect();
    assert_eq!(told, waits(&deltas));
    let requests = fake.requests();
    let times: Vec<_> = requests.iter().map(|request| request["time"].as_f64().unwrap()).collect();
    assert_eq!(times.len(), 4);
    assert!(times[1] - times[0] >= 1.0, "{times:?}");
    assert!(requests.iter().all(|request| request["body"] == requests[0]["body"]));
    fake.assert_finished();
}

#[test]
fn a_refusal_is_a_reply() {
    for (options, category) in
        [(vec![], None), (vec!["--quirk", "refusal_filter"], Some("content_filter"))]
    {
        let fake = Fake::start("07", &options);
        let (reply, _) = ask(&mut model(endpoint(&fake.base_url())), &context("go"));
        let (category, explanation) =
            (category.map(str::to_owned), Some("I can't help with that.".to_owned()));
        assert_eq!(reply.unwrap().message.stop, Stop::Refused { category, explanation });
        fake.assert_finished();
    }
}

#[test]
fn an_empty_reply_is_not_sent_back() {
    let fake = Fake::start("08", &[]);
    let mut model = model(endpoint(&fake.base_url()));
    let mut context = context("go");
    let mut said = Vec::new();
    for _ in 0..3 {
        let reply = ask(&mut model, &context).0.unwrap();
        answer(&mut context, &reply);
        context.messages.push(user("go on"));
        said.push((reply.message.text(), reply.message.stop.clone()));
    }
    assert_eq!(said[0], (String::new(), Stop::Finished));
    assert_eq!(said[1].1, Stop::Length);
    assert_eq!(said[2], ("And this one is whole.".to_owned(), Stop::Finished));
    fake.assert_finished();
    let requests = fake.requests();
    let second = requests[1]["body"]["messages"].as_array().unwrap();
    let roles: Vec<_> = second.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user"], "the two users are joined");
}

#[test]
fn a_cut_reply_is_tried_once_more_and_then_reported() {
    let fake = Fake::start("09", &[]);
    let mut model = model(endpoint(&fake.base_url()));

    let (reply, deltas) = ask(&mut model, &context("go"));
    assert!(matches!(reply, Err(ProviderFault::Cut { source: None, .. })), "{reply:?}");
    assert_eq!(deltas.iter().filter(|delta| **delta == Delta::Restart).count(), 1);
    assert_eq!(shown(&deltas), "Running.");
    assert_eq!(fake.requests().len(), 2);

    let (reply, _) = ask(&mut model, &context("go"));
    let reply = reply.unwrap();
    assert_eq!(reply.message.text(), "The reply that got through.");
    assert_eq!((reply.retries.len(), reply.retries[0].seconds), (1, 0));
    fake.assert_finished();
}

#[test]
fn faults_in_a_stream_end_plainly() {
    let fake = Fake::start("13", &[]);
    let mut endpoint = endpoint(&fake.base_url());
    endpoint.patience.idle = Duration::from_secs(1);
    let mut model = model(endpoint);
    let mut next = || ask(&mut model, &context("go"));

    let (reply, deltas) = next();
    assert!(matches!(reply, Err(ProviderFault::Malformed { .. })), "{reply:?}");
    assert_eq!(waits(&deltas).len(), 1, "the error event is waited for");
    assert!(deltas.contains(&Delta::Restart));
    assert!(matches!(next().0, Err(ProviderFault::Silent { .. })));
    assert_eq!(next().0.unwrap().message.text(), "Slow but whole.");
    assert!(matches!(next().0, Err(ProviderFault::OutOfCredit { .. })));
    assert!(matches!(next().0, Err(ProviderFault::Key { status: 401, .. })));
    assert_eq!(next().0.unwrap().message.text(), "The end.");
    fake.assert_finished();
}
