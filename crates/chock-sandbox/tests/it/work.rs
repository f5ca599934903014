//! Work that people do runs inside. Each was also run outside, as the control.

use std::path::Path;

use serde_json::json;

use crate::yard::{Who, Yard, calls};

/// Runs a script outside and inside, and compares what they print.
fn check(needs: &str, script: &str) {
    if !Path::new(needs).exists() {
        println!("not tried: there is no {needs}");
        return;
    }
    for who in Who::all() {
        let yard = Yard::new(*who);
        let outside = {
            let mut command = std::process::Command::new("bash");
            command
                .args(["-c", script])
                .current_dir(yard.at("project"))
                .env("HOME", yard.at("home"));
            command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
            if crate::yard::is_root() {
                std::os::unix::process::CommandExt::uid(&mut command, crate::yard::PLAIN);
            }
            command.output().expect("bash")
        };
        let words = String::from_utf8_lossy(&outside.stdout).into_owned();
        assert!(outside.status.success(), "control: {outside:?}");
        let yard = Yard::new(*who);
        let seen = calls(&yard.caged(json!({ "calls": [{ "argv": ["bash", "-c", script] }] })));
        assert_eq!(seen[0].ended, "Exited(0)", "{who:?}: {seen:?}");
        assert_eq!(seen[0].output, words, "{who:?}");
    }
}

#[test]
fn shells() {
    check(
        "/bin/bash",
        "cat <<END\nhere\nEND\ncat <<< string; cat <(echo substituted); f=$(mktemp); \
         echo in > $f; cat $f; echo x | tee /dev/null; read -n 4 r < /dev/urandom; \
         echo fd 3>&1 >&3; (exec 9<file; cat /dev/fd/9); coproc cat; echo hi >&\"${COPROC[1]}\"; \
         read -u \"${COPROC[0]}\" line; echo $line; type true",
    );
    check("/bin/sh", "sh -c 'cat <<END\nhere\nEND\n'; sh -c 'umask; ulimit -c'");
}

#[test]
fn git() {
    let git =
        if Path::new("/usr/bin/git").exists() { "/usr/bin/git" } else { "/usr/local/bin/git" };
    check(
        git,
        "set -e; rm -rf .git/* && export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name \
         GIT_CONFIG_VALUE_0=a GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=a@b; \
         git init -q -b main .; git add file; git commit -qm one; git switch -qc b; echo 2 > file; \
         git commit -qam two; echo 3 > file; git stash -q; git switch -q main; \
         git rebase -q b 2>/dev/null; git stash pop -q; git diff --stat; git log --oneline | wc -l; \
         git fsck >/dev/null 2>&1; echo $?; git gc -q",
    );
}

#[test]
fn node() {
    check(
        "/usr/bin/node",
        "node -e \"const {Worker} = require('worker_threads'); const fs = require('fs'); \
         fs.mkdtempSync('/tmp/x'); new Worker('require(\\\"worker_threads\\\").parentPort.postMessage(42)', \
         {eval: true}).on('message', m => { console.log(m, require('child_process')\
         .execSync('echo child').toString().trim()) })\"",
    );
}

#[test]
fn python() {
    check(
        "/usr/bin/python3",
        "python3 -c \"
import multiprocessing, socket, tempfile, threading, os, pty
def work(q): q.put(os.getpid() > 0)
if __name__ == '__main__':
    q = multiprocessing.Queue(); p = multiprocessing.Process(target=work, args=(q,)); p.start()
    print(q.get()); p.join()
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET); a.send(b'x'); print(b.recv(1))
    with tempfile.NamedTemporaryFile() as f: f.write(b'1')
    l = multiprocessing.Lock(); l.acquire(); l.release()
    t = threading.Thread(target=lambda: print('thread')); t.start(); t.join()
    pty.spawn(['true']); print('pty')
\"",
    );
}

#[test]
fn perl() {
    check(
        "/usr/bin/perl",
        "perl -MSocket -MIO::Socket::INET -e 'socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die; \
         syswrite $a, \"x\"; sysread $b, my $c, 1; print \"$c\\n\"; \
         for my $h (\"127.0.0.1\", \"0.0.0.0\") { \
         my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => $h) or die $!; \
         my $d = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $s->sockport) or die $!; \
         my $e = $s->accept; print $e \"served\\n\"; close $e; print <$d> }'",
    );
}

#[test]
fn pseudo_terminals() {
    check("/usr/bin/script", "script -qec 'test -t 0 && echo terminal' /dev/null < /dev/null");
}

#[test]
fn compilers() {
    check(
        "/usr/bin/cc",
        "printf 'int puts(const char*); int main(void) { puts(\"built\"); return 0; }' > a.c && \
         cc -o a a.c && ./a",
    );
}
