//! The notes of one project that outlive its sessions: a file each, private and whole.

mod act;
mod note;
mod words;

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;

pub use act::{NoteAct, Stamp};
pub(crate) use act::{masked, note};
pub use note::{Draft, Note, NoteKind, NoteName, NoteVersion};

/// The most notes of one project. Source: the format's earlier version.
pub const NOTES_MAX: usize = 128;

/// The most versions of one note; none is ever dropped. Source: as above.
pub const NOTE_VERSIONS_MAX: usize = 16;

/// The largest file of a note, in bytes: every version with its longest text and head.
const FILE_BYTES_MAX: u64 = (NOTE_VERSIONS_MAX * (note::BODY_BYTES_MAX + 1024)) as u64;

/// The most entries of the directory that are looked at; more are not Chock's.
const ENTRIES_MAX: usize = 1024;

/// How a note's file ends.
const ENDING: &str = ".md";

/// How long another writer is waited for: a write takes milliseconds.
const LOCK_TRIES: u32 = 100;
const LOCK_WAIT: Duration = Duration::from_millis(50);

/// Why a note cannot be read, written or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoteFault {
    /// No note has such a name.
    #[error(
        "`{}` is no name of a note: it has 1 to 64 of the letters a to z, 0 to 9, `-` and `_`, \
         and begins with none of the last two",
        .name.escape_debug()
    )]
    Name {
        /// The name.
        name: String,
    },
    /// There is no such note.
    #[error("there is no note `{name}`")]
    Missing {
        /// The name.
        name: NoteName,
    },
    /// The file cannot be opened or read, or is none.
    #[error("the note's file cannot be read")]
    Unreadable {
        /// The cause.
        source: io::Error,
    },
    /// Others could have written it.
    #[error("the note's file can be written by others")]
    Exposed,
    /// It does not say what was written.
    #[error("the note's file is damaged: {why}")]
    Damaged {
        /// What is wrong with it.
        why: String,
    },
    /// A directory has its name, which no session made.
    #[error("it is a directory and stays; remove {} by hand", .path.display())]
    IsDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// There are too many notes.
    #[error("the project has {NOTES_MAX} notes, and no more are kept; the person can remove some")]
    TooMany,
    /// There are too many versions.
    #[error(
        "the note has {NOTE_VERSIONS_MAX} versions, and none is dropped; write under another name"
    )]
    TooManyVersions,
    /// The directory holds far more than notes.
    #[error("the directory of the notes has over {ENTRIES_MAX} entries; tidy it up")]
    Crowded,
    /// Another session writes, and does not end.
    #[error("another session is writing notes; try again")]
    Busy,
    /// The directory cannot be read.
    #[error("the directory of the notes cannot be read")]
    Directory {
        /// The cause.
        source: io::Error,
    },
    /// The disk does not take it.
    #[error("the notes cannot be written")]
    Write {
        /// The cause.
        source: io::Error,
    },
}

/// The notes of one project.
#[derive(Debug, Clone)]
pub struct Notebook {
    directory: PathBuf,
}

/// One file of a notebook.
#[derive(Debug)]
pub struct Listed {
    /// The file's name without its ending.
    pub name: String,
    /// What it holds, or why nothing of it is told.
    pub note: Result<Note, NoteFault>,
}

/// What came of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// The newest version.
    pub version: u32,
    /// Whether it is new; otherwise the note said the same already.
    pub is_new: bool,
}

