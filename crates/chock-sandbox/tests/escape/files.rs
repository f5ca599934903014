//! Files of the machine, and files of the project that are not the cage's.

use std::os::unix::net::{UnixDatagram, UnixListener};

use crate::harness::Control::{Anyone, AnyoneIf, Root, RootIf};
use crate::harness::{attempt, check, check_prepared, check_with_view, with_control};

#[test]
fn the_machine_is_not_there() {
    check(&[
        attempt(Anyone, &["read", "{yard}/outside/canary"]),
        attempt(Anyone, &["append", "{yard}/outside/canary"]),
        attempt(Anyone, &["create", "{yard}/outside/new"]),
        attempt(Anyone, &["unlink", "{yard}/outside/canary"]),
        attempt(Anyone, &["read", "{yard}/home/secret"]),
        attempt(Anyone, &["list", "{yard}/home"]),
        attempt(Anyone, &["climb", "{yard}/outside/canary"]),
        attempt(Anyone, &["read", "../outside/canary"]),
        attempt(Anyone, &["list", "{yard}/layer"]),
        attempt(Anyone, &["list", "/var"]),
        attempt(Anyone, &["list", "/sys"]),
        attempt(Root, &["list", "/root"]),
        attempt(Root, &["read", "/etc/shadow"]),
        attempt(AnyoneIf("no such file here"), &["read", "/etc/os-release"]),
    ]);
}

#[test]
fn what_is_there_of_the_machine_is_read_only() {
    check(&[
        attempt(Root, &["create", "/usr/chock-was-here"]),
        attempt(Root, &["create", "/chock-was-here"]),
        attempt(Root, &["open-for-writing", "/etc/passwd"]),
        attempt(Root, &["open-for-writing", "/usr/lib/os-release"]),
        with_control(Anyone, &["create", "/opt/probe/new"], &["create", "{yard}/probe/new"]),
        with_control(Anyone, &["create", "/run/chock/new"], &["create", "{yard}/outside/new"]),
        with_control(Anyone, &["create", "/etc/new"], &["create", "{yard}/outside/new"]),
    ]);
    if crate::yard::is_root() {
        for left in ["/usr/chock-was-here", "/chock-was-here"] {
            std::fs::remove_file(left).expect("what the control made");
        }
    }
}

#[test]
fn the_rules_cannot_be_changed() {
    check(&[
        attempt(Anyone, &["append", "chock.zon"]),
        attempt(Anyone, &["open-for-writing", "chock.zon"]),
        attempt(Anyone, &["unlink", "chock.zon"]),
        attempt(Anyone, &["replace", "chock.zon"]),
        attempt(Anyone, &["rename-then-read", "chock.zon"]),
        attempt(Anyone, &["open-for-writing", "/proc/self/cwd/chock.zon"]),
    ]);
}

#[test]
fn denied_files_cannot_be_read_by_any_name() {
    check(&[
        attempt(Anyone, &["read", "secret.env"]),
        attempt(Anyone, &["read", "/proc/self/cwd/secret.env"]),
        attempt(Anyone, &["read", "./vault/../secret.env"]),
        attempt(Anyone, &["rename-then-read", "secret.env"]),
        attempt(Anyone, &["link-then-read", "secret.env"]),
        attempt(Anyone, &["symlink-then-read", "secret.env"]),
        attempt(Anyone, &["chmod-then-read", "secret.env"]),
        attempt(Anyone, &["unlink", "secret.env"]),
        attempt(Anyone, &["list", "vault"]),
        attempt(Anyone, &["chmod-then-read", "vault"]),
        attempt(Anyone, &["read", "vault/key"]),
        attempt(Anyone, &["rename-parent-then-read", "vault", "key"]),
        attempt(Anyone, &["create", "later.env"]),
        attempt(Anyone, &["swap-parent-for-link", "vault", "{yard}/outside", "canary"]),
    ]);
}

#[test]
fn the_places_of_mounts_cannot_be_moved_away() {
    check(&[
        // The first parent of a project under /tmp is a mount of its own.
        with_control(
            Anyone,
            &["rename-then-read", "{yard}"],
            &["rename-parent-then-read", "{yard}/outside", "canary"],
        ),
        with_control(Anyone, &["create", "{yard}/new"], &["create", "{yard}/outside/new"]),
        with_control(
            Anyone,
            &["rename", "{yard}/project", "{yard}/elsewhere"],
            &["rename", "{yard}/outside", "{yard}/elsewhere"],
        ),
    ]);
}

