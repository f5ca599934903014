//! The functions of file tools that run inside a cell.

use std::io::Write;

use chock_sandbox::Hand;
use serde::de::DeserializeOwned;

use crate::answer::{Answer, Done, Trouble};
use crate::tool::{EditFile, Glob, Grep, ListDirectory, ReadFile, ReadImage, Tool, WriteFile};

/// What the binary that becomes a keeper gives to
/// [`enter_role_if_asked`](chock_sandbox::enter_role_if_asked).
pub const HANDS: &[Hand] = &[
    hand::<ReadFile>(),
    hand::<ReadImage>(),
    hand::<ListDirectory>(),
    hand::<Glob>(),
    hand::<Grep>(),
    hand::<WriteFile>(),
    hand::<EditFile>(),
];

/// A tool whose work is done by a function inside the cell.
pub(crate) trait Handed: Tool {
    /// What the function is asked.
    type Request: DeserializeOwned;

    /// Does the work, from the session's directory.
    fn work(request: Self::Request) -> Result<Done, Trouble>;
}

const fn hand<T: Handed>() -> Hand {
    Hand { name: T::NAME, call: call::<T> }
}

/// Reads the request, does the work, writes the answer. The exit code is 0 when there is one.
fn call<T: Handed>(request: &[u8], out: &mut dyn Write) -> i32 {
    let answer = match serde_json::from_slice(request) {
        Ok(request) => Answer::from(T::work(request)),
        Err(fault) => Answer::Fault(format!("the request cannot be read: {fault}")),
    };
    let written = serde_json::to_writer(&mut *out, &answer).map_err(std::io::Error::from);
    i32::from(written.and_then(|()| out.flush()).is_err())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Calls a hand as a cell does, and returns its answer.
    pub(crate) fn ask(name: &str, request: &[u8]) -> Answer {
        let hand = HANDS.iter().find(|hand| hand.name == name).expect("a hand of that name");
        let mut out = Vec::new();
        assert_eq!((hand.call)(request, &mut out), 0);
        serde_json::from_slice(&out).expect("an answer")
    }

    #[test]
    fn a_broken_request_is_answered() {
        for hand in HANDS {
            let answer = ask(hand.name, b"{");
            assert!(matches!(answer, Answer::Fault(_)), "{}: {answer:?}", hand.name);
        }
    }

    #[test]
    fn an_answer_that_cannot_be_written_is_an_exit_code() {
        let mut full: &mut [u8] = &mut [0; 4];
        assert_eq!((HANDS[0].call)(b"{", &mut full), 1);
    }
}
