//! The one question: what does the model say?

use chock_log::{Cost, Delta, ModelMessage, Price, RetryBody, Tokens};

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

    /// Lists the models that the server offers, at most 4096; none where there is no server.
    ///
    /// # Errors
    ///
    /// As for a reply. Nothing is tried twice but what a renewed credential may mend, and each try
    /// takes 15 seconds at most.
    fn models(&self, cancel: &Cancel) -> Result<Vec<Listed>, ProviderFault> {
        let _ = cancel;
        Ok(Vec::new())
    }

    /// Takes up what a list says of this model, where nothing else said it.
    fn learn(&mut self, listed: &Listed) {
        let _ = listed;
    }
}

impl Listed {
    /// Finds a model in a list: by its name, or as the newest of those whose name has a date
    /// behind it.
    #[must_use]
    pub fn of<'a>(list: &'a [Self], name: &str) -> Option<&'a Self> {
        let dated = |listed: &&Self| {
            let date = listed.name.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
            date.is_some_and(|date| date.len() == 8 && date.bytes().all(|it| it.is_ascii_digit()))
        };
        let newest = || list.iter().filter(dated).max_by(|a, b| a.name.cmp(&b.name));
        list.iter().find(|listed| listed.name == name).or_else(newest)
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
    /// How hard it can be told to think, in the server's words; empty if the server does not say.
    pub efforts: Vec<String>,
    /// What it costs, if the server says or a table of ours does.
    pub price: Option<Price>,
    /// Of which day the price is, if it is from our table.
    pub price_day: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_found_by_its_name_or_as_its_newest_dated_one() {
        let listed = |name: &str| Listed {
            name: name.to_owned(),
            context_tokens: None,
            efforts: Vec::new(),
            price: None,
            price_day: None,
        };
        let list =
            ["a-20250101", "a-20260101", "a-20250601", "b", "b-20260101", "c-2026"].map(listed);
        let found = |name| Listed::of(&list, name).map(|listed| listed.name.as_str());
        assert_eq!(found("a"), Some("a-20260101"));
        assert_eq!(found("b"), Some("b"));
        assert_eq!(found("c"), None);
        assert_eq!(found(""), None);
    }
}
