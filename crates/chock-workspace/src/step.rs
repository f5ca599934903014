//! One hand-back as it is written down: what each path held before, and what it holds after.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::branch::GitMove;
use crate::image::Image;
use crate::{HandBackFault, TreeId, files};

/// The version of the format.
const VERSION: u32 = 1;

/// The largest record of a step that is read: 200,000 paths.
const STEP_BYTES_MAX: u64 = 256 << 20;

/// Files up to this many are flushed one by one; more of them with their file system.
pub(crate) const FLUSHED_ALONE_MAX: usize = 64;

/// What happens to one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Move {
    #[serde(with = "as_hex")]
    pub(crate) path: Vec<u8>,
    pub(crate) before: Option<Image>,
    pub(crate) after: Option<Image>,
}

/// A directory that comes or goes with the files in it, and its permission bits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Folder {
    #[serde(with = "as_hex")]
    pub(crate) path: Vec<u8>,
    pub(crate) mode: u32,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StepState {
    /// Nothing of it was ever in the project for good.
    Prepared,
    /// The project has what came after.
    Done,
    /// The project has what was before.
    Undone,
}

/// One hand-back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) version: u32,
    pub(crate) number: u64,
    pub(crate) session: String,
    /// The tree that the choice was made against, in the session's store.
    pub(crate) base: TreeId,
    /// The tree that the choice led to.
    pub(crate) tree: TreeId,
    pub(crate) state: StepState,
    pub(crate) moves: Vec<Move>,
    /// Directories that are in the way of nothing once they are empty, the innermost first.
    pub(crate) removable: Vec<Folder>,
    /// Directories that were not there before, the innermost first.
    pub(crate) made: Vec<Folder>,
    /// What it does to refs and the index, when commits are carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) git: Option<GitMove>,
}

/// Which of the two contents of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

impl Move {
    pub(crate) fn image(&self, side: Side) -> Option<&Image> {
        match side {
            Side::Before => self.before.as_ref(),
            Side::After => self.after.as_ref(),
        }
    }
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

impl Step {
    pub(crate) fn new(number: u64, session: &str, (base, tree): (TreeId, TreeId)) -> Self {
        Self {
            version: VERSION,
            number,
            session: session.to_owned(),
            base,
            tree,
            state: StepState::Prepared,
            moves: Vec::new(),
            removable: Vec::new(),
            made: Vec::new(),
            git: None,
        }
    }

    /// The directory of a step's files.
    pub(crate) fn place(steps: &Path, number: u64) -> PathBuf {
        steps.join(format!("{number:08}"))
    }

    /// Makes the directories of a new step, in place of one that never came to be.
    pub(crate) fn make(steps: &Path, number: u64) -> Result<(), HandBackFault> {
        let place = Self::place(steps, number);
        remove(&place)?;
        for part in [place.clone(), place.join("before"), place.join("after")] {
            let made = fs::create_dir(&part);
            made.map_err(|source| HandBackFault::files("make", &part, source))?;
        }
        Ok(())
    }

    /// Where the content of one move is kept.
    pub(crate) fn content(steps: &Path, number: u64, side: Side, index: usize) -> PathBuf {
        Self::place(steps, number).join(side.name()).join(index.to_string())
    }

    /// Keeps the content of one side of a move, which is not yet on the disk.
    pub(crate) fn keep(
        steps: &Path,
        number: u64,
        (side, index): (Side, usize),
        content: &[u8],
    ) -> Result<(), HandBackFault> {
        let path = Self::content(steps, number, side, index);
        fs::write(&path, content).map_err(|source| HandBackFault::files("write", &path, source))
    }

    /// Waits until every content that was kept is on the disk.
    pub(crate) fn flush(&self, steps: &Path) -> Result<(), HandBackFault> {
        let place = Self::place(steps, self.number);
        let fault = |source| HandBackFault::files("flush", &place, source);
        if self.moves.len() > FLUSHED_ALONE_MAX {
            let directory = fs::File::open(&place).map_err(fault)?;
            return rustix::fs::syncfs(directory).map_err(|errno| fault(errno.into()));
        }
        for (index, change) in self.moves.iter().enumerate() {
            for side in [Side::Before, Side::After] {
                if change.image(side).is_some() {
                    let path = Self::content(steps, self.number, side, index);
                    fs::File::open(path).and_then(|file| file.sync_data()).map_err(fault)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn write(&self, steps: &Path) -> Result<(), HandBackFault> {
        let path = Self::place(steps, self.number).join("step.json");
        let text = serde_json::to_vec(self).expect("invariant: a step is JSON");
        files::write_whole(&path, &text)
            .map_err(|source| HandBackFault::files("write", &path, source))
    }

    pub(crate) fn read(steps: &Path, number: u64) -> Result<Self, HandBackFault> {
        let path = Self::place(steps, number).join("step.json");
        let text = files::read_bounded(&path, STEP_BYTES_MAX)
            .map_err(|source| HandBackFault::files("read", &path, source))?;
        let damaged = |source| HandBackFault::Damaged { path: path.clone(), source };
        let step: Self = serde_json::from_slice(&text).map_err(damaged)?;
        if step.version != VERSION {
            let words = format!("version {} is not known", step.version);
            return Err(damaged(serde::de::Error::custom(words)));
        }
        Ok(step)
    }

    /// The numbers of the steps that are there, in order. One without a record was never whole.
    pub(crate) fn numbers(steps: &Path) -> Result<Vec<u64>, HandBackFault> {
        let mut numbers = Self::begun(steps)?;
        numbers.retain(|number| Self::place(steps, *number).join("step.json").exists());
        Ok(numbers)
    }

    /// The numbers of every step that was begun, in order.
    pub(crate) fn begun(steps: &Path) -> Result<Vec<u64>, HandBackFault> {
        let entries =
            fs::read_dir(steps).map_err(|source| HandBackFault::files("read", steps, source))?;
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut numbers: Vec<u64> = names
            .filter_map(|name| std::str::from_utf8(name.as_bytes()).ok()?.parse().ok())
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}

/// Removes a directory of Chock's own with everything in it.
pub(crate) fn remove(path: &Path) -> Result<(), HandBackFault> {
    match fs::remove_dir_all(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(HandBackFault::files("remove", path, source))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Paths are bytes; two digits a byte keep them exactly.
mod as_hex {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        let digits: String = path.iter().map(|byte| format!("{byte:02x}")).collect();
        serializer.serialize_str(&digits)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let digits = String::deserialize(from)?;
        let pair = |pair: &[u8]| {
            let text = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(text, 16).ok()
        };
        let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(pair).collect();
        bytes.ok_or_else(|| serde::de::Error::custom("a path is not in hexadecimal digits"))
    }
}
