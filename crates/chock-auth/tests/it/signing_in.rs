//! The sign-in with a browser and with a device, against a strict issuer.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use chock_auth::{Account, BrowserSignIn, Code, DeviceSignIn, Issuer, SignInFault};
use secrecy::ExposeSecret;
use tempfile::TempDir;

use crate::issuer::{Fake, Plain, exchange, get, usual};

const NOW: u64 = 1_795_000_000;

/// Looks until something comes, at most 20 seconds.
fn wait(sign_in: &mut BrowserSignIn) -> Result<Code, SignInFault> {
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(20) {
        if let Some(code) = sign_in.look(Duration::from_millis(50))? {
            return Ok(code);
        }
    }
    panic!("nobody came");
}

/// Where the issuer sends the browser.
fn led(sign_in: &BrowserSignIn) -> String {
    let (status, location) = get(sign_in.url());
    assert_eq!(status, 302, "{}", sign_in.url());
    location.expect("a place")
}

fn check_account(account: &Account, issuer: &Issuer) {
    assert_eq!(account.issuer, issuer.url);
    assert_eq!(account.email.as_deref(), Some("fake@example.com"));
    assert_eq!(account.plan.as_deref(), Some("plus"));
    assert!(account.id.as_deref().is_some_and(|id| !id.is_empty()), "{account:?}");
    assert!(account.refresh.is_some() && account.expires > 0);
    let shown = format!("{account:?}");
    assert!(!shown.contains(account.access.expose_secret()), "{shown}");
}

#[test]
fn a_browser_signs_in() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &[]);
    let issuer = fake.issuer();
    let mut sign_in = BrowserSignIn::begin(&issuer).unwrap();
    let place = led(&sign_in);
    let browser = thread::spawn(move || get(&place).0);
    let code = wait(&mut sign_in).unwrap();
    assert_eq!(browser.join().unwrap(), 200);

    let account = sign_in.redeem(&code, &Plain::default(), NOW).unwrap();
    check_account(&account, &issuer);
    // A code is good for once.
    let again = sign_in.redeem(&code, &Plain::default(), NOW).unwrap_err();
    assert!(matches!(again, SignInFault::Refused { status: 400, .. }), "{again:?}");
    assert!(again.to_string().contains("unknown, expired or used"), "{again}");
}

#[test]
fn what_belongs_to_no_sign_in_does_not_end_one() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &[]);
    let mut sign_in = BrowserSignIn::begin(&fake.issuer()).unwrap();
    let place = led(&sign_in);
    let (base, query) = place.split_once("/auth/callback?").unwrap();
    let state = query.split('&').find(|pair| pair.starts_with("state=")).unwrap().to_owned();
    let odd = [
        ("GET", format!("{base}/auth/callback?code=c&state=another"), 400),
        ("GET", format!("{base}/auth/callback?error=access_denied&state=another"), 400),
        ("GET", format!("{base}/auth/callback?code=c"), 400),
        ("GET", format!("{base}/auth/callback?{state}"), 400),
        ("GET", format!("{base}/favicon.ico"), 404),
        ("POST", place.clone(), 405),
    ];
    let browser = thread::spawn(move || {
        for (method, url, expected) in odd {
            let (status, head, _) = exchange(method, &url, "", b"").unwrap();
            assert_eq!(status, expected, "{method} {url}");
            assert!(head.contains("no-referrer") && head.contains("no-store"), "{head}");
        }
        get(&place).0
    });
    let code = wait(&mut sign_in).unwrap();
    assert_eq!(browser.join().unwrap(), 200);
    sign_in.redeem(&code, &Plain::default(), NOW).unwrap();
}

#[test]
fn connections_that_say_nothing_hold_nobody() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &[]);
    let mut sign_in = BrowserSignIn::begin(&fake.issuer()).unwrap();
    let place = led(&sign_in);
    let host = place.strip_prefix("http://localhost").unwrap().split('/').next().unwrap();
    let silent: Vec<_> =
        (0..20).map(|_| TcpStream::connect(format!("127.0.0.1{host}")).unwrap()).collect();
    let browser = thread::spawn(move || get(&place).0);
    let since = Instant::now();
    wait(&mut sign_in).unwrap();
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    assert_eq!(browser.join().unwrap(), 200);
    drop(silent);
}

#[test]
fn a_refusal_of_the_person_is_told() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &["--deny"]);
    let mut sign_in = BrowserSignIn::begin(&fake.issuer()).unwrap();
    let place = led(&sign_in);
    let pasted = sign_in.pasted(&place).err().expect("a refusal");
    assert!(matches!(pasted, SignInFault::Denied { .. }), "{pasted:?}");
    let browser = thread::spawn(move || get(&place).0);
    let fault = wait(&mut sign_in).err().expect("a refusal");
    assert_eq!(fault.to_string(), "the sign-in was refused: The user denied the request");
    assert_eq!(browser.join().unwrap(), 200);
}

