//! How the raw result of an act becomes words.

use std::path::PathBuf;
use std::time::Duration;

/// How the raw result of one act becomes words. Made with its proposal, used once.
#[derive(Debug)]
pub struct Reading(pub(crate) How);

/// The two kinds of act.
#[derive(Debug)]
pub(crate) enum How {
    /// A file tool, which words its answer itself.
    Hand,
    /// A command.
    Command(CommandReading),
}

/// What is remembered of a command.
#[derive(Debug)]
pub(crate) struct CommandReading {
    /// How long it may take.
    pub(crate) time: Duration,
    /// Where it starts, as the model named it.
    pub(crate) directory: String,
    /// The shell.
    pub(crate) shell: PathBuf,
}
