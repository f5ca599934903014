//! Directories of the base are renamed as any other, by every call there is for it.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::yard::{PLAIN, Who, Yard, calls, is_root};

/// A tree with everything that a rename keeps.
const BASE: &str = "mkdir -p d/sub/deep e d/closed d/blind; echo one > d/one; echo two > d/sub/deep/two; \
     ln -s ../one d/sub/link; ln -s nowhere d/dangling; ln d/one d/hard; echo run > d/run; \
     chmod 755 d/run; echo blind > d/unreadable; chmod 000 d/unreadable; chmod 700 d/sub; \
     echo in > d/closed/in; chmod 555 d/closed; chmod 000 d/blind; chmod 751 d; \
     touch -h -d 2001-02-03T04:05:06.789 d/one d/sub/link; touch -d 2002-02-02 d/sub/deep d; \
     echo e > e/e; printf plain > plain; mkdir holds; cp -r e holds/vault; echo 1 > holds/x; \
     for i in 0 1 2 3 4 5; do mkdir c$i; for j in $(seq 40); do echo $j > c$i/b$j; done; done; ";

/// Everything that can be seen of a tree.
const SHOW: &str = "show() { (cd $1 && find . -printf '%P %M %l %T+\\n' 2>&1 | sort; \
     cat one hard sub/deep/two run closed/in; stat -c %i one hard | uniq | wc -l); }; ";

fn bash(yard: &Yard, script: &str) {
    let mut command = Command::new("bash");
    command.args(["-ec", script]).current_dir(yard.at("project"));
    if is_root() {
        command.uid(PLAIN).gid(PLAIN);
    }
    let output = command.output().expect("bash");
    assert!(output.status.success(), "{script}: {output:?}");
}

/// Runs a script over the base tree in every way there is, which prints `ok` last.
fn check(script: &str) {
    for who in Who::all() {
        let yard = Yard::new(*who);
        bash(&yard, BASE);
        let before = listing(&yard);
        let script = [SHOW, script].concat();
        let orders = [json!({ "argv": ["bash", "-ec", script] })];
        let seen = calls(&yard.caged(json!({ "warm": 1, "calls": orders })));
        assert_eq!(seen[0].ended, "Exited(0)", "{who:?}: {}", seen[0].output);
        assert!(seen[0].output.ends_with("ok\n"), "{who:?}: {}", seen[0].output);
        assert_eq!(before, listing(&yard), "{who:?}: the base is as it was");
    }
}

fn listing(yard: &Yard) -> String {
    let script = "find . -printf '%P %M %l %T+ %s\\n' | sort";
    let output = Command::new("bash").args(["-c", script]).current_dir(yard.at("project")).output();
    String::from_utf8(output.expect("bash").stdout).expect("plain names")
}

fn is_there(program: &str) -> bool {
    let there = Path::new(program).exists();
    if !there {
        println!("not tried: there is no {program}");
    }
    there
}

#[test]
fn a_directory_is_the_same_after_its_rename() {
    if !is_there("/usr/bin/perl") {
        return;
    }
    check(
        "chmod 700 d/blind; chmod 000 d/blind; show d > /tmp/before; \
         perl -e 'rename \"d\", \"n\" or die $!'; show n > /tmp/after; diff /tmp/before /tmp/after; \
         test ! -e d; test -z \"$(ls -A | grep chock-rename)\"; echo more > n/more; mkdir d; \
         test -z \"$(ls -A d)\"; rmdir d; perl -e 'rename \"n\", \"d\" or die $!'; cat d/more; \
         perl -e 'rename \"d/sub\", \"../project/e/moved/\" or die $!'; cat e/moved/deep/two; echo ok",
    );
}

#[test]
fn every_call_and_flag_renames() {
    if !is_there("/usr/bin/perl") {
        return;
    }
    // By number: `rename`, `renameat` and `renameat2` on both architectures.
    let numbers = "use Errno; sub at2 { syscall($2, -100, $_[0], -100, $_[1], $_[2]) } ";
    let (renameat, renameat2) =
        if cfg!(target_arch = "x86_64") { ("264", "316") } else { ("38", "276") };
    let perl = |code: &str| {
        let code = [numbers, code].concat().replace("$2", renameat2).replace("$1", renameat);
        format!("perl -e '{code}'; ")
    };
    let script = [
        perl(
            "opendir(my $d, \"d\"); my $n = fileno($d); my ($a, $b) = (\"sub\", \"by-descriptor\"); \
             syscall($1, $n, $a, $n, $b) == 0 or die $!",
        ),
        "cat d/by-descriptor/deep/two; ".to_owned(),
        perl("my ($a, $b) = (\"d\", \"e\"); at2($a, $b, 1) == -1 && $!{EEXIST} or die $!"),
        "cat d/one e/e; test -z \"$(ls -A | grep chock-rename)\"; ".to_owned(),
        perl("my ($a, $b) = (\"d\", \"n\"); at2($a, $b, 1) == 0 or die $!"),
        "cat n/one; ".to_owned(),
        perl("my ($a, $b) = (\"holds/vault\", \"e\"); at2($a, $b, 2) == 0 or die $!"),
        perl("my ($a, $b) = (\"e\", \"plain\"); at2($a, $b, 2) == 0 or die $!"),
        "test -f e; test -d plain; cat plain/e; echo ok".to_owned(),
    ];
    check(&script.concat());
}

