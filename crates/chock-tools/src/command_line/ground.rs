//! Where command lines are run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use chock_log::Action;

use super::name;

/// What the names of a command line depend on.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The top of the project, in the cage.
    pub(crate) project: PathBuf,
    /// Where the line is run.
    pub(crate) directory: PathBuf,
    /// The home of commands; empty when they have none.
    pub(crate) home: String,
    /// The directories of `PATH`: a program that stands there goes by its name.
    pub(crate) programs: Vec<PathBuf>,
}

impl Ground {
    /// Takes the top of the project and the directory of the command, both absolute as the cage
    /// has them, and the environment of commands, of which `HOME` and `PATH` count.
    #[must_use]
    pub fn new(project: &Path, directory: &Path, environment: &[(OsString, OsString)]) -> Self {
        let value = |name: &str| -> &OsStr {
            let variable = environment.iter().find(|(variable, _)| variable == name);
            variable.map(|(_, value)| value.as_os_str()).unwrap_or_default()
        };
        Self {
            project: project.to_owned(),
            directory: directory.to_owned(),
            home: value("HOME").to_string_lossy().into_owned(),
            programs: std::env::split_paths(value("PATH")).collect(),
        }
    }

    /// Names what a command line starts when a shell reads it, each name once.
    ///
    /// What cannot be read is `exec.unparsed`; so is a line over 64 KiB, with over 512 commands,
    /// or nested over 40 deep. There are at most 97 names.
    #[must_use]
    pub fn line(&self, text: &str) -> Vec<Action> {
        name::line(text, self).actions
    }

    /// Names what a command starts that no shell reads: a program and its arguments.
    #[must_use]
    pub fn words(&self, words: &[OsString]) -> Vec<Action> {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        name::words(&words, self).actions
    }
}
