//! What a session keeps on the disk is limited, and a floor of free space stays.

use std::io::BufRead;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::yard::{PLAIN, Seen, Who, Yard, calls, is_root};

/// A small disk under a session's changes.
struct Small {
    /// Its size in MiB.
    mib: u32,
    /// What somebody else does on it, with `$disk` as its place, side by side with the session.
    beside: &'static str,
    /// Whether it says how many files it can have.
    numbered: bool,
}

impl Small {
    fn of(mib: u32) -> Self {
        Self { mib, beside: ":", numbered: true }
    }

    /// Runs calls in one session for everyone; the last thing seen says what is left in MiB.
    fn check(&self, limits: &Value, scripts: &[&str], expect: impl Fn(&[Seen], u64)) {
        for who in Who::all() {
            let yard = Yard::new(*who);
            let of = |script: &&str| json!({ "argv": ["bash", "-c", script] });
            let calls_of = scripts.iter().map(of).collect::<Vec<_>>();
            let spec = yard.write_spec(json!({ "limits": limits, "warm": 1, "calls": calls_of }));
            let mut child = self.command(&yard, *who, &spec).spawn().expect("unshare");
            let lines = std::io::BufReader::new(child.stdout.take().expect("its output")).lines();
            let said: Vec<Value> = lines
                .map(|line| serde_json::from_str(&line.expect("text")).expect("JSON"))
                .collect();
            child.wait().expect("its end");
            let left = said.last().and_then(|last| last["left"].as_u64());
            let seen = calls(&said);
            assert_eq!(seen.len(), scripts.len(), "{who:?}: {said:?}");
            expect(&seen, left.unwrap_or_else(|| panic!("{who:?}: {said:?}")));
        }
    }

    /// The session in a mount namespace of its own, where the disk is a file system in memory.
    fn command(&self, yard: &Yard, who: Who, spec: &str) -> Command {
        let (unshare, owner, become_user): (&[&str], _, _) = match (is_root(), who) {
            (true, Who::Root) => (&["-m"], PLAIN, String::new()),
            (true, Who::User) => {
                (&["-m"], PLAIN, format!("setpriv --reuid={PLAIN} --regid={PLAIN} --clear-groups"))
            }
            (false, _) => (&["-Urm"], 0, String::new()),
        };
        let Self { mib, beside, numbered } = self;
        let inodes = if *numbered { "nr_inodes=100000" } else { "nr_inodes=0" };
        let (disk, probe) = (yard.at("layer"), yard.probe());
        let (disk, probe) = (disk.display(), probe.display());
        let script = format!(
            "set -e; disk={disk}; \
             mount -t tmpfs -o size={mib}m,{inodes},mode=755,uid={owner},gid={owner} disk $disk; \
             mkdir $disk/upper $disk/work; chown {owner}:{owner} $disk/*; \
             ({beside}) >/dev/null 2>&1 & \
             {become_user} {probe} run {spec}; wait; \
             printf '{{\"left\": %d}}\\n' $(($(stat -f -c '%a * %S' $disk) / 1048576))"
        );
        let mut command = Command::new("unshare");
        command.args(unshare).args(["bash", "-c", &script]).stdout(Stdio::piped());
        command
    }
}

/// Checks that a call was ended by a limit, and that result and list name it.
fn ended_by(seen: &Seen, kind: &str, name: &str) {
    assert_eq!(seen.ended, format!("Limit({kind})"), "{seen:?}");
    assert_eq!(seen.said["limits"], json!([name]), "{seen:?}");
}

fn went_well(seen: &Seen) {
    assert_eq!(seen.ended, "Exited(0)", "{seen:?}");
    assert_eq!(seen.said["limits"], json!([]), "{seen:?}");
}

#[test]
fn a_writer_of_large_files_is_ended_and_its_session_can_clean_up() {
    let limits = json!({ "workspace_bytes": 32 << 20, "free_bytes": 1 << 20 });
    let scripts = [
        "dd if=/dev/zero of=under bs=1M count=20; sleep 0.4",
        "while :; do dd if=/dev/zero of=large-$((n += 1)) bs=1M count=4; done",
        "du -sm . 2>/dev/null | cut -f 1; sleep 0.4",
        "rm large-*; sleep 0.4",
        "dd if=/dev/zero of=again bs=1M count=5; sleep 0.4",
        "dd if=/dev/zero of=more bs=1M count=100; sleep 5",
    ];
    Small::of(2048).check(&limits, &scripts, |seen, _| {
        for number in [0, 2, 3, 4] {
            went_well(&seen[number]);
        }
        ended_by(&seen[1], "WorkspaceBytes", "workspace_bytes");
        ended_by(&seen[5], "WorkspaceBytes", "workspace_bytes");
        let kept: u64 = seen[2].output.trim().parse().expect("a number");
        assert!((32..1000).contains(&kept), "{kept} MiB");
    });
}

