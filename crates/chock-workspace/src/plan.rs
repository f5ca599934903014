//! Says what a hand-back would do to the project, and what stands in its way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};
use rustix::fs::AtFlags;
use rustix::io::Errno;

use crate::branch::{GitMove, Mover};
use crate::carrier::Stopped;
use crate::carry::BARE;
use crate::image::{Image, ImageKind, There, ancestors, look, open_parent};
use crate::keep::{LINK, PROGRAM};
use crate::merge::{self, Merged};
use crate::step::{Folder, Move, Side, Step};
use crate::{
    Carriage, ChangeSet, Direction, Dock, Docked, FileChange, HandBack, HandBackFault, Picked,
    Project, Shelf, Store, TreeId, host, image, names, upper,
};

/// What a hand-back comes to before anybody approved it.
#[derive(Debug)]
#[must_use]
pub enum Planned {
    /// It can be done.
    Ready(Box<HandBack>),
    /// Something stands in its way, and so nothing of it is done.
    Refused(Vec<Refused>),
}

/// One path that stands in the way, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The path, relative to the project's top.
    pub path: Vec<u8>,
    /// Why, in a few words.
    pub reason: String,
    /// Where both changed the same lines: the text with both sides between marks.
    pub conflict: Option<Vec<u8>>,
}

/// What may be carried although it is flagged: the paths that were accepted by their name.
pub type Named = BTreeSet<Vec<u8>>;

/// What one path is in a tree: its mode and its object.
type Entry = (u32, Oid);

/// What becomes of one path, with the contents that have to be kept.
struct Wanted {
    before: Option<(Image, Vec<u8>)>,
    after: Option<(Image, Vec<u8>)>,
}

enum Answer {
    Settled,
    Wanted(Wanted),
    Refused(String, Option<Vec<u8>>),
}

