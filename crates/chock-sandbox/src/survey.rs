//! Tries every layer of the sandbox on this machine.

use std::path::PathBuf;

use serde::Serialize;

use crate::{KeeperOptions, platform};

/// What a survey needs to try the layers for real.
#[derive(Debug)]
pub struct SurveyOptions {
    /// How keepers are started here. `warm` is ignored: both paths are tried.
    pub keeper: KeeperOptions,
    /// An existing directory where workspaces will live, to try an overlay on its file system.
    /// Nothing stays in it. As root of the machine it must be reachable for the session's user.
    pub scratch: PathBuf,
}

/// Which layers hold on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    pub(crate) rows: Vec<Row>,
}

/// One layer of a [`Survey`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The layer's name, as [`Layer::name`](crate::Layer::name) or `warm path`, `cold path`.
    pub layer: String,
    /// Whether it holds.
    pub state: State,
    /// Whether a session is impossible without it.
    pub blocks: bool,
    /// What was read back, or why it is off.
    pub detail: String,
    /// What a person can do about it; empty when it is on or nothing helps.
    pub cure: String,
}

/// Whether a layer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It was applied and read back.
    On,
    /// It was refused.
    Off,
    /// It does not exist on this platform, or for this user.
    Unsupported,
}

impl Survey {
    /// Returns the rows in the order they are shown.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Says whether a session can be contained: no row that blocks is off.
    #[must_use]
    pub fn can_contain(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| !row.blocks || row.state == State::On)
    }
}

/// Tries each layer in throwaway processes, by the code that confines calls.
///
/// A layer that could not be tried is shown as off.
#[must_use]
pub fn survey(options: &SurveyOptions) -> Survey {
    Survey { rows: platform::survey(options) }
}