#[test]
fn a_writer_of_small_files_is_ended_whether_or_not_files_have_a_number() {
    let limits = json!({ "workspace_files": 3000, "free_bytes": 1 << 20 });
    let scripts = [
        "for n in {1..2000}; do : > u$n; done; sleep 0.4",
        "while :; do : > f$((n += 1)); done",
        "ls | wc -l; sleep 1.5",
        "rm f*; : > f1; sleep 1.5",
    ];
    for numbered in [true, false] {
        let small = Small { numbered, ..Small::of(256) };
        small.check(&limits, &scripts, |seen, _| {
            ended_by(&seen[1], "WorkspaceFiles", "workspace_files");
            for number in [0, 2, 3] {
                went_well(&seen[number]);
            }
            let kept: u64 = seen[2].output.trim().parse().expect("a number");
            assert!(kept > 3000, "{kept} files");
        });
    }
}

#[test]
fn files_without_a_name_count_however_they_are_held() {
    let limits = json!({ "workspace_bytes": 32 << 20, "free_bytes": 1 << 20 });
    let open = "exec 5> gone; rm gone; dd if=/dev/zero bs=1M count=200 >&5; sleep 5";
    let mapped = "python3 -c '\n\
        import ctypes, os, time\n\
        c = ctypes.CDLL(None); c.mmap.restype = ctypes.c_void_p\n\
        f = os.open(\"gone\", os.O_RDWR | os.O_CREAT); os.unlink(\"gone\")\n\
        os.ftruncate(f, 200 << 20)\n\
        at = c.mmap(None, ctypes.c_size_t(200 << 20), 3, 1, f, ctypes.c_long(0)); os.close(f)\n\
        ctypes.memset(at, 1, 200 << 20); time.sleep(5)'";
    let sent = "python3 -c '\n\
        import os, socket, time\n\
        a, b = socket.socketpair()\n\
        for n in range(40):\n\
        \x20 f = os.open(\"gone\", os.O_RDWR | os.O_CREAT); os.unlink(\"gone\")\n\
        \x20 os.write(f, bytes(5 << 20)); socket.send_fds(a, [b\"x\"], [f]); os.close(f)\n\
        time.sleep(5)'";
    let hidden = "mkdir d; dd if=/dev/zero of=d/large bs=1M count=30; chmod 0 d; \
                  dd if=/dev/zero of=more bs=1M count=30; sleep 5";
    Small::of(512).check(&limits, &[open, "sleep 0.4", mapped, sent, hidden], |seen, left| {
        went_well(&seen[1]);
        for number in [0, 2, 3, 4] {
            ended_by(&seen[number], "WorkspaceBytes", "workspace_bytes");
        }
        assert!(left > 400, "what had no name is free again: {left} MiB");
    });
}

#[test]
fn a_call_that_stays_under_is_not_ended_by_what_others_write() {
    let limits = json!({ "workspace_bytes": 16 << 20, "free_bytes": 1 << 20 });
    let beside = "for n in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=$disk/other$n bs=1M count=20; \
                  sleep 0.2; done";
    let small = Small { beside, ..Small::of(512) };
    let script = "exec 5> gone; rm gone; for n in 1 2 3 4 5 6 7 8; do \
                  dd if=/dev/zero of=own$n bs=512k count=2; sleep 0.25; done; echo more >&5";
    small.check(&limits, &[script], |seen, _| went_well(&seen[0]));
}

#[test]
fn space_is_taken_by_writing_only() {
    let script = "fallocate -l 1M at-once; echo $?; \
                  python3 -c 'import os; os.posix_fallocate(os.open(\"grown\", 66), 0, 1 << 20)'; \
                  stat -c '%s %b' grown; fallocate -p -l 1M grown; stat -c '%s %b' grown";
    crate::calls::check(&json!({ "argv": ["bash", "-c", script] }), |seen| {
        let lines: Vec<_> = seen.output.lines().collect();
        let expected = ["1", "1048576 2048", "1048576 0"];
        assert!(lines[0].ends_with("Operation not supported"), "{seen:?}");
        assert_eq!(lines[1..], expected, "{seen:?}");
    });
}

#[test]
fn a_floor_of_free_space_stays_whoever_fills_the_disk() {
    let limits = json!({ "free_bytes": 64 << 20 });
    let alone = "while :; do dd if=/dev/zero of=large-$((n += 1)) bs=1M count=4; done";
    let scripts = [alone, "ls; sleep 0.4", alone, "rm large-*; sleep 0.4"];
    Small::of(512).check(&limits, &scripts, |seen, left| {
        ended_by(&seen[0], "FreeSpace", "free_space");
        went_well(&seen[1]);
        ended_by(&seen[2], "FreeSpace", "free_space");
        went_well(&seen[3]);
        assert!(left > 400, "{left} MiB");
    });
    Small::of(512).check(&limits, &[alone], |seen, left| {
        ended_by(&seen[0], "FreeSpace", "free_space");
        assert!(left >= 64, "{left} MiB");
    });
    let beside = "sleep 0.3; dd if=/dev/zero of=$disk/other bs=1M count=440";
    let slow = "while :; do dd if=/dev/zero of=slow-$((n += 1)) bs=512k count=1; sleep 0.1; done";
    let small = Small { beside, ..Small::of(512) };
    small.check(&limits, &[slow], |seen, left| {
        ended_by(&seen[0], "FreeSpace", "free_space");
        assert!(left >= 64, "{left} MiB");
    });
}