impl Shelf {
    /// Plans to carry what was picked into the project, and keeps what that needs.
    ///
    /// Every path is compared with the base. What the person changed meanwhile is merged where
    /// it can be, or refused by its name. Flagged changes are refused unless they are `named`.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn plan(
        &mut self,
        project: &Project,
        (store, session): (&Store, &str),
        picked: &Picked,
        named: &Named,
    ) -> Result<Planned, HandBackFault> {
        let repository = store.repository().map_err(|fault| match fault {
            crate::StoreFault::Open { source, .. } | crate::StoreFault::Compare { source, .. } => {
                HandBackFault::Objects { source }
            }
            crate::StoreFault::Notes { source } | crate::StoreFault::Write { source } => {
                HandBackFault::files("read", project.root(), source)
            }
        })?;
        let top =
            host::open_root(project.root()).map_err(|source| HandBackFault::Place { source })?;
        let changes = &picked.changes;
        let sketch = Sketch { repository: &repository, top, root: project.root(), changes };
        let refused = sketch.not_carried(named);
        let trees = (picked.changes.base, picked.tree);
        let step = self.new_step(session, trees)?;
        self.fill(Some(sketch), step, refused)
    }

    /// Plans to carry commits: to the session's ref, and on to the branch where they land.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn plan_commits(
        &mut self,
        project: &Project,
        (dock, session): (&Dock, &str),
        docked: &Docked,
    ) -> Result<Planned, HandBackFault> {
        if !docked.refused.is_empty() {
            return Ok(Planned::Refused(docked.refused.clone()));
        }
        let repository = dock.repository()?;
        let mut step = self.new_step(session, docked.trees)?;
        let pack = GitMove::pack(&self.steps(), step.number);
        let written =
            fs::write(&pack, &docked.pack).and_then(|()| fs::File::open(&pack)?.sync_all());
        written.map_err(|source| HandBackFault::files("write", &pack, source))?;
        step.git = Some(docked.git.clone());
        let sketch = docked.landing.as_ref().map(|changes| {
            let top = host::open_root(project.root());
            let top = top.map_err(|source| HandBackFault::Place { source })?;
            Ok(Sketch { repository: &repository, top, root: project.root(), changes })
        });
        self.fill(sketch.transpose()?, step, Vec::new())
    }

    fn new_step(&self, session: &str, trees: (TreeId, TreeId)) -> Result<Step, HandBackFault> {
        let number = self.next_number()?;
        Step::make(&self.steps(), number)?;
        Ok(Step::new(number, session, trees))
    }

    /// Finds out what a step moves, and keeps what that needs.
    fn fill(
        &self,
        sketch: Option<Sketch<'_>>,
        mut step: Step,
        mut refused: Vec<Refused>,
    ) -> Result<Planned, HandBackFault> {
        let (steps, number) = (self.steps(), step.number);
        let mut settled = Vec::new();
        if let Some(sketch) = &sketch {
            let entries = entries(&sketch.changes.files)
                .map_err(|source| HandBackFault::Objects { source })?;
            for (path, (base, chosen)) in &entries {
                match sketch.path(path, *base, *chosen, &entries)? {
                    Answer::Settled => settled.push(path.clone()),
                    Answer::Refused(reason, conflict) => {
                        refused.push(Refused { path: path.clone(), reason, conflict });
                    }
                    Answer::Wanted(wanted) => keep(&steps, &mut step, path, wanted)?,
                }
            }
        }
        if refused.is_empty() {
            if let Some(sketch) = &sketch {
                sketch.folders(&mut step)?;
            }
            step.flush(&steps)?;
            step.write(&steps)?;
            let stage = self.stage_name(number, &step);
            let (direction, skip) = (Direction::Apply, BTreeSet::new());
            return Ok(Planned::Ready(Box::new(HandBack {
                direction,
                step,
                skip,
                stage,
                settled,
            })));
        }
        crate::step::remove(&Step::place(&steps, number))?;
        refused.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Planned::Refused(refused))
    }

    /// Plans to take the last hand-back out of the project again. `None` when there is none.
    ///
    /// A path that changed since is refused by its name, and then nothing is undone.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn plan_undo(&mut self, project: &Project) -> Result<Option<Planned>, HandBackFault> {
        let (done, _) = self.ends()?;
        done.map(|step| self.again(project, step, Direction::Undo)).transpose()
    }

    /// Plans to do what was undone last once more. `None` when nothing was undone since the
    /// last hand-back.
    ///
    /// # Errors
    ///
    /// [`HandBackFault`].
    pub fn plan_redo(&mut self, project: &Project) -> Result<Option<Planned>, HandBackFault> {
        let (_, undone) = self.ends()?;
        undone.map(|step| self.again(project, step, Direction::Redo)).transpose()
    }

    fn again(
        &self,
        project: &Project,
        step: Step,
        direction: Direction,
    ) -> Result<Planned, HandBackFault> {
        let top =
            host::open_root(project.root()).map_err(|source| HandBackFault::Place { source })?;
        let to = direction.side();
        let (mut refused, mut skip, mut settled) = (Vec::new(), BTreeSet::new(), Vec::new());
        for (index, change) in step.moves.iter().enumerate() {
            let there = look(top.as_fd(), &change.path)
                .map_err(|errno| read_fault(project.root(), &change.path, errno))?;
            if is(&there, change.image(to)) {
                skip.insert(index);
                settled.push(change.path.clone());
            } else if !is(&there, change.image(to.other()))
                && !is_replaced(&there, change, &step.moves, to)
            {
                let reason = "it changed since".to_owned();
                refused.push(Refused { path: change.path.clone(), reason, conflict: None });
            }
        }
        if let Some(git) = &step.git {
            let pack = GitMove::pack(&self.steps(), step.number);
            if let Err(Stopped { path, why }) = (Mover { project, git, to, pack }).stands() {
                refused.push(Refused { path, reason: why, conflict: None });
            }
        }
        if !refused.is_empty() {
            return Ok(Planned::Refused(refused));
        }
        let stage = self.stage_name(step.number, &step);
        Ok(Planned::Ready(Box::new(HandBack { direction, step, skip, stage, settled })))
    }

    /// A name that no other process uses: the shelf is held, and nothing else makes such names.
    fn stage_name(&self, number: u64, step: &Step) -> String {
        let random = step.moves.iter().flat_map(|change| change.path.iter());
        let sum = random.fold(5381_u32, |sum, byte| sum.wrapping_mul(33) ^ u32::from(*byte));
        format!("{}{number}-{sum:08x}", names::STAGE_PREFIX)
    }
}

