//! Ignored paths of the project that a session gets.

use std::fmt;

use chock_zon::{Node, Place, Spanned, quoted};
use serde::Deserialize;

use crate::project::list;
use crate::project_path::ProjectPath;
use crate::source::{Names, Source};

/// The most rows of one project's `workspace.binds`.
pub const BINDS_MAX: usize = 64;

/// One row of `workspace.binds`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// What is carried in: a file, a directory, or everything that a pattern matches.
    pub name: ProjectPath,
    /// How.
    pub mode: BindMode,
    /// Whether the session does not start when there is nothing of that name.
    pub required: bool,
}

/// How a path is carried into a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BindMode {
    /// It can be read and not changed.
    ReadOnly,
    /// A copy, which is carried back by review.
    Copy,
    /// A copy that is thrown away with the session.
    TempCopy,
    /// The path itself: what the session writes is in the project at once.
    Write,
}

impl BindMode {
    /// The word for it in the file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Copy => "copy",
            Self::TempCopy => "temp_copy",
            Self::Write => "write",
        }
    }

    /// What it changes, as half a sentence.
    pub(crate) fn effect(self) -> &'static str {
        match self {
            Self::ReadOnly => "lets every tool read it, with all that is in it",
            Self::Copy | Self::TempCopy => "lets every tool read a copy, with all that is in it",
            Self::Write => {
                "lets every tool read it and WRITE THE REAL ONE, at once and without review"
            }
        }
    }
}

impl fmt::Display for Bind {
    /// Writes the row as ZON, in plain ASCII on one line.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, mode, required } = self;
        let (name, mode) = (quoted(&name.to_string()), mode.word());
        write!(out, ".{{ .name = {name}, .mode = .{mode}, .required = {required} }}")
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: Spanned<ProjectPath>,
    mode: BindMode,
    required: Option<bool>,
}

const WORKSPACE: Names = Names { known: &["binds"], later: &[] };

/// Reads the block `workspace`.
pub(crate) fn workspace(node: Node<'_>, source: &mut Source<'_>) -> Vec<Spanned<Bind>> {
    let mut binds = Vec::new();
    if node.entries().len() == 0 {
        let _refused_when_it_is_no_struct = source.read::<crate::project::NoFields>(node);
    }
    for entry in node.entries() {
        match entry.name() {
            "binds" => {
                let rows = list::<Row>(entry.value(), BINDS_MAX, "binds", source);
                binds = rows.into_iter().filter_map(|row| checked(row, source)).collect();
            }
            _ => source.refuse_name(entry, &WORKSPACE, "field of `workspace`"),
        }
    }
    binds
}

fn checked(row: Spanned<Row>, source: &mut Source<'_>) -> Option<Spanned<Bind>> {
    let Row { name, mode, required } = row.value;
    let is_pattern = matches!(name.value, ProjectPath::Pattern(_));
    if let Some(why) = refusal(mode, is_pattern, required) {
        source.refuse(name.place, why);
        return None;
    }
    let required = required.unwrap_or(!is_pattern);
    Some(spanned(row.place, Bind { name: name.value, mode, required }))
}

fn refusal(mode: BindMode, is_pattern: bool, required: Option<bool>) -> Option<&'static str> {
    match (mode, is_pattern, required) {
        // What a pattern matches can change after a person has accepted it.
        (BindMode::Write, true, _) => Some("what is written in place is named without a pattern"),
        (_, true, Some(true)) => Some("a pattern may match nothing, so it is never required"),
        (_, _, _) => None,
    }
}

fn spanned<T>(place: Place, value: T) -> Spanned<T> {
    Spanned { value, place }
}
