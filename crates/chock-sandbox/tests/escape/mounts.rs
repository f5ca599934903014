//! Changing the tree, and leaving the namespaces.

use crate::harness::Control::{Anyone, AnyoneIf, Root};
use crate::harness::{attempt, check, with_control};

#[test]
fn nothing_can_be_mounted() {
    check(&[
        attempt(Root, &["mount-tmpfs", "{yard}/project"]),
        with_control(
            Root,
            &["bind-over", "/usr", "{yard}/project"],
            &["bind-over", "{yard}/outside", "{yard}/project"],
        ),
        with_control(
            Root,
            &["bind-over", "{yard}/project/file", "{yard}/project/chock.zon"],
            &["bind-over", "{yard}/outside", "{yard}/project"],
        ),
        with_control(Root, &["remount-writable", "/"], &["remount-writable", "{yard}/project"]),
        with_control(Root, &["remount-writable", "/usr"], &["remount-writable", "{yard}/project"]),
        with_control(
            Root,
            &["remount-writable", "/proc/sys"],
            &["remount-writable", "{yard}/project"],
        ),
        attempt(Root, &["unmount", "{yard}/project/chock.zon"]),
        attempt(Root, &["unmount", "{yard}/project/secret.env"]),
        with_control(Root, &["unmount", "/proc"], &["unmount", "{yard}/project"]),
        with_control(Root, &["unmount", "/dev/shm"], &["unmount", "{yard}/project"]),
        attempt(Root, &["call", "open_tree"]),
        attempt(Root, &["call", "fsopen"]),
        attempt(Root, &["call", "fsconfig"]),
        attempt(Root, &["call", "move_mount"]),
        attempt(Root, &["call", "mount_setattr"]),
        attempt(Root, &["call", "swapon"]),
    ]);
}

#[test]
fn the_root_stays_the_root() {
    check(&[
        attempt(Root, &["chroot", "{yard}/project"]),
        attempt(Root, &["chroot", "."]),
        attempt(Root, &["pivot", "{yard}/project"]),
        attempt(Root, &["open-by-handle", "/usr/bin/env"]),
    ]);
}

#[test]
fn no_namespace_can_be_made_or_entered() {
    check(&[
        attempt(Anyone, &["call", "unshare-user"]),
        attempt(Anyone, &["call", "unshare-user-and-all"]),
        attempt(AnyoneIf("no time namespaces"), &["call", "unshare-time"]),
        attempt(Root, &["call", "unshare-mount"]),
        attempt(Root, &["call", "unshare-net"]),
        attempt(Anyone, &["clone3-user"]),
        attempt(Root, &["enter-namespace", "/proc/self/ns/mnt"]),
        attempt(Root, &["enter-namespace", "/proc/self/ns/net"]),
        with_control(
            Root,
            &["enter-namespace", "/proc/1/ns/pid"],
            &["enter-namespace", "/proc/@sibling/ns/pid"],
        ),
        attempt(AnyoneIf("an older kernel"), &["call", "statmount"]),
    ]);
}
