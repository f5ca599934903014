//! Reads back from the kernel what was applied.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::fail::Fail;
use super::tree::unescape;
use crate::{Access, Applied, Layer};

/// The namespaces of a process, by the kernel's numbers for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Namespaces([u64; 7]);

/// Their names under `/proc/self/ns`, and the layers they are.
const NAMESPACES: [(&str, Layer); 7] = [
    ("user", Layer::UserNamespace),
    ("mnt", Layer::MountNamespace),
    ("pid", Layer::PidNamespace),
    ("ipc", Layer::IpcNamespace),
    ("uts", Layer::UtsNamespace),
    ("cgroup", Layer::CgroupNamespace),
    ("net", Layer::NetworkNamespace),
];

impl Namespaces {
    /// Asks for the namespaces of this process.
    pub(super) fn of_self() -> Result<Self, Fail> {
        let mut numbers = [0; 7];
        for (number, (name, layer)) in numbers.iter_mut().zip(NAMESPACES) {
            let status = rustix::fs::stat(format!("/proc/self/ns/{name}"))
                .map_err(Fail::at(layer, "look at the namespace"))?;
            *number = status.st_ino;
        }
        Ok(Self(numbers))
    }

    /// Proves that these `layers` are another's than `outer`'s.
    pub(super) fn prove_apart(&self, outer: &Self, layers: &[Layer]) -> Result<Vec<Applied>, Fail> {
        let mut proven = Vec::with_capacity(layers.len());
        for ((own, outer), (_, layer)) in self.0.iter().zip(outer.0).zip(NAMESPACES) {
            if !layers.contains(&layer) {
                continue;
            }
            if *own == outer {
                return Err(Fail::at(layer, "find a namespace of its own")(Errno::PROTO));
            }
            proven.push(Applied { layer, proof: format!("{own}, outside {outer}") });
        }
        Ok(proven)
    }
}

/// What `/proc/self/status` says of a confined process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) no_new_privileges: bool,
    pub(super) filter_mode: u32,
    pub(super) filters: u32,
    /// Every capability set was there and empty.
    pub(super) no_capabilities: bool,
}

impl Status {
    pub(super) fn of_self() -> Result<Self, Errno> {
        let text = std::fs::read_to_string("/proc/self/status")
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
        let number = |name| value(name).and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        let sets = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];
        Self {
            no_new_privileges: number("NoNewPrivs") == 1,
            filter_mode: number("Seccomp"),
            filters: number("Seccomp_filters"),
            no_capabilities: sets
                .into_iter()
                .all(|set| value(set).is_some_and(|mask| mask.bytes().all(|digit| digit == b'0'))),
        }
    }
}

/// Proves that the tree holds what was put there and nothing else, read only where it must be.
pub(super) fn tree(placed: &BTreeMap<PathBuf, Access>) -> Result<Applied, Fail> {
    let at = |step| Fail::at(Layer::Tree, step);
    let text = std::fs::read("/proc/self/mountinfo").map_err(|error| {
        at("read the mounts back")(Errno::from_io_error(&error).unwrap_or(Errno::IO))
    })?;
    let mut seen: BTreeMap<PathBuf, bool> = BTreeMap::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut words = line.split(|byte| *byte == b' ').skip(4);
        let (Some(point), Some(options)) = (words.next(), words.next()) else {
            return Err(at("read the mounts back")(Errno::PROTO));
        };
        // A later line covers an earlier one at the same place.
        seen.insert(unescape(point), options.split(|byte| *byte == b',').any(|word| word == b"ro"));
    }
    for (point, access) in placed {
        let read_only = seen.get(point).copied();
        if read_only.is_none() || (*access == Access::ReadOnly && read_only != Some(true)) {
            let step = format!("find `{}` as it was mounted", point.display());
            return Err(at(&step)(Errno::PROTO));
        }
    }
    for (point, read_only) in &seen {
        if !placed.contains_key(point) && !came_along(point, *read_only, placed) {
            let step = format!("find nothing at `{}`", point.display());
            return Err(at(&step)(Errno::PROTO));
        }
    }
    let read_only = seen.values().filter(|read_only| **read_only).count();
    let proof = format!("{} mounts, {read_only} read only", seen.len());
    Ok(Applied { layer: Layer::Tree, proof })
}

/// Says whether a mount came along with a bind above it, under the same promise.
fn came_along(point: &Path, read_only: bool, placed: &BTreeMap<PathBuf, Access>) -> bool {
    let above = point.ancestors().skip(1).find_map(|above| placed.get_key_value(above));
    above.is_some_and(|(above, access)| {
        above != Path::new("/") && (*access == Access::ReadWrite || read_only)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_with_one_capability_or_a_missing_line_is_not_bare() {
        let bare = "CapInh:\t0\nCapPrm:\t00\nCapEff:\t0\nCapBnd:\t0\nCapAmb:\t0\n\
                    NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n";
        let status = Status::parse(bare);
        assert!(status.no_capabilities && status.no_new_privileges);
        assert_eq!((status.filter_mode, status.filters), (2, 1));
        assert!(!Status::parse(&bare.replace("CapBnd:\t0", "CapBnd:\t8")).no_capabilities);
        assert!(!Status::parse(&bare.replace("CapAmb:\t0\n", "")).no_capabilities);
        assert!(!Status::parse("").no_new_privileges);
    }
}
