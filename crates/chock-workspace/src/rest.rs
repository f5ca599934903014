//! Makes a commit of what a session left uncommitted, over the session's own last one.
//!
//! It is made of a snapshot, which the host took, and never of what git inside would add.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, ObjectType, Oid, Repository};
use rustix::io::Errno;

use crate::commit_text::CommitText;
use crate::dock::{self, Dock, Landing};
use crate::keep::{self, DIRECTORY, FILE, LINK, SUBMODULE};
use crate::upper::{self, Found, Marks};
use crate::{
    Carriage, ChangeKind, ChangeSet, Choice, FileChange, Halves, HandBackFault, Layout, Named,
    Project, Refused, TreeId, compare, image, merge, pick, stand,
};

/// What a session left uncommitted.
#[derive(Debug, Clone, Copy)]
pub struct Rest<'a> {
    /// The session's last commit, in 40 hexadecimal digits. The dock has it.
    pub parent: Option<&'a str>,
    /// The working tree as it is now.
    pub snapshot: TreeId,
    /// Where the working tree is.
    pub layout: &'a Layout,
    /// Paths that a person declined, as records spell them.
    pub declined: &'a BTreeSet<String>,
    /// The commit's message.
    pub message: &'a str,
}

/// What became of it.
#[derive(Debug)]
pub struct Rested {
    /// The commit's id. `None` where nothing is left for one.
    pub commit: Option<String>,
    /// The commit, and what leads to it from where the session started, in a pack.
    pub pack: Vec<u8>,
    /// What is not in the commit, and why.
    pub left_out: Vec<Refused>,
    /// Whether git knows no name of the person's, so that the author is Chock.
    pub is_nobody_s: bool,
}

/// What leads from a session's last commit to its working tree, and what of it is committed.
struct Sorted {
    changes: ChangeSet,
    choice: Choice,
    left_out: Vec<Refused>,
}

type Git2<T> = Result<T, git2::Error>;

impl Dock {
    /// Takes a pack in that was checked.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn take_in(&self, project: &Project, pack: &[u8]) -> Result<(), HandBackFault> {
        self.git(project, &["index-pack", "--strict", "--stdin"], pack).map(drop)
    }

    /// Counts the files that a commit of the rest would have in it.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn count_rest(
        &self,
        project: &Project,
        rest: &Rest<'_>,
        named: &Named,
    ) -> Result<usize, HandBackFault> {
        let sorted = self.sort(project, rest, named)?;
        Ok(sorted.choice.paths().count())
    }

    /// Makes the commit, with the person as its author, and a pack of it with what leads to it
    /// from `start`.
    ///
    /// What needs an accept of its own and was not `named`, what is never carried and what was
    /// declined stays out.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`]; nothing but the dock was written.
    pub fn commit_rest(
        &self,
        project: &Project,
        (rest, start): (&Rest<'_>, Option<&str>),
        wish: &Landing<'_>,
    ) -> Result<Rested, HandBackFault> {
        let Sorted { changes, choice, left_out } = self.sort(project, rest, wish.named)?;
        let is_nobody_s = !stand::is_known(project);
        let nothing = Rested { commit: None, pack: Vec::new(), left_out, is_nobody_s };
        let repository = self.repository()?;
        let picked = pick::pick(&repository, &changes, &choice)
            .map_err(|source| HandBackFault::Pick { source })?;
        if picked.tree == changes.base {
            return Ok(nothing);
        }
        let me = dock::signature(project, wish);
        let text = CommitText {
            tree: picked.tree.to_string(),
            parents: rest.parent.map(str::to_owned).into_iter().collect(),
            author: me.clone(),
            committer: me,
            encoding: None,
            message: format!("{}\n", rest.message.trim()).into_bytes(),
        };
        let written = repository.odb().and_then(|odb| odb.write(ObjectType::Commit, &text.bytes()));
        let commit = written.map_err(objects)?.to_string();
        let not = start.map(|start| format!("^{start}\n")).unwrap_or_default();
        let pack = self.pack_of(project, &format!("{commit}\n{not}"))?;
        Ok(Rested { commit: Some(commit), pack, ..nothing })
    }

    fn sort(
        &self,
        project: &Project,
        rest: &Rest<'_>,
        named: &Named,
    ) -> Result<Sorted, HandBackFault> {
        let repository = self.repository()?;
        let base = dock::tree_of(&repository, rest.parent).map_err(objects)?;
        let tree = with_what_is_there(&repository, base, rest).map_err(objects)?;
        let mut changes = compare::trees(&repository, base, tree).map_err(objects)?;
        changes.flag_hooks(project);
        let (mut choice, mut left_out) = (Choice::default(), Vec::new());
        for file in &changes.files {
            if is_same_but_for_line_ends(&repository, file).map_err(objects)? {
                continue;
            }
            match why_not(file, rest, named) {
                None => choice.take_file(&file.path),
                Some(reason) => {
                    let path = file.path.clone();
                    left_out.push(Refused { path, reason, conflict: None });
                }
            }
        }
        Ok(Sorted { changes, choice, left_out })
    }
}

