//! `set_title`: what the session is about, in a line.

use chock_log::{Event, Session, TitleBody};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Prepared, Tool};
use crate::desk::Desk;

/// The longest title, in characters: a line of a listing.
const TITLE_LETTERS_MAX: usize = 80;

pub(crate) struct SetTitle;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// One line of at most 80 characters.
    title: String,
}

impl Tool for SetTitle {
    const NAME: &'static str = "set_title";
    const DESCRIPTION: &'static str = "Gives the session a title, by which the person finds it again. A later title replaces \
         it.";
    type Arguments = Arguments;

    fn prepare(Arguments { title }: Arguments, _: &Desk, _: &Session) -> Result<Prepared, String> {
        let title = title.trim().to_owned();
        if title.is_empty() {
            return Err("`title` is empty".into());
        }
        if title.contains(char::is_control) {
            return Err("`title` must be one line without control characters".into());
        }
        let letters = title.chars().count();
        if letters > TITLE_LETTERS_MAX {
            return Err(format!(
                "`title` has {letters} characters: the limit is {TITLE_LETTERS_MAX}"
            ));
        }
        let text = format!("the title is `{title}`\n");
        Ok(Prepared::Note { event: Event::Title(TitleBody { title }), text })
    }
}
