//! What prepares renames can do no more than the command, and nobody reaches it.

use std::path::Path;

use serde_json::json;

use crate::yard::{Seen, Who, Yard, calls, give, is_root};

/// How many files the directory has that takes a while to rename.
const FILES: usize = 1500;

/// Runs a program over a base with directories in it, in every way there is.
fn check(code: &str, expect: impl Fn(&Seen)) {
    if !Path::new("/usr/bin/python3").exists() {
        println!("not tried: there is no /usr/bin/python3");
        return;
    }
    for who in Who::all() {
        let yard = Yard::new(*who);
        for number in 0..FILES {
            let directory = yard.at("project/large").join((number % 10).to_string());
            std::fs::create_dir_all(&directory).expect("a directory");
            std::fs::write(directory.join(format!("f{number}")), "large\n").expect("a file");
        }
        for number in 0..20 {
            let directory = yard.at("project").join(format!("d{number}"));
            std::fs::create_dir_all(&directory).expect("a directory");
            std::fs::write(directory.join("f"), "small\n").expect("a file");
        }
        std::fs::write(yard.at("logs/canary"), "untouched\n").expect("a file");
        if is_root() {
            give(yard.root());
        }
        let before = contents(&yard);
        let binds = json!([
            [yard.at("logs"), "/opt/read-only", "ro"],
            [yard.at("scratch"), "/opt/writable", "rw"]
        ]);
        let orders = [json!({ "argv": ["python3", "-c", code] })];
        let seen = calls(&yard.caged(json!({ "binds": binds, "calls": orders })));
        expect(&seen[0]);
        assert_eq!(before, contents(&yard), "{who:?}: nothing outside has changed");
    }
}

/// The names and bytes of everything that the session must not change.
fn contents(yard: &Yard) -> Vec<(std::path::PathBuf, Option<Vec<u8>>)> {
    let mut left: Vec<_> = ["project", "outside", "home"].map(|part| yard.at(part)).into();
    left.push(yard.at("logs/canary"));
    let mut found = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a directory");
            left.extend(entries.map(|entry| entry.expect("an entry").path()));
        }
        found.push((path.clone(), std::fs::read(&path).ok()));
    }
    found.sort();
    found
}

/// A name that is a directory at one moment and a link to another place at the next, and a path
/// in memory that changes while it is read.
#[test]
fn a_race_between_a_link_and_a_directory_wins_nothing() {
    check(
        r#"
import os, threading, ctypes
libc = ctypes.CDLL(None, use_errno=True)
done = False
def flip():
    n = 0
    while not done:
        for to in ("/opt/read-only", "/usr/bin", "vault", "/proc/1", "/tmp", ".git", "chock.zon"):
            for name in ("x", "large/0/y"):
                try:
                    os.symlink(to, name + "l"); os.replace(name + "l", name)
                except OSError: pass
                try: os.unlink(name)
                except OSError: pass
                try: os.mkdir(name); os.mkdir(name + "/in"); os.rmdir(name + "/in"); os.rmdir(name)
                except OSError: pass
def rewrite(buffer):
    while not done:
        for path in (b"d5", b"d6", b"x", b"file", b"vault", b"/opt/read-only", b"/proc/1/root", b"x" * 30):
            buffer.value = path
path = ctypes.create_string_buffer(64)
threads = [threading.Thread(target=flip), threading.Thread(target=rewrite, args=(path,))]
[t.start() for t in threads]
for turn in range(60):
    for old, new in (("x", "z"), ("x/in", "z"), ("large/0/y", "z"), (f"d{turn % 5}", f"n{turn % 5}"),
                     (f"d{turn % 5 + 10}", "x/in"), ("x/../large/1", "one"), ("/proc/self/root", "z")):
        try: os.rename(old, new)
        except OSError: pass
    libc.rename(path, b"z2")
done = True
[t.join() for t in threads]
assert open("/opt/read-only/canary").read() == "untouched\n"
assert os.listdir("/opt/writable") == []
for denied in ("secret.env", "vault"):
    try: open(denied).read(); print("read", denied)
    except (PermissionError, IsADirectoryError): pass
print("ok")
"#,
        |seen| assert_eq!(seen.output, "ok\n", "{seen:?}"),
    );
}

/// While a directory is copied, the process that does it is seen, and nothing else.
#[test]
fn nobody_reaches_what_prepares_a_rename() {
    check(
        r#"
import os, signal, ctypes
libc = ctypes.CDLL(None, use_errno=True)
for fd in os.listdir("/proc/self/fd"):
    try: to = os.readlink("/proc/self/fd/" + fd)
    except OSError: continue
    if "seccomp" in to or "landlock" in to: print("open", to)
child = os.fork()
if child == 0:
    os.rename("large", "renamed")
    os._exit(0)
own, seen, reached = {1, os.getpid(), child}, False, set()
def attempt(name, what):
    # What has just ended has nothing any more, and lets that be read.
    try:
        if what() not in (b"", []): reached.add(name)
    except PermissionError: pass
    except (ProcessLookupError, FileNotFoundError): pass
def call(name, *words):
    if libc.syscall(*words) >= 0: reached.add(name)
while os.waitpid(child, os.WNOHANG)[0] == 0:
    for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
        if pid in own: continue
        seen = True
        attempt("signal", lambda: os.kill(pid, 0))
        attempt("stop", lambda: os.kill(pid, signal.SIGSTOP))
        for file in ("mem", "environ", "maps", "syscall"):
            attempt(file, lambda: open(f"/proc/{pid}/{file}", "rb").read(1))
        for place in ("fd", "cwd", "root/"):
            attempt(place, lambda: os.listdir(f"/proc/{pid}/{place}"))
        attempt("exe", lambda: os.readlink(f"/proc/{pid}/exe"))
    call("memory", 310, 1, 0, 0, 0, 0, 0)
assert os.path.exists("renamed/0/f0") and not os.path.exists("large")
print("seen" if seen else "unseen", sorted(reached))
"#,
        |seen| assert_eq!(seen.output, "seen []\n", "{seen:?}"),
    );
}

/// A program has no listener of its own: it could answer for others, and let init wait.
#[test]
fn nobody_listens_besides_init() {
    check(
        r"
import ctypes, errno, platform
class Step(ctypes.Structure):
    _fields_ = [('code', ctypes.c_ushort), ('jt', ctypes.c_ubyte), ('jf', ctypes.c_ubyte), ('k', ctypes.c_uint)]
class Program(ctypes.Structure):
    _fields_ = [('len', ctypes.c_ushort), ('filter', ctypes.POINTER(Step))]
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
allow = (Step * 1)(Step(6, 0, 0, 0x7fff0000))
number = 317 if platform.machine() == 'x86_64' else 277
program = Program(1, allow)
assert libc.syscall(number, 1, 8, ctypes.byref(program)) == -1
assert ctypes.get_errno() == errno.EBUSY, ctypes.get_errno()
assert libc.syscall(number, 1, 0, ctypes.byref(program)) == 0
import os
os.rename('d0', 'n0')
print('ok')
",
        |seen| assert_eq!(seen.output, "ok\n", "{seen:?}"),
    );
}
