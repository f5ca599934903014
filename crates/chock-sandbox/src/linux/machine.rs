//! What is known of machines that refuse a layer, and what a person can do about it.

use rustix::io::Errno;

use super::ids;
use crate::Layer;

/// What this machine says about itself, read when a layer was refused.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Machine {
    /// AppArmor takes the capabilities out of new user namespaces.
    pub(super) apparmor_restricts: bool,
    /// The count of user namespaces is zero.
    pub(super) no_user_namespaces: bool,
    /// Debian's switch for user namespaces is off.
    pub(super) user_namespaces_switched_off: bool,
    /// Parts of `/proc` are covered, as in a container.
    pub(super) proc_is_masked: bool,
    /// The kernel knows Landlock but was started without it.
    pub(super) landlock_not_started: bool,
    /// The kernel has no overlay file system loaded.
    pub(super) no_overlay: bool,
    /// This process is root of the machine.
    pub(super) root: bool,
}

impl Machine {
    /// Asks the machine.
    pub(super) fn ask() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let is = |path: &str, value: &str| read(path).trim() == value;
        let modules = read("/sys/kernel/security/lsm");
        Self {
            apparmor_restricts: is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
            no_user_namespaces: is("/proc/sys/user/max_user_namespaces", "0"),
            user_namespaces_switched_off: is("/proc/sys/kernel/unprivileged_userns_clone", "0"),
            proc_is_masked: masked(&read("/proc/self/mountinfo")),
            landlock_not_started: !modules.is_empty() && !modules.contains("landlock"),
            no_overlay: !read("/proc/filesystems").contains("\toverlay\n"),
            root: ids::is_host_root(),
        }
    }

    /// Says whose fault a refusal really is: AppArmor lets a user namespace be made, and only
    /// what needs it fails.
    pub(super) fn blame(&self, layer: Layer, errno: Errno) -> Layer {
        let permission = matches!(errno, Errno::PERM | Errno::ACCESS);
        let restricted = self.apparmor_restricts && !self.root;
        if permission && restricted { Layer::UserNamespace } else { layer }
    }

    /// Says what a person can do; empty when nothing is known.
    pub(super) fn cure(&self, layer: Layer, errno: Errno) -> &'static str {
        match self.blame(layer, errno) {
            Layer::UserNamespace if self.apparmor_restricts && !self.root => APPARMOR,
            Layer::UserNamespace if self.no_user_namespaces => NO_USER_NAMESPACES,
            Layer::UserNamespace if self.user_namespaces_switched_off => SWITCHED_OFF,
            Layer::UserNamespace if errno == Errno::NOSPC => FULL,
            Layer::UserNamespace if errno == Errno::PERM => CONTAINER,
            Layer::Proc if errno == Errno::PERM && self.proc_is_masked => MASKED_PROC,
            Layer::Landlock if self.landlock_not_started => LANDLOCK_NOT_STARTED,
            Layer::Landlock if matches!(errno, Errno::NOSYS | Errno::OPNOTSUPP) => NO_LANDLOCK,
            Layer::Overlay if self.no_overlay => NO_OVERLAY,
            Layer::Overlay if errno == Errno::INVAL => OVERLAY_ON_OVERLAY,
            Layer::SystemCallFilter => NO_SECCOMP,
            Layer::UserNamespace
            | Layer::MountNamespace
            | Layer::PidNamespace
            | Layer::IpcNamespace
            | Layer::UtsNamespace
            | Layer::CgroupNamespace
            | Layer::NetworkNamespace
            | Layer::Loopback
            | Layer::Tree
            | Layer::Overlay
            | Layer::IdMappedMount
            | Layer::PivotRoot
            | Layer::Proc
            | Layer::Devices
            | Layer::NamespaceCounts
            | Layer::Capabilities
            | Layer::Limits
            | Layer::ControlGroup
            | Layer::Session
            | Layer::Descriptors
            | Layer::NoNewPrivileges
            | Layer::Landlock => "",
        }
    }
}

