//! Carries a session's log to its audit sinks while it is written.

mod directory;
mod syslog;

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use chock_config::{Sink, SinkKind};
use chock_log::{AuditGap, Courier};

use crate::exit::{Exit, Failure};
use crate::found::Found;
use crate::places::Places;
use crate::visible::visible_line;
use directory::Directory;
use syslog::Syslog;

/// A place that takes the lines of one log.
trait Place: Send {
    /// Takes what it lacks of the log's first `length` bytes, within a bounded time.
    fn take(&mut self, log: &File, length: u64) -> io::Result<Taken>;
}

/// What a sink was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Taken {
    /// How many bytes of the log went out.
    bytes: u64,
    /// Whether the sink said what it had. One that cannot is sent everything again.
    knew: bool,
}

/// Says something to the person.
pub(crate) type Tell = Box<dyn Fn(&str) + Send>;

/// The sinks of one session.
pub(crate) struct Audit {
    path: PathBuf,
    log: Option<File>,
    posts: Vec<Post>,
    tell: Tell,
    /// Whether the log had records before this run.
    resumes: bool,
}

/// One sink, and how it stands.
struct Post {
    name: String,
    place: Box<dyn Place>,
    required: bool,
    /// Whether it was found wanting, and the person was told.
    lacks: bool,
    /// Whether it was written in this run.
    begun: bool,
}

impl Audit {
    /// Names the sinks of a log that is about to be opened. Without any there is nothing to carry.
    pub(crate) fn of(
        places: &Places,
        found: &Found,
        sinks: &[Sink],
        tell: Tell,
    ) -> Option<Box<dyn Courier>> {
        if sinks.is_empty() {
            return None;
        }
        let session = found.id.to_string();
        let posts = sinks.iter().map(|sink| Post::new(places, &session, sink)).collect();
        let resumes = found.log.exists();
        Some(Box::new(Self { path: found.log.clone(), log: None, posts, tell, resumes }))
    }

    /// Returns the log, opened for reading. Its writer has made it by now, and holds it.
    fn log(&mut self) -> io::Result<&File> {
        if self.log.is_none() {
            self.log = Some(File::open(&self.path)?);
        }
        Ok(self.log.as_ref().expect("invariant: it was opened above"))
    }
}

impl Post {
    fn new(places: &Places, session: &str, sink: &Sink) -> Self {
        let path = sink.path.resolve(&places.config, places.home.as_deref());
        let place: Box<dyn Place> = match sink.kind {
            SinkKind::Directory => {
                Box::new(Directory::new(path.join(format!("{session}.jsonl")), sink.required))
            }
            SinkKind::Syslog => Box::new(Syslog::new(path, session, sink.required)),
        };
        let name = visible_line(&Sink { required: false, ..sink.clone() }.to_string());
        Self { name, place, required: sink.required, lacks: false, begun: false }
    }

    /// Gives the sink what it lacks, and tells the person when that is news.
    fn settle(&mut self, log: &File, length: u64, resumes: bool, tell: &Tell) -> io::Result<()> {
        let name = &self.name;
        match self.place.take(log, length) {
            Ok(taken) => {
                if self.lacks {
                    tell(&format!("the audit sink {name} has every line again"));
                } else if resumes && !self.begun && taken.bytes > 0 {
                    let words = if taken.knew {
                        format!("lacked {} bytes of the log, and has them now", taken.bytes)
                    } else {
                        "cannot say what it has, and was sent the whole log again".to_owned()
                    };
                    tell(&format!("the audit sink {name} {words}"));
                }
                (self.lacks, self.begun) = (false, true);
                Ok(())
            }
            Err(fault) => {
                if !self.required && !self.lacks {
                    tell(&format!(
                        "the audit sink {name} lacks lines of the log, and gets them when it can: {fault}"
                    ));
                }
                self.lacks = true;
                Err(fault)
            }
        }
    }
}

/// Gives every required sink what it lacks of a log that nobody writes. The log may go after that.
pub(crate) fn deliver(places: &Places, found: &Found, sinks: &[Sink]) -> Result<(), Failure> {
    let required: Vec<_> = sinks.iter().filter(|sink| sink.required).cloned().collect();
    let length = whole_lines(&found.log)
        .map_err(|fault| Failure::fault(format!("cannot read {}: {fault}", found.log.display())))?;
    let courier = Audit::of(places, found, &required, Box::new(|_| {}));
    let Some(mut courier) = courier.filter(|_| length > 0) else { return Ok(()) };
    courier.settle(length).map_err(|AuditGap { place, source }| Failure {
        exit: Exit::AuditGap,
        message: format!(
            "session {} stays: the required audit sink {place} has not all of its log: {source}",
            found.id
        ),
    })
}

/// Returns how many bytes of a log are whole lines: a crash can leave a piece of one at the end.
fn whole_lines(log: &Path) -> io::Result<u64> {
    let mut file = File::open(log)?;
    let mut end = file.metadata()?.len();
    let mut piece = vec![0; 64 << 10];
    while end > 0 {
        let count = piece.len().min(usize::try_from(end).unwrap_or(usize::MAX));
        let start = end - count as u64;
        file.seek(io::SeekFrom::Start(start))?;
        file.read_exact(&mut piece[..count])?;
        if let Some(place) = piece[..count].iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + place as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Says whether a sink's place is there, without writing to it.
pub(crate) fn reach(places: &Places, sink: &Sink) -> io::Result<()> {
    let path = sink.path.resolve(&places.config, places.home.as_deref());
    match sink.kind {
        SinkKind::Directory if path.metadata()?.is_dir() => Ok(()),
        SinkKind::Directory => Err(io::ErrorKind::NotADirectory.into()),
        SinkKind::Syslog => UnixDatagram::unbound()?.connect(&path),
    }
}

impl Courier for Audit {
    fn settle(&mut self, length: u64) -> Result<(), AuditGap> {
        let mut gap = None;
        let place = self.path.display().to_string();
        let log = self.log().and_then(File::try_clone);
        let log = log.map_err(|source| AuditGap { place, source })?;
        for post in &mut self.posts {
            // Every sink gets its lines, whatever became of the one before it.
            if let Err(source) = post.settle(&log, length, self.resumes, &self.tell)
                && post.required
            {
                gap.get_or_insert(AuditGap { place: post.name.clone(), source });
            }
        }
        gap.map_or(Ok(()), Err)
    }
}
