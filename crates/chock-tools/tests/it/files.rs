//! The file tools in a cell: what they do, what they refuse, and what is the wall's.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use chock_log::{Ended, Outcome};
use chock_tools::cage::{CoverKind, Denied};
use serde_json::{Value, json};

use crate::yard::{Wish, Yard};

#[track_caller]
fn done(outcome: &Outcome) {
    assert_eq!((&outcome.ended, &outcome.denial), (&Ended::Done, &None), "{}", outcome.text);
}

/// A fault that is not the wall's.
#[track_caller]
fn fault(outcome: &Outcome, words: &str) {
    assert_eq!((&outcome.ended, &outcome.denial), (&Ended::Fault, &None), "{}", outcome.text);
    assert!(outcome.text.contains(words), "{words}: {}", outcome.text);
}

#[track_caller]
fn denied(outcome: &Outcome, operation: &str, target: &str) {
    assert_eq!(outcome.ended, Ended::Denied, "{}", outcome.text);
    let denial = outcome.denial.as_ref().expect("a denial");
    assert_eq!((denial.operation.as_str(), denial.layer.as_str()), (operation, "mount"));
    assert_eq!(denial.target.as_deref(), Some(target), "{}", outcome.text);
}

#[test]
fn a_file_is_read_edited_and_written_and_the_project_stays_as_it_was() {
    let mut yard = Yard::new();
    let read = yard.call("read_file", &json!({"path": "a.txt"}));
    done(&read);
    assert!(read.text.contains("     2\ttwo\n"), "{}", read.text);
    let edit = json!({"path": "a.txt", "old_string": "two", "new_string": "2"});
    done(&yard.call("edit_file", &edit));
    assert_eq!(yard.contents("a.txt"), "one\n2\nthree\n");

    // The hash of what was written counts as read: another edit needs no reading.
    let edit = json!({"path": "./src/../a.txt", "old_string": "three", "new_string": "3"});
    done(&yard.call("edit_file", &edit));
    let whole = json!({"path": "a.txt", "content": "new\n"});
    done(&yard.call("write_file", &whole));
    assert_eq!(yard.contents("a.txt"), "new\n");
    done(&yard.call("write_file", &json!({"path": "deep/er/b.txt", "content": "b"})));
    assert_eq!(yard.run("od -An -c deep/er/b.txt"), "   b\n");
    assert_eq!(yard.run("git status --porcelain"), " M a.txt\n?? deep/\n");

    assert_eq!(fs::read(yard.project.join("a.txt")).unwrap(), b"one\ntwo\nthree\n");
    assert!(!yard.project.join("deep").exists());
}

#[test]
fn a_file_that_was_not_read_or_changed_since_is_not_overwritten() {
    let mut yard = Yard::new();
    let write = json!({"path": "a.txt", "content": "x"});
    let edit = json!({"path": "a.txt", "old_string": "one", "new_string": "1"});
    fault(&yard.call("write_file", &write), "was not read in this session");
    fault(&yard.call("edit_file", &edit), "was not read in this session");
    done(&yard.call("read_file", &json!({"path": "a.txt", "limit": 1})));
    yard.run("echo four >> a.txt");
    fault(&yard.call("write_file", &write), "changed since it was read");
    fault(&yard.call("edit_file", &edit), "changed since it was read");
    assert_eq!(yard.contents("a.txt"), "one\ntwo\nthree\nfour\n");

    let read = yard.call("read_file", &json!({"path": "a.txt"}));
    let hash = read.file.expect("a file's state").hash;
    yard.run("echo five >> a.txt");
    let old = json!({"path": "a.txt", "old_string": "one", "new_string": "1", "file_hash": hash});
    fault(&yard.call("edit_file", &old), &hash);
    done(&yard.call("read_file", &json!({"path": "a.txt"})));
    done(&yard.call("edit_file", &edit));
}

#[test]
fn mode_line_endings_and_mark_are_kept() {
    let files: &[(&str, &[u8])] = &[("dos.sh", b"\xef\xbb\xbfecho one\r\necho two\r\n")];
    let mut yard = Yard::with(Wish { files, ..Wish::default() });
    yard.run("chmod 750 dos.sh");
    let read = yard.call("read_file", &json!({"path": "dos.sh"}));
    assert!(read.text.contains("byte order mark, CRLF line endings"), "{}", read.text);
    assert!(read.text.contains("     1\techo one\n"), "{}", read.text);
    let edit = json!({"path": "dos.sh", "old_string": "one\necho", "new_string": "1\necho"});
    done(&yard.call("edit_file", &edit));
    let seen = yard.run("stat -c %a dos.sh; od -An -c dos.sh | tr -d ' \\n'");
    assert_eq!(seen, "750\n357273277echo1\\r\\nechotwo\\r\\n\n");
    done(&yard.call("write_file", &json!({"path": "dos.sh", "content": "a\nb\n"})));
    let seen = yard.run("stat -c %a dos.sh; od -An -c dos.sh | tr -d ' \\n'");
    assert_eq!(seen, "750\n357273277a\\r\\nb\\r\\n\n");
}

