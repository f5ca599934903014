//! Where Chock keeps its files.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::exit::Failure;

/// The most directories of packages' data that are looked at.
const DATA_DIRECTORIES_MAX: usize = 16;

/// Chock's own directories, after the XDG base directory specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    /// The person's home, if there is one.
    pub(crate) home: Option<PathBuf>,
    /// `config.zon`, `tokens.zon`.
    pub(crate) config: PathBuf,
    /// What was accepted, the installation's key, and notes.
    pub(crate) data: PathBuf,
    /// Sessions.
    pub(crate) state: PathBuf,
    /// Bases, which can be made again.
    pub(crate) cache: PathBuf,
    /// Where packages put skills, at most 16 directories; the first that has one counts.
    pub(crate) packaged_skills: Vec<PathBuf>,
}

impl Places {
    /// Finds the directories from the environment.
    ///
    /// A variable that is empty or relative counts as unset, as the specification says. A cage is
    /// made of state and cache, and follows no link: a home or a `.cache` that is one is followed
    /// here.
    pub(crate) fn find(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, Failure> {
        let path = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = path("HOME");
        let place = |name: &str, below: &str| {
            let place = path(name).or_else(|| home.as_ref().map(|home| home.join(below)));
            place.map(|place| place.join("chock")).ok_or_else(|| {
                Failure::start(format!("HOME is not set: set it, or {name}, to an absolute path"))
            })
        };
        Ok(Self {
            config: place("XDG_CONFIG_HOME", ".config")?,
            data: place("XDG_DATA_HOME", ".local/share")?,
            state: without_links(&place("XDG_STATE_HOME", ".local/state")?),
            cache: without_links(&place("XDG_CACHE_HOME", ".cache")?),
            packaged_skills: packaged_skills(variable("XDG_DATA_DIRS")),
            home,
        })
    }

    /// Lists every directory of Chock's.
    pub(crate) fn own(&self) -> Vec<PathBuf> {
        vec![self.config.clone(), self.data.clone(), self.state.clone(), self.cache.clone()]
    }

    /// Names the directory of a project's sessions.
    pub(crate) fn sessions(&self, project: &Path) -> PathBuf {
        self.state.join("sessions").join(slug(project))
    }

    /// Names the file of what the person answered for good, in every project.
    pub(crate) fn answers(&self) -> PathBuf {
        self.data.join("answers.zon")
    }

    /// Names the file of what the person accepted, of every project.
    pub(crate) fn accepted(&self) -> PathBuf {
        self.data.join("accepted.zon")
    }

    /// Names the directory of a project's notes.
    pub(crate) fn notes(&self, project: &Path) -> PathBuf {
        self.data.join("memory").join(slug(project))
    }

    /// Names the directory of the logs of a project's `exec`.
    pub(crate) fn executions(&self, project: &Path) -> PathBuf {
        self.state.join("exec").join(slug(project))
    }
}

/// Follows the links in what is there of a path.
fn without_links(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), _, _) => real,
        (Err(_), Some(parent), Some(name)) => without_links(parent).join(name),
        (Err(_), _, _) => path.to_owned(),
    }
}

/// Finds the directories of packages' skills, as the specification finds packages' data.
fn packaged_skills(variable: Option<OsString>) -> Vec<PathBuf> {
    let set = variable.filter(|value| !value.is_empty());
    let all = set.unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    let absolute = std::env::split_paths(&all).filter(|path| path.is_absolute());
    absolute.take(DATA_DIRECTORIES_MAX).map(|path| path.join("agent-skills")).collect()
}

/// Names a project: what a person recognises, and a short hash of its real path.
pub(crate) fn slug(project: &Path) -> String {
    let name = project.file_name().unwrap_or_default().to_string_lossy();
    let readable: String =
        name.chars()
            .map(|letter| {
                if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '-' }
            })
            .take(40)
            .collect();
    let digest = Sha256::digest(project.as_os_str().as_bytes());
    let short: String = digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{short}", readable.trim_start_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(set: &[(&str, &str)]) -> Result<Places, Failure> {
        Places::find(|name| {
            set.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_variables_of_the_specification_are_honoured() {
        let places = find(&[("HOME", "/home/me"), ("XDG_STATE_HOME", "/s")]).expect("places");
        assert_eq!(places.config, Path::new("/home/me/.config/chock"));
        assert_eq!(places.state, Path::new("/s/chock"));
        let relative = find(&[("HOME", "/home/me"), ("XDG_STATE_HOME", "s")]).expect("places");
        assert_eq!(relative.state, Path::new("/home/me/.local/state/chock"));
    }

    #[test]
    fn without_a_home_the_variable_to_set_is_named() {
        let failure = find(&[]).expect_err("no home");
        assert!(failure.message.contains("HOME is not set"), "{failure}");
        assert!(find(&[("HOME", "")]).is_err());
    }

    #[test]
    fn projects_of_the_same_name_have_slugs_of_their_own() {
        let (one, two) = (slug(Path::new("/a/my app")), slug(Path::new("/b/my app")));
        assert!(one.starts_with("my-app-") && two.starts_with("my-app-") && one != two);
        assert!(slug(Path::new("/")).len() > 4);
        assert!(!slug(Path::new("/a/..x")).starts_with('.'));
    }
}
