//! Paths of the project that no tool may read.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::project_path::ProjectPath;

/// The most rows of one project's `deny_read`.
pub const DENIED_MAX: usize = 256;

/// One row of `deny_read`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Denied {
    /// What no tool may read: a file, a directory with everything in it, or a pattern.
    pub path: ProjectPath,
    /// What happens when git tracks it, and so keeps its content where no cover reaches.
    pub tracked: WhenTracked,
}

/// What a session does when git tracks a denied file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenTracked {
    /// It starts, and says so.
    #[default]
    Announce,
    /// It does not start.
    Refuse,
}

impl<'de> Deserialize<'de> for Denied {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = Denied;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a path in quotes, or a struct with a `.path`")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Denied, E> {
        let path = ProjectPath::try_from(text.to_owned()).map_err(E::custom)?;
        Ok(Denied { path, tracked: WhenTracked::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Denied, A::Error> {
        let Row { path, tracked } = Row::deserialize(MapAccessDeserializer::new(fields))?;
        Ok(Denied { path, tracked })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    path: ProjectPath,
    #[serde(default)]
    tracked: WhenTracked,
}

impl fmt::Display for Denied {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tracked {
            WhenTracked::Announce => write!(out, "{}", self.path),
            WhenTracked::Refuse => write!(out, "{} (refused when git tracks it)", self.path),
        }
    }
}
