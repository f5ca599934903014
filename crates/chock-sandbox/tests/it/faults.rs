//! What cannot be contained is not run, and the fault says why.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::yard::{PLAIN, Who, Yard, calls, is_root};

fn fault(yard: &Yard, binds: Value) -> String {
    let seen = calls(&yard.caged(json!({ "binds": binds, "calls": [{ "argv": ["true"] }] })));
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0].ended, "", "it ran: {seen:?}");
    seen[0].fault.clone()
}

#[test]
fn what_cannot_be_mounted_is_named() {
    for who in Who::all() {
        let yard = Yard::new(*who);
        symlink(yard.at("outside"), yard.at("link")).expect("a link");
        let _socket = UnixListener::bind(yard.at("socket")).expect("a socket");
        for (source, target, words) in [
            ("{yard}/missing", "/m", "No such file"),
            ("{yard}/link/canary", "/m", "without following links"),
            ("{yard}/link", "/m", "neither a file nor a directory"),
            ("{yard}/socket", "/m", "neither a file nor a directory"),
            ("/dev/zero", "/m", "neither a file nor a directory"),
            ("{yard}/outside", "relative", "cannot stand in a cage"),
            ("{yard}/outside", "/proc/x", "fills it itself"),
            ("{yard}/outside", "/dev/x", "fills it itself"),
            ("{yard}/outside", "/usr/bin/env", "Not a directory"),
            ("{yard}/outside", "/usr/new", "Read-only"),
        ] {
            let fault = fault(&yard, json!([[source, target, "ro"]]));
            assert!(fault.contains(words), "{source} at {target}: {fault}");
        }
    }
}

#[test]
fn many_mounts_are_held_and_too_many_are_refused() {
    for who in Who::all() {
        let yard = Yard::new(*who);
        let look = json!([{ "argv": ["cat", "/many/999"] }]);
        let seen = calls(&yard.caged(json!({ "mounts": 1000, "calls": look })));
        assert_eq!(seen[0].output, ".{}\n", "{seen:?}");
        let seen = calls(&yard.caged(json!({ "mounts": 5000, "calls": look })));
        assert!(seen[0].fault.contains("too large"), "{seen:?}");
    }
}

#[test]
fn roots_private_programs_are_readable_through_a_map_and_not_without() {
    if !is_root() {
        println!("not tried: it needs root");
        return;
    }
    let yard = Yard::new(Who::Root);
    let private = yard.at("private");
    std::fs::create_dir(&private).expect("a directory");
    std::fs::write(private.join("tool"), "root's\n").expect("a file");
    for (path, mode) in [(private.join("tool"), 0o600), (private.clone(), 0o700)] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, mode).expect("its mode");
    }
    for (how, expected) in [("root", "root's\n"), ("ro", "Permission denied")] {
        let binds = json!([["{yard}/private", "/private", how]]);
        let cat = json!([{ "argv": ["cat", "/private/tool"] }]);
        let seen = calls(&yard.caged(json!({ "binds": binds, "calls": cat })));
        assert!(seen[0].output.contains(expected), "{how}: {seen:?}");
    }
}

#[test]
fn a_view_shows_a_directory_and_nothing_of_it_can_be_changed() {
    for who in Who::all() {
        let yard = Yard::new(*who);
        std::fs::create_dir(yard.at("outside/deep")).expect("a directory");
        std::fs::write(yard.at("outside/deep/private"), "mine\n").expect("a file");
        symlink("deep/private", yard.at("outside/link")).expect("a link");
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(yard.at("outside/deep/private"), private).expect("its mode");
        if is_root() && *who == Who::User {
            crate::yard::give(&yard.at("outside"));
        }
        let script = "cat /v/canary /v/link; stat -c %U /v/deep /v/deep/private | sort -u | wc -l; \
                      touch /v/x /v/canary; rm /v/canary; mv /v/deep /v/d; \
                      chmod 777 /v/deep; cat /v/canary";
        let binds = json!([["{yard}/outside", "/v", "view-root"]]);
        let call = json!([{ "argv": ["sh", "-c", script] }]);
        let seen = calls(&yard.caged(json!({ "binds": binds, "calls": call })));
        let output = &seen[0].output;
        assert!(output.starts_with("untouched\nmine\n1\n"), "{who:?} {seen:?}");
        assert!(output.ends_with("untouched\n"), "{who:?} {seen:?}");
        assert_eq!(output.matches("Read-only file system").count(), 5, "{who:?} {seen:?}");
        assert_eq!(std::fs::read_to_string(yard.at("outside/canary")).expect("it"), "untouched\n");
    }
}

#[test]
fn only_a_directory_is_viewed() {
    let yard = Yard::new(Who::User);
    let fault = fault(&yard, json!([["{yard}/outside/canary", "/v", "view"]]));
    assert!(fault.contains("it is no directory"), "{fault}");
}

