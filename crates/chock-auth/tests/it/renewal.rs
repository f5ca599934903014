//! Credentials that are stored, renewed by one process for all, and forgotten.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use chock_auth::{
    Account, DeviceSignIn, Issuer, RenewFault, Renewal, Revoked, Store, StoreFault, Stored, renew,
    revoke,
};
use secrecy::ExposeSecret;
use tempfile::TempDir;

use crate::issuer::{Fake, Plain, usual};

const NOW: u64 = 1_795_000_000;

/// Signs in, as a device that need not wait, and stores the account with another end.
fn sign_in(store: &Store, issuer: &Issuer, expires: u64) -> Account {
    let wire = Plain::default();
    let sign_in = DeviceSignIn::begin(issuer, &wire).unwrap();
    let account = sign_in.wait(&wire, &mut |_| true, &|| NOW).unwrap().expect("an account");
    let account = Account { expires, ..account };
    let held = store.hold("openai").unwrap();
    store.keep(&held, &Stored::Account(account.clone())).unwrap();
    account
}

fn fresh(
    store: &Store,
    issuer: &Issuer,
    now: u64,
    refused: Option<&str>,
) -> Result<Account, RenewFault> {
    let wire = Plain { before: Duration::from_millis(300) };
    let renewal = Renewal { store, provider: "openai", issuer, wire: &wire, now: &|| now };
    renew(&renewal, refused)
}

fn stored(store: &Store) -> Account {
    match store.read("openai").unwrap() {
        Some(Stored::Account(account)) => account,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_stored_is_for_its_person_alone() {
    let data = TempDir::new().unwrap();
    let store = Store::at(data.path());
    assert!(store.read("a").unwrap().is_none());
    let held = store.hold("a").unwrap();
    store.keep(&held, &Stored::Key("token-1".into())).unwrap();
    store.keep(&held, &Stored::Key("token-2".into())).unwrap();
    let Some(Stored::Key(key)) = store.read("a").unwrap() else { panic!("no key") };
    assert_eq!(key.expose_secret(), "token-2");
    assert!(store.read("b").unwrap().is_none());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let directory = data.path().join("credentials");
    let file = directory.join("a.json");
    assert_eq!((mode(&directory), mode(&file)), (0o700, 0o600));

    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    let fault = store.read("a").unwrap_err();
    assert!(matches!(fault, StoreFault::File { .. }), "{fault:?}");
    assert!(!format!("{fault:?}").contains("token-2"));
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    // A header could not hold this one.
    fs::write(&file, "{\"kind\":\"key\",\"key\":\"token\\r\\nHost: x\"}").unwrap();
    assert!(matches!(store.read("a"), Err(StoreFault::Damaged { .. })));
    for name in ["", "../a", "a/b", "A", ".", &"a".repeat(65)] {
        assert!(matches!(store.read(name), Err(StoreFault::Name)), "{name}");
    }
    assert!(store.remove(&held).unwrap() && !store.remove(&held).unwrap());
    assert!(store.read("a").unwrap().is_none());
}

#[test]
fn what_a_killed_process_left_does_not_stop_the_next() {
    let data = TempDir::new().unwrap();
    let store = Store::at(data.path());
    let held = store.hold("a").unwrap();
    fs::write(data.path().join("credentials/a.new"), "half").unwrap();
    store.keep(&held, &Stored::Key("token-1".into())).unwrap();
    assert!(store.read("a").unwrap().is_some());
    let names = fs::read_dir(data.path().join("credentials")).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.json", "a.lock"]);
}

#[test]
fn five_processes_with_an_expired_token_ask_once() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &["--device-polls", "0"]);
    let issuer = fake.issuer();
    let store = Store::at(yard.path());
    let before = sign_in(&store, &issuer, 0);
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "renewal::one_of_five", "--ignored", "--nocapture"]);
        command.env("CHOCK_TEST_DATA", yard.path()).env("CHOCK_TEST_ISSUER", &issuer.url);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let five: Vec<_> = (0..5).map(|_| start()).collect();
    let mut tokens = Vec::new();
    for child in five {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        let token = text.lines().find_map(|line| line.split("token=").nth(1));
        tokens.push(token.expect("a token").to_owned());
    }
    let after = stored(&store);
    assert_ne!(after.access.expose_secret(), before.access.expose_secret());
    assert_eq!(tokens, vec![after.access.expose_secret().to_owned(); 5]);
    assert_eq!(fake.count("/oauth/token", "refresh_token"), 1);
}

#[test]
#[ignore = "a process of the test above it"]
fn one_of_five() {
    let data = std::env::var_os("CHOCK_TEST_DATA").expect("a directory");
    let url = std::env::var("CHOCK_TEST_ISSUER").expect("an issuer");
    let issuer = Issuer { url, ..usual() };
    let account = fresh(&Store::at(Path::new(&data)), &issuer, NOW, None).unwrap();
    writeln!(std::io::stdout(), "token={}", account.access.expose_secret()).unwrap();
}

