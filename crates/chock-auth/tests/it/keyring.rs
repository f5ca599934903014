//! What is stored in the keyring of a desktop: a real one, on a bus of its own.

use std::fs;
use std::process::Command;

use chock_auth::{Store, Stored};
use secrecy::ExposeSecret;
use tempfile::TempDir;

/// The variable that leads to the bus of a desktop.
const BUS: &str = "DBUS_SESSION_BUS_ADDRESS";

/// No bus is there.
const NOWHERE: &str = "unix:path=/nowhere";

fn key(stored: Option<Stored>) -> Option<String> {
    stored.map(|stored| match stored {
        Stored::Key(key) => key.expose_secret().to_owned(),
        Stored::Account(account) => panic!("{account:?}"),
    })
}

/// Writes what a program with a keyring writes.
fn say_that_the_keyring_has_it(data: &TempDir) {
    super::put(&data.path().join("credentials/a.json"), r#"{"kind":"keyring"}"#, 0o600);
}

#[test]
fn a_keyring_that_cannot_be_used_is_said_and_no_file_takes_its_place() {
    if cfg!(feature = "keyring") && std::env::var_os(BUS).is_none_or(|bus| bus != NOWHERE) {
        // Whatever desktop this is, its bus is not for this test.
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args([
            "--exact",
            "keyring::a_keyring_that_cannot_be_used_is_said_and_no_file_takes_its_place",
        ]);
        let ran = again.env(BUS, NOWHERE).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        return;
    }
    let data = TempDir::new().unwrap();
    let store = Store::at(data.path());
    say_that_the_keyring_has_it(&data);
    let said = store.read("a").unwrap_err().to_string();
    assert!(said.contains("is in your keyring, which cannot be used: "), "{said}");
    let held = store.hold("a").unwrap();
    let said = store.keep(&held, &Stored::Key("token-1".into())).unwrap_err().to_string();
    assert!(said.contains("chock logout a"), "{said}");
    let file = fs::read_to_string(data.path().join("credentials/a.json")).unwrap();
    assert!(!file.contains("token-1"), "{file}");
    let said = store.remove(&held).unwrap_err().to_string();
    assert!(said.contains("remove the entry `Chock: a` there"), "{said}");
    assert_eq!(key(store.read("a").unwrap()), None);
    store.keep(&held, &Stored::Key("token-2".into())).unwrap();
    assert_eq!(key(store.read("a").unwrap()).as_deref(), Some("token-2"));
}

#[cfg(feature = "keyring")]
mod real {
    use std::os::unix::fs::PermissionsExt;

    use chock_auth::Place;

    use super::*;

    /// Opens a keyring with a password, and runs one test of this program there.
    const SESSION: &str = r#"
        printf pass | gnome-keyring-daemon --unlock --components=secrets >/dev/null || exit 9
        exec "$0" --exact "$1" --ignored --nocapture
    "#;

    #[test]
    fn a_keyring_keeps_what_signing_in_gives() {
        let yard = TempDir::new().unwrap();
        for name in ["home", "run"] {
            fs::create_dir(yard.path().join(name)).unwrap();
            let private = fs::Permissions::from_mode(0o700);
            fs::set_permissions(yard.path().join(name), private).unwrap();
        }
        let mut session = Command::new("dbus-run-session");
        session.args(["--", "sh", "-c", SESSION]).arg(std::env::current_exe().unwrap());
        session.arg("keyring::real::keeps_reads_and_forgets");
        session
            .env("HOME", yard.path().join("home"))
            .env("XDG_RUNTIME_DIR", yard.path().join("run"));
        session.env_remove("XDG_DATA_HOME").env_remove(BUS);
        let ran = session.output().unwrap();
        let out = String::from_utf8_lossy(&ran.stdout);
        let err = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && out.contains("1 passed"), "{out}\n{err}");
        let keyrings = yard.path().join("home/.local/share/keyrings");
        assert!(keyrings.read_dir().unwrap().count() > 0, "it went to another keyring");
    }

    #[test]
    #[ignore = "started by a_keyring_keeps_what_signing_in_gives on a bus of its own"]
    fn keeps_reads_and_forgets() {
        let (data, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let store = Store::at(data.path());
        let held = store.hold("a").unwrap();
        let keep = |text: &str| store.keep(&held, &Stored::Key(text.into())).unwrap();
        assert_eq!(keep("token-1"), Place::Keyring);
        assert_eq!(keep("token-2"), Place::Keyring);
        assert_eq!(key(store.read("a").unwrap()).as_deref(), Some("token-2"));
        let path = data.path().join("credentials/a.json");
        assert!(!fs::read_to_string(&path).unwrap().contains("token"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        // Another directory shares the keyring and not the secret.
        let elsewhere = Store::at(other.path());
        let beside = elsewhere.hold("a").unwrap();
        elsewhere.keep(&beside, &Stored::Key("token-other".into())).unwrap();
        assert_eq!(key(store.read("a").unwrap()).as_deref(), Some("token-2"));
        assert!(store.remove(&held).unwrap());
        assert_eq!(key(store.read("a").unwrap()), None);
        say_that_the_keyring_has_it(&data);
        let said = store.read("a").unwrap_err().to_string();
        assert!(said.contains("it has no such entry"), "{said}");
        assert_eq!(key(elsewhere.read("a").unwrap()).as_deref(), Some("token-other"));
        // A file of before moves into the keyring with the next that is stored.
        super::super::put(&path, r#"{"kind":"key","key":"token-file"}"#, 0o600);
        assert_eq!(key(store.read("a").unwrap()).as_deref(), Some("token-file"));
        keep("token-3");
        assert!(!fs::read_to_string(&path).unwrap().contains("token"));
    }
}
