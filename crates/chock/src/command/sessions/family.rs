//! Which sessions hang from which.

use std::collections::{BTreeMap, BTreeSet};

use chock_log::{ForkBody, Log, SessionId};

use crate::found::{Found, Listed};

/// Puts each fork below the session it hangs from, and says how deep it stands.
///
/// A fork whose parent is gone stands at the top.
pub(super) fn tree(all: Vec<Listed>) -> Vec<(usize, Listed)> {
    let here: BTreeSet<SessionId> = all.iter().map(|listed| listed.found.id).collect();
    let mut below: BTreeMap<Option<SessionId>, Vec<Listed>> = BTreeMap::new();
    for listed in all {
        // A name is made after its parent's, so that no log can make a ring.
        let parent = parent(listed.session.fork.as_ref())
            .filter(|parent| here.contains(parent) && *parent < listed.found.id);
        below.entry(parent).or_default().push(listed);
    }
    let mut drawn = Vec::new();
    let mut left: Vec<_> = below.remove(&None).unwrap_or_default().into_iter().rev().collect();
    let mut depths = vec![0; left.len()];
    while let (Some(listed), Some(depth)) = (left.pop(), depths.pop()) {
        for child in below.remove(&Some(listed.found.id)).unwrap_or_default().into_iter().rev() {
            left.push(child);
            depths.push(depth + 1);
        }
        drawn.push((depth, listed));
    }
    drawn
}

fn parent(fork: Option<&ForkBody>) -> Option<SessionId> {
    fork.and_then(|fork| fork.parent.parse().ok())
}

/// Lists the sessions that hang from `found` directly.
pub(super) fn forks(all: &[Found], found: &Found) -> Vec<SessionId> {
    let hangs = |other: &&Found| parent(Log::fork_of(&other.log).as_ref()) == Some(found.id);
    all.iter().filter(hangs).map(|other| other.id).collect()
}
