//! Reading a file's text: each thing that is not one has its own fault.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use chock_config::{FileFault, Links, TEXT_BYTES_MAX, read_text};

#[test]
fn each_thing_that_is_not_a_text_has_its_own_fault() {
    let yard = tempfile::tempdir().unwrap();
    let at = |name: &str| yard.path().join(name);
    fs::write(at("good"), ".{}").unwrap();
    fs::write(at("binary"), b".{\n\xff").unwrap();
    fs::write(at("large"), vec![b' '; TEXT_BYTES_MAX + 1]).unwrap();
    fs::write(at("full"), vec![b' '; TEXT_BYTES_MAX]).unwrap();
    fs::create_dir(at("directory")).unwrap();
    symlink(at("good"), at("link")).unwrap();
    symlink(at("nothing"), at("dangling")).unwrap();
    symlink(at("loop"), at("loop")).unwrap();
    assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
    // (name, a part of the fault when links are refused, and when they are followed)
    let cases = [
        ("binary", "line 2 of", "line 2 of"),
        ("large", "is larger than", "is larger than"),
        ("directory", "is a directory", "is a directory"),
        ("fifo", "is a FIFO", "is a FIFO"),
        ("good/below", "cannot read", "cannot read"),
        ("link", "is a symbolic link", ""),
        ("dangling", "is a symbolic link", "cannot read"),
        ("loop", "is a symbolic link", "cannot read"),
        ("good", "", ""),
        ("full", "", ""),
    ];
    for (name, refused, followed) in cases {
        for (links, expected) in [(Links::Refuse, refused), (Links::Follow, followed)] {
            match read_text(&at(name), links) {
                Ok(text) => assert!(text.is_some() && expected.is_empty(), "{name} {links:?}"),
                Err(fault) => {
                    let shown = fault.to_string();
                    assert!(!expected.is_empty() && shown.contains(expected), "{name}: {shown}");
                    assert!(shown.contains(name), "{shown}");
                }
            }
        }
    }
}

#[test]
fn a_file_that_is_not_there_is_no_text() {
    let yard = tempfile::tempdir().unwrap();
    for links in [Links::Refuse, Links::Follow] {
        assert!(matches!(read_text(&yard.path().join("a"), links), Ok(None)));
        assert!(matches!(read_text(&yard.path().join("a/b"), links), Ok(None)));
    }
}

#[test]
fn a_file_without_the_right_to_read_it_is_unreadable() {
    // Root may read everything, so only a plain user can see this fault.
    let yard = tempfile::tempdir().unwrap();
    let path = yard.path().join("closed");
    fs::write(&path, ".{}").unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    match read_text(&path, Links::Refuse) {
        Ok(text) => assert!(text.is_some() && fs::read(&path).is_ok(), "only root reads this"),
        Err(fault) => assert!(matches!(fault, FileFault::Unreadable { .. }), "{fault}"),
    }
}