/// Whether what is there is `image`, or nothing where there is none.
fn is(there: &There, image: Option<&Image>) -> bool {
    match (there, image) {
        (There::Thing(there, _), Some(image)) => there == image,
        (There::Nothing, None) => true,
        (
            There::Nothing | There::Directory | There::Thing(..) | There::Other | There::Blocked,
            _,
        ) => false,
    }
}

/// Whether a directory stands where a file comes, or a file above it, and goes in the same act.
fn is_replaced(there: &There, change: &Move, moves: &[Move], to: Side) -> bool {
    if change.image(to.other()).is_some() {
        return false;
    }
    let goes = |other: &&Move| other.image(to).is_none();
    match there {
        There::Directory => {
            let below = [change.path.as_slice(), b"/"].concat();
            moves.iter().filter(goes).any(|other| other.path.starts_with(&below))
        }
        There::Blocked | There::Nothing => {
            let mut above = ancestors(&change.path);
            above.any(|path| moves.iter().filter(goes).any(|other| other.path == path))
        }
        There::Thing(..) | There::Other => false,
    }
}

/// Keeps both contents of a path, and notes the move.
fn keep(steps: &Path, step: &mut Step, path: &[u8], wanted: Wanted) -> Result<(), HandBackFault> {
    let index = step.moves.len();
    let sides = [(Side::Before, &wanted.before), (Side::After, &wanted.after)];
    for (side, held) in sides {
        if let Some((_, content)) = held {
            Step::keep(steps, step.number, (side, index), content)?;
        }
    }
    let image = |held: Option<(Image, Vec<u8>)>| held.map(|(image, _)| image);
    let (before, after) = (image(wanted.before), image(wanted.after));
    step.moves.push(Move { path: path.to_vec(), before, after });
    Ok(())
}

/// Each path of some changes, with its entry in the base and the one that was chosen.
type Entries = BTreeMap<Vec<u8>, (Option<Entry>, Option<Entry>)>;

fn entries(files: &[FileChange]) -> Result<Entries, git2::Error> {
    let mut entries = Entries::new();
    for file in files {
        let old = (file.old_mode != 0).then(|| Oid::from_str(&file.old_id)).transpose()?;
        let new = (file.new_mode != 0).then(|| Oid::from_str(&file.new_id)).transpose()?;
        let old_path = file.old_path.as_ref().unwrap_or(&file.path);
        if let Some(id) = old {
            entries.entry(old_path.clone()).or_default().0 = Some((file.old_mode, id));
        }
        if let Some(id) = new {
            entries.entry(file.path.clone()).or_default().1 = Some((file.new_mode, id));
        }
    }
    Ok(entries)
}

struct Sketch<'a> {
    repository: &'a Repository,
    top: OwnedFd,
    root: &'a Path,
    changes: &'a ChangeSet,
}

