//! What a person reads when there is no reply.

use std::net::TcpListener;
use std::time::Duration;

use chock_log::EndReason;
use chock_provider::{Cancel, Endpoint, Model, OpenaiCompat, ProviderFault};

use crate::bench::{KEY, Key, ask, context, endpoint, model, waits};
use crate::fake::Fake;

/// Asks once and returns the fault with its words.
fn fault(endpoint: Endpoint) -> (ProviderFault, String) {
    let fault = ask(&mut model(endpoint), &context("go")).0.unwrap_err();
    let words = fault.to_string();
    assert!(!words.contains('\n') && words.len() < 800, "{words}");
    assert!(!format!("{words} {fault:?}").contains(KEY), "{fault:?}");
    (fault, words)
}

fn faulty(kind: &str) -> Fake {
    let turn = format!(r#"{{"fault": {kind}}}"#);
    Fake::start(&format!(r#"{{"turns": [{}]}}"#, [turn.as_str(); 6].join(",")), &[])
}

#[test]
fn a_wrong_key_is_named() {
    let fake = Fake::start("01", &["--key", "another"]);
    let (fault, words) = fault(endpoint(&fake.base_url()));
    assert!(matches!(fault, ProviderFault::Key { status: 401, .. }), "{fault:?}");
    assert_eq!(words, "`test` refuses the credential (status 401): Incorrect API key provided.");
    assert_eq!(fake.requests().len(), 1, "it is not tried again");
}

#[test]
fn a_wrong_model_is_answered_with_the_nearest() {
    let fake = faulty(r#"{"kind": "model_not_found"}"#);
    let mut endpoint = endpoint(&fake.base_url());
    endpoint.model = "fake-modle".to_owned();
    let (_, words) = fault(endpoint);
    assert!(words.starts_with("`test` has no model `fake-modle` (nearest: fake-model"), "{words}");
}

#[test]
fn a_context_that_is_too_long_is_known_by_two_dialects() {
    for (dialect, limit) in [("openai", Some(200_000)), ("compat", None)] {
        let scenario = r#"{"turns": [{"fault": {"kind": "context_too_long"}}]}"#;
        let fake = Fake::start(scenario, &["--dialect", dialect]);
        let (fault, _) = fault(endpoint(&fake.base_url()));
        let ProviderFault::ContextTooLong { limit: found, .. } = fault else { panic!("{fault:?}") };
        assert_eq!(found, limit, "{dialect}");
        assert_eq!(fake.requests().len(), 1);
    }
}

#[test]
fn a_rate_limit_that_outlasts_all_tries_has_its_own_end() {
    let fake = faulty(r#"{"kind": "rate_limit", "retry_after": 0}"#);
    let (reply, deltas) = ask(&mut model(endpoint(&fake.base_url())), &context("go"));
    let fault = reply.unwrap_err();
    assert!(matches!(fault, ProviderFault::RateLimited { tries: 6, .. }), "{fault:?}");
    assert_eq!(fault.end_reason(), EndReason::RateLimited);
    assert_eq!((waits(&deltas).len(), fake.requests().len()), (5, 6));
}

#[test]
fn a_wait_beyond_patience_ends_at_once() {
    let fake = faulty(r#"{"kind": "rate_limit", "retry_after": 3600}"#);
    let (fault, _) = fault(endpoint(&fake.base_url()));
    let ProviderFault::RateLimited { tries: 1, wait, .. } = fault else { panic!("{fault:?}") };
    assert_eq!(wait, Some(Duration::from_secs(3600)));
}

#[test]
fn an_empty_account_is_not_tried_again() {
    for dialect in ["openai", "compat"] {
        let scenario = r#"{"turns": [{"fault": {"kind": "quota"}}]}"#;
        let fake = Fake::start(scenario, &["--dialect", dialect]);
        let (fault, _) = fault(endpoint(&fake.base_url()));
        assert!(matches!(fault, ProviderFault::OutOfCredit { .. }), "{fault:?}");
        assert_eq!(fake.requests().len(), 1);
    }
}

#[test]
fn a_server_that_keeps_failing_is_reported_with_its_tries() {
    let fake = faulty(r#"{"kind": "server_error", "status": 502}"#);
    let (fault, words) = fault(endpoint(&fake.base_url()));
    assert!(matches!(fault, ProviderFault::Server { status: 502, tries: 6, .. }), "{fault:?}");
    assert_eq!(words, "`test` failed (status 502) in 6 tries: Internal server error");
    assert!(!fault.is_overload());

    for kind in [r#"{"kind": "server_error", "status": 503}"#, r#"{"kind": "overloaded"}"#] {
        let (fault, words) = self::fault(endpoint(&faulty(kind).base_url()));
        assert!(fault.is_overload() && words.starts_with("`test` is overloaded (status 503)"));
        assert_eq!(fault.end_reason(), EndReason::RateLimited);
    }
}

#[test]
fn an_endpoint_that_is_down_is_soon_reported() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/v1");
    let (reply, deltas) = ask(&mut model(endpoint(&url)), &context("go"));
    assert_eq!(
        reply.unwrap_err().to_string(),
        format!(
            "cannot reach `{url}/chat/completions` (connection refused): \
             check base_url and that the server runs"
        )
    );
    assert_eq!(waits(&deltas).len(), 2);
}

#[test]
fn a_name_that_nobody_knows_is_reported() {
    let (fault, words) = fault(endpoint("http://nowhere.invalid/v1"));
    assert!(matches!(fault, ProviderFault::Unreachable { .. }), "{fault:?}");
    assert!(words.contains("(the name is not known)"), "{words}");
}

#[test]
fn a_server_without_tls_is_reported_by_that() {
    let fake = Fake::start("01", &[]);
    let url = fake.base_url().replace("http:", "https:");
    let (fault, words) = fault(endpoint(&url));
    assert!(matches!(fault, ProviderFault::Unreachable { .. }), "{fault:?}");
    assert!(words.contains("TLS"), "{words}");
}

#[test]
fn a_client_for_https_can_be_built() {
    OpenaiCompat::new(endpoint("https://api.example.com/v1"), Box::new(Key)).unwrap();
}

#[test]
fn models_are_listed() {
    let fake = Fake::start("01", &["--dialect", "compat"]);
    let listed = model(endpoint(&fake.base_url())).models(&Cancel::new()).unwrap();
    let names: Vec<_> = listed.iter().map(|row| (row.name.as_str(), row.context_tokens)).collect();
    assert_eq!(names, [("fake-model", Some(131_072)), ("fake-small", Some(131_072))]);

    let fake = Fake::start("01", &["--key", "another"]);
    let fault = model(endpoint(&fake.base_url())).models(&Cancel::new()).unwrap_err();
    assert!(matches!(fault, ProviderFault::Key { .. }), "{fault:?}");
}
