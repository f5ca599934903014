//! The programs that start others, and how their words are read.
//!
//! Options are written as their manuals have them, parted by blanks. What follows a name says what
//! the option takes:
//!
//! | sign | the option |
//! |---|---|
//! | nothing | takes nothing |
//! | `=` | takes a value: attached, or the next word |
//! | `?` | takes a value only when it is attached |
//! | `!` | takes a command line that a shell reads |
//! | `/` | takes the directory that what follows runs in |
//! | `\|` | takes a file, or a command line after a `\|` or a `!` |
//! | `:` | takes a setting, of which those for commands are unreadable |
//! | `%`, `&` | takes the letters that are replaced in the command; `&` only attached |
//! | `~` | makes what follows unreadable |
//!
//! `-#` is a number as an option, `-` a dash alone. An option that is not listed makes the command
//! `exec.unparsed`: it may take a value, and then the command would be another.

/// One program that starts another.
#[derive(Debug)]
pub(crate) struct Launcher {
    /// Its names; two words are a program and its first argument.
    pub(crate) names: &'static [&'static str],
    pub(crate) options: &'static str,
    /// How many words stand between its options and the command.
    pub(crate) operands: usize,
    pub(crate) then: Then,
}

/// What follows the options and operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// A command; without one, nothing is started.
    Command,
    /// A command; without one, a shell.
    CommandOrShell,
    /// Variables that are set, and a command.
    Assignments,
    /// Words that are joined to a line for a shell.
    Line,
    /// The same, after more options.
    LineElsewhere,
    /// A command line each.
    Lines,
    /// Words of its own, and a command after `--`.
    AfterDashes,
    /// Words that are its own: only options start something, wherever they stand, and those that
    /// are not listed start nothing.
    Nothing,
    /// Words that are its own, after options that are all listed; without an option that holds a
    /// command, a shell.
    OptionOrShell,
}

const fn row(
    names: &'static [&'static str],
    operands: usize,
    then: Then,
    options: &'static str,
) -> Launcher {
    Launcher { names, options, operands, then }
}