#[test]
fn programs_rename() {
    for (needs, script) in [
        (
            "/usr/bin/python3",
            "python3 -c 'import os; os.rename(\"d\", \"n\"); os.replace(\"e\", \"m\")'; ",
        ),
        ("/usr/bin/mv", "mv d n; mv -T e m; "),
        ("/usr/bin/node", "node -e 'fs.renameSync(\"d\", \"n\"); fs.renameSync(\"e\", \"m\")'; "),
    ] {
        if is_there(needs) {
            check(
                &[script, "cat n/one m/e n/sub/deep/two; test ! -e d -a ! -e e; echo ok"].concat(),
            );
        }
    }
}

#[test]
fn git_moves_directories_of_the_base() {
    if !is_there("/usr/bin/git") {
        return;
    }
    check(
        "rm -rf .git/*; export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=a \
         GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=a@b; git init -q -b main .; \
         git add d/one d/sub e; git commit -qm one; git mv d/sub d/moved; git mv e f; \
         git commit -qm two; git show --stat --format= | cat; cat d/moved/deep/two f/e; echo ok",
    );
}

#[test]
fn renames_that_fail_leave_everything() {
    if !is_there("/usr/bin/perl") {
        return;
    }
    check(
        "show d > /tmp/before; perl -e '\
         rename(\"d\", \"e\") and die; $!{ENOTEMPTY} || $!{EEXIST} or die $!; \
         rename(\"d\", \"d/sub/x\") and die; rename(\"d\", \"missing/x\") and die; \
         rename(\"d\", \"plain\") and die; $!{ENOTDIR} or die $!; \
         rename(\"d\", \"/tmp/d\") and die; $!{EXDEV} or die $!; \
         rename(\"d/.\", \"n\") and die; rename(\"\", \"n\") and die; rename(\"plain/\", \"n\") and die; \
         rename(\"vault\", \"n\") and die; rename(\".git\", \"n\") and die; \
         rename(\"../project\", \"n\") and die; $!{EBUSY} || $!{EXDEV} or die $!'; \
         show d > /tmp/after; diff /tmp/before /tmp/after; \
         test -z \"$(ls -A | grep chock-rename)\"; echo ok",
    );
}

/// A directory that holds a mount cannot be moved, whoever asks.
#[test]
fn a_directory_with_a_cover_in_it_stays() {
    if !is_there("/usr/bin/perl") {
        return;
    }
    for who in Who::all() {
        let yard = Yard::new(*who);
        bash(&yard, BASE);
        let cover = yard.at("project/holds/vault").to_str().expect("a plain path").to_owned();
        let binds = json!([[yard.at("home"), cover, "ro"]]);
        let script = "perl -e 'rename(\"holds\", \"n\") and die; $!{EXDEV} || $!{EBUSY} or die $!'; \
             cat holds/x; ls -A | grep chock-rename; test ! -e n; echo ok";
        let orders = [json!({ "argv": ["bash", "-c", script] })];
        let seen = calls(&yard.caged(json!({ "binds": binds, "calls": orders })));
        assert_eq!(seen[0].output, "1\nok\n", "{who:?}: {seen:?}");
    }
}

#[test]
fn renames_side_by_side() {
    if !is_there("/usr/bin/perl") {
        return;
    }
    check(
        "for i in $(seq 40); do mkdir -p w/$i; (echo $i > w/$i/f; \
         perl -e 'for (1..50) { rename \"w/'$i'/f\", \"w/'$i'/g\" or die $!; \
         rename \"w/'$i'/g\", \"w/'$i'/f\" or die $! }') & done; \
         perl -e 'rename \"d/sub\", \"s\" or die $!' & perl -e 'rename \"e\", \"f\" or die $!' & \
         perl -e 'rename \"holds\", \"h\" or die $!' & wait; \
         cat s/deep/two f/e h/x; cat w/*/f | wc -l; test -z \"$(ls -A | grep chock-rename)\"; echo ok",
    );
}

/// What gets a name in a directory while that is copied is never lost.
#[test]
fn a_writer_in_the_directory_loses_nothing() {
    if !is_there("/usr/bin/perl") {
        return;
    }
    check(
        "perl -e 'for (1..400) { my $d = \"c\" . $_ % 6; $d = \"n$d\" if ! -d $d; \
         open(my $f, \">\", \"w\") or die; print $f $_; close $f; \
         rename(\"w\", \"$d/w$_\") or next; \
         print \"$_\\n\" }' > /tmp/written & \
         for i in 0 1 2 3 4 5; do perl -e 'rename(\"c\" . '$i', \"nc\" . '$i')'; done; wait; \
         test -s /tmp/written; while read i; do d=c$((i % 6)); \
         test -s $d/w$i -o -s n$d/w$i || { echo lost $i; exit 1; }; done < /tmp/written; \
         for i in 0 1 2 3 4 5; do d=c$i; test -d $d || d=n$d; test $(cat $d/b* | wc -l) = 40; done; \
         test -z \"$(ls -A | grep chock-rename)\"; echo ok",
    );
}

#[test]
fn it_is_said_what_becomes_of_renames() {
    for who in Who::all() {
        let yard = Yard::new(*who);
        let said = yard.caged(json!({ "calls": [{ "argv": ["true"] }] })).to_vec();
        let layers = calls(&said)[0].said["layers"].to_string();
        assert!(layers.contains("1 filter, renames of base directories prepared"), "{layers}");
    }
}
