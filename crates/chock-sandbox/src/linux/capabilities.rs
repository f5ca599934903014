//! Empties every capability set of a process and locks them so.

use rustix::io::Errno;
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use super::fail::Fail;
use super::sys;
use crate::Layer;

/// More capabilities than any kernel knows: the mask has 64 bits.
const CAPABILITIES_MAX: u64 = 64;

/// Gives up every capability for good, the process's own and those of programs it starts.
pub(super) fn give_up() -> Result<(), Fail> {
    let at = |step| Fail::at(Layer::Capabilities, step);
    rustix::thread::clear_ambient_capability_set().map_err(at("empty the ambient set"))?;
    for capability in 0..CAPABILITIES_MAX {
        match sys::drop_bounding(capability) {
            Ok(()) => {}
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(at("empty the bounding set")(errno)),
        }
    }
    rustix::thread::set_capabilities_secure_bits(locked()).map_err(at("lock the sets"))?;
    let empty = CapabilitySet::empty();
    let none = CapabilitySets { effective: empty, permitted: empty, inheritable: empty };
    rustix::thread::set_capabilities(None, none).map_err(at("empty the sets"))?;
    let bits = rustix::thread::capabilities_secure_bits().map_err(at("read the lock back"))?;
    if bits != locked() {
        return Err(at("read the lock back")(Errno::PROTO));
    }
    Ok(())
}

/// Root is nobody, ids give nothing, and none of it can be undone.
fn locked() -> CapabilitiesSecureBits {
    CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED
}