#[test]
fn what_a_session_of_root_writes_in_place_is_roots_outside() {
    if !is_root() {
        println!("not tried: it needs root");
        return;
    }
    let yard = Yard::new(Who::Root);
    std::os::unix::fs::chown(yard.at("outside"), Some(0), Some(0)).expect("an owner");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(yard.at("outside"), private).expect("its mode");
    for (how, expected) in [("rw-root", "done\n"), ("rw", "Permission denied")] {
        let binds = json!([["{yard}/outside", "/w", how]]);
        let write =
            json!([{ "argv": ["sh", "-c", "echo x > /w/new && stat -c %u /w/new && echo done"] }]);
        let seen = calls(&yard.caged(json!({ "binds": binds, "calls": write })));
        assert!(seen[0].output.contains(expected), "{how}: {seen:?}");
    }
    let made = std::fs::metadata(yard.at("outside/new")).expect("what was written");
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&made), 0);
}

fn survey(said: &[Value]) -> (Vec<Value>, bool) {
    let line = said.iter().find(|line| line["rows"].is_array()).expect("rows");
    let rows = line["rows"].as_array().expect("rows").clone();
    (rows, line["can_contain"].as_bool().expect("an answer"))
}

fn row<'a>(rows: &'a [Value], layer: &str) -> &'a Value {
    rows.iter().find(|row| row["layer"] == layer).expect("a row")
}

#[test]
fn a_survey_finds_every_layer_here_and_leaves_nothing() {
    for who in Who::all() {
        let yard = Yard::new(*who);
        let (rows, can_contain) = survey(&yard.caged(json!({ "survey": true })));
        assert!(can_contain, "{rows:#?}");
        assert_eq!(rows.len(), chock_sandbox::Layer::ALL.len() + 2);
        for row in &rows {
            let blocks = row["blocks"].as_bool().expect("an answer");
            assert!(!blocks || row["state"] == "on", "{row}");
        }
        let left = std::fs::read_dir(yard.at("scratch")).expect("the directory").count();
        assert_eq!(left, 0, "something was left");
    }
}

/// Runs the probe in a machine made worse by a script, in namespaces of its own.
fn worse(yard: &Yard, script: &str, spec: Value) -> Option<Vec<Value>> {
    let script = format!("{script} && exec \"$0\" run \"$1\"");
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"])
        .args(["sh", "-c", &script])
        .arg(yard.probe())
        .arg(yard.write_spec(spec));
    if is_root() {
        // A container's root is not the machine's.
        command.uid(PLAIN).gid(PLAIN);
    }
    let output = command.output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let said: Vec<_> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if said.is_empty() {
        println!("not tried: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(said)
}

#[test]
fn a_machine_without_user_namespaces_is_recognised() {
    let yard = Yard::new(Who::User);
    let script = "echo 0 > /proc/sys/user/max_user_namespaces";
    let Some(said) = worse(&yard, script, json!({ "survey": true })) else { return };
    let (rows, can_contain) = survey(&said);
    assert!(!can_contain, "{rows:#?}");
    let user = row(&rows, "user namespace");
    assert_eq!(user["state"], "off", "{user}");
    assert!(user["cure"].as_str().expect("a cure").contains("max_user_namespaces"), "{user}");
    assert!(row(&rows, "seccomp")["detail"].as_str().expect("text").contains("not tried"));

    let said = worse(&yard, script, json!({ "calls": [{ "argv": ["true"] }] })).expect("a fault");
    assert!(calls(&said)[0].fault.contains("user namespace"), "{said:?}");
}

#[test]
fn a_container_that_masks_proc_is_recognised() {
    let yard = Yard::new(Who::User);
    let script = "mount -t tmpfs none /proc/bus";
    let Some(said) = worse(&yard, script, json!({ "survey": true })) else { return };
    let (rows, can_contain) = survey(&said);
    assert!(!can_contain, "{rows:#?}");
    let proc = row(&rows, "proc");
    assert_eq!(proc["state"], "off", "{proc}");
    assert!(proc["cure"].as_str().expect("a cure").contains("systempaths"), "{proc}");
}

#[test]
fn a_rootless_container_is_a_plain_user() {
    let yard = Yard::new(Who::User);
    let Some(said) = worse(&yard, "true", json!({ "calls": [{ "argv": ["echo", "hi"] }] })) else {
        return;
    };
    assert_eq!(calls(&said)[0].output, "hi\n", "{said:?}");
}

#[test]
fn few_user_namespaces_are_enough() {
    let yard = Yard::new(Who::User);
    let many: Vec<_> = (0..40).map(|_| json!({ "argv": ["true"] })).collect();
    let script = "echo 5 > /proc/sys/user/max_user_namespaces";
    let Some(said) = worse(&yard, script, json!({ "calls": many })) else { return };
    let seen = calls(&said);
    assert_eq!(seen.len(), 40, "{seen:?}");
    assert!(seen.iter().all(|seen| seen.ended == "Exited(0)"), "{seen:?}");
}
