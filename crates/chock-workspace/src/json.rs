//! The machine output of a change set: fields may be added, never changed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::{ChangeSet, FileChange, Hunk, Line, Skipped};

/// Bytes that are a string in JSON when they are UTF-8, else `{"bytes": "<base64>"}`.
#[derive(Debug, Clone, Copy)]
pub struct JsonBytes<'a>(pub &'a [u8]);

impl Serialize for JsonBytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("bytes", &STANDARD.encode(self.0))?;
                map.end()
            }
        }
    }
}

/// `{"base", "snapshot", "files": [..], "skipped": [{"path", "reason"}]}`.
impl Serialize for ChangeSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("ChangeSet", 4)?;
        out.serialize_field("base", &self.base)?;
        out.serialize_field("snapshot", &self.snapshot)?;
        out.serialize_field("files", &self.files)?;
        let skipped: Vec<_> = self.skipped.iter().map(SkippedRow).collect();
        out.serialize_field("skipped", &skipped)?;
        out.end()
    }
}

/// Modes are text in octal, such as `100644`, and `null` for a side that is not there.
impl Serialize for FileChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mode = |mode: u32| (mode != 0).then(|| format!("{mode:06o}"));
        let mut out = serializer.serialize_struct("FileChange", 8)?;
        out.serialize_field("path", &JsonBytes(&self.path))?;
        out.serialize_field("old_path", &self.old_path.as_deref().map(JsonBytes))?;
        out.serialize_field("kind", &self.kind)?;
        out.serialize_field("old_mode", &mode(self.old_mode))?;
        out.serialize_field("new_mode", &mode(self.new_mode))?;
        out.serialize_field("binary", &self.binary)?;
        out.serialize_field("flags", &self.flags)?;
        out.serialize_field("hunks", &self.hunks)?;
        out.end()
    }
}

impl Serialize for Hunk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Hunk", 6)?;
        out.serialize_field("id", &self.id)?;
        out.serialize_field("old_start", &self.old_start)?;
        out.serialize_field("old_lines", &self.old_lines)?;
        out.serialize_field("new_start", &self.new_start)?;
        out.serialize_field("new_lines", &self.new_lines)?;
        let rows: Vec<Vec<u8>> = self.lines.iter().flat_map(rows).collect();
        let rows: Vec<_> = rows.iter().map(|row| JsonBytes(row)).collect();
        out.serialize_field("lines", &rows)?;
        out.end()
    }
}

/// A line without its line feed, and a remark where it has none.
fn rows(line: &Line) -> impl Iterator<Item = Vec<u8>> {
    let (bytes, remark) = match line.bytes.strip_suffix(b"\n") {
        Some(bytes) => (bytes, None),
        None => (line.bytes.as_slice(), Some(b"\\ No newline at end of file".to_vec())),
    };
    std::iter::once([&[line.tag.sign()], bytes].concat()).chain(remark)
}

struct SkippedRow<'a>(&'a Skipped);

impl Serialize for SkippedRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Skipped", 2)?;
        out.serialize_field("path", &JsonBytes(&self.0.path))?;
        out.serialize_field("reason", &self.0.reason)?;
        out.end()
    }
}

#[cfg(test)]
mod tests {
    use super::JsonBytes;

    #[test]
    fn bytes_are_text_where_they_can_be() {
        let text = |bytes| serde_json::to_string(&JsonBytes(bytes)).expect("JSON");
        assert_eq!(text("a\u{e4}".as_bytes()), "\"a\u{e4}\"");
        assert_eq!(text(b"\xff"), "{\"bytes\":\"/w==\"}");
    }
}
