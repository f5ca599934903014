//! What every command starts from: the environment, the directories, this binary.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

use chock_log::{Clock, SessionId};
use chock_sandbox::{Containment, KeeperOptions, SessionUser};
use chock_tools::cage::Host;
use chock_workspace::{Owner, Project, Surroundings};
use jiff::Timestamp;

use crate::exit::Failure;
use crate::places::Places;

/// The user and group of a session when Chock runs as root of the machine.
///
/// A number that distributions leave unused: Debian's policy reserves 65000 to 65533.
const SESSION_ID: u32 = 65_531;

/// The process's surroundings, read once at the start.
pub(crate) struct Program {
    pub(crate) variables: BTreeMap<OsString, OsString>,
    pub(crate) directory: PathBuf,
    pub(crate) places: Places,
    /// The organisation's bundle that the command line names.
    pub(crate) org_bundle: Option<PathBuf>,
    binary: File,
    is_root: bool,
}

impl Program {
    /// Reads the environment, the working directory and this binary.
    pub(crate) fn new() -> Result<Self, Failure> {
        let variables: BTreeMap<_, _> = std::env::vars_os().collect();
        let directory = std::env::current_dir().map_err(|fault| {
            Failure::start(format!("the current directory cannot be read: {fault}"))
        })?;
        let binary = File::open("/proc/self/exe").map_err(|fault| {
            Failure::start(format!("cannot open this program through /proc: {fault}"))
        })?;
        let places = Places::find(|name| variables.get(OsStr::new(name)).cloned())?;
        let is_root = is_machine_root()?;
        Ok(Self { variables, directory, places, org_bundle: None, binary, is_root })
    }

    /// Says whether the terminal has no full screen, as `TERM` tells.
    pub(crate) fn draws_lines_only(&self) -> bool {
        let kind = self.variables.get(OsStr::new("TERM"));
        kind.is_none_or(|kind| kind.is_empty() || kind == "dumb")
    }

    /// Holds everything to the organisation's bundle that the command line names.
    pub(crate) fn under(self, org_bundle: Option<PathBuf>) -> Self {
        let org_bundle = org_bundle.map(|path| self.directory.join(path));
        Self { org_bundle, ..self }
    }

    /// Returns the same program with directories and a home of its own, for the demo.
    pub(crate) fn moved_to(&self, home: &Path) -> Result<Self, Failure> {
        let mut variables = self.variables.clone();
        variables.retain(|name, _| !name.to_string_lossy().starts_with("XDG_"));
        variables.insert("HOME".into(), home.into());
        Ok(Self {
            places: Places::find(|name| variables.get(OsStr::new(name)).cloned())?,
            variables,
            directory: self.directory.clone(),
            org_bundle: None,
            binary: self.binary()?,
            is_root: self.is_root,
        })
    }

    /// Finds the project that a command is about.
    pub(crate) fn project(&self, named: Option<&Path>) -> Result<Project, Failure> {
        let start = self.directory.join(named.unwrap_or(Path::new(".")));
        let variable = |name: &str| self.variables.get(OsStr::new(name)).map(PathBuf::from);
        let surroundings = Surroundings {
            search_path: self.variables.get(OsStr::new("PATH")).cloned().unwrap_or_default(),
            home: self.places.home.clone(),
            config_home: variable("XDG_CONFIG_HOME"),
            own_directories: self.places.own(),
        };
        Project::find(&start, &surroundings).map_err(|fault| Failure::because(&fault))
    }

    /// Says how a keeper is started here.
    pub(crate) fn keeper_options(&self) -> Result<KeeperOptions, Failure> {
        Ok(KeeperOptions {
            program: self.binary()?,
            session_user: self.session_user(),
            containment: Containment::BestEffort,
            // One is made while another is used: calls in a row wait half as long as with one.
            warm: 2,
        })
    }

    /// Says what the cage needs to know of this machine and person.
    pub(crate) fn host(&self) -> Host {
        let search_path = self.variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let user = self.session_user().unwrap_or(SessionUser {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
        });
        Host {
            home: self.places.home.clone(),
            path: std::env::split_paths(&search_path).collect(),
            variables: self.variables.clone(),
            is_root: self.is_root,
            uid: user.uid,
            gid: user.gid,
        }
    }

    /// Names the unprivileged user of a session, when Chock runs as root of the machine.
    pub(crate) fn session_user(&self) -> Option<SessionUser> {
        self.is_root.then_some(SessionUser { uid: SESSION_ID, gid: SESSION_ID })
    }

    /// Names the owner of a session's files, when that is not the caller.
    pub(crate) fn owner(&self) -> Option<Owner> {
        self.session_user().map(|user| Owner { uid: user.uid, gid: user.gid })
    }

    fn binary(&self) -> Result<File, Failure> {
        self.binary
            .try_clone()
            .map_err(|fault| Failure::start(format!("no descriptor is left: {fault}")))
    }
}

/// Tells the time of records.
pub(crate) fn clock() -> Clock {
    Box::new(Timestamp::now)
}

/// Makes the name of a new session.
pub(crate) fn new_session() -> Result<SessionId, Failure> {
    let mut random = [0; 10];
    getrandom::fill(&mut random)
        .map_err(|fault| Failure::start(format!("the system gives no random bytes: {fault}")))?;
    let milliseconds = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default();
    Ok(SessionId::from_parts(milliseconds, random))
}

/// Says whether this process is root of the machine, with other users to become.
///
/// User 0 of a container's own namespace is a plain user to the kernel: then the first line
/// of the map does not lead from 0 to 0.
fn is_machine_root() -> Result<bool, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(false);
    }
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let first = map.lines().next().unwrap_or_default();
    let numbers: Vec<u64> = first.split_ascii_whitespace().flat_map(str::parse).collect();
    match numbers[..] {
        [0, 0, users] if users > u64::from(SESSION_ID) => Ok(true),
        [0, 0, _] | [] => Err(Failure::start(
            "this is the machine's root, in a namespace where it cannot become another user: \
             a session never runs as root, so start chock as a plain user",
        )),
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_sessions_have_names_of_their_own() {
        let (one, two) = (new_session().expect("a name"), new_session().expect("a name"));
        assert_ne!(one, two);
    }
}
