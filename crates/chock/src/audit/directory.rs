//! A directory that gets each log, byte for byte.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use rustix::fs::OFlags;

use super::{Place, Taken};

/// How much is copied at a time, and how much of an older copy is held against the log.
const PIECE_BYTES: usize = 64 << 10;

/// One session's file in the directory. It is opened anew each time: a directory that was
/// removed, or put back, is seen at once.
pub(super) struct Directory {
    path: PathBuf,
    required: bool,
    /// The file that was compared with the log: its device and number.
    compared: Option<(u64, u64)>,
}

impl Directory {
    pub(super) fn new(path: PathBuf, required: bool) -> Self {
        Self { path, required, compared: None }
    }

    /// Opens the copy, or makes it. The directory itself is somebody else's to make.
    fn open(&self) -> io::Result<File> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(flags).open(&self.path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the copy is not a file"));
        }
        Ok(file)
    }

    /// Refuses a copy that is not the beginning of the log.
    ///
    /// The log was verified when it was opened, and each line names the one before it: when the
    /// end of the copy is the log's, so is all before it.
    fn compare(&mut self, copy: &File, log: &File, had: u64) -> io::Result<()> {
        let data = copy.metadata()?;
        let identity = (data.dev(), data.ino());
        if self.compared == Some(identity) {
            return Ok(());
        }
        let count = usize::try_from(had).unwrap_or(usize::MAX).min(PIECE_BYTES);
        let start = had - count as u64;
        let [mut theirs, mut ours] = [vec![0; count], vec![0; count]];
        copy.read_exact_at(&mut theirs, start)?;
        log.read_exact_at(&mut ours, start)?;
        if theirs != ours {
            return Err(differs(
                "the copy is not the beginning of this log: one of them was changed",
            ));
        }
        self.compared = Some(identity);
        Ok(())
    }
}

fn differs(words: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, words)
}

impl Place for Directory {
    fn take(&mut self, log: &File, length: u64) -> io::Result<Taken> {
        let copy = self.open()?;
        let had = copy.metadata()?.len();
        if had > length {
            return Err(differs("the copy has more than the log, which lost records"));
        }
        self.compare(&copy, log, had)?;
        let mut place = had;
        let mut piece = vec![0; PIECE_BYTES];
        while place < length {
            let count = usize::try_from(length - place).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            log.read_exact_at(&mut piece[..count], place)?;
            copy.write_all_at(&piece[..count], place)?;
            place += count as u64;
        }
        if self.required && length > had {
            copy.sync_data()?;
        }
        Ok(Taken { bytes: length - had, knew: true })
    }
}