#[test]
fn links_are_followed_as_an_editor_would_and_the_answer_says_so() {
    let mut yard = Yard::new();
    yard.run("ln -s a.txt link; ln -s nowhere dangling; ln -s /usr/share out");
    done(&yard.call("read_file", &json!({"path": "link"})));
    let edit = json!({"path": "link", "old_string": "one", "new_string": "1"});
    let edited = yard.call("edit_file", &edit);
    done(&edited);
    assert!(edited.text.contains("(a link; the file is"), "{}", edited.text);
    assert_eq!(yard.run("readlink link; cat a.txt"), "a.txt\n1\ntwo\nthree\n");
    let write = |path: &str| json!({"path": path, "content": "x"});
    fault(&yard.call("write_file", &write("dangling")), "is a link to a file that is not there");
    denied(&yard.call("write_file", &write("out/new")), "write", "out/new");
}

#[test]
fn an_edit_that_is_not_clear_changes_nothing() {
    let files: &[(&str, &[u8])] = &[("b.txt", b"x = 1\ny = 1\nx = 1\n")];
    let mut yard = Yard::with(Wish { files, ..Wish::default() });
    done(&yard.call("read_file", &json!({"path": "b.txt"})));
    let edit = |old: &str| json!({"path": "b.txt", "old_string": old, "new_string": "z"});
    fault(&yard.call("edit_file", &edit("x = 1")), "2 times (lines 1, 3)");
    fault(&yard.call("edit_file", &edit("  y = 1\n")), "is at line 2");
    fault(&yard.call("edit_file", &edit("q")), "is not in `b.txt`");
    fault(&yard.call("edit_file", &edit("")), "`old_string` is empty");
    fault(&yard.call("edit_file", &edit("z")), "are the same");
    assert_eq!(yard.contents("b.txt"), "x = 1\ny = 1\nx = 1\n");
    let all =
        json!({"path": "b.txt", "old_string": "x = 1", "new_string": "z", "replace_all": true});
    done(&yard.call("edit_file", &all));
    assert_eq!(yard.contents("b.txt"), "z\ny = 1\nz\n");
}

#[test]
fn what_the_wall_refuses_is_a_denial_and_what_is_missing_is_not() {
    let mut yard = Yard::new();
    let canary = yard.at("outside/canary");
    let canary = canary.to_str().unwrap().to_owned();
    assert!(Path::new(&canary).exists(), "the control: it is there without the cage");
    let read = |path: &str| json!({"path": path});
    let write = |path: &str| json!({"path": path, "content": "x"});

    done(&yard.call("read_file", &read("/usr/include/stdio.h")));
    fault(&yard.call("read_file", &read("absent.txt")), "`absent.txt` is not there");
    fault(&yard.call("read_file", &read("absent/absent.txt")), "is not there");
    fault(&yard.call("read_file", &read("/usr/include/absent.h")), "is not there");
    denied(&yard.call("read_file", &read(&canary)), "read", &canary);
    denied(&yard.call("read_file", &read("../outside/canary")), "read", &canary);
    denied(&yard.call("read_file", &read("/root/.ssh/id_rsa")), "read", "/root/.ssh/id_rsa");
    denied(&yard.call("read_file", &read("/etc/shadow")), "read", "/etc/shadow");
    denied(&yard.call("list_directory", &read("/home")), "read", "/home");
    denied(&yard.call("write_file", &write("/usr/include/x.h")), "write", "/usr/include/x.h");
    denied(&yard.call("write_file", &write("/etc/x")), "write", "/etc/x");
    denied(&yard.call("write_file", &write("/new/x")), "write", "/new/x");
    denied(&yard.call("write_file", &write(&canary)), "write", &canary);
    yard.run(&format!("ln -s {canary} out"));
    denied(&yard.call("read_file", &read("out")), "read", "out");
    denied(&yard.call("write_file", &write("out")), "write", "out");
    assert_eq!(fs::read(&canary).unwrap(), b"untouched");

    done(&yard.call("write_file", &write("/tmp/x")));
    assert_eq!(yard.contents("/tmp/x"), "x\n");
    yard.run("mkdir shut; echo y > shut/y; chmod 0 shut/y; chmod 500 shut");
    fault(&yard.call("read_file", &read("shut/y")), "its mode does not permit it");
    fault(&yard.call("write_file", &write("shut/z")), "its mode does not permit it");
}

