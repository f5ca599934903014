//! Finds what of a fork's work the project has already, taken from the session that it hangs from.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::build::TreeUpdateBuilder;
use git2::{ObjectType, Oid, Repository, Tree};

use crate::keep::{FILE, Keep, PROGRAM, SUBMODULE, file_mode};
use crate::merge::{self, Merged};
use crate::{Store, StoreFault, TreeId, compare};

/// What a path is in a tree: its mode and its object.
type Entry = Option<(u32, Oid)>;

impl Store {
    /// The tree that a review of a fork goes out from: `start`, where both began, with what of
    /// `taken` the fork's `snapshot` has as well. `other` is the store that has `taken`.
    ///
    /// # Errors
    ///
    /// [`StoreFault`] when one of the trees is not there.
    pub fn shared_with(
        &self,
        (start, snapshot): (TreeId, TreeId),
        (other, taken): (&Self, TreeId),
    ) -> Result<TreeId, StoreFault> {
        let (own, theirs) = (self.repository()?, other.repository()?);
        shared(&own, &theirs, (start, taken, snapshot)).map_err(|source| StoreFault::Compare {
            base: start,
            snapshot,
            source,
        })
    }
}

fn shared(
    own: &Repository,
    theirs: &Repository,
    (start, taken, snapshot): (TreeId, TreeId, TreeId),
) -> Result<TreeId, git2::Error> {
    let (old, new) = (own.find_tree(start.0)?, own.find_tree(snapshot.0)?);
    let taken = theirs.find_tree(taken.0)?;
    let mut update = TreeUpdateBuilder::new();
    for path in compare::paths(theirs, &theirs.find_tree(start.0)?, &taken)? {
        let place = Path::new(OsStr::from_bytes(&path));
        let [before, there, here] = [&old, &taken, &new].map(|tree| entry(tree, place));
        if here == before {
            continue;
        }
        match base_of(own, theirs, [before, there, here])? {
            Some((mode, id)) => {
                update.upsert(place, id, file_mode(mode));
            }
            None if before.is_some() => {
                update.remove(place);
            }
            None => {}
        }
    }
    update.create_updated(own, &old).map(TreeId)
}

/// What a review of a path goes out from, where both sessions changed it.
fn base_of(
    own: &Repository,
    theirs: &Repository,
    [before, there, here]: [Entry; 3],
) -> Result<Entry, git2::Error> {
    let Some((mode, id)) = there else { return Ok(None) };
    if here == there || mode == SUBMODULE {
        return keep(own, theirs, (mode, id)).map(Some);
    }
    let is_text = |entry: Entry| entry.filter(|(mode, _)| [FILE, PROGRAM].contains(mode));
    let (Some(before), Some(_), Some(here)) = (is_text(before), is_text(there), is_text(here))
    else {
        return keep(own, theirs, (mode, id)).map(Some);
    };
    let read = |from: &Repository, id| from.find_blob(id).map(|blob| blob.content().to_vec());
    let (old, taken, new) = (read(own, before.1)?, read(theirs, id)?, read(own, here.1)?);
    let mode = if here.0 == mode { mode } else { before.0 };
    // With every change of both, less what only one of them has: what both have.
    let both = match merge::texts(&old, &taken, &new)? {
        Merged::Whole(all) => merge::texts(&all, &taken, &new)?,
        unmerged @ (Merged::Conflict(_) | Merged::Binary) => unmerged,
    };
    match both {
        Merged::Whole(text) => write(own, &text).map(|id| Some((mode, id))),
        // Where they part in the same lines, the change is from what the project has.
        Merged::Conflict(_) | Merged::Binary => write(own, &taken).map(|id| Some((mode, id))),
    }
}

/// Has an object of the other store in this one.
fn keep(
    own: &Repository,
    theirs: &Repository,
    (mode, id): (u32, Oid),
) -> Result<(u32, Oid), git2::Error> {
    if mode != SUBMODULE {
        write(own, theirs.find_blob(id)?.content())?;
    }
    Ok((mode, id))
}

fn write(own: &Repository, text: &[u8]) -> Result<Oid, git2::Error> {
    let kept = Keep::new(own)?.bytes(ObjectType::Blob, text);
    kept.map_err(|fault| git2::Error::from_str(&fault.to_string()))
}

fn entry(tree: &Tree<'_>, path: &Path) -> Entry {
    let entry = tree.get_path(path).ok()?;
    (entry.kind() != Some(ObjectType::Tree))
        .then(|| (u32::try_from(entry.filemode()).unwrap_or(FILE), entry.id()))
}