impl Notebook {
    /// Names the notes of a project by their directory, which need not be there: then it has
    /// none.
    #[must_use]
    pub fn at(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Lists every note by name. One that cannot be read says why.
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, NoteFault> {
        let names = self.names()?;
        let listed = names.into_iter().map(|name| {
            let note = name.parse().and_then(|name| self.read(&name));
            Listed { name, note }
        });
        Ok(listed.collect())
    }

    /// Reads one note, all of it or nothing.
    ///
    /// # Errors
    ///
    /// It is not there, or not as it was written.
    pub fn read(&self, name: &NoteName) -> Result<Note, NoteFault> {
        let unreadable = |source| NoteFault::Unreadable { source };
        // A FIFO must not hold anybody up, and a link leads somewhere else.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(self.path(name));
        let file = match opened {
            Ok(file) => file,
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
                return Err(NoteFault::Missing { name: name.clone() });
            }
            Err(source) => return Err(unreadable(source)),
        };
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(unreadable(io::Error::other("it is no file")));
        }
        if metadata.permissions().mode() & 0o022 != 0 {
            return Err(NoteFault::Exposed);
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            let why = format!("it has over {FILE_BYTES_MAX} bytes");
            return Err(NoteFault::Damaged { why });
        }
        Note::of_text(name, &bytes).map_err(|why| NoteFault::Damaged { why })
    }

    /// Puts a version on top of a note, or makes one. Other writers wait, and lose nothing.
    ///
    /// # Errors
    ///
    /// What is there cannot be read, a limit is reached, or the disk does not take it. Then the
    /// note is as it was.
    pub fn write(&self, draft: &Draft, stamp: &Stamp) -> Result<Written, NoteFault> {
        let write = |source| NoteFault::Write { source };
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.directory).map_err(write)?;
        let _lock = self.lock()?;
        let mut note = match self.read(draft.name()) {
            Ok(note) => note,
            Err(NoteFault::Missing { name }) if self.names()?.len() < NOTES_MAX => Note::new(name),
            Err(NoteFault::Missing { .. }) => return Err(NoteFault::TooMany),
            Err(fault) => return Err(fault),
        };
        if let Some(newest) = note.newest().filter(|newest| draft.says_the_same(newest)) {
            return Ok(Written { version: newest.version, is_new: false });
        }
        if note.versions().len() >= NOTE_VERSIONS_MAX {
            return Err(NoteFault::TooManyVersions);
        }
        let version = note.add(draft, stamp);
        self.replace(draft.name(), &note.to_text()).map_err(write)?;
        Ok(Written { version, is_new: true })
    }

    /// Removes a note with all its versions, readable or not.
    ///
    /// # Errors
    ///
    /// It is not there, or cannot be removed.
    pub fn remove(&self, name: &NoteName) -> Result<(), NoteFault> {
        let missing = || NoteFault::Missing { name: name.clone() };
        if !self.directory.is_dir() {
            return Err(missing());
        }
        let _lock = self.lock()?;
        let path = self.path(name);
        fs::remove_file(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => missing(),
            io::ErrorKind::IsADirectory => NoteFault::IsDirectory { path },
            _ => NoteFault::Write { source },
        })
    }

    /// Lists the names of the files, without their ending.
    fn names(&self) -> Result<Vec<String>, NoteFault> {
        let fault = |source| NoteFault::Directory { source };
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(fault(source)),
        };
        let mut names = Vec::new();
        for (number, entry) in entries.enumerate() {
            if number >= ENTRIES_MAX {
                return Err(NoteFault::Crowded);
            }
            let name = entry.map_err(fault)?.file_name();
            names.extend(name.to_string_lossy().strip_suffix(ENDING).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    fn path(&self, name: &NoteName) -> PathBuf {
        self.directory.join(format!("{name}{ENDING}"))
    }

    /// Waits for others that write. The lock is gone when the file is closed.
    fn lock(&self) -> Result<File, NoteFault> {
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let file = options.open(self.directory.join(".lock"));
        let file = file.map_err(|source| NoteFault::Write { source })?;
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_WAIT),
                Err(TryLockError::Error(source)) => return Err(NoteFault::Write { source }),
            }
        }
        Err(NoteFault::Busy)
    }

    /// Writes a new file and puts it in the place of the old one. The lock is held.
    fn replace(&self, name: &NoteName, text: &str) -> io::Result<()> {
        let beside = self.directory.join(".new");
        // One that a killed process left behind.
        match fs::remove_file(&beside) {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
            Ok(()) | Err(_) => {}
        }
        let written = put(&beside, text).and_then(|()| fs::rename(&beside, self.path(name)));
        if written.is_err() {
            // The first fault is the one to tell.
            let _ = fs::remove_file(&beside);
        }
        written?;
        File::open(&self.directory)?.sync_all()
    }
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