#[test]
fn the_rules_of_the_project_cannot_be_changed() {
    let mut yard = Yard::new();
    let read = yard.call("read_file", &json!({"path": "chock.zon"}));
    done(&read);
    let edit = json!({"path": "chock.zon", "old_string": ".{}", "new_string": ".{ .a = 1 }"});
    let outcome = yard.call("edit_file", &edit);
    denied(&outcome, "write", "chock.zon");
    assert!(outcome.denial.unwrap().allowed_by.unwrap().contains("the person editing chock.zon"));
    let write = json!({"path": "chock.zon", "content": "x"});
    denied(&yard.call("write_file", &write), "write", "chock.zon");
    assert_eq!(yard.contents("chock.zon"), ".{}\n");
}

#[test]
fn denied_files_are_kept_from_every_tool() {
    let files: &[(&str, &[u8])] = &[(".env", b"KEY=hunter2\n"), ("d/deep/key", b"hunter2\n")];
    let file = |path: &str| Denied { path: path.into(), kind: CoverKind::File };
    let denied_paths = vec![file(".env"), file("d/deep/key"), file("later")];
    let mut yard = Yard::with(Wish { files, denied: denied_paths, ..Wish::default() });
    for path in [".env", "d/deep/key", "later"] {
        let outcome = yard.call("read_file", &json!({"path": path}));
        denied(&outcome, "read", path);
        assert!(outcome.denial.unwrap().allowed_by.unwrap().contains("deny_read"));
        let write = json!({"path": path, "content": "x"});
        denied(&yard.call("write_file", &write), "write", path);
    }
    let found = yard.call("grep", &json!({"pattern": "hunter2"}));
    done(&found);
    assert!(!found.text.contains("hunter2:") && found.text.contains("could not be read"));
    let cat = yard.call("run_command", &json!({"command": "cat .env d/deep/key later"}));
    assert_eq!(cat.ended, Ended::Exited(1));
    assert!(!cat.text.contains("hunter2"), "{}", cat.text);
}

#[test]
fn odd_files_are_named_and_never_waited_for() {
    let mut yard = Yard::new();
    yard.run(
        "mkfifo fifo; head -c 300M /dev/zero > huge; printf 'a\\0b' > binary; ln -s loop loop",
    );
    let read = |path: &str| json!({"path": path});
    fault(&yard.call("read_file", &read("fifo")), "is a FIFO");
    fault(&yard.call("write_file", &json!({"path": "fifo", "content": "x"})), "is a FIFO");
    fault(&yard.call("read_file", &read("huge")), "314572800 bytes");
    fault(&yard.call("read_file", &read("src")), "is a directory");
    fault(&yard.call("write_file", &json!({"path": "src", "content": "x"})), "is a directory");
    fault(&yard.call("read_file", &read("/dev/zero")), "is a device");
    fault(&yard.call("read_file", &read("loop")), "Too many levels of symbolic links");
    fault(&yard.call("read_file", &read("a.txt/x")), "a part of the path is a file");
    let binary = yard.call("read_file", &read("binary"));
    done(&binary);
    assert!(binary.text.contains("`binary` is a binary file: 3 bytes"), "{}", binary.text);
    let edit = json!({"path": "binary", "old_string": "a", "new_string": "b"});
    fault(&yard.call("edit_file", &edit), "holds NUL bytes");
    let found = yard.call("grep", &json!({"pattern": "one"}));
    assert_eq!(found.text, "a.txt:1:one\nsrc/lib.rs:1:fn one() {}\n");
}

#[test]
fn a_session_works_from_a_directory_of_its_project() {
    let mut yard = Yard::with(Wish { directory: "src", ..Wish::default() });
    done(&yard.call("read_file", &json!({"path": "lib.rs"})));
    done(&yard.call("read_file", &json!({"path": "../a.txt"})));
    let edit = json!({"path": "../a.txt", "old_string": "one", "new_string": "1"});
    done(&yard.call("edit_file", &edit));
    let absolute = yard.project.join("a.txt");
    let edit = json!({"path": absolute, "old_string": "two", "new_string": "2"});
    done(&yard.call("edit_file", &edit));
    assert_eq!(
        yard.run("pwd; cat ../a.txt"),
        format!("{}/src\n1\n2\nthree\n", yard.project.display())
    );
    let found = yard.call("glob", &json!({"pattern": "**/*"}));
    assert_eq!(found.text, "lib.rs\n");
    let found = yard.call("grep", &json!({"pattern": "three", "path": ".."}));
    assert_eq!(found.text, "../a.txt:3:three\n");
    let at = yard.call("run_command", &json!({"command": "pwd", "cwd": ".."}));
    assert!(at.text.starts_with(&format!("{}\n", yard.project.display())), "{}", at.text);
}

