//! What came of a review, an undo or a redo: the same on a terminal, in JSON and on the socket.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chock_log::{CommitsBody, NoteBody};
use chock_workspace::{JsonBytes, Parked};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::exit::Exit;
use crate::terminal::{Terminal, Weight};
use crate::visible::{visible, visible_line};

/// How many lines of a conflict are shown.
const CONFLICT_LINES: usize = 60;

/// A path as machine output spells it: text, or `{"bytes": "<base64>"}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PathText(pub(crate) Vec<u8>);

impl Serialize for PathText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JsonBytes(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PathText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Spelled {
            Text(String),
            Bytes { bytes: String },
        }
        Ok(Self(match Spelled::deserialize(deserializer)? {
            Spelled::Text(text) => text.into_bytes(),
            Spelled::Bytes { bytes } => STANDARD.decode(bytes).map_err(serde::de::Error::custom)?,
        }))
    }
}

/// One path that stood in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RefusedRow {
    pub(crate) path: PathText,
    pub(crate) reason: String,
    /// Both sides of the lines that both changed, between marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) conflict: Option<String>,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Paths of the project that were written.
    pub(crate) written: Vec<PathText>,
    /// Changed paths of which something was not taken.
    pub(crate) left: Vec<PathText>,
    /// Paths that stood in the way; then nothing was written.
    pub(crate) refused: Vec<RefusedRow>,
    /// The record of it in the session's log.
    pub(crate) record: Option<u64>,
    /// What was done to refs, where commits were carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commits: Option<CommitsBody>,
    /// The notes for later sessions that the session wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) memory: Vec<NoteBody>,
    /// What a person is told besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

impl Report {
    /// Whether something stood in the way.
    pub(crate) fn exit(&self) -> Exit {
        if self.refused.is_empty() { Exit::Finished } else { Exit::Refused }
    }

    /// Says it, as JSON or for a person. `verb` is what was done to the paths.
    pub(crate) fn tell(
        &self,
        terminal: &mut Terminal,
        (verb, json): (&str, bool),
    ) -> std::io::Result<()> {
        if json {
            return terminal.answer(&serde_json::to_string(self)?);
        }
        for note in &self.notes {
            terminal.say(Weight::Warn, &format!("note: {}", visible_line(note)));
        }
        for path in &self.written {
            let path = visible_line(&String::from_utf8_lossy(&path.0));
            terminal.answer(&format!("{verb} {path}"))?;
        }
        for line in self.commits.iter().flat_map(commit_lines) {
            terminal.answer(&visible_line(&line))?;
        }
        for row in &self.refused {
            let path = visible_line(&String::from_utf8_lossy(&row.path.0));
            terminal.say(Weight::Bad, &format!("refused {path}: {}", visible_line(&row.reason)));
            if let Some(conflict) = &row.conflict {
                show_conflict(terminal, conflict);
            }
        }
        if !self.refused.is_empty() {
            terminal.say(Weight::Plain, "nothing was written: it is all or nothing");
        }
        Ok(())
    }
}

/// Says what happened to refs.
pub(crate) fn commit_lines(commits: &CommitsBody) -> Vec<String> {
    let CommitsBody { count, kept, mode, branch, from, to, parked, .. } = commits;
    let what = if *count == 1 { "1 commit".to_owned() } else { format!("{count} commits") };
    let short = |id: &str| id.chars().take(10).collect::<String>();
    if !branch.is_empty() {
        let name = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        return vec![format!("{name} {}..{} ({mode}, {what})", short(from), short(to))];
    }
    let why = parked.parse::<Parked>().map(|parked| parked.to_string()).unwrap_or_default();
    vec![format!("{kept}: {what}, not on a branch: {why} ({parked})")]
}

/// Shows the places between marks, and not the text around them.
fn show_conflict(terminal: &mut Terminal, text: &str) {
    let mut inside = false;
    let mut shown = 0;
    for line in text.lines() {
        inside |= line.starts_with("<<<<<<< ");
        if inside && shown < CONFLICT_LINES {
            shown += 1;
            terminal.say(Weight::Plain, &format!("  {}", visible(line)));
        }
        inside &= !line.starts_with(">>>>>>> ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_format() {
        let path = |bytes: &[u8]| PathText(bytes.to_vec());
        let report = Report {
            written: vec![path(b"a"), path(b"\xff")],
            left: vec![path(b"b")],
            refused: vec![RefusedRow {
                path: path(b"c"),
                reason: "it changed since".into(),
                conflict: None,
            }],
            record: Some(7),
            commits: None,
            memory: Vec::new(),
            notes: Vec::new(),
        };
        let text = serde_json::to_string(&report).expect("JSON");
        let expected = r#"{"written":["a",{"bytes":"/w=="}],"left":["b"],"refused":[{"path":"c","reason":"it changed since"}],"record":7}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Report>(&text).expect("a report"), report);
    }
}
