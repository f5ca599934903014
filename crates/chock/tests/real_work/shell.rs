//! Shells and the small things that scripts rely on.

use crate::job::Job;

#[test]
fn here_documents_and_temporary_files_work_in_every_shell() {
    let script = "set -e\nname=$(mktemp)\ncat > \"$name\" <<EOF\nhere $((6 * 7))\nEOF\n\
                  grep -qx 'here 42' \"$name\"\ndirectory=$(mktemp -d)\nln -s \"$name\" \"$directory/link\"\n\
                  cat \"$directory/link\"\necho x > /dev/null\n(exit 3) || test $? = 3\n\
                  trap 'echo trapped' EXIT\n";
    for shell in ["bash", "sh", "zsh", "dash", "fish"] {
        let job = match shell {
            "fish" => continue,
            _ => Job::new(shell).needs(shell).file("script", script),
        };
        job.runs(&format!("{shell} script"), "trapped");
    }
}

#[test]
fn bash_has_its_extras() {
    let script = "set -euo pipefail\ndiff <(printf 'a\\n') <(printf 'a\\n')\n\
                  cat <<< word | grep -qx word\nmapfile -t lines < <(seq 3)\ntest ${#lines[@]} = 3\n\
                  coproc cat; echo through >&${COPROC[1]}; read -r line <&${COPROC[0]}\n\
                  sleep 300 & kill $!; wait $! || true\nulimit -c 0\n\
                  exec 9>lock; flock 9\ntime true\necho \"$line\"\n";
    Job::new("bash extras").needs("bash").file("script", script).runs("bash script", "through");
}

#[test]
fn a_pseudo_terminal_is_one() {
    Job::new("script").needs("script").runs(
        "script -qec 'test -t 0 && stty rows 33 cols 77 && stty size && tty && echo at a terminal' /dev/null </dev/null",
        "at a terminal",
    );
}

#[test]
fn archives_keep_what_is_in_them() {
    Job::new("tar").needs("tar").needs("gzip").file("a/b/c", "deep\n").runs(
        "tar czf $TMPDIR/a.tgz a && mkdir out && tar xzf $TMPDIR/a.tgz -C out && diff -r a out/a && \
         tar cf - a | (cd $TMPDIR && tar xf -) && rm $TMPDIR/a.tgz && rm -r $TMPDIR/a && cat out/a/b/c",
        "deep",
    );
}

#[test]
fn the_usual_tools_see_a_usual_system() {
    Job::new("coreutils").needs("id").needs("ps").runs(
        "set -e\ntest \"$(id -un)\" != root || test \"$CHOCK_SANDBOX\" = ''\nwhoami >/dev/null\nls -la . >/dev/null\n\
         df -h . >/dev/null\nnproc >/dev/null\nuname -a >/dev/null\ndate >/dev/null\nhostname >/dev/null\n\
         ps aux >/dev/null\ngetent hosts localhost >/dev/null\ngetent passwd \"$(id -u)\" >/dev/null || id -u >/dev/null\n\
         chmod 700 .\ntouch -d yesterday x\nfind . -newer x >/dev/null\nxargs -P2 -n1 echo < <(seq 4) >/dev/null\nsync x\necho usual",
        "usual",
    );
}