#[test]
fn names_are_listed_found_and_searched() {
    let files: &[(&str, &[u8])] = &[
        (".gitignore", b"target/\n"),
        ("target/out.rs", b"fn one() {}\n"),
        ("src/b.rs", b"// One\nfn two() {\n    one();\n}\n"),
    ];
    let mut yard = Yard::with(Wish { files, ..Wish::default() });
    yard.run("mkdir target; echo 'fn one' > target/out.rs");
    let text = |outcome: Outcome| {
        done(&outcome);
        outcome.text
    };
    let mut ask = |tool: &str, arguments: Value| text(yard.call(tool, &arguments));
    assert_eq!(
        ask("list_directory", json!({})),
        ".git/\n.gitignore\na.txt\nchock.zon\nsrc/\ntarget/\n"
    );
    assert_eq!(ask("glob", json!({"pattern": "**/*.rs"})), "src/b.rs\nsrc/lib.rs\n");
    assert_eq!(ask("glob", json!({"pattern": "*.rs", "path": "src"})), "src/b.rs\nsrc/lib.rs\n");
    let expected = "src/b.rs:3:    one();\nsrc/lib.rs:1:fn one() {}\n";
    assert_eq!(ask("grep", json!({"pattern": r"\bone\(", "glob": "*.rs"})), expected);
    let arguments =
        json!({"pattern": "one", "path": "src", "case_insensitive": true, "mode": "count"});
    assert_eq!(ask("grep", arguments), "src/b.rs:2\nsrc/lib.rs:1\n");
    let arguments = json!({"pattern": "one", "mode": "files"});
    assert_eq!(ask("grep", arguments), "a.txt\nsrc/b.rs\nsrc/lib.rs\n");
    let arguments = json!({"pattern": "two", "context": 1, "path": "src/b.rs"});
    assert_eq!(
        ask("grep", arguments),
        "src/b.rs-1-// One\nsrc/b.rs:2:fn two() {\nsrc/b.rs-3-    one();\n"
    );
}

#[test]
fn a_project_may_have_any_name() {
    for name in
        [&b"a b'\"$(x)"[..], b"new\nline", b"\xff\xfe", "naïve 🦀".as_bytes(), b"c:o,m=ma\\"]
    {
        let mut yard = Yard::with(Wish { name, directory: "src", ..Wish::default() });
        done(&yard.call("read_file", &json!({"path": "../a.txt"})));
        let edit = json!({"path": "../a.txt", "old_string": "one", "new_string": "1"});
        done(&yard.call("edit_file", &edit));
        let found = yard.call("grep", &json!({"pattern": "two", "path": ".."}));
        assert_eq!(found.text, "../a.txt:2:two\n");
        assert_eq!(yard.run("cat ../a.txt"), "1\ntwo\nthree\n");
        done(&yard.call("write_file", &json!({"path": "new", "content": "x"})));
        let status = yard.run("git status --porcelain");
        assert_eq!(status, " M a.txt\n?? src/new\n", "{}", name.escape_ascii());
    }
}

#[test]
fn the_largest_file_is_written_and_read_back() {
    let mut yard = Yard::new();
    let line = format!("{}\n", "é".repeat(127));
    let content = line.repeat((4 << 20) / line.len());
    done(&yard.call("write_file", &json!({"path": "big", "content": content})));
    let read = yard.call("read_file", &json!({"path": "big", "offset": 16000}));
    done(&read);
    assert_eq!(read.bytes_kept, read.text.len() as u64);
    let size = yard.run("stat -c %s big");
    assert_eq!(size, format!("{}\n", content.len()));
    let edit = json!({"path": "big", "old_string": "é\n", "new_string": "é.\n"});
    fault(&yard.call("edit_file", &edit), "times (lines 1, 2,");
}

#[test]
fn a_file_made_between_two_calls_is_not_overwritten_unseen() {
    let mut yard = Yard::new();
    let read = yard.call("read_file", &json!({"path": "later"}));
    fault(&read, "is not there");
    yard.run("echo mine > later");
    let write = json!({"path": "later", "content": "x"});
    fault(&yard.call("write_file", &write), "was not read in this session");
    assert_eq!(yard.contents("later"), "mine\n");
}
