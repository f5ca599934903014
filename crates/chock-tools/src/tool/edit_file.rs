//! `edit_file`: one piece of a file replaced by another.

use chock_log::{FileFact, Session};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::write_file::{FILE_BYTES_MAX, must_be_known, through};
use super::{Prepared, Tool};
use crate::answer::{Done, Trouble};
use crate::desk::{Desk, Place};
use crate::edit::{EditFault, Style, edit};
use crate::file;
use crate::hands::Handed;
use crate::names::{count, shown};
use crate::said;

pub(crate) struct EditFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file: relative to the working directory, or absolute.
    path: String,
    /// The text to be replaced, exactly as it stands in the file, without line numbers. It must
    /// be there once, unless replace_all is set: take in more lines around it to tell it apart.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence. The default is false.
    replace_all: Option<bool>,
    /// The file_hash that the change builds on. The default is the one last seen.
    file_hash: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    place: Place,
    old: String,
    new: String,
    all: bool,
    /// The hash of the content that the session knows.
    expected: Option<String>,
}

impl Tool for EditFile {
    const NAME: &'static str = "edit_file";
    const DESCRIPTION: &'static str = "Replaces a text in a file with another. The file must have been read with read_file in \
         this session and not changed since. Its line endings, byte order mark and mode are kept: \
         write line breaks as plain \\n.";
    type Arguments = Arguments;

    fn prepare(
        Arguments { path, old_string: old, new_string: new, replace_all, file_hash }: Arguments,
        desk: &Desk,
        session: &Session,
    ) -> Result<Prepared, String> {
        let place = desk.place("path", &path)?;
        if old.is_empty() {
            return Err("`old_string` is empty: name the text to replace, or use write_file to \
                        write a whole file"
                .into());
        }
        if old == new {
            return Err("`old_string` and `new_string` are the same: nothing would change".into());
        }
        let bytes = old.len().max(new.len()) as u64;
        if bytes > FILE_BYTES_MAX {
            return Err(format!("a text of {bytes} bytes: the limit is {FILE_BYTES_MAX}"));
        }
        let all = replace_all.unwrap_or(false);
        let every = if all { " (every occurrence)" } else { "" };
        let head = format!("edit {}{every}", shown(&place.open));
        let effect = said::effect(&head, &[('-', &old), ('+', &new)]);
        let expected = file_hash.or_else(|| session.files.get(&place.key).cloned());
        Ok(Prepared::hand(&Request { place, old, new, all, expected }, effect))
    }
}

impl Handed for EditFile {
    type Request = Request;

    fn work(Request { place, old, new, all, expected }: Request) -> Result<Done, Trouble> {
        let path = shown(&place.open);
        let target = file::target(&place, FILE_BYTES_MAX)?;
        let Some(existing) = &target.existing else {
            return Err(format!("{path} is not there: write_file makes new files").into());
        };
        let before = &existing.bytes;
        must_be_known(&place, before, expected.as_deref())?;
        if before.contains(&0) {
            let text = format!("{path} holds NUL bytes, so it is not text; nothing was written");
            return Err(text.into());
        }
        let edited = edit(before, &old, &new, all).map_err(|fault| worded(&path, fault))?;
        let bytes = edited.bytes.len() as u64;
        if bytes > FILE_BYTES_MAX {
            let text = format!(
                "{path} would have {bytes} bytes: the limit is {FILE_BYTES_MAX}; nothing was \
                 written"
            );
            return Err(text.into());
        }
        file::replace(&place, &target, &edited.bytes)?;
        let hash = file::hash(&edited.bytes);
        let (places, line) = (count(edited.places as u64, "replacement"), edited.line);
        let sizes = format!("{} to {}", before.len(), count(bytes, "byte"));
        let (through, kept) = (through(&target), Style::of(before).name());
        let text = format!(
            "edited {path}{through}: {places} from line {line}, {sizes}{kept}, file_hash {hash}\n"
        );
        Ok(Done { text, file: Some(FileFact { path: place.key, hash }), ..Done::default() })
    }
}

fn worded(path: &str, fault: EditFault) -> Trouble {
    let text = match fault {
        EditFault::Absent(hint) => {
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("`old_string` is not in {path}{hint}; nothing was written")
        }
        EditFault::Several { places, lines } => {
            let more = if places > lines.len() { " and more" } else { "" };
            let lines: Vec<_> = lines.iter().map(usize::to_string).collect();
            format!(
                "`old_string` is in {path} {places} times (lines {}{more}): take in more of the \
                 lines around it, or set `replace_all`; nothing was written",
                lines.join(", ")
            )
        }
    };
    text.into()
}
