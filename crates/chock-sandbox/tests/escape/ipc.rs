//! Objects that processes share without a file are the call's own.

use std::process::Command;

use crate::harness::Control::{Anyone, AnyoneIf};
use crate::harness::{attempt, check_prepared};
use crate::yard::{Yard, is_root};

/// Objects outside, made by `ipcmk` and removed at the end.
struct Objects(Vec<(&'static str, String)>, Option<std::path::PathBuf>);

/// Keys of this test's own.
const KEY: &str = "20611077";

fn make(_: &Yard) -> Objects {
    // The standard library has no such call, and the distribution's tool picks its own key, so
    // an interpreter makes them; without one the controls say that they could not be tried.
    let mut objects = Vec::new();
    for (kind, call) in [("m", "shmget(key, 4096, 0o1666)"), ("q", "msgget(key, 0o1666)")] {
        let script = format!(
            "use IPC::SysV; my $key = {KEY}; my $id = {};  print $id // '';",
            call.replace("key", "$key").replace("0o1666", "01666")
        );
        let output = Command::new("perl").args(["-e", &script]).output();
        let id = output.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
        if let Ok(id) = id.as_ref().map(String::as_str)
            && !id.is_empty()
        {
            objects.push((kind, id.to_owned()));
        }
    }
    let shared = std::path::PathBuf::from("/dev/shm/chock-escape-test");
    let shared = std::fs::write(&shared, "outside").is_ok().then_some(shared);
    Objects(objects, shared)
}

impl Drop for Objects {
    fn drop(&mut self) {
        for (kind, id) in &self.0 {
            let removed = Command::new("ipcrm").args([&format!("-{kind}"), id.as_str()]).status();
            assert!(removed.is_ok_and(|status| status.success()), "ipcrm -{kind} {id}");
        }
        if let Some(path) = &self.1 {
            std::fs::remove_file(path).expect("what was made");
        }
    }
}

#[test]
fn objects_outside_are_not_found() {
    let _ = is_root();
    check_prepared(
        &[
            attempt(AnyoneIf("no perl, or no System V objects"), &["shared-memory", KEY]),
            attempt(AnyoneIf("no perl, or no System V objects"), &["message-queue", KEY]),
            attempt(Anyone, &["read", "/dev/shm/chock-escape-test"]),
        ],
        make,
    );
}
