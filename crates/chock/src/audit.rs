//! Carries a session's log to its audit sinks while it is written.

mod directory;
mod syslog;

use std::fs::File;
use std::io;
use std::path::PathBuf;

use chock_config::{Sink, SinkKind};
use chock_log::{AuditGap, Courier};

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
        let name = visible_line(&sink.to_string());
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
