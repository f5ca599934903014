//! Finds the sessions of a project on disk.

use std::fs;
use std::path::{Path, PathBuf};

use chock_log::{Log, Running, Session, SessionId, Verdict};

use crate::exit::Failure;

/// One session's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) id: SessionId,
    pub(crate) log: PathBuf,
}

/// How many sessions a fork is looked for in above it. A log that somebody changed may name itself.
const ANCESTORS_MAX: usize = 100;

/// One session's files, and what its log says.
pub(crate) struct Listed {
    pub(crate) found: Found,
    pub(crate) session: Session,
    pub(crate) verdict: Verdict,
    pub(crate) running: Running,
}

impl Found {
    /// Names the files of a session that is there or will be.
    pub(crate) fn at(directory: &Path, id: SessionId) -> Self {
        Self { id, log: directory.join(format!("{id}.jsonl")) }
    }

    /// The sessions that this one hangs from, the nearest first, as far as they are there.
    pub(crate) fn ancestors(&self) -> Vec<Self> {
        let mut ancestors: Vec<Self> = Vec::new();
        let directory = self.log.parent().unwrap_or(Path::new("/"));
        while ancestors.len() < ANCESTORS_MAX {
            let nearest = ancestors.last().unwrap_or(self);
            let parent = Log::fork_of(&nearest.log).and_then(|fork| fork.parent.parse().ok());
            match parent {
                Some(id) => ancestors.push(Self::at(directory, id)),
                None => break,
            }
        }
        ancestors
    }

    /// Names the directory of the session's workspace.
    pub(crate) fn work(&self) -> PathBuf {
        self.log.with_extension("work")
    }

    /// Names the directory of the session's control socket.
    pub(crate) fn control(&self) -> PathBuf {
        self.log.with_extension("ctl")
    }

    /// Names the file of the log's seal.
    pub(crate) fn seal(&self) -> PathBuf {
        seal_of(&self.log)
    }

    /// Reads the log, without owning it.
    pub(crate) fn read(self) -> Result<Listed, Failure> {
        let running = Log::running(&self.log);
        let (session, verdict) = Log::read(&self.log).map_err(|fault| Failure::because(&fault))?;
        Ok(Listed { found: self, session, verdict, running })
    }
}

/// Names the file of a log's seal, wherever the log lies.
pub(crate) fn seal_of(log: &Path) -> PathBuf {
    let mut path = log.as_os_str().to_owned();
    path.push(".seal");
    path.into()
}

/// Lists the sessions in a project's directory, oldest first. A missing directory has none.
pub(crate) fn sessions(directory: &Path) -> Vec<Found> {
    let names = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<_> = names
        .filter_map(|entry| {
            let name = entry.file_name();
            let id = name.to_str()?.strip_suffix(".jsonl")?.parse().ok()?;
            Some(Found::at(directory, id))
        })
        .collect();
    found.sort_by_key(|found| found.id);
    found
}

/// Finds the session that a person named, or the newest.
///
/// The end of an id is enough, if it fits only one.
pub(crate) fn session(directory: &Path, named: Option<&str>) -> Result<Found, Failure> {
    let mut all = sessions(directory);
    let Some(name) = named else {
        return all.pop().ok_or_else(|| {
            Failure::start("this project has no session yet; start one with chock run \"...\"")
        });
    };
    let wanted = name.to_ascii_uppercase();
    all.retain(|found| !wanted.is_empty() && found.id.to_string().ends_with(&wanted));
    let shown = crate::visible::visible_line(name);
    match all.len() {
        1 => Ok(all.remove(0)),
        0 => Err(Failure::start(format!(
            "there is no session `{shown}` of this project; chock sessions lists them"
        ))),
        _ => Err(Failure::start(format!(
            "`{shown}` fits {} sessions; give more of the id's end",
            all.len()
        ))),
    }
}

/// Finds the session that a person named, or the newest that runs.
pub(crate) fn running(directory: &Path, named: Option<&str>) -> Result<Found, Failure> {
    let runs = |found: &Found| Log::running(&found.log) == Running::Yes;
    if named.is_some() {
        let found = session(directory, named)?;
        if runs(&found) {
            return Ok(found);
        }
        let id = found.id;
        return Err(Failure::start(format!("session {id} does not run")));
    }
    sessions(directory)
        .into_iter()
        .rev()
        .find(runs)
        .ok_or_else(|| Failure::start("no session of this project runs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_by_the_end_of_its_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let ids = [[1; 10], [2; 10]].map(|random| SessionId::from_parts(5, random));
        for id in ids {
            fs::write(directory.path().join(format!("{id}.jsonl")), "").expect("a file");
        }
        fs::write(directory.path().join("notes.txt"), "").expect("a file");
        let find = |name: Option<&str>| session(directory.path(), name);
        assert_eq!(sessions(directory.path()).len(), 2);
        assert_eq!(find(None).expect("the newest").id, ids[1]);
        let name = ids[0].to_string();
        assert_eq!(find(Some(&name)).expect("the first").id, ids[0]);
        assert_eq!(find(Some(&name[20..].to_lowercase())).expect("the first").id, ids[0]);
        assert!(find(Some("")).is_err() && find(Some("zzz")).is_err());
        assert!(session(Path::new("/nonexistent"), None).is_err());
    }
}
