//! Calls that reach the kernel's own works.

use crate::harness::Control::{Anyone, AnyoneIf, Root, RootIf};
use crate::harness::{attempt, check, check_without_jit};

#[test]
fn the_kernels_code_is_out_of_reach() {
    check(&[
        attempt(RootIf("built without it"), &["call", "bpf"]),
        attempt(RootIf("built without it"), &["call", "perf_event_open"]),
        attempt(RootIf("built without modules"), &["call", "init_module"]),
        attempt(RootIf("built without modules"), &["call", "finit_module"]),
        attempt(RootIf("built without modules"), &["call", "delete_module"]),
        attempt(RootIf("built without it"), &["call", "kexec_load"]),
        attempt(Root, &["call", "reboot"]),
        attempt(Root, &["call", "syslog"]),
        attempt(RootIf("built without it"), &["call", "acct"]),
        attempt(Root, &["call", "settimeofday"]),
        attempt(Root, &["call", "set-hostname"]),
        attempt(RootIf("built without it"), &["call", "quotactl"]),
    ]);
}

#[test]
fn tools_of_kernel_faults_are_out_of_reach() {
    check(&[
        attempt(AnyoneIf("built without it"), &["call", "userfaultfd"]),
        attempt(AnyoneIf("built without it"), &["call", "io_uring_setup"]),
        attempt(AnyoneIf("built without it"), &["call", "io_uring_enter"]),
        attempt(AnyoneIf("built without it"), &["call", "keyctl"]),
        attempt(AnyoneIf("built without it"), &["call", "add_key"]),
        attempt(AnyoneIf("built without it"), &["call", "request_key"]),
        attempt(AnyoneIf("built without it"), &["call", "fanotify"]),
        attempt(AnyoneIf("built without it"), &["call", "move_pages"]),
        attempt(AnyoneIf("built without it"), &["call", "migrate_pages"]),
        attempt(Anyone, &["call", "personality"]),
        attempt(Anyone, &["call", "openat2"]),
        attempt(AnyoneIf("not on this processor"), &["call", "modify_ldt"]),
        attempt(RootIf("not on this processor"), &["call", "iopl"]),
        attempt(RootIf("not on this processor"), &["call", "ioperm"]),
    ]);
}

#[test]
fn programs_come_from_paths_and_this_architecture() {
    check(&[
        attempt(Anyone, &["execute-memory"]),
        attempt(AnyoneIf("a kernel for one architecture"), &["foreign-architecture"]),
        attempt(AnyoneIf("a kernel without x32"), &["call", "x32"]),
    ]);
}

#[test]
fn code_cannot_be_written_where_the_policy_says_so() {
    check_without_jit(&[
        attempt(Anyone, &["writable-code"]),
        attempt(Anyone, &["make-code-executable"]),
    ]);
}
