//! Where a shell may be, and what a program's path names.

use std::path::{Component, Path, PathBuf};

use chock_log::Action;

use super::ground::Ground;
use crate::desk::clean;

/// More directories than these are no longer told apart.
const PLACES_MAX: usize = 8;

/// Where programs stand that are known by their bare names, besides `PATH`.
const PROGRAMS: [&str; 14] = [
    "/bin",
    "/sbin",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/games",
    "/usr/lib/git-core",
    "/usr/libexec/git-core",
    "/lib",
    "/lib64",
    "/usr/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
];

/// Every directory that a shell may be in at some point of its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Places {
    /// One of these.
    Known(Vec<PathBuf>),
    /// Any.
    Unknown,
}

/// What a program is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Program {
    /// One of the machine's, by its name.
    Bare(String),
    /// Files: one for each place that the shell may be in.
    Files(Vec<Action>),
    /// Nobody knows.
    Unknown,
}

impl Places {
    pub(crate) fn one(place: impl Into<PathBuf>) -> Self {
        Self::Known(vec![place.into()])
    }

    /// One of these or of those.
    pub(crate) fn or(&self, other: &Self) -> Self {
        let (Self::Known(one), Self::Known(two)) = (self, other) else { return Self::Unknown };
        let mut all = one.clone();
        all.extend(two.iter().filter(|place| !one.contains(place)).cloned());
        if all.len() > PLACES_MAX { Self::Unknown } else { Self::Known(all) }
    }

    /// After `cd path`.
    pub(crate) fn moved(&self, path: &str) -> Self {
        match self {
            Self::Known(places) => {
                Self::Known(places.iter().map(|place| clean(&place.join(path))).collect())
            }
            Self::Unknown if path.starts_with('/') => Self::one(clean(Path::new(path))),
            Self::Unknown => Self::Unknown,
        }
    }

    /// Every path that `path` may be; nothing when nobody knows.
    pub(crate) fn paths(&self, path: &str) -> Option<Vec<PathBuf>> {
        match self.moved(path) {
            Self::Known(paths) => Some(paths),
            Self::Unknown => None,
        }
    }
}

impl Ground {
    /// Says what program a word names to a shell.
    pub(crate) fn program(&self, word: &str, places: &Places) -> Program {
        match word {
            "" | "." | ".." => Program::Unknown,
            name if !name.contains('/') => Program::Bare(name.to_owned()),
            path => self.file(path, places),
        }
    }

    /// Says what file a path names, be it a program of the machine or not.
    pub(crate) fn file(&self, path: &str, places: &Places) -> Program {
        // What lies above a link is not what lies above its name.
        let climbs = path.split('/').any(|part| part == "..");
        let Some(paths) = places.paths(path).filter(|_| !climbs) else { return Program::Unknown };
        let mut files = Vec::new();
        for path in paths {
            match self.name(&path) {
                Some(Program::Bare(name)) => return Program::Bare(name),
                Some(Program::Files(named)) => files.extend(named),
                Some(Program::Unknown) | None => return Program::Unknown,
            }
        }
        Program::Files(files)
    }

    fn name(&self, path: &Path) -> Option<Program> {
        let special = ["/dev", "/proc"].iter().any(|place| path.starts_with(place));
        if special {
            return None;
        }
        if let Ok(below) = path.strip_prefix(&self.project) {
            return (below != Path::new("")).then(|| file("exec.workspace", below));
        }
        let parent = path.parent()?;
        let known = PROGRAMS.iter().any(|directory| parent == Path::new(directory))
            || self.programs.iter().any(|directory| parent == directory);
        if known {
            return Some(Program::Bare(path.file_name()?.to_string_lossy().into_owned()));
        }
        Some(match path.strip_prefix("/nix/store") {
            Ok(below) if below != Path::new("") => file("exec.nix.store", below),
            _ => file("exec.file", path),
        })
    }
}

fn file(prefix: &'static str, path: &Path) -> Program {
    let labels: Vec<_> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy()),
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => None,
        })
        .collect();
    let labels: Vec<_> = labels.iter().map(AsRef::as_ref).collect();
    if labels.is_empty() {
        return Program::Unknown;
    }
    Program::Files(vec![Action::below(prefix, &labels)])
}
