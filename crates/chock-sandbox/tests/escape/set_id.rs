//! No file is left that lends its owner's rights.

use crate::harness::Control::{Anyone, AnyoneIf, Root};
use crate::harness::{attempt, check};

#[test]
fn set_id_bits_reach_no_file() {
    check(&[
        #[cfg(target_arch = "x86_64")]
        attempt(Anyone, &["set-id", "chmod", "4755"]),
        #[cfg(target_arch = "x86_64")]
        attempt(Anyone, &["set-id", "chmod", "2755"]),
        #[cfg(target_arch = "x86_64")]
        attempt(Anyone, &["set-id", "open", "4755"]),
        #[cfg(target_arch = "x86_64")]
        attempt(Anyone, &["set-id", "creat", "4755"]),
        #[cfg(target_arch = "x86_64")]
        attempt(Anyone, &["set-id", "mknod", "4755"]),
        attempt(Anyone, &["set-id", "fchmod", "4755"]),
        attempt(Anyone, &["set-id", "fchmod", "6755"]),
        attempt(Anyone, &["set-id", "fchmodat", "4755"]),
        attempt(AnyoneIf("an older kernel"), &["set-id", "fchmodat2", "4755"]),
        attempt(Anyone, &["set-id", "openat", "4755"]),
        attempt(Anyone, &["set-id", "openat", "2755"]),
        attempt(Anyone, &["set-id", "openat2", "4755"]),
        attempt(Anyone, &["set-id", "mknodat", "4755"]),
        attempt(Anyone, &["set-id", "tmpfile", "4755"]),
        attempt(Root, &["file-capability"]),
    ]);
}

#[test]
fn no_device_can_be_made() {
    check(&[
        attempt(Root, &["device", "character", "1", "1"]),
        attempt(Root, &["device", "character", "5", "1"]),
        attempt(Root, &["device", "block", "254", "0"]),
        attempt(AnyoneIf("an older kernel"), &["device", "character", "0", "0"]),
    ]);
}
