//! Keeps the ids of calls unique within a session.

use std::collections::HashSet;

use crate::context::{Context, Message};

/// The longest id that every chat server takes back, in bytes.
const ID_BYTES_MAX: usize = 40;

/// The ids that are taken.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ids(HashSet<String>);

impl Ids {
    /// Gathers the ids of a conversation.
    pub(crate) fn of(context: &Context) -> Self {
        let mut taken = HashSet::new();
        for message in &context.messages {
            match message {
                Message::Model(message) => taken.extend(message.calls().map(|call| &call.id)),
                Message::Result { call, .. } => {
                    taken.insert(call);
                }
                Message::User { .. } | Message::Picture { .. } => {}
            }
        }
        Self(taken.into_iter().cloned().collect())
    }

    /// Returns `given` if it is free and valid, else one of our own; either is taken from now on.
    pub(crate) fn unique(&mut self, given: &str) -> String {
        let valid = !given.is_empty()
            && given.len() <= ID_BYTES_MAX
            && given.bytes().all(|byte| byte.is_ascii_graphic());
        if valid && self.0.insert(given.to_owned()) {
            return given.to_owned();
        }
        loop {
            let id = format!("call_{:016x}", any_number());
            if self.0.insert(id.clone()) {
                return id;
            }
        }
    }
}

/// Returns a number that no earlier id of the session has, those that a compaction took out
/// of the context included.
fn any_number() -> u64 {
    getrandom::u64().expect("invariant: the system gives random numbers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_id_is_kept_and_any_other_replaced() {
        let taken = Message::Result {
            call: "taken".to_owned(),
            tool: String::new(),
            text: String::new(),
            is_error: false,
        };
        let mut ids = Ids::of(&Context { messages: vec![taken], ..Context::default() });

        assert_eq!(ids.unique("free"), "free");
        assert_eq!(ids.unique("functions.run:0"), "functions.run:0");
        let mut made = HashSet::new();
        for given in ["taken", "free", "", "with space", "ünïcödé", &"x".repeat(41)] {
            let id = ids.unique(given);
            assert_ne!(id, given);
            assert!(id.starts_with("call_") && id.len() <= ID_BYTES_MAX, "{id}");
            assert!(made.insert(id), "{given}");
        }
    }
}
