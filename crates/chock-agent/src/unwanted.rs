//! Leaves out the pictures that a provider refuses, so that they do not stop a conversation.

use std::collections::BTreeSet;

use chock_log::{Event, NoticeBody, Session};
use chock_provider::{Context, Message};

use crate::agent::{Agent, Finish};
use crate::seams::Sight;

/// What stands before a picture's hash in the word of the fact that it was refused.
const WORD: &str = "refused picture ";

impl Agent<'_> {
    /// Leaves out the pictures that a refusal of a request can be about: those that no earlier
    /// request of this run had, or all of them. It is a record before anything is asked again.
    /// Says whether there were any.
    pub(crate) fn leave_out_pictures(&mut self, context: &Context) -> Result<bool, Finish> {
        let shown = hashes(context);
        let new: BTreeSet<_> = shown.difference(&self.taken).cloned().collect();
        let suspects = if new.is_empty() { shown } else { new };
        if suspects.is_empty() {
            return Ok(false);
        }
        let what = match suspects.len() {
            1 => "a picture".to_owned(),
            count => format!("{count} pictures"),
        };
        let warning = format!("the provider refused {what}; words are sent instead");
        (self.house.watcher)(Sight::Warning(&warning));
        let text = format!("Left out, since the provider does not take it: {what}.");
        let facts = suspects.iter().map(|hash| format!("{WORD}{hash}")).collect();
        self.record(Event::Notice(NoticeBody { text, facts, ..NoticeBody::default() }))?;
        Ok(true)
    }

    /// Remembers the pictures of a request that was answered.
    pub(crate) fn remember_pictures(&mut self, context: &Context) {
        self.taken.extend(hashes(context));
    }
}

/// Returns the hashes of the pictures that were refused in this session.
pub(crate) fn refused(session: &Session) -> BTreeSet<String> {
    let words = session.told.keys().filter_map(|word| word.strip_prefix(WORD));
    words.map(str::to_owned).collect()
}

/// Returns the hashes of the pictures that a request shows.
fn hashes(context: &Context) -> BTreeSet<String> {
    let hash = |message: &Message| {
        if let Message::Picture { picture, .. } = message {
            return Some(picture.hash.clone());
        }
        None
    };
    context.messages.iter().filter_map(hash).collect()
}
