//! The block `audit`: where else a session's log goes.

use std::fmt;

use chock_zon::{Node, Place, Spanned};
use serde::Deserialize;

use crate::path::PersonPath;
use crate::project::{NoFields, list};
use crate::source::{Names, Source};

/// The most sinks of one file. Each is written before every act.
pub const SINKS_MAX: usize = 4;

/// A place that gets every line of a session's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sink {
    /// How it is written.
    pub kind: SinkKind,
    /// The directory or the socket: absolute, or below `~/`.
    pub path: PersonPath,
    /// Whether a session stops when the place cannot be written.
    pub required: bool,
    /// Where the row stands.
    pub place: Place,
}

/// How a sink is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SinkKind {
    /// A file for each session in a directory, byte for byte the log.
    Directory,
    /// Messages of RFC 5424 to a unix datagram socket.
    Syslog,
}

impl fmt::Display for Sink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            SinkKind::Directory => "directory",
            SinkKind::Syslog => "syslog",
        };
        let required = if self.required { ", required" } else { "" };
        write!(out, "{kind} {}{required}", self.path)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    kind: SinkKind,
    path: Spanned<PersonPath>,
    required: Option<bool>,
}

const AUDIT: Names = Names { known: &["sinks"], later: &[] };

/// Reads the block of `config.zon`.
pub(crate) fn audit(node: Node<'_>, source: &mut Source<'_>) -> Vec<Sink> {
    if node.entries().len() == 0 {
        let _refused_when_it_is_no_struct = source.read::<NoFields>(node);
    }
    let mut all = Vec::new();
    for entry in node.entries() {
        match entry.name() {
            "sinks" => all = sinks(entry.value(), source),
            _ => source.refuse_name(entry, &AUDIT, "field"),
        }
    }
    all
}

/// Reads the sinks of an organisation's bundle: every one of them is required.
pub(crate) fn required_sinks(node: Node<'_>, source: &mut Source<'_>) -> Vec<Sink> {
    let mut all = sinks(node, source);
    for sink in &mut all {
        if !sink.path.as_str().starts_with('/') {
            source.refuse(sink.place, "a sink of a bundle has an absolute path");
        }
        sink.required = true;
    }
    all
}

/// Puts an organisation's sinks and a person's together. One that both name is required.
pub(crate) fn union(required: &[Sink], own: &[Sink]) -> Vec<Sink> {
    let is_new =
        |sink: &&Sink| !required.iter().any(|one| one.kind == sink.kind && one.path == sink.path);
    required.iter().chain(own.iter().filter(is_new)).cloned().collect()
}

fn sinks(node: Node<'_>, source: &mut Source<'_>) -> Vec<Sink> {
    let mut sinks: Vec<Sink> = Vec::new();
    let rows: Vec<Spanned<Row>> = list(node, SINKS_MAX, "sinks", source);
    for Spanned { value: Row { kind, path, required }, place } in rows {
        if !path.value.is_anchored() {
            source.refuse(path.place, "a sink's path starts with `/` or `~/`");
        }
        let sink = Sink { kind, path: path.value, required: required.unwrap_or(false), place };
        if sinks.iter().any(|one| one.kind == sink.kind && one.path == sink.path) {
            source.refuse(path.place, "this sink is listed already");
        }
        sinks.push(sink);
    }
    sinks
}