#[test]
fn the_address_can_be_pasted() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &[]);
    let sign_in = BrowserSignIn::begin(&fake.issuer()).unwrap();
    let place = led(&sign_in);
    let another = BrowserSignIn::begin(&fake.issuer()).unwrap();
    for (text, reason) in [
        (led(&another).as_str(), "another sign-in"),
        ("ac_12345", "no state"),
        ("", "no state"),
        ("http://", "no address"),
    ] {
        let fault = sign_in.pasted(text).err().expect(text);
        assert!(fault.to_string().contains(reason), "{text:?}: {fault}");
    }
    let code = sign_in.pasted(&format!(" {place}\n")).unwrap();
    sign_in.redeem(&code, &Plain::default(), NOW).unwrap();
}

#[test]
fn a_busy_port_gives_way_to_the_next() {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (first, second) = (listen(), listen());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let ports = vec![port(&first), port(&second)];
    let issuer = Issuer { ports: ports.clone(), ..usual() };
    // Nobody accepts at the first: it is another program's, and stays so.
    let fault = BrowserSignIn::begin(&issuer).err().expect("no port");
    let words = format!("the ports {} and {} are in use", ports[0], ports[1]);
    assert!(fault.to_string().starts_with(&words), "{fault}");
    drop(second);
    let sign_in = BrowserSignIn::begin(&issuer).unwrap();
    let redirect = format!("localhost%3A{}%2Fauth%2Fcallback", ports[1]);
    assert!(sign_in.url().contains(&redirect), "{}", sign_in.url());
}

#[test]
fn a_stale_sign_in_gives_its_port_free() {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let issuer = Issuer { ports: vec![free], ..usual() };
    let mut stale = BrowserSignIn::begin(&issuer).unwrap();
    let waits = thread::spawn(move || wait(&mut stale).err());
    let sign_in = BrowserSignIn::begin(&issuer).unwrap();
    let ended = waits.join().unwrap();
    assert!(matches!(ended, Some(SignInFault::Displaced)), "{ended:?}");
    assert!(sign_in.url().contains(&format!("localhost%3A{free}%2F")), "{}", sign_in.url());
}

#[test]
fn a_device_signs_in() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &["--device-polls", "2", "--device-interval", "7"]);
    let issuer = fake.issuer();
    let wire = Plain::default();
    let sign_in = DeviceSignIn::begin(&issuer, &wire).unwrap();
    assert_eq!(sign_in.url(), format!("{}/codex/device", issuer.url));
    assert!(sign_in.user_code().contains('-'), "{}", sign_in.user_code());
    let mut pauses = Vec::new();
    let mut pause = |time: Duration| {
        pauses.push(time.as_secs());
        true
    };
    let account = sign_in.wait(&wire, &mut pause, &|| NOW).unwrap().expect("an account");
    assert_eq!(pauses, [7, 7, 7]);
    check_account(&account, &issuer);
}

#[test]
fn a_device_that_is_not_signed_in_says_why() {
    let yard = TempDir::new().unwrap();
    let wire = Plain::default();
    let ended = |options: &[&str], device_time: u64, goes_on: bool| {
        let fake = Fake::start(yard.path(), options);
        let device_time = Duration::from_secs(device_time);
        let issuer = Issuer { device_time, ..fake.issuer() };
        let sign_in = DeviceSignIn::begin(&issuer, &wire).unwrap();
        sign_in.wait(&wire, &mut |_| goes_on, &|| NOW)
    };
    let denied = ended(&["--deny"], 900, true).unwrap_err();
    assert!(matches!(denied, SignInFault::Denied { .. }), "{denied:?}");
    let late = ended(&["--device-ttl", "0"], 900, true).unwrap_err();
    assert!(matches!(late, SignInFault::Expired { .. }), "{late:?}");
    assert!(late.to_string().contains("within 15 minutes"), "{late}");
    let late = ended(&["--device-polls", "9999"], 1, true).unwrap_err();
    assert!(matches!(late, SignInFault::Expired { .. }), "{late:?}");
    assert!(ended(&["--device-polls", "9999"], 900, false).unwrap().is_none());
}

#[test]
fn an_issuer_without_device_codes_is_told_apart_from_one_that_is_not_there() {
    let yard = TempDir::new().unwrap();
    let fake = Fake::start(yard.path(), &[]);
    let wire = Plain::default();
    let elsewhere = Issuer { url: format!("{}/elsewhere", fake.issuer().url), ..fake.issuer() };
    let fault = DeviceSignIn::begin(&elsewhere, &wire).err().expect("no codes");
    assert!(matches!(fault, SignInFault::NoDeviceCodes { .. }), "{fault:?}");
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let nowhere = Issuer { url: format!("http://127.0.0.1:{free}"), ..fake.issuer() };
    let fault = DeviceSignIn::begin(&nowhere, &wire).err().expect("nobody");
    assert!(matches!(fault, SignInFault::Unreachable { .. }), "{fault:?}");
}