impl Sketch<'_> {
    /// What is not carried, whatever the project looks like.
    fn not_carried(&self, named: &Named) -> Vec<Refused> {
        let refuse = |file: &FileChange, reason: String| Refused {
            path: file.path.clone(),
            reason,
            conflict: None,
        };
        let mut refused = Vec::new();
        for file in &self.changes.files {
            let strictest = file.flags.iter().max_by_key(|flag| flag.carriage());
            let Some(flag) = strictest else {
                if self.completes_repository(&file.path) {
                    refused.push(refuse(file, crate::Flag::BareRepository.words().to_owned()));
                }
                continue;
            };
            match file.carriage() {
                Carriage::Plain => {}
                Carriage::Flagged if named.contains(&file.path) => {}
                Carriage::Flagged => {
                    let words = flag.words();
                    refused.push(refuse(file, format!("it needs an accept of its own: {words}")));
                }
                Carriage::Refused => refused.push(refuse(file, flag.words().to_owned())),
            }
        }
        refused
    }

    /// Whether the path makes a repository of a directory together with what is there.
    fn completes_repository(&self, path: &[u8]) -> bool {
        let tops = std::iter::once(&b""[..]).chain(ancestors(path));
        for directory in tops {
            let rest = path.get(directory.len()..).unwrap_or_default();
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            let name = rest.split(|byte| *byte == b'/').next().unwrap_or_default();
            if !BARE.contains(&names::folded(name).as_str()) {
                continue;
            }
            let wanted = ["HEAD", "objects", "refs"].map(str::as_bytes);
            let is_there = |name: &&[u8]| {
                let path = [directory, b"/", name].concat();
                let path = path.strip_prefix(b"/").unwrap_or(&path);
                !matches!(look(self.top.as_fd(), path), Ok(There::Nothing | There::Blocked))
                    || self.changes.files.iter().any(|file| {
                        file.path == path || file.path.starts_with(&[path, b"/"].concat())
                    })
            };
            if wanted.iter().all(is_there) {
                return true;
            }
        }
        false
    }

    fn path(
        &self,
        path: &[u8],
        base: Option<Entry>,
        chosen: Option<Entry>,
        all: &Entries,
    ) -> Result<Answer, HandBackFault> {
        let there = look(self.top.as_fd(), path);
        let there = there.map_err(|errno| read_fault(self.root, path, errno))?;
        let (base, chosen) = (self.side(base)?, self.side(chosen)?);
        let refused = |reason: &str| Ok(Answer::Refused(reason.to_owned(), None));
        let current = match there {
            There::Thing(image, content) => Some(Held { image, content }),
            There::Nothing => None,
            There::Blocked if base.is_none() && self.gives_way(path, all) => None,
            There::Directory if base.is_none() && self.empties(path, all)? => None,
            There::Blocked => return refused("something in its path is no directory, or a link"),
            There::Directory => return refused("a directory is there"),
            There::Other => return refused("what is there is no plain file"),
        };
        if same(current.as_ref(), chosen.as_ref()) {
            return Ok(Answer::Settled);
        }
        if same(current.as_ref(), base.as_ref()) {
            let after = chosen.map(|chosen| chosen.beside(current.as_ref()));
            return Ok(wanted(current, after));
        }
        match (base, current, chosen) {
            (None, Some(_), Some(_)) => refused("you have something of this name"),
            (Some(_), Some(_), None) => refused("you changed it, and the session deleted it"),
            (Some(_), None, Some(_)) => refused("you deleted it, and the session changed it"),
            (Some(base), Some(current), Some(chosen)) => both(base, current, chosen),
            // Equal sides are settled above.
            (None | Some(_), None, None) | (None, Some(_), None) | (None, None, Some(_)) => {
                Ok(Answer::Settled)
            }
        }
    }

    fn side(&self, entry: Option<Entry>) -> Result<Option<Held>, HandBackFault> {
        let Some((mode, id)) = entry else { return Ok(None) };
        let blob = self.repository.find_blob(id);
        let blob = blob.map_err(|source| HandBackFault::Objects { source })?;
        let content = blob.content().to_vec();
        let image = match mode {
            LINK => Image::link(&content),
            PROGRAM => Image::file(&content, 0o755),
            _ => Image::file(&content, 0o644),
        };
        Ok(Some(Held { image, content }))
    }

    /// Whether a file above `path` is deleted in the same act.
    fn gives_way(&self, path: &[u8], all: &Entries) -> bool {
        ancestors(path).any(|above| {
            let goes = all.get(above).is_some_and(|(_, chosen)| chosen.is_none());
            goes && matches!(look(self.top.as_fd(), above), Ok(There::Thing(..)))
        })
    }

    /// Whether nothing is left in the directory at `path` after the act.
    fn empties(&self, path: &[u8], all: &Entries) -> Result<bool, HandBackFault> {
        let fault = |errno| read_fault(self.root, path, errno);
        let open = |path: &[u8]| {
            host::open_below(self.top.as_fd(), Path::new(std::ffi::OsStr::from_bytes(path)))
        };
        let mut left = vec![path.to_vec()];
        while let Some(directory) = left.pop() {
            let opened = open(&directory).map_err(fault)?;
            for name in upper::names(opened.as_fd()).map_err(fault)? {
                let path = [&directory, &b"/"[..], name.to_bytes()].concat();
                let goes = all.get(&path).is_some_and(|(_, chosen)| chosen.is_none());
                match look(self.top.as_fd(), &path).map_err(fault)? {
                    There::Directory => left.push(path),
                    There::Nothing => {}
                    There::Thing(..) | There::Other | There::Blocked if goes => {}
                    There::Thing(..) | There::Other | There::Blocked => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// Notes which directories come and which may go.
    fn folders(&self, step: &mut Step) -> Result<(), HandBackFault> {
        let (mut made, mut removable) = (BTreeMap::new(), BTreeMap::new());
        for change in &step.moves {
            for above in ancestors(&change.path) {
                let mode = folder_mode(self.top.as_fd(), above);
                let mode = mode.map_err(|errno| read_fault(self.root, above, errno))?;
                match mode {
                    Some(mode) if change.after.is_none() => {
                        removable.insert(above.to_vec(), mode);
                    }
                    None if change.after.is_some() => {
                        made.insert(above.to_vec(), 0);
                    }
                    Some(_) | None => {}
                }
            }
        }
        // A file in the place of a directory: the directory goes, also when it is empty already.
        for change in step.moves.iter().filter(|change| change.before.is_none()) {
            if let Ok(Some(mode)) = folder_mode(self.top.as_fd(), &change.path) {
                removable.insert(change.path.clone(), mode);
            }
        }
        let inner_first = |folders: BTreeMap<Vec<u8>, u32>| {
            folders.into_iter().rev().map(|(path, mode)| Folder { path, mode }).collect()
        };
        (step.made, step.removable) = (inner_first(made), inner_first(removable));
        Ok(())
    }
}

/// The permission bits of a directory, `None` when there is none.
fn folder_mode(top: BorrowedFd<'_>, path: &[u8]) -> Result<Option<u32>, Errno> {
    let stat = open_parent(top, path)
        .and_then(|(parent, name)| rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW));
    match stat {
        Ok(stat) if stat.st_mode & 0o170_000 == 0o040_000 => Ok(Some(stat.st_mode & 0o7777)),
        Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// One side of a path, with its content.
#[derive(Debug, Clone)]
struct Held {
    image: Image,
    content: Vec<u8>,
}

impl Held {
    /// The same with the permission bits that the person's file has, or a new one gets.
    fn beside(mut self, current: Option<&Self>) -> Self {
        if self.image.kind == ImageKind::File {
            let current = current.filter(|held| held.image.kind == ImageKind::File);
            let mode = current.map_or_else(|| 0o666 & !image::umask(), |held| held.image.mode);
            self.image.mode = with_program(mode, self.image.is_program());
        }
        self
    }
}

/// Who may read may run, when anybody may.
fn with_program(mode: u32, is_program: bool) -> u32 {
    if is_program == (mode & 0o100 != 0) {
        mode
    } else if is_program {
        mode | (mode & 0o444) >> 2
    } else {
        mode & !0o111
    }
}

/// Whether two sides are the same to git: content, kind, and whether it is a program.
fn same(one: Option<&Held>, other: Option<&Held>) -> bool {
    match (one.map(|held| &held.image), other.map(|held| &held.image)) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            one.kind == other.kind
                && one.hash == other.hash
                && one.is_program() == other.is_program()
        }
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn wanted(before: Option<Held>, after: Option<Held>) -> Answer {
    let pair = |held: Held| (held.image, held.content);
    Answer::Wanted(Wanted { before: before.map(pair), after: after.map(pair) })
}

/// Both changed a file.
fn both(base: Held, current: Held, chosen: Held) -> Result<Answer, HandBackFault> {
    let kinds = [&base, &current, &chosen].map(|held| held.image.kind);
    if kinds.contains(&ImageKind::Link) {
        return Ok(Answer::Refused("you changed it, and it is or becomes a link".to_owned(), None));
    }
    let merged = merge::texts(&base.content, &current.content, &chosen.content);
    let content = match merged.map_err(|source| HandBackFault::Objects { source })? {
        Merged::Whole(content) => content,
        Merged::Conflict(text) => {
            let reason = "you changed the same lines".to_owned();
            return Ok(Answer::Refused(reason, Some(text)));
        }
        Merged::Binary => {
            return Ok(Answer::Refused("you changed it too, and it is no text".to_owned(), None));
        }
    };
    let is_program = if chosen.image.is_program() == base.image.is_program() {
        current.image.is_program()
    } else {
        chosen.image.is_program()
    };
    let image = Image::file(&content, with_program(current.image.mode, is_program));
    let after = Held { image, content };
    if after.image == current.image {
        return Ok(Answer::Settled);
    }
    Ok(wanted(Some(current), Some(after)))
}

fn read_fault(root: &Path, path: &[u8], errno: Errno) -> HandBackFault {
    let path: PathBuf = root.join(std::ffi::OsStr::from_bytes(path));
    HandBackFault::files("read", &path, errno.into())
}
