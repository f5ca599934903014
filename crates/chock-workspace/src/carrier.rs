//! Moves the files of one hand-back into the project, or all of them out again.
//!
//! New files wait in a directory at the project's top. Each is exchanged with what stands at
//! its path in one step of the kernel's, and what came out is looked at: when it is not what
//! was expected, somebody wrote meanwhile, and everything goes back. What came out stays in
//! the waiting directory until all is done, so that a roll-back puts the very same files back.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;

use crate::image::{Image, ImageKind, There, ancestors, look, look_in, open_parent, split};
use crate::shelf::Journal;
use crate::step::{FLUSHED_ALONE_MAX, Folder, Move, Side, Step};
use crate::{HandBackFault, host};

/// How long what came out is left alone before it is looked at for the last time: longer than
/// a program takes between opening a file and writing it.
const GRACE: Duration = Duration::from_millis(30);

/// The mark that every new file is waiting.
const READY: &str = "ready";

/// Why a path stops the whole hand-back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stopped {
    pub(crate) path: Vec<u8>,
    pub(crate) why: String,
}

/// One hand-back on its way.
pub(crate) struct Carrier<'a> {
    top: OwnedFd,
    steps: &'a Path,
    step: &'a Step,
    to: Side,
    skip: BTreeSet<usize>,
    stage_name: String,
    stage: Option<OwnedFd>,
    /// Moves of which what came out may be the only copy.
    held: BTreeSet<usize>,
}

type Done<T> = Result<T, Errno>;

impl<'a> Carrier<'a> {
    /// Takes up what `journal` names. The waiting directory need not be there.
    pub(crate) fn open(
        root: &Path,
        steps: &'a Path,
        step: &'a Step,
        journal: &Journal,
    ) -> Result<Self, HandBackFault> {
        let top = host::open_root(root).map_err(|source| HandBackFault::Place { source })?;
        let stage = host::open_below(top.as_fd(), Path::new(&journal.stage)).ok();
        let (to, stage_name) = (journal.direction.side(), journal.stage.clone());
        let skip = journal.skip.clone();
        Ok(Self { top, steps, step, to, skip, stage_name, stage, held: BTreeSet::new() })
    }

    /// Puts every file in its place. On the first that cannot be, the caller rolls back.
    pub(crate) fn carry(&mut self, instant: &mut dyn FnMut()) -> Result<(), Stopped> {
        self.wait_for(instant)?;
        for (index, change) in self.moves() {
            if change.image(self.to).is_none() {
                instant();
                self.take_out(index, change).map_err(|why| stop(change, why))?;
            }
        }
        instant();
        self.remove_folders(self.leaving());
        for (index, change) in self.moves() {
            if change.image(self.to).is_some() {
                instant();
                self.put_in(index, change).map_err(|why| stop(change, why))?;
            }
        }
        instant();
        std::thread::sleep(GRACE);
        for (index, change) in self.moves() {
            let Some(expected) = change.image(self.to.other()) else { continue };
            if self.waiting(index).image() != Some(expected) {
                return Err(stop(change, CHANGED.to_owned()));
            }
        }
        self.flush_folders();
        Ok(())
    }

    /// Writes every new file into the waiting directory.
    fn wait_for(&mut self, instant: &mut dyn FnMut()) -> Result<(), Stopped> {
        let at_top = |errno: Errno| Stopped {
            path: self.stage_name.clone().into_bytes(),
            why: format!("cannot write here: {}", says(errno)),
        };
        instant();
        rustix::fs::mkdirat(&self.top, self.stage_name.as_str(), Mode::RWXU).map_err(at_top)?;
        let stage = host::open_below(self.top.as_fd(), Path::new(&self.stage_name));
        self.stage = Some(stage.map_err(at_top)?);
        self.write_waiting(".gitignore", b"*\n", 0o600).map_err(at_top)?;
        let few = self.moves().count() <= FLUSHED_ALONE_MAX;
        for (index, change) in self.moves() {
            let Some(image) = change.image(self.to) else { continue };
            instant();
            let kept = Step::content(self.steps, self.step.number, self.to, index);
            let content = fs::read(kept).map_err(|fault| stop(change, fault.to_string()))?;
            let file = self.wait_one(index, change, image, &content);
            let file = file.map_err(|errno| stop(change, says(errno)))?;
            if let Some(file) = file.filter(|_| few) {
                file.sync_all().map_err(|fault| stop(change, fault.to_string()))?;
            }
        }
        if !few && let Some(stage) = &self.stage {
            rustix::fs::syncfs(stage).map_err(at_top)?;
        }
        instant();
        self.write_waiting(READY, b"", 0o600).map(drop).map_err(at_top)
    }