#[test]
fn a_token_that_a_server_refuses_is_renewed_though_it_has_not_ended() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &["--device-polls", "0"]);
    let store = Store::at(yard.path());
    let before = sign_in(&store, &fake.issuer(), NOW + 3600);
    let lent = fresh(&store, &fake.issuer(), NOW, None).unwrap();
    assert_eq!(lent.access.expose_secret(), before.access.expose_secret());
    assert_eq!(fake.count("/oauth/token", "refresh_token"), 0);

    let refused = before.access.expose_secret();
    let lent = fresh(&store, &fake.issuer(), NOW, Some(refused)).unwrap();
    assert_ne!(lent.access.expose_secret(), refused);
    // Another process that was refused the same one finds the new one.
    let other = fresh(&store, &fake.issuer(), NOW, Some(refused)).unwrap();
    assert_eq!(other.access.expose_secret(), lent.access.expose_secret());
    assert_eq!(fake.count("/oauth/token", "refresh_token"), 1);
    assert_eq!((lent.id, lent.plan), (before.id, before.plan));
}

#[test]
fn a_refresh_token_that_was_spent_elsewhere_asks_for_a_sign_in() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &["--device-polls", "0"]);
    let store = Store::at(yard.path());
    let before = sign_in(&store, &fake.issuer(), 0);
    fresh(&store, &fake.issuer(), NOW, None).unwrap();
    let held = store.hold("openai").unwrap();
    store.keep(&held, &Stored::Account(before.clone())).unwrap();
    drop(held);
    let fault = fresh(&store, &fake.issuer(), NOW, None).unwrap_err();
    assert!(matches!(fault, RenewFault::Ended { .. }), "{fault:?}");
    let words = fault.to_string();
    assert!(words.contains("already been used") && words.contains("chock login openai"), "{words}");
    let secret = before.refresh.as_ref().unwrap().expose_secret();
    assert!(!format!("{fault:?}").contains(secret), "{fault:?}");
}

#[test]
fn an_issuer_that_fails_ends_nothing_that_still_works() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &["--device-polls", "0"]);
    let issuer = fake.issuer();
    let store = Store::at(yard.path());
    // It ends in a minute, so it is to be renewed early.
    let before = sign_in(&store, &issuer, NOW + 60);
    drop(fake);
    let lent = fresh(&store, &issuer, NOW, None).unwrap();
    assert_eq!(lent.access.expose_secret(), before.access.expose_secret());
    let fault = fresh(&store, &issuer, NOW + 61, None).unwrap_err();
    assert!(matches!(fault, RenewFault::Unreachable { .. }), "{fault:?}");
    let fault = fresh(&store, &issuer, NOW, Some(before.access.expose_secret())).unwrap_err();
    assert!(matches!(fault, RenewFault::Unreachable { .. }), "{fault:?}");
}

#[test]
fn what_could_not_be_written_is_not_used() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &["--device-polls", "0"]);
    let store = Store::at(yard.path());
    sign_in(&store, &fake.issuer(), 0);
    // Its draft cannot be made, not by root either.
    fs::create_dir(yard.path().join("credentials/openai.new")).unwrap();
    let fault = fresh(&store, &fake.issuer(), NOW, None).unwrap_err();
    assert!(matches!(fault, RenewFault::Store { .. }), "{fault:?}");
}

#[test]
fn tokens_go_to_their_own_issuer_only() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &["--device-polls", "0"]);
    let store = Store::at(yard.path());
    sign_in(&store, &fake.issuer(), 0);
    let other = Issuer { url: "http://127.0.0.1:1".to_owned(), ..fake.issuer() };
    let fault = fresh(&store, &other, NOW, None).unwrap_err();
    assert!(matches!(fault, RenewFault::OtherIssuer { .. }), "{fault:?}");
    let held = store.hold("openai").unwrap();
    store.remove(&held).unwrap();
    drop(held);
    let fault = fresh(&store, &fake.issuer(), NOW, None).unwrap_err();
    assert_eq!(fault.to_string(), "nobody is signed in; run `chock login openai`");
}

#[test]
fn an_issuer_forgets_what_is_revoked() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &["--device-polls", "0"]);
    let store = Store::at(yard.path());
    let account = sign_in(&store, &fake.issuer(), 0);
    assert_eq!(revoke(&Plain::default(), &account), Revoked::Yes);
    let fault = fresh(&store, &fake.issuer(), NOW, None).unwrap_err();
    assert!(matches!(fault, RenewFault::Ended { .. }), "{fault:?}");
    let elsewhere = Account { issuer: format!("{}/x", fake.issuer().url), ..account };
    assert_eq!(revoke(&Plain::default(), &elsewhere), Revoked::No);
}
