//! A session that runs and is asked something, for the commands that do.

use super::talk::{Peer, Reply, Request};
use crate::exit::Failure;
use crate::found::Found;
use crate::visible::visible_line;

/// A session that answers.
pub(crate) struct Asked {
    pub(crate) found: Found,
    peer: Peer,
}

impl Asked {
    pub(crate) fn connect(found: Found) -> Result<Self, Failure> {
        let peer = Peer::connect(&found.control()).map_err(|fault| {
            Failure::start(format!("session {} runs and cannot be asked: {fault}", found.id))
        })?;
        Ok(Self { found, peer })
    }

    /// Asks, and takes an error for a failure.
    pub(crate) fn ask(&mut self, request: &Request) -> Result<Reply, Failure> {
        let id = self.found.id;
        match self.peer.ask(request) {
            Ok(Reply::Error(words)) => {
                Err(Failure::start(format!("session {id}: {}", visible_line(&words))))
            }
            Ok(reply) => Ok(reply),
            Err(fault) => Err(Failure::start(format!("session {id} does not answer: {fault}"))),
        }
    }
}

/// Says that a reply is one to another request.
pub(crate) fn beside_the_point() -> Failure {
    Failure::fault("the session answered something else; is it another version of Chock?")
}
