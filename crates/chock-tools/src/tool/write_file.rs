//! `write_file`: a whole file, new or replaced.

use chock_log::{FileFact, Session};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Prepared, Tool};
use crate::answer::{Done, Trouble};
use crate::desk::{Desk, Place};
use crate::edit::Style;
use crate::file::{self, Target};
use crate::hands::Handed;
use crate::names::{count, shown};
use crate::said;

/// The largest file that is written or edited, in bytes.
pub(super) const FILE_BYTES_MAX: u64 = 4 << 20;

pub(crate) struct WriteFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file: relative to the working directory, or absolute. Missing directories are made.
    path: String,
    /// The whole content of the file.
    content: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    place: Place,
    content: String,
    /// The hash of the content that the session knows.
    expected: Option<String>,
}

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    const DESCRIPTION: &'static str = "Writes a whole file, at most 4 MiB. A file that exists already must have been read with \
         read_file in this session and not changed since. Prefer edit_file for a change to a \
         part of a file.";
    type Arguments = Arguments;

    fn prepare(
        Arguments { path, content }: Arguments,
        desk: &Desk,
        session: &Session,
    ) -> Result<Prepared, String> {
        let place = desk.place("path", &path)?;
        let bytes = content.len() as u64;
        if bytes > FILE_BYTES_MAX {
            return Err(format!("`content` has {bytes} bytes: the limit is {FILE_BYTES_MAX}"));
        }
        let head = format!("write {} ({})", shown(&place.open), count(bytes, "byte"));
        let effect = said::effect(&head, &[('+', &content)]);
        let expected = session.files.get(&place.key).cloned();
        Ok(Prepared::hand(&Request { place, content, expected }, effect))
    }
}

impl Handed for WriteFile {
    type Request = Request;

    fn work(Request { place, content, expected }: Request) -> Result<Done, Trouble> {
        let target = file::target(&place, FILE_BYTES_MAX)?;
        let mut bytes = content.into_bytes();
        let mut kept = "";
        if let Some(existing) = &target.existing {
            must_be_known(&place, &existing.bytes, expected.as_deref())?;
            let style = Style::of(&existing.bytes);
            let styled = style.apply(&bytes);
            kept = if styled == bytes { "" } else { style.name() };
            bytes = styled;
        }
        file::replace(&place, &target, &bytes)?;
        let verb = if target.existing.is_some() { "replaced" } else { "made" };
        let size = count(bytes.len() as u64, "byte");
        let hash = file::hash(&bytes);
        let (path, through) = (shown(&place.open), through(&target));
        let text = format!("{verb} {path}{through}: {size}{kept}, file_hash {hash}\n");
        Ok(Done { text, file: Some(FileFact { path: place.key, hash }), ..Done::default() })
    }
}

/// Says which file a link led to.
pub(super) fn through(target: &Target) -> String {
    if !target.linked {
        return String::new();
    }
    format!(" (a link; the file is {})", shown(&target.path.to_string_lossy()))
}

/// Refuses to change a file whose present content the session has not seen.
pub(super) fn must_be_known(
    place: &Place,
    content: &[u8],
    expected: Option<&str>,
) -> Result<(), Trouble> {
    let path = shown(&place.open);
    let hash = file::hash(content);
    match expected {
        Some(expected) if expected == hash => Ok(()),
        Some(expected) => Err(format!(
            "{path} changed since it was read (its hash was {expected} and is {hash}): read it \
             again first; nothing was written"
        )
        .into()),
        None => Err(format!(
            "{path} exists and was not read in this session: read it with read_file first; \
             nothing was written"
        )
        .into()),
    }
}