const APPARMOR: &str = "AppArmor restricts user namespaces here: write `abi <abi/4.0>, profile chock \
    /the/path/of/chock flags=(unconfined) { userns, }` to /etc/apparmor.d/chock and run `sudo \
    apparmor_parser -r /etc/apparmor.d/chock`; or, for every program, `sudo sysctl \
    kernel.apparmor_restrict_unprivileged_userns=0`";
const NO_USER_NAMESPACES: &str = "the machine allows none: run \
    `sudo sysctl user.max_user_namespaces=10000`, or ask whoever runs this container";
const SWITCHED_OFF: &str = "run `sudo sysctl kernel.unprivileged_userns_clone=1`";
const FULL: &str = "too many user namespaces are alive: end some, or raise \
    `user.max_user_namespaces`";
const CONTAINER: &str = "a container's own filter refuses namespaces: start it with \
    `--security-opt seccomp=unconfined --security-opt systempaths=unconfined`";
const MASKED_PROC: &str = "this container covers parts of /proc: start it with \
    `--security-opt systempaths=unconfined` (podman: `--security-opt unmask=ALL`)";
const LANDLOCK_NOT_STARTED: &str = "the kernel was started without Landlock: add `landlock` to \
    its `lsm=` parameter";
const NO_LANDLOCK: &str = "the kernel has no Landlock: it needs Linux 5.13 or later, built with \
    CONFIG_SECURITY_LANDLOCK";
const NO_OVERLAY: &str = "the kernel has no overlay file system: run `sudo modprobe overlay`";
const OVERLAY_ON_OVERLAY: &str = "this directory's file system cannot hold an overlay's changes \
    (an overlay itself, or one without extended attributes): put Chock's cache on another";
const NO_SECCOMP: &str = "the kernel refuses system call filters: it needs CONFIG_SECCOMP_FILTER";

/// Says whether something is mounted beneath `/proc`, other than what a full one has.
fn masked(mountinfo: &str) -> bool {
    let points = mountinfo.lines().filter_map(|line| line.split(' ').nth(4));
    points
        .into_iter()
        .any(|point| point.starts_with("/proc/") && !point.starts_with("/proc/sys/fs/binfmt_misc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_machines_are_recognised() {
        let plain = Machine::default();
        let apparmor = Machine { apparmor_restricts: true, ..plain.clone() };
        let apparmor_root = Machine { root: true, ..apparmor.clone() };
        let none = Machine { no_user_namespaces: true, ..plain.clone() };
        let container = Machine { proc_is_masked: true, ..plain.clone() };
        let cases = [
            (&apparmor, Layer::UserNamespace, Errno::PERM, APPARMOR),
            (&apparmor, Layer::Loopback, Errno::PERM, APPARMOR),
            (&apparmor, Layer::MountNamespace, Errno::ACCESS, APPARMOR),
            (&apparmor, Layer::Landlock, Errno::NOSYS, NO_LANDLOCK),
            (&apparmor_root, Layer::Loopback, Errno::PERM, ""),
            (&none, Layer::UserNamespace, Errno::NOSPC, NO_USER_NAMESPACES),
            (&plain, Layer::UserNamespace, Errno::NOSPC, FULL),
            (&plain, Layer::UserNamespace, Errno::PERM, CONTAINER),
            (&container, Layer::Proc, Errno::PERM, MASKED_PROC),
            (&plain, Layer::Proc, Errno::PERM, ""),
            (&plain, Layer::Overlay, Errno::INVAL, OVERLAY_ON_OVERLAY),
        ];
        for (machine, layer, errno, expected) in cases {
            assert_eq!(machine.cure(layer, errno), expected, "{machine:?} {layer} {errno}");
        }
    }

    #[test]
    fn a_container_is_known_by_what_covers_its_proc() {
        let line = |point: &str| format!("1 2 0:5 / {point} rw - tmpfs tmpfs rw\n");
        assert!(masked(&line("/proc/acpi")));
        assert!(!masked(&(line("/proc") + &line("/proc/sys/fs/binfmt_misc"))));
    }
}