/// Every program that is looked into, but for those with a grammar of their own: shells, `git`,
/// `find`, `fd`, `xargs`, `parallel`, `env`, `flock`, `gdb`, `lldb`.
pub(crate) static LAUNCHERS: &[Launcher] = &[
    // Coreutils.
    row(
        &["timeout", "gtimeout"],
        1,
        Then::Command,
        "-f -p -v -k= -s= --foreground --preserve-status --verbose --kill-after= --signal=",
    ),
    row(&["nice", "gnice"], 0, Then::Command, "-n= -# --adjustment="),
    row(&["nohup", "gnohup"], 0, Then::Command, ""),
    row(&["stdbuf", "gstdbuf"], 0, Then::Command, "-i= -o= -e= --input= --output= --error="),
    row(&["chroot", "gchroot"], 1, Then::CommandOrShell, "--groups= --userspec= --skip-chdir"),
    row(
        &["time", "gtime"],
        0,
        Then::Command,
        "-a -p -q -v -f= -o= --append --portability --quiet --verbose --format= --output=",
    ),
    row(&["split"], 0, Then::Nothing, "--filter!"),
    row(&["sort"], 0, Then::Nothing, "--compress-program!"),
    // util-linux.
    row(&["setsid"], 0, Then::Command, "-c -f -w --ctty --fork --wait"),
    row(
        &["ionice"],
        0,
        Then::Command,
        "-t -c= -n= -p~ -P~ -u~ --ignore --class= --classdata= --pid~",
    ),
    row(
        &["chrt"],
        1,
        Then::Command,
        "-b -d -e -f -i -o -r -R -v -T= -P= -D= -p~ --batch --deadline --ext --fifo --idle --other \
         --rr --reset-on-fork --verbose --sched-runtime= --sched-period= --sched-deadline= --pid~",
    ),
    row(&["taskset"], 1, Then::Command, "-c --cpu-list -a~ -p~ --pid~ --all-tasks~"),
    row(
        &["setarch"],
        1,
        Then::CommandOrShell,
        "-B -F -I -L -R -S -T -X -Z -v -3 --32bit --3gb --4gb --addr-no-randomize --uname-2.6",
    ),
    row(
        &["linux32", "linux64", "i386", "x86_64"],
        0,
        Then::CommandOrShell,
        "-B -F -I -L -R -S -T -X -Z -v -3 --addr-no-randomize",
    ),
    row(
        &["prlimit"],
        0,
        Then::Command,
        "-c? -d? -e? -f? -i? -l? -m? -n? -q? -r? -s? -t? -u? -v? -x? -y? --core? --data? --nice? \
         --fsize? --sigpending? --memlock? --rss? --nofile? --msgqueue? --rtprio? --stack? --cpu? \
         --nproc? --as? --locks? --rttime? -p~ --pid~",
    ),
    row(
        &["unshare"],
        0,
        Then::CommandOrShell,
        "-i? -m? -n? -p? -u? -U? -C? -T? -f -r -c --ipc? --mount? --net? --pid? --uts? --user? \
         --cgroup? --time? --fork --map-root-user --map-current-user --map-auto --map-user= \
         --map-group= --map-users= --map-groups= --kill-child? --mount-proc? --propagation= \
         --setgroups= --keep-caps -R~ --root~ -w/ --wd/ -S= --setuid= -G= --setgid=",
    ),
    row(
        &["nsenter"],
        0,
        Then::CommandOrShell,
        "-a -t= -m? -u? -i? -n? -p? -U? -C? -T? -F -S= -G= -r? -w? --all --target= --mount? --uts? \
         --ipc? --net? --pid? --user? --cgroup? --time? --no-fork --preserve-credentials \
         --setuid= --setgid= --root? --wd?",
    ),
    row(
        &["setpriv"],
        0,
        Then::Command,
        "--clear-groups --keep-groups --init-groups --groups= --inh-caps= --ambient-caps= \
         --bounding-set= --no-new-privs --pdeathsig= --rgid= --egid= --regid= --ruid= --euid= \
         --reuid= --securebits= --reset-env",
    ),
    row(
        &["script"],
        1,
        Then::OptionOrShell,
        "-a -e -f -q -c! -B= -E= -I= -O= -T= -o= -m= -t? --append --return --flush --quiet --force \
         --command! --log-io= --log-in= --log-out= --log-timing= --output-limit= --echo= \
         --logging-format= --timing?",
    ),
    // Another user, or more rights.
    row(
        &["sudo"],
        0,
        Then::Assignments,
        "-A -b -B -E -H -k -n -P -S -C= -D/ -g= -h= -p= -r= -R~ -t= -T= -u= -U= -e~ -i~ -l~ -s~ -v \
         -K -V --askpass --background --bell --close-from= --preserve-env? --edit~ --group= \
         --set-home --host= --login~ --list~ --non-interactive --preserve-groups --prompt= \
         --chdir/ --chroot~ --stdin --shell~ --type= --role= --user= --other-user= \
         --command-timeout= --validate",
    ),
    row(&["doas"], 0, Then::CommandOrShell, "-n -L -u= -C~ -s~"),
    row(&["pkexec"], 0, Then::CommandOrShell, "--disable-internal-agent --keep-cwd --user="),
    row(
        &["su"],
        1,
        Then::OptionOrShell,
        "- -f -l -m -p -P -c! -g= -G= -s= -w= -T --command! --session-command! --fast --login \
         --preserve-environment --pty --group= --supp-group= --shell= --whitelist-environment=",
    ),
    row(&["runuser"], 0, Then::CommandOrShell, "-u= -g= -G= -l~ -c! --user= --group= --command!"),
    row(&["sg"], 1, Then::OptionOrShell, "- -c!"),
    row(&["fakeroot", "fakechroot"], 0, Then::CommandOrShell, "-u -s= -i= -b= --lib= --faked="),
    row(&["dbus-run-session"], 0, Then::Command, "--config-file= --dbus-daemon~"),
    row(
        &["systemd-run"],
        0,
        Then::Command,
        "-d -G -q -t -P -S~ -p= -u= -E= --collect --pipe --pty --quiet --same-dir --scope --user \
         --wait --no-block --property= --unit= --setenv= --slice= --working-directory/ --shell~",
    ),
    row(&["start-stop-daemon"], 0, Then::Nothing, "-S~ --start~ -a~ --startas~ -x~ --exec~"),
    row(&["at", "batch", "crontab"], 0, Then::OptionOrShell, ""),
    // Watching, tracing, measuring.
    row(
        &["watch"],
        0,
        Then::Line,
        "-b -c -C -d? -e -g -p -r -t -w -x -n= -q= --beep --color --no-color --differences? \
         --errexit --chgexit --precise --no-rerun --no-title --no-wrap --exec --interval= \
         --equexit=",
    ),
    row(
        &["strace"],
        0,
        Then::Command,
        "-A -c -C -d -D -DD -DDD -f -F -h -i -k -n -N -q -qq -qqq -r -t -tt -ttt -T -v -V -w -x -xx \
         -y -yy -z -Z -a= -b= -e= -E= -I= -o| -O= -p= -P= -s= -S= -u= -U= -X= --attach= --daemonize? \
         --follow-forks --output-separately --trace= --signal= --status= --abbrev= --verbose= \
         --raw= --read= --write= --inject= --fault= --decode-fds? --failed-only --successful-only \
         --absolute-timestamps? --relative-timestamps? --syscall-times? --strings-in-hex? \
         --string-limit= --output| --quiet? --columns= --env= --user= --argv0= --summary \
         --summary-only --summary-sort-by= --no-abbrev --instruction-pointer --stack-traces \
         --syscall-number --trace-path=",
    ),
    row(
        &["ltrace"],
        0,
        Then::Command,
        "-b -c -C -f -h -i -L -r -S -t -tt -ttt -T -V -a= -A= -D= -e= -F= -l= -n= -o| -p= -s= -u= \
         -w= -x= --align= --output| --library= --indent= --where=",
    ),
    row(
        &["valgrind"],
        0,
        Then::Command,
        "-q -v -h --quiet --verbose --version --tool? --trace-children? --track-fds? \
         --track-origins? --leak-check? --show-leak-kinds? --show-reachable? --error-exitcode? \
         --errors-for-leak-kinds? --suppressions? --gen-suppressions? --log-file? --log-fd? \
         --num-callers? --xml? --xml-file? --child-silent-after-fork? --vgdb? --main-stacksize? \
         --undef-value-errors? --expensive-definedness-checks? --callgrind-out-file? \
         --dump-instr? --collect-jumps? --cache-sim? --branch-sim? --massif-out-file? \
         --cachegrind-out-file? --time-unit? --detailed-freq? --max-snapshots? --threshold? \
         --read-var-info? --keep-debuginfo? --fair-sched? --max-stackframe? --redzone-size? \
         --instr-atstart? --toggle-collect? --heap? --stacks?",
    ),
    row(
        &["perf stat", "perf record", "perf trace"],
        0,
        Then::Command,
        "-a -A -B -d -dd -ddd -g -i -n -q -s -S -T -v -x= -c= -C= -D= -e= -F= -G= -I= -M= -m= -o= -p= \
         -r= -t= --call-graph= --all-cpus --detailed --event= --freq= --count= --output= \
         --repeat= --null --per-thread --per-core --no-aggr --no-inherit --summary --delay= \
         --field-separator= --metrics= --quiet --verbose --pid= --tid= --timeout= --no-big-num",
    ),
    row(
        &["hyperfine"],
        0,
        Then::Lines,
        "-i -N -w= -r= -m= -M= -P~ -D= -L~ -s! -p! -c! -C! -n= -u= -S~ --warmup= --runs= \
         --min-runs= --max-runs= --setup! --prepare! --cleanup! --conclude! --ignore-failure \
         --style= --export-json= --export-markdown= --export-csv= --export-asciidoc= \
         --show-output --output= --input= --command-name= --time-unit= --sort= --reference!",
    ),
    row(&["entr"], 0, Then::Command, "-a -c -cc -d -dd -n -p -r -s~ -x -z"),
    row(
        &["watchexec"],
        0,
        Then::Line,
        "-c -r -v -q -n -N -p -e= -f= -i= -w= -W= -d= -s= -o= --exts= --filter= --ignore= --watch= \
         --watch-non-recursive= --restart --clear? --postpone --debounce= --signal= \
         --on-busy-update= --no-vcs-ignore --no-project-ignore --no-global-ignore \
         --no-default-ignore --shell~ --workdir/ --poll? --notify --quiet",
    ),
    row(
        &["numactl"],
        0,
        Then::Command,
        "-a -b -l -s~ -H~ -i= -m= -N= -C= -p= -P= --interleave= --membind= --cpunodebind= \
         --physcpubind= --localalloc --preferred= --all --balancing",
    ),
    row(
        &["catchsegv", "unbuffer", "chronic", "eatmydata", "proxychains4", "proxychains"],
        0,
        Then::Command,
        "-q -p -v -e",
    ),
    row(&["rlwrap"], 0, Then::Command, "-a? -c -n -r -A -i -H= -f= -s= -D= -C= -p? -P= -S= -t="),
    row(
        &["xvfb-run"],
        0,
        Then::Command,
        "-a -l -n= -e= -f= -p= -s= -w= --auto-servernum --listen-tcp --server-num= --error-file= \
         --auth-file= --xauth-protocol= --server-args= --wait=",
    ),
    row(&["dumb-init", "tini", "tini-static"], 0, Then::Command, "-c -v -s -g -w -p= -e= -r="),
    row(
        &[
            "ld.so",
            "ld-linux-x86-64.so.2",
            "ld-linux-aarch64.so.1",
            "ld-linux.so.2",
            "ld-musl-x86_64.so.1",
            "ld-musl-aarch64.so.1",
        ],
        0,
        Then::Command,
        "--inhibit-cache --library-path= --argv0= --glibc-hwcaps-prepend= --inhibit-rpath= --list \
         --verify --preload~ --audit~",
    ),
    // Another machine. Options may follow the host.
    row(
        &["ssh"],
        1,
        Then::LineElsewhere,
        "-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -tt -V -v -vv -vvv -X -x -Y -y -B= -b= \
         -c= -D= -E= -e= -F~ -I~ -i= -J= -L= -l= -m= -O= -o: -P= -p= -Q= -R= -S= -W= -w=",
    ),
    row(&["rsync"], 0, Then::Nothing, "-e! --rsh! --rsync-path!"),
    row(&["scp", "sftp"], 0, Then::Nothing, "-S! -o: -F~ -D!"),
    // Programs of a project's own tools.
    row(
        &["npx", "bunx", "pnpx"],
        0,
        Then::Command,
        "-y -q --yes --no --no-install --quiet --ignore-existing --bun --prefer-offline --offline \
         -p= --package= -w= --workspace= -c! --call!",
    ),
    row(
        &["npm exec", "npm x", "pnpm exec", "pnpm dlx", "yarn exec", "yarn dlx", "bun x"],
        0,
        Then::Command,
        "-y -q -r --yes --no --quiet --recursive -p= --package= -w= --workspace= -c! --call!",
    ),
    row(
        &["uv run", "uvx", "uv tool run"],
        0,
        Then::Command,
        "-q -v -n -U -p= -w= -C/ --quiet --verbose --offline --no-sync --frozen --locked --isolated \
         --active --dev --no-dev --only-dev --all-extras --all-groups --all-packages --no-project \
         --no-editable --no-cache --refresh --no-progress --no-config --native-tls --exact \
         --no-env-file --managed-python --no-managed-python --extra= --no-extra= --group= \
         --no-group= --only-group= --with= --with-editable= --with-requirements= --python= \
         --package= --project= --directory/ --from= --env-file= --index= --default-index= \
         --index-url= --extra-index-url= --find-links= --cache-dir= --color= --resolution= \
         -m~ --module~ -s~ --script~ --gui-script~",
    ),
    row(
        &[
            "poetry run",
            "pipenv run",
            "pdm run",
            "rye run",
            "hatch run",
            "pixi run",
            "bundle exec",
            "dotenv run",
            "asdf exec",
            "pyenv exec",
            "rbenv exec",
            "goenv exec",
            "nodenv exec",
            "conda run",
            "mamba run",
            "micromamba run",
            "devbox run",
            "opam exec",
            "cabal exec",
            "stack exec",
            "mix cmd",
        ],
        0,
        Then::Command,
        "-q -v -n= -p= -e= --no-capture-output --live-stream --quiet --verbose --frozen --locked \
         --name= --prefix= --environment=",
    ),
    row(&["rustup run"], 1, Then::Command, "--install"),
    row(&["mise exec", "mise x"], 0, Then::AfterDashes, "-c! --command!"),
    row(&["direnv exec"], 1, Then::Command, ""),
    row(&["cargo watch"], 0, Then::Nothing, "-s! --shell!"),
    row(&["go"], 0, Then::Nothing, "-exec! -toolexec! -vettool!"),
    // Programs that start what one of their options names.
    row(
        &["tar", "gtar", "bsdtar"],
        0,
        Then::Nothing,
        "--to-command! --checkpoint-action~ -I! --use-compress-program! --rsh-command! \
         --rmt-command~ --info-script! --new-volume-script! -F!",
    ),
    row(&["rg"], 0, Then::Nothing, "--pre! --hostname-bin!"),
    row(&["man"], 0, Then::Nothing, "-P! --pager! -H! --html!"),
    row(&["wget"], 0, Then::Nothing, "--use-askpass!"),
];

/// What starts others in ways that no table holds, whatever it is given.
pub(crate) static UNREADABLE: &[&str] = &[
    "abduco",
    "bwrap",
    "capsh",
    "dtach",
    "expect",
    "firejail",
    "machinectl",
    "newgrp",
    "proot",
    "reptyr",
    "screen",
    "tmux",
    "zellij",
];
