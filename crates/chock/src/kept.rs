//! What the project's file says of the working tree, in the workspace's words.

use std::path::Path;

use chock_config::{self as config, ProjectPath, Sourced, Spanned};
use chock_tools::DeniedRow;
use chock_tools::cage::{CoverKind, Denied};
use chock_workspace::{
    Bind, BindMode, BindPath, CoverPath, CoverRow, Covered, Kind, WhenTracked, Workspace,
};

/// Says what no tool may read.
pub(crate) fn covers(rows: &[Sourced<config::Denied>]) -> Vec<CoverRow> {
    rows.iter().map(|row| cover(&row.value)).collect()
}

fn cover(row: &config::Denied) -> CoverRow {
    let path = match &row.path {
        ProjectPath::Name(name) => CoverPath::Name {
            path: name.as_str().into(),
            kind: if name.is_directory() { Kind::Directory } else { Kind::File },
        },
        ProjectPath::Pattern(pattern) => CoverPath::Pattern {
            glob: pattern.glob().clone(),
            directories_only: pattern.directories_only(),
        },
    };
    let tracked = match row.tracked {
        config::WhenTracked::Announce => WhenTracked::Announce,
        config::WhenTracked::Refuse => WhenTracked::Refuse,
    };
    CoverRow { path, tracked }
}

/// Says which ignored paths the session gets.
pub(crate) fn binds(rows: &[Spanned<config::Bind>]) -> Vec<Bind> {
    rows.iter().map(|row| bind(&row.value)).collect()
}

fn bind(row: &config::Bind) -> Bind {
    let path = match &row.name {
        ProjectPath::Name(name) => BindPath::Name(name.as_str().into()),
        ProjectPath::Pattern(pattern) => BindPath::Pattern {
            glob: pattern.glob().clone(),
            directories_only: pattern.directories_only(),
        },
    };
    let mode = match row.mode {
        config::BindMode::ReadOnly => BindMode::ReadOnly,
        config::BindMode::Copy => BindMode::Copy,
        config::BindMode::TempCopy => BindMode::TempCopy,
        config::BindMode::Write => BindMode::Write,
    };
    Bind { path, mode, required: row.required }
}

/// Says what the cage covers.
pub(crate) fn denied(workspace: &Workspace) -> Vec<Denied> {
    let denied = |cover: &Covered| {
        let kind = match cover.kind {
            Kind::File => CoverKind::File,
            Kind::Directory => CoverKind::Directory,
        };
        Denied { path: cover.path.clone(), kind }
    };
    workspace.covered().iter().map(denied).collect()
}

/// Says which row the person wrote for each path that the cage covers.
pub(crate) fn rows(
    workspace: &Workspace,
    project: &Path,
    rows: &[Sourced<config::Denied>],
) -> Vec<DeniedRow> {
    let row = |cover: &Covered| {
        let row = rows.get(cover.row)?;
        let row = format!("\"{}\" ({})", row.value.path, row.origin);
        Some(DeniedRow { path: project.join(&cover.path), row })
    };
    workspace.covered().iter().filter_map(row).collect()
}
