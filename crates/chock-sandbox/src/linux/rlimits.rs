//! The limits of a call's processes.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::fail::Fail;
use crate::{Applied, Layer, Limits};

/// Locked memory of a process, as most distributions set it.
const LOCKED_BYTES: u64 = 8 << 20;

/// The stack that a program starts with, as the kernel's own default.
const STACK_BYTES: u64 = 8 << 20;

/// Sets the limits and reads each back.
pub(super) fn apply(limits: &Limits) -> Result<Applied, Fail> {
    let wanted = [
        // One byte, not none: with none a handler on the machine would still be fed.
        (Resource::Core, 1),
        (Resource::Data, limits.data_bytes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Nproc, limits.processes),
        (Resource::Memlock, LOCKED_BYTES),
        (Resource::Rtprio, 0),
        (Resource::Nice, 0),
    ];
    let mut strongest = limits.processes;
    for (resource, value) in wanted {
        let hard = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let value = value.min(hard);
        set(resource, Rlimit { current: Some(value), maximum: Some(value) })?;
        if matches!(resource, Resource::Nproc) {
            strongest = value;
        }
    }
    let hard = getrlimit(Resource::Stack).maximum;
    let soft = STACK_BYTES.min(hard.unwrap_or(u64::MAX));
    set(Resource::Stack, Rlimit { current: Some(soft), maximum: hard })?;
    let proof = format!(
        "{strongest} processes, {} open files, {} MiB data",
        limits.open_files,
        limits.data_bytes >> 20
    );
    Ok(Applied { layer: Layer::Limits, proof })
}

fn set(resource: Resource, limit: Rlimit) -> Result<(), Fail> {
    let step = format!("limit {resource:?}");
    setrlimit(resource, limit).map_err(Fail::at(Layer::Limits, &step))?;
    let read = getrlimit(resource);
    if read != limit {
        return Err(Fail::at(Layer::Limits, &step)(rustix::io::Errno::PROTO));
    }
    Ok(())
}

/// Lets this process have as many descriptors as it may: a tree of many mounts is held open.
pub(super) fn raise_descriptors() {
    let hard = getrlimit(Resource::Nofile).maximum;
    // A refusal shows later, as a mount that cannot be detached.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard });
}