/// Why a change stays out of the commit.
fn why_not(file: &FileChange, rest: &Rest<'_>, named: &Named) -> Option<String> {
    let carriage = file.carriage();
    let flag = file.flags.iter().max_by_key(|flag| flag.carriage());
    let words = flag.map_or("", |flag| flag.words());
    if carriage == Carriage::Refused {
        return Some(format!("{words}; it is never carried"));
    }
    if named.contains(&file.path) {
        return None;
    }
    if carriage == Carriage::Flagged {
        return Some(format!("{words}; --accept it by its name"));
    }
    let paths = [Some(&file.path), file.old_path.as_ref()].into_iter().flatten();
    let mut spelled = paths.map(|path| String::from_utf8_lossy(path));
    let is_declined = spelled.any(|path| rest.declined.contains(path.as_ref()));
    is_declined.then(|| "you declined it in a review; --accept it by its name".to_owned())
}

/// The snapshot with what the last commit has and a snapshot leaves out although it is there: what
/// git ignores, and what a snapshot skips. It would look as if it were deleted.
fn with_what_is_there(repository: &Repository, base: TreeId, rest: &Rest<'_>) -> Git2<TreeId> {
    let (old, new) = (repository.find_tree(base.0)?, repository.find_tree(rest.snapshot.0)?);
    let mut update = TreeUpdateBuilder::new();
    let mut is_whole = true;
    for path in compare::paths(repository, &old, &new)? {
        let place = Path::new(OsStr::from_bytes(&path));
        let (Ok(entry), Err(_)) = (old.get_path(place), new.get_path(place)) else { continue };
        let mode = keep::file_mode(u32::try_from(entry.filemode()).unwrap_or(FILE));
        if is_there(rest.layout, &path, mode) {
            update.upsert(place, entry.id(), mode);
            is_whole = false;
        }
    }
    if is_whole {
        return Ok(rest.snapshot);
    }
    update.create_updated(repository, &new).map(TreeId)
}

/// Whether the working tree has something of this kind at `path`. What cannot be looked at counts
/// as being there.
fn is_there(layout: &Layout, path: &[u8], mode: FileMode) -> bool {
    let (top, marks) = match &layout.halves {
        Halves::Overlay { upper, .. } => (upper, Marks::Overlay),
        Halves::Copy { root } => (root, Marks::None),
    };
    let found = upper::open_top(top)
        .and_then(|top| image::open_parent(top.as_fd(), path))
        .and_then(|(parent, name)| upper::look(parent.as_fd(), &name, marks));
    match found {
        Ok(Found::Directory) => mode == FileMode::Commit,
        Ok(Found::Whiteout) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => false,
        Ok(Found::File { .. } | Found::Link | Found::Special) => mode != FileMode::Commit,
        Err(_) => true,
    }
}

/// Whether git inside may have taken the file for unchanged: by its attributes it may read a line's
/// end as another.
fn is_same_but_for_line_ends(repository: &Repository, file: &FileChange) -> Git2<bool> {
    let is_text = |mode: u32| ![0, LINK, SUBMODULE, DIRECTORY].contains(&mode);
    if file.kind != ChangeKind::Modified
        || file.binary
        || file.old_mode != file.new_mode
        || !is_text(file.old_mode)
    {
        return Ok(false);
    }
    let blob = |id: &str| repository.find_blob(Oid::from_str(id)?);
    let (old, new) = (blob(&file.old_id)?, blob(&file.new_id)?);
    Ok(merge::without_cr(old.content()) == merge::without_cr(new.content()))
}

fn objects(source: git2::Error) -> HandBackFault {
    HandBackFault::Objects { source }
}
