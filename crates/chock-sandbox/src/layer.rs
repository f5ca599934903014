//! The names of the mechanisms that confine a cage.

use serde::Serialize;

/// One mechanism that confines a cage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Layer {
    /// A user namespace that maps one unprivileged id.
    UserNamespace = 1,
    /// A mount namespace of its own.
    MountNamespace,
    /// A process namespace of its own.
    PidNamespace,
    /// System V and POSIX message objects of its own.
    IpcNamespace,
    /// A host name of its own.
    UtsNamespace,
    /// A view of control groups of its own.
    CgroupNamespace,
    /// A network of its own, without a way out.
    NetworkNamespace,
    /// Loopback within that network.
    Loopback,
    /// The file tree: nothing of the machine but what the cage names.
    Tree,
    /// The writable view of a base.
    Overlay,
    /// Root's files shown as the session user's.
    IdMappedMount,
    /// The cage's tree as root directory, the machine's detached.
    PivotRoot,
    /// A `/proc` of the cell's own, masked.
    Proc,
    /// `/dev` with harmless nodes, terminals and shared memory of its own.
    Devices,
    /// No further namespaces: their counts are zero.
    NamespaceCounts,
    /// Every capability set empty and locked.
    Capabilities,
    /// Resource limits of the process.
    Limits,
    /// Memory and process limits of the session; the one best-effort layer.
    ControlGroup,
    /// A session without a controlling terminal.
    Session,
    /// No descriptor but the call's own.
    Descriptors,
    /// No rights from programs with set-user-id or file capabilities.
    NoNewPrivileges,
    /// Landlock file rules and scopes.
    Landlock,
    /// The system call filter.
    SystemCallFilter,
}

impl Layer {
    /// Every layer, in the order of `chock doctor`.
    pub const ALL: [Self; 23] = [
        Self::UserNamespace,
        Self::MountNamespace,
        Self::PidNamespace,
        Self::IpcNamespace,
        Self::UtsNamespace,
        Self::CgroupNamespace,
        Self::NetworkNamespace,
        Self::Loopback,
        Self::Tree,
        Self::Overlay,
        Self::IdMappedMount,
        Self::PivotRoot,
        Self::Proc,
        Self::Devices,
        Self::NamespaceCounts,
        Self::Capabilities,
        Self::Limits,
        Self::ControlGroup,
        Self::Session,
        Self::Descriptors,
        Self::NoNewPrivileges,
        Self::Landlock,
        Self::SystemCallFilter,
    ];

    /// Returns the name that people and logs see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserNamespace => "user namespace",
            Self::MountNamespace => "mount namespace",
            Self::PidNamespace => "pid namespace",
            Self::IpcNamespace => "ipc namespace",
            Self::UtsNamespace => "uts namespace",
            Self::CgroupNamespace => "cgroup namespace",
            Self::NetworkNamespace => "network namespace",
            Self::Loopback => "loopback",
            Self::Tree => "tree",
            Self::Overlay => "overlay",
            Self::IdMappedMount => "idmapped mount",
            Self::PivotRoot => "pivot_root",
            Self::Proc => "proc",
            Self::Devices => "devices",
            Self::NamespaceCounts => "namespace counts",
            Self::Capabilities => "capabilities",
            Self::Limits => "limits",
            Self::ControlGroup => "control group",
            Self::Session => "session",
            Self::Descriptors => "descriptors",
            Self::NoNewPrivileges => "no_new_privs",
            Self::Landlock => "landlock",
            Self::SystemCallFilter => "seccomp",
        }
    }

    /// Returns the layer that a report names by number.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no driver here yet"))]
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| *layer as u8 == number)
    }
}

impl std::fmt::Display for Layer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A layer that holds, with what the kernel answered when it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// The layer.
    pub layer: Layer,
    /// What was read back, in a few words: `ABI 7`, `CapEff 0`, `1000 1000 1`.
    pub proof: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_tell_layers_apart() {
        let mut names: Vec<_> = Layer::ALL.iter().map(|layer| layer.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Layer::ALL.len());
        for layer in Layer::ALL {
            assert_eq!(Layer::from_number(layer as u8), Some(layer));
        }
    }
}
