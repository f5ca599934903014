//! The store of what a person accepted.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use chock_config::{Acceptances, Identity};

#[test]
fn an_acceptance_is_for_one_digest_and_one_directory() {
    let yard = tempfile::tempdir().unwrap();
    let store = yard.path().join("accepted.zon");
    let (one, two) = (yard.path().join("one"), yard.path().join("two \"\n"));
    fs::create_dir(&one).unwrap();
    fs::create_dir(&two).unwrap();
    let (first, second) = (Identity::of(&one).unwrap(), Identity::of(&two).unwrap());

    Acceptances::add(&store, &first, "aa").unwrap();
    Acceptances::add(&store, &second, "bb").unwrap();
    Acceptances::add(&store, &second, "bb").unwrap();

    let kept = Acceptances::read(&store).unwrap();
    assert_eq!(kept.rows().count(), 2);
    // (identity, digest, expected)
    let cases = [
        (&first, "aa", true),
        (&first, "bb", false),
        (&second, "bb", true),
        (&second, "aa", false),
    ];
    for (identity, digest, expected) in cases {
        assert_eq!(kept.holds(identity, digest), expected, "{identity:?} {digest}");
    }
    assert_eq!(fs::metadata(&store).unwrap().permissions().mode() & 0o777, 0o600);

    Acceptances::revoke(&store, first.path()).unwrap();
    let kept = Acceptances::read(&store).unwrap();
    assert!(!kept.holds(&first, "aa") && kept.holds(&second, "bb"));
}

#[test]
fn another_directory_of_the_same_name_is_another_project() {
    let yard = tempfile::tempdir().unwrap();
    let store = yard.path().join("accepted.zon");
    let (place, aside) = (yard.path().join("project"), yard.path().join("aside"));
    fs::create_dir(&place).unwrap();
    Acceptances::add(&store, &Identity::of(&place).unwrap(), "aa").unwrap();
    // The old one stays, so that its numbers are not given out again.
    fs::rename(&place, &aside).unwrap();
    fs::create_dir(&place).unwrap();

    let kept = Acceptances::read(&store).unwrap();
    assert!(!kept.holds(&Identity::of(&place).unwrap(), "aa"));
    assert!(!kept.holds(&Identity::of(&aside).unwrap(), "aa"));
}

#[test]
fn a_directory_is_known_by_its_real_path() {
    let yard = tempfile::tempdir().unwrap();
    let (place, link) = (yard.path().join("project"), yard.path().join("link"));
    fs::create_dir(&place).unwrap();
    symlink(&place, &link).unwrap();
    assert_eq!(Identity::of(&place).unwrap(), Identity::of(&link).unwrap());
    assert!(Identity::of(&yard.path().join("nothing")).is_err());
}

#[test]
fn any_path_reads_back() {
    let yard = tempfile::tempdir().unwrap();
    let store = yard.path().join("accepted.zon");
    let name = Path::new(std::ffi::OsStr::from_bytes(b"a\xff\"\\\n\x1b \xc3\xa9"));
    let place = yard.path().join(name);
    fs::create_dir(&place).unwrap();
    let identity = Identity::of(&place).unwrap();
    Acceptances::add(&store, &identity, "aa").unwrap();
    assert!(Acceptances::read(&store).unwrap().holds(&identity, "aa"));
}

#[test]
fn a_file_that_cannot_be_trusted_accepts_nothing() {
    let yard = tempfile::tempdir().unwrap();
    let identity = Identity::of(yard.path()).unwrap();
    let good = yard.path().join("good");
    Acceptances::add(&good, &identity, "aa").unwrap();
    let text = fs::read_to_string(&good).unwrap();
    let exposed = yard.path().join("exposed");
    fs::write(&exposed, &text).unwrap();
    fs::set_permissions(&exposed, fs::Permissions::from_mode(0o620)).unwrap();
    let link = yard.path().join("link");
    symlink(&good, &link).unwrap();
    let damaged = yard.path().join("damaged");
    fs::write(&damaged, &text[..text.len() - 3]).unwrap();
    let newer = yard.path().join("newer");
    fs::write(&newer, text.replace(".version = 1", ".version = 2")).unwrap();
    // (file, a part of the fault)
    let cases = [
        (&exposed, "can be written by others"),
        (&link, "is a symbolic link"),
        (&damaged, "is damaged"),
        (&newer, "is damaged"),
    ];
    for (path, expected) in cases {
        let before = fs::read(path).unwrap();
        let fault = Acceptances::read(path).unwrap_err().to_string();
        assert!(fault.contains(expected), "{fault}");
        // Adding to it does not repair it silently either.
        assert!(Acceptances::add(path, &identity, "bb").is_err());
        assert_eq!(fs::read(path).unwrap(), before);
    }
    assert_eq!(Acceptances::read(&yard.path().join("nothing")).unwrap(), Acceptances::default());
}

#[test]
fn what_a_killed_writer_left_is_no_obstacle() {
    let yard = tempfile::tempdir().unwrap();
    let store = yard.path().join("accepted.zon");
    fs::write(yard.path().join("accepted.zon.new"), "half").unwrap();
    let identity = Identity::of(yard.path()).unwrap();
    Acceptances::add(&store, &identity, "aa").unwrap();
    assert!(Acceptances::read(&store).unwrap().holds(&identity, "aa"));
    assert!(!yard.path().join("accepted.zon.new").exists());
}

#[test]
fn writers_wait_for_each_other() {
    let yard = tempfile::tempdir().unwrap();
    let store = yard.path().join("accepted.zon");
    let identity = Identity::of(yard.path()).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (store, identity) = (&store, &identity);
            scope.spawn(move || {
                for digest in 0..5 {
                    Acceptances::add(store, identity, &format!("{writer}{digest}")).unwrap();
                }
            });
        }
    });
    assert_eq!(Acceptances::read(&store).unwrap().rows().count(), 20);
}

#[test]
fn the_oldest_make_room() {
    let yard = tempfile::tempdir().unwrap();
    let store = yard.path().join("accepted.zon");
    let identity = Identity::of(yard.path()).unwrap();
    let rows: String = (0..1024)
        .map(|row| format!(".{{ .digest = \"{row}\", .path = \"/p\", .device = 1, .inode = 1 }},"))
        .collect();
    fs::write(&store, format!(".{{ .version = 1, .accepted = .{{ {rows} }} }}")).unwrap();
    Acceptances::add(&store, &identity, "new").unwrap();
    let kept = Acceptances::read(&store).unwrap();
    assert_eq!(kept.rows().count(), 1024);
    assert_eq!(kept.rows().next().unwrap().0, "1");
    assert!(kept.holds(&identity, "new"));
}
