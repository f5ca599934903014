//! Puts a conversation into the order that every wire insists on.

use chock_log::{ModelMessage, ToolCall};

use crate::context::{Message, Picture};

/// What stands for a result that is missing, so that the request stays valid.
const NO_RESULT: &str = "no result was recorded for this call";

/// One turn of a conversation as wires want it.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    /// Words and pictures of the person, joined when they stood together.
    User(Vec<Piece<'a>>),
    /// A reply that is not empty.
    Reply {
        /// The reply.
        message: &'a ModelMessage,
        /// Each call with its result, in the order of the calls.
        results: Vec<Answer<'a>>,
    },
}

/// One piece of what a person says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Piece<'a> {
    Words(&'a str),
    Picture(&'a Picture),
}

/// A call with its result.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) text: &'a str,
    pub(crate) is_error: bool,
    pub(crate) pictures: Vec<&'a Picture>,
}

/// Orders `messages`: results directly behind the reply that called, users joined,
/// empty replies left out, words between a reply and its results behind them.
///
/// A result that no call asked for is left out, as every wire refuses it.
pub(crate) fn turns(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        match message {
            Message::User { text } if text.trim().is_empty() => {}
            Message::User { text } => push_user(&mut turns, Piece::Words(text)),
            Message::Picture { call: None, picture } => {
                push_user(&mut turns, Piece::Picture(picture));
            }
            Message::Model(message) => {
                if !message.is_empty() {
                    let results = answers(message, &messages[place + 1..]);
                    turns.push(Turn::Reply { message, results });
                }
            }
            // Taken with the reply that called.
            Message::Result { .. } | Message::Picture { .. } => {}
        }
    }
    turns
}

fn push_user<'a>(turns: &mut Vec<Turn<'a>>, piece: Piece<'a>) {
    match turns.last_mut() {
        Some(Turn::User(pieces)) => pieces.push(piece),
        Some(Turn::Reply { .. }) | None => turns.push(Turn::User(vec![piece])),
    }
}

fn answers<'a>(message: &'a ModelMessage, after: &'a [Message]) -> Vec<Answer<'a>> {
    let until = after.iter().position(|next| matches!(next, Message::Model(_)));
    let after = &after[..until.unwrap_or(after.len())];
    let result_of = |id: &str| {
        after.iter().find_map(|next| match next {
            Message::Result { call, text, is_error, .. } if call == id => {
                Some((text.as_str(), *is_error))
            }
            Message::Result { .. }
            | Message::User { .. }
            | Message::Model(_)
            | Message::Picture { .. } => None,
        })
    };
    let pictures_of = |id: &str| {
        let pictures = after.iter().filter_map(|next| match next {
            Message::Picture { call: Some(call), picture } if call == id => Some(picture),
            Message::Picture { .. }
            | Message::Result { .. }
            | Message::User { .. }
            | Message::Model(_) => None,
        });
        pictures.collect()
    };
    let answer = |call: &'a ToolCall| {
        let (text, is_error) = result_of(&call.id).unwrap_or((NO_RESULT, true));
        Answer { call, text, is_error, pictures: pictures_of(&call.id) }
    };
    message.calls().map(answer).collect()
}

#[cfg(test)]
mod tests {
    use chock_log::{Part, Stop};

    use super::*;

    fn user(text: &str) -> Message {
        Message::User { text: text.to_owned() }
    }

    fn result(call: &str) -> Message {
        let text = format!("result of {call}");
        Message::Result { call: call.to_owned(), tool: "t".to_owned(), text, is_error: false }
    }

    fn reply(text: &str, calls: &[&str]) -> Message {
        let call = |id: &&str| {
            let (name, arguments) = ("t".to_owned(), "{}".to_owned());
            Part::Call(ToolCall { id: (*id).to_owned(), name, arguments })
        };
        let parts = [Part::Text(text.to_owned())].into_iter().chain(calls.iter().map(call));
        Message::Model(ModelMessage {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            parts: parts.collect(),
            stop: Stop::Finished,
        })
    }

    /// Writes turns as `u:words` and `r:words>call=result`.
    fn check(messages: &[Message], expected: &[&str]) {
        let written: Vec<_> = turns(messages)
            .iter()
            .map(|turn| match turn {
                Turn::User(pieces) => {
                    let words = pieces.iter().map(|piece| match piece {
                        Piece::Words(words) => (*words).to_owned(),
                        Piece::Picture(picture) => format!("<{}>", picture.hash),
                    });
                    format!("u:{}", words.collect::<Vec<_>>().join("+"))
                }
                Turn::Reply { message, results } => {
                    let results = results.iter().map(|Answer { call, text, pictures, .. }| {
                        let pictures = pictures.iter().map(|it| format!("<{}>", it.hash));
                        format!(">{}={text}{}", call.id, pictures.collect::<String>())
                    });
                    format!("r:{}{}", message.text(), results.collect::<String>())
                }
            })
            .collect();
        assert_eq!(written, expected);
    }

    #[test]
    fn pictures_stand_with_what_they_belong_to() {
        let picture = |call: Option<&str>, hash: &str| Message::Picture {
            call: call.map(str::to_owned),
            picture: Picture {
                media_type: "image/png".to_owned(),
                hash: hash.to_owned(),
                content: [1].into(),
            },
        };
        check(
            &[
                picture(None, "p"),
                user("go"),
                reply("x", &["a", "b"]),
                result("a"),
                picture(Some("a"), "q"),
                result("b"),
                picture(Some("z"), "lost"),
                picture(None, "r"),
            ],
            &["u:<p>+go", "r:x>a=result of a<q>>b=result of b", "u:<r>"],
        );
    }

    #[test]
    fn results_stand_behind_their_calls() {
        check(
            &[user("go"), reply("x", &["a", "b"]), result("b"), user("note"), result("a")],
            &["u:go", "r:x>a=result of a>b=result of b", "u:note"],
        );
    }

    #[test]
    fn a_missing_result_is_named_and_a_stray_one_dropped() {
        check(
            &[user("go"), result("z"), reply("x", &["a"]), reply("y", &["b"]), result("a")],
            &["u:go", &format!("r:x>a={NO_RESULT}"), &format!("r:y>b={NO_RESULT}")],
        );
    }

    #[test]
    fn users_join_over_an_empty_reply() {
        check(&[user("a"), reply(" ", &[]), user(""), user("b")], &["u:a+b"]);
    }
}