#[test]
fn the_first_process_keeps_its_own() {
    // Outside: another process of the same user, which is what the first one inside is.
    check(&[
        with_control(Anyone, &["read", "/proc/1/environ"], &["read", "/proc/@sibling/environ"]),
        with_control(
            Anyone,
            &["open-for-writing", "/proc/1/mem"],
            &["open-for-writing", "/proc/@sibling/mem"],
        ),
        with_control(Anyone, &["read", "/proc/1/maps"], &["read", "/proc/@sibling/maps"]),
        with_control(Anyone, &["list", "/proc/1/fd"], &["list", "/proc/@sibling/fd"]),
        with_control(Anyone, &["list", "/proc/1/root/"], &["list", "/proc/@sibling/root/"]),
        with_control(Anyone, &["list", "/proc/1/cwd/"], &["list", "/proc/@sibling/cwd/"]),
        with_control(Anyone, &["read-link", "/proc/1/exe"], &["read-link", "/proc/@sibling/exe"]),
        with_control(
            Anyone,
            &["read-link", "/proc/1/ns/mnt"],
            &["read-link", "/proc/@sibling/ns/mnt"],
        ),
        with_control(
            Anyone,
            &["open-for-writing", "/proc/1/oom_score_adj"],
            &["open-for-writing", "/proc/@sibling/oom_score_adj"],
        ),
        with_control(
            AnyoneIf("built without it"),
            &["open-for-writing", "/proc/1/autogroup"],
            &["open-for-writing", "/proc/@sibling/autogroup"],
        ),
        with_control(
            AnyoneIf("built without it"),
            &["open-for-writing", "/proc/1/clear_refs"],
            &["open-for-writing", "/proc/@sibling/clear_refs"],
        ),
        with_control(
            AnyoneIf("built without it"),
            &["open-for-writing", "/proc/1/coredump_filter"],
            &["open-for-writing", "/proc/@sibling/coredump_filter"],
        ),
        with_control(
            AnyoneIf("built without it"),
            &["open-for-writing", "/proc/1/timerslack_ns"],
            &["open-for-writing", "/proc/@sibling/timerslack_ns"],
        ),
        with_control(
            AnyoneIf("built without it"),
            &["open-for-writing", "/proc/1/sched"],
            &["open-for-writing", "/proc/@sibling/sched"],
        ),
        with_control(Anyone, &["read", "/proc/1/auxv"], &["read", "/proc/@sibling/auxv"]),
        with_control(
            AnyoneIf("built without it"),
            &["list", "/proc/1/map_files"],
            &["list", "/proc/@sibling/map_files"],
        ),
    ]);
}

#[test]
fn the_kernels_files_are_covered() {
    check(&[
        attempt(Root, &["open-for-writing", "/proc/sys/kernel/core_pattern"]),
        attempt(Root, &["open-for-writing", "/proc/sys/vm/overcommit_memory"]),
        attempt(Root, &["open-for-writing", "/proc/sys/kernel/hostname"]),
        attempt(
            RootIf("root without the right to it"),
            &["open-for-writing", "/proc/sys/user/max_user_namespaces"],
        ),
        attempt(RootIf("built without it"), &["open-for-writing", "/proc/sysrq-trigger"]),
        attempt(RootIf("built without it"), &["read", "/proc/kcore"]),
        attempt(RootIf("built without it"), &["open-for-writing", "/proc/kmsg"]),
        attempt(AnyoneIf("built without it"), &["read", "/proc/keys"]),
        attempt(AnyoneIf("built without it"), &["read", "/proc/kallsyms"]),
        attempt(
            RootIf("built without it"),
            &["open-for-writing", "/proc/irq/default_smp_affinity"],
        ),
        attempt(AnyoneIf("built without it"), &["list", "/proc/bus"]),
        attempt(AnyoneIf("built without it"), &["list", "/proc/fs"]),
        attempt(AnyoneIf("built without it"), &["list", "/proc/irq"]),
        attempt(Anyone, &["open-for-writing", "/proc/self/comm"]),
        attempt(Anyone, &["open-for-writing", "/proc/self/mem"]),
    ]);
}

#[test]
fn no_device_of_the_machine_is_there() {
    check(&[
        attempt(RootIf("no such device here"), &["read", "/dev/vda"]),
        attempt(RootIf("no such device here"), &["read", "/dev/sda"]),
        attempt(RootIf("no such device here"), &["read", "/dev/mem"]),
        attempt(RootIf("no such device here"), &["open-for-writing", "/dev/kmsg"]),
        attempt(RootIf("no such device here"), &["open-for-writing", "/dev/net/tun"]),
        attempt(RootIf("no such device here"), &["open-for-writing", "/dev/kvm"]),
        attempt(AnyoneIf("no such device here"), &["open-for-writing", "/dev/vsock"]),
        attempt(RootIf("no such device here"), &["open-for-writing", "/dev/fuse"]),
        attempt(RootIf("no such device here"), &["open-for-writing", "/dev/userfaultfd"]),
        with_control(Root, &["device-beneath", "/tmp"], &["device-beneath", "/dev"]),
    ]);
}

#[test]
fn a_socket_in_the_project_is_not_one_inside() {
    let attempts = [attempt(Anyone, &["connect-path", "{yard}/project/socket"])];
    check_prepared(&attempts, |yard| {
        let path = yard.at("project/socket");
        let listener = UnixListener::bind(&path).expect("a socket");
        if crate::yard::is_root() {
            crate::yard::give(&path);
        }
        listener
    });
}

#[test]
fn nobody_outside_is_met_through_a_view() {
    let attempts = [
        with_control(
            Anyone,
            &["connect-path", "/view/socket"],
            &["connect-path", "{yard}/outside/socket"],
        ),
        with_control(
            Anyone,
            &["send-path", "/view/datagrams"],
            &["send-path", "{yard}/outside/datagrams"],
        ),
        with_control(Anyone, &["read-fifo", "/view/fifo"], &["read-fifo", "{yard}/outside/fifo"]),
        with_control(Anyone, &["append", "/view/canary"], &["append", "{yard}/outside/canary"]),
        with_control(Anyone, &["create", "/view/new"], &["create", "{yard}/outside/new"]),
        with_control(Anyone, &["unlink", "/view/canary"], &["unlink", "{yard}/outside/canary"]),
    ];
    check_with_view(&attempts, |yard| {
        let stream = UnixListener::bind(yard.at("outside/socket")).expect("a socket");
        let datagrams = UnixDatagram::bind(yard.at("outside/datagrams")).expect("a socket");
        let path = yard.at("outside/fifo");
        let mode = rustix::fs::Mode::from(0o666);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).expect("a FIFO");
        let mut fifo = std::fs::File::options().read(true).write(true).open(path).expect("it");
        std::io::Write::write_all(&mut fifo, b"from outside").expect("room for it");
        if crate::yard::is_root() {
            crate::yard::give(&yard.at("outside"));
        }
        (stream, datagrams, fifo)
    });
}
