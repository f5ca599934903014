//! The proof that an approval is on disk, and the only key to a door.

use serde_json::Value;

use crate::error::LogError;
use crate::event::{AnswerBody, Event, Grounds};
use crate::record::Seq;
use crate::writer::Pen;

/// Something an agent wants done, as its own crate understands it.
pub trait Act {
    /// Describes the act for its approval's record, wholly and without secrets.
    fn record(&self) -> Value;
}

/// One approved act, to be done once.
///
/// [`Granter::grant`] makes a permit, and nothing else does. It holds the act by
/// value, so what is done is what was recorded.
///
/// ```compile_fail
/// # use chock_log::{Permit, Seq};
/// fn forge<A>(act: A, approval: Seq) -> Permit<A> {
///     Permit { act, approval } // private fields
/// }
/// ```
///
/// ```compile_fail
/// # use chock_log::Permit;
/// fn twice<A>(permit: Permit<A>) -> (Permit<A>, Permit<A>) {
///     (permit.clone(), permit) // no Clone
/// }
/// ```
#[must_use = "an unspent permit leaves an approval without a result"]
#[derive(Debug)]
pub struct Permit<A> {
    act: A,
    approval: Seq,
}

/// What is left of a permit once its act was taken out.
#[derive(Debug, PartialEq, Eq)]
pub struct Spent {
    /// The approval's record.
    pub approval: Seq,
}

impl<A> Permit<A> {
    /// Shows the act. It stays in the permit.
    pub fn act(&self) -> &A {
        &self.act
    }

    /// Returns the approval's record.
    pub fn approval(&self) -> Seq {
        self.approval
    }

    /// Takes the act out, in order to do it.
    pub fn spend(self) -> (A, Spent) {
        let Self { act, approval } = self;
        (act, Spent { approval })
    }
}

/// Makes permits. There is one for each open log, and the broker owns it.
#[derive(Debug)]
pub struct Granter {
    pen: Pen,
}

impl Granter {
    pub(crate) fn new(pen: Pen) -> Self {
        Self { pen }
    }

    /// Records an approval and returns the permit for it.
    ///
    /// The permit is made last. If the record is not on disk there is none.
    ///
    /// # Errors
    ///
    /// The approval was not written or not flushed.
    pub fn grant<A: Act>(
        &mut self,
        call: &str,
        act: A,
        actions: Vec<String>,
        grounds: Grounds,
    ) -> Result<Permit<A>, LogError> {
        let body = AnswerBody {
            call: call.to_owned(),
            allowed: true,
            actions,
            grounds,
            act: act.record(),
            words: None,
        };
        let approval = self.pen.append_durably(Event::Answered(body))?;
        Ok(Permit { act, approval })
    }
}
