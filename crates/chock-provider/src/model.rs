//! The one question: what does the model say?

use chock_log::{Cost, Delta, ModelMessage, RetryBody, Tokens};

use crate::cancel::Cancel;
use crate::context::Context;
use crate::fault::ProviderFault;

/// A model that answers a context.
pub trait Model: Send {
    /// Asks for one reply and blocks until it is whole.
    ///
    /// `deltas` is called on this thread with each piece as it arrives; while it
    /// runs, nothing more is read. Waits and retries happen inside.
    ///
    /// # Errors
    ///
    /// Nothing of a reply that ends in a fault counts, whatever the deltas showed.
    fn reply(
        &mut self,
        context: &Context,
        deltas: &mut dyn FnMut(Delta),
        cancel: &Cancel,
    ) -> Result<Reply, ProviderFault>;

    /// Returns how many tokens a request and its reply may have, if that is known.
    fn context_tokens(&self) -> Option<u64> {
        None
    }
}

/// One whole reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What the model said; its calls have ids that no earlier call of the context has.
    pub message: ModelMessage,
    /// What the request used; `None` when the server did not say.
    pub tokens: Option<Tokens>,
    /// What it cost.
    pub cost: Cost,
    /// The waits before it, each told as a `Delta::Waiting` too.
    pub retries: Vec<RetryBody>,
}

/// One model that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name, as a request spells it.
    pub name: String,
    /// How many tokens a request and its reply may have, if the server says.
    pub context_tokens: Option<u64>,
}
