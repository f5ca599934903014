//! The first statement of `main`: whether this process is a keeper and not Chock.

use std::ffi::OsString;

use crate::{Hand, platform};

/// The first argument that starts the keeper's role. Nothing else is parsed.
pub(crate) const KEEPER_ROLE: &str = "__keeper";

/// Becomes a keeper, and never returns, when `arguments` (the whole command line) ask for it.
///
/// It must be the first statement of `main`, before any thread: a keeper forks. The caller's
/// `hands` are what [`Program::Hand`](crate::Program::Hand) can name.
pub fn enter_role_if_asked(arguments: impl IntoIterator<Item = OsString>, hands: &'static [Hand]) {
    if arguments.into_iter().nth(1).is_some_and(|argument| argument == KEEPER_ROLE) {
        platform::keep(hands);
    }
}
