//! `read_image`: a picture, as the model sees it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chock_log::{FileFact, PICTURE_BYTES_MAX, Session};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Prepared, Tool};
use crate::answer::{Done, Trouble};
use crate::desk::{Desk, Place};
use crate::file;
use crate::hands::Handed;
use crate::names::{count, shown};
use crate::picture::look;

pub(crate) struct ReadImage;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The picture: relative to the working directory, or absolute.
    path: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    place: Place,
}

impl Tool for ReadImage {
    const NAME: &'static str = "read_image";
    const DESCRIPTION: &'static str =
        "Shows a picture: PNG, JPEG, GIF or WebP, whatever its name, of at most 3 MiB.";
    type Arguments = Arguments;

    fn prepare(
        Arguments { path }: Arguments,
        desk: &Desk,
        _: &Session,
    ) -> Result<Prepared, String> {
        let place = desk.place("path", &path)?;
        let effect = format!("look at {}", shown(&place.open));
        Ok(Prepared::hand(&Request { place }, effect))
    }
}

impl Handed for ReadImage {
    type Request = Request;

    fn work(Request { place }: Request) -> Result<Done, Trouble> {
        let bytes = file::read(&place, PICTURE_BYTES_MAX as u64)?;
        let path = shown(&place.open);
        let seen = look(&bytes).map_err(|words| format!("cannot show {path}: {words}"))?;
        let (hash, size) = (file::hash(&bytes), count(bytes.len() as u64, "byte"));
        let text = format!(
            "[chock: {path}: {} of {} x {} pixels, {size}, file_hash {hash}]\n",
            seen.name, seen.width, seen.height
        );
        let picture = Some(STANDARD.encode(&bytes));
        Ok(Done {
            text,
            file: Some(FileFact { path: place.key, hash }),
            picture,
            ..Done::default()
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::answer::Answer;
    use crate::hands::tests::ask;
    use crate::picture::tests::png;

    fn see(contents: &[u8]) -> Answer {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f.txt");
        std::fs::write(&path, contents).unwrap();
        let open = path.to_str().unwrap().to_owned();
        let place = Place { open, key: "/p/f".into(), inside: true };
        ask("read_image", &serde_json::to_vec(&Request { place }).unwrap())
    }

    #[test]
    fn a_picture_is_told_by_its_content_and_comes_whole() {
        let Answer::Done(done) = see(&png()) else { panic!("a picture") };
        assert_eq!(done.picture, Some(STANDARD.encode(png())));
        assert!(done.text.contains("PNG of 1 x 2 pixels, 45 bytes, file_hash"), "{}", done.text);
        let words = |answer| match answer {
            Answer::Fault(words) => words,
            other => panic!("{other:?}"),
        };
        assert!(words(see(b"hello")).contains("it is no picture"));
        assert!(words(see(&vec![0; PICTURE_BYTES_MAX + 1])).contains("the limit of this tool is"));
    }
}
