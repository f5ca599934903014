//! Tests of the crate from outside.
#![expect(clippy::unwrap_used, reason = "tests")]

mod issuer;
mod keyring;
mod renewal;
mod signing_in;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use chock_auth::{LENT_BYTES_MIN, Lent, Store, Stored, TOKEN_BYTES_MAX, lend};
use chock_config::Person;
use secrecy::{ExposeSecret, SecretString};
use tempfile::TempDir;

/// A provider's row with `credential`, and the credential it gets or the fault.
fn lent(yard: &TempDir, credential: &str) -> Result<Option<String>, String> {
    let config = format!(
        ".{{ .providers = .{{ .{{ .name = .a, .kind = .openai_compat, .base_url = \"http://x\", {credential} }} }} }}"
    );
    let person = Person::read("config.zon", &config).unwrap();
    let (home, store) = (yard.path().join("home"), Store::at(&yard.path().join("data")));
    match lend(&person.providers[0], yard.path(), Some(&home), &store) {
        Ok(lent) => {
            assert!(!format!("{lent:?}").contains("token-"), "{lent:?}");
            Ok(lent.map(|lent| match lent {
                Stored::Key(key) => key.expose_secret().to_owned(),
                Stored::Account(account) => panic!("{account:?}"),
            }))
        }
        Err(fault) => {
            let source =
                std::error::Error::source(&fault).map_or(String::new(), ToString::to_string);
            let shown = format!("{fault}: {source}");
            assert!(!format!("{shown}{fault:?}").contains("token-"), "{fault:?}");
            Err(shown)
        }
    }
}

fn put(path: &Path, bytes: impl AsRef<[u8]>, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_token_is_looked_for_in_its_order() {
    let yard = TempDir::new().unwrap();
    let at = |name: &str| yard.path().join(name);
    let found = |text: &str| Ok(Some(text.to_owned()));
    assert_eq!(lent(&yard, ""), Ok(None));
    let store = Store::at(&at("data"));
    store.keep(&store.hold("a").unwrap(), &Stored::Key("token-stored".into())).unwrap();
    assert_eq!(lent(&yard, ""), found("token-stored"));
    put(&at("tokens.zon"), ".{ .a = \"token-zon\", .b = \"token-other\" }", 0o600);
    assert_eq!(lent(&yard, ""), found("token-zon"));
    put(&at("file"), "token-file\n", 0o600);
    put(&at("home/file"), " token-home \r\n", 0o400);
    assert_eq!(lent(&yard, ".token_file = \"file\""), found("token-file"));
    assert_eq!(lent(&yard, ".token_file = \"~/file\""), found("token-home"));
    let absolute = format!(".token_file = \"{}\"", at("file").display());
    assert_eq!(lent(&yard, &absolute), found("token-file"));
    assert_eq!(lent(&yard, ".token = \"token-row\""), found("token-row"));
    put(&at("tokens.zon"), ".{ .b = \"token-other\" }", 0o600);
    assert_eq!(lent(&yard, ""), found("token-stored"));
}

#[test]
fn a_file_that_cannot_be_used_is_a_fault_and_nothing_else_is_tried() {
    let yard = TempDir::new().unwrap();
    let at = |name: &str| yard.path().join(name);
    put(&at("tokens.zon"), ".{ .a = \"token-zon\" }", 0o600);
    for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666] {
        put(&at(&format!("mode-{mode:o}")), "token-file", mode);
        let fault = lent(&yard, &format!(".token_file = \"mode-{mode:o}\"")).unwrap_err();
        assert!(fault.contains(&format!("(mode {mode:o}); run `chmod 600`")), "{fault}");
    }
    put(&at("empty"), " \n", 0o600);
    put(&at("two"), "token-one\ntoken-two", 0o600);
    put(&at("binary"), b"token-\xff", 0o600);
    put(&at("large"), "x".repeat(TOKEN_BYTES_MAX + 1), 0o600);
    put(&at("full"), "x".repeat(TOKEN_BYTES_MAX), 0o600);
    put(&at("target"), "token-file", 0o644);
    symlink(at("target"), at("link")).unwrap();
    fs::create_dir(at("directory")).unwrap();
    assert!(Command::new("mkfifo").args(["-m", "600"]).arg(at("fifo")).status().unwrap().success());
    let _listener = UnixListener::bind(at("socket")).unwrap();
    // (file, a part of the fault)
    let cases = [
        ("nothing", "is not there"),
        ("empty", "the token is empty"),
        ("two", "only visible ASCII"),
        ("binary", "only visible ASCII"),
        ("large", "is larger than 65536 bytes"),
        ("link", "(mode 644)"),
        ("directory", "is not a regular file"),
        ("fifo", "is not a regular file"),
        ("socket", "is not a regular file"),
        ("empty/below", "cannot read"),
    ];
    for (name, expected) in cases {
        let fault = lent(&yard, &format!(".token_file = \"{name}\"")).unwrap_err();
        assert!(fault.contains(expected) && fault.contains(name), "{name}: {fault}");
    }
    assert_eq!(lent(&yard, ".token_file = \"full\"").unwrap().unwrap().len(), TOKEN_BYTES_MAX);
}

#[test]
fn tokens_zon_follows_the_same_rules() {
    let yard = TempDir::new().unwrap();
    let path = yard.path().join("tokens.zon");
    let good = ".{ .a = \"token-zon\" }";
    // (bytes, mode, a part of the fault)
    let cases: [(&[u8], u32, &str); 5] = [
        (good.as_bytes(), 0o644, "(mode 644)"),
        (b".{ .a = token-zon }", 0o600, "tokens.zon:1:14"),
        (b".{ .a = \"token-zon\n }", 0o600, "tokens.zon:1:9"),
        (b".{\n .a = \"token-\xff\" }", 0o600, "tokens.zon:2:14"),
        (&[b' '; (1 << 20) + 1], 0o600, "is larger than 1048576 bytes"),
    ];
    for (bytes, mode, expected) in cases {
        put(&path, bytes, mode);
        let fault = lent(&yard, "").unwrap_err();
        assert!(fault.contains(expected), "{fault}");
        fs::remove_file(&path).unwrap();
    }
    // A link of a secret manager is followed, and what is behind it counts.
    put(&yard.path().join("secrets/real"), good, 0o600);
    symlink(yard.path().join("secrets/real"), &path).unwrap();
    assert_eq!(lent(&yard, ""), Ok(Some("token-zon".to_owned())));
}

#[test]
fn what_was_lent_is_listed_once_and_short_values_are_counted() {
    let mut lent = Lent::default();
    for value in ["a-long-token", "a-long-token", "12345678", "1234567", ""] {
        lent.add(&SecretString::from(value));
    }
    let values: Vec<_> = lent.values().map(ExposeSecret::expose_secret).collect();
    assert_eq!(values, ["a-long-token", "12345678"]);
    assert!(values.iter().all(|value| value.len() >= LENT_BYTES_MIN));
    assert_eq!(lent.too_short(), 2);
    assert!(!format!("{lent:?}").contains("a-long"));
}
