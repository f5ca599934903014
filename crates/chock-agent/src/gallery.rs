//! The pictures of a conversation: kept before a record names them, and put into requests.

use std::collections::BTreeSet;
use std::sync::Arc;

use chock_log::{Picture, Pictures};
use chock_provider::{Context, Message};
use chock_tools::Shown;

/// The most pictures of one request, the newest: fewer than any wire takes.
const SHOWN_MAX: usize = 20;

/// The most bytes of pictures in one request: in base64 they stay under 20 MiB with the rest.
const SHOWN_BYTES_MAX: usize = 12 << 20;

/// The pictures of a session, and whether its model is shown any.
#[derive(Debug, Clone)]
pub struct Gallery {
    /// Where they are kept.
    pub pictures: Pictures,
    /// Whether the model takes pictures.
    pub is_shown: bool,
}

impl Gallery {
    /// Keeps what a call shows. The words say why it cannot be.
    pub(crate) fn keep(&self, shown: &Shown) -> Result<Picture, String> {
        let kept = self.pictures.keep(shown.media_type, &shown.content);
        kept.map_err(|fault| format!("the picture cannot be kept, so it is not shown: {fault}"))
    }

    /// Puts the content of pictures into a request, newest first as far as the bounds go. For one
    /// that is not sent, `refused` ones among them, words stand in its place.
    pub(crate) fn fill(&self, context: &mut Context, refused: &BTreeSet<String>) {
        let (mut count, mut bytes) = (0, 0);
        let old = std::mem::take(&mut context.messages);
        let mut messages = Vec::with_capacity(old.len());
        for message in old.into_iter().rev() {
            let Message::Picture { call, mut picture } = message else {
                messages.push(message);
                continue;
            };
            let content = match (self.is_shown, count < SHOWN_MAX && bytes < SHOWN_BYTES_MAX) {
                (false, _) => Err("this model takes no pictures"),
                (true, false) => Err("it lies too far back"),
                (true, true) if refused.contains(&picture.hash) => Err("the provider refused it"),
                (true, true) => self.pictures.read(&picture.hash).ok_or("it is no longer kept"),
            };
            match content {
                Ok(content) if bytes + content.len() <= SHOWN_BYTES_MAX => {
                    count += 1;
                    bytes += content.len();
                    picture.content = Arc::from(content);
                    messages.push(Message::Picture { call, picture });
                }
                Ok(_) => messages.push(in_words(call, "there are too many")),
                Err(why) => messages.push(in_words(call, why)),
            }
        }
        messages.reverse();
        context.messages = messages;
    }
}

fn in_words(call: Option<String>, why: &str) -> Message {
    let whose = match call {
        Some(_) => "A picture of a result above",
        None => "A picture that the person showed",
    };
    Message::User { text: format!("[chock] {whose} is not shown here: {why}.") }
}

/// Makes the message of a picture, without its content.
pub(crate) fn message(call: Option<&str>, picture: &Picture) -> Message {
    Message::Picture {
        call: call.map(str::to_owned),
        picture: chock_provider::Picture {
            media_type: picture.media_type.clone(),
            hash: picture.hash.clone(),
            content: Arc::from([]),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_pictures_are_shown_and_words_stand_for_the_others() {
        let top = tempfile::tempdir().expect("a directory");
        let pictures = Pictures::beside(&top.path().join("s.jsonl"));
        let keep = |number: usize| pictures.keep("image/png", &vec![number as u8; 700_000]);
        let mut kept: Vec<_> = (0..25).map(|number| keep(number).expect("kept")).collect();
        kept.push(Picture { hash: "0".repeat(64), ..kept[0].clone() });
        let messages: Vec<_> = kept.iter().map(|picture| message(Some("a"), picture)).collect();
        let refused = BTreeSet::from([kept[24].hash.clone()]);
        let context = Context { messages, ..Context::default() };
        let check = |is_shown, expected: usize, words: &[&str]| {
            let mut context = context.clone();
            Gallery { pictures: pictures.clone(), is_shown }.fill(&mut context, &refused);
            let shown = context.messages.iter().filter(|it| matches!(it, Message::Picture { .. }));
            assert_eq!(shown.count(), expected);
            let text = format!("{:?}", context.messages.last());
            assert!(words.iter().all(|words| text.contains(words)), "{text}");
            assert_eq!(context.messages.len(), 26);
        };
        check(true, SHOWN_BYTES_MAX / 700_000, &["no longer kept"]);
        check(false, 0, &["takes no pictures"]);
    }
}