    fn wait_one(
        &self,
        index: usize,
        change: &Move,
        image: &Image,
        content: &[u8],
    ) -> Done<Option<File>> {
        let name = index.to_string();
        if image.kind == ImageKind::Link {
            let target = CString::new(content).map_err(|_| Errno::INVAL)?;
            let stage = self.stage.as_ref().ok_or(Errno::NOENT)?;
            rustix::fs::symlinkat(&target, stage, name.as_str())?;
            self.give(change, &name)?;
            return Ok(None);
        }
        let file = self.write_waiting(&name, content, image.mode)?;
        self.give(change, &name)?;
        let mode = fs::Permissions::from_mode(image.mode);
        file.set_permissions(mode).map_err(|fault| errno_of(&fault))?;
        Ok(Some(file))
    }

    fn write_waiting(&self, name: &str, content: &[u8], mode: u32) -> Done<File> {
        let stage = self.stage.as_ref().ok_or(Errno::NOENT)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode | 0o600);
        let file = rustix::fs::openat(stage, name, flags | OFlags::NOFOLLOW, mode)?;
        let mut file = File::from(file);
        file.write_all(content).map_err(|fault| errno_of(&fault))?;
        Ok(file)
    }

    /// As root, gives a new file to whom the old one or the project belongs.
    fn give(&self, change: &Move, name: &str) -> Done<()> {
        let stage = self.stage.as_ref().ok_or(Errno::NOENT)?;
        let old = open_parent(self.top.as_fd(), &change.path).and_then(|(parent, name)| {
            rustix::fs::statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW)
        });
        self.give_like(old.ok(), stage, name)
    }

    /// As root, gives `name` to the owner of `like`, or to the project's.
    fn give_like(&self, like: Option<Stat>, parent: impl AsFd, name: &str) -> Done<()> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let like = like.map_or_else(|| rustix::fs::fstat(&self.top), Ok)?;
        let (user, group) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
        rustix::fs::chownat(parent, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Moves what is to go aside, and looks at it.
    fn take_out(&self, index: usize, change: &Move) -> Result<(), String> {
        let stage = self.stage.as_ref().ok_or("its place is gone")?;
        let (parent, name) = open_parent(self.top.as_fd(), &change.path).map_err(gone)?;
        let waiting = index.to_string();
        rustix::fs::renameat_with(&parent, &name, stage, &waiting, RenameFlags::NOREPLACE)
            .map_err(gone)?;
        match self.waiting(index).image() == change.image(self.to.other()) {
            true => Ok(()),
            false => Err(CHANGED.to_owned()),
        }
    }

    /// Exchanges a waiting file with what it replaces, or puts it where nothing is.
    fn put_in(&self, index: usize, change: &Move) -> Result<(), String> {
        let stage = self.stage.as_ref().ok_or("its place is gone")?;
        let expected = change.image(self.to.other());
        if expected.is_none() {
            self.make_folders(&change.path).map_err(says)?;
        }
        let (parent, name) = open_parent(self.top.as_fd(), &change.path).map_err(gone)?;
        let flags = if expected.is_some() { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        let waiting = index.to_string();
        rustix::fs::renameat_with(stage, &waiting, &parent, &name, flags).map_err(gone)?;
        match expected.is_none() || self.waiting(index).image() == expected {
            true => Ok(()),
            false => Err(CHANGED.to_owned()),
        }
    }

    /// Puts everything back as it was. What somebody wrote meanwhile stays where they wrote it.
    ///
    /// Returns the paths that are not as before since somebody wrote them.
    pub(crate) fn roll_back(&mut self) -> Vec<Vec<u8>> {
        let mut others = Vec::new();
        if self.stage.is_none() || self.look_waiting(READY) == There::Nothing {
            return others;
        }
        for (index, change) in self.moves().rev() {
            let back = match (change.image(self.to.other()), change.image(self.to)) {
                (Some(_), Some(new)) => self.change_back(index, change, new),
                (None, Some(new)) => self.take_back(index, change, new),
                (Some(_), None) | (None, None) => Ok(true),
            };
            if back != Ok(true) {
                self.held.insert(index);
                others.push(change.path.clone());
            }
        }
        self.remove_folders(self.coming());
        for (index, change) in self.moves().rev() {
            if change.image(self.to).is_none() && self.bring_back(index, change) != Ok(true) {
                self.held.insert(index);
                others.push(change.path.clone());
            }
        }
        others
    }

    /// Undoes an exchange, when there was one. False when the path is somebody else's now.
    fn change_back(&self, index: usize, change: &Move, new: &Image) -> Done<bool> {
        let waiting = self.waiting(index);
        if waiting.image() == Some(new) || waiting == There::Nothing {
            return Ok(true);
        }
        if look(self.top.as_fd(), &change.path)?.image() != Some(new) {
            return Ok(false);
        }
        let stage = self.stage.as_ref().ok_or(Errno::NOENT)?;
        let (parent, name) = open_parent(self.top.as_fd(), &change.path)?;
        let exchange = || {
            let waiting = index.to_string();
            rustix::fs::renameat_with(stage, &waiting, &parent, &name, RenameFlags::EXCHANGE)
        };
        exchange()?;
        if self.waiting(index).image() == Some(new) {
            return Ok(true);
        }
        // Saved in this very moment: the newest stays at its place.
        exchange()?;
        Ok(false)
    }

    /// Takes a new file out again, when it was put in.
    fn take_back(&self, index: usize, change: &Move, new: &Image) -> Done<bool> {
        if self.waiting(index) != There::Nothing {
            return Ok(true);
        }
        match look(self.top.as_fd(), &change.path)? {
            There::Thing(image, _) if image == *new => {}
            There::Nothing => return Ok(true),
            There::Thing(..) | There::Directory | There::Other | There::Blocked => {
                return Ok(false);
            }
        }
        let stage = self.stage.as_ref().ok_or(Errno::NOENT)?;
        let (parent, name) = open_parent(self.top.as_fd(), &change.path)?;
        let (waiting, flags) = (index.to_string(), RenameFlags::NOREPLACE);
        rustix::fs::renameat_with(&parent, &name, stage, &waiting, flags)?;
        if self.waiting(index).image() == Some(new) {
            return Ok(true);
        }
        rustix::fs::renameat_with(stage, &waiting, &parent, &name, flags)?;
        Ok(false)
    }

    /// Brings what was moved aside back to its place.
    fn bring_back(&self, index: usize, change: &Move) -> Done<bool> {
        if self.waiting(index) == There::Nothing {
            return Ok(true);
        }
        self.make_folders(&change.path)?;
        let stage = self.stage.as_ref().ok_or(Errno::NOENT)?;
        let (parent, name) = open_parent(self.top.as_fd(), &change.path)?;
        let waiting = index.to_string();
        rustix::fs::renameat_with(stage, &waiting, &parent, &name, RenameFlags::NOREPLACE)?;
        Ok(true)
    }

    /// Removes what waits or came out, and the waiting directory. What may be the only copy
    /// of something is moved to `shelf`, and named.
    pub(crate) fn clean(&mut self, shelf: &Path) -> Vec<PathBuf> {
        let Some(stage) = &self.stage else { return Vec::new() };
        let unlink = |name: &str| rustix::fs::unlinkat(stage, name, AtFlags::empty());
        let is_unfinished = self.look_waiting(READY) == There::Nothing;
        let mut kept = Vec::new();
        for (index, change) in self.moves() {
            let There::Thing(image, content) = self.waiting(index) else { continue };
            let is_ours = change.image(self.to) == Some(&image) || is_unfinished;
            let was_there = change.image(self.to.other()) == Some(&image);
            if !is_ours && (!was_there || self.held.contains(&index)) {
                let place = shelf.join(format!("kept{}-{index}", self.stage_name));
                let written = fs::write(&place, content);
                match written.and_then(|()| File::open(&place)?.sync_all()) {
                    Ok(()) => kept.push(place),
                    Err(_) => {
                        kept.push(Path::new(&self.stage_name).join(index.to_string()));
                        continue;
                    }
                }
            }
            let _gone = unlink(&index.to_string());
        }
        for name in [READY, ".gitignore"] {
            let _gone = unlink(name);
        }
        // What could not be moved, or somebody else put there, stays.
        let _gone = rustix::fs::unlinkat(&self.top, self.stage_name.as_str(), AtFlags::REMOVEDIR);
        kept
    }

    /// Whether any file moves.
    pub(crate) fn has_moves(&self) -> bool {
        self.moves().next().is_some()
    }

    /// What is to be done, each with its index in the step.
    fn moves(&self) -> impl DoubleEndedIterator<Item = (usize, &'a Move)> + use<'a> {
        let skip = self.skip.clone();
        let moves: &'a [Move] = &self.step.moves;
        moves.iter().enumerate().filter(move |(index, _)| !skip.contains(index))
    }

    fn waiting(&self, index: usize) -> There {
        self.look_waiting(&index.to_string())
    }

    fn look_waiting(&self, name: &str) -> There {
        let Some(stage) = &self.stage else { return There::Nothing };
        let name = CString::new(name).unwrap_or_default();
        look_in(stage.as_fd(), &name).unwrap_or(There::Other)
    }

    /// Directories that go with the files, when nothing else is in them.
    fn leaving(&self) -> &'a [Folder] {
        match self.to {
            Side::After => &self.step.removable,
            Side::Before => &self.step.made,
        }
    }

    fn coming(&self) -> &'a [Folder] {
        match self.to {
            Side::After => &self.step.made,
            Side::Before => &self.step.removable,
        }
    }

    fn remove_folders(&self, folders: &[Folder]) {
        for folder in folders {
            let Ok((parent, name)) = open_parent(self.top.as_fd(), &folder.path) else { continue };
            // One that is not empty stays, and is in the way of a file if it is.
            let _stays = rustix::fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR);
        }
    }

    /// Makes the directories above `path` that are missing.
    fn make_folders(&self, path: &[u8]) -> Done<()> {
        for folder in ancestors(path) {
            let (parent, name) = split(folder)?;
            let parent = Path::new(std::ffi::OsStr::from_bytes(parent));
            let parent = host::open_below(self.top.as_fd(), parent)?;
            match rustix::fs::mkdirat(&parent, &name, Mode::from_raw_mode(0o777)) {
                Ok(()) => self.settle_folder(folder, &parent, &name)?,
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Gives a directory that was there before the mode it had, and as root its owner.
    fn settle_folder(&self, path: &[u8], parent: &OwnedFd, name: &CString) -> Done<()> {
        let mut known = self.step.removable.iter().chain(&self.step.made);
        if let Some(folder) = known.find(|folder| folder.path == path && folder.mode != 0) {
            let mode = Mode::from_raw_mode(folder.mode);
            rustix::fs::chmodat(parent, name, mode, AtFlags::empty())?;
        }
        self.give_like(None, parent, &name.to_string_lossy())
    }

    /// Makes the new names last. A disk that does not is met again when it is read.
    fn flush_folders(&self) {
        let mut parents: Vec<&[u8]> = self
            .step
            .moves
            .iter()
            .map(|change| split(&change.path).map_or(&b""[..], |(parent, _)| parent))
            .collect();
        parents.dedup();
        if parents.len() > FLUSHED_ALONE_MAX {
            let _unflushed = rustix::fs::syncfs(&self.top);
            return;
        }
        for parent in parents {
            let path = Path::new(std::ffi::OsStr::from_bytes(parent));
            let _unflushed = host::open_below(self.top.as_fd(), path).and_then(rustix::fs::fsync);
        }
    }
}

/// Said of a path that somebody wrote at the same time.
pub(crate) const CHANGED: &str = "it changed while it was written";

fn stop(change: &Move, why: String) -> Stopped {
    Stopped { path: change.path.clone(), why }
}

fn gone(errno: Errno) -> String {
    match errno {
        Errno::NOENT | Errno::EXIST => CHANGED.to_owned(),
        Errno::XDEV => "it is on another file system than the project's top".to_owned(),
        Errno::LOOP => "a link is in its path".to_owned(),
        errno => says(errno),
    }
}

fn says(errno: Errno) -> String {
    std::io::Error::from(errno).to_string()
}

fn errno_of(fault: &std::io::Error) -> Errno {
    Errno::from_io_error(fault).unwrap_or(Errno::IO)
}
