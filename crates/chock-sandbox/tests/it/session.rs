//! What the calls of a session share, and what they do not.

use serde_json::{Value, json};

use crate::yard::{Seen, Who, Yard, calls};

fn shell(script: &str) -> Value {
    json!({ "argv": ["bash", "-c", script] })
}

fn check(scripts: &[&str], expect: impl Fn(&[Seen])) {
    for who in Who::all() {
        for warm in [0, 1, 2] {
            let yard = Yard::new(*who);
            let orders: Vec<_> = scripts.iter().map(|script| shell(script)).collect();
            let seen = calls(&yard.caged(json!({ "warm": warm, "calls": orders })));
            assert_eq!(seen.len(), scripts.len(), "{seen:?}");
            expect(&seen);
        }
    }
}

#[test]
fn files_stay_and_processes_objects_and_memory_do_not() {
    let first = "echo w > new; echo t > /tmp/t; echo h > ~/h; echo s > /dev/shm/s; \
                 echo g > .git/g; hostname";
    let second = "cat new /tmp/t ~/h .git/g; ls /dev/shm | wc -l; echo $$; hostname";
    check(&[first, second], |seen| {
        assert_eq!(seen[0].output, "chock\n");
        assert_eq!(seen[1].output, "w\nt\nh\ng\n0\n2\nchock\n");
    });
}

#[test]
fn the_temporary_directory_is_empty_at_first_and_the_projects_parents_are_fixed() {
    check(&["ls -A /tmp | wc -l; cd ..; touch x || mv project y || echo fixed"], |seen| {
        assert!(seen[0].output.starts_with("1\n"), "the project's parent only: {seen:?}");
        assert!(seen[0].output.ends_with("fixed\n"), "{seen:?}");
    });
}

#[test]
fn ids_are_one_users_and_files_look_right() {
    check(&["id -u; stat -c %u . file new 2>/dev/null; touch new; stat -c %u new"], |seen| {
        let mut ids: Vec<_> = seen[0].output.lines().collect();
        assert_eq!(ids.len(), 4, "{seen:?}");
        ids.dedup();
        assert_eq!(ids.len(), 1, "one owner: {seen:?}");
        assert_ne!(ids[0], "0");
    });
}

#[test]
fn calls_run_side_by_side() {
    for who in Who::all() {
        let yard = Yard::new(*who);
        let mut call = shell("echo x >> /tmp/count; sleep 0.2; echo out");
        call["threads"] = json!(6);
        let last = shell("wc -l < /tmp/count");
        let seen = calls(&yard.caged(json!({ "warm": 1, "calls": [call, last] })));
        assert_eq!(seen.len(), 7, "{seen:?}");
        assert!(seen.iter().all(|seen| seen.ended == "Exited(0)"), "{seen:?}");
        assert_eq!(seen[6].output.trim(), "6");
    }
}

#[test]
fn a_hundred_calls_follow_each_other() {
    let orders: Vec<_> = (0..100).map(|_| json!({ "argv": ["true"] })).collect();
    for who in Who::all() {
        for warm in [0, 1] {
            let yard = Yard::new(*who);
            let seen = calls(&yard.caged(json!({ "warm": warm, "calls": orders })));
            assert_eq!(seen.len(), 100);
            assert!(seen.iter().all(|seen| seen.ended == "Exited(0)"), "{seen:?}");
        }
    }
}

/// A server needs no other language: bash listens nowhere, so the probe's own attack connects
/// to what a program of this call serves.
#[test]
fn servers_on_loopback_answer_in_their_call() {
    let Some(script) = server() else {
        println!("not tried: no interpreter under /usr that can listen");
        return;
    };
    check(&[&script], |seen| {
        assert_eq!(seen[0].output, "127.0.0.1 ok\n::1 ok\n0.0.0.0 ok\nlocalhost ok\n", "{seen:?}");
    });
}

fn server() -> Option<String> {
    let there = |path: &str| std::path::Path::new(path).exists();
    if there("/usr/bin/node") {
        let code = "const net = require('net'); const ask = (host, at) => new Promise((done, fail) => { \
            const server = net.createServer(s => s.end('ok')).listen(0, host, () => \
            net.connect(server.address().port, at).on('data', d => { \
            console.log(at === '127.0.0.1' ? host : at, String(d)); server.close(); done() })\
            .on('error', fail)) }); \
            (async () => { await ask('127.0.0.1', '127.0.0.1'); await ask('::1', '::1'); \
            await ask('0.0.0.0', '127.0.0.1'); await ask('127.0.0.1', 'localhost'); })()";
        return Some(format!("node -e \"{code}\""));
    }
    None
}
